//! A few events in order, and what is more than a few by instants.

use super::slab::Slot;
use crate::event::{Event, Header, LpId};
use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Events up to which inserting into a sorted list is faster than anything else is.
const SORTED_MAX: usize = 24;
/// Groups up to which more are begun, whether or not several events have one instant.
const GROUPS_MIN: usize = 8;

/// What was pushed into the open window: usually next to nothing, else mostly what was sent with a few different delays, so that many events have one
/// instant.
///
/// Invariant: every event of the groups and of the heap comes after all of the sorted list.
#[derive(Debug)]
pub(super) struct Side<P> {
    /// The least event last. Empty only if the others are.
    sorted: Vec<Event<P>>,
    /// What comes later, by instants in order, those of one instant unsorted.
    groups: VecDeque<Group<P>>,
    /// How many events are in groups.
    grouped: usize,
    /// What comes later, where instants hardly repeat.
    heap: BinaryHeap<Reverse<Event<P>>>,
    /// Room of groups that have been taken.
    spare: Vec<Vec<Slot<P>>>,
    /// Scratch: receivers and places in their group.
    order: Vec<u64>,
}

/// Events of one instant.
#[derive(Debug)]
struct Group<P> {
    instant: Instant,
    slots: Vec<Slot<P>>,
}

impl<P> Side<P> {
    pub(super) fn new() -> Side<P> {
        Side {
            sorted: Vec::new(),
            groups: VecDeque::new(),
            grouped: 0,
            heap: BinaryHeap::new(),
            spare: Vec::new(),
            order: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.grouped + self.heap.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, event: Event<P>) {
        match self.sorted.first() {
            Some(last) if *last <= event => self.push_last(event),
            _ => self.push_among(event),
        }
    }

    /// Adds what comes after all of the sorted list.
    #[inline]
    fn push_last(&mut self, event: Event<P>) {
        if self.sorted.len() < SORTED_MAX && self.grouped == 0 && self.heap.is_empty() {
            self.sorted.insert(0, event);
        } else {
            self.push_later(event);
        }
    }

    /// Adds what comes before the last of the sorted list, if there is one.
    fn push_among(&mut self, event: Event<P>) {
        let first = self.sorted.iter().rev().take(2 * SORTED_MAX);
        let before = first.take_while(|waiting| **waiting <= event).count();
        if before < 2 * SORTED_MAX || self.sorted.len() == before {
            return self.sorted.insert(self.sorted.len() - before, event);
        }
        // Far from where what comes next is: the list is too long.
        let first = self.sorted.split_off(self.sorted.len() - SORTED_MAX);
        std::mem::replace(&mut self.sorted, first).into_iter().for_each(|event| self.push_later(event));
        self.push_later(event);
    }

    /// Adds what comes after all of the sorted list to a group or the heap.
    fn push_later(&mut self, event: Event<P>) {
        let instant = event.instant();
        let place = match self.groups.back() {
            Some(last) if last.instant > instant => self.groups.binary_search_by_key(&instant, |group| group.instant),
            Some(last) if last.instant == instant => Ok(self.groups.len() - 1),
            _ => Err(self.groups.len()),
        };
        match place {
            Ok(place) => self.groups[place].slots.push(Slot::of(event)),
            Err(place) if self.groups.len() < GROUPS_MIN || self.grouped >= 2 * self.groups.len() => {
                let mut slots = self.spare.pop().unwrap_or_default();
                slots.push(Slot::of(event));
                self.groups.insert(place, Group { instant, slots });
            }
            Err(_) => return self.heap.push(Reverse(event)),
        }
        self.grouped += 1;
    }

    /// The least event.
    #[inline]
    pub(super) fn peek(&self) -> Option<&Event<P>> {
        self.sorted.last()
    }

    /// Takes the least event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event<P>> {
        let event = self.sorted.pop();
        if self.sorted.is_empty() && self.grouped + self.heap.len() > 0 {
            self.fill_sorted();
        }
        event
    }

    /// Moves the least events of the groups and the heap to the sorted list, which is empty.
    #[inline(never)]
    fn fill_sorted(&mut self) {
        while self.sorted.len() < SORTED_MAX / 2 {
            let Some(mut group) = self.groups.pop_front() else {
                let left = SORTED_MAX - self.sorted.len();
                self.sorted.extend((0..left).map_while(|_| self.heap.pop()).map(|Reverse(event)| event));
                break;
            };
            self.grouped -= group.slots.len();
            let is_due = |Reverse(event): &Reverse<Event<P>>| event.instant() <= group.instant;
            while self.heap.peek().is_some_and(is_due) {
                let Some(Reverse(event)) = self.heap.pop() else { break };
                if event.instant() < group.instant {
                    self.sorted.push(event);
                } else {
                    group.slots.push(Slot::of(event));
                }
            }
            self.put_in_order(group.slots);
        }
        self.sorted.reverse();
    }

