//! The parameters of a file: the table `[parameters]`. Other values refer to them as `"$name"`. The command
//! line sets them by `--set name=value`.

use crate::given::{Entry, Found, Given, Reader, What, at, suggestion};
use crate::paths;
use crate::shape::{Form, QUEUE_KEYS, QUEUE_OF_LINK, Shape, TABLES, TOP};
use parades_config::units::{parse_duration, parse_rate, parse_size};
use parades_config::{ConfigError, Kind, Parameter, Source, Value, Values, quoted};
use parades_core::time::Delay;
use std::sync::{Arc, Mutex};

/// The values of a file's parameters, and of the keys that the command line sets.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    values: Values,
    /// The keys that are set, by their paths.
    set: Vec<(String, Entry)>,
}

/// The meaning of a parameter, as far as this program knows.
const MEANING: &str = "a parameter of the file";

/// The largest number of parameters of a file.
const PARAMETERS_MAX: usize = 1000;
/// The longest chain of parameters that refer to each other.
const CHAIN_MAX: usize = 16;

/// Returns the parameters that `[parameters]` declares, with the values there. `file` has all tables.
pub(crate) fn declared(source: &Source, entries: &[Entry], file: &[Entry]) -> Result<Values, ConfigError> {
    if let Some(entry) = entries.get(PARAMETERS_MAX) {
        let message = format!("the file has {} parameters, more than {PARAMETERS_MAX}", entries.len());
        return Err(at(source, &entry.key_span, message, "write what never changes where it is used"));
    }
    let mut parameters = Vec::with_capacity(entries.len());
    for entry in entries {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if entry.key.is_empty() || !entry.key.chars().all(is_word) {
            let message = format!("{} is no name for a parameter", quoted(&entry.key));
            return Err(at(source, &entry.key_span, message, "use letters, digits, `_` and `-`"));
        }
        parameters.push(match used_as(&entry.key, file).map(|used| used.with_key(leaked(&entry.key))) {
            Some(used) => checked(source, entry, used)?,
            None => parameter(source, entry)?,
        });
    }
    let mut values = Values::new("the network", interned(&parameters));
    // As presets: a parameter that is not set otherwise has the file's value.
    for entry in entries {
        match &entry.value.what {
            What::Text(text) | What::Number(text) => values.preset(&entry.key, text),
            What::Boolean(value) => values.preset(&entry.key, &value.to_string()),
            _ => {}
        }
    }
    let parameters = Parameters { values, set: Vec::new() };
    let reader = Reader { source, parameters: &parameters };
    for entry in entries {
        parameters.look_up(reader, &entry.value)?;
    }
    Ok(parameters.values)
}

/// Returns the declaration of the keys that have the parameter `name` as their value, without conditions.
/// `None` if there is no such key, or if two are of different kinds, or if one takes more than one value.
fn used_as(name: &str, file: &[Entry]) -> Option<Parameter> {
    let mut uses = Vec::new();
    for entry in file.iter().filter(|entry| entry.key != "parameters") {
        let of_top = || TOP.iter().find(|key| key.is_called(&entry.key));
        match (&entry.value.what, TABLES.iter().find(|shape| shape.name == entry.key)) {
            (What::Table(own), Some(shape)) => collect_uses(name, shape, own, &mut uses),
            (What::List(tables), Some(shape)) => tables.iter().for_each(|table| {
                if let What::Table(own) = &table.what {
                    collect_uses(name, shape, own, &mut uses);
                }
            }),
            (what, _) if refers_to(what, name) => uses.push(of_top().map(|key| key.form)),
            _ => {}
        }
    }
    let mut parameters = uses.into_iter().map(|form| match form {
        // Packets, a size or a name: the reader of the key knows which.
        Some(Form::Limit | Form::Queue | Form::Packet) => Some(Parameter::text("used", "", MEANING)),
        // A path is relative to the folder of this file, which only its reader knows.
        Some(Form::One(parameter)) if !matches!(parameter.kind(), Kind::Path) => Some(parameter.without_needs()),
        _ => None,
    });
    let first = parameters.next()??;
    let is_alike = |other: Option<Parameter>| {
        let kinds = other.map(|other| [first.kind(), other.kind()]);
        kinds.is_some_and(|[a, b]| std::mem::discriminant(&a) == std::mem::discriminant(&b))
    };
    parameters.all(is_alike).then_some(first)
}

