//! Sending: what may be sent now (RFC 9293, sections 3.7.4 and 3.8.6; RFC 6675, `NextSeg`).

use crate::connection::ConnectionUndo;
use crate::control::CongestionControl;
use crate::endpoint::Endpoint;
use crate::environment::{Environment, Refill};
use crate::header::Flags;
use crate::sender::{Mode, Reason, Sent, TimerUse, bytes};
use crate::state::State;
use parades_core::restore::Recorder;
use parades_core::time::Time;

/// The next segment to send.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// The retransmission of the segment with this number.
    Again(usize),
    /// New data, and the FIN.
    New { len: u32, has_fin: bool },
}

/// The result of looking for new data.
#[derive(Clone, Copy, Debug)]
enum Fresh {
    /// There is nothing to send.
    Nothing,
    /// The other end's window, or Nagle's algorithm, holds data back.
    Held,
    /// These can be sent.
    Segment { len: u32, has_fin: bool },
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Sends all segments that the windows allow.
    pub(crate) fn output(&mut self) {
        self.restart_after_idle();
        self.send.is_window_limited = false;
        if self.is_silent_after_fin() {
            return;
        }
        let mut has_sent_new = false;
        while let Some(choice) = self.choose_after_refill() {
            let len = match choice {
                Choice::Again(index) => self.outstanding[index].len,
                Choice::New { len, .. } => len,
            };
            // A window that is smaller than a segment must not stop everything.
            let in_flight = self.send.in_flight();
            let is_free = self.must_send || in_flight == 0;
            if !is_free && u64::from(in_flight) + u64::from(len) > u64::from(self.send.window.cwnd) {
                self.send.is_window_limited = true;
                break;
            }
            if self.is_paced_out() {
                break;
            }
            self.must_send = false;
            match choice {
                Choice::Again(index) => self.retransmit(index, self.reason()),
                Choice::New { len, has_fin } => {
                    self.send_new(len, has_fin);
                    has_sent_new = true;
                }
            }
        }
        self.must_send = false;
        if has_sent_new && self.send.timer == TimerUse::TailLossProbe {
            self.restart_timer();
        }
        self.note_application_limit();
    }

    /// Lets the application fill the next segment, then returns the next segment to send.
    fn choose_after_refill(&mut self) -> Option<Choice> {
        let data = self.send.written.saturating_sub(self.send.next);
        if data < u64::from(self.send.window.mss) && self.can_write() {
            let room = self.room();
            let Refill { bytes, is_last } = if room > 0 { self.env.refill(room) } else { Refill::default() };
            self.send.written += bytes.min(room);
            if is_last && bytes <= room {
                self.begin_close();
            }
        }
        self.choose()
    }

    /// Returns true if nothing is sent because the FIN is, and no recovery runs (ns-3).
    fn is_silent_after_fin(&mut self) -> bool {
        let has_finished = *self.state == State::FinWait1 && self.send.has_sent_fin();
        let is_silent = self.settings.is_silent_after_fin && has_finished && self.send.mode == Mode::Open;
        self.must_send &= !is_silent;
        is_silent
    }

    /// Returns the reason of a retransmission in the current mode.
    fn reason(&self) -> Reason {
        if self.send.mode == Mode::Loss { Reason::Timeout } else { Reason::Fast }
    }

    /// Returns the next segment to send (RFC 6675, `NextSeg`).
    fn choose(&mut self) -> Option<Choice> {
        if let Some(index) = self.first_lost() {
            return Some(Choice::Again(index));
        }
        match self.fresh() {
            Fresh::Segment { len, has_fin } => return Some(Choice::New { len, has_fin }),
            Fresh::Held => return None,
            Fresh::Nothing => {}
        }
        if self.must_send && self.settings.retransmits_at_each_part && !self.outstanding.is_empty() {
            return Some(Choice::Again(0));
        }
        self.choose_without_loss()
    }

    /// Returns a segment that is not lost but worth retransmitting, because nothing else can be sent (rules 3
    /// and 4).
    fn choose_without_loss(&mut self) -> Option<Choice> {
        if self.send.mode != Mode::Recovery || !self.receive.has_sack {
            return None;
        }
        let limit = if self.settings.retransmits_beyond_sacked { self.send.next } else { self.send.sacked_end };
        let is_candidate = |sent: &Sent| !sent.is_sacked && !sent.is_retransmitted && sent.end() <= limit;
        if let Some(index) = self.outstanding.iter().position(is_candidate) {
            return Some(Choice::Again(index));
        }
        if self.settings.rescues && self.send.una >= self.send.rescue {
            let last = self.outstanding.iter().rposition(|sent| !sent.is_sacked)?;
            self.send.rescue = self.send.recover + 1;
            return Some(Choice::Again(last));
        }
        None
    }

