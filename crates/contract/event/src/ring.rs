//! A circular log: it grows at one end and is released at the other.
//!
//! Optimistic engines use it to log the effects of speculative executions, in the order of execution.

/// The smallest allocation, in slots.
const SLOTS_MIN: usize = 4;

/// A circular log. An entry keeps its position until it is released. Positions are counted modulo 2^32.
///
/// ```
/// use parades_core::ring::Ring;
/// let mut ring = Ring::default();
/// let first = ring.end();
/// ring.push('a');
/// ring.push('b');
/// ring.release_before(first + 1);
/// assert_eq!((ring.get(first), ring.get(first + 1)), (None, Some(&'b')));
/// ```
#[derive(Debug)]
pub struct Ring<T> {
    /// The number of slots is zero or a power of two.
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
    /// True if the log has no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Returns the position of the first entry.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Returns the position after the last entry: the position of the next entry to be pushed.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Returns the number of positions, including those whose entries were taken.
    #[inline]
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.first)
    }

    #[inline]
    fn slot(&self, position: u32) -> usize {
        position as usize & (self.slots.len() - 1)
    }

    /// Appends an entry, and returns it by reference.
    #[inline]
    pub fn push(&mut self, entry: T) -> &mut T {
        if self.len() as usize == self.slots.len() {
            self.resize((self.slots.len() * 2).max(SLOTS_MIN));
        }
        let slot = self.slot(self.end);
        self.end = self.end.wrapping_add(1);
        self.slots[slot].insert(entry)
    }

    /// True if the position is between the ends.
    #[inline]
    fn holds(&self, position: u32) -> bool {
        position.wrapping_sub(self.first) < self.len()
    }

    /// Returns the entry at a position, or `None` if it was taken or released.
    #[inline]
    pub fn get(&self, position: u32) -> Option<&T> {
        if self.holds(position) { self.slots[self.slot(position)].as_ref() } else { None }
    }

    /// Returns the last entry, or `None` if it was taken or the log is empty.
    #[inline(always)]
    pub fn last(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.slots[self.slot(self.end.wrapping_sub(1))].as_ref() }
    }

    /// Returns the last entry by mutable reference, or `None` if it was taken or there is none.
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(self.end.wrapping_sub(1));
        self.slots[slot].as_mut()
    }

    /// Returns the entry at a position by mutable reference, or `None` if it was taken or released.
    #[inline]
    pub fn get_mut(&mut self, position: u32) -> Option<&mut T> {
        let slot = self.holds(position).then(|| self.slot(position))?;
        self.slots[slot].as_mut()
    }

    /// Removes the entry at a position and returns it. The position remains.
    #[inline]
    pub fn take(&mut self, position: u32) -> Option<T> {
        if !self.holds(position) {
            return None;
        }
        let slot = self.slot(position);
        self.slots[slot].take()
    }

    /// Stores an entry at a position between the ends.
    #[inline]
    pub fn put(&mut self, position: u32, entry: T) {
        debug_assert!(self.holds(position), "an entry is put where it would never be found");
        let slot = self.slot(position);
        self.slots[slot] = Some(entry);
    }

    /// Releases all entries before `position`. Their memory is reused, and they are dropped, when later
    /// entries overwrite them.
    #[inline]
    pub fn release_before(&mut self, position: u32) {
        debug_assert!(position.wrapping_sub(self.first) <= self.len());
        self.first = position;
    }

    /// Removes the last entry together with its position.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.end = self.end.wrapping_sub(1);
        let slot = self.slot(self.end);
        self.slots[slot].take()
    }

    /// Frees memory that the present entries do not need.
    pub fn shrink(&mut self) {
        let needed = (self.len() as usize).next_power_of_two().max(SLOTS_MIN);
        if needed < self.slots.len() {
            self.resize(needed);
        }
    }

    #[cold]
    #[inline(never)]
    fn resize(&mut self, len: usize) {
        let mut slots = Vec::with_capacity(len);
        slots.resize_with(len, || None);
        for position in positions(self.first, self.end) {
            let from = self.slot(position);
            slots[position as usize & (len - 1)] = self.slots[from].take();
        }
        self.slots = slots;
    }

    /// Returns the bytes of memory that the log holds, not counting memory that entries own.
    pub fn allocated_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Option<T>>()
    }
}

/// Returns the positions from `from` up to `to`, exclusive.
pub fn positions(from: u32, to: u32) -> impl DoubleEndedIterator<Item = u32> {
    (0..to.wrapping_sub(from)).map(move |offset| from.wrapping_add(offset))
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
        assert_eq!(ring.take(from.wrapping_add(501)), Some(501));
        ring.put(from.wrapping_add(501), 501);
        ring.release_before(from.wrapping_add(400));
        ring.shrink();
        ring.push(1000);
        let found: Vec<_> = positions(from, ring.end()).map(|at| ring.get(at).copied()).collect();
        let expected = |number: u32| (number >= 400 && number != 500).then_some(number);
        assert_eq!(found, (0..=1000).map(expected).collect::<Vec<_>>());
    }
}
