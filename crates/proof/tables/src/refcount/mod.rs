//! Schemes of counting references to data that logical processes share. They exist to be measured against
//! each other.
//!
//! A packet's data are written once and then shared by all copies at all hops ([`SharedData`]). The last
//! reference must be noticed. The multicore ns-3 tried the following schemes. Each is a pointer type here,
//! over which a model can be generic:
//!
//! | pointer | a clone or a drop | published |
//! |---|---|---|
//! | [`Raw`] | a plain addition; for one thread only | tables 3 to 8 |
//! | [`Locked`] | an addition under the object's lock | table 3 |
//! | [`Atomic`] | an atomic addition | tables 3 to 8 |
//! | [`Compare`] | an atomic addition; a drop compares and exchanges, or only reads at the last one | table 3 |
//! | [`InObject`] | an addition to the thread's own count of the object | table 4 |
//! | [`InPointer`] | an addition to a count that the pointer leads to, one for each thread | table 5 |
//! | [`BufferedImmediate`] | an entry in the thread's buffer; a full one is applied at once, under a lock | tables 6 and 7 |
//! | [`BufferedByThread`], [`BufferedLockFree`] | the same; a thread of its own applies it, delivered under a lock or without | tables 6 and 7 |
//! | [`BufferedAtBarrier`] | the same; the first thread that reaches a barrier applies it | proposed there |
//! | [`Aggregate`] | an atomic addition to a counter that eight objects share | table 8 |
//!
//! Models use `Shared<Box<[u8]>>`, the standard library's `Arc`.
//!
//! *Memory.* All schemes except `Shared` take objects of at most [`DATA_MAX`] bytes from pools, which are
//! kept as long as the process runs. So the schemes differ in the counting alone. The bytes are atomic words:
//! a scheme that returns an object too early shows another packet's data, and never touches memory that is
//! not there. There is no `unsafe` here.
//!
//! *Source*: G. Seguin, *Multi-core parallelism for ns-3 simulator*, INRIA, 2009, section 3.3.
//!
//! # Example
//!
//! ```
//! use parades_packet::record::SharedData;
//! use parades_tables::refcount::{Atomic, Counted};
//! let data = Atomic::write(b"a packet");
//! let copies = vec![data.clone(); 3];
//! drop(data);
//! let mut begin = [0; 8];
//! copies[2].read(&mut begin);
//! assert_eq!(&begin, b"a packet");
//! assert_eq!(Atomic::in_use(), 1);
//! drop(copies);
//! assert_eq!(Atomic::in_use(), 0);
//! ```
//!
//! *Read next*: [`mod@pointer`] has the common part of the schemes; [`buffered`] is the scheme that needs a
//! proof.

pub mod aggregate;
pub mod atomic;
pub mod buffered;
pub mod in_object;
pub mod in_pointer;
pub mod locked;
pub mod pointer;
pub mod pool;
pub mod raw;

pub use in_pointer::InPointer;
pub use pool::DATA_MAX;

use parades_core::shared::Shared;
use parades_packet::record::SharedData;
use pointer::Pointer;

/// Plain additions: for one thread only.
pub type Raw = Pointer<raw::Raw>;
/// Additions under the object's lock.
pub type Locked = Pointer<locked::Locked>;
/// Atomic additions.
pub type Atomic = Pointer<atomic::Add>;
/// Atomic additions; a drop compares and exchanges.
pub type Compare = Pointer<atomic::Compare>;
/// A count for each thread and object.
pub type InObject = Pointer<in_object::InObject>;
/// One atomic counter for eight objects.
pub type Aggregate = Pointer<aggregate::Aggregate>;
/// Buffers of operations, applied at once.
pub type BufferedImmediate = Pointer<buffered::Buffered<buffered::Immediate>>;
/// Buffers of operations, delivered under a lock to a thread that applies them.
pub type BufferedByThread = Pointer<buffered::Buffered<buffered::ByThread>>;
/// Buffers of operations, delivered without a lock to a thread that applies them.
pub type BufferedLockFree = Pointer<buffered::Buffered<buffered::LockFree>>;
/// Buffers of operations, applied by the first thread that reaches a barrier.
pub type BufferedAtBarrier = Pointer<buffered::Buffered<buffered::AtBarrier>>;

/// The operations of a scheme that a measurement needs beside its pointers.
pub trait Counted: SharedData {
    /// Applies the operations that this thread has buffered, and waits until that is done. Each thread calls
    /// it when it has finished.
    fn settle() {}

    /// Each thread calls it when it reaches a barrier.
    fn at_barrier() {}

    /// Returns the number of objects that are in use, of all schemes that share this scheme's pool; 0 if they
    /// are not counted.
    fn in_use() -> usize {
        0
    }
}

impl Counted for Shared<Box<[u8]>> {}
