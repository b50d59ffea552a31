//! The side list: events pushed into the open window.

use super::slot::Slot;
use crate::event::{Event, Header, LpId};
use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The largest length of a sorted list for which insertion is fastest.
const SORTED_MAX: usize = 24;
/// Below this number of groups, a new group may be opened even if the groups have few events.
const GROUPS_MIN: usize = 8;

/// Events pushed into the open window. They are few, or they were sent with a few different delays, and so
/// share their instants.
///
/// Invariant: every event of the groups and of the heap is after all events of the sorted list.
#[derive(Debug)]
pub(super) struct SideList<P> {
    /// The earliest events, the earliest one last. Empty only if the side list is empty. An event that is
    /// popped is taken from its slot here, which is removed by the next change of the list.
    sorted: Vec<Slot<P>>,
    /// The number of slots at the end of `sorted` whose events were popped: 0 or 1.
    popped: usize,
    /// Later events, grouped by instant. The groups are sorted, their events are not.
    groups: VecDeque<Group<P>>,
    /// The number of events in groups.
    grouped: usize,
    /// Later events whose instants hardly repeat.
    heap: BinaryHeap<Reverse<Event<P>>>,
    /// Memory of groups that have been taken.
    spare: Vec<Vec<Slot<P>>>,
    /// Scratch: receivers and positions in their group.
    order: Vec<u64>,
}

/// The events of one instant.
#[derive(Debug)]
struct Group<P> {
    instant: Instant,
    slots: Vec<Slot<P>>,
}

