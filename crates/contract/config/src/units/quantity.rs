//! Reading and writing the values of one kind of quantity.
//!
//! *Read next*: [`crate::number`], the exact arithmetic.

use super::{DURATION, RATE, SIZE};
use crate::error::{ConfigError, quoted};
use crate::nearest::{list, nearest};
use crate::number::Number;
use parades_core::text::is_same;

/// A kind of quantity: its units, and the words that messages about it need.
#[derive(Debug)]
pub struct Quantity {
    /// The quantity's name with its article, such as `a duration`.
    pub(super) noun: &'static str,
    /// The name of the base unit, in the plural. Values are counts of base units.
    pub(super) base: &'static str,
    /// Each unit's name and its size in base units, the smallest unit first.
    pub(super) units: &'static [(&'static str, u64)],
    /// Other names of units, in any order. They are read, and never written.
    pub(super) also: &'static [(&'static str, u64)],
    /// True if a part of a base unit is rounded, false if it is an error.
    pub(super) rounds: bool,
    /// A text that is right, shown in messages.
    pub(super) example: &'static str,
    /// The text of the value zero, which is a whole number in every unit.
    pub(super) zero: &'static str,
    /// The limit that a value too large for 64 bits exceeds, as messages state it.
    pub(super) limit: &'static str,
}

impl Quantity {
    /// Returns the names of the units that are written, the smallest unit first.
    ///
    /// ```
    /// # use parades_config::units::RATE;
    /// assert_eq!(RATE.unit_names().collect::<Vec<_>>(), ["bps", "kbps", "Mbps", "Gbps", "Tbps"]);
    /// ```
    pub fn unit_names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.units.iter().map(|&(name, _)| name)
    }

    /// Returns the names of all units that are read.
    pub fn all_unit_names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.units.iter().chain(self.also).map(|&(name, _)| name)
    }

    /// Returns the number of base units in `unit`, or `None` if there is no such unit.
    pub(crate) fn base_units_in(&self, unit: &str) -> Option<u64> {
        self.units.iter().chain(self.also).find(|(name, _)| *name == unit).map(|&(_, size)| size)
    }

    /// Returns true if `unit` is one of the units. Unlike `base_units_in`, this can be called in a constant.
    pub(crate) const fn has_unit(&self, unit: &str) -> bool {
        let mut index = 0;
        while index < self.units.len() && !is_same(self.units[index].0, unit) {
            index += 1;
        }
        index < self.units.len()
    }

    /// Reads a number and its unit, with or without a space between them. A number without a unit counts in
    /// `default_unit`, and is an error if there is no default unit.
    pub(crate) fn parse(&self, text: &str, default_unit: Option<&str>) -> Result<u64, ConfigError> {
        let trimmed = text.trim();
        let Some((number, after)) = Number::read(trimmed) else {
            let help = format!("write a number and a unit, such as `{}`", self.example);
            return Err(ConfigError::new(format!("{} is not {}", quoted(text), self.noun)).with_help(help));
        };
        let unit_size = match (after.trim_start(), default_unit.and_then(|unit| self.base_units_in(unit))) {
            ("", Some(size)) => size,
            ("", None) => {
                let help = format!("{}, as in `{}`", self.units_help(), self.example);
                return Err(ConfigError::new(format!("{} has no unit", quoted(text))).with_help(help));
            }
            (unit, _) => self.base_units_in(unit).ok_or_else(|| self.unknown_unit(trimmed, unit))?,
        };
        let product = number.times(unit_size);
        // A negative number may also be too large to be counted.
        if number.negative && product.as_ref().is_none_or(|product| product.rounded > 0 || !product.is_exact) {
            return Err(ConfigError::new(format!("{} is negative", quoted(text)))
                .with_help(format!("{} is at least 0", self.noun)));
        }
        let Some(product) = product else {
            return Err(ConfigError::new(format!("{} is too large", quoted(text))).with_help(self.limit));
        };
        if !product.is_exact && !self.rounds {
            let message = format!("{} is not a whole number of {}", quoted(text), self.base);
            return Err(ConfigError::new(message));
        }
        Ok(product.rounded)
    }

    /// Writes `value` in the largest unit in which it is whole.
    pub(crate) fn format(&self, value: u64) -> String {
        if value == 0 {
            return self.zero.to_owned();
        }
        let largest_whole = self.units.iter().rfind(|&(_, size)| value.is_multiple_of(*size));
        let &(name, size) = largest_whole.expect("every value is whole in the base unit");
        format!("{}{name}", value / size)
    }

    /// Returns the part of a message that lists the units: `a rate's units are bps, kbps, …`.
    fn units_help(&self) -> String {
        format!("{}'s units are {}", self.noun, list(self.unit_names(), "and"))
    }

    /// Returns the error about `text`, whose unit is not one of the units.
    fn unknown_unit(&self, text: &str, unit: &str) -> ConfigError {
        if let Some(other) = [DURATION, SIZE, RATE].iter().find(|other| other.base_units_in(unit).is_some()) {
            let message = format!("{} is {}, not {}", quoted(text), other.noun, self.noun);
            return ConfigError::new(message).with_help(self.units_help());
        }
        let message = format!("{} has the unknown unit {}", quoted(text), quoted(unit));
        // A bit is never suggested for a byte, nor a byte for a bit.
        let is_alike = |name: &&str| of_data(unit).zip(of_data(name)).is_none_or(|(given, other)| given == other);
        let help = match nearest(unit, self.all_unit_names().filter(is_alike)) {
            Some(near) => format!("did you mean `{near}`? {}", self.units_help()),
            None => self.units_help(),
        };
        ConfigError::new(message).with_help(help)
    }
}

/// The unit of data that the name of a unit contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    Bit,
    Byte,
}

/// Returns the unit of data in the name `unit`, which may be misspelt. Returns `None` if it has none.
fn of_data(unit: &str) -> Option<Data> {
    let small = unit.to_lowercase();
    match unit.find(['b', 'B']).map(|place| &unit[place..]) {
        None => None,
        Some(_) if small.contains("bit") => Some(Data::Bit),
        Some(_) if small.contains("byte") => Some(Data::Byte),
        Some(name) if name.starts_with('B') => Some(Data::Byte),
        Some(_) => Some(Data::Bit),
    }
}
