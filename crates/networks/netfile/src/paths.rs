//! Keys of a file by their paths, which the command line can set: `app.video.rate`, `link.west-east.delay`,
//! `defaults.queue`, `routing`.
//!
//! A path is the table, the name in it, and the key. An event or a route has no name: it has its place,
//! counted from 1. Where the queue of a link is a table, its keys have paths too:
//! `link.west-east.queue.limit`. The kind of a queue can be set, and keys of any kind: whether they can act
//! is known when the table is read.
//!
//! In a name, `*` stands for any letters, if several tables are meant: `app.*.rate` is the rate of each app
//! that has one. A path without `*` goes before one with it.

use crate::draft::matches;
use crate::given::{Entry, Given, What, suggestion};
use crate::shape::{Form, Key, LINK, QUEUE_KEYS, QUEUE_OF_LINK, Shape, TABLES, TOP};
use parades_config::{ConfigError, Parameter, SETTINGS, nearest, quoted};
use std::ops::Range;

/// A key of a file, as a path names it.
pub(crate) struct Target {
    /// The declaration of the key's value, without the path.
    pub(crate) form: Form,
    pub(crate) meaning: &'static str,
    /// The place of its value in the file, or else of its table.
    pub(crate) span: Range<usize>,
}

/// Returns the name of a table in paths: its `name`; of a link without one, its ends; of others, their
/// places.
pub(crate) fn name_of(shape: &Shape, entries: &[Entry], place: usize) -> String {
    let text = |key: &str| match &entries.iter().find(|entry| entry.key == key)?.value.what {
        What::Text(text) => Some(text.clone()),
        _ => None,
    };
    let ends = || (shape.name == LINK.name).then(|| Some(format!("{}-{}", text("from")?, text("to")?))).flatten();
    text("name").or_else(ends).unwrap_or_else(|| (place + 1).to_string())
}

/// Returns the key that a path names. `None` if it names no table and no key above the tables.
pub(crate) fn find(entries: &[Entry], path: &str) -> Result<Option<Target>, ConfigError> {
    let entry = |name: &str| entries.iter().find(|entry| entry.key == name);
    let Some((table, rest)) = path.split_once('.') else { return above_tables(path, entry(path)) };
    let Some(shape) = TABLES.iter().find(|shape| shape.name == table) else { return Ok(None) };
    let value = entry(table).map(|entry| &entry.value);
    if !shape.several {
        let (own, span) = match value {
            Some(Given { what: What::Table(own), span }) => (&own[..], span.clone()),
            _ => (&[][..], 0..0),
        };
        let of_queue = |queue: &'static str| Some((queue, rest.strip_prefix(queue)?.strip_prefix('.')?));
        let has = |queue: &str| shape.keys.iter().any(|key| key.is_called(queue));
        return match QUEUE_KEYS.into_iter().filter(|queue| has(queue)).find_map(of_queue) {
            Some((queue, key)) => of_queue_of(own, queue, table, path, key).map(Some),
            None => of_table(shape, own, span, path, rest).map(Some),
        };
    }
    let Some((name, key)) = rest.rsplit_once('.') else {
        let message = format!("{} names {} and no key of it", quoted(path), shape.noun);
        return Err(ConfigError::new(message).with_help(format!("write `{table}.NAME.KEY`")));
    };
    let list = match value {
        Some(Given { what: What::List(list), .. }) => &list[..],
        _ => &[],
    };
    let tables = list.iter().enumerate().filter_map(|(place, given)| match &given.what {
        What::Table(own) => Some((name_of(shape, own, place), own, &given.span)),
        _ => None,
    });
    let tables: Vec<_> = tables.collect();
    let named = |name: &str| tables.iter().find(|(own_name, ..)| own_name == name);
    if let (None, true) = (named(name), shape.name == LINK.name) {
        for queue in QUEUE_KEYS {
            let link = name.strip_suffix(queue).and_then(|link| link.strip_suffix('.'));
            if let Some((link, (_, own, _))) = link.and_then(|link| Some((link, named(link)?))) {
                return of_queue_of(own, queue, &format!("{table}.{link}"), path, key).map(Some);
            }
        }
    }
    match named(name) {
        Some((_, own, span)) => of_table(shape, own, (*span).clone(), path, key).map(Some),
        None if name.contains('*') => {
            let mut like = tables.iter().filter(|(own_name, ..)| matches(name, own_name)).peekable();
            if like.peek().is_none() {
                let message = format!("the file has no {table} with a name like {}", quoted(name));
                let help = tables.first().map_or_else(
                    || format!("the file has no table `{table}`"),
                    |(first, ..)| format!("the first is {}", quoted(first)),
                );
                return Err(ConfigError::new(message).with_help(help));
            }
            let targets: Vec<_> = like.map(|(_, own, span)| of_table(shape, own, (*span).clone(), path, key)).collect();
            let (known, unknown): (Vec<_>, Vec<_>) = targets.into_iter().partition(Result::is_ok);
            known.into_iter().chain(unknown).next().map(|first| first.map(Some)).expect("there is a table")
        }
        None => {
            let names = || tables.iter().map(|(name, ..)| name.as_str());
            let help = match (nearest(name, names()), names().next()) {
                (Some(near), _) => format!("did you mean `{table}.{near}.{key}`?"),
                (None, Some(first)) => format!("the first is {}", quoted(first)),
                (None, None) => format!("the file has no table `{table}`"),
            };
            Err(ConfigError::new(format!("the file has no {table} {}", quoted(name))).with_help(help))
        }
    }
}

