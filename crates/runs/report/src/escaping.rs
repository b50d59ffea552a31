//! Output without characters that a terminal would execute or that nobody would see. Names in files of users
//! may contain them.

use parades_config::is_escaped;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A writer that writes such characters as `\u001b`, the form that JSON and TOML have for them in texts. Ends
/// of lines and tabs stay.
#[derive(Debug)]
pub struct Escaping<W> {
    to: W,
    /// The bytes at the end of the last write that are the beginning of a character.
    begun: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    /// Returns a writer that passes its output on to `to`.
    pub fn new(to: W) -> Escaping<W> {
        Escaping { to, begun: Vec::new() }
    }
}

/// Returns a text as [`Escaping`] writes it.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) && !matches!(c, '\n' | '\t') {
            // JSON writes a character above U+FFFF as a pair.
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(shown, "\\u{unit:04x}");
            });
        } else {
            shown.push(c);
        }
    }
    shown
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.to.write_all(escaped(chunk.valid()).as_bytes())?;
            let is_last = chunks.peek().is_none();
            if is_last && is_beginning(chunk.invalid()) {
                self.begun = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                write!(self.to, "{}", char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// True if more bytes may complete these to a character.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the text in pieces of this length, and returns the output.
    fn written(text: &str, piece: usize) -> String {
        let mut output = Vec::new();
        let mut writer = Escaping::new(&mut output);
        text.as_bytes().chunks(piece).for_each(|bytes| writer.write_all(bytes).expect("memory can be written"));
        String::from_utf8(output).expect("it is text")
    }

    #[test]
    fn output_has_no_character_that_a_terminal_executes() {
        // Control characters of both sets, DEL, and an override of the direction.
        let text = "z\u{200b}\u{feff}\u{e0041}a\u{1b}]0;b\u{7}\r\u{7f}\u{9b}31m \u{202e}ü€\u{1f600}\tc\n";
        let shown = "z\\u200b\\ufeff\\udb40\\udc41a\\u001b]0;b\\u0007\\u000d\\u007f\\u009b31m \\u202eü€\u{1f600}\tc\n";
        for piece in 1..=text.len() {
            assert_eq!(written(text, piece), shown, "in pieces of {piece} bytes");
        }
    }

    #[test]
    fn json_means_the_same_when_it_is_escaped() {
        let value = serde_json::json!({"name\u{85}": "\u{9b}31m\u{2067}\u{e0041}"});
        let shown = escaped(&value.to_string());
        assert!(shown.is_ascii(), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("it is JSON"), value);
    }
}
