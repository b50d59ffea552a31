//! Figures written down, and compared with those written down before.

use super::sides::Spread;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::run::cannot_write;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// One figure of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) spread: Spread,
}

/// Opens a file of records, before anything is measured.
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    OpenOptions::new().append(true).create(true).open(path).map_err(|error| cannot_write(path, &error))
}

/// Appends the figures, one JSON object a line.
pub(super) fn write(file: &mut File, bench: &str, figures: &[Figure], machine: &Machine) -> Result<(), Failure> {
    for Figure { name, spread: Spread { median, least, greatest } } in figures {
        let line = json!({
            "bench": bench, "figure": name, "median": median, "least": least, "greatest": greatest,
            "commit": env!("PARADES_COMMIT"), "machine": machine,
        });
        writeln!(file, "{line}")
            .map_err(|error| Failure::simulation(format!("the record cannot be written: {error}")))?;
    }
    Ok(())
}

/// What was recorded, the latest last.
pub(super) fn read(path: &Path) -> Result<Vec<Value>, Failure> {
    let wrong = |line: usize, what: String| {
        Failure::usage(format!("{}:{line}: {what}", path.display()), "give a file that `bench --record` wrote")
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(1, format!("cannot be read: {error}")))?;
    let parse = |(index, line)| {
        serde_json::from_str(line).map_err(|error: serde_json::Error| wrong(index + 1, error.to_string()))
    };
    text.lines().enumerate().map(parse).collect()
}

/// Each figure beside the latest record of it. Where the spreads overlap, the difference may be noise.
pub(super) fn compare(bench: &str, figures: &[Figure], before: &[Value]) -> String {
    let mut text = String::new();
    for Figure { name, spread } in figures {
        let of_this = |record: &&Value| record["bench"] == bench && record["figure"] == name.as_str();
        let Some(record) = before.iter().rev().find(of_this) else {
            let _ = writeln!(text, "{name}: no record");
            continue;
        };
        let number = |field: &str| record[field].as_f64().unwrap_or(f64::NAN);
        let old = Spread { median: number("median"), least: number("least"), greatest: number("greatest") };
        let verdict = if spread.least > old.greatest {
            "higher"
        } else if spread.greatest < old.least {
            "lower"
        } else {
            "within the spread"
        };
        let change = (spread.median / old.median - 1.0) * 100.0;
        let _ = writeln!(text, "{name}: {} against {}, {change:+.1} %, {verdict}", spread.show(3), old.show(3));
    }
    text
}
