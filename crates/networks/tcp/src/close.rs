//! The end of a connection.

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::{Ecn, Environment, Notice};
use crate::header::{Flags, Header};
use crate::receiver::Receiver;
use crate::sender::TimerUse;
use crate::seq::Seq;
use crate::state::State;
use parades_core::restore::Recorder;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Changes the state when the FIN of this end is acknowledged.
    pub(crate) fn on_fin_acknowledged(&mut self) {
        match *self.state {
            State::FinWait1 => *self.state = State::FinWait2,
            State::Closing => {
                self.wait_for_old_segments();
                self.env.notify(Notice::Closed);
            }
            State::LastAck => self.finish(Notice::Closed),
            _ => {}
        }
    }

    /// Enters TIME-WAIT, or begins it again.
    pub(crate) fn wait_for_old_segments(&mut self) {
        *self.state = State::TimeWait;
        self.set_timer(TimerUse::TimeWait, self.settings.time_wait);
    }

    /// Forgets a connection in TIME-WAIT, of whose end the application knows.
    pub(crate) fn forget(&mut self) {
        *self.state = State::Closed;
        self.stop_timer();
    }

    /// Returns from SYN-RECEIVED to LISTEN.
    pub(crate) fn listen_again(&mut self) {
        self.stop_timer();
        *self.state = State::Listen;
        *self.receive = Receiver::default();
        (self.send.next, self.send.shift) = (0, 0);
        (self.send.retries, self.send.syn_retransmissions) = (0, 0);
        self.ports.remote = 0;
    }

    /// Sends a reset with sequence number `seq`, for an acknowledgement of something that was never sent.
    pub(crate) fn transmit_reset_at(&mut self, seq: Seq) {
        self.counts.segments_sent += 1;
        let header = Header {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            seq,
            flags: Flags::RST,
            ..Header::default()
        };
        self.env.transmit(&header, 0, 0, Ecn::NotCapable);
    }
}
