//! When a point has seeds enough: as soon as its intervals are narrow enough, looked at after fixed numbers of runs.
//!
//! *Idea*: the width of an interval says how well a mean is known, so a point whose results vary much gets more seeds than one whose
//! results do not.
//!
//! *Protocol*: a point is first looked at after [`RUNS_LEAST`] runs. While the half-width of a wanted metric's 95 % interval is more than
//! the wanted share of the mean's magnitude, the runs are made more: as many as the width found would need (the half-width falls with the
//! root of their number), but at least a fifth more and at most twice as many. Only whole batches are looked at, and what is asked for
//! depends on results alone, so the runs of a sweep do not depend on how many were executed at a time.
//!
//! *Cost*: whoever looks again and again, and stops at the first narrow interval, stops too often where chance made it narrow. So the interval holds the truth
//! less often than in 95 of 100 sweeps. Ten runs at first, and few looks, keep that small: for normally distributed results it is held by 94 to 95 of 100 (the
//! test `the_interval_at_which_it_stops_holds_the_truth_about_as_often_as_it_says` measures it). Results that are far from normal, or that are zero in the
//! mean, want more care: give a fixed number of seeds instead.
//!
//! *References*: Y. S. Chow, H. Robbins, "On the asymptotic theory of fixed-width sequential confidence intervals for the mean", Annals of
//! Mathematical Statistics 36(2), 1965. A. M. Law, "Simulation Modeling and Analysis", 5th edition, section 9.4.1, 2015.

use parades_core::metrics::Estimate;

/// No point is looked at before it has so many runs, unless it may have no more.
pub const RUNS_LEAST: usize = 10;

/// How narrow the intervals of some metrics shall be.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// The half-width of the 95 % interval over the magnitude of the mean, at most.
    pub relative_half_width: f64,
    /// The metrics.
    pub metrics: Vec<String>,
}

/// What the runs of a point so far say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The intervals are narrow enough.
    Reached,
    /// So many runs should be looked at next.
    More(usize),
}

impl Precision {
    /// What to do about a point after a batch of `runs` in all, given the estimates of the metrics over them; `None` for a metric of which the
    /// runs have no value.
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
    fn every_wanted_metric_must_be_known_well_enough() {
        let good = Some(Estimate { count: 10, mean: 100.0, half_width: Some(0.1) });
        let bad = Some(Estimate { count: 10, mean: 100.0, half_width: Some(1.3) });
        assert_eq!(precision(0.01).verdict(10, &[good, good]), Verdict::Reached);
        assert_eq!(precision(0.01).verdict(10, &[good, bad]), Verdict::More(17));
        assert_eq!(precision(0.01).verdict(10, &[good, None]), Verdict::More(20), "a metric without values");
    }

    #[test]
    fn a_mean_of_zero_is_exact_or_never_known_well_enough() {
        let zero = |half_width| [Some(Estimate { count: 10, mean: 0.0, half_width: Some(half_width) })];
        assert_eq!(precision(0.01).verdict(10, &zero(0.0)), Verdict::Reached);
        assert_eq!(precision(0.01).verdict(10, &zero(1e-9)), Verdict::More(20));
    }

    #[test]
    fn the_interval_at_which_it_stops_holds_the_truth_about_as_often_as_it_says() {
        // Normal results of mean 1 and this deviation: about 1, 2 and 15 times as many runs as at first are needed for 10 %.
        for (deviation, least, runs_about) in
            [(0.14, 0.93, 10.0..14.0), (0.3, 0.93, 35.0..45.0), (0.65, 0.93, 140.0..220.0)]
        {
            let (mut held, mut total) = (0, 0);
            let sweeps = 4000;
            for sweep in 0..sweeps {
                let mut rng = Rng::stream(sweep, 0);
                let mut results: Vec<f64> = Vec::new();
                let mut wanted = RUNS_LEAST;
                let estimate = loop {
                    results.resize_with(wanted, || 1.0 + deviation * rng.normal());
                    let estimate = Estimate::of_replications(&results).unwrap();
                    match precision(0.1).verdict(wanted, &[Some(estimate)]) {
                        Verdict::Reached => break estimate,
                        Verdict::More(more) => wanted = more,
                    }
                };
                held += u32::from(estimate.contains(1.0));
                total += results.len();
            }
            let (held, runs) = (f64::from(held) / sweeps as f64, total as f64 / sweeps as f64);
            assert!(held > least && held < 0.965, "deviation {deviation}: held by {held}, with {runs} runs");
            assert!(runs_about.contains(&runs), "deviation {deviation}: {runs} runs");
        }
    }
}
