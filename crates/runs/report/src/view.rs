//! The part of the results that people see, and the width in which they see it.

use comfy_table::Table;

/// The width without a terminal, in characters.
const WIDTH: usize = 80;
/// The width below which tables get no narrower, in characters.
const LEAST_WIDTH: usize = 40;

/// The parts of results that are shown, and their width.
#[derive(Clone, Debug)]
pub struct View {
    /// The greatest width of a line, in characters.
    pub width: usize,
    /// True if the results are shown without the tables that have a row for each flow, link, run or sample.
    pub is_brief: bool,
    /// The one table that is shown, with all its rows and columns.
    pub table: Option<String>,
}

impl Default for View {
    /// Returns the view of everything in 80 columns.
    fn default() -> View {
        View { width: WIDTH, is_brief: false, table: None }
    }
}

impl View {
    /// Returns the view of everything in the width of standard output: that of the terminal, or else the
    /// number in the variable `COLUMNS`, or else 80.
    pub fn of_standard_output() -> View {
        let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
        let width = Table::new().width().map(usize::from).or_else(variable).unwrap_or(WIDTH);
        View { width: width.max(LEAST_WIDTH), ..View::default() }
    }
}
