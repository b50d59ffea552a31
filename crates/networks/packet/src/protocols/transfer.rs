//! Reliable transfers: a sliding window of segments, cumulative acknowledgements, and two ways to detect
//! losses.
//!
//! It is an idealised sliding window: every segment has the same payload, and there is no handshake, no
//! receive buffer and no byte numbers. It is meant for comparisons with theory, and for speed. It is no model
//! of TCP; [`super::tcp`] is.
//!
//! - The *receiver* keeps segments that arrive out of order. It answers every segment with the number of the
//!   next segment that it expects.
//! - Copies that links make of segments and acknowledgements are ignored.
//! - The *sender* has at most a window of segments in flight. With [`Control::Reno`] it has at most as many
//!   as slow start and congestion avoidance allow (RFC 5681), counted in segments. It measures the round trip
//!   of one segment at a time, and never of a retransmitted one (Karn's rule). Its timeout follows RFC 6298:
//!   at least 200 ms, as in Linux, and at most a minute.
//! - After three duplicate acknowledgements it retransmits the missing segment at once. A *recovery* follows,
//!   until everything sent by then is acknowledged. In the recovery, an acknowledgement of a part shows the
//!   next missing segment, which is retransmitted (RFC 6582).
//! - When the timer is due, it sends again from the first segment that is not acknowledged, and the timeout
//!   doubles. Only the first of several timeouts in a row halves the threshold of slow start (RFC 5681,
//!   section 3.1).
//!
//! *References*: M. Allman, V. Paxson, E. Blanton, "TCP congestion control", RFC 5681, 2009. V. Paxson, M.
//! Allman, J. Chu, M. Sargent, "Computing TCP's retransmission timer", RFC 6298, 2011. T. Henderson, S.
//! Floyd, A. Gurtov, Y. Nishida, "The NewReno modification to TCP's fast recovery algorithm", RFC 6582, 2012.

use super::{Duration, Environment, Protocol, Segment, Setup};
use crate::save::is_number;
use crate::sink::Sink;
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The size of the transfer in bytes.
    pub bytes: u64,
    /// The payload of a segment in bytes. The last segment carries the rest.
    pub segment: u32,
    /// The largest number of segments in flight.
    pub window: u32,
    /// The part of the window that is used.
    pub control: Control,
}

/// The part of a transfer's window that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// All of it, always.
    Fixed,
    /// As much as Reno's slow start, congestion avoidance and fast recovery allow (RFC 5681, RFC 6582).
    Reno,
}

/// The timer of the first segment, then of retransmissions.
const RETRANSMIT: u32 = 0;
/// The value of `timed` while no segment is timed.
const NONE: u32 = u32::MAX;
/// The timeout before the first measurement (RFC 6298).
const RTO_FIRST: Delay = Delay::from_secs(1);
const RTO_MIN: Delay = Delay::from_ms(200);
const RTO_MAX: Delay = Delay::from_secs(60);
/// The initial congestion window, in segments (RFC 6928).
const FIRST_WINDOW: u32 = 10;
/// The number of duplicate acknowledgements that show a loss.
const DUPLICATES: u32 = 3;

/// The state of the sending end.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub struct Sender {
    #[undoable(constant)]
    #[serde(skip)]
    start: Time,
    /// The first segment that is not acknowledged.
    una: u32,
    /// The next segment to send.
    next: u32,
    /// One more than the greatest number sent.
    highest: u32,
    /// The congestion window, in segments.
    cwnd: u32,
    /// The threshold of slow start, in segments.
    ssthresh: u32,
    /// Acknowledgements since the congestion window last grew in congestion avoidance.
    growth: u32,
    duplicates: u32,
    /// The value of `highest` when the last recovery began.
    recover: u32,
    is_recovering: bool,
    /// True if the timer has been due since the last acknowledgement of new segments.
    has_timed_out: bool,
    /// The segment that is timed, or [`NONE`].
    timed: u32,
    timed_at: Time,
    srtt_ps: u64,
    rtt_variation_ps: u64,
    rto: Delay,
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Segments retransmitted because of duplicate acknowledgements. The others follow a timeout.
    pub retransmitted_fast: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Acknowledgements that arrived.
    pub acknowledgements: u64,
    /// The time at which the last segment was acknowledged; [`Time::MAX`] before.
    pub finished: Time,
}

