//! Tables of text.

use crate::figure::group;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table, TableComponent};
use std::fmt::Write;

/// The greatest width of a table, in characters: that of a usual terminal.
const WIDTH: usize = 118;
/// The columns of text between two cells.
const CELL_PADDING: usize = 3;

/// Returns an empty table with these headings; all columns but the first are aligned to the right.
pub fn table(headings: &[&str]) -> Table {
    let mut drawn = Table::new();
    drawn.load_preset(UTF8_HORIZONTAL_ONLY).set_header(headings.to_vec());
    drawn.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    for index in 1..headings.len() {
        if let Some(column) = drawn.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    drawn
}

/// Draws the columns of a table that fit. `rows_left` is the number of rows that are not in `body`. The text
/// says that those rows, and the columns that do not fit, are in `elsewhere`.
pub fn draw(text: &mut String, headings: &[String], body: &[Vec<String>], rows_left: usize, elsewhere: &str) {
    let width = |index: usize| {
        let cells = body.iter().map(|row| row[index].chars().count());
        cells.chain([headings[index].chars().count()]).max().unwrap_or(0) + CELL_PADDING
    };
    let mut room = WIDTH;
    let fits = |index: &usize| {
        let fits = width(*index) <= room;
        room = room.saturating_sub(width(*index));
        fits
    };
    let columns = (0..headings.len()).take_while(fits).count().max(1);
    let mut drawn = table(&headings[..columns].iter().map(String::as_str).collect::<Vec<_>>());
    body.iter().for_each(|row| {
        drawn.add_row(&row[..columns]);
    });
    let _ = writeln!(text, "{drawn}");
    let more = [(rows_left, "rows"), (headings.len() - columns, "columns")];
    let more: Vec<String> =
        more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} more {what}", group(*n as u128))).collect();
    if !more.is_empty() {
        let _ = writeln!(text, "{}: in {elsewhere}", more.join(", "));
    }
}
