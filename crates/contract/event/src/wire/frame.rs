//! Frames: values that travel to another process together.
//!
//! *Destination.* The transport names the destination around the writing of a frame. Payloads in shared
//! memory are then written as places if the destination maps that memory.
//!
//! *Shared data.* Data that several values of a frame share is written once. Further occurrences are the
//! number of the first one. The writer and the reader number the data in the order in which they finish
//! writing or reading it, so both have the same numbers.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// The kind of process that will read a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A process on another machine, or a file: everything is written as bytes.
    Elsewhere,
    /// A process that maps the memory of this one.
    SameMemory,
}

/// Shared data that this frame has, by the address of the data.
#[derive(Default)]
struct Written {
    numbers: BTreeMap<usize, u32>,
    /// Keeps the data alive, so that no other data gets an address in `numbers`.
    kept: Vec<Box<dyn Any>>,
}

thread_local! {
    static DESTINATION: Cell<Destination> = const { Cell::new(Destination::Elsewhere) };
    static WRITTEN: RefCell<Option<Written>> = const { RefCell::new(None) };
    static READ: RefCell<Option<Vec<Box<dyn Any>>>> = const { RefCell::new(None) };
}

/// Ends a frame, even after a panic.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        DESTINATION.set(Destination::Elsewhere);
        let ended = (WRITTEN.take(), READ.take());
        drop(ended);
    }
}

/// Calls `write`, which writes all values of one frame. The bytes must be read by one call of
/// [`read_frame`], in the same order.
///
/// ```
/// use parades_core::{shared::Shared, wire::{self, Destination}};
/// let datum = Shared::new(vec![7_u8; 1000]);
/// let mut bytes = Vec::new();
/// wire::write_frame(Destination::Elsewhere, || (0..50).for_each(|_| wire::write(&datum, &mut bytes)));
/// assert!(bytes.len() < 1200);
/// let mut bytes = bytes.as_slice();
/// let received: Vec<Shared<Vec<u8>>> = wire::read_frame(|| (0..50).map(|_| wire::read(&mut bytes).unwrap()).collect());
/// assert_eq!(*received[49], *datum);
/// assert!(std::ptr::eq(&received[0][0], &received[49][0]));
/// ```
pub fn write_frame<T>(destination: Destination, write: impl FnOnce() -> T) -> T {
    let _end = End;
    DESTINATION.set(destination);
    WRITTEN.set(Some(Written::default()));
    write()
}

/// Calls `read`, which reads all values of one frame.
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
pub(crate) fn note_written<T: Any>(address: usize, keep: impl FnOnce() -> T) {
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
