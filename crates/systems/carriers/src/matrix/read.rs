//! Tables of latencies from files: rows of numbers, with names or without, and lists of pairs.

use super::pairs;
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

/// Returns the error of a part of a text.
pub(super) fn fault(source: &Source, span: Range<usize>, message: String, help: &str) -> ConfigError {
    ConfigError::new(message).with_help(help).at(Place::Spot(source.spot(span)))
}

/// Reads the table in a text.
pub(super) fn text(source: Source, unit: Delay, missing: Missing) -> Result<Matrix, ConfigError> {
    let (matrix, gaps) = if pairs::is_list(&source.text) { pairs::read(&source, unit)? } else { rows(&source, unit)? };
    if missing == Missing::Refuse
        && let Some(Gap { word, .. }) = gaps.first()
    {
        let text = &source.text[word.clone()];
        let message = if text.contains(char::is_whitespace) || text.is_empty() {
            let Gap { row, column, .. } = &gaps[0];
            format!("there is no latency from place {} to place {}, counted from 1", row + 1, column + 1)
        } else {
            format!("a latency cannot be {}", shown(text))
        };
        return Err(fault(&source, word.clone(), message, "write a number of 0 or more"));
    }
    fill(matrix, &gaps).map_err(|gap| {
        let message = format!("no other place joins the places {} and {}, counted from 1", gap.row + 1, gap.column + 1);
        let help = "write a latency, or leave one of the two places out";
        fault(&source, gap.word.clone(), message, help)
    })
}

/// Reads a table that has a line for each place. Names may stand in a line before the first and at the begin
/// of each line.
fn rows(source: &Source, unit: Delay) -> Result<(Matrix, Vec<Gap>), ConfigError> {
    let text = &source.text;
    let names = names(text);
    let places = lines(text).count() - usize::from(names.is_some());
    let Ok(count @ 1..) = u32::try_from(places) else {
        let message = "there is no table of latencies".to_owned();
        return Err(fault(source, 0..0, message, "write a line of numbers for each place"));
    };
    let mut entries = Vec::new();
    let mut gaps: Vec<Gap> = Vec::new();
    let mut is_symmetric = false;
    for (row, line) in lines(text).skip(usize::from(names.is_some())).enumerate() {
        let name = match &names {
            Some(names) => row_name(source, &line, names, row)?,
            None => None,
        };
        let numbers = words(text, line.clone()).skip(usize::from(name.is_some()));
        let before = entries.len();
        for word in numbers {
            let entry = &text[word.clone()];
            let latency = latency(entry, unit);
            if latency.is_none() {
                if !is_missing(entry) {
                    let message = format!("a latency cannot be {}", shown(entry));
                    return Err(fault(source, word, message, "write a number of 0 or more"));
                }
                gaps.push(Gap { row, column: entries.len() - before, word });
            }
            entries.push(latency.unwrap_or(GAP));
        }
        let found = entries.len() - before;
        if row == 0 {
            is_symmetric = places > 1 && found == 1;
        }
        let wanted = if is_symmetric { row + 1 } else { places };
        if found != wanted {
            let message = format!("this line has {found} latencies, not {wanted}");
            let help = if is_symmetric {
                "a triangle has one in its first line, and one more in each further line"
            } else {
                "a table has as many latencies in each line as it has lines"
            };
            return Err(fault(source, line, message, help));
        }
    }
    Ok((Matrix::of(count, entries, is_symmetric), gaps))
}

/// Returns the names in the first line of a table; `None` if that has numbers.
fn names(text: &str) -> Option<Vec<&str>> {
    let line = lines(text).next()?;
    let has_corner = text[line.clone()].starts_with(',');
    let mut names: Vec<&str> = words(text, line).map(|word| unquoted(&text[word])).collect();
    if !has_corner && is_entry(names[0]) {
        return None;
    }
    // The corner above the names of the lines may be empty, or have a name of its own.
    if !has_corner && names.len() == lines(text).count() {
        names.remove(0);
    }
    Some(names)
}

/// Returns the name at the begin of a line of a table with names, if there is one.
///
/// # Errors
///
/// If it is the name of another place: lines and columns must have one order.
fn row_name<'t>(
    source: &'t Source,
    line: &Range<usize>,
    names: &[&str],
    row: usize,
) -> Result<Option<&'t str>, ConfigError> {
    let Some(word) = words(&source.text, line.clone()).next() else { return Ok(None) };
    let (name, wanted) = (unquoted(&source.text[word.clone()]), names.get(row).copied().unwrap_or_default());
    // A place may have a number as its name.
    let count = words(&source.text, line.clone()).count();
    if is_entry(name) && (name != wanted || count <= names.len()) {
        return Ok(None);
    }
    if name != wanted {
        let message = format!("{} stands where the line of {} is expected", quoted(name), quoted(wanted));
        return Err(fault(source, word, message, "give lines and columns the same names in the same order"));
    }
    Ok(Some(name))
}

/// Returns a word without its quotes.
pub(super) fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word).trim()
}

/// Returns the latency that a word gives, in multiples of `unit`; `None` if it gives none.
pub(super) fn latency(word: &str, unit: Delay) -> Option<Delay> {
    unquoted(word).parse().ok().and_then(|number: f64| times(unit, number))
}

/// The latency of an entry that has none.
pub(super) const GAP: Delay = Delay::MAX;

/// An entry without a latency, and its place in the text.
pub(super) struct Gap {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) word: Range<usize>,
}

/// Returns true for a word that stands for no latency.
fn is_missing(word: &str) -> bool {
    let word = unquoted(word);
    ["", "-", "na", "n/a", "nan"].iter().any(|other| word.eq_ignore_ascii_case(other))
        || word.parse::<f64>().is_ok_and(|number| number < 0.0)
}

/// Returns true for a word that can be an entry of a table: a number, or a sign that there is none.
fn is_entry(word: &str) -> bool {
    word.parse::<f64>().is_ok() || is_missing(word)
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
pub(super) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let begins = std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1));
    let lines = begins.map(|begin| {
        let line = text[begin..].split('\n').next().unwrap_or_default();
        let begin = begin + (line.len() - line.trim_start().len());
        begin..begin + line.trim().len()
    });
    lines.filter(|line| !line.is_empty() && !text[line.clone()].starts_with('#'))
}

/// Returns the words of a line. Between commas, a word may be empty, except the first and the last, and a
/// name may have blanks.
pub(super) fn words(text: &str, line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let span = |word: &str| {
        let begin = word.as_ptr().addr() - text.as_ptr().addr();
        begin..begin + word.len()
    };
    let whole = &text[line];
    let cells = whole.split(',').count();
    whole.split(',').enumerate().flat_map(move |(index, cell)| {
        let cell = cell.trim();
        let is_gap = cell.is_empty() && index > 0 && index + 1 < cells;
        let is_one = is_gap || (cells > 1 && !cell.split_whitespace().all(is_entry));
        let one = is_one.then(|| span(cell));
        one.into_iter().chain(cell.split_whitespace().map(span).filter(move |_| !is_one))
    })
}
