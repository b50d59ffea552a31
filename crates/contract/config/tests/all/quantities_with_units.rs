//! Text with units becomes exact numbers, and numbers become text that reads back as the same numbers.

use parades_config::units::{
    format_duration, format_rate, format_size, parse_duration, parse_rate, parse_size, parse_time,
};
use parades_core::time::{Delay, Time};
use proptest::prelude::*;

fn ps(text: &str) -> u64 {
    parse_duration(text).expect("a duration").as_ps()
}

fn wrong_duration(text: &str) -> String {
    parse_duration(text).expect_err("no duration").to_string()
}

#[test]
fn every_unit_of_time_is_read() {
    assert_eq!(ps("7ps"), 7);
    assert_eq!(ps("7ns"), 7_000);
    assert_eq!(ps("50us"), 50_000_000);
    assert_eq!(ps("50µs"), 50_000_000);
    assert_eq!(ps("50μs"), 50_000_000);
    assert_eq!(ps("1.5ms"), 1_500_000_000);
    assert_eq!(ps("10s"), 10_000_000_000_000);
    assert_eq!(ps("2min"), 120_000_000_000_000);
    assert_eq!(ps("1h"), 3_600_000_000_000_000);
    assert_eq!(ps(" 1_000 ns "), 1_000_000);
    assert_eq!(ps("2.5e-3s"), 2_500_000_000);
    assert_eq!(parse_time("10s"), Ok(Time::from_ps(10_000_000_000_000)));
}

#[test]
fn durations_are_exact_to_the_picosecond_and_round_to_nearest() {
    // As a double, 0.3 s would be off by a fraction of a picosecond, and 18446744.073709551615 s by whole
    // milliseconds.
    assert_eq!(ps("0.3s"), 300_000_000_000);
    assert_eq!(ps("18446744.073709551615s"), u64::MAX);
    assert_eq!(ps("0.4999ps"), 0);
    assert_eq!(ps("0.5ps"), 1);
    assert_eq!(ps("1.49999999999999999999999999999999999999999ps"), 1);
    assert_eq!(ps("0.0000000000000001h"), 0);
    assert_eq!(ps("0.0000000000000002h"), 1);
}

#[test]
fn durations_past_the_end_of_time_are_refused() {
    assert_eq!(wrong_duration("5125h"), "`5125h` is too large; virtual time ends after 213 days");
    assert_eq!(ps("5124h"), 5124 * 3_600_000_000_000_000);
    assert_eq!(wrong_duration("-1e400s"), "`-1e400s` is negative; a duration is at least 0");
    assert_eq!(wrong_duration("1e400s"), "`1e400s` is too large; virtual time ends after 213 days");
}

#[test]
fn a_missing_unit_names_the_units() {
    assert_eq!(
        wrong_duration("10"),
        "`10` has no unit; a duration's units are ps, ns, us, ms, s, min, h and d, as in `10s`"
    );
    assert_eq!(
        parse_size("10").unwrap_err().to_string(),
        "`10` has no unit; a size's units are B, kB, KiB, MB, MiB, GB, GiB, TB and TiB, as in `1500B`"
    );
    assert_eq!(
        parse_rate("10").unwrap_err().to_string(),
        "`10` has no unit; a rate's units are bps, kbps, Mbps, Gbps and Tbps, as in `10Mbps`"
    );
}

#[test]
fn an_unknown_unit_suggests_the_nearest() {
    for (text, near) in
        [("1secs", "sec"), ("1usecs", "usec"), ("5mins", "min"), ("2hours", "h"), ("1MS", "ms"), ("3days", "d")]
    {
        let error = wrong_duration(text);
        assert!(error.contains(&format!("did you mean `{near}`? a duration's units are ")), "{error}");
    }
    for (text, near) in [("1MIB", "MiB"), ("1500Bytes", "B")] {
        let error = parse_size(text).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean `{near}`?")), "{error}");
    }
    for (text, near) in [("1mbps", "Mbps"), ("1Mbs", "Mbps"), ("1G", "Gbps"), ("1mbit/s", "Mbit/s")] {
        let error = parse_rate(text).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean `{near}`?")), "{error}");
    }
    assert_eq!(
        wrong_duration("3fortnights"),
        "`3fortnights` has the unknown unit `fortnights`; a duration's units are ps, ns, us, ms, s, min, h and d"
    );
}

#[test]
fn a_bit_is_never_suggested_for_a_byte() {
    for text in ["1kb", "1Mb", "1500b", "1mib", "1Kbits"] {
        let error = parse_size(text).unwrap_err().to_string();
        assert!(error.contains("a size's units are B, kB") && !error.contains("did you mean"), "{error}");
    }
    for text in ["1mBps", "1MBs"] {
        let error = parse_rate(text).unwrap_err().to_string();
        assert!(error.contains("did you mean `MBps`?"), "{error}");
    }
}

