//! Virtual time: integers, and instants that are superdense.
//!
//! A [`Time`] is a count of picoseconds since the start of the run, 213 days at most. An [`Instant`] adds the *round*: an event
//! sent with a delay above zero arrives at `(time + delay, 0)`, one sent with delay zero at `(time, round + 1)`. A cause is
//! therefore strictly before its effect, zero delay included.
//!
//! *Read next*: [`crate::event`], the order of events.

use std::fmt;

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A point of virtual time, in picoseconds since the start of the run.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of virtual time, in picoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delay(u64);

/// Rounds a count of seconds to the nearest picosecond; `None` where it is negative, not a number, or past the end of time.
#[inline]
fn ps_from_secs(seconds: f64) -> Option<u64> {
    // Up to there, what lies behind the point is exact, and nobody needs to ask a library.
    const I52: f64 = 4_503_599_627_370_496.0;
    let exact = seconds * 1e12;
    if (0.0..I52).contains(&exact) {
        #[expect(clippy::cast_possible_truncation, reason = "in the range of the line above")]
        let whole = exact as i64;
        #[expect(clippy::cast_sign_loss, reason = "not below zero")]
        return Some(whole as u64 + u64::from(exact - whole as f64 >= 0.5));
    }
    // Above 2^53 ps (2.5 hours) a double counts in steps of more than a picosecond; the nearest such step is taken.
    let ps = exact.round();
    if seconds < 0.0 {
        return None; // What is less than half a picosecond below zero would round to it.
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on this very line"
    )]
    (0.0..18_446_744_073_709_551_616.0).contains(&ps).then_some(ps as u64)
}

/// The greatest double below one half. One half itself would be lost in rounding the sum: it takes 0.49999999999999994 up to 1, and odd numbers from
/// 2^52 on, which have no fraction, to the next.
const HALF: f64 = 0.499_999_999_999_999_94;

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// The last representable time: 213 days, 12 hours and 34 minutes after the start.
    pub const MAX: Time = Time(u64::MAX);

    /// The time `ps` picoseconds after the start.
    #[inline]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// The time `seconds` after the start, to the nearest picosecond; `None` where there is no such time.
    ///
    /// ```
    /// # use parades_core::time::Time;
    /// assert_eq!(Time::from_secs_f64(1.5), Some(Time::from_ps(1_500_000_000_000)));
    /// assert_eq!(Time::from_secs_f64(-1.0), None);
    /// assert_eq!(Time::from_secs_f64(1e9), None);
    /// ```
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Option<Time> {
        ps_from_secs(seconds).map(Time)
    }

    /// Picoseconds since the start.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for people.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The time `delay` later; `None` past [`Time::MAX`]. [`Delay::MAX`] leads past it from everywhere: it stands for all spans that are
    /// too long to be counted.
    ///
    /// ```
    /// # use parades_core::time::{Delay, Time};
    /// assert_eq!(Time::from_ps(2).checked_add(Delay::from_ps(3)), Some(Time::from_ps(5)));
    /// assert_eq!(Time::ZERO.checked_add(Delay::serialisation(u64::MAX, 1)), None);
    /// ```
    #[inline]
    pub const fn checked_add(self, delay: Delay) -> Option<Time> {
        match self.0.checked_add(delay.0) {
            Some(ps) if delay.0 < u64::MAX => Some(Time(ps)),
            _ => None,
        }
    }

    /// As [`Time::checked_add`], but `None` also where there is no delay: that is one comparison.
    #[inline]
    pub const fn later_by(self, delay: Delay) -> Option<Time> {
        let ps = self.0.wrapping_add(delay.0);
        if ps > self.0 && delay.0 < u64::MAX { Some(Time(ps)) } else { None }
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[inline]
    pub const fn since(self, earlier: Time) -> Delay {
        Delay(self.0.saturating_sub(earlier.0))
    }
}

impl Delay {
    /// No delay: the event arrives in the next round of the same time.
    pub const ZERO: Delay = Delay(0);
    /// Longer than any span: what saturates comes to this, and is an overflow of virtual time where it is used.
    pub const MAX: Delay = Delay(u64::MAX);

