//! Reliable transfers: a sliding window of segments, cumulative acknowledgements, and two ways to find out what was lost.
//!
//! - The *receiver* keeps what comes out of order, and answers every segment with the number of the next one that it waits for.
//! - The *sender* has at most a window of segments under way; under [`Control::Reno`] at most as many as slow start and congestion
//!   avoidance allow (RFC 5681), counted in segments. It times one segment at a time, none that was sent twice (Karn's rule), and sets its
//!   timer by RFC 6298: at least 200 ms, as Linux has it, at most a minute.
//! - Three duplicate acknowledgements let it send the missing segment again at once. In the *recovery* that follows, until all that had been
//!   sent by then is acknowledged, an acknowledgement of a part exposes the next hole, which is filled (RFC 6582).
//! - When the timer is due, it begins anew from the first segment that is not acknowledged, and the timeout doubles. The threshold of slow
//!   start is halved by the first of several timeouts in a row only (RFC 5681, section 3.1).
//!
//! *References*: M. Allman, V. Paxson, E. Blanton, "TCP congestion control", RFC 5681, 2009. V. Paxson, M. Allman, J. Chu, M. Sargent,
//! "Computing TCP's retransmission timer", RFC 6298, 2011. T. Henderson, S. Floyd, A. Gurtov, Y. Nishida, "The NewReno modification to TCP's
//! fast recovery algorithm", RFC 6582, 2012.

use crate::description::{Control, Transfer};
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use parades_packet::flow::Sink;

/// No segment is timed.
const NONE: u32 = u32::MAX;
const RTO_FIRST: Delay = Delay::from_secs(1);
const RTO_LEAST: Delay = Delay::from_ms(200);
const RTO_MOST: Delay = Delay::from_secs(60);
/// RFC 6928.
const FIRST_WINDOW: u32 = 10;
/// Duplicate acknowledgements that tell of a loss.
const DUPLICATES: u32 = 3;

/// The sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    /// All segments below are acknowledged.
    una: u32,
    /// The next one to be sent.
    next: u32,
    /// One more than the greatest that was sent.
    highest: u32,
    /// The congestion window and the threshold of slow start, in segments.
    cwnd: u32,
    ssthresh: u32,
    /// Acknowledgements since the congestion window last grew in congestion avoidance.
    growth: u32,
    duplicates: u32,
    /// What had been sent when the last recovery began.
    recover: u32,
    recovering: bool,
    /// Whether the timer has been due since an acknowledgement last brought something new.
    timed_out: bool,
    /// The segment that is timed, and since when.
    timed: u32,
    timed_at: Time,
    srtt_ps: u64,
    variation_ps: u64,
    rto: Delay,
    /// Segments sent, those sent again included.
    pub(crate) sent: u64,
    pub(crate) sent_again: u64,
    pub(crate) timeouts: u64,
    /// Acknowledgements that came.
    pub(crate) acknowledgements: u64,
    /// When the last segment was acknowledged; the end of time before.
    pub(crate) finished: Time,
}

/// What a sender does about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    /// The segment to be sent again at once.
    pub(crate) again: Option<u32>,
    /// What becomes of the timer.
    pub(crate) timer: Timer,
}

/// What becomes of a sender's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    Keep,
    Set(Delay),
    Cancel,
}

impl Transfer {
    /// How many segments there are.
    pub(crate) fn segments(&self) -> u32 {
        u32::try_from(self.bytes.div_ceil(u64::from(self.segment))).unwrap_or(u32::MAX)
    }

    /// The payload of a segment.
    pub(crate) fn payload(&self, number: u32) -> u32 {
        let left = self.bytes - u64::from(number) * u64::from(self.segment);
        u32::try_from(left).map_or(self.segment, |left| left.min(self.segment))
    }

    /// The bytes of all segments below one.
    pub(crate) fn bytes_below(&self, number: u32) -> u64 {
        (u64::from(number) * u64::from(self.segment)).min(self.bytes)
    }
}

