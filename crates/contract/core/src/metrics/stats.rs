//! Confidence intervals: Student's t, and the mean of replications.

use std::f64::consts::PI;

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of observations, or of replications.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The interval is `mean - half_width ..= mean + half_width`. `None` if there are too few observations.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// Returns the mean of independent replications (different seeds), with an interval from two replications
    /// on. `None` without replications.
    ///
    /// ```
    /// # use parades_core::metrics::Estimate;
    /// let estimate = Estimate::of_replications(&[9.0, 10.0, 11.0]).unwrap();
    /// assert_eq!(estimate.mean, 10.0);
    /// assert!((estimate.half_width.unwrap() - 4.302_652_73 / 3f64.sqrt()).abs() < 1e-6);
    /// ```
    pub fn of_replications(values: &[f64]) -> Option<Estimate> {
        let mut moments = super::Moments::default();
        values.iter().for_each(|&x| moments.observe(x));
        let count = moments.count();
        let half_width = moments.variance().map(|variance| half_width(variance / count as f64, (count - 1) as f64));
        Some(Estimate { count, mean: moments.mean()?, half_width })
    }

    /// True if `truth` is in the interval.
    pub fn contains(&self, truth: f64) -> bool {
        self.half_width.is_some_and(|half_width| (truth - self.mean).abs() <= half_width)
    }
}

/// Returns half the width of the interval of a mean, whose variance was estimated with `freedom` degrees of
/// freedom.
pub(super) fn half_width(variance_of_mean: f64, freedom: f64) -> f64 {
    variance_of_mean.sqrt() * student_t95(freedom)
}

/// The quantile of the normal distribution for two-sided 95 %.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Returns Student's t for two-sided 95 %, to a relative 1e-9.
///
/// A `t` variable with `freedom` degrees of freedom lies within plus or minus this number in 19 of 20 cases.
/// `freedom` is any real number; below 1 it counts as 1.
///
/// ```
/// # use parades_core::metrics::student_t95;
/// assert!((student_t95(1.0) - 12.706_204_736).abs() < 1e-8);
/// assert!((student_t95(f64::INFINITY) - 1.959_963_985).abs() < 1e-8);
/// ```
pub fn student_t95(freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    if freedom >= 100.0 {
        return expansion(freedom);
    }
    // The tails shrink as t grows, so bisection works. The answer for 1 degree of freedom is 12.71.
    let (mut low, mut high) = (NORMAL, 12.8);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if tails(middle, freedom) > 0.05 { low = middle } else { high = middle }
    }
}

/// The Cornish-Fisher expansion about the normal quantile (Abramowitz and Stegun 26.7.5). From 100 degrees of
/// freedom on, the next term is below 1e-9.
fn expansion(freedom: f64) -> f64 {
    let z = NORMAL;
    let z2 = z * z;
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92_160.0;
    let x = 1.0 / freedom;
    z + x * (g1 + x * (g2 + x * (g3 + x * g4)))
}

/// Returns the probability that a `t` variable lies outside plus or minus `t`: the incomplete beta function
/// `I_x(freedom / 2, 1 / 2)` at `x = freedom / (freedom + t^2)`.
fn tails(t: f64, freedom: f64) -> f64 {
    let (a, b) = (freedom / 2.0, 0.5);
    let x = freedom / (freedom + t * t);
    // The logarithm of x^a (1 - x)^b / (a B(a, b)). The gamma function of 1/2 is the square root of pi.
    let ln_beta = libm::lgamma(a) + 0.5 * libm::log(PI) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log(t * t / (freedom + t * t)) - ln_beta);
    // The fraction converges fast on one side of the mean. On the other side, the symmetry I_x(a, b) = 1 -
    // I_(1-x)(b, a) helps.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// Returns the continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's
/// method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let keep_off_zero = |y: f64| if y.abs() < 1e-300 { 1e-300 } else { y };
    let mut c = 1.0;
    let mut d = 1.0 / keep_off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    // Below 100 degrees of freedom, far fewer than a hundred steps are needed.
    for m in 1..100 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = result;
        for term in [even, odd] {
            d = 1.0 / keep_off_zero(1.0 + term * d);
            c = keep_off_zero(1.0 + term / c);
            result *= c * d;
        }
        if (result - before).abs() <= 1e-16 * result.abs() {
            break;
        }
    }
    result
}
