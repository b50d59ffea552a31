//! Seconds are rounded to nearest, serialisation times up. A span that is too long is an error or the longest
//! span, never a short one.

use parades_core::time::{Delay, Instant, Time};
use proptest::prelude::*;

const TOO_LONG: f64 = 18_446_744.073_709_55; // The double nearest to 2^64 ps, in seconds.

#[test]
fn seconds_are_rounded_to_the_nearest_picosecond() {
    let ps = |seconds| Delay::try_from_secs_f64(seconds).map(Delay::as_ps);
    assert_eq!(ps(0.4e-12), Some(0));
    assert_eq!(ps(0.6e-12), Some(1));
    assert_eq!(ps(1.4e-12), Some(1));
    assert_eq!(ps(0.1), Some(100_000_000_000));
    assert_eq!(ps(-0.0), Some(0));
    for wrong in [-0.4e-12, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, TOO_LONG] {
        assert_eq!(ps(wrong), None, "{wrong}");
        assert_eq!(Time::try_from_secs_f64(wrong), None, "{wrong}");
    }
    assert!(ps(TOO_LONG.next_down()).is_some());
}

#[test]
fn a_scaled_span_is_rounded_to_nearest_and_saturates() {
    let scaled = |ps, factor| Delay::from_ps(ps).scaled(factor).as_ps();
    // From 2^52 on doubles have no halves, and adding one half would make odd numbers even.
    for ps in [0, 1, 7, (1 << 52) - 1, (1 << 52) + 1, (1 << 53) - 1, 1 << 53] {
        assert_eq!(scaled(ps, 1.0), ps);
    }
    assert_eq!(scaled(1, 0.5_f64.next_down()), 0);
    assert_eq!((scaled(1, 0.5), scaled(3, 0.5), scaled(5, 0.5)), (1, 2, 3));
    assert_eq!(scaled(1, 2.5_f64.next_down()), 2);
    for (ps, factor) in [(u64::MAX, 1.5), (2, f64::INFINITY), (1 << 40, 1e30)] {
        assert_eq!(scaled(ps, factor), u64::MAX);
        assert_eq!(Time::ZERO.checked_add(Delay::from_ps(ps).scaled(factor)), None);
    }
}

#[test]
fn the_longest_span_leads_past_the_end_from_any_time() {
    let longest = Delay::from_ps(u64::MAX - 1);
    assert_eq!(Time::ZERO.checked_add(longest), Some(Time::from_ps(u64::MAX - 1)));
    assert_eq!(Time::from_ps(1).checked_add(longest), Some(Time::MAX));
    assert_eq!(Time::from_ps(2).checked_add(longest), None);
    assert_eq!(Time::ZERO.checked_add(Delay::MAX), None);
    assert_eq!(longest.saturating_add(Delay::from_ps(5)), Delay::MAX);
    assert_eq!(Time::from_ps(3).since(Time::from_ps(7)), Delay::ZERO);
}

#[test]
fn an_instant_is_ordered_by_time_and_then_by_round() {
    let at = |time, round| Instant { time: Time::from_ps(time), round };
    assert!(at(1, 9) < at(2, 0) && at(2, 0) < at(2, 1));
    assert_eq!(Instant::at(Time::from_ps(4)), at(4, 0));
}

proptest! {
    /// Times are rounded up exactly: no shorter span would do. This holds with and without a 64-bit overflow
    /// of the product.
    #[test]
    fn serialisation_is_rounded_up(bytes in prop_oneof![0..5_000_u64, 2_000_000..3_000_000_u64, any::<u64>()], rate in 1_u64..) {
        let span = Delay::serialisation(bytes, rate).as_ps();
        let needed = u128::from(bytes) * 8_000_000_000_000;
        let carried = |ps: u64| u128::from(ps) * u128::from(rate);
        if span < u64::MAX {
            prop_assert!(carried(span) >= needed);
        }
        prop_assert!(span == 0 || carried(span - 1) < needed);
    }

    #[test]
    fn times_are_written_as_exact_seconds(ps in any::<u64>()) {
        let text = Time::from_ps(ps).to_string();
        let digits = text.strip_suffix('s').expect("seconds");
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let back: u128 = format!("{whole}{fraction:0<12}").parse().expect("digits");
        prop_assert_eq!(back, u128::from(ps));
    }
}

proptest! {
    /// Short times are rounded by hand, and must be rounded as the library does, above all at halves and at
    /// the end of the short range.
    #[test]
    fn seconds_are_rounded_as_the_library_rounds(
        anywhere in 0.0..1e4_f64,
        half in 0_u64..1 << 52,
        around_2_52 in -64_i64..64,
    ) {
        for seconds in [anywhere, (half as f64 + 0.5) / 1e12, ((1_i64 << 52) + around_2_52) as f64 / 1e12] {
            let rounded = Time::try_from_secs_f64(seconds).map(|time| time.as_ps() as f64);
            prop_assert_eq!(rounded, Some((seconds * 1e12).round()), "{:e}", seconds);
        }
    }
}
