//! The values of all parameters of a scenario, with the place where each was set.

use crate::error::{ConfigError, Place, Spot, quoted};
use crate::nearest::{list, nearest, suggestion};
use crate::needs::{Alternative, Term};
use crate::parameter::{Kind, Parameter};
use crate::value::Value;
use parades_core::time::Delay;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The values of the parameters that a scenario declares, in the order of declaration.
///
/// A parameter has its default until a value is set. The getters return values by their kind, such as
/// [`Values::integer`]. A getter panics if the key was not declared, or was declared with another kind. That
/// is a mistake of the scenario, not of the user.
///
/// Two `Values` are equal if they hold the same values for the same keys, wherever the values were set. They
/// serialise to a map in the order of declaration, with the values of [`Parameter::json`].
#[derive(Clone, Debug)]
pub struct Values {
    /// The owner of the parameters, named in messages: a scenario, an engine or a file.
    owner: String,
    entries: Vec<Entry>,
    further: Option<Further>,
    allows_idle: bool,
}

/// Declares a parameter when the user sets it: for owners with more keys than anybody wants to see listed.
/// Returns `None` if there is no such key.
type Declare = dyn Fn(&str) -> Result<Option<&'static Parameter>, ConfigError> + Send + Sync;

#[derive(Clone)]
struct Further(Arc<Declare>);

impl fmt::Debug for Further {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Further")
    }
}

#[derive(Clone, Debug)]
struct Entry {
    parameter: &'static Parameter,
    value: Value,
    origin: Origin,
}

/// A value that the user has set, and that cannot act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The parameter.
    pub key: &'static str,
    /// The term of its condition that does not hold.
    pub term: Term,
    /// True if it is an error, not only worth a note.
    pub is_refused: bool,
}

/// The origin of a value.
#[derive(Clone, Debug)]
enum Origin {
    /// The declaration of the parameter, or a preset.
    Default,
    /// The command line, with the argument as typed.
    Argument(String),
    /// A spot in a scenario file.
    File(Spot),
}

