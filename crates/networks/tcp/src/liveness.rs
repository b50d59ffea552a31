//! The ends of connections whose other end is silent: user timeout, keep-alive, and the bound of FIN-WAIT-2.

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::{Ecn, Environment, Notice};
use crate::header::Flags;
use crate::sender::TimerUse;
use crate::settings::KeepAlive;
use crate::state::State;
use parades_core::restore::Recorder;
use parades_core::time::Delay;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Returns true if a connection is given up after `retries` retransmissions, or after its user timeout
    /// (RFC 9293, section 3.8.3).
    pub(crate) fn is_given_up(&self, retries: u32) -> bool {
        match self.settings.user_timeout {
            Some(timeout) => self.env.now().since(self.send.unanswered_since) >= timeout,
            None => self.send.retries >= retries,
        }
    }

    /// Returns the delay of a timer of retransmissions or probes: it ends with the user timeout at the
    /// latest.
    pub(crate) fn within_user_timeout(&self, delay: Delay) -> Delay {
        let end = self.settings.user_timeout.map(|timeout| self.send.unanswered_since.saturating_add(timeout));
        end.map_or(delay, |end| delay.min(end.since(self.env.now())))
    }

    /// Notes that the other end has acknowledged something new, or has answered a probe of its window.
    pub(crate) fn note_answer(&mut self) {
        self.send.unanswered_since = self.env.now();
    }

    /// Returns the use of the timer while nothing is sent.
    pub(crate) fn idle_timer(&self) -> TimerUse {
        let is_open = matches!(*self.state, State::Established | State::FinWait2 | State::CloseWait);
        if *self.state == State::FinWait2 && self.receive.is_released && self.settings.fin_wait_2_timeout.is_some() {
            TimerUse::FinWait2
        } else if is_open && self.settings.keep_alive.is_some() {
            TimerUse::KeepAlive
        } else {
            TimerUse::None
        }
    }

    /// Returns the time until an idle connection is probed.
    pub(crate) fn time_until_probe(&self, keep_alive: KeepAlive) -> Delay {
        let heard = self.receive.heard_at.saturating_add(keep_alive.idle);
        heard.since(self.env.now())
    }

    /// Probes a silent end, or gives it up. A probe that gets no answer proves nothing (RFC 9293, MUST-29).
    pub(crate) fn on_keep_alive_timer(&mut self) {
        let Some(keep_alive) = self.settings.keep_alive else { return };
        if self.receive.heard_at > self.send.probed_at {
            self.send.retries = 0;
            let left = self.time_until_probe(keep_alive);
            if left > Delay::ZERO {
                return self.set_timer(TimerUse::KeepAlive, left);
            }
        }
        if self.send.retries >= keep_alive.probes {
            return self.finish(Notice::TimedOut);
        }
        self.send.retries += 1;
        self.send.probed_at = self.env.now();
        self.counts.keep_alives += 1;
        self.transmit(Flags::ACK, self.send.next - 1, 0, Ecn::NotCapable);
        self.set_timer(TimerUse::KeepAlive, keep_alive.interval);
    }

    /// Closes both directions: the application reads nothing more (RFC 9293, section 3.6, MAY-1).
    pub(crate) fn release(&mut self) {
        let is_unread =
            self.receive.read < self.receive.fin.map_or(self.receive.next, |fin| fin.min(self.receive.next));
        self.receive.is_released = true;
        if self.state.is_synchronized() && is_unread {
            return self.abort();
        }
        self.close();
        if *self.state == State::FinWait2 {
            self.restart_timer();
            self.arm();
        }
    }

    /// Answers data for an application that reads nothing more with a reset (RFC 9293, SHLD-3). Returns true
    /// if the connection is gone.
    pub(crate) fn refuses_data(&mut self, end: u64) -> bool {
        let is_refused = self.receive.is_released && end > self.receive.next && self.state.can_receive();
        if is_refused {
            self.abort();
        }
        is_refused
    }
}
