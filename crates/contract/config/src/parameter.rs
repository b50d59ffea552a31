//! The declaration of a parameter: its key, kind, range, default and meaning.
//!
//! | constructor | text accepted | getter of [`Values`](crate::Values) | value |
//! |---|---|---|---|
//! | [`integer`](Parameter::integer) | `1024`, `16_384`, `1e6` | `integer` | `u64` |
//! | [`float`](Parameter::float) | `0.5`, `-1.5`, `1e-3` | `float` | `f64` |
//! | [`fraction`](Parameter::fraction) | `0.1`, `10%` | `float` | `f64` |
//! | [`duration`](Parameter::duration) | `250ms`, `10s` | `duration` | `Delay` |
//! | [`size`](Parameter::size) | `1500B`, `128KiB` | `size` | `u64` in bytes |
//! | [`rate`](Parameter::rate) | `10Mbps` | `rate` | `u64` in bits per second |
//! | [`boolean`](Parameter::boolean) | `true`, `false` | `boolean` | `bool` |
//! | [`choice`](Parameter::choice) | one of the declared words | `choice` | `&'static str` |
//! | [`text`](Parameter::text) | any text | `text` | `&str` |
//! | [`path`](Parameter::path) | the name of a file | `path` | `Option<PathBuf>` |
//!
//! [`crate::units`] lists the units of durations, sizes and rates. A declaration is a constant, so a mistake
//! in it does not compile: a default out of its range, or an unknown unit.
//!
//! ```compile_fail,E0080
//! # use parades_config::Parameter;
//! const TREES: Parameter = Parameter::integer("trees", 0, 1..=64, "trees that are grown");
//! ```
//!
//! *Read next*: [`crate::value`], a single value; [`crate::values`], the values of a scenario.

use crate::nearest::list;
use crate::needs::Needs;
use crate::units::{DURATION, Quantity, RATE, SIZE};
use crate::value::{Value, float_range};
use parades_core::text::is_same;
use parades_core::time::Delay;
use std::ops::RangeInclusive;

/// The declaration of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    key: &'static str,
    kind: Kind,
    meaning: &'static str,
    pub(crate) positive: bool,
    default_unit: Option<&'static str>,
    needs: Needs,
    may_change: bool,
}

/// The kind of a parameter's values, with the default and the range.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the fields say what they are: the default, and the smallest and largest value allowed"
)]
pub enum Kind {
    /// A whole number from `min` to `max`.
    Integer { default: u64, min: u64, max: u64 },
    /// A number from `min` to `max`. An infinite bound means that any finite number is allowed on that side.
    Float { default: f64, min: f64, max: f64 },
    /// A number between 0 and 1. Text may write it in percent.
    Fraction { default: f64 },
    /// A span of virtual time.
    Duration { default: Delay },
    /// A data size, in bytes.
    Size { default: u64 },
    /// A rate, in bits per second.
    Rate { default: u64 },
    /// True or false.
    Boolean { default: bool },
    /// One of a few words.
    Choice { default: &'static str, of: &'static [&'static str] },
    /// Any text.
    Text { default: &'static str },
    /// The name of a file. There is none by default.
    Path,
}

/// Constructors, which can be called in constants.
///
/// `key` is the name that users write, as in `--set KEY=VALUE`. `meaning` explains the parameter in a few
/// words; lists, files and error messages show it.
///
/// # Panics
///
/// A constructor panics if the range or the unit does not allow the default. In a constant, this is a compile
/// error.
impl Parameter {
    const fn new(key: &'static str, kind: Kind, meaning: &'static str) -> Parameter {
        assert!(!key.is_empty() && !meaning.is_empty(), "a parameter needs a key and a meaning");
        Parameter { key, kind, meaning, positive: false, default_unit: None, needs: Needs::NONE, may_change: false }
    }

    /// Declares a whole number within `range`.
    pub const fn integer(
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
        meaning: &'static str,
    ) -> Parameter {
        let (min, max) = (*range.start(), *range.end());
        assert!(default >= min && default <= max, "the default is out of its range");
        Parameter::new(key, Kind::Integer { default, min, max }, meaning)
    }

    /// Declares a number within `range`, whose ends may be infinite.
    pub const fn float(
        key: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
        meaning: &'static str,
    ) -> Parameter {
        let (min, max) = (*range.start(), *range.end());
        assert!(default >= min && default <= max && default.is_finite(), "the default is out of its range");
        Parameter::new(key, Kind::Float { default, min, max }, meaning)
    }

    /// Declares a number between 0 and 1.
    pub const fn fraction(key: &'static str, default: f64, meaning: &'static str) -> Parameter {
        assert!(default >= 0.0 && default <= 1.0, "a fraction is between 0 and 1");
        Parameter::new(key, Kind::Fraction { default }, meaning)
    }

    /// Declares a span of virtual time.
    pub const fn duration(key: &'static str, default: Delay, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Duration { default }, meaning)
    }

    /// Declares a data size. `default` is in bytes.
    pub const fn size(key: &'static str, default: u64, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Size { default }, meaning)
    }

    /// Declares a rate. `default` is in bits per second.
    pub const fn rate(key: &'static str, default: u64, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Rate { default }, meaning)
    }

    /// Declares a parameter that is true or false.
    pub const fn boolean(key: &'static str, default: bool, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Boolean { default }, meaning)
    }

    /// Declares a parameter whose value is one of the words in `of`.
    pub const fn choice(
        key: &'static str,
        default: &'static str,
        of: &'static [&'static str],
        meaning: &'static str,
    ) -> Parameter {
        let mut index = 0;
        while index < of.len() && !is_same(of[index], default) {
            index += 1;
        }
        assert!(index < of.len(), "the default is none of the choices");
        Parameter::new(key, Kind::Choice { default, of }, meaning)
    }

    /// Declares a parameter that takes any text.
    pub const fn text(key: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Text { default }, meaning)
    }

    /// Declares a file, with no default. In a scenario file, its path is relative to the folder of that file.
    pub const fn path(key: &'static str, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Path, meaning)
    }

    /// Returns the same declaration under another key.
    pub const fn with_key(mut self, key: &'static str) -> Parameter {
        assert!(!key.is_empty(), "a parameter needs a key");
        self.key = key;
        self
    }

    /// Requires a value above 0. This is for durations, sizes, rates and floats; an integer has its range.
    pub const fn positive(mut self) -> Parameter {
        let above = match self.kind {
            Kind::Duration { default } => default.as_ps() > 0,
            Kind::Size { default } | Kind::Rate { default } => default > 0,
            Kind::Float { default, .. } | Kind::Fraction { default } => default > 0.0,
            _ => panic!("`positive` is for durations, sizes, rates and numbers; an integer has its range"),
        };
        assert!(above, "the default must be above 0 as well");
        self.positive = true;
        self
    }

    /// Makes a number without a unit count in `unit`. Without this call, such a number is an error.
    pub const fn with_default_unit(mut self, unit: &'static str) -> Parameter {
        let Some(quantity) = self.kind.quantity() else {
            panic!("only durations, sizes and rates have units");
        };
        assert!(quantity.has_unit(unit), "there is no such unit");
        self.default_unit = Some(unit);
        self
    }

    /// Returns the same declaration without conditions, for a place without the parameters that they are on.
    pub const fn without_needs(mut self) -> Parameter {
        self.needs = Needs::NONE;
        self
    }

    /// Says that the value may change during a run: in a branch, the handlers use the new value from the cut
    /// on, and nothing else depends on it.
    pub const fn changeable(mut self) -> Parameter {
        self.may_change = true;
        self
    }

    /// Adds a condition on other parameters without which this one has no effect. [`crate::needs`] has the
    /// form of the text. A value that cannot act is refused
    /// ([`Values::check_needs`](crate::Values::check_needs)).
    pub const fn needs(mut self, condition: &'static str) -> Parameter {
        self.needs = self.needs.and(condition);
        self
    }
}

impl Parameter {
    /// Returns the name, as in `--set KEY=VALUE`.
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// Returns the kind of its values.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the meaning, as shown to users.
    pub const fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Returns the unit in which a number without a unit counts, if there is one.
    pub fn default_unit(&self) -> Option<&'static str> {
        self.default_unit
    }

