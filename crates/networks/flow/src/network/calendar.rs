//! When activities will end: a heap that knows where each stands, so that dates can change; and beside it a queue for dates that come in their order,
//! as those of flows do that all wait for the same latency.

use parades_core::time::Time;
use std::collections::VecDeque;

/// Not in the calendar.
const ABSENT: u32 = u32::MAX;
/// In the queue.
const QUEUED: u32 = u32::MAX - 1;

/// A date, and what breaks ties: the activity's serial number.
type Key = (Time, u64);

/// Dates by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar {
    heap: Vec<(Key, u32)>,
    /// In order. What its slot does not say is here any more has been taken away; the first has not.
    queue: VecDeque<(Key, u32)>,
    /// Where each slot stands in the heap; of those in the queue, by what key.
    places: Vec<(u32, Key)>,
}

/// Calendars are equal that have the same dates.
impl PartialEq for Calendar {
    fn eq(&self, other: &Calendar) -> bool {
        let dates = |calendar: &Calendar| {
            let queued = calendar.queue.iter().filter(|entry| calendar.is_queued(entry));
            let mut dates: Vec<_> = queued.chain(&calendar.heap).copied().collect();
            dates.sort_unstable();
            dates
        };
        dates(self) == dates(other)
    }
}

impl Calendar {
    /// The earliest date.
    #[inline]
    pub(super) fn first_date(&self) -> Option<Time> {
        match (self.heap.first(), self.queue.front()) {
            (Some(heap), Some(queue)) => Some(heap.0.0.min(queue.0.0)),
            (one, other) => Some(one.or(other)?.0.0),
        }
    }

    /// The earliest date, and whose it is.
    #[inline]
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        let first = match (self.heap.first(), self.queue.front()) {
            (Some(heap), Some(queue)) => heap.min(queue),
            (one, other) => one.or(other)?,
        };
        Some((first.0.0, first.1))
    }

    #[inline]
    fn is_queued(&self, &(key, slot): &(Key, u32)) -> bool {
        self.places[slot as usize] == (QUEUED, key)
    }

    /// Sets the date of a slot that has none. Dates that come in their order cost less so than by [`Calendar::set`].
    #[inline]
    pub(super) fn append(&mut self, slot: u32, serial: u64, date: Option<Time>) {
        let Some(date) = date else { return };
        let key = (date, serial);
        if self.queue.back().is_some_and(|last| last.0 > key) {
            return self.set(slot, serial, Some(date));
        }
        self.reserve(slot);
        debug_assert_eq!(self.places[slot as usize].0, ABSENT, "it has no date yet");
        self.places[slot as usize] = (QUEUED, key);
        self.queue.push_back((key, slot));
    }

    fn reserve(&mut self, slot: u32) {
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, (ABSENT, (Time::ZERO, 0)));
        }
    }

    /// Takes away the date of this slot, which is the first.
    #[inline]
    pub(super) fn take_first(&mut self, slot: u32) {
        let place = &mut self.places[slot as usize].0;
        if std::mem::replace(place, ABSENT) == QUEUED {
            self.drop_absent();
            return;
        }
        let last = self.heap.pop().expect("the first is here");
        if !self.heap.is_empty() {
            self.heap[0] = last;
            self.sink(0);
        }
    }

    /// Takes away the date of a slot, if it has one.
    #[inline]
    pub(super) fn clear(&mut self, slot: u32) {
        if self.places.get(slot as usize).is_some_and(|place| place.0 != ABSENT) {
            self.set(slot, 0, None);
        }
    }

    /// Brings one to the front of the queue that has not been taken away.
    #[inline]
    fn drop_absent(&mut self) {
        while self.queue.front().is_some_and(|front| !self.is_queued(front)) {
            self.queue.pop_front();
        }
    }

    /// Sets the date of a slot, or takes it away.
    pub(super) fn set(&mut self, slot: u32, serial: u64, date: Option<Time>) {
        self.reserve(slot);
        if self.places[slot as usize].0 == QUEUED {
            self.places[slot as usize].0 = ABSENT;
            self.drop_absent();
        }
        match (self.places[slot as usize].0, date) {
            (ABSENT, None) => {}
            (ABSENT, Some(date)) => {
                self.heap.push(((date, serial), slot));
                self.rise(self.heap.len() - 1);
            }
            (place, Some(date)) => {
                self.heap[place as usize].0 = (date, serial);
                let place = self.rise(place as usize);
                self.sink(place);
            }
            (place, None) => {
                self.places[slot as usize].0 = ABSENT;
                self.heap.swap_remove(place as usize);
                if (place as usize) < self.heap.len() {
                    let place = self.rise(place as usize);
                    self.sink(place);
                }
            }
        }
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (Key, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize].0 = u32::try_from(place).expect("slots are counted in 32 bits");
    }

    /// Moves an entry towards the top, to where it belongs.
    fn rise(&mut self, mut place: usize) -> usize {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    /// Moves an entry away from the top, to where it belongs.
    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let left = 2 * place + 1;
            let Some(first) = self.heap.get(left) else { break };
            let child = match self.heap.get(left + 1) {
                Some(second) if second.0 < first.0 => left + 1,
                _ => left,
            };
            if self.heap[child].0 >= entry.0 {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least_of_those_set(changes in prop::collection::vec((0u32..20, prop::option::of(0u64..50), any::<bool>(), any::<bool>()), 1..200)) {
            let mut calendar = Calendar::default();
            let mut known = std::collections::BTreeMap::new();
            for (slot, date, appended, take) in changes {
                let date = date.map(Time::from_ps);
                match appended && !known.contains_key(&slot) {
                    true => calendar.append(slot, u64::from(slot), date),
                    false => calendar.set(slot, u64::from(slot), date),
                }
                match date {
                    Some(date) => known.insert(slot, date),
                    None => known.remove(&slot),
                };
                let first = known.iter().map(|(&slot, &date)| (date, slot)).min();
                prop_assert_eq!(calendar.first(), first);
                if let Some((_, slot)) = first.filter(|_| take) {
                    calendar.take_first(slot);
                    known.remove(&slot);
                }
            }
        }
    }
}
