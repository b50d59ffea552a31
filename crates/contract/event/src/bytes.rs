//! Bulk bytes of a message: written once, shared by all clones, and read in place by other processes.
//!
//! *Where they lie.* A few bytes lie beside their count. More bytes lie on the heap, or in the
//! [`arena`](mod@crate::arena) of this process if one is installed and has room.
//!
//! *Crossing.* To a process that maps the arena, [`crate::wire`] writes the place of the bytes. The receiver
//! then holds the same memory. To any other process it writes the bytes. The copies are counted
//! ([`copied`]).

use crate::arena::{self, Block, Place};
use crate::digest::{Digest, Payload};
use crate::wire::{self, Destination};
use parades_raw::shared::arena::Reference;
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes that lie beside their count, so that they need no further allocation.
const INLINE_MAX: usize = 46;
/// The least number of bytes that lie in an arena. Fewer bytes are cheaper to copy than to refer to.
pub const ARENA_MIN: usize = 256;

/// Bytes that never change. A clone shares them.
///
/// ```
/// use parades_core::bytes::Bytes;
/// let bytes = Bytes::write(1000, |to| to.fill(7));
/// let clone = bytes.clone();
/// assert_eq!(clone.len(), 1000);
/// assert!(std::ptr::eq(&bytes[0], &clone[0]));
/// ```
#[derive(Clone)]
pub struct Bytes(Arc<Source>);

// An event with such a payload is no larger than one with a `Box`.
const _: () = assert!(size_of::<crate::event::Body<Bytes>>() == 16);

/// Where the bytes lie.
enum Source {
    /// The number of bytes in use, and the bytes.
    Inline(u8, [u8; INLINE_MAX]),
    Heap(Box<[u8]>),
    Arena(Block),
}

impl Bytes {
    /// Makes `length` bytes, which `write` fills. The bytes that `write` gets are initialised, but may be
    /// any.
    pub fn write(length: usize, write: impl FnOnce(&mut [u8])) -> Bytes {
        if length <= INLINE_MAX {
            let mut bytes = [0; INLINE_MAX];
            write(&mut bytes[..length]);
            let length = u8::try_from(length).expect("it is at most INLINE_MAX");
            return Bytes(Arc::new(Source::Inline(length, bytes)));
        }
        // The closure is called once, by the arena or below.
        let mut write = Some(write);
        let mut fill = |bytes: &mut [u8]| write.take().into_iter().for_each(|write| write(bytes));
        let source = in_arena(length, &mut fill).unwrap_or_else(|| {
            let mut bytes = vec![0; length].into_boxed_slice();
            fill(&mut bytes);
            Source::Heap(bytes)
        });
        Bytes(Arc::new(source))
    }

    /// Returns the place of the bytes, if they lie in an arena that is installed.
    pub fn place(&self) -> Option<Place> {
        match &*self.0 {
            Source::Arena(block) => Some(Place { arena: arena::number_of(block.arena())?, offset: block.offset() }),
            Source::Inline(..) | Source::Heap(_) => None,
        }
    }

    /// Adds a reference for another process. Returns the number of the arena too.
    fn send(&self) -> Option<(u32, Reference)> {
        match &*self.0 {
            Source::Arena(block) => Some((arena::number_of(block.arena())?, block.send()?)),
            Source::Inline(..) | Source::Heap(_) => None,
        }
    }
}

/// Allocates a block of the arena of this process, if it pays and there is room.
#[inline]
fn in_arena(length: usize, fill: &mut impl FnMut(&mut [u8])) -> Option<Source> {
    if length < ARENA_MIN {
        return None;
    }
    arena::own()?.allocate(u32::try_from(length).ok()?, fill).map(Source::Arena)
}

/// Copies bytes.
impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        if bytes.len() <= INLINE_MAX {
            return Bytes::write(bytes.len(), |to| to.copy_from_slice(bytes));
        }
        // Memory of the heap need not become zero first.
        let source = in_arena(bytes.len(), &mut |to| to.copy_from_slice(bytes));
        Bytes(Arc::new(source.unwrap_or_else(|| Source::Heap(bytes.into()))))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Source::Inline(length, bytes) => &bytes[..usize::from(*length)],
            Source::Heap(bytes) => bytes,
            Source::Arena(block) => block,
        }
    }
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::write(0, |_| ())
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        **self == **other
    }
}
impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Payload for Bytes {
    fn fold(&self, digest: &mut Digest) {
        digest.bytes(self);
    }
}

/// The bytes that were copied into or out of a message.
static COPIED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of bytes of [`Bytes`] that this process has copied so far to send or receive them.
pub fn copied() -> u64 {
    // Ordering: Relaxed; a count that publishes nothing.
    COPIED.load(Ordering::Relaxed)
}

fn count_copied(bytes: usize) {
    // Ordering: Relaxed, as above.
    COPIED.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// The length of a reference, in bytes: the numbers of the arena and of the slot, and the length of the
/// block.
const REFERENCE_BYTES: usize = 12;
/// The first byte of the written form of a reference.
const REFERENCE: u8 = 1;
/// The first byte of the written form of copied bytes.
const COPY: u8 = 0;

/// Writes a place if the destination maps the arena, and else the bytes.
impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sent = (wire::destination() == Destination::SameMemory).then(|| self.send()).flatten();
        if let Some((arena, Reference { slot, length })) = sent {
            let words = [arena, slot, length].map(u32::to_le_bytes);
            return (REFERENCE, Raw(words.as_flattened())).serialize(serializer);
        }
        count_copied(self.len());
        (COPY, Raw(self)).serialize(serializer)
    }
}

/// Bytes that are written as one string.
struct Raw<'a>(&'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let (form, bytes) = <(u8, &'de [u8])>::deserialize(deserializer)?;
        match form {
            COPY => {
                count_copied(bytes.len());
                Ok(Bytes::from(bytes))
            }
            REFERENCE => {
                let block = referred(bytes).ok_or_else(|| de::Error::custom("no payload is at this place"))?;
                Ok(Bytes(Arc::new(Source::Arena(block))))
            }
            _ => Err(de::Error::custom("neither bytes nor a place")),
        }
    }
}

/// Receives the block to which a reference leads.
fn referred(bytes: &[u8]) -> Option<Block> {
    let bytes: &[u8; REFERENCE_BYTES] = bytes.try_into().ok()?;
    let (words, _) = bytes.as_chunks::<4>();
    let [arena, slot, length] = <[[u8; 4]; 3]>::try_from(words).ok()?.map(u32::from_le_bytes);
    arena::adopt(arena, Reference { slot, length })
}
