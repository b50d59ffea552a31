//! Scenario files: TOML, with errors that point at the line and column.
//!
//! ```toml
//! scenario = "phold"
//! seed = 7
//! until = "100s"
//!
//! [parameters]
//! lps = 1024
//! mean_delay = "250ms"
//! ```
//!
//! A file is read in two steps, because its `scenario` key determines the parameters that exist.
//! [`ScenarioFile::read`] checks the form and the settings of the run. [`ScenarioFile::apply`] then sets the
//! scenario's values.
//!
//! *Read next*: [`mod@crate::write`], the other direction.

use crate::error::{ConfigError, Place, Source, escaped, quoted};
use crate::inputs;
use crate::nearest::{list, nearest};
use crate::number::Number;
use crate::parameter::{Kind, Parameter};
use crate::units::{DURATION, MIB, Quantity, RATE, SIZE};
use crate::value::Value;
use crate::values::Values;
use parades_core::time::{Delay, Time};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Size of the largest scenario file, in bytes. The parser needs up to a hundred bytes for each byte of the
/// file, so this limits the cost of a wrong path.
pub const FILE_BYTES_MAX: u64 = MIB;

/// Largest number of worker threads: the number of parties that a barrier can have.
pub const THREADS_MAX: u64 = (1 << 15) - 1;

/// The settings, which are the keys above `[parameters]`. Only `scenario` is required. The defaults of the
/// other keys are never read, because [`ScenarioFile::settings`] first asks whether a key is set.
pub const SETTINGS: &[Parameter] = &[
    Parameter::text("scenario", "", "the scenario's name"),
    Parameter::integer("seed", 1, 0..=u64::MAX, "random streams"),
    Parameter::integer("tie_seed", 0, 0..=u64::MAX, "order of simultaneous events"),
    Parameter::duration("until", Delay::ZERO, "virtual end time"),
    Parameter::text("engine", "auto", "the engine"),
    Parameter::integer("threads", 1, 1..=THREADS_MAX, "worker threads in each process"),
    Parameter::integer("processes", 1, 1..=65_536, "processes on this machine"),
];

/// The settings of a run, other than the scenario's parameters. `None` leaves a setting to the command line,
/// and then to its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The name of the scenario.
    pub scenario: String,
    /// The seed of the random streams.
    pub seed: Option<u64>,
    /// The seed that shuffles simultaneous events.
    pub tie_seed: Option<u64>,
    /// The end of virtual time.
    pub until: Option<Time>,
    /// The name of the engine.
    pub engine: Option<String>,
    /// The number of worker threads in each process.
    pub threads: Option<u64>,
    /// The number of processes on this machine.
    pub processes: Option<u64>,
}

/// A scenario file with correct form and settings. Its parameters have not been checked, since only the
/// scenario declares them.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    source: Source,
    settings: Values,
    parameters: Vec<Assignment>,
}

/// A key and its value. The spans are their positions in the file, in bytes.
#[derive(Clone, Debug)]
struct Assignment {
    key: String,
    key_span: Range<usize>,
    value: TomlValue,
    value_span: Range<usize>,
}

