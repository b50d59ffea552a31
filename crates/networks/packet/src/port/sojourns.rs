//! The times for which packets have waited in a queue, for series that are asked for.

use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The sojourn of a packet that had to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(super) struct Sojourn {
    /// The start of its transmission, when it leaves the queue.
    pub(super) start: Time,
    /// The time since its arrival.
    pub(super) waited: Delay,
}

/// The sojourns of packets that had to wait, until a sample takes them. Ports without series have none.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub(crate) struct Sojourns {
    /// In the order of their starts, since packets leave in turn.
    pub(super) packets: VecDeque<Sojourn>,
    /// The time of the last sample. Later packets are in no series.
    pub(super) last: Time,
}

/// The sum and the greatest of some sojourns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SojournTotals {
    /// In picoseconds.
    pub(crate) sum: u128,
    pub(crate) max: Delay,
}

impl Sojourns {
    /// Returns the log of a port whose last sample is at `last`.
    pub(super) fn until(last: Time) -> Box<Sojourns> {
        Box::new(Sojourns { packets: VecDeque::new(), last })
    }

    /// True if packets leave in turn.
    pub(super) fn is_in_order(&self) -> bool {
        self.packets.iter().is_sorted_by_key(|packet| packet.start)
    }

    /// Takes the packets out that have left the queue by `now`.
    pub(super) fn take(&mut self, now: Time) -> SojournTotals {
        let mut totals = SojournTotals::default();
        while let Some(packet) = self.packets.pop_front_if(|packet| packet.start <= now) {
            totals.sum += u128::from(packet.waited.as_ps());
            totals.max = totals.max.max(packet.waited);
        }
        totals
    }
}
