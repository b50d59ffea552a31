//! Tables and series as files: CSV, and Parquet where this crate was built with it.

use crate::metrics::{columns, name, points, rows};
use parades_core::metrics::{MetricValue, Unit};
use parades_session::Failure;
use parades_sweep::results::cell;
use serde_json::Value;
use std::path::Path;
use std::{fs, io};

/// The rows of a table.
pub type Rows<'a> = Box<dyn Iterator<Item = Vec<Value>> + 'a>;

/// Returns the headings and the rows of a metric that is a table or a series; `None` for any other metric.
/// The headings have the units at their ends.
pub fn table_of<'a>(metric: &str, unit: Unit, value: &'a MetricValue) -> Option<(Vec<String>, Rows<'a>)> {
    match value {
        MetricValue::Table(table) => Some((columns(table), Box::new(rows(table)))),
        MetricValue::Series(series) => {
            let headings = vec!["time_s".to_owned(), name(metric, unit)];
            Some((headings, Box::new(points(unit, series))))
        }
        _ => None,
    }
}

/// Writes a CSV file with these headings.
pub(crate) fn write_csv(path: &Path, columns: &[String], rows: impl Iterator<Item = Vec<Value>>) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(columns)?;
    for row in rows {
        file.write_record(row.iter().map(cell))?;
    }
    file.flush()
}

/// Writes a Parquet file with these headings.
#[cfg(feature = "parquet")]
pub(crate) fn write_parquet(path: &Path, columns: Vec<String>, rows: Rows<'_>) -> io::Result<()> {
    let mut columns: Vec<(String, Vec<Value>)> = columns.into_iter().map(|name| (name, Vec::new())).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|((_, column), value)| column.push(value));
    }
    parades_sweep::parquet::write_table(columns, fs::File::create(path)?)
}

/// Fails: this crate was built without Parquet.
#[cfg(not(feature = "parquet"))]
pub(crate) fn write_parquet(_: &Path, _: Vec<String>, _: Rows<'_>) -> io::Result<()> {
    Err(io::Error::other("this program was built without Parquet"))
}

/// Checks that Parquet files can be written. `option` is the option that asks for them, and `instead` is the
/// user's other choice.
///
/// # Errors
///
/// [`Failure::Input`] if this crate was built without Parquet.
pub fn parquet_is_possible(option: &str, instead: &str) -> Result<(), Failure> {
    if cfg!(feature = "parquet") {
        return Ok(());
    }
    let help = format!("build it with `cargo build --release --features parquet`, or {instead}");
    Err(Failure::usage(format!("{option}: this program was built without Parquet"), help))
}
