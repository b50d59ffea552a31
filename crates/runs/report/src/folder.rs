//! Results as files: one folder a run.
//!
//! | file | contents |
//! |---|---|
//! | `summary.json` | the object of `--json` |
//! | `metrics.json` | the metrics alone: equal for equal runs |
//! | `metrics.csv` | the metrics of one value, a row each |
//! | `scenario.toml` | a scenario file whose run is the same |
//! | `record.json` | the circumstances of the run: date, system, compiler, times, files read |
//! | `inputs/` | copies of the files that the run read, if they were asked for |
//! | `network.toml` | the network in full, if a file described it |
//! | `trace.txt` | the trace, if it was asked for |
//! | `tables/NAME.csv` | each table and series |
//!
//! The folder of a comparison has a kind of its own: see [`crate::comparison`].

use crate::Report;
use crate::metrics::{AllMetrics, figures};
use crate::result_file::{Temporary, remove, uninterrupted};
use crate::rows::{table_of, write_csv, write_parquet};
use crate::summary::{Summary, resumed_as_json};
use parades_config::inputs::{self, Seen};
use parades_session::circumstances::Circumstances;
use parades_session::recorded::inputs::{as_json as inputs_as_json, copy_name};
use parades_session::recorded::{INPUTS, NETWORK, RECORD, Recorded, SCENARIO, SUMMARY, TABLES, TRACE};
use parades_session::sweep::{JOURNAL, RUNS};
use parades_session::{Claim, Failure, safe_name};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The name of the file of the metrics alone.
const METRICS: &str = "metrics.json";
/// The name of the file of the metrics as rows.
const METRIC_ROWS: &str = "metrics.csv";

/// All results of a run, in the order in which they are moved to their places. The summary is last: if it is
/// there, all files are of the same run.
const RESULTS: [&str; 9] = [TABLES, TRACE, NETWORK, INPUTS, SCENARIO, RECORD, METRIC_ROWS, METRICS, SUMMARY];

/// The results that not every run has.
const OPTIONAL: [&str; 4] = [TABLES, TRACE, NETWORK, INPUTS];

/// A kind of folder of results.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The names of all results, in the order in which they are moved to their places. If the last is there,
    /// all of them are of one kind and of one command.
    pub(crate) results: &'static [&'static str],
    /// The results that are not always there.
    pub(crate) optional: &'static [&'static str],
    /// True if a folder has such results.
    pub(crate) is_in: fn(&Path) -> bool,
    /// The name of the command whose results these are: "run".
    pub(crate) name: &'static str,
}

/// The results of a run.
const RUN: Kind = Kind { results: &RESULTS, optional: &OPTIONAL, is_in: is_of_a_run, name: "run" };

impl Kind {
    /// Returns the name of the last result.
    fn last(&self) -> &'static str {
        self.results[self.results.len() - 1]
    }
}

/// The beginning of the name of a folder in which results are gathered. The number of the process follows.
const GATHERED: &str = ".parades-";

/// Returns the paths of all files and folders that a run may write into a folder of results.
pub(crate) fn results_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    RESULTS.iter().map(|name| folder.join(name))
}

/// Makes the folder of results of a run that a user asks for: [`make`], but the results of another run are
/// replaced only if `overwrites` says so, and a sweep's folder is refused. If the run goes on from a save
/// with the scenario file `scenario`, only results of that run are replaced.
///
/// # Errors
///
/// [`Failure::Input`] if the folder is refused, or if files cannot be written.
pub fn make_for_run(folder: &Path, overwrites: bool, scenario: Option<&str>) -> Result<Claim, Failure> {
    if let Some(scenario) = scenario
        && let Ok(there) = fs::read_to_string(folder.join(SCENARIO))
        && !without_end(&there).eq(without_end(scenario))
    {
        let message = format!("{} has the results of another run than the saved one", folder.display());
        return Err(Failure::usage(message, "write the results elsewhere with `--out`"));
    }
    make_for_user(&RUN, folder, overwrites)
}

/// Returns the lines of a scenario file that do not depend on the end of the run.
fn without_end(scenario: &str) -> impl Iterator<Item = &str> {
    scenario.lines().filter(|line| !line.starts_with("until = "))
}

/// Makes a folder of results that a user asks for. Otherwise as [`make_for_run`].
pub(crate) fn make_for_user(kind: &Kind, folder: &Path, overwrites: bool) -> Result<Claim, Failure> {
    // A refused folder must not be made, and one that is made while a sweep begins there is refused below.
    check_is_for(kind, folder, overwrites)?;
    let claim = make_of(kind, folder)?;
    check_is_for(kind, folder, overwrites)?;
    Ok(claim)
}

