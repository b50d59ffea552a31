//! Applications of other crates over TCP: what writes and reads at the two ends of a connection.
//!
//! A crate adds an application in three steps. It writes a type for each end, or one for both. It implements
//! [`StreamEnd`] for these types. It makes a value of each, gives both to [`OtherStream::new`], and this to
//! [`AppKind::Stream`](crate::description::AppKind). Each flow is one connection, and its ends start as
//! copies of these values.
//!
//! Streams have numbers of bytes and no contents: an end that has read 100 bytes knows that the other end has
//! written 100. An end reads everything at once. The bytes that it writes wait until the connection takes
//! them.
//!
//! The rules for determinism and rollback are those of [`super::own`].
//!
//! # Example
//!
//! A client asks with 100 bytes, and the server answers with 20,000 and closes:
//!
//! ```
//! use parades_core::digest::Digest;
//! use parades_packet::description::AppKind;
//! use parades_packet::protocols::stream::{OtherStream, StreamEnd, StreamIo};
//! use parades_tcp::settings::Settings;
//!
//! #[derive(Clone, Debug)]
//! struct Client;
//!
//! impl StreamEnd for Client {
//!     fn on_connected(&mut self, io: &mut dyn StreamIo) {
//!         io.write(100);
//!     }
//!
//!     fn copy(&self) -> Box<dyn StreamEnd> {
//!         Box::new(self.clone())
//!     }
//!
//!     fn fold(&self, _: &mut Digest) {}
//! }
//!
//! #[derive(Clone, Debug)]
//! struct Server {
//!     read: u64,
//! }
//!
//! impl StreamEnd for Server {
//!     fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
//!         self.read += bytes;
//!         if self.read == 100 {
//!             io.write(20_000);
//!             io.close();
//!         }
//!     }
//!
//!     fn copy(&self) -> Box<dyn StreamEnd> {
//!         Box::new(self.clone())
//!     }
//!
//!     fn fold(&self, digest: &mut Digest) {
//!         digest.word(self.read);
//!     }
//! }
//!
//! let get = AppKind::Stream(Box::new(OtherStream::new("get", Settings::linux(), Client, Server { read: 0 })));
//! ```

mod end;

pub(crate) use end::timer_text;
pub use end::{End, EndMut, EndUndo};

use super::TIMERS_MAX;
use super::tcp::{self, APPLICATION};
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use parades_tcp::settings::Settings;
use std::fmt::Debug;
use std::sync::Arc;

/// The number of timers of an end, beside those of its connection.
pub const TIMERS: u32 = TIMERS_MAX - FIRST_TIMER;
/// The first timer of an end. The timers before it are those of the connection, and of the start.
const FIRST_TIMER: u32 = APPLICATION + 1;

/// The application at one end of a connection.
pub trait StreamEnd: Debug + Send + Sync {
    /// The connection is established.
    fn on_connected(&mut self, io: &mut dyn StreamIo) {
        let _ = io;
    }

    /// `bytes` more bytes of the other end have arrived in order.
    fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
        let _ = (bytes, io);
    }

    /// The other end has closed its direction: no more data come. By default, this end closes too.
    fn on_finished(&mut self, io: &mut dyn StreamIo) {
        io.close();
    }

    /// A timer is due.
    fn on_timer(&mut self, timer: u32, io: &mut dyn StreamIo) {
        let _ = (timer, io);
    }

    /// The connection has failed: the other end refused or reset it, or did not answer.
    fn on_failed(&mut self, io: &mut dyn StreamIo) {
        let _ = io;
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
    fn copy(&self) -> Box<dyn StreamEnd>;

    /// Returns the bytes of the state, from which [`StreamEnd::restore`] makes an equal one. `None` if the
    /// state cannot be written: then runs with this application cannot be saved.
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
        Err(Malformed::new("the state of this application cannot be written"))
    }

    /// Folds the state into a digest.
    fn fold(&self, digest: &mut Digest);
}

/// The environment of an application at one end of a connection.
pub trait StreamIo {
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

    /// Writes bytes. They wait until the connection takes them. After [`StreamIo::close`], nothing is
    /// written.
    fn write(&mut self, bytes: u64);

    /// Returns the bytes that wait for the connection.
    fn waiting(&self) -> u64;

    /// Closes this direction after everything that was written.
    fn close(&mut self);

    /// Measures a duration, for the histogram `completion_APP`.
    fn observe(&mut self, duration: Delay);

    /// Fails the run. `what` is the end of a sentence that begins with the flow.
    fn fail(&mut self, what: &str);
}

/// An application of another crate over TCP: its name, the settings of its connections, and the two ends of
/// which each flow has a copy. Two applications are equal if their settings and names are equal, and the
/// texts of their ends for debugging.
#[derive(Clone, Debug)]
pub struct OtherStream {
    name: &'static str,
    /// The settings of both ends of a connection.
    pub(crate) settings: Settings,
    first: Arc<dyn StreamEnd>,
    second: Arc<dyn StreamEnd>,
}

impl OtherStream {
    /// Makes an application from the end that opens a connection, and the other one.
    pub fn new(
        name: &'static str,
        settings: Settings,
        first: impl StreamEnd + 'static,
        second: impl StreamEnd + 'static,
    ) -> OtherStream {
        OtherStream { name, settings, first: Arc::new(first), second: Arc::new(second) }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// Returns the end at the start that opens the flow, or the other one.
    fn prototype(&self, begins: bool) -> &dyn StreamEnd {
        if begins { &*self.first } else { &*self.second }
    }

    /// Returns `Ok` if the states of both ends can be written.
    pub(crate) fn can_save(&self) -> Result<(), String> {
        self.settings.can_save()?;
        match [true, false].map(|begins| self.prototype(begins).save()) {
            [Some(_), Some(_)] => Ok(()),
            _ => Err(format!("the application {:?} cannot be written", self.name)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        tcp::check_settings(&self.settings)?;
        self.first.check().and_then(|()| self.second.check())
    }
}

impl PartialEq for OtherStream {
    fn eq(&self, other: &OtherStream) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}
