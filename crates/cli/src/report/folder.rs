//! Results as files: one folder a run.

use super::json;
use crate::failure::Failure;
use crate::run::{Done, cannot_write, written_late};
use parades_core::metrics::MetricValue;
use serde::Serialize;
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::{fs, io};

/// The file in a run's folder that `diff` reads.
pub(crate) const SUMMARY: &str = "summary.json";

/// The folder of tables and series inside it, which belongs to the latest run alone.
const TABLES: &str = "tables";

/// Makes the folder, and sees to it that files can be written there, before the run whose results it is for.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let probe = folder.join(".parades-probe");
    fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)).map_err(|error| cannot_write(folder, &error))
}

/// Writes `summary.json` (the object of `--json`), `metrics.json` (the metrics alone: equal for equal runs), and each table and series of
/// the metrics as `tables/NAME.csv`.
pub(crate) fn write_folder(folder: &Path, done: &Done) -> Result<(), Failure> {
    write_json(&folder.join(SUMMARY), &json::Summary(done))?;
    write_json(&folder.join("metrics.json"), &json::AllMetrics(&done.outcome.metrics))?;
    let tables = folder.join(TABLES);
    if tables.exists() {
        fs::remove_dir_all(&tables).map_err(|error| written_late(&tables, &error))?;
    }
    for (name, unit, value) in done.outcome.metrics.iter() {
        let path = tables.join(format!("{name}.csv"));
        let written = match value {
            MetricValue::Table(table) => write_rows(&path, &json::columns(table), json::rows(table)),
            MetricValue::Series(series) => {
                let columns = ["time_s".to_owned(), json::name(name, unit)];
                write_rows(&path, &columns, json::points(unit, series))
            }
            _ => Ok(()),
        };
        written.map_err(|error| written_late(&path, &error))?;
    }
    Ok(())
}

/// Writes an object for people to read and scripts to parse.
fn write_json(path: &Path, object: &impl Serialize) -> Result<(), Failure> {
    let write = || {
        let mut file = BufWriter::new(fs::File::create(path)?);
        serde_json::to_writer_pretty(&mut file, object)?;
        writeln!(file)?;
        file.flush()
    };
    write().map_err(|error| written_late(path, &error))
}

/// Writes a CSV file with these headings.
fn write_rows(path: &Path, columns: &[String], rows: impl Iterator<Item = Vec<Value>>) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(columns)?;
    for row in rows {
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        file.write_record(row.iter().map(cell))?;
    }
    file.flush()
}

/// The options of the run that wrote a folder, as words, and its digest.
pub(crate) fn command_of(folder: &Path) -> Result<(Vec<String>, Option<String>), Failure> {
    let path = folder.join(SUMMARY);
    let wrong =
        |what: String| Failure::usage(format!("{}: {what}", path.display()), "give a folder that `run --out` wrote");
    let text = fs::read_to_string(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let summary: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let field = |name: &str| summary.get(name).cloned().ok_or_else(|| wrong(format!("has no field `{name}`")));
    let text_of = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut words = vec![text_of(&field("scenario")?)];
    let parameters = field("parameters")?;
    let parameters = parameters.as_object().ok_or_else(|| wrong("`parameters` is no object".into()))?;
    for (key, value) in parameters.iter().filter(|(_, value)| !value.is_null()) {
        words.extend(["--set".to_owned(), format!("{key}={}", text_of(value))]);
    }
    words.extend(["--seed".to_owned(), text_of(&field("seed")?), "--engine".to_owned(), text_of(&field("engine")?)]);
    for (key, value) in summary.get("settings").and_then(Value::as_object).into_iter().flatten() {
        words.extend(["--tune".to_owned(), format!("{key}={}", text_of(value))]);
    }
    if let Some(seed) = summary.get("tie_seed").filter(|seed| !seed.is_null()) {
        words.extend(["--tie-seed".to_owned(), text_of(seed)]);
    }
    let until = summary.get("until").and_then(Value::as_str).ok_or_else(|| wrong("has no field `until`".into()))?;
    words.extend(["--until".to_owned(), until.to_owned()]);
    Ok((words, summary.get("digest").and_then(Value::as_str).map(str::to_owned)))
}