/// A TOML value, as far as parameters accept it.
#[derive(Clone, Debug)]
enum TomlValue {
    Number(String),
    Text(String),
    Boolean(bool),
    /// A value that no parameter accepts, by the name of its type.
    Other(&'static str),
}

impl ScenarioFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is larger than [`FILE_BYTES_MAX`], and where
    /// [`ScenarioFile::parse`] fails.
    pub fn read(path: &Path) -> Result<ScenarioFile, ConfigError> {
        let whole_file = |message: String| ConfigError::new(message).at(Place::File(path.to_owned()));
        let unreadable = |error: std::io::Error| {
            let reason = inputs::reason(&error);
            whole_file(format!("cannot be read: {reason}")).with_help("check its name and permissions")
        };
        let bytes = inputs::read(path, FILE_BYTES_MAX).map_err(unreadable)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let help = "check that it is the file you meant";
            return Err(whole_file("is larger than 1 MiB, too large for a scenario".to_owned()).with_help(help));
        }
        match String::from_utf8(bytes) {
            Ok(text) => ScenarioFile::parse(path, text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let source = Source::new(path, String::from_utf8_lossy(error.as_bytes()).into_owned());
                Err(ConfigError::new("the file is not UTF-8 text")
                    .with_help("save it as UTF-8")
                    .at(Place::Spot(source.spot(at..at))))
            }
        }
    }

    /// Reads `text`, the contents of the file `path`.
    ///
    /// # Errors
    ///
    /// Fails on malformed TOML, an unknown key above `[parameters]`, a setting of the wrong type or out of
    /// range, or a missing `scenario`.
    pub fn parse(path: &Path, text: String) -> Result<ScenarioFile, ConfigError> {
        // Editors put a byte order mark here. No column counts it.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let source = Source::new(path, text);
        let (settings, parameters) = separate(&source)?;
        if !settings.is_set("scenario") {
            return Err(ConfigError::new("the file names no scenario")
                .with_help(
                    "write `scenario = \"NAME\"` as its first line, or `network = \"TITLE\"` if it describes a network",
                )
                .at(Place::File(path.to_owned())));
        }
        Ok(ScenarioFile { source, settings, parameters })
    }

    /// Returns the file's settings.
    pub fn settings(&self) -> Settings {
        let set = |key| self.settings.is_set(key);
        let integer = |key| set(key).then(|| self.settings.integer(key));
        Settings {
            scenario: self.settings.text("scenario").to_owned(),
            seed: integer("seed"),
            tie_seed: integer("tie_seed"),
            until: set("until").then(|| Time::from_ps(self.settings.duration("until").as_ps())),
            engine: set("engine").then(|| self.settings.text("engine").to_owned()),
            threads: integer("threads"),
            processes: integer("processes"),
        }
    }

    /// Sets the file's parameters. Values from the command line are set afterwards, and so replace these.
    ///
    /// # Errors
    ///
    /// Fails on the first key, in the order of the file, that is not among `values`, has the wrong type or is
    /// out of range.
    pub fn apply(&self, values: &mut Values) -> Result<(), ConfigError> {
        self.parameters.iter().try_for_each(|assignment| assignment.set(&self.source, values))
    }

    /// Returns an error about the value of the setting `key`, for instance an unknown engine or scenario.
    ///
    /// # Panics
    ///
    /// Panics if there is no such setting.
    #[must_use]
    pub fn error_at(&self, key: &str, message: &str, help: &str) -> ConfigError {
        self.settings.error_at(key, message, help)
    }
}

impl Assignment {
    /// Sets the value among `values`. Errors point at the key or at the value.
    fn set(&self, source: &Source, values: &mut Values) -> Result<(), ConfigError> {
        if values.get(&self.key).is_none() {
            let mut error = values.unknown(&self.key);
            if SETTINGS.iter().any(|setting| setting.key() == self.key) {
                error = error.with_help(format!("`{}` belongs above `[parameters]`", self.key));
            }
            return Err(error.at(Place::Spot(source.spot(self.key_span.clone()))));
        }
        let spot = source.spot(self.value_span.clone());
        values
            .set_from_file(&self.key, spot.clone(), |parameter| self.value.read(parameter))
            .map_err(|error| error.at(Place::Spot(spot)))
    }
}

impl TomlValue {
    /// Returns the value for `parameter`. Text and numbers are read as on the command line, if the
    /// parameter's kind accepts them.
    fn read(&self, parameter: &Parameter) -> Result<Value, ConfigError> {
        match (parameter.kind(), self) {
            (Kind::Boolean { .. }, TomlValue::Boolean(value)) => return Ok(Value::Boolean(*value)),
            (Kind::Fraction { .. }, TomlValue::Text(text)) if text.ends_with('%') => {
                return parameter.parse(text);
            }
            (Kind::Integer { .. } | Kind::Float { .. } | Kind::Fraction { .. }, TomlValue::Number(text))
            | (Kind::Choice { .. } | Kind::Text { .. } | Kind::Path, TomlValue::Text(text))
            | (
                Kind::Duration { .. } | Kind::Size { .. } | Kind::Rate { .. },
                TomlValue::Number(text) | TomlValue::Text(text),
            ) => return parameter.parse(text),
            _ => {}
        }
        let error = parameter.must_be(parameter.kind().noun(), self.noun());
        let quotes = matches!(parameter.kind(), Kind::Choice { .. } | Kind::Text { .. } | Kind::Path);
        Err(match self {
            TomlValue::Text(_) => error.with_help("write it without quotes"),
            TomlValue::Number(_) | TomlValue::Boolean(_) if quotes => error.with_help("write it in quotes"),
            _ => error,
        })
    }

    fn noun(&self) -> &'static str {
        match self {
            TomlValue::Number(_) => "a number",
            TomlValue::Text(_) => "text in quotes",
            TomlValue::Boolean(true) => "`true`",
            TomlValue::Boolean(false) => "`false`",
            TomlValue::Other(noun) => noun,
        }
    }
}

