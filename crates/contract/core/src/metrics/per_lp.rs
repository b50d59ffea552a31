//! One `T` for each LP that recorded, found in constant time and read in id order.

use crate::event::{LpId, Sender};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::fmt;

/// The recordings of each LP, and of the global events, which come first.
///
/// It takes four bytes for each id between the smallest and the largest that recorded, and a `T` for each LP
/// that recorded.
#[derive(Clone)]
pub(super) struct PerLp<T> {
    /// The rank of the sender of `slots[0]`.
    first: u32,
    /// By rank, from `first` on: the index in `entries` plus one, or 0 for a sender that has not recorded.
    /// Empty if the recordings were read from bytes, until the next one is added: the ranks are checked first,
    /// since this table may be large.
    slots: Vec<u32>,
    /// In the order of first recording. That order depends on the interleaving of LPs, so it is never
    /// visible. Recordings that were read are in the order of senders.
    entries: Vec<(Sender, T)>,
}

/// The recordings in the order of ids.
impl<T: Serialize> Serialize for PerLp<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.entries.len()))?;
        self.iter().try_for_each(|entry| list.serialize_element(&entry))?;
        list.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerLp<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PerLp<T>, D::Error> {
        let entries = Vec::<(Sender, T)>::deserialize(deserializer)?;
        if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
            return Err(D::Error::custom("recordings are not in the order of LPs"));
        }
        Ok(PerLp { entries, ..PerLp::default() })
    }
}

impl<T> Default for PerLp<T> {
    fn default() -> PerLp<T> {
        PerLp { first: 0, slots: Vec::new(), entries: Vec::new() }
    }
}

/// The recordings in the order of ids, so that equal recordings are shown alike.
impl<T: fmt::Debug> fmt::Debug for PerLp<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for PerLp<T> {
    /// True if the recordings of every LP are equal. The order of first recordings does not count.
    fn eq(&self, other: &PerLp<T>) -> bool {
        self.entries.len() == other.entries.len() && self.iter().eq(other.iter())
    }
}

impl<T: Default> PerLp<T> {
    /// Returns the recordings of `from`.
    #[inline]
    pub(super) fn entry(&mut self, from: Sender) -> &mut T {
        let offset = from.rank().wrapping_sub(self.first) as usize;
        match self.slots.get(offset) {
            Some(&slot) if slot > 0 => &mut self.entries[slot as usize - 1].1,
            _ => self.first_entry(from),
        }
    }

    #[cold]
    fn first_entry(&mut self, from: Sender) -> &mut T {
        self.make_slots();
        let offset = from.rank().wrapping_sub(self.first) as usize;
        match self.slots.get(offset) {
            Some(&slot) if slot > 0 => &mut self.entries[slot as usize - 1].1,
            _ => self.add(from, T::default()),
        }
    }
}

impl<T> PerLp<T> {
    /// Makes the table of recordings that were read.
    fn make_slots(&mut self) {
        if self.slots.is_empty() {
            for (from, value) in std::mem::take(&mut self.entries) {
                self.add(from, value);
            }
        }
    }

    /// Adds the first value of `from`.
    #[cold]
    fn add(&mut self, from: Sender, value: T) -> &mut T {
        let rank = from.rank();
        if self.slots.is_empty() {
            self.first = rank;
        }
        if rank < self.first {
            // The table at least doubles. This keeps the cost linear when LPs first record in descending
            // order.
            let missing = (self.first - rank) as usize;
            let grow = missing.max(self.slots.len()).min(self.first as usize);
            self.slots.splice(0..0, std::iter::repeat_n(0, grow));
            self.first -= u32::try_from(grow).expect("it is at most `first`");
        }
        let offset = (rank - self.first) as usize;
        if offset >= self.slots.len() {
            self.slots.resize(offset + 1, 0);
        }
        assert!(self.slots[offset] == 0, "{from} recorded in two places at once, so its own order is lost");
        self.entries.push((from, value));
        self.slots[offset] = u32::try_from(self.entries.len()).expect("ids have 32 bits");
        let (_, value) = self.entries.last_mut().expect("it was just pushed");
        value
    }

    /// Returns the recordings by id, the global events first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Sender, &T)> {
        let as_read = if self.slots.is_empty() { &self.entries[..] } else { &[] };
        let by_slot = self.slots.iter().filter(|&&slot| slot > 0).map(|&slot| &self.entries[slot as usize - 1]);
        as_read.iter().chain(by_slot).map(|(from, value)| (*from, value))
    }

    /// Adds the recordings of the LPs of `other`. Panics if one of them recorded here too.
    pub(super) fn merge(&mut self, other: PerLp<T>) {
        self.make_slots();
        for (from, value) in other.entries {
            self.add(from, value);
        }
    }

    /// Removes and returns the recordings of the LPs that `moves` selects.
    pub(super) fn split_off(&mut self, moves: &dyn Fn(LpId) -> bool) -> PerLp<T> {
        let (mut kept, mut moved) = (PerLp::default(), PerLp::default());
        for (from, value) in std::mem::take(self).entries {
            let moves = from.as_lp().is_some_and(moves);
            if moves { &mut moved } else { &mut kept }.add(from, value);
        }
        *self = kept;
        moved
    }
}
