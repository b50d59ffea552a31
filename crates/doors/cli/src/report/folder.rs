//! Results as files: one folder a run.

use super::json;
use crate::run::Done;
use parades_core::digest::Digest;
use parades_core::metrics::MetricValue;
use parades_inspect::recorded::{NETWORK, Recorded, SUMMARY, TABLES, TRACE};
use parades_session::Failure;
use parades_sweep::results::cell;
use serde::Serialize;
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The metrics alone, and as rows.
const METRICS: &str = "metrics.json";
const METRIC_ROWS: &str = "metrics.csv";

/// All that a run writes, in the order in which it takes its place: where there is a summary, the rest is of the same run.
const RESULTS: [&str; 6] = [TABLES, TRACE, NETWORK, METRIC_ROWS, METRICS, SUMMARY];

/// Names of files and folders are hardly longer.
const NAME_BYTES_MAX: usize = 120;

/// What the folder in which results are gathered is called, before the process's number.
const GATHERED: &str = ".parades-";

/// Where a folder of results has all that a run may write there.
pub(crate) fn results_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    RESULTS.iter().map(|name| folder.join(name))
}

/// The name of a file or folder for what has this name: the same, or where it is too long, or has letters that are not safe, what is safe of it and a hash.
pub(crate) fn safe_name(name: &str, is_safe: impl Fn(char) -> bool) -> String {
    if name.len() <= NAME_BYTES_MAX && name.chars().all(&is_safe) {
        return name.to_owned();
    }
    let mut hash = Digest::default();
    hash.bytes(name.as_bytes());
    let safe: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    format!("{},{:016x}", &safe[..safe.floor_char_boundary(NAME_BYTES_MAX)], hash.value())
}

/// Makes the folder, and sees to it that files can be written there, before the run whose results it is for. One with files that no run
/// wrote, where this one's would be, is refused.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    let entries = fs::read_dir(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    // What killed runs have left. One that was killed while it put its files there had taken the summary away, but has it here.
    let left = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(GATHERED);
    let left: Vec<PathBuf> = entries.flatten().filter(left).map(|entry| entry.path()).collect();
    let ours = left.iter().map(PathBuf::as_path).chain([folder]).any(|folder| command_of(folder).is_ok());
    let there = results_in(folder).filter(|path| path.exists()).last();
    if let (Some(path), false) = (there, ours) {
        let message = format!("{} is there, and no run wrote it", path.display());
        return Err(Failure::usage(message, "name another folder for `--out`"));
    }
    if !folder.join(SUMMARY).exists() {
        // Halves of a run that was killed. What was left beside them tells whose they are, so that it goes last.
        remove_results(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    }
    left.iter().for_each(|path| {
        let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
    });
    let probe = gathering(folder);
    fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).map_err(|error| Failure::cannot_write(folder, &error))
}

/// Where the trace of a run is written while that goes on.
pub(crate) fn trace_in(folder: &Path) -> PathBuf {
    folder.join(format!("{GATHERED}{}-trace", std::process::id()))
}

/// Where results are gathered before they take the place of others.
fn gathering(folder: &Path) -> PathBuf {
    folder.join(format!("{GATHERED}{}", std::process::id()))
}

/// Writes `summary.json` (the object of `--json`), `metrics.json` (the metrics alone: equal for equal runs), `metrics.csv` (those of one value, a row
/// each), `network.toml` (the network in full, if it was described in a file), and each table and series of the metrics as `tables/NAME.csv`.
///
/// All is written aside first, and then takes the place of what an earlier run wrote, the summary last.
pub(crate) fn write_folder(folder: &Path, done: &Done) -> Result<(), Failure> {
    let aside = gathering(folder);
    let gathered = fs::create_dir(&aside)
        .map_err(|error| Failure::written_late(&aside, &error))
        .and_then(|()| gather(&aside, done));
    let written = gathered.and_then(|()| {
        let moved = || {
            remove_results(folder)?;
            let seldom = [TABLES, TRACE, NETWORK];
            for name in RESULTS {
                match fs::rename(aside.join(name), folder.join(name)) {
                    // A run without tables, or without a trace, or of a scenario.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && seldom.contains(&name) => {}
                    moved => moved?,
                }
            }
            Ok(())
        };
        moved().map_err(|error| {
            let _ = remove_results(folder);
            Failure::written_late(folder, &error)
        })
    });
    let _ = fs::remove_dir_all(&aside);
    written
}

