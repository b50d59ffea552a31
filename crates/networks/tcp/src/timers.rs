//! The retransmission timer: timeouts (RFC 6298), and probes of a closed window (RFC 9293, section 3.8.6.1).

use crate::connection::ConnectionUndo;
use crate::control::{Congestion, CongestionControl};
use crate::endpoint::Endpoint;
use crate::environment::{Environment, Notice, Timer};
use crate::rtt::doubled;
use crate::sender::{Mode, Reason, TimerUse, bytes};
use crate::settings::FlightSize;
use parades_core::restore::Recorder;
use parades_core::time::Delay;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Sets the timer.
    pub(crate) fn set_timer(&mut self, timer: TimerUse, delay: Delay) {
        let is_bounded = !matches!(timer, TimerUse::TimeWait | TimerUse::KeepAlive | TimerUse::FinWait2);
        let delay = if is_bounded { self.within_user_timeout(delay) } else { delay };
        self.send.timer = timer;
        self.send.due = self.env.now().saturating_add(delay);
        self.env.set_timer(Timer::Retransmit, delay);
    }

    /// Cancels the timer.
    pub(crate) fn stop_timer(&mut self) {
        if self.send.timer != TimerUse::None {
            self.send.timer = TimerUse::None;
            self.env.cancel_timer(Timer::Retransmit);
        }
    }

    /// Lets [`Endpoint::arm`] compute the time of the timer again.
    pub(crate) fn restart_timer(&mut self) {
        if self.send.timer != TimerUse::None {
            self.send.timer = TimerUse::Outdated;
        }
    }

    /// Sets the timer that the state needs.
    pub(crate) fn arm(&mut self) {
        let needs = self.needed_timer();
        let has = self.send.timer;
        if needs == has || matches!(has, TimerUse::TimeWait | TimerUse::Handshake) {
            return;
        }
        let keeps = matches!(has, TimerUse::Retransmit | TimerUse::TailLossProbe);
        match needs {
            TimerUse::None => self.stop_timer(),
            TimerUse::Persist => {
                self.note_answer();
                self.set_timer(needs, self.persist_timeout());
            }
            TimerUse::KeepAlive => {
                let delay = self.settings.keep_alive.map_or(Delay::MAX, |keep_alive| self.time_until_probe(keep_alive));
                self.set_timer(needs, delay);
            }
            TimerUse::FinWait2 => self.set_timer(needs, self.settings.fin_wait_2_timeout.unwrap_or(Delay::MAX)),
            TimerUse::TailLossProbe if !keeps => {
                let delay = self.probe_timeout();
                self.set_timer(needs, delay);
            }
            // If a recovery has begun before a probe, the timeout counts from now.
            TimerUse::Retransmit => self.set_timer(needs, self.send.round_trip.timeout(self.settings)),
            _ => {}
        }
    }

    /// Returns the use of the timer that the state needs.
    fn needed_timer(&self) -> TimerUse {
        if self.outstanding.is_empty() {
            return if self.is_blocked() { TimerUse::Persist } else { self.idle_timer() };
        }
        if self.send.peer_window == 0 {
            return TimerUse::Persist;
        }
        if self.can_probe() { TimerUse::TailLossProbe } else { TimerUse::Retransmit }
    }

    /// Returns the time until the next probe of a closed window.
    fn persist_timeout(&self) -> Delay {
        let first = self.settings.persist_timeout.unwrap_or(self.send.round_trip.timeout);
        doubled(first, self.send.persist_backoff, self.settings.persist_max)
    }

    /// Handles the retransmission timer.
    pub(crate) fn on_retransmission_timer(&mut self) {
        match std::mem::take(&mut self.send.timer) {
            TimerUse::None | TimerUse::Outdated => {}
            TimerUse::Handshake => self.on_syn_timeout(),
            TimerUse::TimeWait => self.forget(),
            TimerUse::Retransmit => self.on_timeout(),
            TimerUse::TailLossProbe => self.on_probe_timer(),
            TimerUse::Persist => self.on_persist_timer(),
            TimerUse::KeepAlive => self.on_keep_alive_timer(),
            TimerUse::FinWait2 => self.finish(Notice::TimedOut),
        }
    }

    /// Probes a closed window: with the first segment that is not acknowledged, or with new data. These are
    /// what the window allows, and at least one byte.
    fn on_persist_timer(&mut self) {
        if self.is_given_up(self.settings.data_retries) {
            return self.finish(Notice::TimedOut);
        }
        self.send.retries += 1;
        self.send.persist_backoff += 1;
        if self.outstanding.is_empty() && self.send.next < self.send.end() {
            let data = bytes(self.send.written.saturating_sub(self.send.next));
            let room = bytes(self.send.window_end().saturating_sub(self.send.next)).max(1);
            self.counts.window_probes += 1;
            self.send_new(data.min(room).min(self.send.window.mss), data == 0);
        } else if !self.outstanding.is_empty() {
            self.retransmit(0, Reason::Persist);
        }
        self.set_timer(TimerUse::Persist, self.persist_timeout());
    }

    /// Handles a timeout: all that is not received counts as lost (RFC 6298, section 5; RFC 5681, section
    /// 3.1).
    fn on_timeout(&mut self) {
        if self.is_given_up(self.settings.data_retries) {
            return self.finish(Notice::TimedOut);
        }
        let is_first = self.send.retries == 0;
        self.send.retries += 1;
        self.counts.timeouts += 1;
        let flight = match self.settings.flight_size {
            FlightSize::Outstanding => self.send.flight(),
            FlightSize::Pipe => self.send.in_flight(),
        };
        let was_open = self.send.mode != Mode::Loss;
        if is_first || self.settings.reduces_at_each_timeout {
            self.reduce(Congestion::Timeout, flight);
        }
        self.begin_frto(is_first && was_open);
        self.mark_all_lost();
        let send = &mut *self.send;
        send.mode = Mode::Loss;
        send.recover = send.next;
        send.duplicates = 0;
        send.probe.is_out = false;
        send.prior.retransmissions = 0;
        send.round_trip.backoff += 1;
        if !self.control.owns_recovery() {
            self.send.window.cwnd = self.send.window.mss;
        }
        self.send.pace_at = self.env.now();
        self.output();
        self.arm();
    }
}
