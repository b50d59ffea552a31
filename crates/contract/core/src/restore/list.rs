//! Lists: arrays, boxed slices, vectors.

use super::{Recorder, Step, Tracked, Undoable};
use std::fmt;

/// A change of one element.
///
/// `_room` lies in the padding after the index, and has one value only. The compiler uses the unused values
/// of its byte for the kinds of an enum of records. So the kind takes no room of its own.
#[derive(Clone, Copy, Debug)]
pub struct At<U> {
    pub(super) index: u32,
    _room: Room,
    pub(super) undo: U,
}

#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Room {
    Free,
}

/// The step to an element.
#[derive(Clone, Copy, Debug)]
pub struct Element(pub(super) usize);

impl Element {
    #[inline]
    fn index(self) -> u32 {
        index(self.0)
    }
}

#[inline]
fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a list whose changes are recorded has at most 2^32 elements")
}

impl<W> Step<At<W>, W> for Element {
    #[inline(always)]
    fn wrap(self, undo: W) -> At<W> {
        At { index: self.index(), _room: Room::Free, undo }
    }
}

/// The view of an element of type `T`, in a list with records `U`.
pub type ElementMut<'a, T, R, U> =
    <T as Undoable>::View<'a, <R as Recorder<U>>::Within<<T as Undoable>::Undo, Element>>;

/// Implements views of lists with a fixed number of elements: arrays and boxed slices.
macro_rules! fixed {
    ([$($parameters:tt)*] $type:ty) => {
        impl<$($parameters)*> Undoable for $type {
            type Undo = At<T::Undo>;
            type View<'a, R: Recorder<At<T::Undo>>> = Tracked<'a, Self, R> where Self: 'a;

            #[inline(always)]
            fn view<R: Recorder<At<T::Undo>>>(&mut self, recorder: R) -> Tracked<'_, Self, R> {
                Tracked::new(self, recorder)
            }

            #[inline]
            fn undo(&mut self, At { index, undo, .. }: At<T::Undo>) {
                self[index as usize].undo(undo);
            }
        }

        impl<'a, R: Recorder<At<T::Undo>>, $($parameters)*> Tracked<'a, $type, R> {
            /// Returns the view of the element at `index`.
            ///
            /// # Panics
            ///
            /// If there is no such element.
            #[inline(always)]
            pub fn at(&mut self, index: usize) -> ElementMut<'_, T, R, At<T::Undo>> {
                self.reborrow().into_at(index)
            }

            /// As `at`, for a view that is not used afterwards. The result can outlive the view.
            #[inline(always)]
            pub fn into_at(self, index: usize) -> ElementMut<'a, T, R, At<T::Undo>> {
                self.value[index].view(self.recorder.within(Element(index)))
            }

            /// Returns the view of the element at `index`, if there is such an element.
            #[inline(always)]
            pub fn try_at(&mut self, index: usize) -> Option<ElementMut<'_, T, R, At<T::Undo>>> {
                let recorder = self.recorder.within(Element(index));
                self.value.get_mut(index).map(|element| element.view(recorder))
            }
        }
    };
}

fixed!([T: Undoable] Box<[T]>);
fixed!([T: Undoable, const N: usize] [T; N]);

/// A change of a vector.
pub enum VecUndo<T: Undoable> {
    /// An element changed.
    At(At<T::Undo>),
    /// An element was added at the end.
    Pushed,
    /// This element was taken from the end.
    Popped(T),
    /// Two elements changed places.
    Swapped(u32, u32),
    /// An element was put at this index.
    Inserted(u32),
    /// This element was at this index.
    Removed(u32, T),
}

impl<T: Undoable> fmt::Debug for VecUndo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VecUndo")
    }
}

impl<T: Undoable> Step<VecUndo<T>, T::Undo> for Element {
    #[inline(always)]
    fn wrap(self, undo: T::Undo) -> VecUndo<T> {
        VecUndo::At(self.wrap(undo))
    }
}

