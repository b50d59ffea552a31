//! Virtual time: integers, and superdense instants.
//!
//! A [`Time`] is a count of picoseconds since the start of the run, 213 days at most. An [`Instant`] adds the
//! *round*. An event sent with a delay above zero arrives at `(time + delay, 0)`. An event sent with delay
//! zero arrives at `(time, round + 1)`. So a cause is strictly before its effect, even at zero delay.
//!
//! *Read next*: [`crate::event`], the order of events.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A point of virtual time, in picoseconds since the start of the run.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(u64);

/// A span of virtual time, in picoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Delay(u64);

/// Panics, because no span of virtual time has this many seconds.
#[cold]
#[inline(never)]
fn no_span<T>(seconds: f64) -> T {
    panic!("virtual time has no span of {seconds} seconds: a span is at least 0, and at most 213 days")
}

/// Converts seconds to picoseconds, rounded to nearest. Returns `None` if the number is negative, not a
/// number, or too large.
#[inline]
fn ps_from_secs(seconds: f64) -> Option<u64> {
    // Below this bound the fraction is exact, and rounding by hand is faster than `f64::round`.
    const I52: f64 = 4_503_599_627_370_496.0;
    let exact = seconds * 1e12;
    if (0.0..I52).contains(&exact) {
        #[expect(clippy::cast_possible_truncation, reason = "in the range of the line above")]
        let whole = exact as i64;
        #[expect(clippy::cast_sign_loss, reason = "not below zero")]
        return Some(whole as u64 + u64::from(exact - whole as f64 >= 0.5));
    }
    // Above 2^53 ps (2.5 hours) neighbouring doubles are more than a picosecond apart; the nearest one is
    // taken.
    let ps = exact.round();
    if seconds < 0.0 {
        return None; // A negative number close to zero would round to zero.
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on this very line"
    )]
    (0.0..18_446_744_073_709_551_616.0).contains(&ps).then_some(ps as u64)
}

/// The largest double below one half, for rounding by adding.
///
/// Adding one half would round twice. The sum 0.49999999999999994 + 0.5 is 1 in doubles, so this number would
/// become 1. Odd numbers above 2^52 have no fraction, and would become the next even number.
const HALF: f64 = 0.499_999_999_999_999_94;

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// The last time: 213 days, 12 hours and 34 minutes after the start.
    pub const MAX: Time = Time(u64::MAX);

    /// Returns the time `ps` picoseconds after the start.
    #[inline]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Returns the time `ms` milliseconds after the start.
    ///
    /// # Panics
    ///
    /// If there is no such time: it would be later than 213 days.
    pub const fn from_ms(ms: u64) -> Time {
        Time(Delay::from_ms(ms).0)
    }

    /// Returns the time `seconds` after the start.
    ///
    /// ```
    /// # use parades_core::time::Time;
    /// assert_eq!(Time::from_secs(2), Time::from_ms(2000));
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no such time: it would be later than 213 days.
    pub const fn from_secs(seconds: u64) -> Time {
        Time(Delay::from_secs(seconds).0)
    }

    /// Returns the time `seconds` after the start, rounded to the nearest picosecond.
    ///
    /// # Panics
    ///
    /// If there is no such time. [`Time::try_from_secs_f64`] returns `None` then.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Time {
        Time::try_from_secs_f64(seconds).unwrap_or_else(|| no_span(seconds))
    }

    /// Returns the time `seconds` after the start, rounded to the nearest picosecond. Returns `None` if there
    /// is no such time.
    ///
    /// ```
    /// # use parades_core::time::Time;
    /// assert_eq!(Time::try_from_secs_f64(1.5), Some(Time::from_ms(1500)));
    /// assert_eq!(Time::try_from_secs_f64(-1.0), None);
    /// assert_eq!(Time::try_from_secs_f64(1e9), None);
    /// ```
    #[inline]
    pub fn try_from_secs_f64(seconds: f64) -> Option<Time> {
        ps_from_secs(seconds).map(Time)
    }

    /// Returns the picoseconds since the start.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start, for display.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns the time `delay` later, or `None` if it is after [`Time::MAX`].
    ///
    /// [`Delay::MAX`] stands for every span that is too long to be counted. So adding it always returns
    /// `None`.
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

    /// Returns the time `delay` later, or [`Time::MAX`] if it is after that.
    ///
    /// ```
    /// # use parades_core::time::{Delay, Time};
    /// assert_eq!(Time::from_secs(1).saturating_add(Delay::from_ms(500)), Time::from_ms(1500));
    /// assert_eq!(Time::from_secs(1).saturating_add(Delay::MAX), Time::MAX);
    /// ```
    #[inline]
    pub const fn saturating_add(self, delay: Delay) -> Time {
        Time(self.0.saturating_add(delay.0))
    }

    /// As [`Time::checked_add`], but also returns `None` for a delay of zero. Both cases take one comparison.
    #[inline]
    pub const fn later_by(self, delay: Delay) -> Option<Time> {
        let ps = self.0.wrapping_add(delay.0);
        if ps > self.0 && delay.0 < u64::MAX { Some(Time(ps)) } else { None }
    }

    /// Returns the span from `earlier` to this time, or zero if `earlier` is not earlier.
    #[inline]
    pub const fn since(self, earlier: Time) -> Delay {
        Delay(self.0.saturating_sub(earlier.0))
    }
}

