//! Tables of text.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table, TableComponent};

/// Returns an empty table with these headings; all columns but the first are aligned to the right.
pub(crate) fn table(headings: &[&str]) -> Table {
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
