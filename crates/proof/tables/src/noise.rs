//! A test whether two samples of a figure differ by more than chance.
//!
//! *Method.* The Wilcoxon–Mann–Whitney test. If both samples came from one distribution, each way of dealing
//! their values into two groups of these sizes would be equally likely. The *p-value* is the share of ways in
//! which the rank sum of a group is at least as far from its expected value as in the measured samples. Ties
//! share their ranks. The p-value is exact up to [`EXACT_MAX`] values; above, it is a normal approximation.
//! The test assumes no shape of the distribution.
//!
//! The size of the difference is the Hodges–Lehmann estimate: the median of all ratios of a new value to an
//! old one.
//!
//! *Limits.* The values of one session share its state: heat, neighbours, the placement of memory. Two
//! sessions may differ by that alone. So a *change* says that the sessions differ, and not why. Ratios of
//! sides that were run in turn share the state, and are the better figures.
//!
//! *References.* H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is
//! stochastically larger than the other", Annals of Mathematical Statistics 18(1), 1947; J. L. Hodges, E. L.
//! Lehmann, "Estimates of location based on rank tests", ibid. 34(2), 1963.

/// The greatest number of values in both samples together for which the p-value is exact.
pub const EXACT_MAX: usize = 80;

/// The p-value above which a difference counts as chance. If nothing has changed, at most one comparison in a
/// hundred reports a change.
pub const SIGNIFICANT: f64 = 0.01;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The typical ratio of a new value to an old one.
    pub ratio: f64,
    /// The probability that chance alone makes a difference at least as large.
    pub p: f64,
    /// The least p-value that samples of these sizes can have.
    pub p_least: f64,
}

/// The meaning of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The new values are higher.
    Higher,
    /// The new values are lower.
    Lower,
    /// The difference may be chance.
    Noise,
    /// The samples are too small: any difference may be chance.
    TooFew,
}

impl Comparison {
    /// Compares two samples of finite numbers; `None` if one is empty.
    ///
    /// ```
    /// use parades_tables::noise::{Comparison, Verdict};
    /// let before = [1.00, 1.02, 0.99, 1.01, 1.03];
    /// let slower = before.map(|x| x * 0.9);
    /// let found = Comparison::of(&before, &slower).unwrap();
    /// assert_eq!(found.verdict(), Verdict::Lower);
    /// assert!((found.ratio - 0.9).abs() < 0.01);
    /// assert!((found.p - 2.0 / 252.0).abs() < 1e-12); // 2 of the 252 ways to choose 5 of 10
    /// assert_eq!(Comparison::of(&before, &before).unwrap().verdict(), Verdict::Noise);
    /// assert_eq!(Comparison::of(&before[..2], &slower[..2]).unwrap().verdict(), Verdict::TooFew);
    /// ```
    pub fn of(before: &[f64], now: &[f64]) -> Option<Comparison> {
        if before.is_empty() || now.is_empty() {
            return None;
        }
        let mut ratios: Vec<f64> = now.iter().flat_map(|new| before.iter().map(move |old| new / old)).collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = (ratios[(ratios.len() - 1) / 2] + ratios[ratios.len() / 2]) / 2.0;
        let ranks = doubled_ranks(before, now);
        let all = ranks.len();
        let p = if all <= EXACT_MAX { exact(&ranks, now.len()) } else { approximate(&ranks, now.len()) };
        Some(Comparison { ratio, p, p_least: 2.0 / ways(all, now.len()).max(2.0) })
    }

    /// Returns the meaning of the difference.
    pub fn verdict(&self) -> Verdict {
        match () {
            () if self.p_least > SIGNIFICANT => Verdict::TooFew,
            () if self.p > SIGNIFICANT => Verdict::Noise,
            () if self.ratio > 1.0 => Verdict::Higher,
            () => Verdict::Lower,
        }
    }
}

/// Returns the ranks of all values, from 1, those of `now` last. They are doubled, so that the ranks of ties
/// are whole.
fn doubled_ranks(before: &[f64], now: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = before.iter().chain(now).copied().collect();
    let rank = |x: &f64| {
        let below = all.iter().filter(|y| y.total_cmp(x).is_lt()).count();
        let equal = all.iter().filter(|y| y.total_cmp(x).is_eq()).count();
        2 * below + equal + 1
    };
    all.iter().map(rank).collect()
}

/// Returns the sum of the last `new` ranks, and its distance from the expected value.
fn distance(ranks: &[usize], new: usize) -> (usize, usize) {
    let sum: usize = ranks[ranks.len() - new..].iter().sum();
    (sum, sum.abs_diff(new * (ranks.len() + 1)))
}