impl Transfer {
    /// Returns the number of segments.
    pub(crate) fn segments(&self) -> u32 {
        u32::try_from(self.bytes.div_ceil(u64::from(self.segment))).unwrap_or(u32::MAX)
    }

    /// Returns the payload of a segment.
    fn payload(&self, number: u32) -> u32 {
        let left = self.bytes - u64::from(number) * u64::from(self.segment);
        u32::try_from(left).map_or(self.segment, |left| left.min(self.segment))
    }

    /// Returns the bytes of all segments below `number`.
    pub(crate) fn bytes_below(&self, number: u32) -> u64 {
        (u64::from(number) * u64::from(self.segment)).min(self.bytes)
    }
}

impl Sender {
    /// Returns a sender, and sets its timer to the first segments.
    pub(crate) fn on_start(start: Time, setup: &mut impl Setup) -> Sender {
        setup.set_timer(RETRANSMIT, start.since(Time::ZERO));
        Sender {
            start,
            una: 0,
            next: 0,
            highest: 0,
            cwnd: FIRST_WINDOW,
            ssthresh: u32::MAX,
            growth: 0,
            duplicates: 0,
            recover: 0,
            is_recovering: false,
            has_timed_out: false,
            timed: NONE,
            timed_at: Time::ZERO,
            srtt_ps: 0,
            rtt_variation_ps: 0,
            rto: RTO_FIRST,
            sent: 0,
            retransmitted: 0,
            retransmitted_fast: 0,
            timeouts: 0,
            acknowledgements: 0,
            finished: Time::MAX,
        }
    }

    /// Returns the number of segments acknowledged.
    pub(crate) fn acknowledged(&self) -> u32 {
        self.una
    }

    /// Returns the number of segments that may be in flight.
    fn window(&self, transfer: &Transfer) -> u32 {
        match transfer.control {
            Control::Fixed => transfer.window,
            // Each duplicate shows that a segment has left the network.
            Control::Reno if self.is_recovering => transfer.window.min(self.cwnd.saturating_add(self.duplicates)),
            Control::Reno => transfer.window.min(self.cwnd),
        }
    }
    /// Returns a state that was read, of a transfer that starts at `start`. `None` if it is no state of it.
    pub(crate) fn resume(self, of: &Transfer, start: Time) -> Option<Sender> {
        let counts = [self.sent, self.retransmitted, self.retransmitted_fast, self.timeouts, self.acknowledgements];
        let small = [self.cwnd, self.growth, self.duplicates];
        let is_possible = self.una <= self.next
            && self.next <= self.highest
            && self.highest <= of.segments()
            && (self.una == of.segments()) == (self.finished < Time::MAX)
            && counts.into_iter().all(is_number)
            && small.into_iter().all(|number| number < 1 << 31);
        is_possible.then_some(Sender { start, ..self })
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let numbers = [self.una, self.next, self.highest, self.cwnd, self.ssthresh, self.growth];
        let others = [self.duplicates, self.recover, self.is_recovering.into(), self.has_timed_out.into(), self.timed];
        numbers.into_iter().chain(others).for_each(|word| digest.word(u64::from(word)));
        let times = [self.timed_at.as_ps(), self.srtt_ps, self.rtt_variation_ps, self.rto.as_ps()];
        let counts = [self.sent, self.retransmitted, self.timeouts, self.acknowledgements, self.finished.as_ps()];
        times.into_iter().chain(counts).for_each(|word| digest.word(word));
    }
}

