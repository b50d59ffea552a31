//! A connection at work: its parts, its settings and its environment. Each call of a connection makes one.
//!
//! The algorithms are methods of [`Endpoint`], in one file each. They change the fixed part of the state by
//! plain assignments, because it is recorded once for each call. The two lists and the congestion control
//! record their changes by themselves.

use crate::connection::{ConnectionUndo, Ports};
use crate::control::Control;
use crate::counts::Counts;
use crate::environment::{Environment, Notice, Timer};
use crate::receiver::{Due, Receiver, Span};
use crate::sender::{Sender, Sent, TimerUse};
use crate::settings::Settings;
use crate::state::State;
use parades_core::restore::{Nth, PartMut, Recorder};
use std::collections::VecDeque;

/// A connection at work.
pub(crate) struct Endpoint<'a, R: Recorder<ConnectionUndo>, E> {
    pub(crate) settings: &'a Settings,
    pub(crate) env: &'a mut E,
    pub(crate) ports: &'a mut Ports,
    pub(crate) state: &'a mut State,
    pub(crate) is_passive: bool,
    pub(crate) send: &'a mut Sender,
    pub(crate) receive: &'a mut Receiver,
    pub(crate) counts: &'a mut Counts,
    pub(crate) control: PartMut<'a, Control, R, ConnectionUndo, Nth<1>>,
    pub(crate) outstanding: PartMut<'a, VecDeque<Sent>, R, ConnectionUndo, Nth<2>>,
    /// True if the next segment is sent whatever the congestion window is.
    pub(crate) must_send: bool,
    pub(crate) arrived: PartMut<'a, Vec<Span>, R, ConnectionUndo, Nth<3>>,
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Writes bytes to the stream. Returns the number of bytes that the send buffer had room for.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        let accepted = self.buffer(bytes);
        self.send_written();
        accepted
    }

    /// Writes the last bytes of the stream, and closes this direction if all of them have room.
    pub(crate) fn write_last(&mut self, bytes: u64) -> u64 {
        let accepted = self.buffer(bytes);
        if accepted == bytes && *self.state == State::SynSent {
            self.send.is_closing = true; // The data and the FIN follow the handshake.
        } else if accepted == bytes {
            self.close();
        } else {
            self.send_written();
        }
        accepted
    }

    /// Adds bytes to the send buffer. Returns the number of bytes that it had room for.
    fn buffer(&mut self, bytes: u64) -> u64 {
        if !self.can_write() {
            return 0;
        }
        let accepted = bytes.min(self.room());
        self.send.written += accepted;
        accepted
    }

    /// Returns true if the application may write.
    pub(crate) fn can_write(&self) -> bool {
        let is_open =
            matches!(*self.state, State::SynSent | State::SynReceived | State::Established | State::CloseWait);
        is_open && !self.send.is_closing
    }

    /// Returns the number of bytes that the send buffer has room for.
    pub(crate) fn room(&self) -> u64 {
        let waiting = self.send.written - self.send.una.clamp(1, self.send.written);
        u64::from(self.settings.send_buffer).saturating_sub(waiting)
    }

    /// Sends what the application has written.
    fn send_written(&mut self) {
        if self.state.can_transmit() {
            self.output();
            self.arm();
        }
    }

    /// Closes this direction (RFC 9293, section 3.10.4).
    pub(crate) fn close(&mut self) {
        match *self.state {
            State::Listen | State::SynSent => self.finish(Notice::Closed),
            State::SynReceived | State::Established | State::CloseWait => {
                self.begin_close();
                self.send_written();
            }
            _ => {}
        }
    }

    /// Notes that the application writes no more: a FIN follows the last byte.
    pub(crate) fn begin_close(&mut self) {
        self.send.is_closing = true;
        match *self.state {
            State::Established => *self.state = State::FinWait1,
            State::CloseWait => *self.state = State::LastAck,
            _ => {}
        }
    }

    /// Resets the connection (RFC 9293, section 3.10.5).
    pub(crate) fn abort(&mut self) {
        let resets = matches!(
            *self.state,
            State::SynReceived | State::Established | State::FinWait1 | State::FinWait2 | State::CloseWait
        );
        if resets {
            self.send_reset();
        }
        self.clear();
    }

    /// Ends the connection and tells the application.
    pub(crate) fn finish(&mut self, notice: Notice) {
        self.clear();
        self.env.notify(notice);
    }

    /// Ends the connection: no timers, no segments.
    fn clear(&mut self) {
        *self.state = State::Closed;
        for timer in [Timer::Retransmit, Timer::DelayedAck, Timer::Pacing, Timer::Reordering] {
            self.env.cancel_timer(timer);
        }
        self.send.timer = TimerUse::None;
        self.receive.is_delaying = false;
        self.receive.due = Due::None;
        self.outstanding.clear();
        self.arrived.clear();
        (self.send.sacked, self.send.lost, self.send.retransmitted) = (0, 0, 0);
        self.send.next = self.send.una;
    }

    /// Handles a timer that is due.
    pub(crate) fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::Retransmit => self.on_retransmission_timer(),
            Timer::DelayedAck => {
                self.receive.is_delaying = false;
                if self.receive.due == Due::Delayed {
                    self.send_ack();
                }
            }
            Timer::Pacing => {
                self.output();
                self.arm();
            }
            Timer::Reordering => self.on_reordering_timer(),
        }
    }
}
