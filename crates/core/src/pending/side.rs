//! A few events in order, and a heap for what is more than a few.

use crate::event::{Event, LpId};
use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events up to which inserting into a sorted list is faster than a heap is.
const SORTED_MAX: usize = 24;

/// What was pushed into the open window: usually next to nothing.
#[derive(Debug)]
pub(super) struct Side<P> {
    /// The least event last. Empty only if `heap` is.
    sorted: Vec<Event<P>>,
    /// What came while `sorted` was full.
    heap: BinaryHeap<Reverse<Event<P>>>,
}

impl<P> Side<P> {
    pub(super) fn new() -> Side<P> {
        Side { sorted: Vec::new(), heap: BinaryHeap::new() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.heap.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, event: Event<P>) {
        if self.sorted.len() < SORTED_MAX {
            let later = self.sorted.iter().rposition(|waiting| *waiting > event);
            self.sorted.insert(later.map_or(0, |later| later + 1), event);
        } else {
            self.heap.push(Reverse(event));
        }
    }

    /// The least event.
    #[inline]
    pub(super) fn peek(&self) -> Option<&Event<P>> {
        let sorted = self.sorted.last()?;
        match self.heap.peek() {
            Some(Reverse(heap)) if heap < sorted => Some(heap),
            _ => Some(sorted),
        }
    }

    /// Takes the least event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event<P>> {
        let sorted = self.sorted.last()?;
        if self.heap.peek().is_some_and(|Reverse(heap)| heap < sorted) {
            return self.heap.pop().map(|Reverse(event)| event);
        }
        let event = self.sorted.pop();
        if self.sorted.is_empty() && !self.heap.is_empty() {
            self.fill_sorted();
        }
        event
    }

    /// Moves the least events of the heap to the sorted list, which is empty.
    #[cold]
    fn fill_sorted(&mut self) {
        self.sorted.extend((0..SORTED_MAX / 2).map_while(|_| self.heap.pop()).map(|Reverse(event)| event));
        self.sorted.reverse();
    }

    /// Takes the events later than `boundary`, in no order.
    pub(super) fn take_after(&mut self, boundary: Instant, mut accept: impl FnMut(Event<P>)) {
        let later = self.sorted.partition_point(|event| event.instant() > boundary);
        self.sorted.drain(..later).for_each(&mut accept);
        let heap = std::mem::take(&mut self.heap).into_vec();
        let (later, others): (Vec<_>, Vec<_>) = heap.into_iter().partition(|Reverse(event)| event.instant() > boundary);
        self.heap = BinaryHeap::from(others);
        later.into_iter().for_each(|Reverse(event)| accept(event));
        if self.sorted.is_empty() {
            self.fill_sorted();
        }
    }

    /// Takes all events, in no order, and gives back what memory a crowd of them took.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Event<P>> + use<P> {
        let heap = std::mem::take(&mut self.heap);
        std::mem::take(&mut self.sorted).into_iter().chain(heap.into_iter().map(|Reverse(event)| event))
    }

    /// The receiver of the event that is about `ahead` after the least.
    #[inline]
    pub(super) fn upcoming(&self, ahead: usize) -> Option<LpId> {
        let event = match self.sorted.len().checked_sub(ahead + 1) {
            Some(place) => Some(&self.sorted[place]),
            None => self.heap.as_slice().get(ahead - self.sorted.len()).map(|Reverse(event)| event),
        };
        event.map(|event| event.receiver)
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        (self.sorted.capacity() + self.heap.capacity()) * size_of::<Event<P>>()
    }
}