/// Returns the paths for which a path stands. A path with `*` as a name, or in it, stands for the key in all
/// tables with such names that know it. Another path stands for itself.
pub(crate) fn expand(entries: &[Entry], path: &str) -> Vec<String> {
    let itself = || vec![path.to_owned()];
    let Some((table, (name, key))) =
        path.split_once('.').and_then(|(table, rest)| Some((table, rest.rsplit_once('.')?)))
    else {
        return itself();
    };
    let (Some(shape), Some(entry)) = (
        TABLES.iter().find(|shape| shape.name == table && shape.several),
        entries.iter().find(|entry| entry.key == table),
    ) else {
        return itself();
    };
    let What::List(list) = &entry.value.what else { return itself() };
    let tables = list.iter().enumerate().filter_map(|(place, given)| match &given.what {
        What::Table(own) => Some((name_of(shape, own, place), own)),
        _ => None,
    });
    let tables: Vec<_> = tables.collect();
    if !name.contains('*') || tables.iter().any(|(own_name, _)| own_name == name) {
        return itself();
    }
    let known = tables
        .iter()
        .filter(|(own_name, own)| matches(name, own_name) && of_table(shape, own, 0..0, path, key).is_ok());
    known.map(|(own_name, _)| format!("{table}.{own_name}.{key}")).collect()
}

/// Returns the table that is the queue of a link, and its place.
fn queue_of<'a>(link: &'a [Entry], key: &str) -> Option<(&'a [Entry], Range<usize>)> {
    match &link.iter().find(|entry| entry.key == key)?.value {
        Given { what: What::Table(own), span } => Some((own, span.clone())),
        _ => None,
    }
}

/// Returns a key of the queue of a link, whose path is `link`.
fn of_queue_of(own: &[Entry], queue: &str, link: &str, path: &str, key: &str) -> Result<Target, ConfigError> {
    match queue_of(own, queue) {
        Some((own, span)) => of_table(&QUEUE_OF_LINK, own, span, path, key),
        None => Err(no_table(own, queue, link, key)),
    }
}

