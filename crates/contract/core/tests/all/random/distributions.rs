//! The samplers have the distributions of their names.

use crate::random::statistics::{assert_bins, assert_distribution, assert_even, assert_moments, assert_share};
use parades_core::random::{Empirical, LogNormal, Pareto, Rng, Uniform, Weibull, Zipf};
use parades_core::time::Delay;

/// The start of the tail of each ziggurat.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_487;
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;

fn normal_cumulative(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Returns a million draws.
fn draws(seed: u64, mut sample: impl FnMut(&Rng) -> f64) -> Vec<f64> {
    let mut rng = Rng::stream(seed, 0);
    (0..1_000_000).map(|_| sample(&mut rng)).collect()
}

/// Counts twenty million draws in 1024 bins of equal probability, each a quarter of a layer. Returns the
/// draws beyond `start`.
fn assert_layers(what: &str, start: f64, sample: fn(&Rng) -> f64, cumulative: fn(f64) -> f64) -> Vec<f64> {
    let rng = Rng::stream(11, 0);
    let mut counts = vec![0; 1024];
    let mut beyond = Vec::new();
    for _ in 0..20_000_000 {
        let x = sample(&rng);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a probability times 1024")]
        let bin = (cumulative(x) * 1024.0) as usize;
        counts[bin.min(1023)] += 1;
        if x.abs() >= start {
            beyond.push(x);
        }
    }
    assert_even(what, &counts);
    beyond
}

#[test]
fn exponential_layers_and_tail() {
    let beyond = assert_layers("exponential layers", EXPONENTIAL_TAIL, Rng::exponential, |x| -libm::expm1(-x));
    assert_share("exponential tail", beyond.len() as u64, 20_000_000, libm::exp(-EXPONENTIAL_TAIL));
    assert_distribution("exponential tail", beyond, |x| -libm::expm1(EXPONENTIAL_TAIL - x));
}

#[test]
fn normal_layers_and_tail() {
    let beyond = assert_layers("normal layers", NORMAL_TAIL, Rng::normal, normal_cumulative);
    let half = normal_cumulative(-NORMAL_TAIL);
    assert_share("normal tail", beyond.len() as u64, 20_000_000, 2.0 * half);
    let above = beyond.iter().filter(|&&x| x > 0.0).count();
    assert_share("normal tail on the right", above as u64, beyond.len() as u64, 0.5);
    let sizes = beyond.iter().map(|x| x.abs()).collect();
    assert_distribution("normal tail", sizes, |x| 1.0 - normal_cumulative(-x) / half);
}

#[test]
fn exponential() {
    let samples = draws(12, Rng::exponential);
    assert!(samples.iter().all(|&x| x > 0.0));
    assert_moments("exponential", &samples, [1.0, 2.0, 24.0]);
    assert_distribution("exponential", samples, |x| -libm::expm1(-x));
}

#[test]
fn normal() {
    let samples = draws(13, Rng::normal);
    assert_moments("normal", &samples, [0.0, 1.0, 3.0]);
    assert_distribution("normal", samples, normal_cumulative);
}

#[test]
fn exponential_delays() {
    let mean = Delay::from_us(250);
    let samples = draws(14, |rng| rng.exponential_delay(mean).as_ps() as f64 / mean.as_ps() as f64);
    assert_moments("exponential_delay", &samples, [1.0, 2.0, 24.0]);
    assert_distribution("exponential_delay", samples, |x| -libm::expm1(-x));
}

#[test]
fn uniform() {
    let uniform = Uniform::new(-2.0, 6.0).expect("the bounds ascend");
    let samples = draws(15, |rng| uniform.sample(rng));
    assert!(samples.iter().all(|x| (-2.0..=6.0).contains(x)));
    // Moments for the bounds a and b: (b^(k+1) - a^(k+1)) / ((k + 1) (b - a)).
    assert_moments("uniform", &samples, [2.0, (216.0 + 8.0) / 24.0, (7776.0 + 32.0) / 40.0]);
    assert_distribution("uniform", samples, |x| (x + 2.0) / 8.0);
}

#[test]
fn pareto() {
    let pareto = Pareto::new(3.0, 9.0).expect("both are positive");
    let samples = draws(16, |rng| pareto.sample(rng));
    assert_moments("Pareto", &samples, [1, 2, 4].map(|k| 3_f64.powi(k) * 9.0 / (9.0 - f64::from(k))));
    // A shape that occurs in networks, without a variance.
    let heavy = Pareto::new(1500.0, 1.1).expect("both are positive");
    for (what, pareto, scale, shape) in [("Pareto", pareto, 3.0, 9.0), ("heavy Pareto", heavy, 1500.0, 1.1)] {
        let samples = draws(17, |rng| pareto.sample(rng));
        assert!(samples.iter().all(|&x| x >= scale));
        assert_distribution(what, samples, |x| 1.0 - libm::pow(scale / x, shape));
    }
}

#[test]
fn weibull() {
    for (scale, shape) in [(2.0, 1.5), (60.0, 0.5)] {
        let weibull = Weibull::new(scale, shape).expect("both are positive");
        let samples = draws(25, |rng| weibull.sample(rng));
        let moment = |k: i32| scale.powi(k) * libm::tgamma(1.0 + f64::from(k) / shape);
        assert_moments("Weibull", &samples, [1, 2, 4].map(moment));
        assert_distribution("Weibull", samples, |x| -libm::expm1(-libm::pow(x / scale, shape)));
    }
}

#[test]
fn log_normal() {
    let log_normal = LogNormal::new(1.5, 0.4).expect("both are finite");
    let samples = draws(19, |rng| log_normal.sample(rng));
    let moment = |k: f64| libm::exp(k * 1.5 + 0.5 * k * k * 0.4 * 0.4);
    assert_moments("log-normal", &samples, [1.0, 2.0, 4.0].map(moment));
    assert_distribution("log-normal", samples, |x| normal_cumulative((libm::log(x) - 1.5) / 0.4));
}

#[test]
fn zipf() {
    // Near exponent 1 the formulas of the hat are replaced by their series.
    for exponent in [0.0, 0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.2, 2.0] {
        for n in [1, 2, 3, 100, 1000] {
            let zipf = Zipf::new(n, exponent).expect("the parameters are in bounds");
            let weights: Vec<f64> = (1..=n).map(|rank| libm::pow(rank as f64, -exponent)).collect();
            let total: f64 = weights.iter().sum();
            let rng = Rng::stream(20, u32::try_from(n).expect("at most 1000"));
            let mut counts = vec![0; weights.len()];
            for _ in 0..1_000_000 {
                let rank = zipf.sample(&rng);
                assert!((1..=n).contains(&rank));
                counts[usize::try_from(rank - 1).expect("below n")] += 1;
            }
            // Ranks of exponent 2 beyond 150 are too rare for a bin of their own.
            let bins = weights.len().min(if exponent < 1.5 { 1000 } else { 150 });
            let rest: u64 = counts.drain(bins..).sum();
            let rest_weight: f64 = weights[bins..].iter().sum();
            if rest_weight > 0.0 {
                counts.push(rest);
            }
            if n > 1 {
                assert_bins(&format!("Zipf of {n} and {exponent}"), &counts, |bin| {
                    if bin < bins { weights[bin] / total } else { rest_weight / total }
                });
            }
        }
    }
}

#[test]
fn zipf_of_extreme_parameters_stays_in_bounds() {
    let rng = Rng::stream(21, 0);
    for n in [1, 2, 1 << 20, 1 << 40] {
        for exponent in [0.0, 1.0, 5.0, 1000.0, 1e300] {
            let zipf = Zipf::new(n, exponent).expect("the parameters are in bounds");
            for _ in 0..10_000 {
                let rank = zipf.sample(&rng);
                assert!((1..=n).contains(&rank) && (rank == 1 || exponent < 1000.0), "{rank} of {n} and {exponent}");
            }
        }
    }
}

#[test]
fn zipf_of_a_trillion_ranks_is_right_in_its_far_end() {
    // With this number of ranks, the width of a rank is near the rounding error of the hat. The shares of
    // ranges of ranks would show an error.
    let n: u64 = 1 << 40;
    // The sum of the weights of the ranks up to a large m. The constants are zeta(1/2) and Euler's constant.
    let sum = |m: f64, exponent: f64| match exponent {
        ..0.5 => m,
        ..1.0 => 2.0 * m.sqrt() - 1.460_354_508_809_587,
        _ => libm::log(m) + 0.577_215_664_901_533,
    };
    let rng = Rng::stream(26, 0);
    for exponent in [0.0, 0.5, 1.0] {
        let zipf = Zipf::new(n, exponent).expect("the parameters are in bounds");
        let mut eighths = [0; 8];
        for _ in 0..1_000_000 {
            let rank = zipf.sample(&rng);
            eighths[usize::try_from((rank - 1) / (n / 8)).expect("below 8")] += 1;
        }
        let up_to = |eighths: usize| match eighths {
            0 => 0.0,
            _ => sum(n as f64 * eighths as f64 / 8.0, exponent) / sum(n as f64, exponent),
        };
        assert_bins(&format!("Zipf of 2^40 and {exponent}"), &eighths, |bin| up_to(bin + 1) - up_to(bin));
    }
}

#[test]
fn empirical() {
    // An atom of 0.1 at 0, a line to 10, a jump of 0.2 there, a gap from 20 to 30, a line to 50.
    let points = [(0.0, 0.1), (10.0, 0.4), (10.0, 0.6), (20.0, 0.7), (30.0, 0.7), (50.0, 1.0)];
    let empirical = Empirical::new(&points).expect("the points ascend to 1");
    let samples = draws(22, |rng| empirical.sample(rng));
    let count = |from: f64, to: f64| samples.iter().filter(|&&x| x >= from && x < to).count() as u64;
    let next = 10_f64.next_up();
    let counts = [
        count(0.0, f64::MIN_POSITIVE),
        count(f64::MIN_POSITIVE, 5.0),
        count(5.0, 10.0),
        count(10.0, next),
        count(next, 20.0),
        count(30.0, 40.0),
        count(40.0, 50.0),
    ];
    assert_eq!(counts.iter().sum::<u64>(), 1_000_000, "a draw fell into the gap");
    assert_bins("empirical", &counts, |bin| [0.1, 0.15, 0.15, 0.2, 0.1, 0.15, 0.15][bin]);

    // On a line from a to b with probability p, the moment is p (b^(k+1) - a^(k+1)) / ((k + 1) (b - a)).
    let line = |a: f64, b: f64, p: f64, k: i32| p * (b.powi(k + 1) - a.powi(k + 1)) / (f64::from(k + 1) * (b - a));
    let moment =
        |k: i32| line(0.0, 10.0, 0.3, k) + 0.2 * 10_f64.powi(k) + line(10.0, 20.0, 0.1, k) + line(30.0, 50.0, 0.3, k);
    assert!((empirical.mean() - moment(1)).abs() < 1e-12);
    assert_moments("empirical", &samples, [1, 2, 4].map(moment));
}

#[test]
fn an_empirical_distribution_of_straight_lines_is_continuous() {
    let points = [(1.0, 0.0), (2.0, 0.5), (4.0, 0.9), (100.0, 1.0)];
    let empirical = Empirical::new(&points).expect("the points ascend to 1");
    let samples = draws(23, |rng| empirical.sample(rng));
    assert_distribution("empirical", samples, |x| match x {
        ..2.0 => 0.5 * (x - 1.0),
        ..4.0 => 0.5 + 0.2 * (x - 2.0),
        _ => 0.9 + 0.1 * (x - 4.0) / 96.0,
    });
}

#[test]
fn a_distribution_of_one_value_gives_it_always() {
    let rng = Rng::stream(24, 0);
    let one = Empirical::new(&[(3.0, 1.0)]).expect("one point will do");
    let uniform = Uniform::new(3.0, 3.0).expect("equal bounds will do");
    assert_eq!(one.mean().to_bits(), 3_f64.to_bits());
    for _ in 0..1000 {
        assert_eq!(one.sample(&rng).to_bits(), 3_f64.to_bits());
        assert_eq!(uniform.sample(&rng).to_bits(), 3_f64.to_bits());
    }
}
