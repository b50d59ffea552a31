//! A file as a tree of values with their places, and one table of it, read by its shape.

use crate::parameters::Parameters;
use crate::paths;
use crate::reference::WITHOUT_DEFAULT;
use crate::shape::{Form, Key, Shape, Variant};
use parades_config::needs::{Alternative, Term};
use parades_config::{ConfigError, Kind, Parameter, Place, Source, Value, nearest, quoted};
use parades_core::time::{Delay, Time};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) what: What,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Text(String),
    Number(String),
    Boolean(bool),
    List(Vec<Given>),
    Table(Vec<Entry>),
    Date,
    /// A value from the command line, as typed.
    Set(String),
}

/// A key and its value, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Given,
}

impl What {
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            What::Text(_) => "text in quotes",
            What::Number(_) => "a number",
            What::Boolean(true) => "`true`",
            What::Boolean(false) => "`false`",
            What::List(_) => "a list",
            What::Table(_) => "a table",
            What::Date => "a date",
            What::Set(_) => "a value",
        }
    }
}

/// Returns the entries of a table, in the order of the file. The parser bounds the depth.
pub(crate) fn entries(table: &DeTable<'_>) -> Vec<Entry> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let text: &std::borrow::Cow<'_, str> = key.get_ref();
        Entry { key: text.to_string(), key_span: key.span(), value: given(value) }
    };
    let mut entries: Vec<Entry> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn given(value: &Spanned<DeValue<'_>>) -> Given {
    let what = match value.get_ref() {
        DeValue::String(text) => What::Text(text.to_string()),
        DeValue::Integer(integer) if integer.radix() == 10 => What::Number(integer.as_str().to_owned()),
        DeValue::Integer(integer) => {
            let number = u128::from_str_radix(integer.as_str(), integer.radix());
            What::Number(number.map_or_else(|_| integer.to_string(), |number| number.to_string()))
        }
        DeValue::Float(float) => What::Number(float.as_str().to_owned()),
        DeValue::Boolean(boolean) => What::Boolean(*boolean),
        DeValue::Datetime(_) => What::Date,
        DeValue::Array(list) => What::List(list.iter().map(given).collect()),
        DeValue::Table(table) => What::Table(entries(table)),
    };
    Given { what, span: value.span() }
}

/// The file and its parameters, for all who read a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a Source,
    pub(crate) parameters: &'a Parameters,
}

impl Reader<'_> {
    /// Returns an error at a place of the file.
    pub(crate) fn error(
        &self,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ConfigError {
        at(self.source, span, message, help)
    }
}

/// Returns an error at a place of a file.
pub(crate) fn at(
    source: &Source,
    span: &Range<usize>,
    message: impl Into<String>,
    help: impl Into<String>,
) -> ConfigError {
    ConfigError::new(message).with_help(help).at(Place::Spot(source.spot(span.clone())))
}

/// A value of a file, or of the parameter to which the file refers.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) what: What,
    /// The name of the parameter.
    via: Option<String>,
}

/// A table with known keys. Its values are not read yet.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) reader: Reader<'a>,
    shape: &'static Shape,
    /// The kind of the table, if its shape has several.
    pub(crate) kind: Option<&'static Variant>,
    /// The place of its header.
    pub(crate) span: Range<usize>,
    entries: &'a [Entry],
    /// The beginning of the paths of its keys, if the command line sets any key.
    path: Option<String>,
}