impl Delay {
    /// No delay: the event arrives in the next round of the same time.
    pub const ZERO: Delay = Delay(0);
    /// A stand-in for every span that is too long. A computation that saturates returns it, and using it is
    /// an overflow of virtual time.
    pub const MAX: Delay = Delay(u64::MAX);

    /// Returns a span of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Delay {
        Delay(ps)
    }

    /// Returns a span of `us` microseconds.
    ///
    /// # Panics
    ///
    /// If the span is longer than 213 days.
    pub const fn from_us(us: u64) -> Delay {
        Delay(us.checked_mul(1_000_000).expect("213 days at most"))
    }

    /// Returns a span of `ms` milliseconds.
    ///
    /// # Panics
    ///
    /// If the span is longer than 213 days.
    pub const fn from_ms(ms: u64) -> Delay {
        Delay(ms.checked_mul(1_000_000_000).expect("213 days at most"))
    }

    /// Returns a span of whole seconds.
    ///
    /// # Panics
    ///
    /// If the span is longer than 213 days.
    pub const fn from_secs(seconds: u64) -> Delay {
        Delay(seconds.checked_mul(PS_PER_S).expect("213 days at most"))
    }

    /// Returns a span of `hours`.
    ///
    /// ```
    /// # use parades_core::time::Delay;
    /// assert_eq!(Delay::from_hours(36), Delay::from_secs(129_600));
    /// ```
    ///
    /// # Panics
    ///
    /// If the span is longer than 213 days.
    pub const fn from_hours(hours: u64) -> Delay {
        Delay(hours.checked_mul(3600 * PS_PER_S).expect("213 days at most"))
    }

    /// Returns a span of `seconds`, rounded to the nearest picosecond.
    ///
    /// ```
    /// # use parades_core::time::Delay;
    /// assert_eq!(Delay::from_secs_f64(0.25), Delay::from_ms(250));
    /// ```
    ///
    /// # Panics
    ///
    /// If the number is negative, not a number, or too large. [`Delay::try_from_secs_f64`] returns `None`
    /// then. In a handler, a panic is an error of the run.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Delay {
        Delay::try_from_secs_f64(seconds).unwrap_or_else(|| no_span(seconds))
    }

    /// Returns the span between events that occur `rate` times in a second, rounded to the nearest
    /// picosecond.
    ///
    /// ```
    /// # use parades_core::time::Delay;
    /// assert_eq!(Delay::from_rate(8.0), Delay::from_ms(125));
    /// ```
    ///
    /// # Panics
    ///
    /// If the rate is not above zero, or so low that the span is longer than 213 days.
    pub fn from_rate(rate: f64) -> Delay {
        assert!(rate > 0.0, "no event ever comes at a rate of {rate} per second: the rate must be above 0");
        Delay::from_secs_f64(1.0 / rate)
    }

    /// Returns a span of `seconds`, rounded to the nearest picosecond. Returns `None` if the number is
    /// negative, not a number, or too large.
    #[inline]
    pub fn try_from_secs_f64(seconds: f64) -> Option<Delay> {
        ps_from_secs(seconds).map(Delay)
    }

    /// Returns this span times `factor`, rounded to the nearest picosecond. A span that is too long becomes
    /// [`Delay::MAX`], and using it is an overflow of virtual time.
    ///
    /// ```
    /// # use parades_core::time::Delay;
    /// assert_eq!(Delay::from_ms(10).scaled(0.25), Delay::from_us(2500));
    /// ```
    ///
    /// # Panics
    ///
    /// If the factor is not a number, or is negative and the result would not round to zero.
    ///
    /// ```should_panic
    /// # use parades_core::time::Delay;
    /// let _ = Delay::from_ms(10).scaled(-0.25);
    /// ```
    #[inline]
    pub fn scaled(self, factor: f64) -> Delay {
        const I63: f64 = 9_223_372_036_854_775_808.0;
        // Below 2^63 ps (106 days) each conversion takes one or two instructions instead of six.
        let scaled = self.0.cast_signed() as f64 * factor + HALF;
        if !(0.0..I63).contains(&scaled) {
            return self.scaled_far(factor);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        Delay((scaled as i64).cast_unsigned())
    }

    /// As [`Delay::scaled`], for spans of any length.
    #[cold]
    #[inline(never)]
    fn scaled_far(self, factor: f64) -> Delay {
        assert!(factor >= 0.0, "a span cannot be stretched by {factor}");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as the doc says")]
        Delay((self.0 as f64 * factor + HALF) as u64)
    }

    /// Returns the time that `bytes` take on a link of `bits_per_second`, rounded up to a whole picosecond. A
    /// span that is too long becomes [`Delay::MAX`].
    ///
    /// Links and their lookahead must agree, so this is the only function from sizes to times.
    ///
    /// ```
    /// # use parades_core::time::Delay;
    /// assert_eq!(Delay::serialisation(1500, 1_000_000_000), Delay::from_us(12));
    /// assert_eq!(Delay::serialisation(1, 3_000_000_000_000), Delay::from_ps(3));
    /// // The intermediate product of two million bytes fits 64 bits; that of three million does not.
    /// assert_eq!(Delay::serialisation(2_000_000, 7), Delay::from_ps(2_285_714_285_714_285_715));
    /// assert_eq!(Delay::serialisation(3_000_000, 7), Delay::from_ps(3_428_571_428_571_428_572));
    /// ```
    ///
    /// # Panics
    ///
    /// If the rate is zero.
    #[inline]
    pub fn serialisation(bytes: u64, bits_per_second: u64) -> Delay {
        assert!(bits_per_second > 0, "a link's rate must be positive");
        if let Some(bit_ps) = bytes.checked_mul(8 * PS_PER_S) {
            return Delay(bit_ps.div_ceil(bits_per_second)); // Taken up to 2.3 MB, so for every packet.
        }
        let bit_ps = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        Delay(u64::try_from(bit_ps.div_ceil(u128::from(bits_per_second))).unwrap_or(u64::MAX))
    }

    /// Returns the picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the seconds, for display and for floating-point statistics.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns the sum, or [`Delay::MAX`] if it is too long.
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

/// An instant of superdense time: the moment at which an event is executed. Ordered by time, then by round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instant {
    /// The time.
    pub time: Time,
    /// The number of consecutive zero-delay sends that led to this instant.
    pub round: u32,
}

impl Instant {
    /// The start of every run. No event is earlier.
    pub const START: Instant = Instant { time: Time::ZERO, round: 0 };

    /// Returns round 0 of `time`.
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
