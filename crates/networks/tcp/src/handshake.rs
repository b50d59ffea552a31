//! The handshake (RFC 9293, sections 3.5 and 3.10.7).

use crate::connection::ConnectionUndo;
use crate::control::CongestionControl;
use crate::endpoint::Endpoint;
use crate::environment::{Ecn, Environment, Notice};
use crate::header::{Flags, Header};
use crate::rtt::doubled;
use crate::sender::TimerUse;
use crate::settings::{EcnUse, RttSource};
use crate::state::State;
use crate::window::shift_for;
use parades_core::restore::Recorder;
use parades_core::time::Delay;

/// The smallest MSS of the other end that is believed. A smaller one would make a segment of each byte.
const MSS_MIN: u32 = 48;

/// The bytes of a timestamps option, with its padding.
const TIMESTAMP_BYTES: u32 = 12;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Opens the connection actively.
    pub(crate) fn open(&mut self) {
        if *self.state != State::Closed || self.send.next > 0 {
            return;
        }
        *self.state = State::SynSent;
        self.receive.shift = shift_for(self.settings.receive_buffer);
        self.send_syn();
    }

    /// Sends the SYN, or the SYN with the acknowledgement of the other end's, and sets the timer.
    fn send_syn(&mut self) {
        let flags = match *self.state {
            State::SynSent if self.settings.ecn == EcnUse::Ask => Flags::SYN | Flags::ECE | Flags::CWR,
            State::SynSent => Flags::SYN,
            _ if self.send.uses_ecn => Flags::SYN | Flags::ACK | Flags::ECE,
            _ => Flags::SYN | Flags::ACK,
        };
        self.send.next = 1;
        if self.send.syn_retransmissions == 0 {
            self.send.last_sent = self.env.now();
            self.note_answer();
        }
        let ecn = self.ecn_of_control();
        self.transmit(flags, 0, 0, ecn);
        let delay = doubled(self.settings.syn_timeout, self.send.retries, Delay::from_secs(3600));
        self.set_timer(TimerUse::Handshake, delay);
    }

    /// Retransmits the SYN, or gives the connection up.
    pub(crate) fn on_syn_timeout(&mut self) {
        if self.is_given_up(self.settings.syn_retries) {
            return self.finish(Notice::TimedOut);
        }
        self.send.retries += 1;
        self.send.syn_retransmissions += 1;
        self.counts.timeouts += 1;
        self.counts.timeout_retransmissions += 1;
        self.send_syn();
    }

    /// Answers a SYN that the other end repeats: the answer to the first one was lost, or is under way.
    pub(crate) fn on_repeated_syn(&mut self) {
        if self.may_challenge() {
            self.send.syn_retransmissions += 1;
            self.send_syn();
        }
    }

    /// Handles a segment in LISTEN.
    pub(crate) fn on_segment_listening(&mut self, header: &Header, bytes: u32) {
        if header.flags.has(Flags::RST) {
            return;
        }
        if header.flags.has(Flags::ACK) {
            return self.answer_with_reset(header, bytes);
        }
        if !header.flags.has(Flags::SYN) {
            return;
        }
        if self.ports.remote == 0 {
            self.ports.remote = header.source_port;
        }
        self.receive.shift = shift_for(self.settings.receive_buffer);
        self.accept_syn(header);
        *self.state = State::SynReceived;
        self.send_syn();
    }

    /// Handles a segment in SYN-SENT.
    pub(crate) fn on_segment_syn_sent(&mut self, header: &Header, bytes: u32) {
        let flags = header.flags;
        let acknowledges = flags.has(Flags::ACK);
        let is_acceptable = header.ack.place(self.send.una, self.send.base) == Some(1);
        if acknowledges && !is_acceptable {
            return self.answer_with_reset(header, bytes);
        }
        if flags.has(Flags::RST) {
            if acknowledges {
                self.finish(Notice::Refused);
            }
            return;
        }
        if !flags.has(Flags::SYN) {
            return;
        }
        self.accept_syn(header);
        if !acknowledges {
            // Both ends open at the same time.
            *self.state = State::SynReceived;
            (self.send.retries, self.send.syn_retransmissions) = (0, 0);
            return self.send_syn();
        }
        self.send.uses_ecn &= flags.has(Flags::ECE) && !flags.has(Flags::CWR);
        self.establish(header);
        // The acknowledgement goes alone. Data that the application has already written follow.
        self.send_ack();
        let end = 1 + u64::from(bytes) + u64::from(flags.has(Flags::FIN));
        self.receive_text(1, end, flags.has(Flags::FIN));
        self.complete();
    }

    /// Takes the other end's initial sequence number and the options of its SYN.
    fn accept_syn(&mut self, header: &Header) {
        let settings = self.settings;
        let receive = &mut *self.receive;
        receive.base = header.seq;
        (receive.next, receive.read) = (1, 1);
        receive.quick_acks = settings.quick_acks;
        receive.has_sack = settings.sack && header.syn.has_sack;
        receive.has_timestamps = settings.timestamps && header.timestamps.is_some();
        if receive.has_timestamps {
            receive.timestamp = header.timestamps.map_or(0, |timestamps| timestamps.value);
            receive.timestamp_at = self.env.now();
        }
        receive.shift_is_agreed = settings.window_scaling && header.syn.window_shift.is_some();
        if receive.shift_is_agreed {
            self.send.shift = header.syn.window_shift.map_or(0, |shift| shift.min(14));
        } else {
            receive.shift = 0;
        }
        let asked = header.flags.has(Flags::ECE) && (header.flags.has(Flags::CWR) || header.flags.has(Flags::ACK));
        self.send.uses_ecn = asked && settings.ecn != EcnUse::Off;
        self.send.peer_window = u32::from(header.window);
        self.send.peer_window_max = self.send.peer_window;
        let peer_mss = header.syn.mss.map_or(settings.absent_mss, u32::from).max(MSS_MIN);
        let options = if settings.options_reduce_payload && receive.has_timestamps { TIMESTAMP_BYTES } else { 0 };
        let mss = settings.mss.min(peer_mss).saturating_sub(options).max(1);
        self.send.window.mss = mss;
        self.send.window.cwnd = settings.initial_window.saturating_mul(mss);
    }

    /// Enters ESTABLISHED, or the state that an early close has asked for. `header` acknowledges the SYN.
    pub(crate) fn establish(&mut self, header: &Header) {
        let now = self.env.now();
        self.send.una = 1;
        self.send.window_seq = header.seq.place(self.receive.next, self.receive.base).unwrap_or(0);
        self.send.window_ack = 1;
        self.measure_handshake(header);
        let has_lost = |limit: u32| self.send.retries > 0 && self.send.syn_retransmissions >= limit;
        if self.settings.restarts_after_syn_losses.is_some_and(has_lost) && !self.answers_first_syn(header) {
            self.send.window.cwnd = self.send.window.mss;
        }
        (self.send.retries, self.send.syn_retransmissions) = (0, 0);
        self.stop_timer();
        self.note_answer();
        self.receive.heard_at = now;
        *self.state = if self.send.is_closing { State::FinWait1 } else { State::Established };
        self.control.reborrow().into_mut().on_start(now, &mut self.send.window);
        self.env.notify(Notice::Connected);
    }

    /// Measures the round trip of the handshake. `header` acknowledges the SYN. If the SYN was retransmitted,
    /// only a timestamp measures it (Karn's rule), and without one the timeout is longer (RFC 6298, rule
    /// 5.7).
    fn measure_handshake(&mut self, header: &Header) {
        let direct = (self.send.syn_retransmissions == 0).then(|| self.env.now().since(self.send.last_sent));
        let measured = match self.settings.rtt_source {
            RttSource::Sent => direct.or_else(|| self.echoed(header)),
            RttSource::Echo => direct.map(|direct| self.echoed(header).unwrap_or(direct)),
        };
        let round_trip = &mut self.send.round_trip;
        match measured {
            Some(measured) => round_trip.measure(measured, self.settings),
            None => round_trip.timeout = round_trip.timeout.max(self.settings.rto_after_syn_loss),
        }
    }

    /// Returns true if the echoed timestamp shows that the first SYN has arrived, so that no retransmission
    /// of it was needed.
    fn answers_first_syn(&self, header: &Header) -> bool {
        let first = self.timestamp_at(self.send.last_sent);
        self.receive.has_timestamps && header.timestamps.is_some_and(|timestamps| timestamps.echo == first)
    }

    /// Returns the code point of segments without data.
    pub(crate) fn ecn_of_control(&self) -> Ecn {
        if self.settings.marks_all_segments && self.settings.ecn != EcnUse::Off {
            Ecn::Capable0
        } else {
            Ecn::NotCapable
        }
    }
}
