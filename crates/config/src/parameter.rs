//! What a scenario says of each of its parameters: the kind, the range, the default, the meaning.
//!
//! A description is a constant, and a mistake in it (a default outside its range, an unknown unit) does not compile.
//!
//! *Read next*: [`crate::values`], the parameters' values.

use crate::error::{ConfigError, cut, quoted};
use crate::nearest::{list, nearest};
use crate::number::Number;
use crate::units::{DURATION, Quantity, RATE, SIZE};
use parades_core::time::Delay;
use serde::Serialize;
use std::fmt;
use std::ops::RangeInclusive;

/// One parameter of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    key: &'static str,
    kind: Kind,
    meaning: &'static str,
    positive: bool,
    bare: Option<&'static str>,
}

/// What values a parameter has, with its default.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the fields say what they are: the default, and the least and most that are allowed"
)]
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

/// A parameter's value. Its display is the canonical text, which reads back as the same value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Of [`Kind::Integer`].
    Integer(u64),
    /// Of [`Kind::Float`] and [`Kind::Fraction`]; finite.
    Float(f64),
    /// Of [`Kind::Duration`].
    Duration(Delay),
    /// Of [`Kind::Size`], in bytes.
    Size(u64),
    /// Of [`Kind::Rate`], in bits per second.
    Rate(u64),
    /// Of [`Kind::Boolean`].
    Boolean(bool),
    /// Of [`Kind::Choice`].
    Choice(&'static str),
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Path`], as written; empty for none.
    Path(String),
}

/// A value as JSON has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Json {
    /// A path that is not set.
    Null,
    /// A whole number; also a quantity in its bare unit, where it is whole in it.
    Integer(u64),
    /// A number; also a quantity in its bare unit.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// A word, a text, a path, or a quantity with its unit.
    Text(String),
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
        assert!(
            default >= least && default <= most && default.is_finite(),
            "the default is out of its range"
        );
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
        while index < of.len() && !same(of[index], default) {
            index += 1;
        }
        assert!(index < of.len(), "the default is none of the choices");
        Parameter::new(key, Kind::Choice { default, of }, meaning)
    }

    /// Any text.
    pub const fn text(
        key: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Parameter {
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
            _ => panic!(
                "`positive` is for durations, sizes, rates and numbers; an integer has its range"
            ),
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
        assert!(quantity.has(unit), "there is no such unit");
        self.bare = Some(unit);
        self
    }
}

impl Parameter {
    /// Its name, as in `--set KEY=VALUE`.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// What values it has.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What it means, for the user.
    pub fn meaning(&self) -> &'static str {
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
            Kind::Float { least, most, .. }
                if (least, most) == (f64::NEG_INFINITY, f64::INFINITY) =>
            {
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

    /// Reads the value that `text` is for this parameter.
    ///
    /// # Errors
    ///
    /// On text that is no such value, or one outside the range. The error has no place yet.
    pub fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        let quantity = |quantity: &Quantity| {
            let value = quantity.parse(text, self.bare).map_err(|error| error.about(self.key))?;
            self.check_positive(value > 0, text).map(|()| value)
        };
        match self.kind {
            Kind::Integer { least, most, .. } => {
                self.parse_integer(text, least, most).map(Value::Integer)
            }
            Kind::Float { least, most, .. } => {
                self.parse_float(text, least, most).map(Value::Float)
            }
            Kind::Fraction { .. } => self.parse_float(text, 0.0, 1.0).map(Value::Float),
            Kind::Duration { .. } => {
                quantity(&DURATION).map(|ps| Value::Duration(Delay::from_ps(ps)))
            }
            Kind::Size { .. } => quantity(&SIZE).map(Value::Size),
            Kind::Rate { .. } => quantity(&RATE).map(Value::Rate),
            Kind::Boolean { .. } => text
                .trim()
                .parse()
                .map(Value::Boolean)
                .map_err(|_| self.must_be(self.kind.noun(), &quoted(text))),
            Kind::Choice { of, .. } => self.parse_choice(text, of).map(Value::Choice),
            Kind::Text { .. } => Ok(Value::Text(text.to_owned())),
            Kind::Path => Ok(Value::Path(text.to_owned())),
        }
    }

    fn parse_integer(&self, text: &str, least: u64, most: u64) -> Result<u64, ConfigError> {
        let Some((number, "")) = Number::read(text.trim()) else {
            return Err(self.must_be(self.kind.noun(), &quoted(text)));
        };
        let product = number.times(1);
        if product.as_ref().is_some_and(|product| !product.exact) {
            return Err(self.must_be(self.kind.noun(), &cut(text.trim())));
        }
        match product.map(|product| product.rounded) {
            Some(value) if (least..=most).contains(&value) && (value == 0 || !number.negative) => {
                Ok(value)
            }
            None if most == u64::MAX => Err(self.must_be("below 2^64", &cut(text.trim()))),
            Some(_) if most == u64::MAX => {
                Err(self.must_be(&format!("at least {least}"), &cut(text.trim())))
            }
            _ => Err(self.must_be(&format!("between {least} and {most}"), &cut(text.trim()))),
        }
    }

    fn parse_float(&self, text: &str, least: f64, most: f64) -> Result<f64, ConfigError> {
        let fraction = matches!(self.kind, Kind::Fraction { .. });
        let (number, shift) = match Number::read(text.trim()) {
            Some((number, "")) => (number, 0),
            Some((number, "%")) if fraction => (number, -2),
            _ => return Err(self.must_be(self.kind.noun(), &quoted(text))),
        };
        match number.to_f64(shift) {
            Some(value) if value >= least && value <= most => {
                self.check_positive(value > 0.0, text).map(|()| value)
            }
            _ => Err(self.must_be(&float_range(least, most), &cut(text.trim()))),
        }
    }

    fn parse_choice(
        &self,
        text: &str,
        of: &'static [&'static str],
    ) -> Result<&'static str, ConfigError> {
        if let Some(choice) = of.iter().find(|choice| **choice == text.trim()) {
            return Ok(choice);
        }
        let error = self.must_be(&list(of.iter().copied(), "or"), &quoted(text));
        Err(match nearest(text.trim(), of.iter().copied()) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error,
        })
    }

    fn check_positive(&self, is_positive: bool, text: &str) -> Result<(), ConfigError> {
        if self.positive && !is_positive {
            return Err(self.must_be("above 0", &cut(text.trim())));
        }
        Ok(())
    }

    /// `` `remote` must be between 0 and 1, not 1.5 ``.
    pub(crate) fn must_be(&self, what: &str, given: &str) -> ConfigError {
        ConfigError::new(format!("`{}` must be {what}, not {given}", self.key))
    }

    /// `value` as JSON has it: a quantity with a bare unit as a number of that unit, one without as text with its unit.
    pub fn json(&self, value: &Value) -> Json {
        match value {
            Value::Duration(delay) => self.quantity_json(delay.as_ps(), value),
            Value::Size(amount) | Value::Rate(amount) => self.quantity_json(*amount, value),
            Value::Integer(value) => Json::Integer(*value),
            Value::Float(value) => Json::Number(*value),
            Value::Boolean(value) => Json::Boolean(*value),
            Value::Choice(word) => Json::Text((*word).to_owned()),
            Value::Path(path) if path.is_empty() => Json::Null,
            Value::Text(text) | Value::Path(text) => Json::Text(text.clone()),
        }
    }

    fn quantity_json(&self, amount: u64, value: &Value) -> Json {
        match self.bare.and_then(|unit| self.kind.quantity()?.base_of(unit)) {
            None => Json::Text(value.to_string()),
            Some(base) if amount.is_multiple_of(base) => Json::Integer(amount / base),
            Some(base) => Json::Number(amount as f64 / base as f64),
        }
    }
}

impl Kind {
    /// What a value is, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Kind::Integer { .. } => "a whole number",
            Kind::Float { .. } | Kind::Fraction { .. } => "a number",
            Kind::Duration { .. } | Kind::Size { .. } | Kind::Rate { .. } => {
                "a number with its unit"
            }
            Kind::Boolean { .. } => "`true` or `false`",
            Kind::Choice { .. } | Kind::Text { .. } | Kind::Path => "text",
        }
    }

    const fn quantity(&self) -> Option<&'static Quantity> {
        match self {
            Kind::Duration { .. } => Some(&DURATION),
            Kind::Size { .. } => Some(&SIZE),
            Kind::Rate { .. } => Some(&RATE),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Float(value) => f.write_str(&format_float(*value)),
            Value::Duration(delay) => f.write_str(&DURATION.format(delay.as_ps())),
            Value::Size(bytes) => f.write_str(&SIZE.format(*bytes)),
            Value::Rate(bits_per_second) => f.write_str(&RATE.format(*bits_per_second)),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Choice(word) => f.write_str(word),
            Value::Text(text) | Value::Path(text) => f.write_str(text),
        }
    }
}

/// The shortest text that reads back as the same double: `1`, `0.1`, `1e300`.
fn format_float(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn float_range(least: f64, most: f64) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, true) => format!("between {} and {}", format_float(least), format_float(most)),
        (true, false) => format!("at least {}, and finite", format_float(least)),
        (false, true) => format!("at most {}, and finite", format_float(most)),
        (false, false) => "finite".to_owned(),
    }
}

/// Whether two texts are the same, in a constant.
pub(crate) const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}
