//! A parameter's value: read from text, checked against the description, printed and turned into JSON.
//!
//! *Read next*: [`crate::values`].

use crate::error::{ConfigError, cut, quoted};
use crate::nearest::{list, nearest};
use crate::number::Number;
use crate::parameter::{Kind, Parameter};
use crate::units::{DURATION, Quantity, RATE, SIZE};
use parades_core::time::Delay;
use serde::Serialize;
use std::fmt;

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

impl Parameter {
    /// Reads the value that `text` is for this parameter.
    ///
    /// # Errors
    ///
    /// On text that is no such value, or one outside the range. The error has no place yet.
    pub fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        let quantity = |quantity: &Quantity| {
            let value = quantity.parse(text, self.bare_unit()).map_err(|error| error.about(self.key()))?;
            self.check_positive(value > 0, text).map(|()| value)
        };
        match self.kind() {
            Kind::Integer { least, most, .. } => self.parse_integer(text, least, most).map(Value::Integer),
            Kind::Float { least, most, .. } => self.parse_float(text, least, most).map(Value::Float),
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

    fn parse_integer(&self, text: &str, least: u64, most: u64) -> Result<u64, ConfigError> {
        let Some((number, "")) = Number::read(text.trim()) else {
            return Err(self.must_be(self.kind().noun(), &quoted(text)));
        };
        let product = number.times(1);
        if product.as_ref().is_some_and(|product| !product.is_exact) {
            return Err(self.must_be(self.kind().noun(), &cut(text.trim())));
        }
        match product.map(|product| product.rounded) {
            Some(value) if (least..=most).contains(&value) && (value == 0 || !number.negative) => Ok(value),
            None if most == u64::MAX => Err(self.must_be("below 2^64", &cut(text.trim()))),
            Some(_) if most == u64::MAX => Err(self.must_be(&format!("at least {least}"), &cut(text.trim()))),
            _ => Err(self.must_be(&format!("between {least} and {most}"), &cut(text.trim()))),
        }
    }

    fn parse_float(&self, text: &str, least: f64, most: f64) -> Result<f64, ConfigError> {
        let fraction = matches!(self.kind(), Kind::Fraction { .. });
        let (number, shift) = match Number::read(text.trim()) {
            Some((number, "")) => (number, 0),
            Some((number, "%")) if fraction => (number, -2),
            _ => return Err(self.must_be(self.kind().noun(), &quoted(text))),
        };
        match number.to_f64(shift) {
            Some(value) if value >= least && value <= most => self.check_positive(value > 0.0, text).map(|()| value),
            _ => Err(self.must_be(&float_range(least, most), &cut(text.trim()))),
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
            return Err(self.must_be("above 0", &cut(text.trim())));
        }
        Ok(())
    }

    /// `` `remote` must be between 0 and 1, not 1.5 ``.
    pub(crate) fn must_be(&self, what: &str, given: &str) -> ConfigError {
        ConfigError::new(format!("`{}` must be {what}, not {given}", self.key()))
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
        match self.bare_unit().and_then(|unit| self.kind().quantity()?.base_units_in(unit)) {
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

/// The shortest text that reads back as the same double: `1`, `0.1`, `1e300`.
fn format_float(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

pub(crate) fn float_range(least: f64, most: f64) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, true) => format!("between {} and {}", format_float(least), format_float(most)),
        (true, false) => format!("at least {}, and finite", format_float(least)),
        (false, true) => format!("at most {}, and finite", format_float(most)),
        (false, false) => "finite".to_owned(),
    }
}