impl<R: Recorder<SenderUndo>> Protocol for SenderMut<'_, R> {
    type Parameters = Transfer;

    /// Handles an acknowledgement of all segments below `segment.number`.
    fn on_segment<E: Environment>(&mut self, transfer: &Transfer, segment: &Segment<'_, E::Record>, env: &mut E) {
        if segment.is_copy {
            return;
        }
        *self.acknowledgements() += 1;
        let number = segment.number;
        if number > self.una {
            self.advance(transfer, number, env);
        } else if number == self.una && self.next > self.una && self.finished == Time::MAX {
            self.on_duplicate(transfer, env);
        }
        self.send_window(transfer, env);
    }

    /// Begins the transfer, or handles a timeout: nothing was acknowledged for too long.
    fn on_timer<E: Environment>(&mut self, transfer: &Transfer, _: u32, env: &mut E) {
        if self.sent > 0 {
            self.on_rto();
        }
        env.set_timer(RETRANSMIT, self.rto);
        self.send_window(transfer, env);
    }
}

impl<R: Recorder<SenderUndo>> SenderMut<'_, R> {
    /// Sends the segments that the window allows.
    fn send_window<E: Environment>(&mut self, transfer: &Transfer, env: &mut E) {
        while self.next < transfer.segments() && self.next - self.una < self.window(transfer) {
            let segment = self.next;
            *self.next() += 1;
            *self.sent() += 1;
            if segment < self.highest {
                *self.retransmitted() += 1;
                *self.timed() = NONE;
            } else {
                *self.highest() = segment + 1;
                if self.timed == NONE {
                    *self.timed() = segment;
                    *self.timed_at() = env.now();
                }
            }
            env.send(segment, transfer.payload(segment), None);
        }
    }

    /// Handles a timeout: everything that is not acknowledged will be sent again.
    fn on_rto(&mut self) {
        *self.timeouts() += 1;
        // A further loss of a segment that a timeout has retransmitted says nothing new about the network.
        if !self.has_timed_out {
            self.halve();
        }
        let (una, highest) = (self.una, self.highest);
        let rto = Delay::from_ps(self.rto.as_ps().saturating_mul(2)).min(RTO_MAX);
        *self.has_timed_out() = true;
        *self.cwnd() = 1;
        *self.growth() = 0;
        *self.is_recovering() = false;
        *self.duplicates() = 0;
        *self.recover() = highest;
        *self.next() = una;
        *self.timed() = NONE;
        *self.rto() = rto;
    }

    /// Handles an acknowledgement that brings nothing new while segments are in flight.
    fn on_duplicate<E: Environment>(&mut self, transfer: &Transfer, env: &mut E) {
        *self.duplicates() += 1;
        if !self.is_recovering && self.duplicates == DUPLICATES && self.una >= self.recover {
            self.halve();
            let (ssthresh, highest) = (self.ssthresh, self.highest);
            *self.cwnd() = ssthresh;
            *self.recover() = highest;
            *self.is_recovering() = true;
            self.retransmit(transfer, env);
        }
    }

    /// Handles an acknowledgement of all segments below `number`, some of them for the first time.
    fn advance<E: Environment>(&mut self, transfer: &Transfer, number: u32, env: &mut E) {
        let newly = number - self.una;
        *self.una() = number;
        *self.has_timed_out() = false;
        if self.next < number {
            *self.next() = number;
        }
        if self.timed < number {
            let round_trip = env.now().since(self.timed_at);
            self.measure(round_trip);
            *self.timed() = NONE;
        }
        if number == transfer.segments() {
            *self.finished() = env.now();
            env.cancel_timer(RETRANSMIT);
            return env.observe(Duration::Completion, env.now().since(self.start));
        }
        if self.is_recovering && number < self.recover {
            let duplicates = self.duplicates.saturating_sub(newly) + 1;
            *self.duplicates() = duplicates;
            return self.retransmit(transfer, env);
        }
        if self.is_recovering {
            let ssthresh = self.ssthresh;
            *self.is_recovering() = false;
            *self.cwnd() = ssthresh;
        } else {
            self.grow();
        }
        *self.duplicates() = 0;
        env.set_timer(RETRANSMIT, self.rto);
    }

    /// Sends the first segment that is not acknowledged again, at once.
    fn retransmit<E: Environment>(&mut self, transfer: &Transfer, env: &mut E) {
        *self.sent() += 1;
        *self.retransmitted() += 1;
        *self.retransmitted_fast() += 1;
        *self.timed() = NONE;
        env.send(self.una, transfer.payload(self.una), None);
        env.set_timer(RETRANSMIT, self.rto);
    }

    /// Sets the threshold of slow start to half of the segments in flight.
    fn halve(&mut self) {
        let half = ((self.next - self.una) / 2).max(2);
        *self.ssthresh() = half;
        *self.growth() = 0;
    }

    /// Lets the congestion window grow after an acknowledgement.
    fn grow(&mut self) {
        if self.cwnd < self.ssthresh {
            *self.cwnd() += 1;
            return;
        }
        *self.growth() += 1;
        if self.growth >= self.cwnd {
            *self.growth() = 0;
            *self.cwnd() += 1;
        }
    }

    /// Takes the measurement of a round trip (RFC 6298, section 2).
    fn measure(&mut self, round_trip: Delay) {
        let ps = round_trip.as_ps();
        let (srtt, variation) = (self.srtt_ps, self.rtt_variation_ps);
        let (srtt, variation) = if srtt == 0 {
            (ps.max(1), ps / 2)
        } else {
            ((srtt - srtt / 8 + ps / 8).max(1), variation - variation / 4 + srtt.abs_diff(ps) / 4)
        };
        *self.srtt_ps() = srtt;
        *self.rtt_variation_ps() = variation;
        *self.rto() = Delay::from_ps(srtt.saturating_add(variation.saturating_mul(4))).clamp(RTO_MIN, RTO_MAX);
    }
}

