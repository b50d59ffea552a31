//! Confidence intervals are right: Student's t against tables, and coverage against theory.

use parades_core::event::LpId;
use parades_core::metrics::{Estimate, MetricValue, Metrics, Moments, Sample, Unit, student_t95};

/// Independent numbers in (0, 1), by SplitMix64.
struct Uniform(u64);

impl Uniform {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    fn exponential(&mut self) -> f64 {
        -libm::log(self.draw())
    }
}

/// Returns the estimate from the sequences of all LPs.
fn steady(lps: u32, count: u64, mut next: impl FnMut(u32) -> f64) -> Estimate {
    let mut metrics = Metrics::new();
    let metric = metrics.steady("wait", Unit::Seconds);
    for _ in 0..count {
        (0..lps).for_each(|lp| metrics.apply(LpId(lp), &Sample::float(metric.into(), next(lp))));
    }
    assert_eq!(metrics.check(), Ok(()));
    metrics
        .get("wait")
        .and_then(MetricValue::steady)
        .and_then(|steady| steady.estimate())
        .expect("something was observed")
}

/// Returns the share of `seeds` for which `covers` is true.
fn coverage(seeds: u64, covers: impl Fn(Uniform) -> bool) -> f64 {
    let stream = |seed: u64| Uniform(seed.wrapping_mul(0xd134_2543_de82_ef95));
    (1..=seeds).filter(|&seed| covers(stream(seed))).count() as f64 / seeds as f64
}

/// Returns the waiting times of M/M/1 with services of mean 1, by Lindley's recursion.
fn waits(uniform: &mut Uniform, utilisation: f64) -> impl FnMut() -> f64 + '_ {
    let mut wait = 0.0;
    move || {
        let this = wait;
        wait = f64::max(0.0, wait + uniform.exponential() - uniform.exponential() / utilisation);
        this
    }
}

#[test]
fn students_t_is_that_of_the_tables() {
    // NIST/SEMATECH e-Handbook 1.3.6.7.2 and Abramowitz and Stegun table 26.10, with more digits.
    for (freedom, t) in [
        (1.0, 12.706_204_736),
        (2.0, 4.302_652_730),
        (3.0, 3.182_446_305),
        (4.0, 2.776_445_105),
        (5.0, 2.570_581_836),
        (10.0, 2.228_138_852),
        (15.0, 2.131_449_546),
        (20.0, 2.085_963_447),
        (30.0, 2.042_272_456),
        (40.0, 2.021_075_390),
        (60.0, 2.000_297_822),
        (80.0, 1.990_063_421),
        (100.0, 1.983_971_519),
        (120.0, 1.979_930_405),
        (1000.0, 1.962_339_081),
        (f64::INFINITY, 1.959_963_985),
    ] {
        assert!((student_t95(freedom) - t).abs() < 2e-9, "{freedom}: {} should be {t}", student_t95(freedom));
    }
    // The two methods agree where they meet, and the quantile decreases everywhere.
    assert!((student_t95(99.999_999) - student_t95(100.0)).abs() < 1e-9);
    let mut freedom = 1.0;
    while freedom < 1e7 {
        assert!(student_t95(freedom) > student_t95(freedom * 1.07), "{freedom}");
        freedom *= 1.07;
    }
}

#[test]
fn replications_cover_in_19_of_20() {
    let share = coverage(20_000, |mut uniform| {
        // Nearly normal: the sum of 12 uniform numbers.
        let values: [f64; 5] = std::array::from_fn(|_| (0..12).map(|_| uniform.draw()).sum());
        Estimate::of_replications(&values).unwrap().contains(6.0)
    });
    assert!((share - 0.95).abs() < 0.006, "{share}");
    assert_eq!(Estimate::of_replications(&[]), None);
    assert_eq!(Estimate::of_replications(&[3.0]), Some(Estimate { count: 1, mean: 3.0, half_width: None }));
}