    /// Adds the events of a group to the sorted list, the greatest last.
    fn put_in_order(&mut self, mut slots: Vec<Slot<P>>) {
        let receiver = |entry: u64| entry >> 32;
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
        let place = |entry: u64| entry as u32 as usize;
        let header = |entry: u64| -> &Header { slots[place(entry)].header() };
        self.order.clear();
        self.order.extend((0..).zip(&slots).map(|(at, slot)| u64::from(slot.header().receiver().0) << 32 | at));
        self.order.sort_unstable();
        for of_one in self.order.chunk_by_mut(|a, b| receiver(*a) == receiver(*b)).filter(|of_one| of_one.len() > 1) {
            of_one.sort_unstable_by(|a, b| header(*a).cmp(header(*b)));
        }
        self.sorted.extend(self.order.iter().filter_map(|&entry| slots[place(entry)].take()));
        slots.clear();
        self.spare.push(slots);
    }

    /// Takes the events later than `boundary`, in no order.
    pub(super) fn take_after(&mut self, boundary: Instant, mut accept: impl FnMut(Event<P>)) {
        let later = self.sorted.partition_point(|event| event.instant() > boundary);
        self.sorted.drain(..later).for_each(&mut accept);
        while let Some(mut group) = self.groups.pop_back_if(|group| group.instant > boundary) {
            self.grouped -= group.slots.len();
            group.slots.drain(..).filter_map(|mut slot| slot.take()).for_each(&mut accept);
            self.spare.push(group.slots);
        }
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
        let Side { sorted, groups, heap, .. } = std::mem::replace(self, Side::new());
        let groups = groups.into_iter().flat_map(|group| group.slots).filter_map(|mut slot| slot.take());
        sorted.into_iter().chain(groups).chain(heap.into_iter().map(|Reverse(event)| event))
    }

    /// How many events have the instant, but for those in the heap, the least event having it or a later one.
    pub(super) fn count_now(&self, instant: Instant) -> usize {
        if self.peek().is_none_or(|least| least.instant() > instant) {
            return 0;
        }
        let sorted = self.sorted.len() - self.sorted.partition_point(|event| event.instant() > instant);
        let group = self.groups.front().filter(|group| group.instant == instant);
        sorted + group.map_or(0, |group| group.slots.len())
    }

    /// The receiver of the event that is about `ahead` after the least.
    #[inline]
    pub(super) fn upcoming(&self, ahead: usize) -> Option<LpId> {
        let event = match self.sorted.len().checked_sub(ahead + 1) {
            Some(place) => return self.sorted.get(place).map(|event| event.receiver),
            None => self.groups.front().and_then(|group| group.slots.get(ahead - self.sorted.len())),
        };
        event.map(|slot| slot.header().receiver())
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        let groups = self.groups.iter().map(|group| &group.slots).chain(&self.spare);
        let events = self.sorted.capacity() + self.heap.capacity() + groups.map(Vec::capacity).sum::<usize>();
        events * size_of::<Event<P>>() + self.groups.capacity() * size_of::<Group<P>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Body, EventKey, Sender};
    use crate::time::Time;
    use parades_core::random::Rng;

    /// What is popped is what a heap would pop, whatever is pushed: few instants with many events each, or many with few.
    #[test]
    fn the_least_event_comes_first() {
        for (seed, instants) in (0..40).zip([3, 20, 100, 1 << 30].into_iter().cycle()) {
            let mut rng = Rng::stream(seed, 0);
            let (mut side, mut heap) = (Side::new(), BinaryHeap::new());
            for sequence in 0..4000 {
                // Waves: pushes prevail, then pops.
                if rng.chance(if sequence / 500 % 2 == 0 { 0.8 } else { 0.3 }) {
                    let instant = Instant { time: Time::from_ps(sequence / 40 + rng.below(instants)), round: 0 };
                    let key = EventKey { instant, tie: 0, sender: Sender::GLOBAL, sequence };
                    let receiver = LpId(u32::try_from(rng.below(30)).expect("below 30"));
                    side.push(Event::new(key, receiver, Body::Message(sequence)));
                    heap.push(Reverse(Event::new(key, receiver, Body::Message(sequence))));
                } else {
                    assert_eq!(side.peek(), heap.peek().map(|Reverse(event)| event));
                    if let Some(least) = side.peek().map(Event::instant) {
                        let crowd = heap.iter().filter(|Reverse(event)| event.instant() == least).count();
                        assert!((1..=crowd).contains(&side.count_now(least)));
                        assert!(side.count_now(least) == crowd || !side.heap.is_empty());
                    }
                    assert_eq!(side.pop(), heap.pop().map(|Reverse(event)| event));
                }
                assert_eq!(side.len(), heap.len());
                if sequence == 3200 {
                    let boundary = Instant { time: Time::from_ps(sequence / 40 + instants / 2), round: 0 };
                    let mut later = Vec::new();
                    side.take_after(boundary, |event| later.push(event));
                    assert!(later.iter().all(|event| event.instant() > boundary));
                    heap.retain(|Reverse(event)| event.instant() <= boundary);
                    assert_eq!(side.len(), heap.len());
                }
            }
        }
    }
}
