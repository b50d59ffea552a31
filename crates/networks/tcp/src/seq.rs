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

    /// Returns the later of two numbers.
    #[inline]
    #[must_use]
    pub const fn latest(self, other: Seq) -> Seq {
        if self.is_before(other) { other } else { self }
    }
}