impl<'a> Fields<'a> {
    /// Returns the tables of a shape, among the entries of the file.
    pub(crate) fn all(
        reader: Reader<'a>,
        top: &'a [Entry],
        shape: &'static Shape,
    ) -> Result<Vec<Fields<'a>>, ConfigError> {
        let Some(entry) = top.iter().find(|entry| entry.key == shape.name) else {
            // The command line may set keys of a table that the file does not have.
            let sets_one = !shape.several && reader.parameters.sets_keys_of(shape.name);
            let own = || Fields::of(reader, shape, &(0..0), &[], path_of(reader, shape, &[], 0));
            return if sets_one { Ok(vec![own()?]) } else { Ok(Vec::new()) };
        };
        let (name, noun) = (shape.name, entry.value.what.noun());
        match &entry.value.what {
            What::Table(entries) if !shape.several => {
                let path = path_of(reader, shape, entries, 0);
                Ok(vec![Fields::of(reader, shape, &entry.value.span, entries, path)?])
            }
            What::List(list) if shape.several => {
                let table = |(place, given): (usize, &'a Given)| match &given.what {
                    What::Table(entries) => {
                        let path = path_of(reader, shape, entries, place);
                        Fields::of(reader, shape, &given.span, entries, path)
                    }
                    other => Err(reader.error(
                        &given.span,
                        format!("`{name}` must be a list of tables, not of {}", other.noun()),
                        format!("write `[[{name}]]` on a line of its own, and its keys below it"),
                    )),
                };
                list.iter().enumerate().map(table).collect()
            }
            _ if shape.several => Err(reader.error(
                &entry.value.span,
                format!("`{name}` must be a list of tables, not {noun}"),
                format!("write `[[{name}]]`, with two brackets, as there may be several"),
            )),
            _ => Err(reader.error(
                &entry.value.span,
                format!("`{name}` must be a table, not {noun}"),
                format!("write `[{name}]`, with one bracket, as there is one"),
            )),
        }
    }

    /// Reads the keys of a table, but not their values. `path` is the beginning of the paths of its keys.
    fn of(
        reader: Reader<'a>,
        shape: &'static Shape,
        span: &Range<usize>,
        entries: &'a [Entry],
        path: Option<String>,
    ) -> Result<Fields<'a>, ConfigError> {
        let mut fields = Fields { reader, shape, kind: None, span: span.clone(), entries, path };
        if !shape.kinds.is_empty() {
            fields.kind = Some(fields.read_kind()?);
        }
        fields.check_keys()?;
        Ok(fields)
    }

    /// Returns the table that is the value of a key. `None` if the value is no table.
    pub(crate) fn table(&self, name: &str, shape: &'static Shape) -> Result<Option<Fields<'a>>, ConfigError> {
        let Some(Entry { value: Given { what: What::Table(entries), span }, .. }) = self.entry(name) else {
            return Ok(None);
        };
        let path = self.path.as_ref().map(|path| format!("{path}{name}."));
        Fields::of(self.reader, shape, span, entries, path).map(Some)
    }

    /// Returns a table of a kind that has no keys but the defaults. Its place is that of the key `name`.
    pub(crate) fn usual(
        &self,
        name: &str,
        shape: &'static Shape,
        kind: &'static Variant,
    ) -> Result<Fields<'a>, ConfigError> {
        let span = self.entry(name).map_or(&self.span, |entry| &entry.value.span).clone();
        let fields = Fields { reader: self.reader, shape, kind: Some(kind), span, entries: &[], path: None };
        fields.check_keys()?;
        Ok(fields)
    }

    /// Checks that the table has all keys that it needs, each once, and no other.
    fn check_keys(&self) -> Result<(), ConfigError> {
        let keys = || self.shape.keys_of(self.kind);
        let has_kinds = !self.shape.kinds.is_empty();
        for entry in self.entries.iter().filter(|entry| !(has_kinds && entry.key == "kind")) {
            let name = entry.key.as_str();
            let Some(key) = keys().find(|key| key.is_called(name)) else {
                if self.may_lack(name) {
                    continue;
                }
                let known = keys().map(|key| key.name).chain(has_kinds.then_some("kind"));
                let near = nearest(name, keys().flat_map(|key| key.also.iter().copied()).chain(known.clone()));
                let help = near.map_or_else(|| suggestion(name, known), |near| format!("did you mean `{near}`?"));
                return Err(self.reader.error(&entry.key_span, self.unknown(name), help));
            };
            let is_same = |other: &&Entry| key.is_called(&other.key) && other.key_span.start < entry.key_span.start;
            if let Some(first) = self.entries.iter().find(is_same) {
                let message = format!("`{name}` and `{}` are two names of one key", first.key);
                return Err(self.reader.error(&entry.key_span, message, "leave one of them out"));
            }
        }
        if let Some(lacking) = self.set_keys_of_other_kinds().find(|key| !self.may_lack(key)) {
            let kinds: Vec<&str> = self.shape.kinds_with(lacking).map(|kind| kind.name).collect();
            let help = format!("it is a key of {}: set `kind` too", kinds.join(", "));
            return Err(self.reader.error(&self.span, self.unknown(lacking), help));
        }
        match keys().find(|key| key.required && !self.has(key.name)) {
            Some(missing) => Err(self.missing(missing)),
            None => Ok(()),
        }
    }

    /// Returns true if the table may have a key that its kind lacks: the kind is set from outside the table,
    /// and other kinds have the key. Then [`Fields::check_needs`] notes the key.
    fn may_lack(&self, name: &str) -> bool {
        let is_set = match self.entry("kind").map(|entry| &entry.value.what) {
            Some(What::Set(_)) => true,
            Some(What::Text(text)) => text.starts_with('$'),
            _ => false,
        };
        is_set && self.shape.has_settable_kind() && self.shape.kinds_with(name).next().is_some()
    }

    /// Returns the keys of a queue that the command line sets, and that its kind lacks.
    fn set_keys_of_other_kinds(&self) -> impl Iterator<Item = &str> {
        let path = self.path.as_deref().filter(|_| self.shape.has_settable_kind());
        let set = path.into_iter().flat_map(|path| self.reader.parameters.set_below(path));
        set.filter(|name| *name != "kind" && !self.shape.keys_of(self.kind).any(|key| key.is_called(name)))
    }

    /// Checks that each key that is given can act beside the others. Returns notes on keys that cannot, where
    /// the reason is the value of a parameter or of an argument, or where [`Parameters::allows_idle`] says
    /// that none is refused.
    pub(crate) fn check_needs(&self) -> Result<Vec<String>, ConfigError> {
        let lacks = |name: &&str| *name != "kind" && !self.shape.keys_of(self.kind).any(|key| key.is_called(name));
        let of_file = self.entries.iter().map(|entry| entry.key.as_str()).filter(lacks);
        let lacking: BTreeSet<&str> = of_file.chain(self.set_keys_of_other_kinds()).collect();
        let mut notes: Vec<String> = lacking
            .into_iter()
            .map(|key| {
                let kinds: Vec<&str> = self.shape.kinds_with(key).map(|kind| kind.name).collect();
                format!("{} has no `{key}`, which is a key of {}", self.noun(), kinds.join(", "))
            })
            .collect();
        for key in self.shape.keys_of(self.kind).filter(|key| self.has(key.name)) {
            let Form::One(parameter) = &key.form else { continue };
            let Some(term) = self.unmet(parameter)? else { continue };
            let varies = |alternative: &Alternative| match self.entry(alternative.key()).map(|entry| &entry.value.what)
            {
                Some(What::Set(_)) => true,
                Some(What::Text(text)) if text.starts_with('$') => true,
                // `think = "0s"` switches off what goes with it: the user has said so.
                Some(_) => alternative.is_switch(),
                None => false,
            };
            if self.reader.parameters.allows_idle() || term.0.iter().any(varies) {
                notes.push(format!("of {}, {}", self.noun(), term.note(key.name)));
            } else {
                let refusal = term.refusal(key.name);
                let help = match &term.0[0] {
                    // As TOML writes it.
                    Alternative::Is(other, words) => {
                        format!("set `{other} = \"{}\"`, or leave `{}` out", words[0], key.name)
                    }
                    _ => refusal.help().unwrap_or_default().to_owned(),
                };
                return Err(self.wrong(key.name, refusal.message(), help));
            }
        }
        Ok(notes)
    }

    /// Returns the first term without which a key cannot act; `None` if it acts.
    fn unmet(&self, parameter: &Parameter) -> Result<Option<Term>, ConfigError> {
        for term in parameter.condition().terms() {
            let mut holds = false;
            for alternative in &term.0 {
                let key = alternative.key();
                let is_given = self.has(key) || !WITHOUT_DEFAULT.contains(&key);
                let value = self.one(key)?;
                holds |= match alternative {
                    Alternative::On(_) => is_given && value.is_on(),
                    Alternative::Off(_) => !is_given || !value.is_on(),
                    Alternative::Is(_, words) => matches!(value, Value::Choice(word) if words.contains(&word)),
                    Alternative::IsNot(_, words) => matches!(value, Value::Choice(word) if !words.contains(&word)),
                    Alternative::Above(_, least) => matches!(value, Value::Integer(number) if number > *least),
                };
            }
            if !holds {
                return Ok(Some(term));
            }
        }
        Ok(None)
    }

    fn noun(&self) -> String {
        match self.kind {
            Some(kind) => format!("{} of kind `{}`", self.shape.noun, kind.name),
            None => self.shape.noun.to_owned(),
        }
    }

    fn unknown(&self, key: &str) -> String {
        format!("{} has no key {}", self.noun(), quoted(key))
    }

    pub(crate) fn missing(&self, key: &Key) -> ConfigError {
        let help = format!("add `{} = {}`: {}", key.name, example(&key.form), key.meaning);
        self.reader.error(&self.span, format!("{} needs the key `{}`", self.noun(), key.name), help)
    }

    fn read_kind(&self) -> Result<&'static Variant, ConfigError> {
        let names = || self.shape.kinds.iter().map(|kind| kind.name);
        let all = || names().collect::<Vec<_>>().join(", ");
        let Some(entry) = self.entry("kind") else {
            let message = format!("{} needs the key `kind`", self.shape.noun);
            return Err(self.reader.error(&self.span, message, format!("its kinds are {}", all())));
        };
        let found = self.reader.parameters.look_up(self.reader, &entry.value)?;
        let What::Text(name) = &found.what else {
            let message = format!("`kind` must be text, not {}", found.what.noun());
            return Err(self.reader.error(&entry.value.span, message, format!("its kinds are {}", all())));
        };
        self.shape.kinds.iter().find(|kind| kind.is_called(name)).ok_or_else(|| {
            let help = nearest(name, names())
                .map_or_else(|| format!("its kinds are {}", all()), |near| format!("did you mean `{near}`?"));
            let error = ConfigError::new(format!("{} has no kind {}", self.shape.noun, quoted(name)));
            found.explain(error.with_help(help)).at(self.spot(&entry.value.span))
        })
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        let also = self.shape.keys_of(self.kind).find(|known| known.name == key).map_or(&[][..], |known| known.also);
        let names = also.iter().copied().chain([key]);
        let set = self
            .path
            .as_ref()
            .and_then(|path| names.clone().find_map(|name| self.reader.parameters.set(&format!("{path}{name}"))));
        set.or_else(|| self.entries.iter().find(|entry| names.clone().any(|name| entry.key == name)))
    }

    fn key(&self, name: &str) -> &'static Key {
        let key = self.shape.keys_of(self.kind).find(|key| key.name == name);
        key.unwrap_or_else(|| panic!("{} has no key `{name}`", self.shape.noun))
    }

    /// Returns true if the table is of this shape.
    pub(crate) fn is_of(&self, shape: &Shape) -> bool {
        self.shape.name == shape.name
    }

    /// Returns true if the table may have a key.
    pub(crate) fn can_have(&self, name: &str) -> bool {
        self.shape.keys_of(self.kind).any(|key| key.name == name)
    }

    /// Returns true if a key is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Returns true if the table may have a key, and has it.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.can_have(name) && self.has(name)
    }

    /// Returns an error at a key's value, or at the table if the key is not given.
    pub(crate) fn wrong(&self, name: &str, message: impl Into<String>, help: impl Into<String>) -> ConfigError {
        let span = self.entry(name).map_or(&self.span, |entry| &entry.value.span);
        self.reader.error(span, message, help)
    }

    /// Returns the value of a key, or of the parameter to which it refers, and its place.
    pub(crate) fn found(&self, name: &str) -> Result<Option<(Found, &'a Range<usize>)>, ConfigError> {
        let Some(entry) = self.entry(name) else { return Ok(None) };
        Ok(Some((self.reader.parameters.look_up(self.reader, &entry.value)?, &entry.value.span)))
    }

    /// Returns the value of a key that takes one value, or its default.
    pub(crate) fn one(&self, name: &str) -> Result<Value, ConfigError> {
        let key = self.key(name);
        let Form::One(parameter) = &key.form else { panic!("`{name}` is not of one value") };
        match self.found(name)? {
            None => Ok(parameter.default_value()),
            Some((found, span)) => found.read(parameter).map_err(|error| found.explain(error).at(self.spot(span))),
        }
    }

    pub(crate) fn spot(&self, span: &Range<usize>) -> Place {
        Place::Spot(self.reader.source.spot(span.clone()))
    }

    pub(crate) fn rate(&self, name: &str) -> Result<u64, ConfigError> {
        match self.one(name)? {
            Value::Rate(rate) => Ok(rate),
            _ => panic!("`{name}` is no rate"),
        }
    }

    pub(crate) fn duration(&self, name: &str) -> Result<Delay, ConfigError> {
        match self.one(name)? {
            Value::Duration(delay) => Ok(delay),
            _ => panic!("`{name}` is no duration"),
        }
    }

    /// Returns a duration since the start, as a time.
    pub(crate) fn time(&self, name: &str) -> Result<Time, ConfigError> {
        self.duration(name).map(|delay| Time::from_ps(delay.as_ps()))
    }

    pub(crate) fn size(&self, name: &str) -> Result<u64, ConfigError> {
        match self.one(name)? {
            Value::Size(size) => Ok(size),
            _ => panic!("`{name}` is no size"),
        }
    }

    /// Returns a size that a packet may have.
    pub(crate) fn small_size(&self, name: &str) -> Result<u32, ConfigError> {
        let size = self.size(name)?;
        u32::try_from(size).ok().filter(|&size| size <= parades_packet::packet::PAYLOAD_MAX).ok_or_else(|| {
            let most = parades_packet::packet::PAYLOAD_MAX;
            self.wrong(
                name,
                format!("`{name}` is {size}B, more than a packet can carry"),
                format!("{most}B is the most"),
            )
        })
    }

    pub(crate) fn integer(&self, name: &str) -> Result<u64, ConfigError> {
        match self.one(name)? {
            Value::Integer(integer) => Ok(integer),
            _ => panic!("`{name}` is no integer"),
        }
    }

    /// Returns an integer whose range ends below 2^32.
    pub(crate) fn count(&self, name: &str) -> Result<u32, ConfigError> {
        self.integer(name).map(|count| u32::try_from(count).expect("the range of counts ends below 2^32"))
    }

    pub(crate) fn float(&self, name: &str) -> Result<f64, ConfigError> {
        match self.one(name)? {
            Value::Float(float) => Ok(float),
            _ => panic!("`{name}` is no number"),
        }
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool, ConfigError> {
        match self.one(name)? {
            Value::Boolean(boolean) => Ok(boolean),
            _ => panic!("`{name}` is no boolean"),
        }
    }

    pub(crate) fn choice(&self, name: &str) -> Result<&'static str, ConfigError> {
        match self.one(name)? {
            Value::Choice(word) => Ok(word),
            _ => panic!("`{name}` is no choice"),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, ConfigError> {
        match self.one(name)? {
            Value::Text(text) | Value::Path(text) => Ok(text),
            _ => panic!("`{name}` is no text"),
        }
    }

    /// Returns the texts of a key that takes one or several, with their places. No text if the key is not
    /// given.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<(String, Range<usize>)>, ConfigError> {
        let Some(entry) = self.entry(name) else { return Ok(Vec::new()) };
        let single = std::slice::from_ref(&entry.value);
        let list = if let What::List(list) = &entry.value.what { list } else { single };
        if list.is_empty() {
            return Err(self.wrong(name, format!("`{name}` names nothing"), "name at least one"));
        }
        list.iter().map(|given| self.text_of(name, given)).collect()
    }

    /// Returns a text of a list.
    pub(crate) fn text_of(&self, name: &str, given: &Given) -> Result<(String, Range<usize>), ConfigError> {
        let found = self.reader.parameters.look_up(self.reader, given)?;
        match found.what {
            What::Text(text) => Ok((text, given.span.clone())),
            // A name from the command line or a parameter may look like a number.
            What::Number(text) if found.via.is_some() => Ok((text, given.span.clone())),
            other => {
                let message = format!("`{name}` takes names, not {}", other.noun());
                Err(self.reader.error(&given.span, message, "write them in quotes"))
            }
        }
    }

    /// Returns the elements of a list.
    pub(crate) fn list(&self, name: &str) -> Result<&'a [Given], ConfigError> {
        match self.entry(name).map(|entry| &entry.value) {
            None => Ok(&[]),
            Some(Given { what: What::List(list), .. }) => Ok(list),
            Some(other) => {
                let help = format!("write `{name} = {}`", example(&self.key(name).form));
                Err(self.wrong(name, format!("`{name}` must be a list, not {}", other.what.noun()), help))
            }
        }
    }
}

