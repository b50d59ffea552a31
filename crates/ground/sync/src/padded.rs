//! Values on cache lines of their own, so that a thread that writes one does not slow down the readers of
//! another.

use std::ops::Deref;

/// A value on cache lines of its own. The alignment is two lines, because processors load lines in pairs.
///
/// ```
/// use parades_sync::padded::CachePadded;
/// let counts = [CachePadded(1_u64), CachePadded(2)];
/// assert_eq!(*counts[0] + *counts[1], 3);
/// assert_eq!(size_of_val(&counts), 256);
/// ```
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
