//! The values of all parameters of a scenario, and where each came from.

use crate::error::{ConfigError, Place, Spot, quoted};
use crate::nearest::suggestion;
use crate::parameter::Parameter;
use crate::value::Value;
use parades_core::time::Delay;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::path::PathBuf;

/// A value for each parameter that a scenario declares, defaults included, in the order of declaration.
///
/// The typed getters return the value of a declared parameter. They panic on a key that was not declared, or not with that kind:
/// that is a mistake in the scenario, never one of the user. Two `Values` are equal where they hold the same values for the same
/// keys, wherever those came from. Serialised, they are a map in the order of declaration, with values as [`Parameter::json`] has
/// them.
#[derive(Clone, Debug)]
pub struct Values {
    /// Whose parameters these are, for messages.
    owner: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    parameter: &'static Parameter,
    value: Value,
    origin: Origin,
}

/// Where a value came from.
#[derive(Clone, Debug)]
enum Origin {
    /// The declaration, or a preset.
    Default,
    /// The command line; the argument as typed.
    Argument(String),
    /// A scenario file.
    File(Spot),
}

impl Values {
    /// The defaults of `parameters`, which belong to `owner`: a scenario, an engine.
    ///
    /// # Panics
    ///
    /// Where two parameters have the same key.
    pub fn new(owner: &str, parameters: &'static [Parameter]) -> Values {
        for (index, parameter) in parameters.iter().enumerate() {
            let same = parameters[..index].iter().find(|other| other.key() == parameter.key());
            assert!(same.is_none(), "{owner} declares `{}` twice", parameter.key());
        }
        let entry = |parameter: &'static Parameter| Entry {
            parameter,
            value: parameter.default_value(),
            origin: Origin::Default,
        };
        Values { owner: owner.to_owned(), entries: parameters.iter().map(entry).collect() }
    }

    /// Sets what an argument of the command line says: `option` is its name and `assignment` its `KEY=VALUE`. The last one counts.
    ///
    /// # Errors
    ///
    /// On an unknown key, a text that is no value of that parameter, or a value outside its range; the place is the argument.
    pub fn set_argument(&mut self, option: &str, assignment: &str) -> Result<(), ConfigError> {
        let argument = format!("{option} {assignment}");
        let place = || Place::Argument(argument.clone());
        let Some((key, text)) = assignment.split_once('=') else {
            let error = ConfigError::new(format!("{} is not KEY=VALUE", quoted(assignment)));
            let help = match self.entries.first() {
                Some(first) => format!("write for example `{option} {}={}`", first.parameter.key(), first.value),
                None => format!("{} has none anyway", self.owner),
            };
            return Err(error.with_help(help).at(place()));
        };
        let entry = self.entry_mut(key.trim()).map_err(|error| error.at(place()))?;
        entry.value = entry.parameter.parse(text).map_err(|error| error.at(place()))?;
        entry.origin = Origin::Argument(argument);
        Ok(())
    }

    /// Sets what a scenario file says; errors have no place yet.
    pub(crate) fn set_from_file(
        &mut self,
        key: &str,
        spot: Spot,
        value: impl FnOnce(&Parameter) -> Result<Value, ConfigError>,
    ) -> Result<(), ConfigError> {
        let entry = self.entry_mut(key)?;
        entry.value = value(entry.parameter)?;
        entry.origin = Origin::File(spot);
        Ok(())
    }

    /// Replaces a default by `text`, for a scenario whose presets change several parameters at once. What the user has set stays.
    ///
    /// # Panics
    ///
    /// On an undeclared key, or a text that is no value of it.
    pub fn preset(&mut self, key: &str, text: &str) {
        let index = self.index(key);
        let entry = &mut self.entries[index];
        if matches!(entry.origin, Origin::Default) {
            entry.value = entry.parameter.parse(text).unwrap_or_else(|error| panic!("a wrong preset: {error}"));
        }
    }

    /// Whether the user has set `key`, on the command line or in a file.
    pub fn is_set(&self, key: &str) -> bool {
        !matches!(self.entry(key).origin, Origin::Default)
    }

    /// Where the value of `key` came from; `None` for a default.
    pub fn place(&self, key: &str) -> Option<Place> {
        match &self.entry(key).origin {
            Origin::Default => None,
            Origin::Argument(argument) => Some(Place::Argument(argument.clone())),
            Origin::File(spot) => Some(Place::Spot(spot.clone())),
        }
    }

    /// An error of a check of the whole scenario, at the place where the value of `key` came from. Where that is the declaration,
    /// the message says that the value is the default.
    ///
    /// ```
    /// # use parades_config::{Parameter, Values};
    /// # use parades_core::time::Delay;
    /// # const PARAMETERS: &[Parameter] = &[Parameter::duration("lookahead", Delay::from_ms(100), "least delay")];
    /// let mut values = Values::new("phold", PARAMETERS);
    /// let check = |values: &Values| values.error_at("lookahead", "`lookahead` is above `mean_delay`", "lower it").to_string();
    /// assert_eq!(check(&values), "`lookahead` is above `mean_delay` (`lookahead` is 100ms by default); lower it");
    /// values.set_argument("--set", "lookahead=2s")?;
    /// assert_eq!(check(&values), "--set lookahead=2s: `lookahead` is above `mean_delay`; lower it");
    /// # Ok::<(), parades_config::ConfigError>(())
    /// ```
    #[must_use]
    pub fn error_at(&self, key: &str, message: &str, help: &str) -> ConfigError {
        match self.place(key) {
            Some(place) => ConfigError::new(message).with_help(help).at(place),
            None => {
                let value = match &self.entry(key).value {
                    Value::Path(path) if path.is_empty() => "not set".to_owned(),
                    value => format!("{value} by default"),
                };
                ConfigError::new(format!("{message} (`{key}` is {value})")).with_help(help)
            }
        }
    }

    /// The parameters and their values, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, &Value)> {
        self.entries.iter().map(|entry| (entry.parameter, &entry.value))
    }

    /// The value of `key`, of whatever kind; `None` where there is no such parameter.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.parameter.key() == key).map(|entry| &entry.value)
    }

    /// The value of an integer parameter.
    pub fn integer(&self, key: &str) -> u64 {
        match self.entry(key).value {
            Value::Integer(value) => value,
            _ => self.other_kind(key, "an integer"),
        }
    }

    /// The value of a float or a fraction.
    pub fn float(&self, key: &str) -> f64 {
        match self.entry(key).value {
            Value::Float(value) => value,
            _ => self.other_kind(key, "a float or a fraction"),
        }
    }

    /// The value of a duration.
    pub fn duration(&self, key: &str) -> Delay {
        match self.entry(key).value {
            Value::Duration(value) => value,
            _ => self.other_kind(key, "a duration"),
        }
    }

    /// The value of a size, in bytes.
    pub fn size(&self, key: &str) -> u64 {
        match self.entry(key).value {
            Value::Size(value) => value,
            _ => self.other_kind(key, "a size"),
        }
    }

    /// The value of a rate, in bits per second.
    pub fn rate(&self, key: &str) -> u64 {
        match self.entry(key).value {
            Value::Rate(value) => value,
            _ => self.other_kind(key, "a rate"),
        }
    }

    /// The value of a boolean.
    pub fn boolean(&self, key: &str) -> bool {
        match self.entry(key).value {
            Value::Boolean(value) => value,
            _ => self.other_kind(key, "a boolean"),
        }
    }

    /// The value of a choice: one of the declared words.
    pub fn choice(&self, key: &str) -> &'static str {
        match self.entry(key).value {
            Value::Choice(word) => word,
            _ => self.other_kind(key, "a choice"),
        }
    }

    /// The value of a text.
    pub fn text(&self, key: &str) -> &str {
        match &self.entry(key).value {
            Value::Text(text) => text,
            _ => self.other_kind(key, "a text"),
        }
    }

    /// The value of a path, if it is set: relative to the folder of the scenario file where that file set it, and to the working
    /// directory otherwise.
    pub fn path(&self, key: &str) -> Option<PathBuf> {
        let entry = self.entry(key);
        match (&entry.value, &entry.origin) {
            (Value::Path(path), _) if path.is_empty() => None,
            (Value::Path(path), Origin::File(spot)) => {
                Some(spot.file.parent().map_or_else(|| PathBuf::from(path), |folder| folder.join(path)))
            }
            (Value::Path(path), _) => Some(PathBuf::from(path)),
            _ => self.other_kind(key, "a path"),
        }
    }

    fn index(&self, key: &str) -> usize {
        let position = self.entries.iter().position(|entry| entry.parameter.key() == key);
        position.unwrap_or_else(|| panic!("{} declares no `{key}`", self.owner))
    }

    fn entry(&self, key: &str) -> &Entry {
        &self.entries[self.index(key)]
    }

    /// The entry of a key that the user gave.
    fn entry_mut(&mut self, key: &str) -> Result<&mut Entry, ConfigError> {
        match self.entries.iter().position(|entry| entry.parameter.key() == key) {
            Some(index) => Ok(&mut self.entries[index]),
            None => Err(self.unknown(key)),
        }
    }

    pub(crate) fn unknown(&self, key: &str) -> ConfigError {
        let keys = self.entries.iter().map(|entry| entry.parameter.key());
        ConfigError::new(format!("{} has no key {}", self.owner, quoted(key))).with_help(suggestion(key, keys))
    }

    fn other_kind(&self, key: &str, kind: &str) -> ! {
        panic!("{} declares `{key}`, but not as {kind}", self.owner)
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        let same =
            |(one, other): (&Entry, &Entry)| one.parameter.key() == other.parameter.key() && one.value == other.value;
        self.entries.len() == other.entries.len() && self.entries.iter().zip(&other.entries).all(same)
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for (parameter, value) in self.iter() {
            map.serialize_entry(parameter.key(), &parameter.json(value))?;
        }
        map.end()
    }
}
