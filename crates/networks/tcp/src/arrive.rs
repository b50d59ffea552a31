//! Arriving segments: the checks of RFC 9293, section 3.10.7, in its order.

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::{Ecn, Environment, Notice};
use crate::header::{Flags, Header};
use crate::receiver::{Due, Span};
use crate::segment::length;
use crate::seq::Seq;
use crate::state::State;
use parades_core::restore::Recorder;
use parades_core::time::Delay;

/// The age at which a timestamp is too old to be compared (RFC 7323, section 5.5).
const TIMESTAMP_AGE: Delay = Delay::from_hours(24 * 24);

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Handles an arriving segment.
    pub(crate) fn on_segment(&mut self, header: &Header, bytes: u32, ecn: Ecn) {
        self.counts.segments_received += 1;
        match *self.state {
            State::Closed => self.answer_with_reset(header, bytes),
            State::Listen => self.on_segment_listening(header, bytes),
            State::SynSent => self.on_segment_syn_sent(header, bytes),
            _ => self.on_segment_connected(header, bytes, ecn),
        }
    }

    /// Handles a segment once the other end's SYN has arrived.
    fn on_segment_connected(&mut self, header: &Header, bytes: u32, ecn: Ecn) {
        let Header { flags, .. } = *header;
        let Some(mut from) = header.seq.place(self.receive.next, self.receive.base) else {
            return self.reject(header, None);
        };
        let end = from + u64::from(length(header, bytes));
        if !self.has_current_timestamp(header, end > from) {
            return;
        }
        // Both ends have opened at the same time, and this SYN repeats the one that came before.
        let repeats_syn = *self.state == State::SynReceived && from == 0 && flags.has(Flags::SYN | Flags::ACK);
        if repeats_syn {
            from = 1;
        }
        if *self.state == State::SynReceived && from == 0 && flags.has(Flags::SYN) && !flags.has(Flags::RST) {
            return self.on_repeated_syn();
        }
        if !self.is_acceptable(from, end) {
            return self.reject(header, Some(Span { from, to: end }));
        }
        self.receive.heard_at = self.env.now();
        if flags.has(Flags::RST) {
            return self.on_reset(from);
        }
        if flags.has(Flags::SYN) && !repeats_syn {
            return self.on_stray_syn();
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        self.take_timestamp(header, from);
        self.note_mark(flags, ecn, Span { from, to: end });
        if !self.accept_ack(header, from, end > from) {
            return;
        }
        if self.refuses_data(end - u64::from(flags.has(Flags::FIN))) {
            return;
        }
        self.receive_text(from, end, flags.has(Flags::FIN));
        self.complete();
    }

    /// Does what an acceptable segment has made due: sends data, then the acknowledgement if no data took it.
    pub(crate) fn complete(&mut self) {
        if self.state.can_transmit() {
            self.output();
        }
        if self.state.can_transmit() || *self.state == State::FinWait2 {
            self.arm();
        }
        if *self.state != State::Closed {
            self.settle_ack();
        }
    }

    /// Returns true if a segment lies in the receive window (section 3.4).
    ///
    /// A segment without length may also stand right behind the window. It comes from a sender that has
    /// filled the window, and its acknowledgement counts.
    fn is_acceptable(&self, from: u64, end: u64) -> bool {
        let (next, window_end) = (self.receive.next, self.receive.window_end);
        if from == end || from == next {
            return from >= next && from <= window_end.max(next);
        }
        from < window_end && end > next
    }

    /// Answers a segment that is not acceptable. Answers to segments without data are rare enough that two
    /// ends that disagree cannot answer each other without end.
    fn reject(&mut self, header: &Header, span: Option<Span>) {
        if header.flags.has(Flags::RST) {
            return;
        }
        let Some(span) = span.filter(|span| span.from < span.to && !header.flags.has(Flags::SYN)) else {
            return self.challenge();
        };
        self.counts.duplicates += 1;
        if span.to <= self.receive.next {
            self.note_duplicate(span);
        }
        if *self.state == State::TimeWait && header.flags.has(Flags::FIN) {
            self.wait_for_old_segments();
        }
        self.send_ack();
    }

    /// Checks the timestamp (RFC 7323, section 5.3, rules R1 and 3.2). Returns false if the segment is
    /// dropped.
    fn has_current_timestamp(&mut self, header: &Header, has_text: bool) -> bool {
        if !self.receive.has_timestamps || header.flags.has(Flags::RST) {
            return true;
        }
        let Some(timestamps) = header.timestamps else { return false };
        let is_old = Seq(timestamps.value).is_before(Seq(self.receive.timestamp));
        if is_old && self.env.now().since(self.receive.timestamp_at) < TIMESTAMP_AGE {
            if has_text {
                self.send_ack();
            } else {
                self.challenge();
            }
            return false;
        }
        true
    }

    /// Takes the timestamp to echo (RFC 7323, section 4.3).
    fn take_timestamp(&mut self, header: &Header, from: u64) {
        if let Some(timestamps) = header.timestamps
            && self.receive.has_timestamps
            && from <= self.receive.acknowledged
        {
            self.receive.timestamp = timestamps.value;
            self.receive.timestamp_at = self.env.now();
        }
    }

    /// Handles a reset in the window (RFC 5961, section 3.2).
    fn on_reset(&mut self, from: u64) {
        if from != self.receive.next {
            return self.challenge();
        }
        match *self.state {
            State::SynReceived if self.is_passive => self.listen_again(),
            State::SynReceived => self.finish(Notice::Refused),
            State::TimeWait => self.forget(),
            _ => self.finish(Notice::Reset),
        }
    }

    /// Handles a SYN in a connection that exists (RFC 5961, section 4.2; RFC 9293 for SYN-RECEIVED).
    fn on_stray_syn(&mut self) {
        if *self.state == State::SynReceived && self.is_passive {
            return self.listen_again();
        }
        self.challenge();
    }

    /// Sends a challenge acknowledgement, unless the last one is too young (RFC 5961, section 7).
    pub(crate) fn challenge(&mut self) {
        if self.may_challenge() {
            self.counts.challenges += 1;
            self.send_ack();
        }
    }

    /// Returns true if a segment that is not acceptable may be answered, and notes the answer.
    pub(crate) fn may_challenge(&mut self) -> bool {
        let now = self.env.now();
        let is_allowed =
            self.receive.challenged_at.is_none_or(|last| now.since(last) >= self.settings.challenge_interval);
        if is_allowed {
            self.receive.challenged_at = Some(now);
        }
        is_allowed
    }

    /// Checks the acknowledgement number, and handles it. Returns false if the segment is dropped.
    fn accept_ack(&mut self, header: &Header, from: u64, has_text: bool) -> bool {
        let ack = header.ack.place(self.send.una, self.send.base);
        if *self.state == State::SynReceived {
            if ack != Some(1) {
                self.transmit_reset_at(header.ack);
                return false;
            }
            self.send.peer_window = u32::from(header.window) << self.send.shift;
            self.send.peer_window_max = self.send.peer_window;
            self.establish(header);
            return true;
        }
        // RFC 5961, section 5.2: older acknowledgements than the largest window are not plausible.
        let Some(ack) =
            ack.filter(|&ack| ack <= self.send.next && ack + u64::from(self.send.peer_window_max) >= self.send.una)
        else {
            self.challenge();
            return false;
        };
        self.process_ack(header, ack, from, has_text);
        *self.state != State::Closed
    }

    /// Receives the text and the FIN of an acceptable segment.
    pub(crate) fn receive_text(&mut self, from: u64, end: u64, has_fin: bool) {
        if end == from || !self.state.can_receive() {
            return;
        }
        self.receive_data(from, end, has_fin);
        let is_finished = self.receive.fin.is_some_and(|fin| self.receive.next > fin);
        if !is_finished {
            return;
        }
        self.receive.due = Due::Now;
        match *self.state {
            State::Established => *self.state = State::CloseWait,
            State::FinWait1 => *self.state = State::Closing,
            State::FinWait2 => self.wait_for_old_segments(),
            _ => return,
        }
        self.env.notify(Notice::Finished);
        if *self.state == State::TimeWait {
            self.env.notify(Notice::Closed);
        }
    }
}