impl<P> SideList<P> {
    pub(super) fn new() -> SideList<P> {
        SideList {
            sorted: Vec::new(),
            popped: 0,
            groups: VecDeque::new(),
            grouped: 0,
            heap: BinaryHeap::new(),
            spare: Vec::new(),
            order: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.sorted.len() - self.popped + self.grouped + self.heap.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.sorted.len() == self.popped
    }

    /// Returns the slot in `sorted` of the event that comes after `ahead` other pending events.
    #[inline]
    fn pending_after(&self, ahead: usize) -> Option<&Slot<P>> {
        self.sorted.get(self.sorted.len().checked_sub(self.popped + ahead + 1)?)
    }

    /// Removes the slot whose event was popped.
    #[inline]
    fn remove_popped(&mut self) {
        self.sorted.truncate(self.sorted.len() - std::mem::take(&mut self.popped));
    }

    #[inline]
    pub(super) fn push(&mut self, event: Event<P>) {
        self.remove_popped();
        match self.sorted.first() {
            Some(last) if *last.header() <= *event.header_ref() => self.push_after_sorted(event),
            _ => self.push_into_sorted(event),
        }
    }

    /// Adds an event that is after the whole sorted list.
    #[inline]
    fn push_after_sorted(&mut self, event: Event<P>) {
        if self.sorted.len() < SORTED_MAX && self.grouped == 0 && self.heap.is_empty() {
            self.sorted.insert(0, Slot::of(event));
        } else {
            self.push_later(event);
        }
    }

    /// Adds an event before the end of the sorted list, or the first event of an empty list.
    fn push_into_sorted(&mut self, event: Event<P>) {
        let first = self.sorted.iter().rev().take(2 * SORTED_MAX);
        let before = first.take_while(|waiting| *waiting.header() <= *event.header_ref()).count();
        if before < 2 * SORTED_MAX || self.sorted.len() == before {
            return self.sorted.insert(self.sorted.len() - before, Slot::of(event));
        }
        // The position is far from the next event, so the list is too long.
        let first = self.sorted.split_off(self.sorted.len() - SORTED_MAX);
        let later = std::mem::replace(&mut self.sorted, first);
        later.into_iter().filter_map(|mut slot| slot.take()).for_each(|event| self.push_later(event));
        self.push_later(event);
    }

    /// Adds an event that is after the whole sorted list to a group or to the heap.
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

    /// Returns the header of the earliest event.
    #[inline]
    pub(super) fn peek(&self) -> Option<&Header> {
        self.pending_after(0).map(Slot::header)
    }

    /// Pops the earliest event, but leaves it in its slot, for the caller to take it. A copy of the event,
    /// read at once, would stall the processor.
    #[inline]
    pub(super) fn pop_slot(&mut self) -> Option<&mut Slot<P>> {
        self.remove_popped();
        if self.sorted.len() == 1 && self.grouped + self.heap.len() > 0 {
            let earliest = self.sorted.pop();
            self.fill_sorted();
            self.sorted.extend(earliest);
        }
        self.popped = self.sorted.len().min(1);
        self.sorted.last_mut()
    }

    /// Moves the earliest events of the groups and the heap into the sorted list, which must be empty.
    #[inline(never)]
    fn fill_sorted(&mut self) {
        while self.sorted.len() < SORTED_MAX / 2 {
            let Some(mut group) = self.groups.pop_front() else {
                let left = SORTED_MAX - self.sorted.len();
                self.sorted.extend((0..left).map_while(|_| self.heap.pop()).map(|Reverse(event)| Slot::of(event)));
                break;
            };
            self.grouped -= group.slots.len();
            let is_due = |Reverse(event): &Reverse<Event<P>>| event.instant() <= group.instant;
            while self.heap.peek().is_some_and(is_due) {
                let Some(Reverse(event)) = self.heap.pop() else { break };
                let list = if event.instant() < group.instant { &mut self.sorted } else { &mut group.slots };
                list.push(Slot::of(event));
            }
            self.sort_group(group.slots);
        }
        self.sorted.reverse();
    }

    /// Appends the events of a group to the sorted list, the latest event last.
    fn sort_group(&mut self, mut slots: Vec<Slot<P>>) {
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
        self.sorted.extend(self.order.iter().filter_map(|&entry| slots[place(entry)].take()).map(Slot::of));
        slots.clear();
        self.spare.push(slots);
    }

    /// Removes the events after `boundary`, in no order, and passes them to `accept`.
    pub(super) fn take_after(&mut self, boundary: Instant, mut accept: impl FnMut(Event<P>)) {
        self.remove_popped();
        let later = self.sorted.partition_point(|slot| slot.header().instant() > boundary);
        self.sorted.drain(..later).filter_map(|mut slot| slot.take()).for_each(&mut accept);
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

    /// Removes all events, in no order, and frees the memory.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Event<P>> + use<P> {
        self.remove_popped();
        let SideList { sorted, groups, heap, .. } = std::mem::replace(self, SideList::new());
        let slots = sorted.into_iter().chain(groups.into_iter().flat_map(|group| group.slots));
        slots.filter_map(|mut slot| slot.take()).chain(heap.into_iter().map(|Reverse(event)| event))
    }

    /// Returns the number of events of an instant, except those in the heap. No event of the list may be
    /// earlier than `instant`.
    pub(super) fn count_now(&self, instant: Instant) -> usize {
        if self.peek().is_none_or(|least| least.instant() > instant) {
            return 0;
        }
        let pending = &self.sorted[..self.sorted.len() - self.popped];
        let sorted = pending.len() - pending.partition_point(|slot| slot.header().instant() > instant);
        let group = self.groups.front().filter(|group| group.instant == instant);
        sorted + group.map_or(0, |group| group.slots.len())
    }

    /// Returns the receiver of the event that comes after about `ahead` other events.
    #[inline]
    pub(super) fn upcoming(&self, ahead: usize) -> Option<LpId> {
        let in_group = || self.groups.front()?.slots.get(ahead + self.popped - self.sorted.len());
        self.pending_after(ahead).or_else(in_group).map(|slot| slot.header().receiver())
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

    /// The list pops the same events as a heap, whatever is pushed: few instants with many events each, or
    /// many instants with few events.
    #[test]
    fn the_least_event_comes_first() {
        for (seed, instants) in (0..40).zip([3, 20, 100, 1 << 30].into_iter().cycle()) {
            let rng = Rng::stream(seed, 0);
            let (mut side, mut heap) = (SideList::new(), BinaryHeap::new());
            for sequence in 0..4000 {
                // First pushes prevail, then pops, in waves.
                if rng.chance(if sequence / 500 % 2 == 0 { 0.8 } else { 0.3 }) {
                    let instant = Instant { time: Time::from_ps(sequence / 40 + rng.below(instants)), round: 0 };
                    let key = EventKey { instant, tie: 0, sender: Sender::GLOBAL, sequence };
                    let receiver = LpId(u32::try_from(rng.below(30)).expect("below 30"));
                    side.push(Event::new(key, receiver, Body::Message(sequence)));
                    heap.push(Reverse(Event::new(key, receiver, Body::Message(sequence))));
                } else {
                    assert_eq!(side.peek(), heap.peek().map(|Reverse(event)| event.header_ref()));
                    if let Some(least) = side.peek().map(Header::instant) {
                        let crowd = heap.iter().filter(|Reverse(event)| event.instant() == least).count();
                        assert!((1..=crowd).contains(&side.count_now(least)));
                        assert!(side.count_now(least) == crowd || !side.heap.is_empty());
                    }
                    assert_eq!(side.pop_slot().and_then(Slot::take), heap.pop().map(|Reverse(event)| event));
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