/// The state of the receiving end.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub struct Receiver {
    /// Measurements of all segments that arrive.
    pub sink: Sink,
    /// The next segment that is expected.
    pub next: u32,
    /// Acknowledgements sent.
    pub sent: u64,
    /// A bit for each segment of a window: set if the segment has arrived out of order.
    out_of_order: Box<[u64]>,
}

impl Receiver {
    pub(crate) fn new(transfer: &Transfer, sink: Sink) -> Receiver {
        Receiver { sink, next: 0, sent: 0, out_of_order: vec![0; Receiver::words(transfer)].into() }
    }

    /// Returns the number of words for the segments that have arrived out of order: one bit more than the
    /// window has segments. The bit of the expected segment is never set.
    fn words(transfer: &Transfer) -> usize {
        (transfer.window as usize + 1).div_ceil(64)
    }

    /// Returns the word and the bit of a segment.
    fn place(&self, number: u32) -> (usize, u64) {
        let words = self.out_of_order.len();
        (number as usize / 64 % words, 1 << (number % 64))
    }
    /// Returns true if the receiver of a transfer may have this state. One that was read may be none.
    pub(crate) fn is_possible(&self, of: &Transfer, has_percentiles: bool) -> bool {
        let Receiver { next, sent, .. } = *self;
        let is_free = |number: u32| {
            let (word, bit) = self.place(number);
            self.out_of_order[word] & bit == 0 || number > next && number < of.segments()
        };
        let bits = u32::try_from(Receiver::words(of) * 64).unwrap_or(u32::MAX);
        self.out_of_order.len() == Receiver::words(of)
            && next <= of.segments()
            && is_number(sent)
            && self.sink.is_possible(has_percentiles)
            && (0..bits).all(|ahead| next.checked_add(ahead).is_none_or(is_free))
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.sink.fold(digest);
        digest.word(u64::from(self.next));
        digest.word(self.sent);
        self.out_of_order.iter().for_each(|&word| digest.word(word));
    }
}

impl<R: Recorder<ReceiverUndo>> Protocol for ReceiverMut<'_, R> {
    type Parameters = Transfer;

    fn on_segment<E: Environment>(&mut self, _: &Transfer, segment: &Segment<'_, E::Record>, env: &mut E) {
        if segment.is_copy {
            return;
        }
        self.sink().on_segment(&(), segment, env);
        self.receive(segment.number);
        *self.sent() += 1;
        env.send(self.next, 0, None);
    }
}

