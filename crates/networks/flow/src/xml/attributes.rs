//! Attributes of elements.

use crate::build::Builder;
use crate::units::Quantity;
use parades_config::{Fault, nearest, quoted};
use parades_topology::xml::malformed;
use quick_xml::events::BytesStart;

/// The attributes that hosts and links have in version 3 only.
const ONLY_IN_VERSION_3: [&str; 2] = ["state", "availability"];

/// The attributes of an element. An attribute with an empty value counts as absent.
#[derive(Debug)]
pub(super) struct Attributes {
    element: String,
    offset: usize,
    values: Vec<(String, String)>,
}

impl Attributes {
    /// Reads the attributes of a tag. An attribute that is not in `known` is a fault. In version 3, `power`
    /// means `speed`.
    pub(super) fn of(builder: &Builder, tag: &BytesStart<'_>, known: &[&str]) -> Result<Attributes, Fault> {
        let element = tag.local_name().as_ref().to_owned();
        let mut values = Vec::new();
        // The parser checks that no attribute occurs twice.
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|why| malformed(builder.offset, why))?;
            let key = match attribute.key.as_ref() {
                "power" if builder.is_version_3 => "speed",
                key => key,
            };
            let is_old = builder.is_version_3 && known.contains(&"state_file") && ONLY_IN_VERSION_3.contains(&key);
            if !known.contains(&key) && !is_old {
                let help = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => "delete it".to_owned(),
                };
                return Err(builder.wrong(format!("<{element}> has no attribute {}", quoted(key)), help));
            }
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
            let value = value.map_err(|why| malformed(builder.offset, why))?;
            if !value.is_empty() && values.iter().all(|(known, _)| known != key) {
                values.push((key.to_owned(), value.into_owned()));
            }
        }
        Ok(Attributes { element, offset: builder.offset, values })
    }

    /// Returns the value of an attribute, if it is present.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// Returns the value of an attribute. Its absence is a fault.
    pub(super) fn required(&self, name: &str) -> Result<&str, Fault> {
        self.get(name)
            .ok_or_else(|| Fault::new(self.offset, format!("<{}> has no {name}", self.element), "add the attribute"))
    }

    /// Returns the fault that the value of an attribute is wrong. `what` completes the sentence after the
    /// value.
    pub(super) fn wrong(&self, name: &str, what: &str) -> Fault {
        let value = quoted(self.get(name).unwrap_or_default());
        Fault::new(self.offset, format!("the {name} of <{}>, {value}, {what}", self.element), "correct it")
    }

    /// Reads a number with its unit.
    pub(super) fn quantity(&self, name: &str, quantity: &Quantity) -> Result<Option<f64>, Fault> {
        let read = |text| quantity.read(text).map_err(|what| self.wrong(name, &what));
        self.get(name).map(read).transpose()
    }

    /// Reads a number with its unit. Its absence is a fault.
    pub(super) fn required_quantity(&self, name: &str, quantity: &Quantity) -> Result<f64, Fault> {
        self.required(name)?;
        Ok(self.quantity(name, quantity)?.expect("the line above checks that it is present"))
    }

    /// Reads a finite number.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, Fault> {
        let read = |text: &str| {
            text.trim().parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| self.wrong(name, "is not a number"))
        };
        self.get(name).map(read).transpose()
    }

    /// Reads a whole number.
    pub(super) fn whole(&self, name: &str) -> Result<Option<u32>, Fault> {
        let whole = self.number(name)?.map(|x| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`as` saturates; compared below"
            )]
            let whole = x as u32;
            // SimGrid's files write some whole numbers, such as a host's pstate, as `0.0`.
            ((f64::from(whole) - x).abs() < 1e-9).then_some(whole)
        });
        whole.map(|whole| whole.ok_or_else(|| self.wrong(name, "is not a whole number"))).transpose()
    }

    /// Reads one of the words in `choices`, in upper or lower case. Returns `default` if the attribute is
    /// absent.
    pub(super) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)], default: T) -> Result<T, Fault> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
        found.map(|&(_, choice)| choice).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|&(word, _)| word).collect();
            self.wrong(name, &format!("is none of {}", words.join(", ")))
        })
    }

    /// Reads the attribute `coordinates`: three numbers.
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
