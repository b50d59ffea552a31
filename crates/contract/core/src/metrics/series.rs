//! Points over virtual time.

use super::per_lp::PerLp;
use crate::event::Sender;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// A sequence of points (time, value), such as the length of a queue at every sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub(super) lps: PerLp<Vec<(Time, f64)>>,
}

impl Series {
    /// Returns all points by time. Points of one time are in id order, those of global events first, and then
    /// in the order of recording.
    pub fn points(&self) -> Vec<(Time, f64)> {
        let mut points: Vec<(Time, f64)> = self.lps.iter().flat_map(|(_, points)| points).copied().collect();
        // A stable sort, so that points of one time stay in that order.
        points.sort_by_key(|&(time, _)| time);
        points
    }

    /// Returns the points of each sender that recorded, in the order of recording. Global events come first,
    /// then LPs by id.
    pub fn by_sender(&self) -> impl Iterator<Item = (Sender, &[(Time, f64)])> {
        self.lps.iter().map(|(from, points)| (from, &points[..]))
    }
}
