//! The order of messages between two peers.

use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The messages of a peer that are on their way: the last one to each receiver, with its arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OnTheirWay(Vec<(LpId, Time)>);

impl OnTheirWay {
    /// Returns the delay of a message that departs now, so that it overtakes none.
    pub(super) fn delay_behind(&self, to: LpId, now: Time, delay: Delay) -> Delay {
        let last = self.0.iter().find(|(receiver, arrives)| *receiver == to && *arrives >= now);
        let behind = last.map_or(Delay::ZERO, |(_, arrives)| arrives.since(now).saturating_add(Delay::from_ps(1)));
        delay.max(behind)
    }

    /// Adds a message that departs now, and forgets those that have arrived.
    pub(super) fn add(&mut self, to: LpId, now: Time, arrives: Time) {
        self.0.retain(|&(receiver, arrives)| receiver != to && arrives >= now);
        self.0.push((to, arrives));
    }
}
