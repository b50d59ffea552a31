//! The error type of this crate: a sentence, its place and a remedy.
//!
//! Messages quote the user's text with control characters escaped and the length limited. So an error is one
//! line whatever the input was, and no file can send commands to the terminal.

pub use parades_core::escape::{escaped, is_escaped, is_executed, look_of};

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Longest quotation of a user's text, in characters.
const QUOTED_CHARS_MAX: usize = 60;

/// Longest line of a file that an error carries, in bytes.
const SOURCE_LINE_BYTES_MAX: usize = 400;

/// A wrong argument, parameter or file. It displays as one sentence on one line: `place: message; help`.
///
/// ```
/// use parades_config::{ConfigError, Place};
/// let error = ConfigError::new("`lookahead` is above `mean_delay`")
///     .with_help("lower it")
///     .at(Place::Argument("--set lookahead=2".to_owned()));
/// assert_eq!(error.to_string(), "--set lookahead=2: `lookahead` is above `mean_delay`; lower it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    message: String,
    // Boxed to keep the error small, because results carry it by value.
    place: Option<Box<Place>>,
    help: Option<String>,
}

/// The place of an error, where the wrong value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An argument of the command line, as typed: `--set remote=1.5`.
    Argument(String),
    /// A file as a whole.
    File(PathBuf),
    /// A spot in a file.
    Spot(Spot),
}

/// A spot in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The path of the file, as the user wrote it.
    pub file: PathBuf,
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the column in characters, from 1.
    pub column: usize,
    /// The number of characters that the error is about, from the column on and within the line. At least 1.
    pub width: usize,
    /// The text of the line, with as many characters as in the file. `None` if the line is too long to show.
    pub source_line: Option<String>,
}

impl ConfigError {
    /// Creates an error without a place. `message` is a sentence without a full stop.
    pub fn new(message: impl Into<String>) -> ConfigError {
        ConfigError { message: escaped(&message.into()), place: None, help: None }
    }

    /// Adds a remedy: what the user can do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> ConfigError {
        self.help = Some(escaped(&help.into()));
        self
    }

    /// Adds the place.
    #[must_use]
    pub fn at(mut self, place: Place) -> ConfigError {
        self.place = Some(Box::new(place));
        self
    }

    /// Puts the key that the error is about before the message.
    #[must_use]
    pub(crate) fn in_key(mut self, key: &str) -> ConfigError {
        self.message = format!("`{key}`: {}", self.message);
        self
    }

    /// Returns the message: what is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the place, if it is known.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_deref()
    }

    /// Returns the remedy, if there is one.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Argument(argument) => f.write_str(&shortened(argument)),
            Place::File(file) => f.write_str(&escaped(&file.to_string_lossy())),
            Place::Spot(spot) => {
                let file = escaped(&spot.file.to_string_lossy());
                write!(f, "{file}:{}:{}", spot.line, spot.column)
            }
        }
    }
}

/// The path and the text of a file, from which spots are computed.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path of the file, as the user wrote it.
    pub path: PathBuf,
    /// The contents of the file.
    pub text: String,
}

impl Source {
    /// Creates the source of the file `path` with the contents `text`.
    pub fn new(path: &Path, text: String) -> Source {
        Source { path: path.to_owned(), text }
    }

    /// Returns the spot of the bytes `span`, as [`Spot::of`].
    pub fn spot(&self, span: Range<usize>) -> Spot {
        Spot::of(&self.path, &self.text, span)
    }
}

impl Spot {
    /// Returns the spot of the bytes `span` of a file with this text. A position inside a character means the
    /// start of that character. A position past the end means the end.
    pub fn of(file: &Path, text: &str, span: Range<usize>) -> Spot {
        let start = text.floor_char_boundary(span.start);
        let end = text.floor_char_boundary(span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let shown = text[start..end.min(line_end).max(start)].chars().count();
        let source_line = text[line_start..line_end].trim_end_matches('\r');
        Spot {
            file: file.to_owned(),
            line: 1 + text[..line_start].bytes().filter(|&byte| byte == b'\n').count(),
            column: 1 + text[line_start..start].chars().count(),
            width: shown.max(1),
            source_line: (source_line.len() <= SOURCE_LINE_BYTES_MAX).then(|| printable(source_line)),
        }
    }
}

/// Returns a note for the user if two of these names look alike, although they differ: "nodes" are `things`.
///
/// ```
/// # use parades_config::look_alikes;
/// assert_eq!(
///     look_alikes("nodes", ["a", "b", "a\u{200b}"]).as_deref(),
///     Some("the nodes `a` and `a\\u{200b}` look alike, and are two")
/// );
/// assert_eq!(look_alikes("nodes", ["h1", "hl"]), None);
/// ```
pub fn look_alikes<'a>(things: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.into_iter().collect();
    // Most names are in ASCII, and then no two of them are meant.
    if names.iter().all(|name| name.is_ascii()) {
        return None;
    }
    let mut first = BTreeMap::new();
    names.into_iter().find_map(|name| match *first.entry(look_of(name)).or_insert(name) {
        earlier if earlier == name => None,
        earlier => Some(format!("the {things} {} and {} look alike, and are two", quoted(earlier), quoted(name))),
    })
}

/// Replaces each character that a terminal would execute by a visible character, so that columns stay.
fn printable(text: &str) -> String {
    let shown = |c| match c {
        '\t' => ' ',
        c if is_escaped(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Returns a text from a user or a file as it may be shown: the characters that a terminal would execute are
/// escaped, and the length is limited.
///
/// ```
/// # use parades_config::shortened;
/// assert_eq!(shortened("red \u{1b}[31m, and \u{202e}reversed"), "red \\u{1b}[31m, and \\u{202e}reversed");
/// assert_eq!(shortened(&"long".repeat(100)).chars().count(), 61);
/// ```
pub fn shortened(text: &str) -> String {
    shortened_to(QUOTED_CHARS_MAX, text)
}

/// Returns a text as [`shortened`], with at most `chars` characters of it.
pub fn shortened_to(chars: usize, text: &str) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", escaped(&text[..end])),
        None => escaped(text),
    }
}

/// Puts `text` between backticks, escaped and limited in length.
pub fn quoted(text: &str) -> String {
    format!("`{}`", shortened(text))
}