/// Collects the forms of the keys of a table that have the parameter `name` as their value.
fn collect_uses(name: &str, shape: &Shape, own: &[Entry], uses: &mut Vec<Option<Form>>) {
    let kind = own.iter().find(|entry| entry.key == "kind").map(|entry| &entry.value.what);
    let kind = match kind {
        Some(What::Text(kind)) => shape.kinds.iter().find(|known| known.is_called(kind)),
        _ => None,
    };
    for Entry { key, value, .. } in own {
        match &value.what {
            What::Table(queue) if QUEUE_KEYS.contains(&key.as_str()) => collect_uses(name, &QUEUE_OF_LINK, queue, uses),
            What::List(list) if list.iter().any(|given| refers_to(&given.what, name)) => uses.push(None),
            what if refers_to(what, name) => {
                let known = shape.keys_of(kind).find(|known| known.is_called(key));
                uses.push(known.map(|known| known.form));
            }
            _ => {}
        }
    }
}

fn refers_to(what: &What, name: &str) -> bool {
    matches!(what, What::Text(text) if text.strip_prefix('$') == Some(name))
}

/// Returns the declaration of a parameter, after its value in the file has been checked.
fn checked(source: &Source, entry: &Entry, parameter: Parameter) -> Result<Parameter, ConfigError> {
    let (text, is_text) = match &entry.value.what {
        What::Text(text) => (text.clone(), true),
        What::Number(text) => (text.clone(), false),
        What::Boolean(value) => (value.to_string(), false),
        _ => return self::parameter(source, entry),
    };
    let takes_text = !matches!(
        parameter.kind(),
        Kind::Integer { .. } | Kind::Float { .. } | Kind::Fraction { .. } | Kind::Boolean { .. }
    );
    let is_percent = is_text && text.ends_with('%');
    if text.starts_with('$') || (is_text && !takes_text && !is_percent) {
        return self::parameter(source, entry);
    }
    let wrong =
        |error: ConfigError| at(source, &entry.value.span, error.message(), error.help().unwrap_or("correct it"));
    parameter.parse(&text).map_err(wrong)?;
    Ok(parameter)
}

/// Returns a parameter of the kind that its value shows.
fn parameter(source: &Source, entry: &Entry) -> Result<Parameter, ConfigError> {
    let key: &'static str = leaked(&entry.key);
    Ok(match &entry.value.what {
        What::Boolean(default) => Parameter::boolean(key, *default, MEANING),
        What::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') => {
            let range = Parameter::integer(key, 0, 0..=u64::MAX, MEANING);
            range
                .parse(text)
                .map_err(|error| at(source, &entry.value.span, error.message(), "choose a smaller one"))?;
            range
        }
        What::Number(text) => {
            let range = Parameter::float(key, 0.0, f64::NEG_INFINITY..=f64::INFINITY, MEANING);
            range.parse(text).map_err(|error| at(source, &entry.value.span, error.message(), "write a number"))?;
            range
        }
        What::Text(text) if parse_rate(text).is_ok() => Parameter::rate(key, 0, MEANING),
        What::Text(text) if parse_duration(text).is_ok() => Parameter::duration(key, Delay::ZERO, MEANING),
        What::Text(text) if parse_size(text).is_ok() => Parameter::size(key, 0, MEANING),
        What::Text(_) => Parameter::text(key, "", MEANING),
        other => {
            let message =
                format!("the parameter `{}` must be a number, text or `true`, not {}", entry.key, other.noun());
            return Err(at(source, &entry.value.span, message, "write a value such as `\"10Mbps\"`"));
        }
    })
}

/// Adds the keys of a file to its parameters, by their paths.
pub(crate) fn with_keys(declared: Values, file: Arc<Vec<Entry>>) -> Values {
    declared.with_further(move |path| {
        let Some(target) = paths::find(&file, path)? else { return Ok(None) };
        Ok(interned(&[target.parameter(leaked(path))]).first())
    })
}

impl Parameters {
    /// Returns the values of a file's parameters and keys. `declared` are its parameters alone.
    pub(crate) fn new(values: &Values, declared: &Values, file: &[Entry]) -> Parameters {
        let mut set = Vec::new();
        for (parameter, value) in values.iter().filter(|(parameter, _)| declared.get(parameter.key()).is_none()) {
            let key = parameter.key().rsplit('.').next().unwrap_or(parameter.key());
            for path in paths::expand(file, parameter.key()) {
                if let Ok(Some(target)) = paths::find(file, &path) {
                    set.push((parameter.key().contains('*'), (path, target.entry(key, value.to_string()))));
                }
            }
        }
        // The first entry of a path counts, so those that name their table go before those that name many.
        set.sort_by_key(|(is_pattern, _)| *is_pattern);
        let set = set.into_iter().map(|(_, entry)| entry).collect();
        Parameters { values: values.clone(), set }
    }

