//! The queue of messages that have reached a node.

use std::collections::VecDeque;

/// A queue that keeps its first element in place, since most inboxes hold one message at a time.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    /// The first element. `None` only if the queue is empty.
    first: Option<T>,
    others: VecDeque<T>,
}

impl<T> Inbox<T> {
    pub(crate) const fn new() -> Inbox<T> {
        Inbox { first: None, others: VecDeque::new() }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds an element at the end.
    #[inline]
    pub(crate) fn push(&mut self, element: T) {
        if self.first.is_none() {
            self.first = Some(element);
        } else {
            self.others.push_back(element);
        }
    }

    /// Removes the first element.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let first = self.first.take();
        if !self.others.is_empty() {
            self.first = self.others.pop_front();
        }
        first
    }

    /// Removes the first element that the test picks.
    pub(crate) fn pop_where(&mut self, picks: impl Fn(&T) -> bool) -> Option<T> {
        if self.first.as_ref().is_some_and(&picks) {
            return self.pop();
        }
        let index = self.others.iter().position(picks)?;
        self.others.remove(index)
    }

    pub(crate) fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Inbox;

    #[test]
    fn what_comes_first_is_taken_first_unless_another_is_picked() {
        let mut inbox = Inbox::new();
        (0..6).for_each(|element| inbox.push(element));
        assert_eq!(inbox.len(), 6);
        assert_eq!(inbox.pop_where(|&element| element == 3), Some(3));
        assert_eq!(inbox.pop_where(|&element| element == 0), Some(0));
        assert_eq!(inbox.pop_where(|&element| element == 9), None);
        assert_eq!([inbox.pop(), inbox.pop()], [Some(1), Some(2)]);
        inbox.push(6);
        assert_eq!([inbox.pop(), inbox.pop(), inbox.pop(), inbox.pop()], [Some(4), Some(5), Some(6), None]);
        assert!(inbox.is_empty());
        (0..3).for_each(|element| inbox.push(element));
        inbox.clear();
        assert_eq!((inbox.len(), inbox.pop()), (0, None));
    }
}
