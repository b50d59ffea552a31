//! Tables of latencies from files of numbers.

use super::{Matrix, Missing};
use parades_config::{ConfigError, Place, Source, inputs, quoted, read_text};
use parades_core::time::Delay;
use std::ops::Range;
use std::path::Path;

/// The longest file in bytes: a table of 10,000 places has about half of that.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Reads the table in a file.
pub(super) fn file(path: &Path, unit: Delay, missing: Missing) -> Result<Matrix, ConfigError> {
    match read_text(path, FILE_BYTES_MAX) {
        Ok(text) => self::text(Source::new(path, text), unit, missing),
        Err(error) => Err(inputs::unreadable(path, &error)),
    }
}

/// Reads the table in a text.
pub(super) fn text(source: Source, unit: Delay, missing: Missing) -> Result<Matrix, ConfigError> {
    let refuse = |span: Range<usize>, message: String, help: &str| {
        Err(ConfigError::new(message).with_help(help).at(Place::Spot(source.spot(span))))
    };
    let mut entries = Vec::new();
    // Where each row is in the text, and its numbers.
    let mut rows: Vec<(Range<usize>, usize)> = Vec::new();
    // The rows and columns of entries without a latency, and where those are.
    let mut gaps: Vec<Gap> = Vec::new();
    for line in lines(&source.text) {
        let before = entries.len();
        for word in words(&source.text, line.clone()) {
            let text = &source.text[word.clone()];
            let latency = text.parse().ok().and_then(|number: f64| times(unit, number));
            if latency.is_none() {
                if missing == Missing::Refuse || !is_missing(text) {
                    return refuse(word, format!("a latency cannot be {}", shown(text)), "write a number from 0 on");
                }
                gaps.push(Gap { row: rows.len(), column: entries.len() - before, word });
            }
            entries.push(latency.unwrap_or(GAP));
        }
        rows.push((line, entries.len() - before));
    }
    let Ok(places @ 1..) = u32::try_from(rows.len()) else {
        return refuse(0..0, "there is no table of latencies".into(), "write a line of numbers for each place");
    };
    let is_symmetric = places > 1 && rows[0].1 == 1;
    for (index, (line, numbers)) in rows.into_iter().enumerate() {
        let wanted = if is_symmetric { index + 1 } else { places as usize };
        if numbers != wanted {
            let message = format!("this line has {numbers} latencies, not {wanted}");
            let help = if is_symmetric {
                "a triangle has one in its first line, and one more in each further line"
            } else {
                "a table has as many latencies in each line as it has lines"
            };
            return refuse(line, message, help);
        }
    }
    fill(Matrix::of(places, entries, is_symmetric), &gaps).or_else(|gap| {
        let message = format!("no other place joins the places {} and {}, counted from 1", gap.row + 1, gap.column + 1);
        refuse(gap.word.clone(), message, "write a latency, or leave one of the two places out")
    })
}

/// The latency of an entry that has none.
const GAP: Delay = Delay::MAX;

/// An entry without a latency.
struct Gap {
    row: usize,
    column: usize,
    word: Range<usize>,
}

/// Returns true for a word that stands for no latency.
fn is_missing(word: &str) -> bool {
    ["-", "na", "n/a", "nan"].iter().any(|other| word.eq_ignore_ascii_case(other))
        || word.parse::<f64>().is_ok_and(|number| number < 0.0)
}

/// Fills the gaps of a table. Returns the first gap that cannot be filled.
fn fill(matrix: Matrix, gaps: &[Gap]) -> Result<Matrix, &Gap> {
    if gaps.is_empty() {
        return Ok(matrix);
    }
    let mut filled = matrix.clone();
    for gap in gaps {
        let [from, to] = [gap.row, gap.column].map(|place| u32::try_from(place).expect("places have 32 bits"));
        let known = |from, to| Some(matrix.between(from, to)).filter(|&latency| latency != GAP);
        let over = |place| Some(known(from, place)?.saturating_add(known(place, to)?));
        let itself = (from == to).then_some(Delay::ZERO);
        let detours = (0..matrix.places()).filter(|place| ![from, to].contains(place)).filter_map(over);
        let found = itself.or_else(|| known(to, from)).or_else(|| detours.min());
        filled.set(from, to, found.ok_or(gap)?);
    }
    Ok(filled)
}

/// Returns a latency of `number` units, if there is one.
fn times(unit: Delay, number: f64) -> Option<Delay> {
    Delay::try_from_secs_f64(number * unit.as_secs_f64())
}

/// Returns a word as it stands where it is a number, and else quoted.
fn shown(word: &str) -> String {
    if word.parse::<f64>().is_ok() { word.to_owned() } else { quoted(word) }
}

/// Returns the lines that are neither empty nor a remark, without blanks at their ends.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let begins = std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1));
    let lines = begins.map(|begin| {
        let line = text[begin..].split('\n').next().unwrap_or_default();
        let begin = begin + (line.len() - line.trim_start().len());
        begin..begin + line.trim().len()
    });
    lines.filter(|line| !line.is_empty() && !text[line.clone()].starts_with('#'))
}

/// Returns the words of a line, between blanks and commas.
fn words(text: &str, line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let separates = |c: char| c.is_whitespace() || c == ',';
    let words = text[line.clone()].split(separates).filter(|word| !word.is_empty());
    words.map(move |word| {
        let begin = word.as_ptr().addr() - text.as_ptr().addr();
        begin..begin + word.len()
    })
}