/// Returns the p-value by counting all ways to choose the new values.
fn exact(ranks: &[usize], new: usize) -> f64 {
    let (_, observed) = distance(ranks, new);
    let mut greatest = ranks.to_vec();
    greatest.sort_unstable_by(|a, b| b.cmp(a));
    let most: usize = greatest[..new].iter().sum();
    // The number of ways, by the number of chosen values and by the sum of their ranks.
    let mut ways = vec![vec![0.0_f64; most + 1]; new + 1];
    ways[0][0] = 1.0;
    for (index, &rank) in ranks.iter().enumerate() {
        for chosen in (1..=new.min(index + 1)).rev() {
            let (fewer, these) = ways.split_at_mut(chosen);
            let fewer = &fewer[chosen - 1];
            for sum in rank..=most {
                these[0][sum] += fewer[sum - rank];
            }
        }
    }
    let expected = new * (ranks.len() + 1);
    let total: f64 = ways[new].iter().sum();
    let far: f64 =
        (0..).zip(&ways[new]).filter(|(sum, _)| expected.abs_diff(*sum) >= observed).map(|(_, ways)| ways).sum();
    far / total
}

/// Returns the p-value for large samples.
fn approximate(ranks: &[usize], new: usize) -> f64 {
    let (_, observed) = distance(ranks, new);
    let (all, new) = (ranks.len() as f64, new as f64);
    let mean = (all + 1.0) / 2.0;
    let squares: f64 = ranks.iter().map(|&rank| (rank as f64 / 2.0 - mean) * (rank as f64 / 2.0 - mean)).sum();
    let variance = new * (all - new) / all * squares / (all - 1.0);
    if variance <= 0.0 {
        return 1.0;
    }
    // Half a rank is the continuity correction.
    let z = ((observed as f64 / 2.0 - 0.5).max(0.0)) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}

/// Returns the number of ways to choose `chosen` of `all`.
fn ways(all: usize, chosen: usize) -> f64 {
    (0..chosen).map(|i| (all - i) as f64 / (i + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::random::Rng;

    /// Returns run times as machines have them: most are alike, some are longer.
    fn sample(rng: &Rng, n: usize, factor: f64) -> Vec<f64> {
        (0..n)
            .map(|_| factor * (1.0 + 0.02 * rng.normal() + if rng.chance(0.2) { 0.1 * rng.exponential() } else { 0.0 }))
            .collect()
    }

    /// The number of comparisons of each kind.
    const TRIALS: u64 = 400;

    /// Returns the share of comparisons that find the change. If `factor` is 1, there is no change, and any
    /// change found counts.
    fn found(n: usize, factor: f64) -> f64 {
        let is_found = |trial: u64| {
            let rng = Rng::stream(trial, 1);
            let (before, now) = (sample(&rng, n, 1.0), sample(&rng, n, factor));
            let verdict = Comparison::of(&before, &now).expect("there are values").verdict();
            match () {
                () if factor < 1.0 => verdict == Verdict::Lower,
                () if factor > 1.0 => verdict == Verdict::Higher,
                () => matches!(verdict, Verdict::Lower | Verdict::Higher),
            }
        };
        (0..TRIALS).filter(|&trial| is_found(trial)).count() as f64 / TRIALS as f64
    }

    #[test]
    fn noise_is_called_a_change_in_one_of_a_hundred_comparisons_at_most() {
        for n in [5, 10, 20, 60] {
            let alarms = found(n, 1.0);
            // The mean is 4 of 400; by chance there may be up to 10.
            assert!(alarms <= 0.025, "{n} values: {alarms} false alarms");
        }
    }

    #[test]
    fn a_change_is_found_the_more_surely_the_more_values_there_are() {
        // 5 % is more than twice the standard deviation of most values.
        let [few, some, many] = [5, 10, 20].map(|n| found(n, 0.95));
        assert!(few >= 0.2 && some >= 0.6 && many >= 0.9, "{few}, {some}, {many}");
        let much = found(10, 1.25);
        assert!(much >= 0.95, "{much}");
    }

    #[test]
    fn p_values_are_those_of_published_tables() {
        let numbers = |from: u32, to: u32| (from..=to).map(f64::from).collect::<Vec<_>>();
        let p = |a: &[f64], b: &[f64]| Comparison::of(a, b).expect("there are values").p;
        // U = 0: 2 of the 70 ways to choose 4 of 8, and 2 of the 20 ways to choose 3 of 6.
        assert!((p(&numbers(1, 4), &numbers(5, 8)) - 2.0 / 70.0).abs() < 1e-12);
        assert!((p(&numbers(1, 3), &numbers(4, 6)) - 0.1).abs() < 1e-12);
        // U = 2 of 4 and 4: 8 of 70 (Mann and Whitney 1947, table I: 0.057 in each tail).
        assert!((p(&[1.0, 2.0, 3.0, 6.0], &[4.0, 5.0, 7.0, 8.0]) - 8.0 / 70.0).abs() < 1e-12);
        // All values are alike.
        assert!((p(&[1.0; 5], &[1.0; 5]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_approximation_meets_the_exact_value() {
        for seed in 0..50 {
            let rng = Rng::stream(seed, 2);
            let (before, now) = (sample(&rng, 40, 1.0), sample(&rng, 40, 1.01));
            let ranks = doubled_ranks(&before, &now);
            let (exact, approximate) = (exact(&ranks, 40), approximate(&ranks, 40));
            assert!((exact - approximate).abs() < 0.01 + 0.05 * exact, "{exact} {approximate}");
        }
    }
}
