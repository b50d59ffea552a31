//! References to objects that hold their own count.

use crate::refcount::Counted;
use crate::refcount::pool::Slot;
use parades_core::digest::{Digest, Payload};
use parades_packet::record::SharedData;
use std::fmt;

/// A way to count.
pub trait Scheme: Send + Sync + 'static {
    /// The count in an object.
    type Count: Default + fmt::Debug + Send + Sync + 'static;

    /// Returns an object that nobody uses, with one reference.
    fn take() -> &'static Slot<Self::Count>;
    /// Adds a reference.
    fn increment(slot: &'static Slot<Self::Count>);
    /// Drops a reference. With the last one, the object returns to the pool.
    fn decrement(slot: &'static Slot<Self::Count>);
    /// See [`Counted::settle`].
    fn settle() {}
    /// See [`Counted::at_barrier`].
    fn at_barrier() {}
    /// See [`Counted::in_use`].
    fn in_use() -> usize;
}

/// A reference that is counted by a [`Scheme`], as large as a plain one.
pub struct Pointer<S: Scheme>(&'static Slot<S::Count>);

impl<S: Scheme> Clone for Pointer<S> {
    #[inline]
    fn clone(&self) -> Pointer<S> {
        S::increment(self.0);
        Pointer(self.0)
    }
}

impl<S: Scheme> Drop for Pointer<S> {
    #[inline]
    fn drop(&mut self) {
        S::decrement(self.0);
    }
}

impl<S: Scheme> fmt::Debug for Pointer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data {:016x}", self.0.digest())
    }
}

impl<S: Scheme> Payload for Pointer<S> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.0.digest());
    }
}

impl<S: Scheme> SharedData for Pointer<S> {
    fn write(data: &[u8]) -> Pointer<S> {
        let slot = S::take();
        slot.write(data);
        Pointer(slot)
    }

    #[inline]
    fn read(&self, to: &mut [u8]) {
        self.0.read(to);
    }
}

impl<S: Scheme> Counted for Pointer<S> {
    fn settle() {
        S::settle();
    }

    #[inline]
    fn at_barrier() {
        S::at_barrier();
    }

    fn in_use() -> usize {
        S::in_use()
    }
}
