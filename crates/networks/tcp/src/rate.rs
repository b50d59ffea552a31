//! Estimation of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).

use crate::control::RateSample;
use crate::sender::Sent;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The delivery of a connection's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(from: u64) -> Sent {
        Sent {
            from,
            len: 1000,
            has_fin: false,
            is_sacked: false,
            is_lost: false,
            is_retransmitted: false,
            was_retransmitted: false,
            is_timed: true,
            is_app_limited: false,
            sent_at: Time::ZERO,
            delivered: 0,
            delivered_at: Time::ZERO,
            phase_start: Time::ZERO,
        }
    }

    fn ms(ms: u64) -> Time {
        Time::from_ms(ms)
    }

    /// Ten segments leave, one each millisecond. They arrive one each two milliseconds, a round trip of 50 ms
    /// later.
    #[test]
    fn the_rate_is_that_of_the_slower_phase() {
        let mut rate = Rate::new();
        let mut sent: Vec<Sent> = (0..10).map(|index| segment(index * 1000)).collect();
        for (index, segment) in (0..).zip(&mut sent) {
            segment.sent_at = ms(index);
            rate.on_sent(segment, index == 0, ms(index));
        }
        let mut last = None;
        for (index, segment) in (0..).zip(&sent) {
            let (mut newest, now) = (Newest::default(), ms(50 + 2 * index));
            rate.on_delivered(segment, &mut newest, now);
            last = rate.sample(&newest, Delay::from_ms(50), now);
        }
        // The last one was sent when nothing was delivered. Since then 10,000 bytes arrived within 68 ms.
        let expected =
            RateSample { delivered: 10_000, interval: Delay::from_ms(68), prior_delivered: 0, is_app_limited: false };
        assert_eq!(last, Some(expected));
    }

    #[test]
    fn a_sample_shorter_than_the_round_trip_is_not_valid() {
        let (mut rate, mut sent, mut newest) = (Rate::new(), segment(0), Newest::default());
        rate.on_sent(&mut sent, true, ms(0));
        rate.on_delivered(&sent, &mut newest, ms(10));
        assert_eq!(rate.sample(&newest, Delay::from_ms(20), ms(10)), None);
        assert!(rate.sample(&newest, Delay::from_ms(10), ms(10)).is_some());
    }

    #[test]
    fn a_segment_that_left_when_there_was_too_little_to_send_marks_its_sample() {
        let (mut rate, mut sent, mut newest) = (Rate::new(), segment(0), Newest::default());
        rate.app_limited = 1000;
        rate.on_sent(&mut sent, true, ms(0));
        rate.on_delivered(&sent, &mut newest, ms(10));
        let sample = rate.sample(&newest, Delay::from_ms(10), ms(10)).expect("a sample");
        assert!(sample.is_app_limited);
        assert_eq!(rate.app_limited, 1000, "the bytes that were in flight are not delivered yet");
    }
}