/// Separates the settings from the parameters. Only the settings are checked.
fn separate(source: &Source) -> Result<(Values, Vec<Assignment>), ConfigError> {
    let top = DeTable::parse(&source.text).map_err(|error| malformed(source, &error))?;
    let mut settings = Values::new("a scenario file", SETTINGS);
    let mut parameters = Vec::new();
    for (assignment, table) in assignments(top.get_ref()) {
        match table {
            Some(table) if assignment.key == "parameters" => {
                parameters = assignments(table).into_iter().map(|(assignment, _)| assignment).collect();
            }
            None if assignment.key == "parameters" => {
                let message = format!("`parameters` must be a table, not {}", assignment.value.noun());
                let help = "write `[parameters]` on a line of its own, and the parameters below it";
                let spot = source.spot(assignment.value_span);
                return Err(ConfigError::new(message).with_help(help).at(Place::Spot(spot)));
            }
            _ => assignment.set(source, &mut settings).map_err(|error| misplaced(&assignment.key, error))?,
        }
    }
    Ok((settings, parameters))
}

/// Returns the entries of `table` in the order of the file. An entry that is a table comes with that table.
fn assignments<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(Assignment, Option<&'a DeTable<'i>>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| {
            let assignment = Assignment {
                key: key.get_ref().to_string(),
                key_span: key.span(),
                value: toml_value(value),
                value_span: value.span(),
            };
            (assignment, value.get_ref().as_table())
        })
        .collect();
    entries.sort_by_key(|(assignment, _)| assignment.key_span.start);
    entries
}

fn toml_value(value: &Spanned<DeValue<'_>>) -> TomlValue {
    match value.get_ref() {
        DeValue::String(text) => TomlValue::Text(text.to_string()),
        DeValue::Integer(integer) if integer.radix() == 10 => TomlValue::Number(integer.as_str().to_owned()),
        DeValue::Integer(integer) => {
            let number = u128::from_str_radix(integer.as_str(), integer.radix());
            TomlValue::Number(number.map_or_else(|_| integer.to_string(), |number| number.to_string()))
        }
        DeValue::Float(float) => TomlValue::Number(float.as_str().to_owned()),
        DeValue::Boolean(boolean) => TomlValue::Boolean(*boolean),
        DeValue::Datetime(_) => TomlValue::Other("a date"),
        DeValue::Array(_) => TomlValue::Other("an array"),
        DeValue::Table(_) => TomlValue::Other("a table"),
    }
}

/// Completes the error of a key above `[parameters]`, which may belong below.
fn misplaced(key: &str, error: ConfigError) -> ConfigError {
    let mut known = SETTINGS.iter().map(Parameter::key);
    if known.any(|known| known == key) || nearest(key, SETTINGS.iter().map(Parameter::key)).is_some() {
        return error;
    }
    let known = list(SETTINGS.iter().map(Parameter::key), "and");
    error.with_help(format!("the scenario's own keys belong below `[parameters]`; above it stand {known}"))
}

/// Returns the error of text that is not TOML.
pub fn malformed(source: &Source, error: &toml::de::Error) -> ConfigError {
    let spot = source.spot(error.span().unwrap_or(0..0));
    let line = spot.source_line.clone().unwrap_or_default();
    let message = escaped(&error.message().replace('\n', ", "));
    let (message, help) = match message.as_str() {
        // A word without quotes, or nothing at all, in the place of a value.
        said if said.starts_with("string values must be quoted") => match assignment(&line) {
            Some((_, "")) => ("there is no value", None),
            _ => ("text, and a value with its unit, needs quotes", unquoted(&line)),
        },
        said if said.contains("recurs") => ("nested too deeply", None),
        said => (said, None),
    };
    let error = ConfigError::new(format!("malformed TOML: {message}")).at(Place::Spot(spot));
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

/// Returns the key and the value of a line, whose value must contain neither text in quotes nor `#`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    Some((key.trim(), value.split('#').next()?.trim()))
}

/// Returns the correction of a value without quotes: `` write `until = "10s"` `` for `until = 10s`.
fn unquoted(line: &str) -> Option<String> {
    let (key, value) = assignment(line)?;
    let has_unit = |quantity: &&Quantity| {
        Number::read(value).is_some_and(|(_, unit)| quantity.base_units_in(unit.trim()).is_some())
    };
    let is_word = value.chars().all(|c| c.is_alphanumeric() || "_-./%".contains(c));
    (is_word || [&DURATION, &SIZE, &RATE].iter().any(has_unit))
        .then(|| format!("write {}", quoted(&format!("{key} = \"{value}\""))))
}
