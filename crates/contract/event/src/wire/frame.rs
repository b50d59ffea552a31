//! Frames: values that travel to another process together.
//!
//! *Destination.* The transport names the destination around the writing of a frame. Payloads in shared
//! memory are then written as places if the destination maps that memory.
//!
//! *Shared data.* Data that several values of a frame share is written once. Further occurrences are the
//! number of the first one. The writer and the reader number the data in the order in which they finish
//! writing or reading it, so both have the same numbers.
//!
//! A frame knows shared data by its address. A frame of a file ([`FrameWriter::of_file`]) also knows it by
//! its content: data that came from another process lies at several addresses, and the bytes of a file must
//! not depend on that.

use super::Wire;
use crate::digest::Digest;
use std::any::{Any, TypeId};
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
    /// By the content of the data, in a frame of a file.
    by_content: Option<BTreeMap<Content, u32>>,
    /// Keeps the data alive, so that no other data gets an address in `numbers`.
    kept: Vec<Box<dyn Any + Send>>,
}

/// The content of shared data: its type, the digest that it carries, and the length and the digest of its
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Content {
    kind: TypeId,
    carried: u64,
    length: usize,
    written: u64,
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

    /// Begins a frame of a file. Equal shared data is written once, wherever it lies.
    ///
    /// ```
    /// use parades_core::{shared::Shared, wire::{Destination, FrameWriter}};
    /// let written = |mut frame: FrameWriter, data: [&Shared<Vec<u8>>; 2]| {
    ///     let mut bytes = Vec::new();
    ///     data.iter().for_each(|datum| frame.write(*datum, &mut bytes));
    ///     bytes
    /// };
    /// let [datum, equal, other] = [7, 7, 8].map(|byte| Shared::new(vec![byte; 1000]));
    /// let once = written(FrameWriter::of_file(), [&datum, &datum]);
    /// assert_eq!(written(FrameWriter::of_file(), [&datum, &equal]), once);
    /// assert!(written(FrameWriter::of_file(), [&datum, &other]).len() > 2000);
    /// assert!(written(FrameWriter::new(Destination::Elsewhere), [&datum, &equal]).len() > 2000);
    /// ```
    pub fn of_file() -> FrameWriter {
        let written = Written { by_content: Some(BTreeMap::new()), ..Written::default() };
        FrameWriter { destination: Destination::Elsewhere, written }
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

/// Returns the number of shared data that the current frame has.
pub(super) fn shared_data() -> usize {
    WRITTEN.with_borrow(|written| written.as_ref().map_or(0, |written| written.kept.len()))
}

/// Returns the number of shared data at this address, if the current frame already has it.
pub(crate) fn number_of_written(address: usize) -> Option<u32> {
    WRITTEN.with_borrow(|written| written.as_ref()?.numbers.get(&address).copied())
}

/// Returns the content of shared data of type `T`, if the current frame knows data by its content. `carried`
/// is the digest that the data carries, and `write` writes the data.
pub(crate) fn content_of<T: Any>(carried: u64, write: impl FnOnce(&mut Vec<u8>)) -> Option<Content> {
    if !WRITTEN.with_borrow(|written| written.as_ref().is_some_and(|written| written.by_content.is_some())) {
        return None;
    }
    // Data within the data is written in full meanwhile, so that its numbers do not show.
    let frame = WRITTEN.take();
    let mut bytes = Vec::new();
    write(&mut bytes);
    WRITTEN.set(frame);
    let mut digest = Digest::default();
    digest.bytes(&bytes);
    Some(Content { kind: TypeId::of::<T>(), carried, length: bytes.len(), written: digest.value() })
}

/// Returns the number of shared data with this content, if the current frame already has it.
pub(crate) fn number_of_content(content: &Content) -> Option<u32> {
    WRITTEN.with_borrow(|written| written.as_ref()?.by_content.as_ref()?.get(content).copied())
}

/// Numbers shared data that has just been written. `keep` makes another holder of the data.
pub(crate) fn note_written<T: Any + Send>(address: usize, content: Option<Content>, keep: impl FnOnce() -> T) {
    WRITTEN.with_borrow_mut(|written| {
        if let Some(Written { numbers, by_content, kept }) = written {
            let number = u32::try_from(kept.len()).expect("a frame has fewer bytes than 2^32");
            numbers.insert(address, number);
            if let (Some(by_content), Some(content)) = (by_content, content) {
                by_content.insert(content, number);
            }
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