impl Sender {
    pub(crate) const NEW: Sender = Sender {
        una: 0,
        next: 0,
        highest: 0,
        cwnd: FIRST_WINDOW,
        ssthresh: u32::MAX,
        growth: 0,
        duplicates: 0,
        recover: 0,
        recovering: false,
        timed_out: false,
        timed: NONE,
        timed_at: Time::ZERO,
        srtt_ps: 0,
        variation_ps: 0,
        rto: RTO_FIRST,
        sent: 0,
        sent_again: 0,
        timeouts: 0,
        acknowledgements: 0,
        finished: Time::MAX,
    };

    /// How many segments are acknowledged.
    pub(crate) fn acknowledged(&self) -> u32 {
        self.una
    }

    /// The next segment that the window lets it send, which counts as sent.
    #[inline]
    pub(crate) fn next_segment(&mut self, now: Time, transfer: &Transfer) -> Option<u32> {
        let window = match transfer.control {
            Control::Fixed => transfer.window,
            // Each duplicate tells of a segment that has left the network.
            Control::Reno if self.recovering => transfer.window.min(self.cwnd.saturating_add(self.duplicates)),
            Control::Reno => transfer.window.min(self.cwnd),
        };
        let segment = self.next;
        if segment >= transfer.segments() || segment - self.una >= window {
            return None;
        }
        self.next += 1;
        self.sent += 1;
        if segment < self.highest {
            self.sent_again += 1;
            self.timed = NONE;
        } else {
            self.highest = self.next;
            if self.timed == NONE {
                (self.timed, self.timed_at) = (segment, now);
            }
        }
        Some(segment)
    }

    /// The timeout, for whoever sets the timer first.
    pub(crate) fn timeout(&self) -> Delay {
        self.rto
    }

    /// The timer is due: all that is not acknowledged is sent again.
    pub(crate) fn time_out(&mut self) {
        self.timeouts += 1;
        // Of a segment that the timer has sent before, another loss tells nothing new of the network.
        if !self.timed_out {
            self.halve();
        }
        self.timed_out = true;
        self.cwnd = 1;
        self.growth = 0;
        self.recovering = false;
        self.duplicates = 0;
        self.recover = self.highest;
        self.next = self.una;
        self.timed = NONE;
        self.rto = Delay::from_ps(self.rto.as_ps().saturating_mul(2)).min(RTO_MOST);
    }

    /// An acknowledgement of all segments below `number` has come.
    pub(crate) fn acknowledge(&mut self, now: Time, number: u32, transfer: &Transfer) -> Orders {
        self.acknowledgements += 1;
        if number > self.una {
            return self.advance(now, number, transfer);
        }
        let mut orders = Orders { again: None, timer: Timer::Keep };
        if number < self.una || self.next == self.una || self.finished < Time::MAX {
            return orders; // An old one, or nothing is under way.
        }
        self.duplicates += 1;
        if !self.recovering && self.duplicates == DUPLICATES && self.una >= self.recover {
            self.halve();
            self.cwnd = self.ssthresh;
            self.recover = self.highest;
            self.recovering = true;
            orders = self.send_again();
        }
        orders
    }

    fn advance(&mut self, now: Time, number: u32, transfer: &Transfer) -> Orders {
        let newly = number - self.una;
        self.una = number;
        self.timed_out = false;
        self.next = self.next.max(number);
        if self.timed < number {
            self.measure(now.since(self.timed_at));
            self.timed = NONE;
        }
        if number == transfer.segments() {
            self.finished = now;
            return Orders { again: None, timer: Timer::Cancel };
        }
        if self.recovering && number < self.recover {
            self.duplicates = self.duplicates.saturating_sub(newly) + 1;
            return self.send_again();
        }
        if self.recovering {
            self.recovering = false;
            self.cwnd = self.ssthresh;
        } else {
            self.grow();
        }
        self.duplicates = 0;
        Orders { again: None, timer: Timer::Set(self.rto) }
    }

    /// Sends the first segment that is not acknowledged again.
    fn send_again(&mut self) -> Orders {
        self.sent += 1;
        self.sent_again += 1;
        self.timed = NONE;
        Orders { again: Some(self.una), timer: Timer::Set(self.rto) }
    }

    fn halve(&mut self) {
        self.ssthresh = ((self.next - self.una) / 2).max(2);
        self.growth = 0;
    }

