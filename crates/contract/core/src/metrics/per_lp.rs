//! One `T` for each LP that recorded something, found in constant time and read in the order of ids.

use crate::event::{LpId, Sender};
use serde::{Deserialize, Serialize};

/// What each LP recorded, and the global events, which come first.
///
/// It costs four bytes for each id between the least and the greatest that recorded, and a `T` for those that did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PerLp<T> {
    /// The rank of the sender that `slots[0]` belongs to.
    first: u32,
    /// By rank, from `first` on: one more than the index in `entries`, or 0 for a sender that recorded nothing.
    slots: Vec<u32>,
    /// In the order of first recording, which depends on the interleaving of LPs and is therefore never read.
    entries: Vec<(Sender, T)>,
}

impl<T> Default for PerLp<T> {
    fn default() -> PerLp<T> {
        PerLp { first: 0, slots: Vec::new(), entries: Vec::new() }
    }
}

impl<T: PartialEq> PartialEq for PerLp<T> {
    /// Whether every LP recorded the same, in whatever order the LPs first did.
    fn eq(&self, other: &PerLp<T>) -> bool {
        self.entries.len() == other.entries.len() && self.iter().eq(other.iter())
    }
}

impl<T: Default> PerLp<T> {
    /// What `from` recorded so far.
    #[inline]
    pub(super) fn entry(&mut self, from: Sender) -> &mut T {
        let offset = from.rank().wrapping_sub(self.first) as usize;
        match self.slots.get(offset) {
            Some(&slot) if slot > 0 => &mut self.entries[slot as usize - 1].1,
            _ => self.insert(from, T::default()),
        }
    }
}

impl<T> PerLp<T> {
    /// Gives `from` its first value.
    #[cold]
    fn insert(&mut self, from: Sender, value: T) -> &mut T {
        let rank = from.rank();
        if self.slots.is_empty() {
            self.first = rank;
        }
        if rank < self.first {
            // At least doubling keeps LPs that come in falling order linear.
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

    /// What each recorded, by id, the global events first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Sender, &T)> {
        self.slots.iter().filter(|&&slot| slot > 0).map(|&slot| {
            let (from, value) = &self.entries[slot as usize - 1];
            (*from, value)
        })
    }

    /// Takes over what the LPs of `other` recorded; panics if one of them recorded here too.
    pub(super) fn merge(&mut self, other: PerLp<T>) {
        for (from, value) in other.entries {
            self.insert(from, value);
        }
    }

    /// Removes what the LPs that move recorded, and returns it.
    pub(super) fn split_off(&mut self, moves: &dyn Fn(LpId) -> bool) -> PerLp<T> {
        let (mut kept, mut moved) = (PerLp::default(), PerLp::default());
        for (from, value) in std::mem::take(self).entries {
            let moves = from.as_lp().is_some_and(moves);
            if moves { &mut moved } else { &mut kept }.insert(from, value);
        }
        *self = kept;
        moved
    }
}