    /// Returns true if keys that cannot act are noted, not refused.
    pub(crate) fn allows_idle(&self) -> bool {
        self.values.allows_idle()
    }

    /// Returns true if the command line sets keys of the file.
    pub(crate) fn sets_keys(&self) -> bool {
        !self.set.is_empty()
    }

    /// Returns true if the command line sets keys of this table.
    pub(crate) fn sets_keys_of(&self, table: &str) -> bool {
        self.set.iter().any(|(path, _)| path.split_once('.').is_some_and(|(first, _)| first == table))
    }

    /// Returns the keys of a table that the command line sets. `path` is the beginning of their paths.
    pub(crate) fn set_below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        self.set.iter().filter_map(move |(set, _)| set.strip_prefix(path).filter(|key| !key.contains('.')))
    }

    /// Returns the entry of a path that the command line sets.
    pub(crate) fn set(&self, path: &str) -> Option<&Entry> {
        self.set.iter().find(|(set, _)| set == path).map(|(_, entry)| entry)
    }

    /// Returns a value, or the value of the parameter to which it refers.
    pub(crate) fn look_up(&self, reader: Reader<'_>, given: &Given) -> Result<Found, ConfigError> {
        if let What::Set(text) = &given.what {
            return Ok(Found::new(as_typed(text), Some("--set".to_owned())));
        }
        let What::Text(text) = &given.what else { return Ok(Found::new(given.what.clone(), None)) };
        let Some(first) = text.strip_prefix('$') else { return Ok(Found::new(given.what.clone(), None)) };
        let mut chain = vec![first.to_owned()];
        loop {
            let name = chain.last().expect("it begins with one");
            let Some(value) = self.values.get(name) else {
                let names = self.values.iter().map(|(parameter, _)| parameter.key()).collect::<Vec<_>>();
                let help = if names.is_empty() {
                    format!("declare it: `{name} = …` below `[parameters]`")
                } else {
                    suggestion(name, names.iter().copied()).replace("its keys are", "there are")
                };
                return Err(reader.error(&given.span, format!("there is no parameter {}", quoted(name)), help));
            };
            let text = match value {
                Value::Text(text) => text,
                Value::Boolean(value) => return Ok(Found::new(What::Boolean(*value), Some(name.clone()))),
                Value::Integer(_) | Value::Float(_) => {
                    return Ok(Found::new(What::Number(value.to_string()), Some(name.clone())));
                }
                other => return Ok(Found::new(What::Text(other.to_string()), Some(name.clone()))),
            };
            let Some(next) = text.strip_prefix('$') else {
                return Ok(Found::new(as_typed(text), Some(name.clone())));
            };
            if chain.len() == CHAIN_MAX {
                let message = format!(
                    "`${first}` refers to a parameter that refers to another, and so on more than {CHAIN_MAX} times"
                );
                return Err(reader.error(&given.span, message, "give it its value"));
            }
            let repeats = chain.iter().any(|before| before == next);
            chain.push(next.to_owned());
            if repeats {
                let chain = chain.iter().map(|name| format!("`${name}`")).collect::<Vec<_>>().join(" is ");
                let message = format!("the parameters refer to each other in a circle: {chain}");
                return Err(reader.error(&given.span, message, "give one of them a value"));
            }
        }
    }
}

/// Returns a number or text, whichever the text shows.
fn as_typed(text: &str) -> What {
    match text.parse::<f64>() {
        Ok(_) => What::Number(text.to_owned()),
        Err(_) => What::Text(text.to_owned()),
    }
}

/// Names and lists of parameters that live as long as the program. Those of built-in scenarios are constants,
/// and those of files must live as long. Equal ones are kept once: reading the same file many times takes no
/// more memory.
static KEPT: Mutex<(Vec<&'static str>, Vec<&'static [Parameter]>)> = Mutex::new((Vec::new(), Vec::new()));

fn leaked(name: &str) -> &'static str {
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = kept.0.iter().find(|known| **known == name) {
        return known;
    }
    let name: &'static str = String::leak(name.to_owned());
    kept.0.push(name);
    name
}

fn interned(parameters: &[Parameter]) -> &'static [Parameter] {
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let alike = |a: &Parameter, b: &Parameter| format!("{a:?}") == format!("{b:?}");
    let same =
        |known: &[Parameter]| known.len() == parameters.len() && known.iter().zip(parameters).all(|(a, b)| alike(a, b));
    if let Some(known) = kept.1.iter().find(|known| same(known)) {
        return known;
    }
    let parameters: &'static [Parameter] = Vec::leak(parameters.to_vec());
    kept.1.push(parameters);
    parameters
}
