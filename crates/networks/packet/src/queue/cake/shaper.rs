//! The shaper of CAKE: packets leave at a rate of the discipline's own, without bursts.
//!
//! The time of a packet is that of its bytes on the link below, in frames and cells. So CAKE holds the queue
//! of a DSL line or a cable modem, whose own queue would hide it.

use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// How a link divides packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cells {
    /// It does not.
    #[default]
    None,
    /// ATM: cells of 53 bytes, each with 48 bytes of the packet, the last one padded (ADSL).
    Atm,
    /// PTM: a byte for each 64 bytes or part of them (64/65 encoding of VDSL2, IEEE 802.3 clause 61.3).
    Ptm,
}

impl Cells {
    /// Returns the bytes on a link of a frame of `bytes` bytes, which is padded to `least` bytes.
    pub(super) fn bytes_of(self, bytes: u64, least: u64) -> u64 {
        let bytes = bytes.max(least);
        match self {
            Cells::None => bytes,
            Cells::Atm => bytes.div_ceil(48) * 53,
            Cells::Ptm => bytes + bytes.div_ceil(64),
        }
    }
}

/// The state of the shaper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(super) struct Shaper {
    /// The time at which the next packet may leave.
    next: Time,
    /// The same by half the rate, without the packets that were dropped. However many are dropped, some
    /// leave.
    failsafe: Time,
}

impl Shaper {
    /// Returns the shaper of a queue that was empty and has a packet at `now`.
    pub(super) fn at(now: Time) -> Shaper {
        Shaper { next: now, failsafe: now }
    }

    /// Returns true if a packet could have left before `now`.
    pub(super) fn is_behind(&self, now: Time) -> bool {
        self.next < now
    }

    /// Returns the time at which the next packet may leave.
    pub(super) fn ready_at(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// Returns the shaper after a packet that takes `time`.
    pub(super) fn after(self, time: Delay, is_dropped: bool) -> Shaper {
        let next = self.next.saturating_add(time);
        let longer = time.saturating_add(Delay::from_ps(time.as_ps() / 2));
        Shaper { next, failsafe: if is_dropped { self.failsafe } else { self.failsafe.saturating_add(longer) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_padded_and_divided_into_cells() {
        // An IP packet of 40 bytes over PPPoA takes one cell more with 10 bytes of overhead than with 8.
        assert_eq!([48, 50].map(|bytes| Cells::Atm.bytes_of(bytes, 0)), [53, 106]);
        // An acknowledgement on a DOCSIS link, and a full frame over VDSL2.
        assert_eq!(Cells::None.bytes_of(58, 64), 64);
        assert_eq!([64, 65, 1530].map(|bytes| Cells::Ptm.bytes_of(bytes, 0)), [65, 67, 1554]);
        assert_eq!(Cells::Atm.bytes_of(20, 96), 106, "padding comes before cells");
    }

    #[test]
    fn packets_leave_at_the_rate_and_some_leave_however_many_are_dropped() {
        let ms = |ms| Time::from_ms(ms);
        let shaper = Shaper::at(ms(10)).after(Delay::from_ms(4), false);
        assert_eq!(shaper.ready_at(), ms(14));
        let late = (0..9).fold(shaper, |shaper, _| shaper.after(Delay::from_ms(4), true));
        assert_eq!(late.ready_at(), ms(16), "two thirds of the rate");
        assert!(shaper.is_behind(ms(15)) && !shaper.is_behind(ms(14)));
    }
}
