//! Sequence numbers, which wrap (RFC 9293, section 3.4).

use serde::{Deserialize, Serialize};

/// The place of a byte in a stream, modulo 2^32.
///
/// Two numbers are compared by their distance, so comparisons hold for numbers less than 2^31 apart.
///
/// ```
/// use parades_tcp::seq::Seq;
/// let last = Seq(u32::MAX);
/// assert_eq!(last.add(2), Seq(1));
/// assert!(last.is_before(Seq(1)));
/// assert_eq!(Seq(1).since(last), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seq(pub u32);

impl Seq {
    /// Returns the number `bytes` later.
    #[inline]
    #[must_use]
    pub const fn add(self, bytes: u32) -> Seq {
        Seq(self.0.wrapping_add(bytes))
    }

    /// Returns the bytes from `earlier` to this number.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Seq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Returns true if this number comes before `other`.
    #[inline]
    #[must_use]
    pub const fn is_before(self, other: Seq) -> bool {
        self.0.wrapping_sub(other.0) >> 31 == 1
    }

    /// Returns true if this number comes after `other`.
    #[inline]
    #[must_use]
    pub const fn is_after(self, other: Seq) -> bool {
        other.is_before(self)
    }

    /// Returns the place of this number in a stream of 64-bit places. `base` is the number of place 0. Of all
    /// possible places the one next to `near` is taken. Returns `None` if it would lie before place 0.
    ///
    /// ```
    /// use parades_tcp::seq::Seq;
    /// let base = Seq(u32::MAX);
    /// assert_eq!(Seq(1).place(0, base), Some(2));
    /// assert_eq!(Seq(1).place(1 << 32, base), Some((1 << 32) + 2));
    /// assert_eq!(Seq(u32::MAX - 1).place(0, base), None);
    /// ```
    #[inline]
    #[must_use]
    pub const fn place(self, near: u64, base: Seq) -> Option<u64> {
        let distance = self.since(Seq::at(near, base)).cast_signed();
        near.checked_add_signed(distance as i64)
    }

    /// Returns the number of a place. `base` is the number of place 0.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "numbers wrap")]
    pub const fn at(place: u64, base: Seq) -> Seq {
        base.add(place as u32)
    }
}