/// Removes the results of a run that are there, the summary first.
fn remove_results(folder: &Path) -> io::Result<()> {
    for name in RESULTS.iter().rev() {
        let path = folder.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Writes all files of a run into an empty folder.
fn gather(folder: &Path, done: &Done) -> Result<(), Failure> {
    if let Some(traced) = &done.traced {
        let path = folder.join(TRACE);
        fs::rename(&traced.path, &path).map_err(|error| Failure::written_late(&path, &error))?;
    }
    if let Some(text) = done.plan.network_in_full()? {
        let path = folder.join(NETWORK);
        fs::write(&path, text).map_err(|error| Failure::written_late(&path, &error))?;
    }
    write_json(&folder.join(SUMMARY), &json::Summary(done))?;
    write_json(&folder.join(METRICS), &json::AllMetrics(&done.outcome.metrics))?;
    let rows = json::figures(&done.outcome.metrics).into_iter().map(|(name, value)| vec![name.into(), value]);
    let path = folder.join(METRIC_ROWS);
    write_rows(&path, &["metric".to_owned(), "value".into()], rows)
        .map_err(|error| Failure::written_late(&path, &error))?;
    for (name, unit, value) in done.outcome.metrics.iter() {
        // Series are named by what the user has named.
        let file = safe_name(name, |c| !c.is_control() && !r#"/\:*?"<>|"#.contains(c));
        let path = folder.join(TABLES).join(format!("{file}.csv"));
        let columns = match value {
            MetricValue::Table(table) => json::columns(table),
            MetricValue::Series(_) => vec!["time_s".to_owned(), json::name(name, unit)],
            _ => continue,
        };
        let rows = || -> Rows<'_> {
            match value {
                MetricValue::Table(table) => Box::new(json::rows(table)),
                MetricValue::Series(series) => Box::new(json::points(unit, series)),
                _ => Box::new(std::iter::empty()),
            }
        };
        write_rows(&path, &columns, rows()).map_err(|error| Failure::written_late(&path, &error))?;
        if done.parquet {
            let path = path.with_extension("parquet");
            write_parquet(&path, columns, rows()).map_err(|error| Failure::written_late(&path, &error))?;
        }
    }
    Ok(())
}

/// The rows of a table.
type Rows<'a> = Box<dyn Iterator<Item = Vec<Value>> + 'a>;

/// Writes a table as a Parquet file.
#[cfg(feature = "parquet")]
fn write_parquet(path: &Path, columns: Vec<String>, rows: Rows<'_>) -> io::Result<()> {
    let mut columns: Vec<(String, Vec<Value>)> = columns.into_iter().map(|name| (name, Vec::new())).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|((_, column), value)| column.push(value));
    }
    parades_sweep::parquet::write_table(columns, fs::File::create(path)?)
}

/// Writes a table as a Parquet file, for which this program was not built.
#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &Path, _: Vec<String>, _: Rows<'_>) -> io::Result<()> {
    Err(io::Error::other("this program was built without Parquet"))
}

/// Sees to it, before any run, that Parquet files can be written, which `option` asks for.
pub(crate) fn parquet_is_possible(option: &str, instead: &str) -> Result<(), Failure> {
    if cfg!(feature = "parquet") {
        return Ok(());
    }
    let help = format!("build it with `cargo build --release --features parquet`, or {instead}");
    Err(Failure::usage(format!("{option}: this program was built without Parquet"), help))
}

/// Sees to it that [`write_whole`] will be able to write a file.
pub(crate) fn can_be_written(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder", path.display()), "name a file"));
    }
    let probe = aside(path);
    fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)).map_err(|error| Failure::cannot_write(path, &error))
}

/// Where a file is written before it is put in its place.
pub(crate) fn aside(path: &Path) -> PathBuf {
    path.with_added_extension(format!("parades-{}", std::process::id()))
}

/// Writes a file aside, and puts it in its place whole.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
) -> Result<(), Failure> {
    let aside = aside(path);
    let written = || {
        let mut file = BufWriter::new(fs::File::create(&aside)?);
        write(&mut file)?;
        file.into_inner()?.sync_data()?;
        fs::rename(&aside, path)
    };
    written().map_err(|error| {
        let _ = fs::remove_file(&aside);
        Failure::written_late(path, &error)
    })
}

/// Writes an object for people to read and scripts to parse.
fn write_json(path: &Path, object: &impl Serialize) -> Result<(), Failure> {
    let write = || {
        let mut file = BufWriter::new(fs::File::create(path)?);
        serde_json::to_writer_pretty(&mut file, object)?;
        writeln!(file)?;
        file.flush()
    };
    write().map_err(|error| Failure::written_late(path, &error))
}

/// Writes a CSV file with these headings.
fn write_rows(path: &Path, columns: &[String], rows: impl Iterator<Item = Vec<Value>>) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(columns)?;
    for row in rows {
        file.write_record(row.iter().map(cell))?;
    }
    file.flush()
}

/// The options of the run that wrote a folder, as words, and its digest.
pub(crate) fn command_of(folder: &Path) -> Result<(Vec<String>, Option<String>), Failure> {
    let path = folder.join(SUMMARY);
    let wrong =
        |what: String| Failure::usage(format!("{}: {what}", path.display()), "give a folder that `run --out` wrote");
    let recorded = Recorded::read(folder).map_err(|unusable| wrong(unusable.what))?;
    let summary = recorded.summary();
    let field = |name: &str| summary.get(name).cloned().ok_or_else(|| wrong(format!("has no field `{name}`")));
    let text_of = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut words = vec![text_of(&field("scenario")?)];
    let parameters = field("parameters")?;
    let mut parameters = parameters.as_object().ok_or_else(|| wrong("`parameters` is no object".into()))?.clone();
    let network = folder.join(NETWORK);
    if network.exists() {
        words = vec![network.display().to_string()];
        parameters.clear(); // Their values stand in the file.
    } else if words[0] == parades_catalog::network::SCENARIO.name {
        return Err(wrong(format!("is of a network file, and {NETWORK} is missing beside it")));
    }
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
