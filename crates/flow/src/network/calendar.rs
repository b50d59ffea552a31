//! When activities will end: a heap that knows where each stands, so that dates can change.

use parades_core::time::Time;

/// Not in the heap.
const ABSENT: u32 = u32::MAX;

/// A date, and what breaks ties: the activity's serial number.
type Key = (Time, u64);

/// Dates by slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Calendar {
    heap: Vec<(Key, u32)>,
    /// Where each slot stands in the heap.
    places: Vec<u32>,
}

impl Calendar {
    /// The earliest date, and whose it is.
    #[inline]
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        self.heap.first().map(|&((date, _), slot)| (date, slot))
    }

    /// Sets the date of a slot, or takes it away.
    pub(super) fn set(&mut self, slot: u32, serial: u64, date: Option<Time>) {
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, ABSENT);
        }
        match (self.places[slot as usize], date) {
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
                self.places[slot as usize] = ABSENT;
                self.heap.swap_remove(place as usize);
                if (place as usize) < self.heap.len() {
                    let place = self.rise(place as usize);
                    self.sink(place);
                }
            }
        }
    }

    fn put(&mut self, place: usize, entry: (Key, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = u32::try_from(place).expect("slots are counted in 32 bits");
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
        fn the_first_is_the_least_of_those_set(changes in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 1..200)) {
            let mut calendar = Calendar::default();
            let mut known = std::collections::BTreeMap::new();
            for (slot, date) in changes {
                let date = date.map(Time::from_ps);
                calendar.set(slot, u64::from(slot), date);
                match date {
                    Some(date) => known.insert(slot, date),
                    None => known.remove(&slot),
                };
                let first = known.iter().map(|(&slot, &date)| (date, slot)).min();
                prop_assert_eq!(calendar.first(), first);
            }
        }
    }
}