/// Returns the error about a key of a queue that is no table. `path` is that of the table that has the queue.
fn no_table(own: &[Entry], queue: &str, path: &str, key: &str) -> ConfigError {
    let kinds = QUEUE_OF_LINK.kinds_with(key).map(|kind| kind.name).next();
    let whole = format!("`--set {path}.{queue}=…` sets the whole queue: packets, bytes, or a kind such as `codel`");
    let table = format!("write `{queue} = {{ kind = \"{}\", {key} = … }}` in the file", kinds.unwrap_or("droptail"));
    let (is, help) = match own.iter().find(|entry| entry.key == queue).map(|entry| &entry.value.what) {
        None => ("not given there".to_owned(), whole),
        Some(What::Text(text)) if QUEUE_OF_LINK.kinds.iter().any(|kind| kind.is_called(text)) => {
            (format!("{}, a kind without keys of its own", quoted(text)), if key == "kind" { whole } else { table })
        }
        Some(What::Text(text) | What::Number(text)) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            (format!("{}, a limit alone", quoted(text)), if key == "kind" { whole } else { table })
        }
        Some(What::Text(text)) if !text.starts_with('$') => {
            (format!("{}, the name of a queue", quoted(text)), format!("set `queue.{text}.{key}`"))
        }
        Some(_) => ("no table".to_owned(), whole),
    };
    let message = format!("{} has no key {}: its `{queue}` is {is}", quoted(path), quoted(&format!("{queue}.{key}")));
    ConfigError::new(message).with_help(help)
}

fn above_tables(key: &str, entry: Option<&Entry>) -> Result<Option<Target>, ConfigError> {
    let setting = || SETTINGS.iter().find(|setting| setting.key() == key && key != "scenario");
    let (form, meaning) = match (TOP.iter().find(|top| top.name == key), setting()) {
        (Some(top), _) => (top.form, top.meaning),
        (None, Some(setting)) => (Form::One(*setting), setting.meaning()),
        (None, None) => return Ok(None),
    };
    let span = entry.map_or(0..0, |entry| entry.value.span.clone());
    Target::new(key, form, meaning, span).map(Some)
}

fn of_table(shape: &Shape, own: &[Entry], table: Range<usize>, path: &str, name: &str) -> Result<Target, ConfigError> {
    let entry = |name: &str| own.iter().find(|entry| entry.key == name).map(|entry| &entry.value);
    let kind = match entry("kind").map(|given| &given.what) {
        Some(What::Text(kind)) => shape.kinds.iter().find(|known| known.is_called(kind)),
        _ => None,
    };
    // The kind may come from a parameter: then any kind's keys will do.
    let of_any = || shape.kinds.iter().flat_map(|kind| kind.keys);
    let keys = || shape.keys_of(kind).chain(of_any().filter(|_| kind.is_none()));
    if shape.has_settable_kind() && keys().all(|key| !key.is_called(name)) {
        // The kind, or a key of another kind, whose form the reader of the table knows.
        if name == "kind" {
            let span = entry(name).map_or(table, |given| given.span.clone());
            return Target::new(path, Form::Limit, "the kind of the queue", span);
        }
        if let Some(other) = of_any().find(|key| key.is_called(name)) {
            return Target::new(path, Form::Limit, other.meaning, table);
        }
    }
    let key: Option<&Key> = keys().find(|key| key.is_called(name) && name != "name");
    let Some(Key { form, meaning, .. }) = key else {
        let message = format!("{} has no key {} that can be set", shape.noun, quoted(name));
        return Err(ConfigError::new(message).with_help(suggestion(name, keys().map(|key| key.name))));
    };
    Target::new(path, *form, meaning, entry(name).map_or(table, |given| given.span.clone()))
}

impl Target {
    /// Returns the key of a path. A list is refused: one value would replace several.
    fn new(path: &str, form: Form, meaning: &'static str, span: Range<usize>) -> Result<Target, ConfigError> {
        if matches!(form, Form::Names | Form::Sides | Form::Flows | Form::Except) {
            let message = format!("{} is a list, which cannot be set", quoted(path));
            return Err(ConfigError::new(message).with_help("change it in the file"));
        }
        Ok(Target { form, meaning, span })
    }

    /// Returns the parameter that has the path as its key.
    pub(crate) fn parameter(&self, path: &'static str) -> Parameter {
        match self.form {
            // The conditions of a key are on other keys of its table, which the reader of the table checks.
            Form::One(parameter) => parameter.with_key(path).without_needs(),
            _ => Parameter::text(path, "", self.meaning),
        }
    }

    /// Returns the entry that stands for the value `text`.
    pub(crate) fn entry(&self, key: &str, text: String) -> Entry {
        let what = What::Set(text);
        Entry { key: key.to_owned(), key_span: self.span.clone(), value: Given { what, span: self.span.clone() } }
    }
}
