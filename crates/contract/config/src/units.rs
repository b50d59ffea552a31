//! The table of units, and the functions that read and write quantities: durations, data sizes and rates.
//!
//! | quantity | counted in | units | also read |
//! |---|---|---|---|
//! | duration | picoseconds | `ps`, `ns`, `us`, `ms`, `s`, `min`, `h`, `d` | `µs`, `msec`, `usec`, `sec` |
//! | data size | bytes | `B`, `kB`, `KiB`, `MB`, `MiB`, `GB`, `GiB`, `TB`, `TiB` | `KB` |
//! | rate | bits per second | `bps`, `kbps`, `Mbps`, `Gbps`, `Tbps` | `Mbit/s`, `Mbit`, `Mb/s`, `MB/s`, `MBps`, `MiB/s` … |
//!
//! `k`, `M`, `G` and `T` are powers of 1000; `Ki`, `Mi`, `Gi` and `Ti` are powers of 1024. `b` is a bit and
//! `B` a byte, also in rates.
//!
//! Text is converted by exact decimal arithmetic. A duration is rounded to the nearest picosecond. A size
//! must be a whole number of bytes, and a rate a whole number of bits per second. A quantity is written in
//! the largest unit in which it is a whole number, so that reading the text gives the same quantity.
//!
//! The command line, scenario files, network files and their JSON schema all read this table. SimGrid's
//! platform files have a grammar of their own, which `parades-flow` reads.

mod quantity;

pub use quantity::Quantity;

use crate::error::ConfigError;
use parades_core::time::{Delay, Time};

/// Bytes in a kibibyte.
pub const KIB: u64 = 1 << 10;
/// Bytes in a mebibyte.
pub const MIB: u64 = 1 << 20;
/// Bytes in a gibibyte.
pub const GIB: u64 = 1 << 30;
/// Bits per second in 1 kbps.
pub const KBPS: u64 = 1_000;
/// Bits per second in 1 Mbps.
pub const MBPS: u64 = 1_000_000;
/// Bits per second in 1 Gbps.
pub const GBPS: u64 = 1_000_000_000;
/// Bits per second in 1 Tbps.
pub const TBPS: u64 = 1_000_000_000_000;

/// Durations, in picoseconds.
pub const DURATION: Quantity = Quantity {
    noun: "a duration",
    base: "picoseconds",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
        ("d", 86_400_000_000_000_000),
    ],
    also: &[
        // The micro sign, then the Greek letter mu, which looks the same.
        ("\u{b5}s", 1_000_000),
        ("\u{3bc}s", 1_000_000),
        ("usec", 1_000_000),
        ("msec", 1_000_000_000),
        ("sec", 1_000_000_000_000),
    ],
    rounds: true,
    example: "10s",
    zero: "0s",
    limit: "virtual time ends after 213 days",
};

/// Data sizes, in bytes.
pub const SIZE: Quantity = Quantity {
    noun: "a size",
    base: "bytes",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", KIB),
        ("MB", 1_000_000),
        ("MiB", MIB),
        ("GB", 1_000_000_000),
        ("GiB", GIB),
        ("TB", 1_000_000_000_000),
        ("TiB", 1 << 40),
    ],
    also: &[("KB", 1_000)],
    rounds: false,
    example: "1500B",
    zero: "0B",
    limit: "sizes are below 2^64 bytes",
};

/// Rates, in bits per second.
pub const RATE: Quantity = Quantity {
    noun: "a rate",
    base: "bits per second",
    units: &[("bps", 1), ("kbps", KBPS), ("Mbps", MBPS), ("Gbps", GBPS), ("Tbps", TBPS)],
    also: &[
        ("bit/s", 1),
        ("kbit/s", KBPS),
        ("Mbit/s", MBPS),
        ("Gbit/s", GBPS),
        ("Tbit/s", TBPS),
        ("bit", 1),
        ("kbit", KBPS),
        ("Mbit", MBPS),
        ("Gbit", GBPS),
        ("Tbit", TBPS),
        ("b/s", 1),
        ("kb/s", KBPS),
        ("Mb/s", MBPS),
        ("Gb/s", GBPS),
        ("Tb/s", TBPS),
        ("Kibps", KIB),
        ("Mibps", MIB),
        ("Gibps", GIB),
        ("Kibit/s", KIB),
        ("Mibit/s", MIB),
        ("Gibit/s", GIB),
        ("Bps", 8),
        ("kBps", 8 * KBPS),
        ("MBps", 8 * MBPS),
        ("GBps", 8 * GBPS),
        ("TBps", 8 * TBPS),
        ("B/s", 8),
        ("kB/s", 8 * KBPS),
        ("MB/s", 8 * MBPS),
        ("GB/s", 8 * GBPS),
        ("TB/s", 8 * TBPS),
        ("KiBps", 8 * KIB),
        ("MiBps", 8 * MIB),
        ("GiBps", 8 * GIB),
        ("KiB/s", 8 * KIB),
        ("MiB/s", 8 * MIB),
        ("GiB/s", 8 * GIB),
    ],
    rounds: false,
    example: "10Mbps",
    zero: "0bps",
    limit: "rates are below 2^64 bits per second",
};

