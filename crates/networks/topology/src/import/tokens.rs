//! Texts that are words between white space, with the place of each word.

use parades_config::{Fault, quoted};

/// The words of a text that are not read yet.
#[derive(Clone)]
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
}

/// A word, with its first byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) offset: usize,
}

impl<'t> Words<'t> {
    /// Returns the words from the byte `at` on.
    pub(super) fn new(text: &'t str, at: usize) -> Words<'t> {
        Words { text, at }
    }

    /// Returns the next word, which is a `noun`.
    pub(super) fn word(&mut self, noun: &str) -> Result<Word<'t>, Fault> {
        self.next().ok_or_else(|| {
            let message = format!("the file ends where {noun} is expected");
            Fault::new(self.text.len(), message, "compare the file with its source; it may be cut off")
        })
    }

    /// Returns the next word as a whole number, which is a `noun`.
    pub(super) fn number(&mut self, noun: &str) -> Result<u64, Fault> {
        let word = self.word(noun)?;
        word.text.parse().map_err(|_| {
            Fault::new(word.offset, format!("{} is expected, not {}", noun, quoted(word.text)), "write a whole number")
        })
    }
}

impl<'t> Iterator for Words<'t> {
    type Item = Word<'t>;

    fn next(&mut self) -> Option<Word<'t>> {
        let rest = &self.text[self.at..];
        let offset = self.at + (rest.len() - rest.trim_start().len());
        let text = self.text[offset..].split_whitespace().next()?;
        self.at = offset + text.len();
        Some(Word { text, offset })
    }
}
