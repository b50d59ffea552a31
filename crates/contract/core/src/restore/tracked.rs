//! A value or a collection whose changes are recorded.

use super::{Recorder, Undoable, Whole};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A mutable reference to a `T` that records each change. It reads as a `T` does.
///
/// The methods depend on `T`. A value that is recorded whole can be assigned to. Its old value is recorded
/// each time that the value is borrowed mutably:
///
/// ```
/// use parades_core::restore::{Undoable, UndoLog};
/// let (mut packets, mut log) = (7_u64, UndoLog::default());
/// log.recording(|recorder| {
///     let mut tracked = packets.view(recorder);
///     *tracked += 1;
///     *tracked += 1;
/// });
/// assert_eq!((packets, log.records().len()), (9, 2));
/// packets.undo_all(&mut log);
/// assert_eq!(packets, 7);
/// ```
#[must_use = "a view changes nothing by itself"]
pub struct Tracked<'a, T: ?Sized, R> {
    pub(super) value: &'a mut T,
    pub(super) recorder: R,
}

impl<T: ?Sized + fmt::Debug, R> fmt::Debug for Tracked<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<'a, T: ?Sized, R> Tracked<'a, T, R> {
    /// Makes a view. Meant for implementations of [`Undoable`], which are given the recorder.
    #[inline(always)]
    pub fn new(value: &'a mut T, recorder: R) -> Tracked<'a, T, R> {
        Tracked { value, recorder }
    }
}

impl<'a, T: Undoable + ?Sized, R: Recorder<T::Undo>> Tracked<'a, T, R> {
    /// Borrows the view for a shorter time, so that it can be given to more than one function.
    #[inline(always)]
    pub fn reborrow(&mut self) -> Tracked<'_, T, R> {
        Tracked { value: self.value, recorder: self.recorder }
    }

    /// Returns the value and the recorder, for generated code.
    #[doc(hidden)]
    #[inline(always)]
    pub fn open(self) -> (&'a mut T, R) {
        (self.value, self.recorder)
    }
}

impl<'a, T: Whole, R: Recorder<T::Undo>> Tracked<'a, T, R> {
    /// Replaces the value.
    #[inline(always)]
    pub fn set(&mut self, value: T) {
        let old = std::mem::replace(self.value, value);
        self.recorder.record(|| T::record_of(old));
    }

    /// Records the value, and returns a reference through which it can be changed any number of times.
    #[inline(always)]
    pub fn into_mut(self) -> &'a mut T
    where
        T: Clone,
    {
        self.recorder.record(|| T::record_of(self.value.clone()));
        self.value
    }
}

impl<T: ?Sized, R> Deref for Tracked<'_, T, R> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

/// Records the value. Only for `Copy` types, so that no costly clone is hidden in an assignment.
impl<T: Whole + Copy, R: Recorder<T::Undo>> DerefMut for Tracked<'_, T, R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.recorder.record(|| T::record_of(*self.value));
        self.value
    }
}