fn check_is_for(kind: &Kind, folder: &Path, overwrites: bool) -> Result<(), Failure> {
    if let Some(sweep) = sweep_of(folder) {
        let message = format!("{} is the folder of a sweep", sweep.display());
        return Err(Failure::usage(message, "name another folder for `--out`"));
    }
    if !overwrites && folder.join(kind.last()).exists() && (kind.is_in)(folder) {
        let message = format!("{} has the results of another {}", folder.display(), kind.name);
        return Err(Failure::usage(message, "name another folder for `--out`, or replace them with `--overwrite`"));
    }
    Ok(())
}

/// Returns the folder of the sweep to which a folder of results belongs, if there is one.
fn sweep_of(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).ok()?;
    let runs = folder.parent().filter(|parent| parent.file_name() == Path::new(RUNS).file_name());
    let sweep = runs.and_then(Path::parent);
    [Some(folder.as_path()), sweep]
        .into_iter()
        .flatten()
        .find(|folder| folder.join(JOURNAL).exists())
        .map(Path::to_owned)
}

/// Makes a folder of results before the run, and checks that files can be written there. The folder has one
/// writer at a time: the one that has the claim.
///
/// # Errors
///
/// [`Failure::Input`] if files cannot be written, if another process writes into the folder, or if files that
/// no run wrote are in the places of the results.
pub fn make(folder: &Path) -> Result<Claim, Failure> {
    make_of(&RUN, folder)
}

/// Makes a folder of results. Otherwise as [`make`].
fn make_of(kind: &Kind, folder: &Path) -> Result<Claim, Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    let claim = Claim::of(folder)?;
    // A command that was killed while it moved its results has removed the old last result already, and has a
    // new one among the gathered results.
    let gathered = gathered_in(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    let is_ours = gathered.iter().map(PathBuf::as_path).chain([folder]).any(kind.is_in);
    let existing = kind.results.iter().map(|name| folder.join(name)).rfind(|path| path.exists());
    if let (Some(path), false) = (existing, is_ours) {
        let message = format!("{} is there, and no {} wrote it", path.display(), kind.name);
        return Err(Failure::usage(message, "name another folder for `--out`"));
    }
    if !folder.join(kind.last()).exists() {
        // Remains of a killed command. They are removed before the gathered results, which show what wrote
        // the folder.
        remove_results(kind, folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    }
    gathered.iter().for_each(|path| remove(path));
    Temporary::made(gathering(folder), |probe| fs::create_dir(probe))
        .map_err(|error| Failure::cannot_write(folder, &error))?;
    Ok(claim)
}

/// Writes results into a folder that was made. They are first gathered aside, in an empty folder that
/// `gather` fills. Then they replace earlier ones, the last one at last.
pub(crate) fn write(
    kind: &Kind,
    folder: &Path,
    gather: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (gathered, ()) = Temporary::made(gathering(folder), |path| fs::create_dir(path))
        .map_err(|error| Failure::written_late(folder, &error))?;
    gather(gathered.path())?;
    uninterrupted(|| replace_results(kind, gathered.path(), folder)).map_err(|error| {
        let _ = remove_results(kind, folder);
        Failure::written_late(folder, &error)
    })
}

/// Removes what killed workers of a sweep left in the folders of their runs: results that they were
/// gathering, and folders in which there is nothing else.
pub fn remove_remains_of_workers(sweep: &Path) {
    let Ok(runs) = fs::read_dir(sweep.join(RUNS)) else { return };
    for run in runs.flatten().map(|run| run.path()) {
        // A folder that another run writes into is none of a killed worker.
        let Ok(_claim) = Claim::of(&run) else { continue };
        for path in gathered_in(&run).unwrap_or_default() {
            remove(&path);
        }
        // This fails if there is anything in it.
        let _ = fs::remove_dir(&run);
    }
}

/// Returns the gathered results in a folder: remains of a killed run, if no run is writing there.
fn gathered_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_gathered = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(GATHERED);
    Ok(fs::read_dir(folder)?.flatten().filter(is_gathered).map(|entry| entry.path()).collect())
}

/// True if a run wrote this folder.
fn is_of_a_run(folder: &Path) -> bool {
    Recorded::read(folder).is_ok_and(|recorded| recorded.branch().is_some() || recorded.request().is_ok())
}

/// Returns the place of a run's trace while the run is executed.
pub(crate) fn trace_in(folder: &Path) -> PathBuf {
    folder.join(format!("{GATHERED}{}-trace", std::process::id()))
}

/// Returns the folder in which this process gathers results.
fn gathering(folder: &Path) -> PathBuf {
    folder.join(format!("{GATHERED}{}", std::process::id()))
}

