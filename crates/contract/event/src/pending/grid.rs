//! Windows of equal width, as wide as a lookahead.

use crate::time::{Delay, Time};

/// Virtual time cut into windows, none wider than a given width, nearly all as wide as it.
///
/// The window of a time is one multiplication by the width's reciprocal, rounded up, so that two times of one window are always less
/// than the width apart: what is sent with at least that delay arrives in a later window.
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
    /// The widest grid with windows of at most `width`; of 2 ps where that is shorter.
    pub fn new(width: Delay) -> Grid {
        let width = u128::from(width.as_ps().max(2));
        #[expect(clippy::cast_possible_truncation, reason = "the width is at least 2, so the quotient is at most 2^63")]
        let reciprocal = (1_u128 << 64).div_ceil(width) as u64;
        Grid { reciprocal }
    }

    /// The window of a time; windows are numbered from 0.
    #[inline]
    pub fn window(self, time: Time) -> u64 {
        ((u128::from(time.as_ps()) * u128::from(self.reciprocal)) >> 64) as u64 // The upper half of the product.
    }

    /// The first time of a window; [`Time::MAX`] past the end of time.
    pub fn start(self, window: u64) -> Time {
        let start = (u128::from(window) << 64).div_ceil(u128::from(self.reciprocal));
        u64::try_from(start).map_or(Time::MAX, Time::from_ps)
    }

    /// By how many bits the time since a window's start must be shifted to fit 32 bits.
    pub(super) fn shift(self) -> u32 {
        // The width is at most 2^64 / reciprocal, which has one bit more than the reciprocal has leading zeros.
        (self.reciprocal.leading_zeros() + 1).saturating_sub(32)
    }

    /// The start of the window that `time` is in.
    pub fn floor(self, time: Time) -> Time {
        self.start(self.window(time))
    }
}
