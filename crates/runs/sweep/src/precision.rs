//! The number of seeds of a point: as many as its intervals need to be narrow enough.
//!
//! *Idea*: the width of an interval says how well a mean is known. The more the results of a point vary, the
//! more seeds it gets.
//!
//! *Protocol*:
//!
//! 1. A point is first reviewed after [`RUNS_MIN`] runs.
//! 2. The point is finished if, for each wanted metric, the half-width of the 95 % interval is at most the
//!    wanted share of the mean's magnitude.
//! 3. Otherwise the point gets more runs. The half-width falls with the root of the number of runs, so the
//!    width that was found gives the number that is needed. The total grows at least by a fifth, and at most
//!    to twice as many.
//! 4. The next review follows when all of these runs have finished.
//!
//! Reviews are made of whole batches, and their verdicts depend on results alone. So the runs of a sweep do
//! not depend on the number of runs that are executed at a time.
//!
//! *Cost*: with repeated reviews, a point sometimes stops because its interval is narrow by chance. So the
//! interval contains the true mean in fewer than 95 of 100 sweeps. Ten runs before the first review, and few
//! reviews, keep this effect small: for normally distributed results, it is 94 to 95 of 100 sweeps. The test
//! `the_final_interval_contains_the_true_mean_about_as_often_as_it_says` measures that. For results that are
//! far from normal, or whose mean is near zero, use a fixed number of seeds instead.
//!
//! *References*: Y. S. Chow, H. Robbins, "On the asymptotic theory of fixed-width sequential confidence
//! intervals for the mean", Annals of Mathematical Statistics 36(2), 1965. A. M. Law, "Simulation Modeling
//! and Analysis", 5th edition, section 9.4.1, 2015.

use parades_core::metrics::Estimate;

/// The number of runs before the first review of a point, unless there are fewer seeds.
pub const RUNS_MIN: usize = 10;

/// The wanted precision of some metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// The greatest half-width of the 95 % interval, as a share of the mean's magnitude.
    pub relative_half_width: f64,
    /// The names of the metrics.
    pub metrics: Vec<String>,
}

/// The result of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The intervals are narrow enough.
    Reached,
    /// The next review should follow after this number of runs in total.
    More(usize),
}

impl Precision {
    /// Reviews a point after `runs` runs in total. `estimates` has the estimate of each metric, or `None` if
    /// no run has the metric.
    ///
    /// ```
    /// use parades_core::metrics::Estimate;
    /// use parades_sweep::precision::{Precision, Verdict};
    /// let precision = Precision { relative_half_width: 0.01, metrics: vec!["wait".into()] };
    /// let found = |half_width| [Some(Estimate { count: 10, mean: -50.0, half_width: Some(half_width) })];
    /// assert_eq!(precision.verdict(10, &found(0.5)), Verdict::Reached);
    /// assert_eq!(precision.verdict(10, &found(0.6)), Verdict::More(15)); // 10 * 1.2 * 1.2, rounded up
    /// assert_eq!(precision.verdict(10, &found(5.0)), Verdict::More(20));
    /// ```
    pub fn verdict(&self, runs: usize, estimates: &[Option<Estimate>]) -> Verdict {
        let mut wanted = 0.0_f64;
        for estimate in estimates {
            let ratio = match estimate {
                Some(Estimate { mean, half_width: Some(half_width), .. }) => {
                    let bound = self.relative_half_width * mean.abs();
                    if *half_width <= bound { 0.0 } else { half_width / bound }
                }
                _ => f64::INFINITY,
            };
            wanted = wanted.max(ratio);
        }
        if wanted <= 0.0 {
            return Verdict::Reached;
        }
        let (least, most) = (runs + runs.div_ceil(5), runs.saturating_mul(2));
        let needed = (runs as f64 * wanted * wanted).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is above `runs` and below `most`"
        )]
        let next = if needed < most as f64 { needed as usize } else { most };
        Verdict::More(next.clamp(least, most.max(least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::random::Rng;

    fn precision(relative_half_width: f64) -> Precision {
        Precision { relative_half_width, metrics: vec!["x".into()] }
    }

    #[test]
    fn each_wanted_metric_must_be_precise_enough() {
        let good = Some(Estimate { count: 10, mean: 100.0, half_width: Some(0.1) });
        let bad = Some(Estimate { count: 10, mean: 100.0, half_width: Some(1.3) });
        assert_eq!(precision(0.01).verdict(10, &[good, good]), Verdict::Reached);
        assert_eq!(precision(0.01).verdict(10, &[good, bad]), Verdict::More(17));
        assert_eq!(precision(0.01).verdict(10, &[good, None]), Verdict::More(20), "a metric without values");
    }

    #[test]
    fn a_mean_of_zero_is_precise_enough_only_if_it_is_exact() {
        let zero = |half_width| [Some(Estimate { count: 10, mean: 0.0, half_width: Some(half_width) })];
        assert_eq!(precision(0.01).verdict(10, &zero(0.0)), Verdict::Reached);
        assert_eq!(precision(0.01).verdict(10, &zero(1e-9)), Verdict::More(20));
    }

    #[test]
    fn the_final_interval_contains_the_true_mean_about_as_often_as_it_says() {
        // The results are normal, with mean 1. To be within 10 % of the mean, these deviations need about 1,
        // 4 and 17 times the runs of the first batch.
        for (deviation, least, runs_about) in
            [(0.14, 0.93, 10.0..14.0), (0.3, 0.93, 35.0..45.0), (0.65, 0.93, 140.0..220.0)]
        {
            let (mut contained, mut total) = (0, 0);
            let sweeps = 4000;
            for sweep in 0..sweeps {
                let rng = Rng::stream(sweep, 0);
                let mut results: Vec<f64> = Vec::new();
                let mut wanted = RUNS_MIN;
                let estimate = loop {
                    results.resize_with(wanted, || 1.0 + deviation * rng.normal());
                    let estimate = Estimate::of_replications(&results).unwrap();
                    match precision(0.1).verdict(wanted, &[Some(estimate)]) {
                        Verdict::Reached => break estimate,
                        Verdict::More(more) => wanted = more,
                    }
                };
                contained += u32::from(estimate.contains(1.0));
                total += results.len();
            }
            let (contained, runs) = (f64::from(contained) / sweeps as f64, total as f64 / sweeps as f64);
            assert!(
                contained > least && contained < 0.965,
                "deviation {deviation}: contained in {contained}, with {runs} runs"
            );
            assert!(runs_about.contains(&runs), "deviation {deviation}: {runs} runs");
        }
    }
}