impl Found {
    pub(crate) fn new(what: What, via: Option<String>) -> Found {
        Found { what, via }
    }

    /// Reads the value of `parameter`. Text and numbers are read as on the command line, if they suit its
    /// kind.
    pub(crate) fn read(&self, parameter: &Parameter) -> Result<Value, ConfigError> {
        let in_quotes = matches!(parameter.kind(), Kind::Choice { .. } | Kind::Text { .. } | Kind::Path);
        let noun = match parameter.kind() {
            Kind::Integer { .. } => "a whole number",
            Kind::Float { .. } | Kind::Fraction { .. } => "a number",
            Kind::Boolean { .. } => "`true` or `false`",
            _ if in_quotes => "text",
            _ => "a number with its unit",
        };
        match (parameter.kind(), &self.what) {
            (_, What::Text(text) | What::Number(text)) if self.via.is_some() => return parameter.parse(text),
            (Kind::Boolean { .. }, What::Boolean(value)) => return Ok(Value::Boolean(*value)),
            (Kind::Fraction { .. }, What::Text(text)) if text.ends_with('%') => return parameter.parse(text),
            (Kind::Integer { .. } | Kind::Float { .. } | Kind::Fraction { .. }, What::Number(text)) => {
                return parameter.parse(text);
            }
            (_, What::Text(text)) if in_quotes => return parameter.parse(text),
            (Kind::Duration { .. } | Kind::Size { .. } | Kind::Rate { .. }, What::Number(text) | What::Text(text)) => {
                return parameter.parse(text);
            }
            _ => {}
        }
        let error = ConfigError::new(format!("`{}` must be {noun}, not {}", parameter.key(), self.what.noun()));
        Err(match self.what {
            What::Text(_) => error.with_help("write it without quotes"),
            What::Number(_) | What::Boolean(_) if in_quotes => error.with_help("write it in quotes"),
            _ => error,
        })
    }