    fn grow(&mut self) {
        if self.cwnd < self.ssthresh {
            self.cwnd += 1;
            return;
        }
        self.growth += 1;
        if self.growth >= self.cwnd {
            self.growth = 0;
            self.cwnd += 1;
        }
    }

    /// Takes a round-trip time (RFC 6298, section 2).
    fn measure(&mut self, round_trip: Delay) {
        let ps = round_trip.as_ps();
        if self.srtt_ps == 0 {
            (self.srtt_ps, self.variation_ps) = (ps.max(1), ps / 2);
        } else {
            let difference = self.srtt_ps.abs_diff(ps);
            self.variation_ps = self.variation_ps - self.variation_ps / 4 + difference / 4;
            self.srtt_ps = (self.srtt_ps - self.srtt_ps / 8 + ps / 8).max(1);
        }
        let rto = self.srtt_ps.saturating_add(self.variation_ps.saturating_mul(4));
        self.rto = Delay::from_ps(rto).clamp(RTO_LEAST, RTO_MOST);
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let words = [
            self.una,
            self.next,
            self.highest,
            self.cwnd,
            self.ssthresh,
            self.growth,
            self.duplicates,
            self.recover,
            self.timed,
        ];
        words.into_iter().for_each(|word| digest.word(u64::from(word)));
        let words = [self.srtt_ps, self.variation_ps, self.rto.as_ps(), self.sent, self.sent_again, self.timeouts];
        words.into_iter().for_each(|word| digest.word(word));
        digest.word(u64::from(self.timed_out) << 63 | self.acknowledgements << 1 | u64::from(self.recovering));
        digest.word(self.finished.as_ps());
    }
}

/// The receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receiver {
    /// All segments that came.
    pub(crate) sink: Sink,
    /// The one that it waits for.
    pub(crate) next: u32,
    /// Acknowledgements sent.
    pub(crate) sent: u64,
}

impl Receiver {
    pub(crate) const NEW: Receiver = Receiver { sink: Sink::NEW, next: 0, sent: 0 };

    /// A segment has come. `early` holds a bit for each segment of a window, and `changed` is shown each word of it before it changes.
    pub(crate) fn take(&mut self, number: u32, early: &mut [u64], mut changed: impl FnMut(u32, u64)) {
        let bits = u32::try_from(early.len()).expect("windows are bounded") * 64;
        let place = |number: u32| (number % bits / 64, 1_u64 << (number % 64));
        if number > self.next {
            let (word, bit) = place(number);
            if early[word as usize] & bit == 0 {
                changed(word, early[word as usize]);
                early[word as usize] |= bit;
            }
            return;
        }
        if number < self.next {
            return; // It came before.
        }
        self.next += 1;
        loop {
            let (word, bit) = place(self.next);
            if early[word as usize] & bit == 0 {
                return;
            }
            changed(word, early[word as usize]);
            early[word as usize] &= !bit;
            self.next += 1;
        }
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.sink.fold(digest);
        digest.word(u64::from(self.next));
        digest.word(self.sent);
    }
}

/// Words that hold a bit for each segment of a window.
pub(crate) fn early_words(window: u32) -> usize {
    // One more than the window: the segment that is waited for has a bit, which is never set.
    (window as usize + 1).div_ceil(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_halved_once_by_timeouts_in_a_row() {
        let transfer = Transfer { bytes: 1_000_000, segment: 1000, window: 100, control: Control::Reno };
        let mut sender = Sender { cwnd: 100, ..Sender::NEW };
        let send = |sender: &mut Sender| std::iter::from_fn(|| sender.next_segment(Time::ZERO, &transfer)).count();
        assert_eq!(send(&mut sender), 100);
        for timeouts in 1..=3 {
            sender.time_out();
            assert_eq!(send(&mut sender), 1);
            assert_eq!((sender.timeouts, sender.ssthresh, sender.cwnd), (timeouts, 50, 1));
        }
        // What is acknowledged makes room for another: the next timeout is of a segment that no timer has sent.
        sender.acknowledge(Time::from_ps(1), 10, &transfer);
        assert_eq!(send(&mut sender), 2);
        sender.time_out();
        assert_eq!(sender.ssthresh, 2);
    }
}