impl<T: Undoable> Undoable for Vec<T> {
    type Undo = VecUndo<T>;
    type View<'a, R: Recorder<VecUndo<T>>>
        = Tracked<'a, Self, R>
    where
        Self: 'a;

    #[inline(always)]
    fn view<R: Recorder<VecUndo<T>>>(&mut self, recorder: R) -> Tracked<'_, Self, R> {
        Tracked::new(self, recorder)
    }

    #[inline]
    fn undo(&mut self, undo: VecUndo<T>) {
        match undo {
            VecUndo::At(At { index, undo, .. }) => self[index as usize].undo(undo),
            VecUndo::Pushed => drop(self.pop()),
            VecUndo::Popped(element) => self.push(element),
            VecUndo::Swapped(one, other) => self.swap(one as usize, other as usize),
            VecUndo::Inserted(index) => drop(self.remove(index as usize)),
            VecUndo::Removed(index, element) => self.insert(index as usize, element),
        }
    }
}

impl<'a, T: Undoable, R: Recorder<VecUndo<T>>> Tracked<'a, Vec<T>, R> {
    /// Returns the view of the element at `index`.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    #[inline(always)]
    pub fn at(&mut self, index: usize) -> ElementMut<'_, T, R, VecUndo<T>> {
        self.reborrow().into_at(index)
    }

    /// As `at`, for a view that is not used afterwards. The result can outlive the view.
    #[inline(always)]
    pub fn into_at(self, index: usize) -> ElementMut<'a, T, R, VecUndo<T>> {
        self.value[index].view(self.recorder.within(Element(index)))
    }

    /// Returns the view of the element at `index`, if there is such an element.
    #[inline(always)]
    pub fn try_at(&mut self, index: usize) -> Option<ElementMut<'_, T, R, VecUndo<T>>> {
        let recorder = self.recorder.within(Element(index));
        self.value.get_mut(index).map(|element| element.view(recorder))
    }

    /// Adds an element at the end.
    #[inline(always)]
    pub fn push(&mut self, element: T) {
        self.value.push(element);
        self.recorder.record(|| VecUndo::Pushed);
    }

    /// Adds elements at the end.
    pub fn extend(&mut self, elements: impl IntoIterator<Item = T>) {
        elements.into_iter().for_each(|element| self.push(element));
    }

    /// Takes the last element out, and returns it.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T>
    where
        T: Clone,
    {
        let last = self.value.last()?;
        self.recorder.record(|| VecUndo::Popped(last.clone()));
        self.value.pop()
    }

    /// Drops all elements but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        while self.value.len() > len
            && let Some(element) = self.value.pop()
        {
            self.recorder.record(|| VecUndo::Popped(element));
        }
    }

    /// Drops all elements.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Exchanges two elements.
    ///
    /// # Panics
    ///
    /// If an index is beyond the end.
    #[inline(always)]
    pub fn swap(&mut self, one: usize, other: usize) {
        self.value.swap(one, other);
        self.recorder.record(|| VecUndo::Swapped(index(one), index(other)));
    }

    /// Puts an element before the one at `place`.
    ///
    /// # Panics
    ///
    /// If `place` is beyond the end.
    pub fn insert(&mut self, place: usize, element: T) {
        self.value.insert(place, element);
        self.recorder.record(|| VecUndo::Inserted(index(place)));
    }

    /// Takes out the element at `place`, and returns it. The elements after it move up.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn remove(&mut self, place: usize) -> T
    where
        T: Clone,
    {
        let element = &self.value[place];
        self.recorder.record(|| VecUndo::Removed(index(place), element.clone()));
        self.value.remove(place)
    }

    /// Takes out the element at `place`, and returns it. The last element takes its place.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn swap_remove(&mut self, place: usize) -> T
    where
        T: Clone,
    {
        let last = self.value.len().saturating_sub(1);
        self.swap(place, last);
        self.pop().expect("the swap found two elements")
    }
}
