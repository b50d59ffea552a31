//! The record of a sent event.

use crate::event::{EventKey, LpId, Sender};
use crate::time::{Instant, Time};
use std::num::NonZeroU32;

/// The record of a sent event. It has everything that an anti-message needs, except the sender, which the
/// history knows.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    time: Time,
    sequence: u64,
    round: u32,
    tie: u32,
    /// The receiver's id plus one. As it is never zero, `Option<Sent>` is no larger than `Sent`.
    receiver: NonZeroU32,
}

impl Sent {
    /// Records an event of this key for `receiver`.
    #[inline]
    pub fn of(key: &EventKey, receiver: LpId) -> Sent {
        let EventKey { instant: Instant { time, round }, tie, sequence, .. } = *key;
        Sent { time, sequence, round, tie, receiver: NonZeroU32::MIN.saturating_add(receiver.0) }
    }

    /// Returns the key of the event, given its sender.
    pub fn key(&self, sender: Sender) -> EventKey {
        let instant = Instant { time: self.time, round: self.round };
        EventKey { instant, tie: self.tie, sender, sequence: self.sequence }
    }

    /// Returns the receiver of the event.
    pub fn receiver(&self) -> LpId {
        LpId(self.receiver.get() - 1)
    }
}
