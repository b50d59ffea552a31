//! The data of nodes and edges that a network uses, and their values.

use crate::geo::Position;
use parades_config::{Fault, quoted};

/// A kind of data that a network uses. All other data of a file is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Label,
    Latitude,
    Longitude,
    Hyperedge,
    Internal,
    Speed,
    SpeedUnits,
    SpeedRaw,
}

/// The number of kinds of data.
const FIELDS: usize = 8;

impl Field {
    /// Returns the kind that a `<key>` with this `for` and `attr.name` declares.
    pub(super) fn of_key(domain: &str, name: &str) -> Option<Field> {
        let (field, wanted) = match name {
            "label" => (Field::Label, "node"),
            "Latitude" => (Field::Latitude, "node"),
            "Longitude" => (Field::Longitude, "node"),
            "hyperedge" => (Field::Hyperedge, "node"),
            "Internal" => (Field::Internal, "node"),
            "LinkSpeed" => (Field::Speed, "edge"),
            "LinkSpeedUnits" => (Field::SpeedUnits, "edge"),
            "LinkSpeedRaw" => (Field::SpeedRaw, "edge"),
            _ => return None,
        };
        (domain == wanted || domain == "all").then_some(field)
    }

    /// Returns its name in the file.
    fn name(self) -> &'static str {
        match self {
            Field::Label => "label",
            Field::Latitude => "Latitude",
            Field::Longitude => "Longitude",
            Field::Hyperedge => "hyperedge",
            Field::Internal => "Internal",
            Field::Speed => "LinkSpeed",
            Field::SpeedUnits => "LinkSpeedUnits",
            Field::SpeedRaw => "LinkSpeedRaw",
        }
    }
}

/// A value as in the file, and the first byte of its element.
#[derive(Clone, Debug)]
struct Value {
    text: String,
    offset: usize,
}

/// The values of one node or edge, by [`Field`].
#[derive(Clone, Debug, Default)]
pub(super) struct Values([Option<Value>; FIELDS]);

impl Values {
    /// Sets the value of a field from the element at `offset`. A second value is a fault.
    pub(super) fn set(&mut self, field: Field, text: &str, offset: usize) -> Result<(), Fault> {
        let slot = &mut self.0[field as usize];
        if slot.is_some() {
            return Err(Fault::new(offset, format!("{} is given a second time", field.name()), "keep one of the two"));
        }
        *slot = Some(Value { text: text.trim().to_owned(), offset });
        Ok(())
    }

    /// Removes all values.
    pub(super) fn clear(&mut self) {
        self.0.fill(None);
    }

    /// Returns these values over `defaults`.
    pub(super) fn or<'a>(&'a self, defaults: &'a Values) -> Resolved<'a> {
        Resolved { own: self, defaults }
    }
}

/// The values of a node or edge over the defaults of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolved<'a> {
    own: &'a Values,
    defaults: &'a Values,
}

impl Resolved<'_> {
    fn get(&self, field: Field) -> Option<&Value> {
        self.own.0[field as usize].as_ref().or(self.defaults.0[field as usize].as_ref())
    }

    /// Returns the number in a field, and its offset.
    fn number(&self, field: Field) -> Result<Option<(f64, usize)>, Fault> {
        let Some(Value { text, offset }) = self.get(field) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some((number, *offset))),
            _ => Err(Fault::new(
                *offset,
                format!("{} is {}, which is not a number", field.name(), quoted(text)),
                "write a plain number",
            )),
        }
    }

    /// Returns true if a field is a whole number other than zero, or `true`.
    pub(super) fn flag(&self, field: Field) -> Result<Option<bool>, Fault> {
        let Some(Value { text, offset }) = self.get(field) else { return Ok(None) };
        match (text.as_str(), text.parse::<i64>()) {
            ("true", _) => Ok(Some(true)),
            ("false", _) => Ok(Some(false)),
            (_, Ok(number)) => Ok(Some(number != 0)),
            _ => Err(Fault::new(
                *offset,
                format!("{} is {}, which is neither 0 nor 1", field.name(), quoted(text)),
                "write 0 or 1",
            )),
        }
    }

    /// Returns the label, with white space collapsed and control characters removed. `None` if nothing is left.
    pub(super) fn label(&self) -> Option<String> {
        let words: Vec<&str> = self.get(Field::Label)?.text.split_whitespace().collect();
        let label: String = words.join(" ").chars().filter(|letter| !letter.is_control()).collect();
        (!label.is_empty()).then_some(label)
    }

    /// Returns the position of a node, if it is given.
    pub(super) fn position(&self) -> Result<Option<Position>, Fault> {
        match (self.number(Field::Latitude)?, self.number(Field::Longitude)?) {
            (None, None) => Ok(None),
            (Some((latitude, offset)), Some((longitude, _))) => match Position::from_degrees(latitude, longitude) {
                Some(position) => Ok(Some(position)),
                None => Err(Fault::new(
                    offset,
                    format!("there is no place at latitude {latitude:?}, longitude {longitude:?}"),
                    "a latitude lies in -90 to 90 degrees, a longitude in -180 to 180",
                )),
            },
            (Some((_, offset)), None) | (None, Some((_, offset))) => Err(Fault::new(
                offset,
                "a node has one coordinate of two",
                "give both Latitude and Longitude, or neither",
            )),
        }
    }

    /// Returns the rate of an edge in bits per second, if it is given.
    pub(super) fn rate_bps(&self) -> Result<Option<u64>, Fault> {
        if let Some((raw, offset)) = self.number(Field::SpeedRaw)? {
            return rate(raw, offset).map(Some);
        }
        let Some((speed, offset)) = self.number(Field::Speed)? else { return Ok(None) };
        let Some(units) = self.get(Field::SpeedUnits) else {
            return Err(Fault::new(
                offset,
                "LinkSpeed is given without LinkSpeedUnits",
                "add K, M, G or T, or give LinkSpeedRaw",
            ));
        };
        let unit_bps = match units.text.to_ascii_uppercase().as_str() {
            "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            _ => {
                let message = format!("LinkSpeedUnits is {}, which is no unit", quoted(&units.text));
                return Err(Fault::new(units.offset, message, "write K, M, G or T"));
            }
        };
        rate(speed * unit_bps, offset).map(Some)
    }
}

/// Returns a rate in whole bits per second.
fn rate(bits_per_second: f64, offset: usize) -> Result<u64, Fault> {
    // 10^18 is a thousand times the fastest fibre. A larger number is a mistake of units.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on this very line"
    )]
    let whole = (1.0..=1e18).contains(&bits_per_second).then(|| bits_per_second.round() as u64);
    whole.ok_or_else(|| {
        let message = format!("a link cannot have a speed of {bits_per_second:?} bits per second");
        Fault::new(offset, message, "a speed lies between 1 and 10^18 bits per second")
    })
}
