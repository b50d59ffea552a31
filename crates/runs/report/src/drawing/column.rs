//! Columns of tables for people.

use crate::figure::{Scale, group};
use parades_config::{shortened, shortened_to};
use parades_core::metrics::{self, Unit};

/// The greatest width of a text in a table, in characters. Two of them leave room for figures in 80 columns.
const TEXT_CHARS_MAX: usize = 24;
/// The greatest length of the name of a metric before its figures, in characters.
const NAME_CHARS_MAX: usize = 32;

/// An entry of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// No value.
    Empty,
    /// A text.
    Text(String),
    /// A whole number.
    Whole(u128),
    /// A number.
    Number(f64),
    /// A mean, and the half-width of its interval.
    Interval(f64, f64),
}

impl Entry {
    /// Returns the entry with a text that leaves room for other columns.
    pub(crate) fn cut(self) -> Entry {
        match self {
            Entry::Text(text) => Entry::Text(shortened_to(TEXT_CHARS_MAX, &text)),
            other => other,
        }
    }
}

impl From<&metrics::Cell> for Entry {
    fn from(cell: &metrics::Cell) -> Entry {
        match cell {
            metrics::Cell::Empty => Entry::Empty,
            metrics::Cell::Text(text) => Entry::Text(text.to_string()),
            metrics::Cell::Integer(x) => Entry::Whole((*x).into()),
            metrics::Cell::Float(x) => Entry::Number(*x),
        }
    }
}

/// A column of text. Its heading states the unit of its numbers once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    heading: String,
    pub(super) unit: String,
    pub(super) cells: Vec<String>,
}

impl Column {
    /// Returns a column of entries. Numbers are raw values of `unit`.
    pub fn of(name: &str, unit: Unit, entries: &[Entry]) -> Column {
        let number = |entry: &Entry| match entry {
            Entry::Whole(x) => Some(*x as f64),
            Entry::Number(x) | Entry::Interval(x, _) => Some(*x),
            Entry::Empty | Entry::Text(_) => None,
        };
        let scale = Scale::of(unit, entries.iter().filter_map(number));
        let shown = |entry: &Entry| match entry {
            Entry::Empty => "–".to_owned(),
            Entry::Text(text) => shortened(text),
            Entry::Whole(x) if unit == Unit::Count => group(*x),
            Entry::Whole(x) => scale.number(*x as f64),
            Entry::Number(x) => scale.number(*x),
            Entry::Interval(mean, half_width) => format!("{} ± {}", scale.number(*mean), scale.number(*half_width)),
        };
        let unit = if entries.iter().any(|entry| number(entry).is_some()) { scale.name() } else { String::new() };
        Column { heading: shortened(&name.replace('_', " ")), unit, cells: entries.iter().map(shown).collect() }
    }

    /// Returns a column of texts that are shown as they are.
    pub fn of_texts(heading: &str, cells: Vec<String>) -> Column {
        Column { heading: heading.to_owned(), unit: String::new(), cells }
    }

    /// Returns the number of characters that the column takes.
    pub(crate) fn width(&self) -> usize {
        self.body_width().max(chars(&self.unit))
    }

    /// Returns the width of the longest cell or word of the heading.
    fn body_width(&self) -> usize {
        let words = self.heading.split(' ').map(chars);
        self.cells.iter().map(|cell| chars(cell)).chain(words).max().unwrap_or(0)
    }

    /// Returns the lines of the heading, which are no wider than the column. The unit is the last line.
    pub(super) fn heading_lines(&self, with_unit: bool) -> Vec<String> {
        let width = self.width();
        let mut lines = vec![String::new()];
        for word in self.heading.split(' ') {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if chars(line) + 1 + chars(word) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        if with_unit {
            lines.push(self.unit.clone());
        }
        lines
    }
}

/// Returns the name of a metric or column in words, as far as there is room for it.
pub(crate) fn spoken(name: &str) -> String {
    shortened_to(NAME_CHARS_MAX, &name.replace('_', " "))
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