    /// A span of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Delay {
        Delay(ps)
    }

    /// A span of `us` microseconds.
    ///
    /// # Panics
    ///
    /// Past 213 days.
    pub const fn from_us(us: u64) -> Delay {
        Delay(us.checked_mul(1_000_000).expect("213 days at most"))
    }

    /// A span of `ms` milliseconds.
    ///
    /// # Panics
    ///
    /// Past 213 days.
    pub const fn from_ms(ms: u64) -> Delay {
        Delay(ms.checked_mul(1_000_000_000).expect("213 days at most"))
    }

    /// A span of whole seconds.
    ///
    /// # Panics
    ///
    /// Past 213 days.
    pub const fn from_secs(seconds: u64) -> Delay {
        Delay(seconds.checked_mul(PS_PER_S).expect("213 days at most"))
    }

    /// A span of `seconds`, to the nearest picosecond; `None` where it is negative, not a number or too long.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Option<Delay> {
        ps_from_secs(seconds).map(Delay)
    }

    /// This span stretched by `factor` (at least zero), to the nearest picosecond. What is too long becomes [`Delay::MAX`], and so
    /// an overflow of virtual time where it is used.
    ///
    /// ```
    /// # use parades_core::time::Delay;
    /// assert_eq!(Delay::from_ms(10).scaled(0.25), Delay::from_us(2500));
    /// ```
    ///
    /// # Panics
    ///
    /// If the factor is not a number, or so far below zero that the span would be.
    ///
    /// ```should_panic
    /// # use parades_core::time::Delay;
    /// let _ = Delay::from_ms(10).scaled(-0.25);
    /// ```
    #[inline]
    pub fn scaled(self, factor: f64) -> Delay {
        const I63: f64 = 9_223_372_036_854_775_808.0;
        // Of numbers below 2^63, 106 days, each conversion is an instruction or two instead of half a dozen.
        let scaled = self.0.cast_signed() as f64 * factor + HALF;
        if !(0.0..I63).contains(&scaled) {
            return self.scaled_far(factor);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        Delay((scaled as i64).cast_unsigned())
    }

    /// As [`Delay::scaled`], of any span.
    #[cold]
    #[inline(never)]
    fn scaled_far(self, factor: f64) -> Delay {
        assert!(factor >= 0.0, "a span cannot be stretched by {factor}");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as the doc says")]
        Delay((self.0 as f64 * factor + HALF) as u64)
    }

    /// How long `bytes` take on a link of `bits_per_second`, rounded up to a whole picosecond. The one function from sizes to
    /// times: links and their lookahead both use it. Too long a span becomes [`Delay::MAX`].
    ///
    /// ```
    /// # use parades_core::time::Delay;
    /// assert_eq!(Delay::serialisation(1500, 1_000_000_000), Delay::from_us(12));
    /// assert_eq!(Delay::serialisation(1, 3_000_000_000_000), Delay::from_ps(3));
    /// // Two million bytes, and three million, for which 64 bits do not suffice on the way.
    /// assert_eq!(Delay::serialisation(2_000_000, 7), Delay::from_ps(2_285_714_285_714_285_715));
    /// assert_eq!(Delay::serialisation(3_000_000, 7), Delay::from_ps(3_428_571_428_571_428_572));
    /// ```
    ///
    /// # Panics
    ///
    /// On a rate of zero.
    #[inline]
    pub fn serialisation(bytes: u64, bits_per_second: u64) -> Delay {
        assert!(bits_per_second > 0, "a link's rate must be positive");
        if let Some(bit_ps) = bytes.checked_mul(8 * PS_PER_S) {
            return Delay(bit_ps.div_ceil(bits_per_second)); // Up to 2.3 MB: all packets.
        }
        let bit_ps = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        Delay(u64::try_from(bit_ps.div_ceil(u128::from(bits_per_second))).unwrap_or(u64::MAX))
    }

    /// Picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, for people and for floating-point statistics.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The sum, or [`Delay::MAX`] where it would be longer.
    #[inline]
    pub const fn saturating_add(self, other: Delay) -> Delay {
        Delay(self.0.saturating_add(other.0))
    }
}

/// Writes picoseconds as seconds, exactly, without trailing zeros: `1.25s`.
fn write_seconds(ps: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (whole, fraction) = (ps / PS_PER_S, ps % PS_PER_S);
    if fraction == 0 {
        return write!(f, "{whole}s");
    }
    let digits = format!("{fraction:012}");
    write!(f, "{whole}.{}s", digits.trim_end_matches('0'))
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}
impl fmt::Debug for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}

/// An instant of superdense time: when an event is executed. Ordered by time, then by round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    /// The time.
    pub time: Time,
    /// How many zero-delay sends in a row led here.
    pub round: u32,
}

impl Instant {
    /// Before every event.
    pub const START: Instant = Instant { time: Time::ZERO, round: 0 };

    /// Round 0 of `time`.
    #[inline]
    pub const fn at(time: Time) -> Instant {
        Instant { time, round: 0 }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.round {
            0 => write!(f, "{}", self.time),
            round => write!(f, "{} round {round}", self.time),
        }
    }
}