impl Report<'_> {
    /// Writes the results into a folder that [`make`] has made.
    ///
    /// All files are first gathered aside. Then they replace those of an earlier run, the summary last.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if a file cannot be written.
    pub fn write_folder(&self, folder: &Path) -> Result<(), Failure> {
        write(&RUN, folder, |gathered| self.gather(gathered))?;
        if let Some(trace) = self.trace.filter(|trace| trace.stays) {
            // The folder has it now.
            remove(&trace.path);
        }
        Ok(())
    }

    /// Writes all files of the run into an empty folder.
    pub(crate) fn gather(&self, folder: &Path) -> Result<(), Failure> {
        let outcome = &self.run.outcome;
        let late = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| Failure::written_late(&path, &error)
        };
        if let Some(trace) = self.trace {
            let path = folder.join(TRACE);
            let moved = if trace.stays {
                fs::hard_link(&trace.path, &path).or_else(|_| fs::copy(&trace.path, &path).map(drop))
            } else {
                fs::rename(&trace.path, &path)
            };
            moved.map_err(late(&path))?;
        }
        if let Some(text) = self.run.plan.network_in_full()? {
            let path = folder.join(NETWORK);
            fs::write(&path, text).map_err(late(&path))?;
        }
        let path = folder.join(SCENARIO);
        fs::write(&path, self.run.plan.as_file(Some(outcome.end))?).map_err(late(&path))?;
        write_json(&folder.join(RECORD), &self.record())?;
        if self.copy_inputs {
            copy_inputs(&self.run.inputs, &folder.join(INPUTS))?;
        }
        write_json(&folder.join(SUMMARY), &Summary(self))?;
        write_json(&folder.join(METRICS), &AllMetrics(&outcome.metrics))?;
        let rows = figures(&outcome.metrics).into_iter().map(|(name, value)| vec![name.into(), value]);
        let path = folder.join(METRIC_ROWS);
        write_csv(&path, &["metric".to_owned(), "value".into()], rows).map_err(late(&path))?;
        for (name, unit, value) in outcome.metrics.iter() {
            let Some((columns, rows)) = table_of(name, unit, value) else { continue };
            // The name of a series may be one that the user has chosen.
            let file = safe_name(name, |c| !c.is_control() && !r#"/\:*?"<>|"#.contains(c));
            let path = folder.join(TABLES).join(format!("{file}.csv"));
            write_csv(&path, &columns, rows).map_err(late(&path))?;
            if let (true, Some((columns, rows))) = (self.parquet, table_of(name, unit, value)) {
                let path = path.with_extension("parquet");
                write_parquet(&path, columns, rows).map_err(late(&path))?;
            }
        }
        Ok(())
    }

    /// Returns the circumstances of the run: when, on what, by what and from what.
    pub(crate) fn record(&self) -> Value {
        let mut record = json!({
            "circumstances": Circumstances::now(), "machine": self.run.machine, "version": self.program.version,
            "commit": self.program.commit, "build": self.program.build, "command": self.program.command,
            "inputs": inputs_as_json(&self.run.inputs),
        });
        self.run.resumed.iter().for_each(|resumed| record["resumed"] = resumed_as_json(resumed));
        record
    }
}

/// Copies the files that a run read into a folder. A file that has changed since is left out, and so is one
/// that is none, such as a pipe.
fn copy_inputs(inputs: &[Seen], folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::written_late(folder, &error))?;
    for Seen { path, bytes, hash } in inputs.iter().filter(|input| is_copied(&input.path)) {
        let Ok(contents) = inputs::read_whole(path, *bytes) else { continue };
        if inputs::hash(&contents) == *hash {
            let copy = folder.join(copy_name(path, *hash));
            fs::write(&copy, contents).map_err(|error| Failure::written_late(&copy, &error))?;
        }
    }
    Ok(())
}

/// True if a file has contents that can be read again. Those of standard input are held.
fn is_copied(path: &Path) -> bool {
    path.is_file() || path == Path::new(inputs::STANDARD_INPUT)
}

/// Moves gathered results to their places.
fn replace_results(kind: &Kind, aside: &Path, folder: &Path) -> io::Result<()> {
    remove_results(kind, folder)?;
    for name in kind.results {
        match fs::rename(aside.join(name), folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && kind.optional.contains(name) => {}
            moved => moved?,
        }
    }
    Ok(())
}

/// Removes results from a folder, the last one first.
fn remove_results(kind: &Kind, folder: &Path) -> io::Result<()> {
    for name in kind.results.iter().rev() {
        let path = folder.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Writes an object for people to read and scripts to parse.
pub(crate) fn write_json(path: &Path, object: &impl Serialize) -> Result<(), Failure> {
    let write = || {
        let mut file = BufWriter::new(fs::File::create(path)?);
        serde_json::to_writer_pretty(&mut file, object)?;
        writeln!(file)?;
        file.flush()
    };
    write().map_err(|error| Failure::written_late(path, &error))
}
