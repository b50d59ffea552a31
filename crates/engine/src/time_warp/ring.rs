//! A log that grows at one end and is released at the other: what speculative executions leave, in the order of execution.

/// Entries at least.
const LEAST: usize = 64;

/// A circular log. An entry keeps its position, which is counted modulo 2^32, until it is released.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// As many as a power of two, or none.
    slots: Vec<Option<T>>,
    first: u32,
    end: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { slots: Vec::new(), first: 0, end: 0 }
    }
}

impl<T> Ring<T> {
    /// The position of the first entry.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The position of the next entry to come.
    #[inline]
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.end.wrapping_sub(self.first)
    }

    #[inline]
    fn slot(&self, position: u32) -> usize {
        position as usize & (self.slots.len() - 1)
    }

    /// Adds an entry.
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        if self.len() as usize == self.slots.len() {
            self.resize((self.slots.len() * 2).max(LEAST));
        }
        let slot = self.slot(self.end);
        self.slots[slot] = Some(entry);
        self.end = self.end.wrapping_add(1);
    }

    /// Whether the position is between the ends.
    #[inline]
    fn holds(&self, position: u32) -> bool {
        position.wrapping_sub(self.first) < self.len()
    }

    /// The entry at a position, unless it has been taken or released.
    #[inline]
    pub(super) fn get(&self, position: u32) -> Option<&T> {
        if self.holds(position) { self.slots[self.slot(position)].as_ref() } else { None }
    }

    /// The entry at a position, unless it has been taken or released.
    #[inline]
    pub(super) fn get_mut(&mut self, position: u32) -> Option<&mut T> {
        let slot = self.holds(position).then(|| self.slot(position))?;
        self.slots[slot].as_mut()
    }

    /// Takes the entry at a position out; the position stays.
    #[inline]
    pub(super) fn take(&mut self, position: u32) -> Option<T> {
        if !self.holds(position) {
            return None;
        }
        let slot = self.slot(position);
        self.slots[slot].take()
    }

    /// Forgets what lies before `position`. Entries are dropped only when they are written over.
    #[inline]
    pub(super) fn release_before(&mut self, position: u32) {
        debug_assert!(position.wrapping_sub(self.first) <= self.len());
        self.first = position;
    }

    /// The positions from one to another.
    pub(super) fn positions(from: u32, to: u32) -> impl DoubleEndedIterator<Item = u32> {
        (0..to.wrapping_sub(from)).map(move |offset| from.wrapping_add(offset))
    }

    /// Gives back memory that it does not need now.
    pub(super) fn shrink(&mut self) {
        let needed = (self.len() as usize).next_power_of_two().max(LEAST);
        if needed < self.slots.len() {
            self.resize(needed);
        }
    }

    #[cold]
    #[inline(never)]
    fn resize(&mut self, len: usize) {
        let mut slots = Vec::with_capacity(len);
        slots.resize_with(len, || None);
        for position in Self::positions(self.first, self.end) {
            let from = self.slot(position);
            slots[position as usize & (len - 1)] = self.slots[from].take();
        }
        self.slots = slots;
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Option<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_positions_while_the_log_grows_wraps_and_shrinks() {
        let mut ring = Ring { first: u32::MAX - 100, end: u32::MAX - 100, ..Ring::default() };
        for number in 0..1000_u32 {
            let position = ring.end();
            ring.push(number);
            assert_eq!(ring.get(position), Some(&number));
        }
        let from = ring.first();
        assert_eq!(ring.take(from.wrapping_add(500)), Some(500));
        ring.release_before(from.wrapping_add(400));
        ring.shrink();
        ring.push(1000);
        let found: Vec<_> = Ring::<u32>::positions(from, ring.end()).map(|at| ring.get(at).copied()).collect();
        let expected = |number: u32| (number >= 400 && number != 500).then_some(number);
        assert_eq!(found, (0..=1000).map(expected).collect::<Vec<_>>());
    }
}
