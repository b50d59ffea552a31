//! The environment of a connection, over that of an endpoint.

use super::super::{Environment, Setup};
use super::Ending;
use crate::segment::TcpSegment;
use parades_core::time::{Delay, Time};
use parades_tcp::environment::{self, Ecn, Notice, Refill, Timer};
use parades_tcp::header::Header;

/// The notices of a connection to its application during one call.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::protocols) struct Notices {
    pub(in crate::protocols) received: u64,
    pub(in crate::protocols) is_connected: bool,
    /// True if the send buffer has room again.
    pub(super) has_room: bool,
    pub(in crate::protocols) is_finished: bool,
    /// Bytes that the application has added to the send buffer.
    pub(super) refilled: u64,
    /// True if both directions are closed in order.
    pub(in crate::protocols) is_over: bool,
    pub(in crate::protocols) ending: Option<Ending>,
}

/// The bytes that an application has produced, and that wait for room in the send buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unwritten {
    pub(super) bytes: u64,
    /// True if they end the stream.
    pub(super) is_last: bool,
    /// The bytes of a piece that the send buffer takes as a whole or not at all.
    pub(super) piece: u32,
}

/// The application of a connection during one call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Application {
    pub(super) unwritten: Unwritten,
    /// True if it reads later what is in order now.
    pub(super) reads_late: bool,
}

impl Unwritten {
    /// Returns the number of bytes that a send buffer takes if it has room for `room` bytes.
    pub(super) fn fitting(&self, room: u64) -> u64 {
        let piece = u64::from(self.piece.max(1));
        if self.bytes <= room { self.bytes } else { room / piece * piece }
    }
}

/// The part of an [`Environment`] that a connection needs. A table of functions, so that connections are
/// compiled once, and not once for each network that has some.
pub(in crate::protocols) trait ConnectionEnvironment {
    fn now(&self) -> Time;
    fn send_segment(&mut self, number: u32, segment: TcpSegment, ecn: Ecn);
    fn set_timer(&mut self, timer: u32, delay: Delay);
    fn cancel_timer(&mut self, timer: u32);
}

impl<E: Environment> ConnectionEnvironment for E {
    fn now(&self) -> Time {
        Environment::now(self)
    }

    fn send_segment(&mut self, number: u32, segment: TcpSegment, ecn: Ecn) {
        Environment::send_segment(self, number, segment, ecn);
    }

    fn set_timer(&mut self, timer: u32, delay: Delay) {
        Setup::set_timer(self, timer, delay);
    }

    fn cancel_timer(&mut self, timer: u32) {
        Environment::cancel_timer(self, timer);
    }
}

/// The environment of a connection.
pub(super) struct Io<'a> {
    pub(super) env: &'a mut dyn ConnectionEnvironment,
    pub(super) application: Application,
    /// Segments sent by this end before.
    pub(super) sent: u64,
    pub(super) notices: Notices,
}

impl environment::Environment for Io<'_> {
    fn now(&self) -> Time {
        self.env.now()
    }

    fn transmit(&mut self, header: &Header, offset: u64, bytes: u32, ecn: Ecn) {
        // The number identifies a segment in reports and captures, so it may wrap.
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
        let number = self.sent as u32;
        self.sent += 1;
        let segment = TcpSegment { sent: self.env.now(), header: *header, offset, bytes };
        self.env.send_segment(number, segment, ecn);
    }

    /// The application writes as soon as there is room.
    fn refill(&mut self, room: u64) -> Refill {
        let unwritten = &mut self.application.unwritten;
        let bytes = unwritten.fitting(room);
        unwritten.bytes -= bytes;
        self.notices.refilled += bytes;
        Refill { bytes, is_last: bytes > 0 && unwritten.bytes == 0 && unwritten.is_last }
    }

    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        self.env.set_timer(timer as u32, delay);
    }

    fn cancel_timer(&mut self, timer: Timer) {
        self.env.cancel_timer(timer as u32);
    }

    /// The application reads all bytes at once, or none yet.
    fn deliver(&mut self, bytes: u32) -> u32 {
        self.notices.received += u64::from(bytes);
        if self.application.reads_late { 0 } else { bytes }
    }

    fn notify(&mut self, notice: Notice) {
        match notice {
            Notice::Connected => self.notices.is_connected = true,
            Notice::Acknowledged { .. } => self.notices.has_room = true,
            Notice::Finished => self.notices.is_finished = true,
            Notice::Reset => self.notices.ending = Some(Ending::Reset),
            Notice::Refused => self.notices.ending = Some(Ending::Refused),
            Notice::TimedOut => self.notices.ending = Some(Ending::TimedOut),
            Notice::Closed => self.notices.is_over = true,
        }
    }
}
