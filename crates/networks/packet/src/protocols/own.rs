//! Protocols of other crates, whose ends send packets of their own.
//!
//! A crate adds a protocol in three steps. It writes a type for each end, or one for both. It implements
//! [`PacketEnd`] for these types. It makes a value of each, gives both to [`OtherProtocol::new`], and this to
//! [`AppKind::Other`](crate::description::AppKind). The ends of each flow start as copies of these values.
//!
//! An end reacts to its start, to packets, to timers and to calls. It acts through a [`PacketIo`].
//! Applications over TCP are in [`super::stream`].
//!
//! While its node is away, an end gets no packets, and its timers and calls wait for the return of the node.
//!
//! *Determinism*: an end may depend on its state, its arguments and its [`PacketIo`] alone. Functions of
//! floating-point numbers come from the crate `libm`.
//!
//! *Rollback*: `time-warp` copies the state before each reaction, and restores the copy. So a state should be
//! small. Large constants belong in an `Arc`.
//!
//! # Example
//!
//! A client sends a packet each 10 ms, and measures the time until the echo is back:
//!
//! ```
//! use parades_core::digest::Digest;
//! use parades_core::time::{Delay, Time};
//! use parades_packet::description::AppKind;
//! use parades_packet::protocols::own::{Arrival, OtherProtocol, PacketEnd, PacketIo};
//!
//! #[derive(Clone, Debug)]
//! struct Client {
//!     sent: u32,
//! }
//!
//! impl PacketEnd for Client {
//!     fn on_start(&mut self, io: &mut dyn PacketIo) {
//!         self.on_timer(0, io);
//!     }
//!
//!     fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo) {
//!         let asked = u64::from_le_bytes(packet.data.try_into().expect("an echo has the data of its packet"));
//!         io.observe(io.now().since(Time::from_ps(asked)));
//!     }
//!
//!     fn on_timer(&mut self, _: u32, io: &mut dyn PacketIo) {
//!         io.send(self.sent, 64, &io.now().as_ps().to_le_bytes());
//!         self.sent += 1;
//!         io.set_timer(0, Delay::from_ms(10));
//!     }
//!
//!     fn copy(&self) -> Box<dyn PacketEnd> {
//!         Box::new(self.clone())
//!     }
//!
//!     fn fold(&self, digest: &mut Digest) {
//!         digest.word(u64::from(self.sent));
//!     }
//! }
//!
//! #[derive(Clone, Debug)]
//! struct Server;
//!
//! impl PacketEnd for Server {
//!     fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo) {
//!         io.send(packet.number, packet.payload, packet.data);
//!     }
//!
//!     fn copy(&self) -> Box<dyn PacketEnd> {
//!         Box::new(self.clone())
//!     }
//!
//!     fn fold(&self, _: &mut Digest) {}
//! }
//!
//! let ping = AppKind::Other(OtherProtocol::new("ping", Client { sent: 0 }, Server).with_least_payload(64));
//! ```

mod end;

pub(crate) use end::timer_text;
pub use end::{End, EndMut, EndUndo};

use super::TIMERS_MAX;
use crate::packet::PAYLOAD_MAX;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use std::fmt::Debug;
use std::sync::Arc;

/// The number of timers of an end.
pub const TIMERS: u32 = TIMERS_MAX - 1;
/// The timer of the start. The timers before it are those of the end.
const START: u32 = TIMERS;

/// One end of a flow.
pub trait PacketEnd: Debug + Send + Sync {
    /// The flow starts. Both ends are called.
    fn on_start(&mut self, io: &mut dyn PacketIo) {
        let _ = io;
    }

    /// A packet of the other end arrives.
    fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo);

    /// A timer is due.
    fn on_timer(&mut self, timer: u32, io: &mut dyn PacketIo) {
        let _ = (timer, io);
    }

    /// A call is due: see [`PacketIo::call`].
    fn on_call(&mut self, number: u32, io: &mut dyn PacketIo) {
        let _ = (number, io);
    }

    /// Returns true if the flow is complete, in the opinion of the end that begins it. The table of flows has
    /// the answer at the end of the run.
    fn is_complete(&self) -> bool {
        false
    }

    /// Checks the parameters. An error is the end of a sentence that begins with the app's name.
    ///
    /// # Errors
    ///
    /// If a parameter is impossible.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns a copy: for another flow, or for a rollback.
    fn copy(&self) -> Box<dyn PacketEnd>;

    /// Returns the bytes of the state, from which [`PacketEnd::restore`] makes an equal one. `None` if the
    /// state cannot be written: then runs with this protocol cannot be saved.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Restores the state from all of these bytes. `self` is a copy of the state at the start.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let _ = bytes;
        Err(Malformed::new("the state of this protocol cannot be written"))
    }

    /// Folds the state into a digest.
    fn fold(&self, digest: &mut Digest);
}