/// Reads a duration, such as `50us`, `1.5ms` or `2min`, and rounds it to the nearest picosecond.
///
/// ```
/// # use parades_config::units::parse_duration;
/// # use parades_core::time::Delay;
/// assert_eq!(parse_duration("1.5ms")?, Delay::from_us(1500));
/// assert_eq!(parse_duration("0.1 s")?, Delay::from_ms(100));
/// assert_eq!(
///     parse_duration("10").unwrap_err().to_string(),
///     "`10` has no unit; a duration's units are ps, ns, us, ms, s, min, h and d, as in `10s`"
/// );
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// Fails if the text is not a number with a unit of time, is negative, or is longer than 213 days.
pub fn parse_duration(text: &str) -> Result<Delay, ConfigError> {
    DURATION.parse(text, None).map(Delay::from_ps)
}

/// Reads a point of virtual time, written as the duration since the start of the run.
///
/// ```
/// # use parades_config::units::parse_time;
/// # use parades_core::time::Time;
/// assert_eq!(parse_time("10s")?, Time::from_secs(10));
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// Fails where [`parse_duration`] does.
pub fn parse_time(text: &str) -> Result<Time, ConfigError> {
    DURATION.parse(text, None).map(Time::from_ps)
}

/// Reads a data size, such as `1500B`, `128KiB` or `500kB`, and returns it in bytes.
///
/// ```
/// # use parades_config::units::parse_size;
/// assert_eq!(parse_size("1.5KiB")?, 1536);
/// assert!(parse_size("0.3B").is_err()); // not a whole number of bytes
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// Fails if the text is not a number with a unit of size, is negative, is not a whole number of bytes, or
/// does not fit in 64 bits.
pub fn parse_size(text: &str) -> Result<u64, ConfigError> {
    SIZE.parse(text, None)
}

/// Reads a rate, such as `10Mbps`, `2.5 Gbit/s` or `100MB/s`, and returns it in bits per second.
///
/// ```
/// # use parades_config::units::parse_rate;
/// assert_eq!(parse_rate("10 Mbit/s")?, 10_000_000);
/// assert_eq!(parse_rate("10MB/s")?, 80_000_000); // bytes
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// Fails if the text is not a number with a unit of rate, is negative, is not a whole number of bits per
/// second, or does not fit in 64 bits.
pub fn parse_rate(text: &str) -> Result<u64, ConfigError> {
    RATE.parse(text, None)
}

/// Writes a duration in the largest unit in which it is whole. [`parse_duration`] reads it back.
///
/// ```
/// # use parades_config::units::format_duration;
/// # use parades_core::time::Delay;
/// assert_eq!(format_duration(Delay::from_us(1500)), "1500us");
/// assert_eq!(format_duration(Delay::from_secs(120)), "2min");
/// ```
pub fn format_duration(duration: Delay) -> String {
    DURATION.format(duration.as_ps())
}

/// Writes a point of virtual time as the duration since the start of the run. [`parse_time`] reads it back.
pub fn format_time(time: Time) -> String {
    DURATION.format(time.as_ps())
}

/// Writes a data size in the largest unit in which it is whole. [`parse_size`] reads it back.
///
/// ```
/// # use parades_config::units::format_size;
/// assert_eq!([format_size(131_072), format_size(500_000), format_size(0)], ["128KiB", "500kB", "0B"]);
/// ```
pub fn format_size(bytes: u64) -> String {
    SIZE.format(bytes)
}

/// Writes a rate in the largest unit in which it is whole. [`parse_rate`] reads it back.
///
/// ```
/// # use parades_config::units::format_rate;
/// assert_eq!(format_rate(1_544_000), "1544kbps");
/// ```
pub fn format_rate(bits_per_second: u64) -> String {
    RATE.format(bits_per_second)
}
