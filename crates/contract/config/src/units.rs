//! Quantities with units: durations, data sizes and rates.
//!
//! Text is converted by exact decimal arithmetic. A duration is rounded to the nearest picosecond; a size must be whole bytes and a
//! rate whole bits per second. Sizes count bytes and nothing else; rates count bits, as link rates do everywhere in the field. What
//! is printed uses the largest unit in which it is a whole number, so that reading it gives the same value back.

use crate::error::{ConfigError, quoted};
use crate::nearest::{list, nearest};
use crate::number::Number;
use crate::parameter::same;
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

/// A kind of quantity: its units, the largest first, each with how many base units it is.
#[derive(Debug)]
pub(crate) struct Quantity {
    /// With its article: `a duration`.
    noun: &'static str,
    /// What the values count, in the plural.
    base: &'static str,
    units: &'static [(&'static str, u64)],
    /// Whether parts of a base unit are rounded, rather than refused.
    rounds: bool,
    example: &'static str,
    /// How no quantity at all is written, although it is whole in every unit.
    zero: &'static str,
    /// Why larger values are refused.
    most: &'static str,
}

/// Durations, in picoseconds.
pub(crate) const DURATION: Quantity = Quantity {
    noun: "a duration",
    base: "picoseconds",
    units: &[
        ("h", 3_600_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("s", 1_000_000_000_000),
        ("ms", 1_000_000_000),
        ("us", 1_000_000),
        // The micro sign, and the Greek letter that looks the same; read, never printed.
        ("\u{b5}s", 1_000_000),
        ("\u{3bc}s", 1_000_000),
        ("ns", 1_000),
        ("ps", 1),
    ],
    rounds: true,
    example: "10s",
    zero: "0s",
    most: "virtual time ends after 213 days",
};

/// Data sizes, in bytes.
pub(crate) const SIZE: Quantity = Quantity {
    noun: "a size",
    base: "bytes",
    units: &[
        ("TiB", 1 << 40),
        ("TB", 1_000_000_000_000),
        ("GiB", GIB),
        ("GB", 1_000_000_000),
        ("MiB", MIB),
        ("MB", 1_000_000),
        ("KiB", KIB),
        ("kB", 1_000),
        ("B", 1),
    ],
    rounds: false,
    example: "1500B",
    zero: "0B",
    most: "sizes are below 2^64 bytes",
};

/// Rates, in bits per second.
pub(crate) const RATE: Quantity = Quantity {
    noun: "a rate",
    base: "bits per second",
    units: &[("Tbps", 1_000_000_000_000), ("Gbps", GBPS), ("Mbps", MBPS), ("kbps", KBPS), ("bps", 1)],
    rounds: false,
    example: "10Mbps",
    zero: "0bps",
    most: "rates are below 2^64 bits per second",
};

impl Quantity {
    /// How many base units `unit` is.
    pub(crate) fn base_of(&self, unit: &str) -> Option<u64> {
        self.units.iter().find(|(name, _)| *name == unit).map(|&(_, base)| base)
    }

    /// Whether `unit` is one of its units, in a constant.
    pub(crate) const fn has(&self, unit: &str) -> bool {
        let mut index = 0;
        while index < self.units.len() && !same(self.units[index].0, unit) {
            index += 1;
        }
        index < self.units.len()
    }

    /// The units' names, the smallest first.
    fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.units.iter().rev().map(|&(name, _)| name).filter(|name| name.is_ascii())
    }

    /// `units are ps, ns, … and h`, for messages.
    fn units_help(&self) -> String {
        format!("{}'s units are {}", self.noun, list(self.names(), "and"))
    }

    /// Reads a number and its unit, with or without a space between. Where a `bare` unit is given, a number alone counts in it.
    pub(crate) fn parse(&self, text: &str, bare: Option<&str>) -> Result<u64, ConfigError> {
        let trimmed = text.trim();
        let Some((number, rest)) = Number::read(trimmed) else {
            let help = format!("write a number and a unit, such as `{}`", self.example);
            return Err(ConfigError::new(format!("{} is not {}", quoted(text), self.noun)).with_help(help));
        };
        let base = match (rest.trim_start(), bare.and_then(|unit| self.base_of(unit))) {
            ("", Some(base)) => base,
            ("", None) => {
                let help = format!("{}, as in `{}`", self.units_help(), self.example);
                return Err(ConfigError::new(format!("{} has no unit", quoted(text))).with_help(help));
            }
            (unit, _) => self.base_of(unit).ok_or_else(|| self.unknown_unit(trimmed, unit))?,
        };
        let Some(product) = number.times(base) else {
            return Err(ConfigError::new(format!("{} is too large", quoted(text))).with_help(self.most));
        };
        if number.negative && (product.rounded > 0 || !product.exact) {
            return Err(ConfigError::new(format!("{} is negative", quoted(text)))
                .with_help(format!("{} is at least 0", self.noun)));
        }
        if !product.exact && !self.rounds {
            let message = format!("{} is not a whole number of {}", quoted(text), self.base);
            return Err(ConfigError::new(message));
        }
        Ok(product.rounded)
    }

    fn unknown_unit(&self, text: &str, unit: &str) -> ConfigError {
        if let Some(other) = [DURATION, SIZE, RATE].iter().find(|other| other.base_of(unit).is_some()) {
            let message = format!("{} is {}, not {}", quoted(text), other.noun, self.noun);
            return ConfigError::new(message).with_help(self.units_help());
        }
        let message = format!("{} has the unknown unit {}", quoted(text), quoted(unit));
        let help = match nearest(unit, self.names()) {
            Some(near) => format!("did you mean `{near}`? {}", self.units_help()),
            None => self.units_help(),
        };
        ConfigError::new(message).with_help(help)
    }

    /// `value` in the largest unit in which it is whole.
    pub(crate) fn format(&self, value: u64) -> String {
        if value == 0 {
            return self.zero.to_owned();
        }
        let whole = self.units.iter().find(|(_, base)| value.is_multiple_of(*base));
        let (name, base) = whole.expect("every value is whole in the base unit");
        format!("{}{name}", value / base)
    }
}

