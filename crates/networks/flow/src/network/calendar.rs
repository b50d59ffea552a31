//! The next date of each activity.
//!
//! A heap holds the dates. It knows the position of each entry, so that dates can be changed and removed.
//! Beside the heap, a queue holds dates that are set in ascending order, which is cheaper. An example are the
//! dates of flows that all wait for the same latency.

use parades_core::time::Time;
use std::collections::VecDeque;

/// The position of a slot without a date.
const ABSENT: u32 = u32::MAX;
/// The position of a slot whose date is in the queue.
const QUEUED: u32 = u32::MAX - 1;

/// A date, and the activity's serial number, which breaks ties.
type Key = (Time, u64);

/// Dates by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar {
    heap: Vec<(Key, u32)>,
    /// In ascending order. An entry that does not agree with `positions` has been removed. The front has not.
    queue: VecDeque<(Key, u32)>,
    /// By slot: its index in the heap, or [`ABSENT`] or [`QUEUED`]; and, if it is queued, its key.
    positions: Vec<(u32, Key)>,
}

/// Calendars are equal if they hold the same dates.
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
    /// Returns the date of a slot.
    pub(super) fn date(&self, slot: u32) -> Option<Time> {
        match *self.positions.get(slot as usize)? {
            (ABSENT, _) => None,
            (QUEUED, (date, _)) => Some(date),
            (position, _) => Some(self.heap[position as usize].0.0),
        }
    }

    /// Returns the earliest date.
    #[inline]
    pub(super) fn first_date(&self) -> Option<Time> {
        match (self.heap.first(), self.queue.front()) {
            (Some(heap), Some(queue)) => Some(heap.0.0.min(queue.0.0)),
            (one, other) => Some(one.or(other)?.0.0),
        }
    }

    /// Returns the earliest date and its slot.
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
        self.positions[slot as usize] == (QUEUED, key)
    }

    /// Sets the date of a slot that has none. For dates in ascending order this is cheaper than
    /// [`Calendar::set`].
    #[inline]
    pub(super) fn append(&mut self, slot: u32, serial: u64, date: Option<Time>) {
        let Some(date) = date else { return };
        let key = (date, serial);
        if self.queue.back().is_some_and(|last| last.0 > key) {
            return self.set(slot, serial, Some(date));
        }
        self.make_room(slot);
        debug_assert_eq!(self.positions[slot as usize].0, ABSENT, "the slot has no date yet");
        self.positions[slot as usize] = (QUEUED, key);
        self.queue.push_back((key, slot));
    }

    /// Extends `positions` up to `slot`.
    fn make_room(&mut self, slot: u32) {
        if self.positions.len() <= slot as usize {
            self.positions.resize(slot as usize + 1, (ABSENT, (Time::ZERO, 0)));
        }
    }

    /// Removes the earliest date, which is that of `slot`.
    #[inline]
    pub(super) fn remove_first(&mut self, slot: u32) {
        let position = &mut self.positions[slot as usize].0;
        if std::mem::replace(position, ABSENT) == QUEUED {
            self.drop_removed();
            return;
        }
        let last = self.heap.pop().expect("the first is here");
        if !self.heap.is_empty() {
            self.heap[0] = last;
            self.sift_down(0);
        }
    }

    /// Removes the date of a slot, if it has one.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        if self.positions.get(slot as usize).is_some_and(|position| position.0 != ABSENT) {
            self.set(slot, 0, None);
        }
    }

    /// Drops removed entries from the front of the queue.
    #[inline]
    fn drop_removed(&mut self) {
        while self.queue.front().is_some_and(|front| !self.is_queued(front)) {
            self.queue.pop_front();
        }
    }

    /// Sets the date of a slot. `None` removes the date.
    pub(super) fn set(&mut self, slot: u32, serial: u64, date: Option<Time>) {
        self.make_room(slot);
        if self.positions[slot as usize].0 == QUEUED {
            self.positions[slot as usize].0 = ABSENT;
            self.drop_removed();
        }
        match (self.positions[slot as usize].0, date) {
            (ABSENT, None) => {}
            (ABSENT, Some(date)) => {
                self.heap.push(((date, serial), slot));
                self.sift_up(self.heap.len() - 1);
            }
            (position, Some(date)) => {
                self.heap[position as usize].0 = (date, serial);
                let position = self.sift_up(position as usize);
                self.sift_down(position);
            }
            (position, None) => {
                self.positions[slot as usize].0 = ABSENT;
                self.heap.swap_remove(position as usize);
                if (position as usize) < self.heap.len() {
                    let position = self.sift_up(position as usize);
                    self.sift_down(position);
                }
            }
        }
    }

    /// Writes an entry into the heap, and records its position.
    #[inline]
    fn put(&mut self, position: usize, entry: (Key, u32)) {
        self.heap[position] = entry;
        self.positions[entry.1 as usize].0 = u32::try_from(position).expect("slots are counted in 32 bits");
    }

    /// Moves an entry towards the top until its parent is earlier. Returns its position.
    fn sift_up(&mut self, mut position: usize) -> usize {
        let entry = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, entry);
        position
    }

    /// Moves an entry away from the top until both its children are later.
    fn sift_down(&mut self, mut position: usize) {
        let entry = self.heap[position];
        loop {
            let left = 2 * position + 1;
            let Some(first) = self.heap.get(left) else { break };
            let child = match self.heap.get(left + 1) {
                Some(second) if second.0 < first.0 => left + 1,
                _ => left,
            };
            if self.heap[child].0 >= entry.0 {
                break;
            }
            self.put(position, self.heap[child]);
            position = child;
        }
        self.put(position, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A slot, its new date, whether to append it if possible, and whether to remove the first date
    /// afterwards.
    type Step = (u32, Option<u64>, bool, bool);

    fn step() -> impl Strategy<Value = Step> {
        (0u32..20, prop::option::of(0u64..50), any::<bool>(), any::<bool>())
    }

    proptest! {
        #[test]
        fn the_first_date_is_the_earliest_of_those_set(steps in prop::collection::vec(step(), 1..200)) {
            let mut calendar = Calendar::default();
            let mut expected = std::collections::BTreeMap::new();
            for (slot, date, append, remove) in steps {
                let date = date.map(Time::from_ps);
                match append && !expected.contains_key(&slot) {
                    true => calendar.append(slot, u64::from(slot), date),
                    false => calendar.set(slot, u64::from(slot), date),
                }
                match date {
                    Some(date) => expected.insert(slot, date),
                    None => expected.remove(&slot),
                };
                let first = expected.iter().map(|(&slot, &date)| (date, slot)).min();
                prop_assert_eq!(calendar.first(), first);
                if let Some((_, slot)) = first.filter(|_| remove) {
                    calendar.remove_first(slot);
                    expected.remove(&slot);
                }
            }
        }
    }
}
