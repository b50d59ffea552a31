//! Tables of cells, and values of one cell.

use super::Unit;
use super::per_lp::PerLp;
use super::rows::{Row, Rows};
use super::sums::Sums;
use crate::event::Sender;
use serde::{Deserialize, Serialize};

/// The heading of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The name of the column.
    pub name: Box<str>,
    /// The unit of its numbers.
    pub unit: Unit,
    /// The bound on the relative error of its numbers, in thousandths; 0 if they are exact.
    pub error_permille: u16,
}

impl Column {
    /// Makes the heading of a column with this name and unit.
    pub fn new(name: &str, unit: Unit) -> Column {
        Column { name: name.into(), unit, error_permille: 0 }
    }

    /// Declares that the numbers have a relative error of at most `permille` thousandths.
    #[must_use]
    pub fn with_error_permille(self, permille: u16) -> Column {
        Column { error_permille: permille, ..self }
    }
}

/// One entry of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// No value: for example, the flow has not finished.
    #[default]
    Empty,
    /// Text.
    Text(Box<str>),
    /// An integer.
    Integer(u64),
    /// A floating-point number.
    Float(f64),
}

impl From<u64> for Cell {
    fn from(x: u64) -> Cell {
        Cell::Integer(x)
    }
}
impl From<f64> for Cell {
    fn from(x: f64) -> Cell {
        Cell::Float(x)
    }
}
impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}

/// Rows of cells under named columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) lps: PerLp<Rows>,
    /// Sums from which rows are made at the end ([`super::Metrics::add_to_sums`]).
    pub(super) sums: Sums,
}

impl Table {
    /// Returns the headings.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the rows, each as long as [`Table::columns`]. For large tables, [`Table::iter_rows`] takes
    /// less memory.
    ///
    /// Rows are ordered by the integer in their first column; rows without one come first. Equal rows are in
    /// id order, those of global events first, and then in the order of recording.
    pub fn rows(&self) -> Vec<Vec<Cell>> {
        self.iter_rows().collect()
    }

    /// Returns the rows one after another, in the order of [`Table::rows`].
    pub fn iter_rows(&self) -> impl ExactSizeIterator<Item = Vec<Cell>> {
        let mut rows: Vec<(Option<u64>, Row<'_>)> =
            self.lps.iter().flat_map(|(_, rows)| rows.iter()).map(|row| (row.first_integer(), row)).collect();
        // A stable sort, so that equal rows stay in that order. `None` sorts first.
        rows.sort_by_key(|(first, _)| *first);
        rows.into_iter().map(|(_, row)| row.cells().collect())
    }

    /// Keeps the first `count` rows, in the order of [`Table::rows`], as recordings of `recorder`.
    pub(super) fn keep_first(&mut self, count: usize, recorder: Sender) {
        let mut kept = Rows::default();
        self.iter_rows().take(count).for_each(|row| kept.push(row));
        self.lps = PerLp::default();
        *self.lps.entry(recorder) = kept;
    }
}

/// One cell, set at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub(super) lps: PerLp<Cell>,
}

impl Value {
    /// Returns the last setting of the LP with the largest id, or `Empty` if there is no setting.
    pub fn cell(&self) -> &Cell {
        self.lps.iter().last().map_or(&Cell::Empty, |(_, cell)| cell)
    }
}
