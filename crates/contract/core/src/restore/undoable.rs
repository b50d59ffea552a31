//! Data whose changes can be recorded and undone.

use super::{Recorder, Tracked, UndoLog, Unrecorded};

/// Data whose changes can be recorded, each by a record of its own, and undone from the records.
///
/// Structs and enums derive it from their fields. Numbers, times, ids, and the ordered collections of the
/// standard library implement it. A small type of plain data can be recorded whole: it derives `Undoable`
/// with `#[undoable(whole)]`.
#[diagnostic::on_unimplemented(
    message = "changes of `{Self}` cannot be recorded, so it cannot be restored",
    label = "is not restored",
    note = "derive `Undoable` for it; or, if it never changes, mark the field `#[undoable(constant)]`"
)]
pub trait Undoable {
    /// A record of one change.
    type Undo;

    /// The type that a handler gets instead of `&mut Self`. It reads as `Self` does, and records each change.
    type View<'a, R: Recorder<Self::Undo>>
    where
        Self: 'a;

    /// Returns a view whose changes are recorded by `recorder`.
    fn view<R: Recorder<Self::Undo>>(&mut self, recorder: R) -> Self::View<'_, R>;

    /// Undoes the last change that is not yet undone.
    fn undo(&mut self, undo: Self::Undo);

    /// Returns a view whose changes are not recorded: for engines that never roll back, and for setting up.
    #[inline(always)]
    fn unrecorded(&mut self) -> Self::View<'_, Unrecorded> {
        self.view(Unrecorded)
    }

    /// Undoes all changes in the log, the last one first.
    #[inline]
    fn undo_all(&mut self, log: &mut UndoLog<Self::Undo>) {
        while let Some(undo) = log.pop() {
            self.undo(undo);
        }
    }
}

/// The view of a part of type `T`. The step `S` leads to the part from a whole with records `U`.
pub type PartMut<'a, T, R, U, S> = <T as Undoable>::View<'a, <R as Recorder<U>>::Within<<T as Undoable>::Undo, S>>;

/// Data that can be replaced as a whole, where the old value is the record.
pub trait Whole: Undoable {
    /// Makes the old value a record.
    fn record_of(old: Self) -> Self::Undo;
}

/// Implements [`Undoable`] and [`Whole`] by recording old values.
macro_rules! whole {
    ($([$($parameters:tt)*] $type:ty),+ $(,)?) => {$(
        impl<$($parameters)*> Undoable for $type {
            type Undo = Self;
            type View<'a, R: Recorder<Self>> = Tracked<'a, Self, R> where Self: 'a;

            #[inline(always)]
            fn view<R: Recorder<Self>>(&mut self, recorder: R) -> Tracked<'_, Self, R> {
                Tracked::new(self, recorder)
            }

            #[inline]
            fn undo(&mut self, undo: Self) {
                *self = undo;
            }
        }

        impl<$($parameters)*> Whole for $type {
            #[inline(always)]
            fn record_of(old: Self) -> Self {
                old
            }
        }
    )+};
}

whole!([] bool, [] char, [] f32, [] f64);
whole!([] u8, [] u16, [] u32, [] u64, [] u128, [] usize, [] i8, [] i16, [] i32, [] i64, [] i128, [] isize);
whole!([] std::num::NonZeroU32, [] std::num::NonZeroU64, [] String, [] &'static str, [T] std::sync::Arc<T>);
whole!([] crate::time::Time, [] crate::time::Delay, [] crate::time::Instant, [T] crate::shared::Shared<T>);
whole!([] crate::event::LpId, [] crate::event::TimerId, [] crate::event::Sender, [] crate::channel::Port);
whole!([A: Copy, B: Copy] (A, B), [A: Copy, B: Copy, C: Copy] (A, B, C));