#[test]
fn a_busy_queue_is_covered_in_19_of_20() {
    let (utilisation, customers, seeds) = (0.95, 1_000_000, 160);
    let truth = utilisation / (1.0 - utilisation);
    let widths = std::cell::Cell::new(0.0);
    let share = coverage(seeds, |mut uniform| {
        let mut next = waits(&mut uniform, utilisation);
        let estimate = steady(1, customers, |_| next());
        widths.set(widths.get() + estimate.half_width.unwrap());
        estimate.contains(truth)
    });
    // 0.95 plus or minus 2.6 standard deviations of a share of 160.
    assert!((0.905..=0.994).contains(&share), "{share}");
    // The interval is also not too wide. For M/M/1 the sum of all autocovariances (Daley, 1968) gives the
    // smallest possible width. The excess pays for the warm-up, the few batches and the remaining
    // correlation.
    let r = utilisation;
    let covariances = r * (2.0 + 5.0 * r - 4.0 * r * r + r * r * r) / (1.0 - r).powi(4);
    let ratio = widths.get() / seeds as f64 / (1.96 * (covariances / customers as f64).sqrt());
    assert!((1.0..=1.25).contains(&ratio), "{ratio}");
}

#[test]
fn the_interval_of_independent_observations_would_cover_a_busy_queue_hardly_ever() {
    // The reason for `steady`, and a proof that the test above can fail.
    let share = coverage(50, |mut uniform| {
        let mut next = waits(&mut uniform, 0.95);
        let mut moments = Moments::default();
        (0..300_000).for_each(|_| moments.observe(next()));
        let half_width = 1.96 * moments.deviation().unwrap() / (moments.count() as f64).sqrt();
        (moments.mean().unwrap() - 19.0).abs() < half_width
    });
    assert!(share < 0.3, "{share}");
}

#[test]
fn independent_and_correlated_sequences_of_several_lps_are_covered() {
    for (lps, correlation, count) in [(1, 0.0, 500), (1, 0.9, 20_000), (6, 0.9, 5_000), (6, 0.0, 100)] {
        let share = coverage(1500, |mut uniform| {
            let mut states = vec![1.0; lps as usize];
            let estimate = steady(lps, count, |lp| {
                let state = &mut states[lp as usize];
                *state = correlation * *state + (1.0 - correlation) * uniform.exponential();
                *state
            });
            estimate.contains(1.0)
        });
        assert!((0.93..=0.975).contains(&share), "{lps} LPs, correlation {correlation}: {share}");
    }
}

#[test]
fn batches_that_are_still_correlated_widen_the_interval() {
    // There are 21 batches of 128 observations. The correlation of the observations falls by the factor e
    // over 100 of them. Coverage is 0.92; without the correction it is 0.81.
    let share = coverage(2000, |mut uniform| {
        let mut state = 1.0;
        let estimate = steady(1, 3000, |_| {
            state = 0.99 * state + 0.01 * uniform.exponential();
            state
        });
        estimate.contains(1.0)
    });
    assert!(share >= 0.89, "{share}");
}

#[test]
fn the_warm_up_is_dropped() {
    // The first 5 % of the sequence are far off the rest, which is constant. They must not influence the
    // estimate.
    for count in [32u64, 63, 64, 1000, 65_536, 100_000] {
        let mut i = 0;
        let estimate = steady(1, count, |_| {
            i += 1;
            if i <= count / 20 { 1e6 } else { 2.5 }
        });
        assert_eq!((estimate.mean, estimate.half_width), (2.5, Some(0.0)), "{count}");
        assert!(
            estimate.count <= count - count / 20 && estimate.count * 8 >= count * 7,
            "{} of {count}",
            estimate.count
        );
    }
}

#[test]
fn few_observations_have_a_mean_and_no_interval() {
    let mut next = 0.0;
    let estimate = steady(1, 31, |_| {
        next += 1.0;
        next
    });
    assert_eq!(estimate, Estimate { count: 31, mean: 16.0, half_width: None });
}