/// Reads a duration: `50us`, `1.5ms`, `2min`; rounded to the nearest picosecond.
///
/// ```
/// # use parades_config::units::parse_duration;
/// # use parades_core::time::Delay;
/// assert_eq!(parse_duration("1.5ms")?, Delay::from_us(1500));
/// assert_eq!(parse_duration("0.1 s")?, Delay::from_ms(100));
/// assert_eq!(
///     parse_duration("10").unwrap_err().to_string(),
///     "`10` has no unit; a duration's units are ps, ns, us, ms, s, min and h, as in `10s`"
/// );
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// On text that is no number with a unit, is negative, or is longer than 213 days.
pub fn parse_duration(text: &str) -> Result<Delay, ConfigError> {
    DURATION.parse(text, None).map(Delay::from_ps)
}

/// Reads a point of virtual time, written as the duration since the start.
///
/// # Errors
///
/// As [`parse_duration`].
pub fn parse_time(text: &str) -> Result<Time, ConfigError> {
    DURATION.parse(text, None).map(Time::from_ps)
}

/// Reads a data size in bytes: `1500B`, `128KiB`, `500kB`.
///
/// ```
/// # use parades_config::units::parse_size;
/// assert_eq!(parse_size("1.5KiB")?, 1536);
/// assert!(parse_size("0.3B").is_err()); // not whole bytes
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// On text that is no number with a unit, is negative, not whole bytes, or does not fit in 64 bits.
pub fn parse_size(text: &str) -> Result<u64, ConfigError> {
    SIZE.parse(text, None)
}

/// Reads a rate in bits per second: `10Mbps`, `2.5Gbps`.
///
/// # Errors
///
/// On text that is no number with a unit, is negative, not whole bits per second, or does not fit in 64 bits.
pub fn parse_rate(text: &str) -> Result<u64, ConfigError> {
    RATE.parse(text, None)
}

/// Writes a duration in the largest unit in which it is whole; [`parse_duration`] reads it back.
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

/// Writes a point of virtual time as the duration since the start; [`parse_time`] reads it back.
pub fn format_time(time: Time) -> String {
    DURATION.format(time.as_ps())
}

/// Writes a data size in the largest unit in which it is whole; [`parse_size`] reads it back.
///
/// ```
/// # use parades_config::units::format_size;
/// assert_eq!([format_size(131_072), format_size(500_000), format_size(0)], ["128KiB", "500kB", "0B"]);
/// ```
pub fn format_size(bytes: u64) -> String {
    SIZE.format(bytes)
}

/// Writes a rate in the largest unit in which it is whole; [`parse_rate`] reads it back.
///
/// ```
/// # use parades_config::units::format_rate;
/// assert_eq!(format_rate(1_544_000), "1544kbps");
/// ```
pub fn format_rate(bits_per_second: u64) -> String {
    RATE.format(bits_per_second)
}
