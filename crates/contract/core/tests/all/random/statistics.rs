//! Tests of significance, each at the level 1/1000.

/// The two-sided critical value of a standard normal statistic.
const NORMAL_CRITICAL: f64 = 3.290_53;
/// The one-sided critical value of a standard normal statistic.
const NORMAL_CRITICAL_ABOVE: f64 = 3.090_23;
/// The critical value of the Kolmogorov-Smirnov statistic `sqrt(n) * D` for large `n`.
const KOLMOGOROV_CRITICAL: f64 = 1.949_47;

/// Asserts that a statistic which should be standard normal is near 0.
pub(crate) fn assert_standard(what: &str, z: f64) {
    assert!(z.abs() < NORMAL_CRITICAL, "{what}: z = {z}, critical value {NORMAL_CRITICAL}");
}

/// Asserts that `count` of `n` draws agrees with the probability `p`.
pub(crate) fn assert_share(what: &str, count: u64, n: u64, p: f64) {
    let expected = n as f64 * p;
    assert_standard(what, (count as f64 - expected) / (expected * (1.0 - p)).sqrt());
}

/// Asserts that a statistic is not too large for a chi-square distribution with these degrees of freedom.
pub(crate) fn assert_chi_square(what: &str, statistic: f64, degrees: f64) {
    // Wilson and Hilferty: the cube root of a chi-square variable is nearly normal.
    let spread = 2.0 / (9.0 * degrees);
    let critical = degrees * libm::pow(1.0 - spread + NORMAL_CRITICAL_ABOVE * spread.sqrt(), 3.0);
    assert!(statistic < critical, "{what}: chi-square {statistic} of {degrees} degrees, critical value {critical}");
}

/// Asserts that the bins are filled in proportion to their probabilities, which sum to 1.
pub(crate) fn assert_bins(what: &str, counts: &[u64], probability: impl Fn(usize) -> f64) {
    let n = counts.iter().sum::<u64>() as f64;
    let excess = counts.iter().enumerate().map(|(bin, &count)| {
        let expected = n * probability(bin);
        assert!(expected > 10.0, "{what}: bin {bin} is too small for a chi-square test");
        (count as f64 - expected) * (count as f64 - expected) / expected
    });
    assert_chi_square(what, excess.sum(), counts.len() as f64 - 1.0);
}

/// Asserts that the bins are filled evenly.
pub(crate) fn assert_even(what: &str, counts: &[u64]) {
    assert_bins(what, counts, |_| 1.0 / counts.len() as f64);
}

/// Asserts that the samples have this continuous cumulative distribution (Kolmogorov-Smirnov).
pub(crate) fn assert_distribution(what: &str, mut samples: Vec<f64>, cumulative: impl Fn(f64) -> f64) {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let distance = samples.iter().enumerate().map(|(index, &x)| {
        let (below, level) = (index as f64 / n, cumulative(x));
        (level - below).max(below + 1.0 / n - level)
    });
    let statistic = n.sqrt() * distance.fold(0.0, f64::max);
    assert!(statistic < KOLMOGOROV_CRITICAL, "{what}: sqrt(n) D = {statistic}, critical value {KOLMOGOROV_CRITICAL}");
}

/// Asserts that the mean of the samples, and the mean of their squares, agree with the first, second and
/// fourth moment.
pub(crate) fn assert_moments(what: &str, samples: &[f64], [first, second, fourth]: [f64; 3]) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let mean_square = samples.iter().map(|x| x * x).sum::<f64>() / n;
    assert_standard(&format!("{what}, mean {mean}"), (mean - first) / ((second - first * first) / n).sqrt());
    let spread = ((fourth - second * second) / n).sqrt();
    assert_standard(&format!("{what}, mean square {mean_square}"), (mean_square - second) / spread);
}
