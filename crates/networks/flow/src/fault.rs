//! Faults of files. Their places are byte offsets, which become lines and columns at the end.

use parades_config::{ConfigError, Place, Spot};
use std::path::Path;

/// The length in bytes of the longest line that an error quotes.
const SOURCE_LINE_BYTES_MAX: usize = 400;

/// Something wrong in a text.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The place, in bytes.
    pub(crate) offset: usize,
    message: String,
    help: String,
}

impl Fault {
    /// Returns a fault at this offset. `message` is a sentence without full stop, and `help` says how to
    /// correct it.
    pub(crate) fn new(offset: usize, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { offset, message: message.into(), help: help.into() }
    }

    /// Converts the fault into an error that quotes the line of the file.
    pub(crate) fn within(self, file: &Path, text: &str) -> ConfigError {
        let Fault { offset, message, help } = self;
        let start = text.floor_char_boundary(offset);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let shown = (line.len() <= SOURCE_LINE_BYTES_MAX)
            .then(|| line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect());
        ConfigError::new(message).with_help(help).at(Place::Spot(Spot {
            file: file.to_owned(),
            line: 1 + text[..line_start].bytes().filter(|&byte| byte == b'\n').count(),
            column: 1 + text[line_start..start].chars().count(),
            width: 1,
            source_line: shown,
        }))
    }
}

/// Returns the message of a library on one line, without control characters, and shortened.
pub(crate) fn one_line(why: &str) -> String {
    const SHOWN_MAX: usize = 200;
    let line = why.chars().map(|c| if c.is_control() { ' ' } else { c });
    let more = if why.chars().nth(SHOWN_MAX).is_some() { "…" } else { "" };
    line.take(SHOWN_MAX).collect::<String>() + more
}
