//! The arenas of this process: the memory in which [`Bytes`](crate::bytes::Bytes) lie during a run of
//! several processes.
//!
//! Each process of a machine owns one arena and maps the arenas of the others. The processes number their
//! arenas alike, for example by rank. A payload then crosses as a [`Place`] instead of its bytes.

use parades_raw::shared::arena::Reference;
#[cfg(target_os = "linux")]
use parades_raw::shared::segment::Segment;
use std::cell::RefCell;
#[cfg(target_os = "linux")]
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

pub use parades_raw::shared::arena::{Anonymous, Arena, Block, Memory};
#[cfg(target_os = "linux")]
pub use parades_raw::shared::segment::SegmentFile;

/// The position of a payload in the memory that the processes of a machine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the arena.
    pub arena: u32,
    /// The position of the first byte in the arena.
    pub offset: usize,
}

/// All arenas that this process maps.
#[derive(Debug, Default)]
struct Table {
    /// The number of the arena that this process owns.
    own: usize,
    /// By number; `None` for the arena of a process on another machine.
    arenas: Vec<Option<Arc<Arena>>>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { own: 0, arenas: Vec::new() });
/// The number of changes of [`TABLE`]. It is odd while arenas are installed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Keeps the arenas of a run installed until it is dropped. Payloads that are alive then keep their memory.
#[derive(Debug)]
pub struct Installed(());

/// Installs the arenas of a run. `own` is the number of the arena that this process owns.
///
/// ```
/// use parades_core::{arena::{self, Anonymous, Arena}, bytes::Bytes};
/// let arena = Arena::create(Box::new(Anonymous::new(1 << 20).unwrap())).unwrap();
/// let installed = arena::install(0, vec![Some(arena)]);
/// let bytes = Bytes::write(4096, |to| to.fill(7));
/// assert_eq!(bytes.place().map(|place| place.arena), Some(0));
/// drop(installed);
/// assert!(Bytes::write(4096, |to| to.fill(7)).place().is_none()); // on the heap
/// assert_eq!(bytes[4095], 7);
/// ```
///
/// # Panics
///
/// If arenas are installed already, or `own` is not the number of an arena.
pub fn install(own: usize, arenas: Vec<Option<Arc<Arena>>>) -> Installed {
    assert!(arenas.get(own).is_some_and(Option::is_some), "this process owns no arena {own}");
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(table.arenas.is_empty(), "the arenas of another run are installed");
    *table = Table { own, arenas };
    // Ordering: Release; pairs with the Acquire in `with_cached`. The lock orders the rest.
    CHANGES.fetch_add(1, Ordering::Release);
    Installed(())
}

/// Installs arenas in segments, which are new and used for nothing else. `own` is the number of this
/// process's arena. A number without a segment is that of a process on another machine.
///
/// # Errors
///
/// If a segment cannot be mapped, or another process owns the arena `own`.
///
/// # Panics
///
/// As [`install`].
#[cfg(target_os = "linux")]
pub fn install_segments(own: usize, segments: Vec<Option<SegmentFile>>) -> io::Result<Installed> {
    let open = |(number, file): (usize, Option<SegmentFile>)| {
        let Some(file) = file else { return Ok(None) };
        let memory = Box::new(Segment::map(file)?);
        let arena = if number == own { Arena::create(memory) } else { Arena::attach(memory) };
        arena.map(Some).ok_or_else(|| io::Error::other("a segment has no room for an arena, or another owner"))
    };
    let arenas = segments.into_iter().enumerate().map(open).collect::<io::Result<_>>()?;
    Ok(install(own, arenas))
}

impl Drop for Installed {
    fn drop(&mut self) {
        let removed = std::mem::take(&mut *TABLE.lock().unwrap_or_else(PoisonError::into_inner));
        // Ordering: Release, as in `install`.
        CHANGES.fetch_add(1, Ordering::Release);
        drop(removed);
    }
}

/// A thread's copy of [`TABLE`], which takes no lock. It does not keep memory mapped after a run.
#[derive(Default)]
struct Cached {
    changes: u64,
    own: usize,
    arenas: Vec<Weak<Arena>>,
}

thread_local! {
    static CACHED: RefCell<Cached> = RefCell::default();
}

/// Calls `look` with this thread's copy of the table. Returns `None` if no arena is installed.
#[inline]
fn with_cached<T>(look: impl FnOnce(&Cached) -> Option<T>) -> Option<T> {
    // Ordering: Acquire; pairs with the Release in `install`.
    let changes = CHANGES.load(Ordering::Acquire);
    if changes.is_multiple_of(2) {
        return None;
    }
    CACHED.with_borrow_mut(|cached| {
        if cached.changes != changes {
            let table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
            let weak = |arena: &Option<Arc<Arena>>| arena.as_ref().map_or_else(Weak::new, Arc::downgrade);
            *cached = Cached { changes, own: table.own, arenas: table.arenas.iter().map(weak).collect() };
        }
        look(cached)
    })
}

/// Returns the arena that this process owns, if one is installed.
#[inline]
pub(crate) fn own() -> Option<Arc<Arena>> {
    with_cached(|cached| cached.arenas.get(cached.own)?.upgrade())
}

/// Returns the number of an arena that is installed.
pub(crate) fn number_of(arena: &Arc<Arena>) -> Option<u32> {
    with_cached(|cached| {
        let number = cached.arenas.iter().position(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(arena)))?;
        u32::try_from(number).ok()
    })
}

/// Receives a block. Returns `None` if the reference is malformed.
pub(crate) fn adopt(arena: u32, reference: Reference) -> Option<Block> {
    with_cached(|cached| cached.arenas.get(arena as usize)?.upgrade())?.adopt(reference)
}
