//! What is wrong with a file, where, and what to do about it.

use std::fmt;

/// Why a file gives no network. Displays as `file:line:column: message; remedy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// What is wrong, a sentence without its full stop.
    pub message: String,
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 where the matter has no place in the file.
    pub line: usize,
    /// The column, in characters from 1; 0 where the matter has no place in the file.
    pub column: usize,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadError { message, file, line, column, help } = self;
        match line {
            0 => write!(f, "{file}: {message}; {help}"),
            _ => write!(f, "{file}:{line}:{column}: {message}; {help}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// A [`ReadError`] before its byte offset is turned into line and column.
#[derive(Debug)]
pub(super) struct Fault {
    offset: Option<usize>,
    message: String,
    help: &'static str,
}

impl Fault {
    /// Something wrong at this byte of the text.
    pub(super) fn new(offset: usize, message: impl Into<String>, help: &'static str) -> Fault {
        Fault { offset: Some(offset), message: message.into(), help }
    }

    /// Something wrong with the file as a whole.
    pub(super) fn general(message: impl Into<String>, help: &'static str) -> Fault {
        Fault { offset: None, message: message.into(), help }
    }

    /// This fault, in the file of this name and `text`.
    pub(super) fn at(self, file: &str, text: &str) -> ReadError {
        let (line, column) = match self.offset {
            None => (0, 0),
            Some(offset) => {
                let before = text.get(..offset).unwrap_or(text);
                let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
                (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
            }
        };
        ReadError { message: self.message, file: file.to_owned(), line, column, help: self.help.to_owned() }
    }
}

/// A word from the file, fit for a message: in backquotes, without control characters, and not endless.
pub(super) fn quote(word: &str) -> String {
    const SHOWN_MAX: usize = 60;
    let more = if word.chars().nth(SHOWN_MAX).is_some() { "…" } else { "" };
    format!("`{}{more}`", printable(&word.chars().take(SHOWN_MAX).collect::<String>()))
}

/// A word with its control characters written as their numbers.
pub(super) fn printable(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    for letter in word.chars() {
        if letter.is_control() {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}
