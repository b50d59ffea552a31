//! The JSON that Speer reads: with comments, and with keys in any case, as Go reads them.

use parades_config::{Fault, nearest, one_line, quoted};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Returns the text with comments and commas before a closing bracket replaced by blanks. All other bytes
/// keep their places.
///
/// Speer removes lines that begin with `//`. Its published files also have comments at the ends of lines, and
/// such commas.
pub(super) fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = end_of_string(&bytes, at);
                comma = None;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let rest = &mut bytes[at..];
                let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                rest[..length].fill(b' ');
                at += length;
                continue;
            }
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // A comment is replaced as a whole, up to the end of its line, so that no character is cut.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns the byte after the string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The text of a file, without comments.
#[derive(Clone, Copy)]
pub(super) struct Text<'t>(pub(super) &'t str);

/// An object whose keys are not checked yet. Each value is a part of the file's text.
pub(super) type Members<'t> = BTreeMap<String, &'t RawValue>;

impl<'t> Text<'t> {
    /// Returns the members of the whole file.
    pub(super) fn members(self) -> Result<Members<'t>, Fault> {
        serde_json::from_str(self.0).map_err(|why| {
            let lines = self.0.split_inclusive('\n').take(why.line().saturating_sub(1));
            let place = lines.map(str::len).sum::<usize>() + why.column().saturating_sub(1);
            let text = why.to_string();
            let what = one_line(text.split(" at line").next().unwrap_or_default());
            let help = "give a JSON configuration of Speer: an object between `{` and `}`";
            Fault::new(place.min(self.0.len()), format!("malformed JSON: {what}"), help)
        })
    }

    /// Returns the first byte of a value, which is a part of the text.
    fn offset(self, value: &RawValue) -> usize {
        value.get().as_ptr().addr().saturating_sub(self.0.as_ptr().addr()).min(self.0.len())
    }

    /// Checks the keys of the members `members`, and returns the object. `noun` is its name in messages.
    pub(super) fn object(
        self,
        noun: &'static str,
        begin: usize,
        members: Members<'t>,
        keys: &'static [&'static str],
    ) -> Result<Object<'t>, Fault> {
        let mut values = BTreeMap::new();
        for (name, value) in members {
            let place = self.offset(value);
            let Some(&key) = keys.iter().find(|key| key.eq_ignore_ascii_case(&name)) else {
                let help = match nearest(&name, keys.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("its keys are {}", keys.join(", ")),
                };
                return Err(Fault::new(place, format!("{noun} has no key {}", quoted(&name)), help));
            };
            // Go leaves a field as it is where the file has `null`.
            if value.get() != "null" && values.insert(key, value).is_some() {
                return Err(Fault::new(place, format!("{noun} has the key `{key}` twice"), "leave one of the two out"));
            }
        }
        Ok(Object { text: self, noun, begin, values })
    }
}

/// An object with known keys.
pub(super) struct Object<'t> {
    text: Text<'t>,
    noun: &'static str,
    begin: usize,
    values: BTreeMap<&'static str, &'t RawValue>,
}

impl<'t> Object<'t> {
    /// True if the file gives the key a value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Returns a fault at the value of a key, or at the object if there is none.
    pub(super) fn fault(&self, key: &str, message: impl Into<String>, help: impl Into<String>) -> Fault {
        let place = self.values.get(key).map_or(self.begin, |value| self.text.offset(value));
        Fault::new(place, message, help)
    }

    /// Returns a whole number within `range`, if there is one.
    pub(super) fn integer(&self, key: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, Fault> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        match serde_json::from_str(value.get()) {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => {
                let message = format!("`{key}` cannot be {}", quoted(value.get()));
                let help = format!("write a whole number from {} to {}", range.start(), range.end());
                Err(self.fault(key, message, help))
            }
        }
    }

    /// Returns a whole number within `range`, which the file must have.
    pub(super) fn required(&self, key: &'static str, range: RangeInclusive<u64>) -> Result<u64, Fault> {
        self.integer(key, range)?.ok_or_else(|| {
            let message = format!("{} has no `{key}`, which Speer would take as 0", self.noun);
            Fault::new(self.begin, message, "add it")
        })
    }

    /// Returns a value that is true or false, if there is one.
    pub(super) fn boolean(&self, key: &'static str) -> Result<Option<bool>, Fault> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        let wrong = |_| {
            let message = format!("`{key}` cannot be {}", quoted(value.get()));
            self.fault(key, message, "write `true` or `false`")
        };
        serde_json::from_str(value.get()).map(Some).map_err(wrong)
    }

    /// Returns the object that is the value of a key.
    pub(super) fn object(
        &self,
        key: &'static str,
        noun: &'static str,
        keys: &'static [&'static str],
    ) -> Result<Option<Object<'t>>, Fault> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        let members = serde_json::from_str(value.get())
            .map_err(|_| self.fault(key, format!("`{key}` must be an object"), "write `{` and `}` around it"))?;
        self.text.object(noun, self.text.offset(value), members, keys).map(Some)
    }

    /// Returns the objects of the list that is the value of a key.
    pub(super) fn objects(
        &self,
        key: &'static str,
        noun: &'static str,
        keys: &'static [&'static str],
    ) -> Result<Option<Vec<Object<'t>>>, Fault> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        let list: Vec<&'t RawValue> = serde_json::from_str(value.get())
            .map_err(|_| self.fault(key, format!("`{key}` must be a list"), "write `[` and `]` around it"))?;
        let object = |value: &'t RawValue| {
            let place = self.text.offset(value);
            let members = serde_json::from_str(value.get())
                .map_err(|_| Fault::new(place, format!("{noun} must be an object"), "write `{` and `}` around it"))?;
            self.text.object(noun, place, members, keys)
        };
        list.into_iter().map(object).collect::<Result<_, _>>().map(Some)
    }
}
