//! Faults of texts. Their places are byte offsets, which become lines and columns at the end.

use crate::{ConfigError, Place, Spot, is_executed};
use std::path::Path;

/// Something wrong in a text.
#[derive(Debug)]
pub struct Fault {
    /// The place in bytes. `None` for the text as a whole.
    pub offset: Option<usize>,
    message: String,
    help: String,
}

impl Fault {
    /// Creates a fault at a byte of the text. `message` is a sentence without full stop, and `help` says how
    /// to correct it.
    pub fn new(offset: usize, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { offset: Some(offset), message: message.into(), help: help.into() }
    }

    /// Creates a fault of a text as a whole.
    pub fn whole(message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { offset: None, message: message.into(), help: help.into() }
    }

    /// Returns the error of this fault in a file with this text.
    pub fn within(self, file: &Path, text: &str) -> ConfigError {
        let place = match self.offset {
            Some(offset) => Place::Spot(Spot::of(file, text, offset..offset)),
            None => Place::File(file.to_owned()),
        };
        ConfigError::new(self.message).with_help(self.help).at(place)
    }
}

/// Returns the message of a library on one line, without control characters, and shortened.
pub fn one_line(why: &str) -> String {
    const SHOWN_MAX: usize = 200;
    let line = why.chars().map(|c| if is_executed(c) { ' ' } else { c });
    let more = if why.chars().nth(SHOWN_MAX).is_some() { "…" } else { "" };
    line.take(SHOWN_MAX).collect::<String>() + more
}
