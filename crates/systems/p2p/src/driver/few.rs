//! A list that keeps its first element in place.

/// A list of mostly one element, which then needs no allocation.
#[derive(Debug)]
pub(super) struct Few<T> {
    first: Option<T>,
    others: Vec<T>,
}

impl<T> Few<T> {
    pub(super) const fn new() -> Few<T> {
        Few { first: None, others: Vec::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds an element at the end.
    #[inline]
    pub(super) fn push(&mut self, element: T) {
        match &self.first {
            None => self.first = Some(element),
            Some(_) => self.others.push(element),
        }
    }

    /// Calls a function with each element, in their order.
    #[inline]
    pub(super) fn for_each(self, mut act: impl FnMut(T)) {
        if let Some(first) = self.first {
            act(first);
            self.others.into_iter().for_each(act);
        }
    }
}
