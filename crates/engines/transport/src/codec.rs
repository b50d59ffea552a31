//! The conversion of events to bytes and back.

use crate::parcel::{Parcel, ParcelRef};
use parades_core::wire::Malformed;
use std::ops::Range;

/// Writes events as bytes, and reads them back. `T` is the [`Traffic`](crate::Traffic) of the run.
pub trait Codec<'k, T: crate::Traffic>: Send + Sync {
    /// Appends the bytes of some events of a list. Called within
    /// [`FrameWriter::within`](parades_core::wire::FrameWriter::within).
    fn write(&self, events: ParcelRef<'_, 'k, T>, range: Range<usize>, to: &mut Vec<u8>);

    /// Reads `count` events from the front of `from`. Called within
    /// [`read_frame`](parades_core::wire::read_frame).
    ///
    /// # Errors
    ///
    /// If the bytes are not those of events.
    fn read(&self, count: u32, from: &mut &[u8]) -> Result<Parcel<'k, T>, Malformed>;
}