    /// Returns the new data that may be sent, whatever the congestion window is.
    fn fresh(&self) -> Fresh {
        let send = &*self.send;
        if send.next >= send.end() {
            return Fresh::Nothing;
        }
        let data = bytes(send.written.saturating_sub(send.next));
        let room = bytes(send.window_end().saturating_sub(send.next));
        let len = data.min(room).min(send.window.mss);
        let has_fin = send.is_closing && len == data && room > len;
        if len == 0 && !has_fin {
            return Fresh::Held;
        }
        let is_full = len == send.window.mss;
        let is_large = self.settings.avoids_silly_windows && len >= send.peer_window_max / 2;
        let is_silly = !is_full && len < data && !is_large;
        let is_nagled = self.settings.nagle && !is_full && len == data && !has_fin && send.flight() > 0;
        if is_silly || is_nagled { Fresh::Held } else { Fresh::Segment { len, has_fin } }
    }

    /// Sends one new segment as a probe, whatever the congestion window is.
    pub(crate) fn probe_with_new_data(&mut self) {
        if let Fresh::Segment { len, has_fin } = self.fresh() {
            self.send_new(len, has_fin);
        }
    }

    /// Returns true if only the other end's window holds data back.
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(self.fresh(), Fresh::Held) && self.outstanding.is_empty()
    }

    /// Sends new data.
    pub(crate) fn send_new(&mut self, len: u32, has_fin: bool) {
        let now = self.env.now();
        let from = self.send.next;
        let mut sent = Sent {
            from,
            len,
            has_fin,
            is_sacked: false,
            is_lost: false,
            is_retransmitted: false,
            was_retransmitted: false,
            is_timed: true,
            is_app_limited: false,
            sent_at: now,
            delivered: 0,
            delivered_at: Time::ZERO,
            phase_start: Time::ZERO,
        };
        let is_first = self.send.in_flight() == 0;
        if self.outstanding.is_empty() && self.send.timer != TimerUse::Persist {
            self.note_answer();
            self.send.retries = 0;
        }
        self.send.rate.on_sent(&mut sent, is_first, now);
        self.send.next = sent.end();
        self.outstanding.push_back(sent);
        self.send_segment(&sent, false);
    }

    /// Retransmits a segment.
    pub(crate) fn retransmit(&mut self, index: usize, reason: Reason) {
        let now = self.env.now();
        let mut sent = self.outstanding[index];
        let is_first = self.send.in_flight() == 0;
        if !sent.is_retransmitted {
            self.send.retransmitted += sent.len;
        }
        sent.is_retransmitted = true;
        sent.was_retransmitted = true;
        sent.sent_at = now;
        self.send.rate.on_sent(&mut sent, is_first, now);
        *self.outstanding.at(index) = sent;
        self.send.prior.retransmissions += 1;
        match reason {
            Reason::Fast => self.counts.fast_retransmissions += 1,
            Reason::Timeout => self.counts.timeout_retransmissions += 1,
            Reason::TailLossProbe => self.counts.probe_retransmissions += 1,
            Reason::Persist => self.counts.window_probes += 1,
        }
        self.send_segment(&sent, true);
    }

    /// Sends a segment with data or the FIN.
    fn send_segment(&mut self, sent: &Sent, is_retransmission: bool) {
        let payload = sent.len;
        let mut flags = Flags::ACK;
        if sent.has_fin {
            flags = flags | Flags::FIN;
        }
        if payload > 0 && sent.from + u64::from(payload) == self.send.written {
            flags = flags | Flags::PSH;
        }
        if self.send.uses_ecn {
            if self.send.owes_cwr && !is_retransmission && payload > 0 {
                self.send.owes_cwr = false;
                flags = flags | Flags::CWR;
            }
            if self.receive.echoes_mark {
                flags = flags | Flags::ECE;
            }
        }
        let ecn = if payload > 0 { self.ecn_of_data(is_retransmission) } else { self.ecn_of_control() };
        self.transmit(flags, sent.from, payload, ecn);
        self.send.last_sent = self.env.now();
        if matches!(self.send.mode, Mode::Recovery | Mode::Reduced) {
            self.send.proportional.out = self.send.proportional.out.saturating_add(sent.len);
        }
        self.pace(payload);
    }

    /// Shrinks the window after an idle period of a timeout (RFC 5681, section 4.1).
    fn restart_after_idle(&mut self) {
        if !self.settings.restarts_after_idle || !self.outstanding.is_empty() || self.send.next <= 1 {
            return;
        }
        let now = self.env.now();
        let idle = now.since(self.send.last_sent);
        if idle > self.send.round_trip.timeout && self.send.next < self.send.end() {
            let initial = self.settings.initial_window.saturating_mul(self.send.window.mss);
            self.send.window.cwnd = self.send.window.cwnd.min(initial);
            self.control.reborrow().into_mut().on_idle_end(now, &mut self.send.window);
        }
    }

    /// Notes that the application has too little to send (draft-cheng-iccrg-delivery-rate-estimation-02).
    fn note_application_limit(&mut self) {
        let send = &mut *self.send;
        let has_little = send.written.saturating_sub(send.next) < u64::from(send.window.mss);
        if has_little && send.in_flight() < send.window.cwnd && send.lost <= send.retransmitted {
            send.rate.app_limited = (send.rate.delivered + u64::from(send.in_flight())).max(1);
        }
    }
}
