//! Windows of equal width: the width is a lookahead.

use crate::time::{Delay, Time};

/// Virtual time cut into windows of nearly the same width. No window is wider than a given width.
///
/// The window of a time is found by multiplying with the reciprocal of the width, rounded up. So two times of
/// one window are always less than the width apart. An event sent with at least that delay therefore arrives
/// in a later window.
///
/// ```
/// use parades_core::{pending::Grid, time::{Delay, Time}};
/// let grid = Grid::new(Delay::from_ms(100));
/// let at = |ms| Time::ZERO.checked_add(Delay::from_ms(ms)).unwrap();
/// assert_eq!((grid.window(at(99)), grid.window(at(100)), grid.window(at(250))), (0, 1, 2));
/// assert!(grid.start(2) <= at(200) && at(200).since(grid.start(2)) < Delay::from_us(1)); // As exact as the reciprocal is.
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// 2^64 divided by the width, rounded up.
    reciprocal: u64,
}

impl Grid {
    /// Makes the grid of the widest windows that are at most `width` wide. A width below 2 ps becomes 2 ps.
    pub fn new(width: Delay) -> Grid {
        let width = u128::from(width.as_ps().max(2));
        #[expect(clippy::cast_possible_truncation, reason = "the width is at least 2, so the quotient is at most 2^63")]
        let reciprocal = (1_u128 << 64).div_ceil(width) as u64;
        Grid { reciprocal }
    }

    /// Returns the number of the window of a time. The first window is 0.
    #[inline]
    pub fn window(self, time: Time) -> u64 {
        ((u128::from(time.as_ps()) * u128::from(self.reciprocal)) >> 64) as u64 // The upper half of the 128-bit product.
    }

    /// Returns the first time of a window, or [`Time::MAX`] if the window is after the end of time.
    pub fn start(self, window: u64) -> Time {
        let start = (u128::from(window) << 64).div_ceil(u128::from(self.reciprocal));
        u64::try_from(start).map_or(Time::MAX, Time::from_ps)
    }

    /// Returns the number of bits by which the time since the start of a window is shifted right to fit 32
    /// bits.
    pub(super) fn shift(self) -> u32 {
        // The width is at most 2^64 / reciprocal. That number has one bit more than the reciprocal has
        // leading zeros.
        (self.reciprocal.leading_zeros() + 1).saturating_sub(32)
    }

    /// Returns the start of the window of `time`.
    pub fn floor(self, time: Time) -> Time {
        self.start(self.window(time))
    }
}