#[test]
fn names_that_other_tools_write_are_read() {
    for text in ["10Mbit/s", "10 Mbit", "10Mb/s", "1.25MB/s", "1.25MBps", "10000kbit/s"] {
        assert_eq!(parse_rate(text), Ok(10_000_000), "{text}");
    }
    for text in ["1MiB/s", "1MiBps", "8Mibit/s", "8192Kibps"] {
        assert_eq!(parse_rate(text), Ok(8 << 20), "{text}");
    }
    assert_eq!((ps("1usec"), ps("1msec"), ps("1d")), (ps("1us"), ps("1ms"), ps("24h")));
    assert_eq!(parse_size("2KB"), Ok(2000));
    assert_eq!(parse_time("10").unwrap_err(), parse_duration("10").unwrap_err());
}

#[test]
fn text_that_is_not_a_quantity_is_refused() {
    assert_eq!(wrong_duration("soon"), "`soon` is not a duration; write a number and a unit, such as `10s`");
    assert_eq!(wrong_duration(""), "`` is not a duration; write a number and a unit, such as `10s`");
    assert_eq!(wrong_duration("inf s"), "`inf s` is not a duration; write a number and a unit, such as `10s`");
    assert_eq!(wrong_duration("-5s"), "`-5s` is negative; a duration is at least 0");
    assert_eq!(wrong_duration("-0.1ps"), "`-0.1ps` is negative; a duration is at least 0");
    assert_eq!(parse_duration("-0s"), Ok(Delay::ZERO));
}

#[test]
fn sizes_are_whole_bytes_and_rates_whole_bits_per_second() {
    assert_eq!(parse_size("1500B"), Ok(1500));
    assert_eq!(parse_size("128KiB"), Ok(131_072));
    assert_eq!(parse_size("500kB"), Ok(500_000));
    assert_eq!(parse_size("2GiB"), Ok(2_147_483_648));
    assert_eq!(parse_size("0.5KiB"), Ok(512));
    assert_eq!(parse_size("0.3B").unwrap_err().to_string(), "`0.3B` is not a whole number of bytes");
    assert_eq!(
        parse_size("16777216TiB").unwrap_err().to_string(),
        "`16777216TiB` is too large; sizes are below 2^64 bytes"
    );
    assert_eq!(parse_rate("10Mbps"), Ok(10_000_000));
    assert_eq!(parse_rate("2Gbps"), Ok(2_000_000_000));
    assert_eq!(parse_rate("1.544Mbps"), Ok(1_544_000));
    assert_eq!(parse_rate("0.5bps").unwrap_err().to_string(), "`0.5bps` is not a whole number of bits per second");
}

#[test]
fn the_largest_whole_unit_is_printed() {
    for text in ["0s", "1ps", "50us", "1500us", "100s", "2min", "90min", "1h", "18446744073709551615ps"] {
        assert_eq!(format_duration(parse_duration(text).expect("a duration")), text);
    }
    assert_eq!(format_duration(Delay::from_secs(60)), "1min");
    for (bytes, text) in [(0, "0B"), (1500, "1500B"), (16_000, "16kB"), (1_024_000, "1000KiB"), (1 << 31, "2GiB")] {
        assert_eq!(format_size(bytes), text);
    }
    for (rate, text) in [(0, "0bps"), (9_600, "9600bps"), (64_000, "64kbps"), (10_000_000_000, "10Gbps")] {
        assert_eq!(format_rate(rate), text);
    }
}

proptest! {
    #[test]
    fn printed_quantities_read_back(value: u64, zeros in 0_u32..20) {
        // Round numbers are printed in larger units, so some of the values are round.
        for value in [value, value / 10_u64.pow(zeros) * 10_u64.pow(zeros), value >> zeros << zeros, 60 * (value >> 6)] {
            let delay = Delay::from_ps(value);
            prop_assert_eq!(parse_duration(&format_duration(delay)), Ok(delay));
            prop_assert_eq!(parse_size(&format_size(value)), Ok(value));
            prop_assert_eq!(parse_rate(&format_rate(value)), Ok(value));
        }
    }

    #[test]
    fn decimals_agree_with_integer_arithmetic(whole in 0_u64..5_000_000, fraction in 0_u64..1_000_000_000_000_000) {
        // Seconds with 15 decimals. The last three are below a picosecond and decide the rounding.
        let expected = whole * 1_000_000_000_000 + fraction / 1000 + u64::from(fraction % 1000 >= 500);
        prop_assert_eq!(ps(&format!("{whole}.{fraction:015}s")), expected);
    }

    #[test]
    fn no_text_is_a_panic_or_more_than_a_line(text in "\\PC*|[-+]?[0-9_.e+-]{0,12} ?[a-zA-Z]{0,4}|(?s).*") {
        for error in [parse_duration(&text).err(), parse_size(&text).err(), parse_rate(&text).err()].into_iter().flatten() {
            prop_assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
}
