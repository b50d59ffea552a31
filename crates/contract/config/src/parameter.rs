//! What a scenario says of each of its parameters: the kind, the range, the default, the meaning.
//!
//! A description is a constant, and a mistake in it (a default outside its range, an unknown unit) does not compile:
//!
//! ```compile_fail,E0080
//! # use parades_config::Parameter;
//! const TREES: Parameter = Parameter::integer("trees", 0, 1..=64, "trees that are grown");
//! ```
//!
//! *Read next*: [`crate::value`], one value; [`crate::values`], those of a whole scenario.

use crate::nearest::list;
use crate::units::{DURATION, Quantity, RATE, SIZE};
use crate::value::{Value, float_range};
use parades_core::time::Delay;
use std::ops::RangeInclusive;

/// One parameter of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    key: &'static str,
    kind: Kind,
    meaning: &'static str,
    pub(crate) positive: bool,
    bare: Option<&'static str>,
}

/// What values a parameter has, with its default.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields say what they are: the default, and the least and most that are allowed")]
pub enum Kind {
    /// A whole number.
    Integer { default: u64, least: u64, most: u64 },
    /// A number.
    Float { default: f64, least: f64, most: f64 },
    /// A number between 0 and 1; `10%` is read as well.
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
    /// A file, none by default.
    Path,
}

/// The constructors, for constants.
///
/// # Panics
///
/// Each on a default that its own range or unit does not allow; in a constant that is an error of the compiler.
impl Parameter {
    const fn new(key: &'static str, kind: Kind, meaning: &'static str) -> Parameter {
        assert!(!key.is_empty() && !meaning.is_empty(), "a parameter needs a key and a meaning");
        Parameter { key, kind, meaning, positive: false, bare: None }
    }

    /// A whole number within `range`.
    pub const fn integer(
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
        meaning: &'static str,
    ) -> Parameter {
        let (least, most) = (*range.start(), *range.end());
        assert!(default >= least && default <= most, "the default is out of its range");
        Parameter::new(key, Kind::Integer { default, least, most }, meaning)
    }

    /// A number within `range`, whose ends may be infinite.
    pub const fn float(
        key: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
        meaning: &'static str,
    ) -> Parameter {
        let (least, most) = (*range.start(), *range.end());
        assert!(default >= least && default <= most && default.is_finite(), "the default is out of its range");
        Parameter::new(key, Kind::Float { default, least, most }, meaning)
    }

    /// A number between 0 and 1.
    pub const fn fraction(key: &'static str, default: f64, meaning: &'static str) -> Parameter {
        assert!(default >= 0.0 && default <= 1.0, "a fraction is between 0 and 1");
        Parameter::new(key, Kind::Fraction { default }, meaning)
    }

    /// A span of virtual time.
    pub const fn duration(key: &'static str, default: Delay, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Duration { default }, meaning)
    }

    /// A data size; `default` in bytes.
    pub const fn size(key: &'static str, default: u64, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Size { default }, meaning)
    }

    /// A rate; `default` in bits per second.
    pub const fn rate(key: &'static str, default: u64, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Rate { default }, meaning)
    }

    /// True or false.
    pub const fn boolean(key: &'static str, default: bool, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Boolean { default }, meaning)
    }

    /// One of the words `of`.
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

    /// Any text.
    pub const fn text(key: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Text { default }, meaning)
    }

    /// A file, none by default. In a scenario file it is relative to that file's folder.
    pub const fn path(key: &'static str, meaning: &'static str) -> Parameter {
        Parameter::new(key, Kind::Path, meaning)
    }

    /// The same duration, size, rate or number, which must be above 0.
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

    /// The same quantity, for which a number alone counts in `unit`.
    pub const fn bare(mut self, unit: &'static str) -> Parameter {
        let Some(quantity) = self.kind.quantity() else {
            panic!("only durations, sizes and rates have units");
        };
        assert!(quantity.has_unit(unit), "there is no such unit");
        self.bare = Some(unit);
        self
    }
}

impl Parameter {
    /// Its name, as in `--set KEY=VALUE`.
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// What values it has.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What it means, for the user.
    pub const fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// The unit in which a number alone counts.
    pub fn bare_unit(&self) -> Option<&'static str> {
        self.bare
    }

    /// The value it has unless it is set.
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

    /// What may be given, in a few words: `integer from 1 to 64`, `duration above 0; a number alone counts in s`.
    pub fn accepts(&self) -> String {
        let mut words = match self.kind {
            Kind::Integer { least: 0, most: u64::MAX, .. } => "integer".to_owned(),
            Kind::Integer { least, most: u64::MAX, .. } => format!("integer, at least {least}"),
            Kind::Integer { least, most, .. } => format!("integer from {least} to {most}"),
            Kind::Float { least, most, .. } if (least, most) == (f64::NEG_INFINITY, f64::INFINITY) => {
                "number".to_owned()
            }
            Kind::Float { least, most, .. } => format!("number {}", float_range(least, most)),
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
        if let Some(unit) = self.bare {
            words.push_str("; a number alone counts in ");
            words.push_str(unit);
        }
        words
    }
}

impl Kind {
    /// What a value is, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Kind::Integer { .. } => "a whole number",
            Kind::Float { .. } | Kind::Fraction { .. } => "a number",
            Kind::Duration { .. } | Kind::Size { .. } | Kind::Rate { .. } => "a number with its unit",
            Kind::Boolean { .. } => "`true` or `false`",
            Kind::Choice { .. } | Kind::Text { .. } | Kind::Path => "text",
        }
    }

    /// Returns the quantity that values of this kind are, if they have a unit.
    pub const fn quantity(&self) -> Option<&'static Quantity> {
        match self {
            Kind::Duration { .. } => Some(&DURATION),
            Kind::Size { .. } => Some(&SIZE),
            Kind::Rate { .. } => Some(&RATE),
            _ => None,
        }
    }
}

/// Returns true if two texts are the same. Unlike `==`, this can be called in a constant.
pub(crate) const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}
