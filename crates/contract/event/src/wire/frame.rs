//! Frames: values that travel to another process together.
//!
//! *Destination.* The transport names the destination around the writing of a frame. Payloads in shared
//! memory are then written as places if the destination maps that memory.
//!
//! *Shared data.* Data that several values of a frame share is written once. Further occurrences are the
//! number of the first one. The writer and the reader number the data in the order in which they finish
//! writing or reading it, so both have the same numbers.

use super::Wire;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

/// The kind of process that will read a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A process on another machine, or a file: everything is written as bytes.
    Elsewhere,
    /// A process that maps the memory of this one.
    SameMemory,
}

/// Shared data that a frame has.
#[derive(Default)]
struct Written {
    /// By the address of the data.
    numbers: BTreeMap<usize, u32>,
    /// Keeps the data alive, so that no other data gets an address in `numbers`.
    kept: Vec<Box<dyn Any + Send>>,
}

thread_local! {
    static DESTINATION: Cell<Destination> = const { Cell::new(Destination::Elsewhere) };
    static WRITTEN: RefCell<Option<Written>> = const { RefCell::new(None) };
    static READ: RefCell<Option<Vec<Box<dyn Any>>>> = const { RefCell::new(None) };
}

/// Ends the frame that this thread writes or reads, even after a panic.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        DESTINATION.set(Destination::Elsewhere);
        let ended = (WRITTEN.take(), READ.take());
        drop(ended);
    }
}

/// Writes the values of one frame. The frame must be read within one call of [`read_frame`], in the same
/// order.
///
/// ```
/// use parades_core::{shared::Shared, wire::{self, Destination, FrameWriter}};
/// let datum = Shared::new(vec![7_u8; 1000]);
/// let (mut frame, mut bytes) = (FrameWriter::new(Destination::Elsewhere), Vec::new());
/// (0..50).for_each(|_| frame.write(&datum, &mut bytes));
/// assert!(bytes.len() < 1200);
/// let mut bytes = bytes.as_slice();
/// let received: Vec<Shared<Vec<u8>>> = wire::read_frame(|| (0..50).map(|_| wire::read(&mut bytes).unwrap()).collect());
/// assert_eq!(*received[49], *datum);
/// assert!(std::ptr::eq(&received[0][0], &received[49][0]));
/// ```
pub struct FrameWriter {
    destination: Destination,
    written: Written,
}

impl fmt::Debug for FrameWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameWriter({:?}, {} shared data)", self.destination, self.written.kept.len())
    }
}

impl FrameWriter {
    /// Begins a frame.
    pub fn new(destination: Destination) -> FrameWriter {
        FrameWriter { destination, written: Written::default() }
    }

    /// Appends the bytes of `value` to `to`, as [`super::write`] does.
    pub fn write<T: Wire>(&mut self, value: &T, to: &mut Vec<u8>) {
        self.within(|| super::write(value, to));
    }

    /// Calls `write`, which writes values of the frame by [`super::write`].
    pub fn within<R>(&mut self, write: impl FnOnce() -> R) -> R {
        let _end = End;
        DESTINATION.set(self.destination);
        WRITTEN.set(Some(std::mem::take(&mut self.written)));
        let result = write();
        self.written = WRITTEN.take().unwrap_or_default();
        result
    }
}

/// Calls `read`, which reads all values of one frame. Values of no frame may be read so, too.
pub fn read_frame<T>(read: impl FnOnce() -> T) -> T {
    let _end = End;
    READ.set(Some(Vec::new()));
    read()
}

/// Returns the destination of the frame that this thread writes.
pub(crate) fn destination() -> Destination {
    DESTINATION.get()
}

/// Returns the number of shared data at this address, if the current frame already has it.
pub(crate) fn number_of_written(address: usize) -> Option<u32> {
    WRITTEN.with_borrow(|written| written.as_ref()?.numbers.get(&address).copied())
}

/// Numbers shared data that has just been written. `keep` makes another holder of the data.
pub(crate) fn note_written<T: Any + Send>(address: usize, keep: impl FnOnce() -> T) {
    WRITTEN.with_borrow_mut(|written| {
        if let Some(Written { numbers, kept }) = written {
            numbers.insert(address, u32::try_from(kept.len()).expect("a frame has fewer bytes than 2^32"));
            kept.push(Box::new(keep()));
        }
    });
}

/// Numbers shared data that has just been read. `keep` makes another holder of the data.
pub(crate) fn note_read<T: Any>(keep: impl FnOnce() -> T) {
    READ.with_borrow_mut(|read| {
        if let Some(read) = read {
            read.push(Box::new(keep()));
        }
    });
}

/// Returns a holder of shared data that the current frame already has. Returns `None` if there is no such
/// number, or if its data has another type.
pub(crate) fn already_read<T: Any + Clone>(number: u32) -> Option<T> {
    READ.with_borrow(|read| read.as_ref()?.get(number as usize)?.downcast_ref::<T>().cloned())
}
