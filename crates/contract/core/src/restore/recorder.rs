//! Recorders of changes. A recorder keeps nothing, or writes to a log, or passes the records of a part to the
//! recorder of the whole.

use super::UndoLog;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

/// Receives the records `U` of the changes to some state.
///
/// Recorders are `Copy`, so that several parts of one state can be changed side by side. Code over recorders
/// is compiled twice: once for [`Unrecorded`], where recording costs nothing, and once for a log.
pub trait Recorder<U>: Copy {
    /// The recorder of a part whose records are `W`.
    type Within<W, S: Step<U, W>>: Recorder<W>;

    /// Records a change; `undo` is called only if the record is kept. A record is made before its change, or
    /// at once after it: no code of the model may run between the two.
    fn record(self, undo: impl FnOnce() -> U);

    /// Returns the recorder of the part to which `step` leads.
    fn within<W, S: Step<U, W>>(self, step: S) -> Self::Within<W, S>;
}

/// The step from a whole, with records `U`, to one of its parts, with records `W`.
pub trait Step<U, W>: Copy {
    /// Makes a record of the part a record of the whole.
    fn wrap(self, part: W) -> U;
}

/// The recorder that keeps nothing: for engines that never roll back, and for setting up.
#[derive(Clone, Copy, Debug)]
pub struct Unrecorded;

impl<U> Recorder<U> for Unrecorded {
    type Within<W, S: Step<U, W>> = Unrecorded;

    #[inline(always)]
    fn record(self, _: impl FnOnce() -> U) {}

    #[inline(always)]
    fn within<W, S: Step<U, W>>(self, _: S) -> Unrecorded {
        self
    }
}

/// The recorder that writes to an [`UndoLog`]; made by [`UndoLog::recording`].
pub struct Recording<'a, U>(&'a RefCell<&'a mut UndoLog<U>>);

impl<U> Clone for Recording<'_, U> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<U> Copy for Recording<'_, U> {}

impl<U> fmt::Debug for Recording<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recording")
    }
}

impl<U> UndoLog<U> {
    /// Calls `part` with a recorder that writes to this log.
    #[inline(always)]
    pub fn recording<T>(&mut self, part: impl FnOnce(Recording<'_, U>) -> T) -> T {
        part(Recording(&RefCell::new(self)))
    }
}

impl<U> Recorder<U> for Recording<'_, U> {
    type Within<W, S: Step<U, W>> = Within<Self, S, U>;

    #[inline(always)]
    fn record(self, undo: impl FnOnce() -> U) {
        let undo = undo();
        self.0.borrow_mut().push(undo);
    }

    #[inline(always)]
    fn within<W, S: Step<U, W>>(self, step: S) -> Within<Self, S, U> {
        Within { whole: self, step, records: PhantomData }
    }
}

/// The recorder of a part: each record goes to the recorder of the whole, which has records `U`.
pub struct Within<R, S, U> {
    whole: R,
    step: S,
    records: PhantomData<fn(U)>,
}

impl<R: Copy, S: Copy, U> Clone for Within<R, S, U> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Copy, S: Copy, U> Copy for Within<R, S, U> {}

impl<R, S, U> fmt::Debug for Within<R, S, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Within")
    }
}

impl<U, V, R: Recorder<U>, S: Step<U, V>> Recorder<V> for Within<R, S, U> {
    type Within<W, T: Step<V, W>> = Within<Self, T, V>;

    #[inline(always)]
    fn record(self, undo: impl FnOnce() -> V) {
        self.whole.record(|| self.step.wrap(undo()));
    }

    #[inline(always)]
    fn within<W, T: Step<V, W>>(self, step: T) -> Within<Self, T, V> {
        Within { whole: self, step, records: PhantomData }
    }
}

/// The step to the field number `N`; its [`Step`] is generated with the state.
#[derive(Clone, Copy, Debug)]
pub struct Nth<const N: usize>;
