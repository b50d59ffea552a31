//! One value of a parameter: reading it from text, checking it against the declaration, printing it, and
//! converting it to JSON.
//!
//! *Read next*: [`crate::values`].

use crate::error::{ConfigError, quoted, shortened};
use crate::nearest::{list, nearest};
use crate::number::Number;
use crate::parameter::{Kind, Parameter};
use crate::units::{DURATION, Quantity, RATE, SIZE};
use parades_core::time::Delay;
use serde::Serialize;
use std::fmt;

/// The value of a parameter. It displays as canonical text, which reads back as the same value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A value of [`Kind::Integer`].
    Integer(u64),
    /// A value of [`Kind::Float`] or [`Kind::Fraction`]. It is finite.
    Float(f64),
    /// A value of [`Kind::Duration`].
    Duration(Delay),
    /// A value of [`Kind::Size`], in bytes.
    Size(u64),
    /// A value of [`Kind::Rate`], in bits per second.
    Rate(u64),
    /// A value of [`Kind::Boolean`].
    Boolean(bool),
    /// A value of [`Kind::Choice`].
    Choice(&'static str),
    /// A value of [`Kind::Text`].
    Text(String),
    /// A value of [`Kind::Path`], as written. The text is empty if the path is not set.
    Path(String),
}

/// A value in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Json {
    /// A path that is not set.
    Null,
    /// A whole number. Also a quantity that is a whole number of its parameter's default unit.
    Integer(u64),
    /// A number. Also any other quantity whose parameter has a default unit, as a number of that unit.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// A word, a text or a path. Also a quantity whose parameter has no default unit, with its unit.
    Text(String),
}

impl Value {
    /// Returns true if the value is on: true, above zero, a file, or a text that is not empty. No choice is
    /// on.
    pub fn is_on(&self) -> bool {
        match self {
            Value::Integer(value) | Value::Size(value) | Value::Rate(value) => *value > 0,
            Value::Float(value) => *value > 0.0,
            Value::Duration(value) => *value > Delay::ZERO,
            Value::Boolean(value) => *value,
            Value::Choice(_) => false,
            Value::Text(text) | Value::Path(text) => !text.is_empty(),
        }
    }
}

impl Parameter {
    /// Reads `text` as a value of this parameter.
    ///
    /// # Errors
    ///
    /// Fails if `text` is not a value of this kind, or is out of range. The error has no place yet.
    pub fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        let quantity = |quantity: &Quantity| {
            let value = quantity.parse(text, self.default_unit()).map_err(|error| error.in_key(self.key()))?;
            self.check_positive(value > 0, text).map(|()| value)
        };
        match self.kind() {
            Kind::Integer { min, max, .. } => self.parse_integer(text, min, max).map(Value::Integer),
            Kind::Float { min, max, .. } => self.parse_float(text, min, max).map(Value::Float),
            Kind::Fraction { .. } => self.parse_float(text, 0.0, 1.0).map(Value::Float),
            Kind::Duration { .. } => quantity(&DURATION).map(|ps| Value::Duration(Delay::from_ps(ps))),
            Kind::Size { .. } => quantity(&SIZE).map(Value::Size),
            Kind::Rate { .. } => quantity(&RATE).map(Value::Rate),
            Kind::Boolean { .. } => {
                text.trim().parse().map(Value::Boolean).map_err(|_| self.must_be(self.kind().noun(), &quoted(text)))
            }
            Kind::Choice { of, .. } => self.parse_choice(text, of).map(Value::Choice),
            Kind::Text { .. } => Ok(Value::Text(text.to_owned())),
            Kind::Path => Ok(Value::Path(text.to_owned())),
        }
    }

    fn parse_integer(&self, text: &str, min: u64, max: u64) -> Result<u64, ConfigError> {
        let Some((number, "")) = Number::read(text.trim()) else {
            return Err(self.must_be(self.kind().noun(), &quoted(text)));
        };
        let product = number.times(1);
        if product.as_ref().is_some_and(|product| !product.is_exact) {
            return Err(self.must_be(self.kind().noun(), &shortened(text.trim())));
        }
        match product.map(|product| product.rounded) {
            Some(value) if (min..=max).contains(&value) && (value == 0 || !number.negative) => Ok(value),
            None if max == u64::MAX => Err(self.must_be("below 2^64", &shortened(text.trim()))),
            Some(_) if max == u64::MAX => Err(self.must_be(&format!("at least {min}"), &shortened(text.trim()))),
            _ => Err(self.must_be(&format!("between {min} and {max}"), &shortened(text.trim()))),
        }
    }

    fn parse_float(&self, text: &str, min: f64, max: f64) -> Result<f64, ConfigError> {
        let fraction = matches!(self.kind(), Kind::Fraction { .. });
        let (number, shift) = match Number::read(text.trim()) {
            Some((number, "")) => (number, 0),
            Some((number, "%")) if fraction => (number, -2),
            _ => return Err(self.must_be(self.kind().noun(), &quoted(text))),
        };
        match number.to_f64(shift) {
            Some(value) if value >= min && value <= max => self.check_positive(value > 0.0, text).map(|()| value),
            _ => Err(self.must_be(&float_range(min, max), &shortened(text.trim()))),
        }
    }

    fn parse_choice(&self, text: &str, of: &'static [&'static str]) -> Result<&'static str, ConfigError> {
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
            return Err(self.must_be("above 0", &shortened(text.trim())));
        }
        Ok(())
    }

    /// Returns the error of a wrong value: `` `remote` must be between 0 and 1, not 1.5 ``.
    pub(crate) fn must_be(&self, what: &str, given: &str) -> ConfigError {
        ConfigError::new(format!("`{}` must be {what}, not {given}", self.key()))
    }

    /// Converts `value` to JSON. A quantity becomes a number of the default unit, or text with its unit if
    /// there is no default unit.
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
        match self.default_unit().and_then(|unit| self.kind().quantity()?.base_units_in(unit)) {
            None => Json::Text(value.to_string()),
            Some(base) if amount.is_multiple_of(base) => Json::Integer(amount / base),
            Some(base) => Json::Number(amount as f64 / base as f64),
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

/// Returns the shortest text that reads back as the same number: `1`, `0.1`, `1e300`.
fn format_float(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

pub(crate) fn float_range(min: f64, max: f64) -> String {
    match (min.is_finite(), max.is_finite()) {
        (true, true) => format!("between {} and {}", format_float(min), format_float(max)),
        (true, false) => format!("at least {}, and finite", format_float(min)),
        (false, true) => format!("at most {}, and finite", format_float(max)),
        (false, false) => "finite".to_owned(),
    }
}
