//! Attributes of elements, and the rules of XML that its reader leaves to its user.

use crate::build::Builder;
use crate::fault::{Fault, one_line};
use crate::units::Quantity;
use parades_config::{nearest, quoted};
use quick_xml::events::{BytesRef, BytesStart};

/// A position in a text that lies in memory.
pub(super) fn to_offset(position: u64) -> usize {
    usize::try_from(position).expect("the text is in memory")
}

/// XML that breaks XML's own rules.
pub(super) fn malformed(offset: usize, why: impl std::fmt::Display) -> Fault {
    Fault::new(
        offset,
        format!("this is not well-formed XML: {}", one_line(&why.to_string())),
        "compare the file with its source; it may be cut off",
    )
}

/// The letter that `&...;` stands for. Entities that a document defines are never expanded.
pub(super) fn resolve(entity: &BytesRef<'_>, offset: usize) -> Result<char, Fault> {
    if let Some(letter) = entity.resolve_char_ref().map_err(|why| malformed(offset, why))? {
        return Ok(letter);
    }
    match &**entity {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        unknown => {
            let message = format!("the entity {} is not one of XML's own", quoted(unknown));
            Err(Fault::new(offset, message, "write the character itself, or its number as &#...;"))
        }
    }
}

/// The attributes of an element. Empty ones count as absent.
#[derive(Debug)]
pub(super) struct Attributes {
    element: String,
    offset: usize,
    values: Vec<(String, String)>,
}

impl Attributes {
    /// Those of a tag, all of which must be known.
    pub(super) fn of(builder: &Builder, tag: &BytesStart<'_>, known: &[&str]) -> Result<Attributes, Fault> {
        let element = tag.local_name().as_ref().to_owned();
        let mut values = Vec::new();
        // That none occurs twice, the reader checks.
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|why| malformed(builder.at, why))?;
            let key = attribute.key.as_ref();
            if !known.contains(&key) {
                let help = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "delete it".to_owned(),
                };
                return Err(builder.wrong(format!("<{element}> has no attribute {}", quoted(key)), help));
            }
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
            let value = value.map_err(|why| malformed(builder.at, why))?;
            if !value.is_empty() {
                values.push((key.to_owned(), value.into_owned()));
            }
        }
        Ok(Attributes { element, offset: builder.at, values })
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// A value that must be there.
    pub(super) fn required(&self, name: &str) -> Result<&str, Fault> {
        self.get(name)
            .ok_or_else(|| Fault::new(self.offset, format!("<{}> has no {name}", self.element), "add the attribute"))
    }

    /// Something wrong with a value.
    pub(super) fn wrong(&self, name: &str, what: &str) -> Fault {
        let value = quoted(self.get(name).unwrap_or_default());
        Fault::new(self.offset, format!("the {name} of <{}>, {value}, {what}", self.element), "correct it")
    }

    /// A quantity with its unit.
    pub(super) fn quantity(&self, name: &str, quantity: &Quantity) -> Result<Option<f64>, Fault> {
        let read = |text| quantity.read(text).map_err(|what| self.wrong(name, &what));
        self.get(name).map(read).transpose()
    }

    pub(super) fn required_quantity(&self, name: &str, quantity: &Quantity) -> Result<f64, Fault> {
        self.required(name)?;
        Ok(self.quantity(name, quantity)?.expect("it is there"))
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, Fault> {
        let read = |text: &str| {
            text.trim().parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| self.wrong(name, "is not a number"))
        };
        self.get(name).map(read).transpose()
    }

    pub(super) fn whole(&self, name: &str) -> Result<Option<u32>, Fault> {
        let whole = self.number(name)?.map(|x| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`as` saturates; compared below"
            )]
            let whole = x as u32;
            // A state of power may be written as `0.0`.
            ((f64::from(whole) - x).abs() < 1e-9).then_some(whole)
        });
        whole.map(|whole| whole.ok_or_else(|| self.wrong(name, "is not a whole number"))).transpose()
    }

    /// One of a few words, whatever their case.
    pub(super) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)], default: T) -> Result<T, Fault> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
        found.map(|&(_, choice)| choice).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|&(word, _)| word).collect();
            self.wrong(name, &format!("is none of {}", words.join(", ")))
        })
    }

    /// Three numbers.
    pub(super) fn coordinates(&self) -> Result<Option<[f64; 3]>, Fault> {
        let Some(text) = self.get("coordinates") else { return Ok(None) };
        let numbers = text.split_whitespace().map(|word| word.parse().ok().filter(|x: &f64| x.is_finite()));
        let numbers: Option<Vec<f64>> = numbers.collect();
        match numbers.as_deref() {
            Some(&[x, y, height]) => Ok(Some([x, y, height])),
            _ => Err(self.wrong("coordinates", "are not three numbers")),
        }
    }
}
