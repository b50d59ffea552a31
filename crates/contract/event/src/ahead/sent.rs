//! What is kept of an event that was sent.

use crate::event::{EventKey, LpId, Sender};
use crate::time::{Instant, Time};
use std::num::NonZeroU32;

/// All that an anti-message says, but the sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    time: Time,
    sequence: u64,
    round: u32,
    tie: u32,
    /// The rank of the receiver as a sender, which is not zero: so an empty slot of the log takes no more room than a full one.
    receiver: NonZeroU32,
}

impl Sent {
    /// Of an event of this key, for `receiver`.
    #[inline]
    pub fn of(key: &EventKey, receiver: LpId) -> Sent {
        let EventKey { instant: Instant { time, round }, tie, sequence, .. } = *key;
        Sent { time, sequence, round, tie, receiver: NonZeroU32::MIN.saturating_add(receiver.0) }
    }

    /// The key of the event, given who sent it.
    pub fn key(&self, sender: Sender) -> EventKey {
        let instant = Instant { time: self.time, round: self.round };
        EventKey { instant, tie: self.tie, sender, sequence: self.sequence }
    }

    /// Whose event it is.
    pub fn receiver(&self) -> LpId {
        LpId(self.receiver.get() - 1)
    }
}
