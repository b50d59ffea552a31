//! The conversion of events to bytes and back.

use parades_core::event::Event;
use parades_core::wire::{self, Malformed, Wire};

/// Writes events as bytes, and reads them back.
pub trait Codec<P>: Send + Sync {
    /// Appends the bytes of an event. Called within [`FrameWriter::within`](wire::FrameWriter::within).
    fn write(&self, event: &Event<P>, to: &mut Vec<u8>);

    /// Reads an event from the front of `from`. Called within [`wire::read_frame`].
    ///
    /// # Errors
    ///
    /// If the bytes are not those of an event.
    fn read(&self, from: &mut &[u8]) -> Result<Event<P>, Malformed>;
}

/// The codec of messages that serde can serialise.
#[derive(Clone, Copy, Debug)]
pub struct BySerde;

impl<P: Wire> Codec<P> for BySerde {
    fn write(&self, event: &Event<P>, to: &mut Vec<u8>) {
        wire::write(event, to);
    }

    fn read(&self, from: &mut &[u8]) -> Result<Event<P>, Malformed> {
        wire::read(from)
    }
}
