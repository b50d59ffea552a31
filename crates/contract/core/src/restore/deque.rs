//! Queues with two ends.

use super::list::{At, Element, ElementMut};
use super::{Recorder, Step, Tracked, Undoable};
use std::collections::VecDeque;
use std::fmt;

/// A change of a [`VecDeque`].
pub enum DequeUndo<T: Undoable> {
    /// An element changed.
    At(At<T::Undo>),
    /// An element was added at the front.
    PushedFront,
    /// An element was added at the back.
    PushedBack,
    /// This element was taken from the front.
    PoppedFront(T),
    /// This element was taken from the back.
    PoppedBack(T),
}

impl<T: Undoable> fmt::Debug for DequeUndo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DequeUndo")
    }
}

impl<T: Undoable> Step<DequeUndo<T>, T::Undo> for Element {
    #[inline(always)]
    fn wrap(self, undo: T::Undo) -> DequeUndo<T> {
        DequeUndo::At(self.wrap(undo))
    }
}

impl<T: Undoable> Undoable for VecDeque<T> {
    type Undo = DequeUndo<T>;
    type View<'a, R: Recorder<DequeUndo<T>>>
        = Tracked<'a, Self, R>
    where
        Self: 'a;

    #[inline(always)]
    fn view<R: Recorder<DequeUndo<T>>>(&mut self, recorder: R) -> Tracked<'_, Self, R> {
        Tracked::new(self, recorder)
    }

    #[inline]
    fn undo(&mut self, undo: DequeUndo<T>) {
        match undo {
            DequeUndo::At(At { index, undo, .. }) => self[index as usize].undo(undo),
            DequeUndo::PushedFront => drop(self.pop_front()),
            DequeUndo::PushedBack => drop(self.pop_back()),
            DequeUndo::PoppedFront(element) => self.push_front(element),
            DequeUndo::PoppedBack(element) => self.push_back(element),
        }
    }
}

impl<'a, T: Undoable, R: Recorder<DequeUndo<T>>> Tracked<'a, VecDeque<T>, R> {
    /// Returns the view of the element at `index`, counted from the front.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    #[inline(always)]
    pub fn at(&mut self, index: usize) -> ElementMut<'_, T, R, DequeUndo<T>> {
        self.reborrow().into_at(index)
    }

    /// As `at`, for a view that is not used afterwards. The result can outlive the view.
    #[inline(always)]
    pub fn into_at(self, index: usize) -> ElementMut<'a, T, R, DequeUndo<T>> {
        self.value[index].view(self.recorder.within(Element(index)))
    }

    /// Returns the view of the element at `index`, counted from the front, if there is such an element.
    #[inline(always)]
    pub fn try_at(&mut self, index: usize) -> Option<ElementMut<'_, T, R, DequeUndo<T>>> {
        let recorder = self.recorder.within(Element(index));
        self.value.get_mut(index).map(|element| element.view(recorder))
    }

    /// Adds an element at the front.
    #[inline(always)]
    pub fn push_front(&mut self, element: T) {
        self.value.push_front(element);
        self.recorder.record(|| DequeUndo::PushedFront);
    }

    /// Adds an element at the back.
    #[inline(always)]
    pub fn push_back(&mut self, element: T) {
        self.value.push_back(element);
        self.recorder.record(|| DequeUndo::PushedBack);
    }

    /// Takes the first element out, and returns it.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T>
    where
        T: Clone,
    {
        let front = self.value.front()?;
        self.recorder.record(|| DequeUndo::PoppedFront(front.clone()));
        self.value.pop_front()
    }

    /// Takes the last element out, and returns it.
    #[inline(always)]
    pub fn pop_back(&mut self) -> Option<T>
    where
        T: Clone,
    {
        let back = self.value.back()?;
        self.recorder.record(|| DequeUndo::PoppedBack(back.clone()));
        self.value.pop_back()
    }

    /// Frees the memory of an empty queue. The queue stays equal, so there is nothing to record.
    pub fn free_if_empty(&mut self) {
        if self.value.is_empty() {
            *self.value = VecDeque::new();
        }
    }

    /// Drops all elements.
    pub fn clear(&mut self) {
        while let Some(element) = self.value.pop_back() {
            self.recorder.record(|| DequeUndo::PoppedBack(element));
        }
    }
}
