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
//! *Read next*: [`header`]; [`control`], the seam for congestion controls.

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
mod pacing;
mod probe;
mod proportional;
mod rack;
mod rate;
mod receive;
mod receiver;
mod recovery;
mod rtt;
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
