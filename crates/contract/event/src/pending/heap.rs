//! The reference: one binary heap.

use super::{Leftover, PendingSet};
use crate::event::{Event, LpId};
use crate::time::{Instant, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A pending event set that is one binary heap. [`super::WindowedPending`] is tested and measured against it.
#[derive(Debug)]
pub struct HeapPending<P> {
    heap: BinaryHeap<Reverse<Event<P>>>,
}

impl<P> Default for HeapPending<P> {
    fn default() -> HeapPending<P> {
        HeapPending { heap: BinaryHeap::new() }
    }
}

impl<P> PendingSet<P> for HeapPending<P> {
    #[inline]
    fn push(&mut self, event: Event<P>) {
        self.heap.push(Reverse(event));
    }

    #[inline]
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>> {
        let Reverse(least) = self.heap.peek()?;
        if least.time() < bound { self.pop() } else { None }
    }

    #[inline]
    fn pop(&mut self) -> Option<Event<P>> {
        self.heap.pop().map(|Reverse(event)| event)
    }

    #[inline]
    fn next_instant(&mut self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(event)| event.instant())
    }

    #[inline]
    fn len(&self) -> usize {
        self.heap.len()
    }

    #[inline]
    fn upcoming(&self, ahead: usize) -> Option<LpId> {
        self.heap.as_slice().get(ahead).map(|Reverse(event)| event.receiver())
    }

    fn take_all<'l>(&mut self) -> Leftover<'l, P>
    where
        P: 'l,
    {
        Box::new(std::mem::take(&mut self.heap).into_iter().map(|Reverse(event)| event))
    }

    fn allocated_bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Event<P>>()
    }
}
