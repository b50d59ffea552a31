//! Tables of text.

use crate::figure::group;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, Table, TableComponent};
use std::fmt::Write;

mod column;

pub(crate) use column::spoken;
pub use column::{Column, Entry};

/// The number of blanks between two columns.
pub(crate) const GAP: usize = 2;
/// The blanks of the gap that belong to the column on its left. The table draws the other one.
const PADDING: u16 = 1;

/// Returns an empty table with these headings; all columns but the first are aligned to the right.
pub fn table(headings: &[&str]) -> Table {
    let mut drawn = without_headings();
    drawn.set_header(headings.to_vec());
    for index in 1..headings.len() {
        if let Some(column) = drawn.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    drawn
}

/// Returns an empty table between two lines.
fn without_headings() -> Table {
    let mut drawn = Table::new();
    drawn.load_preset(UTF8_HORIZONTAL_ONLY);
    drawn.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    drawn
}

/// Draws the leading columns that fit into `width` characters, and returns their number. `rows_left` is the
/// number of rows that are not in the columns. The text says that those rows, and the columns that do not
/// fit, are in `elsewhere`.
pub fn draw(text: &mut String, columns: &[Column], width: usize, rows_left: usize, elsewhere: &str) -> usize {
    let shown = fitting(columns, width);
    render(text, &columns[..shown].iter().collect::<Vec<_>>());
    let more = [(rows_left, "row"), (columns.len() - shown, "column")];
    let more: Vec<String> = more.iter().filter(|(n, _)| *n > 0).map(|&(n, what)| counted(n, what)).collect();
    if !more.is_empty() {
        let _ = writeln!(text, "{}: {elsewhere}", more.join(", "));
    }
    shown
}

/// Draws all columns: those that do not fit into `width` characters follow below, each time with the first
/// column again.
pub fn draw_whole(text: &mut String, columns: &[Column], width: usize) {
    let Some((first, mut rest)) = columns.split_first() else { return };
    loop {
        let block: Vec<Column> = std::iter::once(first).chain(rest).cloned().collect();
        let shown = fitting(&block, width).max(2).min(block.len());
        render(text, &block[..shown].iter().collect::<Vec<_>>());
        rest = &rest[shown - 1..];
        if rest.is_empty() {
            return;
        }
        text.push('\n');
    }
}

/// Writes a sentence in lines of at most `width` characters, which are broken at blanks.
pub fn sentence(text: &mut String, sentence: &str, width: usize) {
    let mut used = 0;
    for word in sentence.split(' ') {
        let length = word.chars().count();
        let gap = match used {
            0 => "",
            _ if used + 1 + length > width => {
                used = 0;
                "\n"
            }
            _ => " ",
        };
        let _ = write!(text, "{gap}{word}");
        used += usize::from(gap == " ") + length;
    }
    text.push('\n');
}

/// Returns `4 more rows`.
fn counted(n: usize, what: &str) -> String {
    format!("{} more {what}{}", group(n as u128), if n == 1 { "" } else { "s" })
}

/// Returns the number of leading columns that fit into `width` characters; 1 at least.
fn fitting(columns: &[Column], width: usize) -> usize {
    let mut used = 0;
    let fits = |column: &&Column| {
        used += column.width() + GAP;
        used <= width + GAP
    };
    columns.iter().take_while(fits).count().max(1).min(columns.len())
}

/// Draws columns.
fn render(text: &mut String, columns: &[&Column]) {
    let has_units = columns.iter().any(|column| !column.unit.is_empty());
    let headings: Vec<Vec<String>> = columns.iter().map(|column| column.heading_lines(has_units)).collect();
    let height = headings.iter().map(Vec::len).max().unwrap_or(0);
    // Headings of fewer lines stand at the bottom.
    let heading = |lines: &Vec<String>| format!("{}{}", "\n".repeat(height - lines.len()), lines.join("\n"));
    let headings: Vec<String> = headings.iter().map(heading).collect();
    let mut drawn = if headings.iter().all(String::is_empty) {
        without_headings()
    } else {
        table(&headings.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        let align = |index: usize| if index == 0 { CellAlignment::Left } else { CellAlignment::Right };
        let cell = |(index, column): (usize, &&Column)| Cell::new(&column.cells[row]).set_alignment(align(index));
        drawn.add_row(columns.iter().enumerate().map(cell));
    }
    for (index, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((0, if index + 1 < columns.len() { PADDING } else { 0 }));
    }
    let _ = writeln!(text, "{}", drawn.trim_fmt());
}
