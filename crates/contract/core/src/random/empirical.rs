//! Measured distributions: points of a cumulative function.

use super::{DistributionError, Rng};

/// A distribution given by points of its cumulative function, with straight lines between them, such as a
/// published table of flow sizes.
///
/// - Two points of the same value are a jump: that value is drawn with the difference of their probabilities.
/// - The first value is drawn with the probability of the first point.
/// - Two points of the same probability leave a gap, from which nothing is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    /// Pairs of a value and the probability that a draw is at most that value. Both ascend; the last
    /// probability is 1.
    points: Vec<(f64, f64)>,
}

impl Empirical {
    /// Makes the distribution through these points. Each is a value, and the probability that a draw is at
    /// most that value.
    ///
    /// ```
    /// # use parades_core::random::Empirical;
    /// let flow_bytes = Empirical::new(&[(100.0, 0.0), (1_500.0, 0.5), (1e6, 1.0)]).expect("the points ascend to 1");
    /// assert!((flow_bytes.mean() - 250_775.0).abs() < 1e-6);
    /// assert_eq!(
    ///     Empirical::new(&[(100.0, 0.0), (1_500.0, 0.5)]).unwrap_err().to_string(),
    ///     "the last point of an empirical distribution must have probability 1, not 0.5",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no point, if a value is not finite, if a probability is not within 0 and 1, if values or
    /// probabilities descend, or if the last probability is not 1.
    pub fn new(points: &[(f64, f64)]) -> Result<Empirical, DistributionError> {
        let error = |sentence: String| Err(DistributionError::new(sentence));
        let Some(&(last_value, last_probability)) = points.last() else {
            return error("an empirical distribution needs at least one point".into());
        };
        for (index, &(value, probability)) in points.iter().enumerate() {
            let place = index + 1;
            if !value.is_finite() {
                return error(format!(
                    "the value of point {place} of an empirical distribution must be finite, not {value}"
                ));
            }
            if !(0.0..=1.0).contains(&probability) {
                return error(format!(
                    "the probability of point {place} of an empirical distribution must be within 0 and 1, not {probability}"
                ));
            }
        }
        for (index, pair) in points.windows(2).enumerate() {
            if pair[1].0 < pair[0].0 || pair[1].1 < pair[0].1 {
                let place = index + 2;
                return error(format!(
                    "values and probabilities of an empirical distribution must ascend, but point {place} is {:?} after {:?}",
                    pair[1], pair[0]
                ));
            }
        }
        if last_probability < 1.0 {
            return error(format!(
                "the last point of an empirical distribution must have probability 1, not {last_probability}"
            ));
        }
        if !(last_value - points[0].0).is_finite() {
            return error("the values of an empirical distribution are too far apart to draw between".into());
        }
        Ok(Empirical { points: points.to_vec() })
    }

    /// Draws a number between the first and the last value. It takes one draw of the stream, and one binary
    /// search.
    #[inline]
    pub fn sample(&self, rng: &Rng) -> f64 {
        let level = rng.unit();
        let above = self.points.partition_point(|&(_, probability)| probability <= level);
        if above == 0 {
            return self.points[0].0;
        }
        // `p0 <= level < p1`, so the divisor is above zero. The last probability is 1, so there is a point
        // above.
        let ((x0, p0), (x1, p1)) = (self.points[above - 1], self.points[above]);
        x0 + (x1 - x0) * ((level - p0) / (p1 - p0))
    }

    /// Returns the mean. It converts an offered load to a rate of arrivals.
    pub fn mean(&self) -> f64 {
        let (first_value, first_probability) = self.points[0];
        let pieces = self.points.windows(2).map(|pair| pair[0].0.midpoint(pair[1].0) * (pair[1].1 - pair[0].1));
        first_value * first_probability + pieces.sum::<f64>()
    }
}
