//! TCP (RFC 9293): the end of a connection as a state machine without input and output.
//!
//! A connection reacts to segments, to timers, and to calls of its application. It acts through an
//! [`environment::Environment`]: clock, timers, transmission, notification of the application. It knows no
//! network and no engine. A segment is a [`header::Header`] and a length: the bytes of the stream stay with
//! the application, unless the environment carries them.
//!
//! [`settings::Settings`] has every choice that the RFCs leave open and every deviation from them. Two named
//! profiles select all of them: `linux` and `ns3`.
//!
//! Two ends whose segments reach each other at once. One end sends 100,000 bytes, and both ends close:
//!
//! ```
//! use parades_core::restore::Undoable;
//! use parades_core::time::{Delay, Time};
//! use parades_tcp::environment::{Ecn, Environment, Notice, Timer};
//! use parades_tcp::{Connection, Ports, State, header::Header, seq::Seq, settings::Settings};
//!
//! /// The surroundings of one end: a clock, one list of segments to deliver, the bytes that have arrived.
//! #[derive(Default)]
//! struct End {
//!     out: Vec<(Header, u32)>,
//!     received: u32,
//!     is_finished: bool,
//! }
//!
//! impl Environment for End {
//!     fn now(&self) -> Time {
//!         Time::ZERO
//!     }
//!     fn transmit(&mut self, header: &Header, _offset: u64, bytes: u32, _: Ecn) {
//!         self.out.push((*header, bytes));
//!     }
//!     fn set_timer(&mut self, _: Timer, _: Delay) {} // Nothing is lost here.
//!     fn cancel_timer(&mut self, _: Timer) {}
//!     fn deliver(&mut self, bytes: u32) -> u32 {
//!         self.received += bytes;
//!         bytes // All of them are read at once.
//!     }
//!     fn notify(&mut self, notice: Notice) {
//!         self.is_finished |= notice == Notice::Finished;
//!     }
//! }
//!
//! let settings = Settings::linux();
//! let mut client = Connection::connect(&settings, Ports { local: 40_000, remote: 80 }, Seq(17));
//! let mut server = Connection::listen(&settings, Ports { local: 80, remote: 0 }, Seq(42));
//! let (mut near, mut far) = (End::default(), End::default());
//! client.unrecorded().open(&settings, &mut near);
//! client.unrecorded().write_last(&settings, 100_000, &mut near);
//! while !near.out.is_empty() || !far.out.is_empty() {
//!     for (header, bytes) in std::mem::take(&mut near.out) {
//!         server.unrecorded().on_segment(&settings, &header, bytes, Ecn::NotCapable, &mut far);
//!     }
//!     if far.is_finished {
//!         server.unrecorded().close(&settings, &mut far);
//!     }
//!     for (header, bytes) in std::mem::take(&mut far.out) {
//!         client.unrecorded().on_segment(&settings, &header, bytes, Ecn::NotCapable, &mut near);
//!     }
//! }
//! assert_eq!(far.received, 100_000);
//! assert_eq!((client.state(), server.state()), (State::TimeWait, State::Closed));
//! ```
//!
//! *Read next*: [`connection`], the calls; [`environment`] and [`header`]; [`control`], the seam for
//! congestion controls. Then `arrive`, `send` and `acks`: what happens to a segment, what may be sent, and
//! what an acknowledgement changes.

#![forbid(unsafe_code)]

mod acks;
mod arrive;
mod close;
pub mod connection;
pub mod control;
pub mod counts;
mod ecn;
mod endpoint;
pub mod environment;
mod frto;
mod handshake;
pub mod header;
mod liveness;
mod pacing;
mod probe;
mod proportional;
mod rack;
mod rate;
mod receive;
mod receiver;
mod recovery;
mod rtt;
mod save;
mod scoreboard;
pub mod segment;
mod send;
mod sender;
pub mod seq;
pub mod settings;
mod state;
mod timers;
mod window;

pub use connection::{Connection, ConnectionMut, ConnectionParts, ConnectionUndo, Ports};
pub use counts::Counts;
pub use receiver::{Due, Receiver, Span};
pub use sender::{Mode, Sender, Sent, TimerUse};
pub use state::State;
