//! Points over virtual time.

use super::per_lp::PerLp;
use crate::event::Sender;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// A sequence of points (time, value): a queue's length at every sample, say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub(super) lps: PerLp<Vec<(Time, f64)>>,
}

impl Series {
    /// All points by time; those of one time by LP id, the global events' first, and then in the order of recording.
    pub fn points(&self) -> Vec<(Time, f64)> {
        let mut points: Vec<(Time, f64)> = self.lps.iter().flat_map(|(_, points)| points).copied().collect();
        // A stable sort, so that points of one time stay in the order above.
        points.sort_by_key(|&(time, _)| time);
        points
    }

    /// The points of each that recorded any, in the order of recording; the global events first, then LPs by id.
    pub fn by_sender(&self) -> impl Iterator<Item = (Sender, &[(Time, f64)])> {
        self.lps.iter().map(|(from, points)| (from, &points[..]))
    }
}
