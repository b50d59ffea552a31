//! Tables of cells, and values of one cell.

use super::Unit;
use super::per_lp::PerLp;
use super::sums::Sums;
use serde::{Deserialize, Serialize};

/// The heading of a table's column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// What the column is called.
    pub name: Box<str>,
    /// What its numbers count.
    pub unit: Unit,
}

impl Column {
    /// A column of this name, whose numbers count `unit`s.
    pub fn new(name: &str, unit: Unit) -> Column {
        Column { name: name.into(), unit }
    }
}

/// One entry of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// Nothing: the flow has not finished, say.
    #[default]
    Empty,
    /// Words.
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
    pub(super) lps: PerLp<Vec<Box<[Cell]>>>,
    /// What the rows are to be made of at the end ([`super::Metrics::add_to_sums`]).
    pub(super) sums: Sums,
}

impl Table {
    /// The headings.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows, each as long as [`Table::columns`]: by the integer in the first column, where there is one (rows without come first); those
    /// alike by LP id, the global events' first, and then in the order of recording.
    pub fn rows(&self) -> Vec<&[Cell]> {
        let mut rows: Vec<&[Cell]> = self.lps.iter().flat_map(|(_, rows)| rows).map(|row| &row[..]).collect();
        // A stable sort, so that rows alike stay in the order above. `None` sorts first.
        rows.sort_by_key(|row| match row.first() {
            Some(&Cell::Integer(x)) => Some(x),
            _ => None,
        });
        rows
    }
}

/// One cell, set at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub(super) lps: PerLp<Cell>,
}

impl Value {
    /// What it was set to: of several settings, the last one of the LP with the greatest id. `Empty` if it was never set.
    pub fn cell(&self) -> &Cell {
        self.lps.iter().last().map_or(&Cell::Empty, |(_, cell)| cell)
    }
}
