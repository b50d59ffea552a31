//! Text from users and files, as a terminal or a file may get it.

use std::fmt::{self, Write};

/// Returns true if a terminal executes this character instead of showing it: control characters, and those
/// that change the direction of text.
pub fn is_executed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes the characters that a terminal would execute.
///
/// ```
/// assert_eq!(parades_core::escape::escaped("red \u{1b}[31m"), "red \\u{1b}[31m");
/// ```
pub fn escaped(text: &str) -> String {
    let mut shown = Escaping(String::with_capacity(text.len()));
    let _ = shown.write_str(text);
    shown.0
}

/// A writer that escapes the characters that a terminal would execute.
#[derive(Debug)]
pub struct Escaping<W>(pub W);

impl<W: Write> Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.contains(is_executed) {
            return self.0.write_str(text);
        }
        text.chars().try_for_each(|c| match is_executed(c) {
            true => write!(self.0, "{}", c.escape_default()),
            false => self.0.write_char(c),
        })
    }
}
