//! Coordinates for a table of latencies, by Vivaldi.

use super::{Coordinates, DIMENSIONS_MAX, distance};
use crate::Matrix;
use crate::underlay::UnderlayError;
use parades_core::random::Rng;

/// The weight of a sample in the estimate of a place's error, and the part of the way to a better point that
/// a place moves. Both are 0.25 in section 3.4 of the paper.
const GAIN: f64 = 0.25;
/// The number of samples that each place takes. In the paper, places converge after about ten samples. The
/// further samples average out the errors.
const ROUNDS: u32 = 300;
/// The least height in seconds: the paper keeps heights above zero.
const HEIGHT_MIN: f64 = 1e-6;

impl Coordinates {
    /// Fits coordinates of `dimensions` dimensions and heights to a table of latencies, by Vivaldi: in random
    /// order, places measure the latency to random others and move. Returns the median of the relative errors
    /// of all latencies too.
    ///
    /// # Errors
    ///
    /// If the number of dimensions is not from 1 to 16, or the table has fewer than two places.
    pub fn fit(matrix: &Matrix, dimensions: usize, rng: &Rng) -> Result<(Coordinates, f64), UnderlayError> {
        let places = matrix.places();
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) || places < 2 {
            let message = "coordinates need 1 to 16 dimensions, and a table of two places or more".to_owned();
            return Err(UnderlayError::Parameter(message));
        }
        let columns = dimensions + 1;
        // Places begin near the origin, and apart.
        let values = (0..places as usize * columns).map(|_| HEIGHT_MIN * (1.0 + rng.unit())).collect();
        let mut coordinates = Coordinates { dimensions, values };
        let mut errors = vec![1.0; places as usize];
        for _ in 0..ROUNDS {
            for place in 0..places {
                let drawn = u32::try_from(rng.below(u64::from(places - 1))).expect("it is below their number");
                let other = drawn + u32::from(drawn >= place);
                coordinates.move_place(place, other, measured(matrix, place, other), &mut errors);
            }
        }
        let error = coordinates.median_error(matrix);
        Ok((coordinates, error))
    }

    /// Moves a place after a sample of the latency to another one.
    fn move_place(&mut self, place: u32, other: u32, latency: f64, errors: &mut [f64]) {
        if latency <= 0.0 {
            return;
        }
        let found = distance(self.place(place), self.place(other));
        let [own, others] = [place, other].map(|place| errors[place as usize]);
        let weight = own / (own + others);
        let sample = (found - latency).abs() / latency;
        errors[place as usize] = sample * GAIN * weight + own * (1.0 - GAIN * weight);
        let force = GAIN * weight * (latency - found) / found;
        let columns = self.dimensions + 1;
        let [begin, begin_other] = [place, other].map(|place| place as usize * columns);
        for column in 0..self.dimensions {
            let apart = self.values[begin + column] - self.values[begin_other + column];
            self.values[begin + column] += force * apart;
        }
        let height = self.values[begin + columns - 1];
        let heights = height + self.values[begin_other + columns - 1];
        self.values[begin + columns - 1] = (height + force * heights).max(HEIGHT_MIN);
    }

    /// Returns the median of the relative errors of all latencies above zero.
    fn median_error(&self, matrix: &Matrix) -> f64 {
        let pairs = (0..matrix.places()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let error = |(a, b): (u32, u32)| {
            let latency = measured(matrix, a, b);
            (latency > 0.0).then(|| (distance(self.place(a), self.place(b)) - latency).abs() / latency)
        };
        let mut errors: Vec<f64> = pairs.filter_map(error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Returns the mean of the latencies there and back, in seconds.
fn measured(matrix: &Matrix, a: u32, b: u32) -> f64 {
    0.5 * (matrix.between(a, b).as_secs_f64() + matrix.between(b, a).as_secs_f64())
}
