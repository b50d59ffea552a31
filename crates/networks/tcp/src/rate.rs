//! Estimation of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).

use crate::control::RateSample;
use crate::sender::Sent;
use parades_core::time::{Delay, Time};

/// The delivery of a connection's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Bytes delivered.
    pub delivered: u64,
    /// The time of the last delivery.
    pub delivered_at: Time,
    /// The time at which the newest delivered segment was sent.
    pub phase_start: Time,
    /// The application had too little to send until this number of bytes is delivered; 0 if it had enough.
    pub app_limited: u64,
}

/// The newest segment among those that an acknowledgement delivers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newest {
    sent: Option<Sent>,
}

impl Rate {
    pub(crate) const fn new() -> Rate {
        Rate { delivered: 0, delivered_at: Time::ZERO, phase_start: Time::ZERO, app_limited: 0 }
    }

    /// Notes a transmission. `is_first` is true if nothing was in flight.
    pub(crate) fn on_sent(&mut self, sent: &mut Sent, is_first: bool, now: Time) {
        if is_first {
            self.phase_start = now;
            self.delivered_at = now;
        }
        sent.delivered = self.delivered;
        sent.delivered_at = self.delivered_at;
        sent.phase_start = self.phase_start;
        sent.is_app_limited = self.app_limited != 0;
    }

    /// Notes that a segment has been delivered.
    pub(crate) fn on_delivered(&mut self, sent: &Sent, newest: &mut Newest, now: Time) {
        self.delivered += u64::from(sent.len);
        self.delivered_at = now;
        let is_newer = newest.sent.is_none_or(|old| (sent.delivered, sent.sent_at) >= (old.delivered, old.sent_at));
        if is_newer {
            newest.sent = Some(*sent);
            self.phase_start = sent.sent_at;
        }
    }

    /// Returns the sample of an acknowledgement, if it is valid.
    pub(crate) fn sample(&mut self, newest: &Newest, min_rtt: Delay, now: Time) -> Option<RateSample> {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let sent = newest.sent?;
        let send_phase = sent.sent_at.since(sent.phase_start);
        let ack_phase = now.since(sent.delivered_at);
        let interval = send_phase.max(ack_phase);
        // A shorter interval comes from a spurious retransmission.
        if interval < min_rtt || interval == Delay::ZERO {
            return None;
        }
        Some(RateSample {
            delivered: self.delivered - sent.delivered,
            interval,
            prior_delivered: sent.delivered,
            is_app_limited: sent.is_app_limited,
        })
    }
}
