//! Options and boxes.

use super::{Recorder, Step, Tracked, Undoable, Whole};
use std::fmt;

/// A change of an [`Option`].
pub enum OptionUndo<T: Undoable> {
    /// The value inside changed.
    Inside(T::Undo),
    /// This option was replaced.
    Was(Option<T>),
}

impl<T: Undoable> fmt::Debug for OptionUndo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OptionUndo")
    }
}

/// The step to the value inside an option.
#[derive(Clone, Copy, Debug)]
pub struct Inside;

impl<T: Undoable> Step<OptionUndo<T>, T::Undo> for Inside {
    #[inline(always)]
    fn wrap(self, undo: T::Undo) -> OptionUndo<T> {
        OptionUndo::Inside(undo)
    }
}

/// The view of the value inside an option.
pub type InsideMut<'a, T, R> =
    <T as Undoable>::View<'a, <R as Recorder<OptionUndo<T>>>::Within<<T as Undoable>::Undo, Inside>>;

impl<T: Undoable> Undoable for Option<T> {
    type Undo = OptionUndo<T>;
    type View<'a, R: Recorder<OptionUndo<T>>>
        = Tracked<'a, Self, R>
    where
        Self: 'a;

    #[inline(always)]
    fn view<R: Recorder<OptionUndo<T>>>(&mut self, recorder: R) -> Tracked<'_, Self, R> {
        Tracked::new(self, recorder)
    }

    #[inline]
    fn undo(&mut self, undo: OptionUndo<T>) {
        match undo {
            OptionUndo::Inside(undo) => self.as_mut().expect("a value that changed is there").undo(undo),
            OptionUndo::Was(old) => *self = old,
        }
    }
}

impl<T: Undoable> Whole for Option<T> {
    #[inline(always)]
    fn record_of(old: Self) -> OptionUndo<T> {
        OptionUndo::Was(old)
    }
}

impl<'a, T: Undoable, R: Recorder<OptionUndo<T>>> Tracked<'a, Option<T>, R> {
    /// Returns the view of the value inside, if there is one.
    #[inline(always)]
    pub fn as_mut(&mut self) -> Option<InsideMut<'_, T, R>> {
        self.reborrow().into_option()
    }

    /// As `as_mut`, for a view that is not used afterwards. The result can outlive the view.
    #[inline(always)]
    pub fn into_option(self) -> Option<InsideMut<'a, T, R>> {
        let recorder = self.recorder.within(Inside);
        self.value.as_mut().map(|inside| inside.view(recorder))
    }

    /// Returns the view of the value inside. An empty option is given `value()` first.
    #[inline(always)]
    pub fn get_or_insert_with(&mut self, value: impl FnOnce() -> T) -> InsideMut<'_, T, R> {
        if self.value.is_none() {
            self.set(Some(value()));
        }
        self.as_mut().expect("the value has just been put there")
    }

    /// Takes the value out, and returns it. Nothing is inside afterwards.
    #[inline(always)]
    pub fn take(&mut self) -> Option<T>
    where
        T: Clone,
    {
        let inside = self.value.as_ref()?;
        self.recorder.record(|| OptionUndo::Was(Some(inside.clone())));
        self.value.take()
    }
}

/// A box has the view and the records of its content. Where a box is replaced or taken out of a collection,
/// the record holds the box itself.
impl<T: Undoable> Undoable for Box<T> {
    type Undo = T::Undo;
    type View<'a, R: Recorder<T::Undo>>
        = T::View<'a, R>
    where
        Self: 'a;

    #[inline(always)]
    fn view<R: Recorder<T::Undo>>(&mut self, recorder: R) -> T::View<'_, R> {
        (**self).view(recorder)
    }

    #[inline]
    fn undo(&mut self, undo: T::Undo) {
        (**self).undo(undo);
    }
}