    /// Returns true if the value may change during a run.
    pub const fn may_change(&self) -> bool {
        self.may_change
    }

    /// Returns the condition under which it acts.
    pub const fn condition(&self) -> Needs {
        self.needs
    }

    /// Returns the default value.
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::Integer { default, .. } => Value::Integer(default),
            Kind::Float { default, .. } | Kind::Fraction { default } => Value::Float(default),
            Kind::Duration { default } => Value::Duration(default),
            Kind::Size { default } => Value::Size(default),
            Kind::Rate { default } => Value::Rate(default),
            Kind::Boolean { default } => Value::Boolean(default),
            Kind::Choice { default, .. } => Value::Choice(default),
            Kind::Text { default } => Value::Text(default.to_owned()),
            Kind::Path => Value::Path(String::new()),
        }
    }

    /// Returns the values that may be given, in a few words: `integer from 1 to 64`,
    /// `duration, above 0; a number alone counts in s`.
    pub fn accepts(&self) -> String {
        let mut words = match self.kind {
            Kind::Integer { min: 0, max: u64::MAX, .. } => "integer".to_owned(),
            Kind::Integer { min, max: u64::MAX, .. } => format!("integer, at least {min}"),
            Kind::Integer { min, max, .. } => format!("integer from {min} to {max}"),
            Kind::Float { min, max, .. } if (min, max) == (f64::NEG_INFINITY, f64::INFINITY) => "number".to_owned(),
            Kind::Float { min, max, .. } => format!("number {}", float_range(min, max)),
            Kind::Fraction { .. } => "number between 0 and 1".to_owned(),
            Kind::Duration { .. } => "duration".to_owned(),
            Kind::Size { .. } => "size".to_owned(),
            Kind::Rate { .. } => "rate".to_owned(),
            Kind::Boolean { .. } => "true or false".to_owned(),
            Kind::Choice { of, .. } => list(of.iter().copied(), "or"),
            Kind::Text { .. } => "text".to_owned(),
            Kind::Path => "file".to_owned(),
        };
        if self.positive {
            words.push_str(", above 0");
        }
        if let Some(unit) = self.default_unit {
            words.push_str("; a number alone counts in ");
            words.push_str(unit);
        }
        words
    }
}

impl Kind {
    /// Returns the words for a value of this kind in messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Kind::Integer { .. } => "a whole number",
            Kind::Float { .. } | Kind::Fraction { .. } => "a number",
            Kind::Duration { .. } | Kind::Size { .. } | Kind::Rate { .. } => "a number with its unit",
            Kind::Boolean { .. } => "`true` or `false`",
            Kind::Choice { .. } | Kind::Text { .. } | Kind::Path => "text",
        }
    }

    /// Returns the quantity of this kind, or `None` if its values have no unit.
    pub const fn quantity(&self) -> Option<&'static Quantity> {
        match self {
            Kind::Duration { .. } => Some(&DURATION),
            Kind::Size { .. } => Some(&SIZE),
            Kind::Rate { .. } => Some(&RATE),
            _ => None,
        }
    }
}
