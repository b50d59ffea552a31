//! Results as files: one folder a run.

use super::json;
use crate::failure::Failure;
use crate::run::{Done, cannot_write};
use std::fs;
use std::path::Path;

/// The file in a run's folder that `diff` reads.
pub(crate) const SUMMARY: &str = "summary.json";

/// Makes the folder, before the run that is to be written into it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    // Found out now, not after an hour of running.
    let summary = folder.join(SUMMARY);
    fs::write(&summary, "").map_err(|error| cannot_write(&summary, &error))
}

/// Writes `summary.json` (the object of `--json`) and `metrics.json` (the metrics alone: equal for equal runs).
pub(crate) fn write_folder(folder: &Path, done: &Done) -> Result<(), Failure> {
    let write = |name: &str, value: &serde_json::Value| {
        let path = folder.join(name);
        fs::write(&path, format!("{value:#}\n")).map_err(|error| cannot_write(&path, &error))
    };
    write(SUMMARY, &json::run(done))?;
    write("metrics.json", &json::metrics(&done.outcome.metrics))
}

/// The options of the run that wrote a folder, as words.
pub(crate) fn command_of(folder: &Path) -> Result<Vec<String>, Failure> {
    let path = folder.join(SUMMARY);
    let wrong =
        |what: String| Failure::usage(format!("{}: {what}", path.display()), "give a folder that `run --out` wrote");
    let text = fs::read_to_string(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let summary: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let field = |name: &str| summary.get(name).cloned().ok_or_else(|| wrong(format!("has no field `{name}`")));
    let text_of = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut words = vec![text_of(&field("scenario")?)];
    let parameters = field("parameters")?;
    let parameters = parameters.as_object().ok_or_else(|| wrong("`parameters` is no object".into()))?;
    for (key, value) in parameters.iter().filter(|(_, value)| !value.is_null()) {
        words.extend(["--set".to_owned(), format!("{key}={}", text_of(value))]);
    }
    words.extend(["--seed".to_owned(), text_of(&field("seed")?), "--engine".to_owned(), text_of(&field("engine")?)]);
    if let Some(seed) = summary.get("tie_seed").filter(|seed| !seed.is_null()) {
        words.extend(["--tie-seed".to_owned(), text_of(seed)]);
    }
    let until =
        summary.get("until").and_then(serde_json::Value::as_str).ok_or_else(|| wrong("has no field `until`".into()))?;
    words.extend(["--until".to_owned(), until.to_owned()]);
    Ok(words)
}