impl<R: Recorder<ReceiverUndo>> ReceiverMut<'_, R> {
    /// Buffers a segment that is out of order, or advances `next` past all segments that are in order now.
    fn receive(&mut self, number: u32) {
        if number > self.next {
            let (word, bit) = self.place(number);
            if self.out_of_order[word] & bit == 0 {
                *self.out_of_order().at(word) |= bit;
            }
            return;
        }
        if number < self.next {
            return; // The segment arrived before.
        }
        *self.next() += 1;
        loop {
            let (word, bit) = self.place(self.next);
            if self.out_of_order[word] & bit == 0 {
                return;
            }
            *self.out_of_order().at(word) &= !bit;
            *self.next() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::mock::{Did, Mock};
    use parades_tcp::environment::Ecn;

    const TRANSFER: Transfer = Transfer { bytes: 1_000_000, segment: 1000, window: 100, control: Control::Reno };

    /// Returns the numbers of the segments sent since the last call.
    fn sent(env: &mut Mock) -> Vec<u32> {
        let number = |did| if let Did::Sent(number, _) = did { Some(number) } else { None };
        env.take().into_iter().filter_map(number).collect()
    }

    fn acknowledge(sender: &mut Sender, number: u32, env: &mut Mock) {
        let (sent, ecn) = (Time::ZERO, Ecn::NotCapable);
        let segment = Segment { number, payload: 0, sent, record: None, ecn, is_copy: false };
        sender.unrecorded().on_segment(&TRANSFER, &segment, env);
    }

    #[test]
    fn the_threshold_is_halved_once_by_timeouts_in_a_row() {
        let mut env = Mock::default();
        let mut sender = Sender { cwnd: 100, ..Sender::on_start(Time::ZERO, &mut env) };
        sender.unrecorded().on_timer(&TRANSFER, RETRANSMIT, &mut env);
        assert_eq!(sent(&mut env), Vec::from_iter(0..100));
        for timeouts in 1..=3 {
            sender.unrecorded().on_timer(&TRANSFER, RETRANSMIT, &mut env);
            assert_eq!(sent(&mut env), [0]);
            assert_eq!((sender.timeouts, sender.ssthresh, sender.cwnd), (timeouts, 50, 1));
        }
        // An acknowledgement lets the sender send new segments. The next timeout is of a segment that no
        // timeout has retransmitted.
        env.now = Time::from_ps(1);
        acknowledge(&mut sender, 10, &mut env);
        assert_eq!(sent(&mut env), [10, 11]);
        sender.unrecorded().on_timer(&TRANSFER, RETRANSMIT, &mut env);
        assert_eq!(sender.ssthresh, 2);
    }

    #[test]
    fn three_duplicates_retransmit_the_missing_segment_and_recovery_ends_with_all_that_was_sent() {
        let mut env = Mock::default();
        let mut sender = Sender::on_start(Time::ZERO, &mut env);
        sender.unrecorded().on_timer(&TRANSFER, RETRANSMIT, &mut env);
        acknowledge(&mut sender, 1, &mut env);
        assert_eq!(sent(&mut env), Vec::from_iter(0..12));
        acknowledge(&mut sender, 1, &mut env);
        acknowledge(&mut sender, 1, &mut env);
        assert!(sent(&mut env).is_empty());
        acknowledge(&mut sender, 1, &mut env);
        assert_eq!((sent(&mut env), sender.ssthresh), (vec![1], 5));
        // An acknowledgement of a part: the next missing segment is sent. Of all twelve: the threshold allows
        // five new ones.
        acknowledge(&mut sender, 4, &mut env);
        assert_eq!(sent(&mut env), [4]);
        acknowledge(&mut sender, 12, &mut env);
        assert_eq!(sent(&mut env), [12, 13, 14, 15, 16]);
    }

    #[test]
    fn a_receiver_expects_the_first_segment_that_is_missing() {
        let mut env = Mock::default();
        let mut receiver = Receiver::new(&TRANSFER, Sink::new(false));
        for number in [0, 2, 3, 3, 0, 1, 130, 4] {
            let (sent, ecn) = (Time::ZERO, Ecn::NotCapable);
            let segment = Segment { number, payload: 1000, sent, record: None, ecn, is_copy: false };
            receiver.unrecorded().on_segment(&TRANSFER, &segment, &mut env);
        }
        assert_eq!(sent(&mut env), [1, 1, 1, 1, 1, 4, 4, 5]);
    }
}
