//! Memory of a transport in which values are written, so that they need not be copied there.

use super::Sink;
use super::frame::shared_data;

/// The bytes of a value from which on its shared data is looked at.
const LARGE: usize = 512;

/// Appends values of one frame to `to`, until there are no more, or until they have `bytes` bytes. Values
/// that bring shared data do not count, since the values behind them in the frame may need no more of it.
/// Returns the number of values written, at least one if there is one. `write` appends a value.
pub fn write_up_to<T>(
    values: impl IntoIterator<Item = T>,
    bytes: usize,
    to: &mut Room<'_>,
    mut write: impl FnMut(T, &mut Room<'_>),
) -> usize {
    let (mut counted, mut written) = (0, 0);
    for value in values {
        let (begin, shared) = (to.len(), shared_data());
        write(value, to);
        written += 1;
        let length = to.len() - begin;
        if length < LARGE || shared_data() == shared {
            counted += length;
        }
        if counted >= bytes {
            break;
        }
    }
    written
}

/// A number of bytes of memory that another owner lends, and a vector for all bytes after them.
///
/// ```
/// use parades_core::wire::{self, Room};
/// let mut lent = [0; 4];
/// let mut room = Room::new(&mut lent);
/// wire::write(&(1_u8, 2_u8, 3_u8), &mut room);
/// wire::write(&[4_u8, 5, 6], &mut room);
/// assert_eq!((room.len(), room.finish()), (6, (4, vec![5, 6])));
/// assert_eq!(lent, [1, 2, 3, 4]);
/// ```
#[derive(Debug)]
pub struct Room<'a> {
    /// The memory that is lent. Once bytes lie behind it, the part of it that is used.
    lent: &'a mut [u8],
    /// The number of bytes of `lent` that are used.
    used: usize,
    /// The bytes behind `lent`.
    behind: Vec<u8>,
}

impl<'a> Room<'a> {
    /// Makes room in memory that is lent, whatever it contains.
    pub fn new(lent: &'a mut [u8]) -> Room<'a> {
        Room { lent, used: 0, behind: Vec::new() }
    }

    /// Calls `write` with room behind the bytes of a vector.
    ///
    /// ```
    /// use parades_core::wire::{Room, Sink};
    /// let mut bytes = vec![1];
    /// Room::behind(&mut bytes, |room| room.put_all(&[2, 3]));
    /// assert_eq!(bytes, [1, 2, 3]);
    /// ```
    pub fn behind<R>(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Room<'_>) -> R) -> R {
        let mut room = Room { lent: &mut [], used: 0, behind: std::mem::take(bytes) };
        let result = write(&mut room);
        *bytes = room.behind;
        result
    }

    /// Returns the number of bytes written, and those of the vector that the room began with.
    pub fn len(&self) -> usize {
        self.used + self.behind.len()
    }

    /// Returns true if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends `length` bytes, which `write` fills. The bytes that `write` gets may be any.
    #[inline]
    pub fn fill(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        if let Some((place, _)) = self.lent[self.used..].split_at_mut_checked(length) {
            write(place);
            self.used += length;
            return;
        }
        self.extend_behind(&[]);
        let begin = self.behind.len();
        self.behind.resize(begin + length, 0);
        write(&mut self.behind[begin..]);
    }

    /// Overwrites bytes that were written before, from the position `at`.
    ///
    /// # Panics
    ///
    /// If fewer bytes were written.
    pub fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        for (at, &byte) in (at..).zip(bytes) {
            match at.checked_sub(self.used) {
                None => self.lent[at] = byte,
                Some(at) => self.behind[at] = byte,
            }
        }
    }

    /// Returns the number of lent bytes that are used, and the bytes behind them.
    pub fn finish(self) -> (usize, Vec<u8>) {
        (self.used, self.behind)
    }

    /// Appends bytes behind the memory that is lent. From now on, all bytes go there.
    #[cold]
    #[inline(never)]
    fn extend_behind(&mut self, bytes: &[u8]) {
        let lent = std::mem::take(&mut self.lent);
        self.lent = &mut lent[..self.used];
        self.behind.extend_from_slice(bytes);
    }
}

impl Sink for Room<'_> {
    #[inline(always)]
    fn put(&mut self, byte: u8) {
        match self.lent.get_mut(self.used) {
            Some(place) => {
                *place = byte;
                self.used += 1;
            }
            None => self.extend_behind(&[byte]),
        }
    }

    #[inline(always)]
    fn put_all(&mut self, bytes: &[u8]) {
        match self.lent[self.used..].split_at_mut_checked(bytes.len()) {
            Some((place, _)) => {
                place.copy_from_slice(bytes);
                self.used += bytes.len();
            }
            None => self.extend_behind(bytes),
        }
    }
}