/// A packet that arrives at an end.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The number that its sender gave it.
    pub number: u32,
    /// Its payload in bytes, headers not included.
    pub payload: u32,
    /// The time when it was sent.
    pub sent: Time,
    /// The data that its sender gave it.
    pub data: &'a [u8],
    /// True if a queue has marked it as one that met congestion.
    pub is_marked: bool,
    /// True if the packet has arrived before, and a link has made this copy of it.
    pub is_copy: bool,
}

/// The environment of an end.
pub trait PacketIo {
    /// Returns the time.
    fn now(&self) -> Time;

    /// Returns the number of the flow.
    fn flow(&self) -> u32;

    /// Returns the random stream of the node.
    fn rng(&mut self) -> &Rng;

    /// Sets a timer, by its number below [`TIMERS`]. A timer that is set already is reset.
    fn set_timer(&mut self, timer: u32, delay: Delay);

    /// Cancels a timer, if it is set.
    fn cancel_timer(&mut self, timer: u32);

    /// Calls the end after a delay: [`PacketEnd::on_call`]. Any number of calls may be pending, and no call
    /// can be cancelled.
    fn call(&mut self, delay: Delay, number: u32);

    /// Sends a packet to the other end. `payload` is in bytes, without headers. `data` is the part of the
    /// payload that the other end reads. A packet with data needs an allocation; one without data needs none.
    /// Packets that are sent at one time need ascending numbers, which tell a packet from the copies that
    /// links make of others.
    fn send(&mut self, number: u32, payload: u32, data: &[u8]);

    /// Measures a duration, for the histogram `completion_APP`.
    fn observe(&mut self, duration: Delay);

    /// Fails the run. `what` is the end of a sentence that begins with the flow.
    fn fail(&mut self, what: &str);
}

/// A protocol of another crate: its name, and the two ends of which each flow has a copy. Two protocols are
/// equal if their names are equal, and the texts of their ends for debugging.
#[derive(Clone, Debug)]
pub struct OtherProtocol {
    name: &'static str,
    first: Arc<dyn PacketEnd>,
    second: Arc<dyn PacketEnd>,
    least_payload: u32,
}

impl OtherProtocol {
    /// Makes a protocol from the end that begins a flow, and the other one.
    pub fn new(name: &'static str, first: impl PacketEnd + 'static, second: impl PacketEnd + 'static) -> OtherProtocol {
        OtherProtocol { name, first: Arc::new(first), second: Arc::new(second), least_payload: 0 }
    }

    /// Promises that no packet has a smaller payload. The lookahead of links grows with the smallest packet,
    /// and parallel runs are faster with a longer lookahead.
    #[must_use]
    pub fn with_least_payload(self, bytes: u32) -> OtherProtocol {
        OtherProtocol { least_payload: bytes, ..self }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn least_payload(&self) -> u32 {
        self.least_payload
    }
    /// Returns the end at the start that opens the flow, or the other one.
    fn prototype(&self, begins: bool) -> &dyn PacketEnd {
        if begins { &*self.first } else { &*self.second }
    }

    /// Returns `Ok` if the states of both ends can be written.
    pub(crate) fn can_save(&self) -> Result<(), String> {
        match [true, false].map(|begins| self.prototype(begins).save()) {
            [Some(_), Some(_)] => Ok(()),
            _ => Err(format!("the protocol {:?} cannot be written", self.name)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.least_payload > PAYLOAD_MAX {
            return Err(format!("has packets of {} bytes or more; at most {PAYLOAD_MAX} fit", self.least_payload));
        }
        self.first.check().and_then(|()| self.second.check())
    }
}

impl PartialEq for OtherProtocol {
    fn eq(&self, other: &OtherProtocol) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}