impl Values {
    /// Creates the default values of `parameters`. Messages name `owner` as their owner, for example the
    /// scenario `phold`.
    ///
    /// # Panics
    ///
    /// Panics if two parameters have the same key, or if one needs a parameter or word that does not exist.
    pub fn new(owner: &str, parameters: &'static [Parameter]) -> Values {
        for (index, parameter) in parameters.iter().enumerate() {
            let same = parameters[..index].iter().find(|other| other.key() == parameter.key());
            assert!(same.is_none(), "{owner} declares `{}` twice", parameter.key());
            check_condition(owner, parameter, parameters);
        }
        let entry = |parameter: &'static Parameter| Entry {
            parameter,
            value: parameter.default_value(),
            origin: Origin::Default,
        };
        Values {
            owner: owner.to_owned(),
            entries: parameters.iter().map(entry).collect(),
            further: None,
            allows_idle: false,
        }
    }

    /// Adds keys that `declare` declares when a user sets them. They appear among the values from then on.
    #[must_use]
    pub fn with_further(
        mut self,
        declare: impl Fn(&str) -> Result<Option<&'static Parameter>, ConfigError> + Send + Sync + 'static,
    ) -> Values {
        self.further = Some(Further(Arc::new(declare)));
        self
    }

    /// Sets a value from the command line. `option` is the name of the option, such as `--set`, and
    /// `assignment` its `KEY=VALUE`. A later call replaces the value of an earlier one.
    ///
    /// # Errors
    ///
    /// Fails if the key is unknown, or if the text is not a value of that parameter or is out of range. The
    /// error's place is the argument.
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

    /// Sets a value from the command line from some time of a run on. Otherwise as [`Values::set_argument`].
    /// Returns the parameter, and the value that it had before.
    ///
    /// ```
    /// # use parades_config::{Parameter, Value, Values};
    /// const PARAMETERS: &[Parameter] = &[
    ///     Parameter::integer("nodes", 10, 2..=100, "nodes in the ring"),
    ///     Parameter::fraction("loss", 0.0, "probability that a message is lost").changeable(),
    /// ];
    /// let mut values = Values::new("ring", PARAMETERS);
    /// let (parameter, before) = values.change_argument("--set", "loss=10%")?;
    /// assert_eq!((parameter.key(), before, values.float("loss")), ("loss", Value::Float(0.0), 0.1));
    /// let error = values.change_argument("--set", "nodes=11").unwrap_err().to_string();
    /// let what = "`nodes` may not change during a run; the keys that may are `loss`";
    /// assert_eq!(error, format!("--set nodes=11: {what}"));
    /// # Ok::<(), parades_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also if the parameter is not one that may change during a run. The error lists those that may.
    pub fn change_argument(
        &mut self,
        option: &str,
        assignment: &str,
    ) -> Result<(&'static Parameter, Value), ConfigError> {
        let key = assignment.split_once('=').map_or(assignment, |(key, _)| key).trim();
        let known = self.entries.iter().find(|entry| entry.parameter.key() == key && entry.parameter.may_change());
        let Some(Entry { parameter, value, .. }) = known else {
            let may: Vec<&str> = self.changeable().collect();
            let all = may.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>();
            let all = list(all.iter().map(String::as_str), "and");
            let help = match nearest(key, may.iter().copied()) {
                _ if may.is_empty() => format!("none of {} may", self.owner),
                Some(near) if self.get(key).is_none() => {
                    format!("did you mean `{near}`, of the keys that may: {all}?")
                }
                _ => format!("the keys that may are {all}"),
            };
            let error = ConfigError::new(format!("{} may not change during a run", quoted(key))).with_help(help);
            return Err(error.at(Place::Argument(format!("{option} {assignment}"))));
        };
        let before = (*parameter, value.clone());
        self.set_argument(option, assignment)?;
        Ok(before)
    }

    /// Returns the keys that may change during a run, in the order of declaration.
    pub fn changeable(&self) -> impl Iterator<Item = &'static str> {
        let may = self.entries.iter().filter(|entry| entry.parameter.may_change());
        may.map(|entry| entry.parameter.key())
    }

    /// Sets a value from a scenario file. Errors have no place yet.
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

    /// Replaces the default of `key` by `text`. A value that the user has set stays. This is for a scenario
    /// in which one choice changes the defaults of several parameters.
    ///
    /// # Panics
    ///
    /// Panics if the key was not declared, or if the text is not a value of it.
    pub fn preset(&mut self, key: &str, text: &str) {
        let index = self.index(key);
        let entry = &mut self.entries[index];
        if matches!(entry.origin, Origin::Default) {
            entry.value = entry.parameter.parse(text).unwrap_or_else(|error| panic!("a wrong preset: {error}"));
        }
    }

    /// Lets values that cannot act be noted, not refused: for runs of a sweep, and for a recorded run that is
    /// executed again.
    #[must_use]
    pub fn allowing_idle(self) -> Values {
        Values { allows_idle: true, ..self }
    }

    /// Returns true if values that cannot act are noted, not refused.
    pub fn allows_idle(&self) -> bool {
        self.allows_idle
    }

    /// Returns notes on the values that cannot act ([`Values::idle`]).
    ///
    /// # Errors
    ///
    /// On the first of them that is refused. After [`Values::allowing_idle`], all are noted.
    pub fn check_needs(&self) -> Result<Vec<String>, ConfigError> {
        let note = |idle: Idle| match idle.is_refused && !self.allows_idle {
            true => Err(self.refusal(&idle)),
            false => Ok(idle.term.note(idle.key)),
        };
        self.idle().map(note).collect()
    }

    /// Returns the error on a value that cannot act, at the place where it was set.
    pub fn refusal(&self, idle: &Idle) -> ConfigError {
        let error = idle.term.refusal(idle.key);
        self.place(idle.key).map_or(error.clone(), |place| error.at(place))
    }

    /// Returns the values that cannot act, because a condition of their parameter does not hold.
    ///
    /// A value that is the default is none of them: nobody who gave it expects another result, and the files
    /// of `parades show` have all defaults. A value in a file is not refused if an argument has switched it
    /// off.
    pub fn idle(&self) -> impl Iterator<Item = Idle> {
        let given = self.entries.iter().filter(|Entry { parameter, value, origin }| {
            !matches!(origin, Origin::Default) && *value != parameter.default_value()
        });
        given.filter_map(|Entry { parameter, origin, .. }| {
            let key = parameter.key();
            let term = self.unmet(key, &mut Vec::new())?;
            let by_argument = |key: &str| matches!(self.entry(key).origin, Origin::Argument(_));
            let is_switched_off =
                matches!(origin, Origin::File(_)) && term.0.iter().any(|alternative| by_argument(alternative.key()));
            Some(Idle { key, term, is_refused: !is_switched_off })
        })
    }

    /// Returns the first term without which the parameter `key` cannot act; `None` if it acts.
    /// `seen` are the parameters that need `key`.
    fn unmet(&self, key: &'static str, seen: &mut Vec<&'static str>) -> Option<Term> {
        seen.push(key);
        let unmet = self.entry(key).parameter.condition().terms().filter_map(|term| self.unmet_of(term, seen));
        // The term with the fewest alternatives says most.
        let unmet = unmet.min_by_key(|term| term.0.len());
        seen.pop();
        unmet
    }

    /// Returns the term if it does not hold, or the term that its parameters lack to act.
    fn unmet_of(&self, term: Term, seen: &mut Vec<&'static str>) -> Option<Term> {
        let mut deeper = None;
        for alternative in &term.0 {
            let other = alternative.key();
            let value = &self.entry(other).value;
            let holds = match alternative {
                Alternative::On(_) => value.is_on(),
                Alternative::Off(_) => !value.is_on(),
                Alternative::Is(_, words) => matches!(value, Value::Choice(word) if words.contains(word)),
                Alternative::IsNot(_, words) => matches!(value, Value::Choice(word) if !words.contains(word)),
                Alternative::Above(_, least) => matches!(value, Value::Integer(number) if number > least),
            };
            if !holds {
                continue;
            }
            if matches!(alternative, Alternative::Off(_) | Alternative::IsNot(..)) || seen.contains(&other) {
                return None;
            }
            match self.unmet(other, seen) {
                None => return None,
                Some(term) => deeper = deeper.or(Some(term)),
            }
        }
        deeper.or(Some(term))
    }

    /// Returns true if the user has set `key`, on the command line or in a file.
    pub fn is_set(&self, key: &str) -> bool {
        !matches!(self.entry(key).origin, Origin::Default)
    }

    /// Returns true if the user has set `key` to another value than its default.
    pub fn is_changed(&self, key: &str) -> bool {
        let Entry { parameter, value, .. } = self.entry(key);
        self.is_set(key) && *value != parameter.default_value()
    }

    /// Returns the place where `key` was set, or `None` if it has its default.
    pub fn place(&self, key: &str) -> Option<Place> {
        match &self.entry(key).origin {
            Origin::Default => None,
            Origin::Argument(argument) => Some(Place::Argument(argument.clone())),
            Origin::File(spot) => Some(Place::Spot(spot.clone())),
        }
    }

    /// Returns an error about `key`, for a check that involves several values. The error points at the place
    /// where `key` was set. If `key` has its default, the message says so.
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

    /// Returns the parameters and their values, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, &Value)> {
        self.entries.iter().map(|entry| (entry.parameter, &entry.value))
    }

    /// Returns the declaration of a key that a user may set; `None` if there is no such parameter.
    ///
    /// # Errors
    ///
    /// If the key names something that cannot be set.
    pub fn declaration(&self, key: &str) -> Result<Option<&'static Parameter>, ConfigError> {
        match (self.entries.iter().find(|entry| entry.parameter.key() == key), &self.further) {
            (Some(entry), _) => Ok(Some(entry.parameter)),
            (None, Some(Further(declare))) => declare(key),
            (None, None) => Ok(None),
        }
    }

    /// Returns the value of `key`, of whatever kind, or `None` if there is no such parameter.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.parameter.key() == key).map(|entry| &entry.value)
    }

    /// Returns the value of an integer parameter.
    pub fn integer(&self, key: &str) -> u64 {
        match self.entry(key).value {
            Value::Integer(value) => value,
            _ => self.panic_wrong_kind(key, "an integer"),
        }
    }

    /// Returns the value of a float or a fraction.
    pub fn float(&self, key: &str) -> f64 {
        match self.entry(key).value {
            Value::Float(value) => value,
            _ => self.panic_wrong_kind(key, "a float or a fraction"),
        }
    }

    /// Returns the value of a duration.
    pub fn duration(&self, key: &str) -> Delay {
        match self.entry(key).value {
            Value::Duration(value) => value,
            _ => self.panic_wrong_kind(key, "a duration"),
        }
    }

    /// Returns the value of a size, in bytes.
    pub fn size(&self, key: &str) -> u64 {
        match self.entry(key).value {
            Value::Size(value) => value,
            _ => self.panic_wrong_kind(key, "a size"),
        }
    }

    /// Returns the value of a rate, in bits per second.
    pub fn rate(&self, key: &str) -> u64 {
        match self.entry(key).value {
            Value::Rate(value) => value,
            _ => self.panic_wrong_kind(key, "a rate"),
        }
    }

    /// Returns the value of a boolean.
    pub fn boolean(&self, key: &str) -> bool {
        match self.entry(key).value {
            Value::Boolean(value) => value,
            _ => self.panic_wrong_kind(key, "a boolean"),
        }
    }

    /// Returns the value of a choice, one of the declared words.
    pub fn choice(&self, key: &str) -> &'static str {
        match self.entry(key).value {
            Value::Choice(word) => word,
            _ => self.panic_wrong_kind(key, "a choice"),
        }
    }

    /// Returns the value of a text.
    pub fn text(&self, key: &str) -> &str {
        match &self.entry(key).value {
            Value::Text(text) => text,
            _ => self.panic_wrong_kind(key, "a text"),
        }
    }

    /// Returns the value of a path, or `None` if it is not set. A path from a scenario file is relative to
    /// the folder of that file, and any other to the working directory.
    pub fn path(&self, key: &str) -> Option<PathBuf> {
        let entry = self.entry(key);
        match (&entry.value, &entry.origin) {
            (Value::Path(path), _) if path.is_empty() => None,
            (Value::Path(path), Origin::File(spot)) => {
                Some(spot.file.parent().map_or_else(|| PathBuf::from(path), |folder| folder.join(path)))
            }
            (Value::Path(path), _) => Some(PathBuf::from(path)),
            _ => self.panic_wrong_kind(key, "a path"),
        }
    }

    fn index(&self, key: &str) -> usize {
        let position = self.entries.iter().position(|entry| entry.parameter.key() == key);
        position.unwrap_or_else(|| panic!("{} declares no `{key}`", self.owner))
    }

    fn entry(&self, key: &str) -> &Entry {
        &self.entries[self.index(key)]
    }

    /// Returns the entry of a key that the user gave, which may be unknown.
    fn entry_mut(&mut self, key: &str) -> Result<&mut Entry, ConfigError> {
        let known = self.entries.iter().position(|entry| entry.parameter.key() == key);
        let index = match (known, &self.further) {
            (Some(index), _) => index,
            (None, None) => return Err(self.unknown(key)),
            (None, Some(Further(declare))) => {
                let parameter = declare(key)?.ok_or_else(|| self.unknown(key))?;
                self.entries.push(Entry { parameter, value: parameter.default_value(), origin: Origin::Default });
                self.entries.len() - 1
            }
        };
        Ok(&mut self.entries[index])
    }

    pub(crate) fn unknown(&self, key: &str) -> ConfigError {
        let keys = self.entries.iter().map(|entry| entry.parameter.key());
        ConfigError::new(format!("{} has no key {}", self.owner, quoted(key))).with_help(suggestion(key, keys))
    }

    fn panic_wrong_kind(&self, key: &str, kind: &str) -> ! {
        panic!("{} declares `{key}`, but not as {kind}", self.owner)
    }
}

/// Checks that the parameters and words exist that a parameter's condition names.
fn check_condition(owner: &str, parameter: &Parameter, all: &[Parameter]) {
    for alternative in parameter.condition().terms().flat_map(|term| term.0) {
        let (key, other) = (parameter.key(), alternative.key());
        let kind = all.iter().find(|known| known.key() == other).map(Parameter::kind);
        let is_known = match (&alternative, kind) {
            (Alternative::Is(_, words) | Alternative::IsNot(_, words), Some(Kind::Choice { of, .. })) => {
                words.iter().all(|word| of.contains(word))
            }
            (Alternative::Above(..), kind) => matches!(kind, Some(Kind::Integer { .. })),
            (Alternative::Is(..) | Alternative::IsNot(..), _) | (_, None | Some(Kind::Choice { .. })) => false,
            (_, Some(_)) => true,
        };
        assert!(is_known, "{owner} declares that `{key}` needs {alternative:?}, which cannot be");
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
