//! Text from users and files, as a terminal or a file may get it.

use std::fmt::{self, Write};

/// Returns true if a terminal executes this character instead of showing it: control characters, and those
/// that change the direction of text.
pub fn is_executed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true if this character has no width or no ink, so that two texts look alike that differ by it.
/// These are the characters that Unicode calls default-ignorable (`DerivedCoreProperties.txt` of version 16),
/// the interlinear annotations, and the blank letters of Hangul and Braille.
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns true if this character is shown escaped: a terminal would execute it, or nobody would see it.
pub fn is_escaped(c: char) -> bool {
    is_executed(c) || is_invisible(c)
}

/// Returns the form in which people see a name: two names of one form look alike, although they differ.
/// Invisible characters are left out, each white space is a blank, and letters of other scripts that have the
/// shape of a Latin letter are that letter (a part of the table `confusables.txt` of Unicode's UTS #39).
///
/// ```
/// use parades_core::escape::look_of;
/// assert_eq!(look_of("gate\u{200b}way"), look_of("gateway"));
/// assert_eq!(look_of("\u{430}\u{a0}b"), look_of("a b"));
/// assert_ne!(look_of("h1"), look_of("hl"));
/// ```
pub fn look_of(name: &str) -> String {
    name.chars().filter(|&c| !is_invisible(c)).map(letter_like).collect()
}

/// Returns the Latin letter, digit or blank that has the shape of a character; the character itself if there
/// is none.
fn letter_like(c: char) -> char {
    const SHAPES: [(&str, &str); 2] = [
        (
            "\u{430}\u{441}\u{501}\u{435}\u{4bb}\u{456}\u{458}\u{4cf}\u{43e}\u{440}\u{455}\u{51d}\u{445}\u{443}\u{3b1}\u{3bd}\u{3bf}\u{3c1}\u{3b3}",
            "acdehijlopswxyavopy",
        ),
        (
            "\u{410}\u{412}\u{421}\u{415}\u{41d}\u{406}\u{408}\u{41a}\u{41c}\u{41e}\u{420}\u{405}\u{422}\u{425}\u{391}\u{392}\u{395}\u{396}\u{397}\u{399}\u{39a}\u{39c}\u{39d}\u{39f}\u{3a1}\u{3a4}\u{3a5}\u{3a7}",
            "ABCEHIJKMOPSTXABEZHIKMNOPTYX",
        ),
    ];
    match c {
        _ if c.is_ascii() => c,
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        // The full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xff01 + 0x21).unwrap_or(c),
        _ if c.is_whitespace() => ' ',
        _ => {
            let shape = |(shapes, letters): &(&str, &str)| {
                shapes.chars().position(|shape| shape == c).and_then(|index| letters.chars().nth(index))
            };
            SHAPES.iter().find_map(shape).unwrap_or(c)
        }
    }
}

/// Escapes the characters that a terminal would execute, and those that nobody would see.
///
/// ```
/// use parades_core::escape::escaped;
/// assert_eq!(escaped("red \u{1b}[31m, zero\u{200b}width"), "red \\u{1b}[31m, zero\\u{200b}width");
/// ```
pub fn escaped(text: &str) -> String {
    let mut shown = Escaping(String::with_capacity(text.len()));
    let _ = shown.write_str(text);
    shown.0
}

/// A writer that escapes the same characters as [`escaped`].
#[derive(Debug)]
pub struct Escaping<W>(pub W);

impl<W: Write> Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.contains(is_escaped) {
            return self.0.write_str(text);
        }
        text.chars().try_for_each(|c| match is_escaped(c) {
            true => write!(self.0, "{}", c.escape_default()),
            false => self.0.write_char(c),
        })
    }
}