    /// Adds the parameter from which the value came to an error.
    pub(crate) fn explain(&self, error: ConfigError) -> ConfigError {
        let (Some(name), What::Text(text) | What::Number(text)) = (&self.via, &self.what) else { return error };
        let origin = if name == "--set" { name.clone() } else { format!("${name}") };
        let explained = ConfigError::new(format!("{} (`{origin}` is {})", error.message(), quoted(text)));
        match error.help() {
            Some(help) => explained.with_help(help),
            None => explained,
        }
    }
}

/// Returns the beginning of the paths of a table's keys, if the command line sets any key.
fn path_of(reader: Reader<'_>, shape: &Shape, entries: &[Entry], place: usize) -> Option<String> {
    reader.parameters.sets_keys().then(|| match shape.several {
        true => format!("{}.{}.", shape.name, paths::name_of(shape, entries, place)),
        false => format!("{}.", shape.name),
    })
}

/// Returns the help for an unknown key.
pub(crate) fn suggestion<'a>(key: &str, keys: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(key, keys.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its keys are {}", keys.collect::<Vec<_>>().join(", ")),
    }
}

/// Returns an example of a value, for help.
pub(crate) fn example(form: &Form) -> &'static str {
    match form {
        Form::One(parameter) => match parameter.kind() {
            Kind::Rate { .. } => "\"10Mbps\"",
            Kind::Duration { .. } => "\"5ms\"",
            Kind::Size { .. } => "\"1500B\"",
            Kind::Integer { .. } => "10",
            Kind::Float { .. } | Kind::Fraction { .. } => "0.1",
            Kind::Boolean { .. } => "true",
            _ => "\"…\"",
        },
        Form::Queue | Form::Limit => "100",
        Form::Packet => "\"1000B\"",
        Form::Select => "\"west.*\"",
        Form::Names => "[\"a\", \"b\"]",
        Form::Sides => "[4, 4]",
        Form::Flows => "[[\"a\", \"b\"]]",
        Form::Except => "[\"west.0\", [\"a\", \"b\"]]",
    }
}
