//! The one error of this crate: a sentence, its place and a remedy.
//!
//! What a user typed is quoted in messages with its control characters made visible and its length cut, so that an error is one
//! line whatever the input was, and no file can speak to the terminal.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The longest quotation of a user's text, in characters.
const QUOTED_CHARS_MAX: usize = 60;

/// The longest line of a file that an error carries, in bytes.
const SOURCE_LINE_BYTES_MAX: usize = 400;

/// A wrong argument, parameter or file. Its display is one sentence, `place: message; help`, on one line.
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
    // Boxed, because errors travel in results by value.
    place: Option<Box<Place>>,
    help: Option<String>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An argument of the command line, as one types it: `--set remote=1.5`.
    Argument(String),
    /// A file as a whole.
    File(PathBuf),
    /// A spot in a file.
    Spot(Spot),
}

/// A spot in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// How many characters of this line, from the column on, it is about; at least 1.
    pub width: usize,
    /// The text of the line, a character for a character; `None` where it is too long to show.
    pub source_line: Option<String>,
}

impl ConfigError {
    /// An error without a place: a sentence without a full stop.
    pub fn new(message: impl Into<String>) -> ConfigError {
        ConfigError { message: message.into(), place: None, help: None }
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> ConfigError {
        self.help = Some(help.into());
        self
    }

    /// The same error at `place`.
    #[must_use]
    pub fn at(mut self, place: Place) -> ConfigError {
        self.place = Some(Box::new(place));
        self
    }

    /// The same error, its message opened by the key that it is about.
    #[must_use]
    pub(crate) fn about(mut self, key: &str) -> ConfigError {
        self.message = format!("`{key}`: {}", self.message);
        self
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it is.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_deref()
    }

    /// What to do.
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
            Place::Argument(argument) => f.write_str(&cut(argument)),
            Place::File(file) => f.write_str(&visible(&file.to_string_lossy())),
            Place::Spot(spot) => {
                let file = visible(&spot.file.to_string_lossy());
                write!(f, "{file}:{}:{}", spot.line, spot.column)
            }
        }
    }
}

/// A file's path and text, from which spots are made.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
}

impl Source {
    /// The file `path` with the text that stands in it.
    pub fn new(path: &Path, text: String) -> Source {
        Source { path: path.to_owned(), text }
    }

    /// The spot of the bytes `span`. Positions past the end, or inside a character, count as the character's or the end's.
    pub fn spot(&self, span: Range<usize>) -> Spot {
        let start = self.text.floor_char_boundary(span.start);
        let end = self.text.floor_char_boundary(span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
        let shown = self.text[start..end.min(line_end)].chars().count();
        let source_line = self.text[line_start..line_end].trim_end_matches('\r');
        Spot {
            file: self.path.clone(),
            line: 1 + self.text[..line_start].bytes().filter(|&byte| byte == b'\n').count(),
            column: 1 + self.text[line_start..start].chars().count(),
            width: shown.max(1),
            source_line: (source_line.len() <= SOURCE_LINE_BYTES_MAX).then(|| printable(source_line)),
        }
    }
}

/// Whether a terminal acts on this character rather than showing it.
fn is_command(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with what a terminal would act on replaced, a character for a character, so that columns stay.
fn printable(text: &str) -> String {
    let shown = |c| match c {
        '\t' => ' ',
        c if is_command(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// `text` with what a terminal would act on written as escapes.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_command(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `text` visible, and cut to a length that one can read.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", visible(&text[..end])),
        None => visible(text),
    }
}

/// `text` between backticks, visible and cut.
pub fn quoted(text: &str) -> String {
    format!("`{}`", cut(text))
}
