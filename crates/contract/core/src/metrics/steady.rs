//! The steady-state mean of a correlated sequence, with a confidence interval, by batch means.
//!
//! Waiting times in a queue resemble their neighbours, so the interval for independent observations would be
//! far too narrow. Means of long batches are nearly independent. Three choices keep the interval honest while
//! the batches are still too short:
//!
//! - *Warm-up*: the first sixteenth of the batches, rounded up, is dropped. A fixed share costs 3 % of the
//!   interval's width. A share that depends on the data (such as MSER) tends to choose the narrowest
//!   interval, and so misses the truth more often.
//! - *Few batches*: the remaining batches are joined in pairs, which leaves 15 to 29 of twice the length.
//!   More than 30 batches gain nearly nothing (Schmeiser).
//! - *Remaining correlation*: if neighbouring batches have a correlation `r > 0`, the variance of the mean is
//!   multiplied by `(1 + r) / (1 - r)`. That is the exact factor for an autoregressive sequence.
//!
//! Example: waiting times of M/M/1 at utilisation 0.95, from an empty start. The 95 % interval holds the
//! truth in 89 % of the runs after 100,000 customers, in 93 % after 300,000, and in 95 to 96 % from 1.5
//! million on.
//!
//! *References*: B. W. Schmeiser, "Batch size effects in the analysis of simulation output", Operations
//! Research 30(3), 1982. A. M. Law, "Simulation Modeling and Analysis", 5th edition, chapter 9, 2015.

use super::per_lp::PerLp;
use super::stats::{Estimate, half_width};
use crate::event::{LpId, Sender};
use serde::{Deserialize, Serialize};

/// At this number of batches, they are joined in pairs, and half as many remain.
pub(super) const BATCHES_MAX: usize = 64;
/// With fewer batches than this there is no interval, and no warm-up.
const BATCHES_MIN: usize = BATCHES_MAX / 2;
/// The warm-up is the number of batches divided by this number, rounded up.
const WARM_UP: usize = 16;

/// The sequence of one LP, as the sums of 32 to 63 batches of equal length (fewer at first). It takes 512
/// bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Batches {
    pub(super) sums: Vec<f64>,
    /// The number of observations in each full batch, a power of two.
    pub(super) length: u64,
    /// The sum of the batch that is not full yet, and the number of its observations.
    pub(super) partial: (f64, u64),
}

impl Default for Batches {
    fn default() -> Batches {
        Batches { sums: Vec::new(), length: 1, partial: (0.0, 0) }
    }
}

/// The contribution of one LP to the estimate.
struct LpEstimate {
    /// The number of observations after the warm-up, in full batches.
    count: u64,
    mean: f64,
    /// The variance of the mean and its degrees of freedom, if there are enough batches.
    spread: Option<(f64, f64)>,
}

impl Batches {
    #[inline]
    fn observe(&mut self, x: f64) {
        let (sum, count) = &mut self.partial;
        *sum += x;
        *count += 1;
        if *count == self.length {
            self.sums.push(*sum);
            self.partial = (0.0, 0);
            if self.sums.len() == BATCHES_MAX {
                self.join_pairs();
            }
        }
    }

    /// Joins full batches in pairs of neighbours.
    #[cold]
    fn join_pairs(&mut self) {
        for i in 0..BATCHES_MAX / 2 {
            self.sums[i] = self.sums[2 * i] + self.sums[2 * i + 1];
        }
        self.sums.truncate(BATCHES_MAX / 2);
        self.length *= 2;
    }

    /// Computes mean and spread by the rules of the module documentation. There is at least one full batch.
    fn estimate(&self) -> LpEstimate {
        let enough = self.sums.len() >= BATCHES_MIN;
        let mut kept = &self.sums[..];
        if enough {
            kept = &kept[kept.len().div_ceil(WARM_UP)..];
            // With an odd number, the first batch is dropped, because it is nearest to the warm-up.
            kept = &kept[kept.len() % 2..];
        }
        let count = kept.len() as u64 * self.length;
        let mean = kept.iter().sum::<f64>() / count as f64;
        let spread = enough.then(|| {
            let distances: Vec<f64> =
                kept.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / (2 * self.length) as f64 - mean).collect();
            variance_of_mean(&distances)
        });
        LpEstimate { count, mean, spread }
    }
}

/// Returns the variance of the mean of correlated batches and its degrees of freedom, from the distances of
/// the batches to the mean.
fn variance_of_mean(distances: &[f64]) -> (f64, f64) {
    let freedom = (distances.len() - 1) as f64;
    let squares: f64 = distances.iter().map(|d| d * d).sum();
    if squares <= 0.0 {
        return (0.0, freedom);
    }
    let neighbours: f64 = distances.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // The estimate is below cos(pi / (batches + 1)) by its definition, and so below one.
    let correlation = (neighbours / squares).max(0.0);
    let inflation = (1.0 + correlation) / (1.0 - correlation);
    (squares / freedom / distances.len() as f64 * inflation, freedom)
}

/// The steady-state mean of correlated observations, kept for each LP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    pub(super) lps: PerLp<Batches>,
}

impl Steady {
    #[inline]
    pub(super) fn observe(&mut self, from: Sender, x: f64) {
        self.lps.entry(from).observe(x);
    }

    /// Returns the mean over all LPs, weighted by their observations after the warm-up, with an interval.
    /// `None` without observations.
    ///
    /// There is an interval if every LP that recorded has at least 32 observations. It assumes that the LPs
    /// are independent (degrees of freedom by Welch and Satterthwaite). If they are not, as with queues in
    /// tandem, read [`Steady::lps`], or run replications.
    pub fn estimate(&self) -> Option<Estimate> {
        combine(self.lps.iter().map(|(_, batches)| batches.estimate()))
    }

    /// Returns the estimate of each LP that recorded, by id.
    pub fn lps(&self) -> impl Iterator<Item = (LpId, Estimate)> {
        self.lps.iter().filter_map(|(from, batches)| Some((from.as_lp()?, combine([batches.estimate()].into_iter())?)))
    }
}

/// Returns the weighted mean of independent estimates.
fn combine(parts: impl Iterator<Item = LpEstimate>) -> Option<Estimate> {
    let parts: Vec<LpEstimate> = parts.collect();
    let count: u64 = parts.iter().map(|part| part.count).sum();
    if count == 0 {
        return None;
    }
    let (mut mean, mut spread) = (0.0, Some((0.0, 0.0)));
    for part in &parts {
        let weight = part.count as f64 / count as f64;
        mean += weight * part.mean;
        spread = spread.zip(part.spread).map(|((variance, over_freedom), (own, freedom))| {
            let own = own * weight * weight;
            (variance + own, over_freedom + own * own / freedom)
        });
    }
    let half_width = spread.map(|(variance, over_freedom)| match over_freedom > 0.0 {
        true => half_width(variance, variance * variance / over_freedom),
        false => 0.0,
    });
    Some(Estimate { count, mean, half_width })
}
