//! Runs recorded as folders of files, and where two of them part.
//!
//! A folder has a `summary.json`; a `network.toml` if a file described the network; and, where they were
//! asked for, a `trace.txt`, and tables and series as `tables/NAME.csv`.
//!
//! - [`Recorded::request`]: the request that leads to the same run.
//! - [`Recorded::inputs`]: the files that the run read, by their hashes.
//! - [`Recorded::compare_traces`]: the first line in which two traces differ. Where both have the same events
//!   in view, that line is the first event at which the runs part: at the earliest instant, of the first
//!   logical process there.
//! - [`Recorded::differences`]: the origin of a run beside this process: files, program, compiler, machine.
//! - [`Recorded::difference`]: the first difference of their results, where there are no traces.

mod difference;
pub mod inputs;
mod origin;
mod traces;

pub use difference::{Difference, differs};
pub use inputs::RecordedInput;
pub use traces::Traces;

use crate::sweep::RUNS;
use crate::{Branched, Failure, Request};
use parades_catalog::Scenario;
use parades_config::inputs as files;
use parades_config::units::parse_time;
use parades_config::{Kind, Parameter};
use parades_core::time::Time;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The name of the file that every folder has.
pub const SUMMARY: &str = "summary.json";
/// The name of the trace.
pub const TRACE: &str = "trace.txt";
/// The name of the network in full, where a file described it.
pub const NETWORK: &str = "network.toml";
/// The name of the folder of tables and series.
pub const TABLES: &str = "tables";
/// The name of the scenario file whose run is the same.
pub const SCENARIO: &str = "scenario.toml";
/// The name of the file of the circumstances of the run: when, on what, by what.
pub const RECORD: &str = "record.json";
/// The name of the folder of the copies of input files.
pub const INPUTS: &str = "inputs";

/// The longest summary, and the longest network, in bytes. A summary has the rows of all tables.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// A run's folder.
#[derive(Clone, Debug)]
pub struct Recorded {
    folder: PathBuf,
    summary: Value,
}

/// Why a folder cannot be used: a sentence that names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The file.
    pub path: PathBuf,
    /// The fault of the file.
    pub what: String,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for Unusable {}

impl From<Unusable> for Failure {
    fn from(unusable: Unusable) -> Failure {
        Failure::usage(unusable.to_string(), "give a folder that `run --out` wrote")
    }
}

fn unusable(path: &Path, what: impl fmt::Display) -> Unusable {
    Unusable { path: path.to_owned(), what: what.to_string() }
}

/// Reports a file that cannot be read. The system's number of the reason is left out.
fn cannot_be_read(path: &Path, error: &io::Error) -> Unusable {
    unusable(path, format!("cannot be read: {}", files::reason(error)))
}

/// Checks that a file of a folder is neither a device nor a pipe, which may have no end.
fn check_is_file(path: &Path) -> Result<(), Unusable> {
    let metadata = std::fs::metadata(path).map_err(|error| cannot_be_read(path, &error))?;
    if metadata.is_file() { Ok(()) } else { Err(unusable(path, "is no file that a run wrote")) }
}

impl Recorded {
    /// Reads the run in a folder.
    ///
    /// # Errors
    ///
    /// Where the folder has no summary, or a broken one.
    pub fn read(folder: &Path) -> Result<Recorded, Unusable> {
        let path = folder.join(SUMMARY);
        if let Some(run) = first_run_below(folder).filter(|_| !path.exists()) {
            let what = format!("holds several runs, so name one of them, such as {}", run.display());
            return Err(unusable(folder, what));
        }
        check_is_file(&path)?;
        let file = File::open(&path).map_err(|error| cannot_be_read(&path, &error))?;
        let file = BufReader::new(file.take(FILE_BYTES_MAX));
        let summary: Value = serde_json::from_reader(file).map_err(|error| unusable(&path, error))?;
        if !summary.is_object() {
            return Err(unusable(&path, "is no JSON object"));
        }
        Ok(Recorded { folder: folder.to_owned(), summary })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the JSON object of the run.
    pub fn summary(&self) -> &Value {
        &self.summary
    }

    /// Returns the digest that the run had, in hexadecimal digits.
    pub fn digest(&self) -> Option<&str> {
        self.summary["digest"].as_str()
    }

    /// Returns the last branch that led to the run, if it is of one.
    pub fn branch(&self) -> Option<Branched> {
        Vec::<Branched>::deserialize(&self.summary["branches"]).ok()?.pop()
    }

    /// Returns the request that leads to the same run.
    ///
    /// # Errors
    ///
    /// Where a field of the summary is missing or wrong, and where the run is of a branch.
    pub fn request(&self) -> Result<Request, Unusable> {
        if let Some(branch) = self.branch() {
            let what = format!("is of a branch, which `{}` makes again", branch.command());
            return Err(unusable(&self.folder, what));
        }
        let mut request = Request { allows_idle: true, ..Request::of(self.text("scenario")?) };
        let parameters = self.field("parameters")?;
        let parameters = parameters.as_object().ok_or_else(|| self.wrong("`parameters` is no object"))?;
        let network = self.folder.join(NETWORK);
        if network.exists() {
            // The values of its parameters stand in the file.
            request.scenario = network.display().to_string();
        } else if request.scenario == parades_catalog::network::SCENARIO.name {
            return Err(self.wrong(&format!("is of a network file, and {NETWORK} is missing beside it")));
        } else {
            let paths = paths_of(&request.scenario);
            let text = |key: &String, value: &Value| {
                let path = paths.contains(&key.as_str()).then(|| self.path_of(value.as_str()?)).flatten();
                path.map_or_else(|| text_of(value), |path| path.display().to_string())
            };
            let given = parameters.iter().filter(|(_, value)| !value.is_null());
            request.set = given.map(|(key, value)| format!("{key}={}", text(key, value))).collect();
        }
        request.seed = Some(self.seed("seed")?);
        request.tie_seed = if self.summary["tie_seed"].is_null() { None } else { Some(self.seed("tie_seed")?) };
        request.engine = Some(self.text("engine")?);
        let settings = self.summary["settings"].as_object().into_iter().flatten();
        request.tune = settings.map(|(key, value)| format!("{key}={}", text_of(value))).collect();
        request.until = Some(self.until()?);
        Ok(request)
    }

    fn until(&self) -> Result<Time, Unusable> {
        let until = self.summary["until"].as_str().ok_or_else(|| self.wrong("has no field `until`"))?;
        parse_time(until).map_err(|error| self.wrong(&format!("`until`: {error}")))
    }

    fn seed(&self, name: &str) -> Result<u64, Unusable> {
        self.field(name)?.as_u64().ok_or_else(|| self.wrong(&format!("`{name}` is no seed")))
    }

    fn text(&self, name: &str) -> Result<String, Unusable> {
        self.field(name).map(text_of)
    }

    fn field(&self, name: &str) -> Result<&Value, Unusable> {
        self.summary.get(name).ok_or_else(|| self.wrong(&format!("has no field `{name}`")))
    }

    /// Reports what is wrong with the summary.
    fn wrong(&self, what: &str) -> Unusable {
        unusable(&self.folder.join(SUMMARY), what)
    }
}

/// Returns the first run of a comparison or a sweep in a folder.
fn first_run_below(folder: &Path) -> Option<PathBuf> {
    let runs = std::fs::read_dir(folder.join(RUNS)).ok()?.flatten().map(|entry| entry.path());
    runs.filter(|run| run.join(SUMMARY).exists()).min()
}

/// Returns the parameters of a scenario that are paths of files.
fn paths_of(scenario: &str) -> Vec<&'static str> {
    let Ok(scenario) = Scenario::named(scenario) else { return Vec::new() };
    let values = scenario.values();
    let parameters = values.iter().map(|(parameter, _)| parameter);
    parameters.filter(|parameter| matches!(parameter.kind(), Kind::Path)).map(Parameter::key).collect()
}

/// Returns a text as it is, and any other value as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A folder that is gone when the test is over.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("parades-session-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn run(&self, name: &str, summary: &Value, files: &[(&str, &str)]) -> Recorded {
            let folder = self.0.join(name);
            std::fs::create_dir_all(folder.join(TABLES)).unwrap();
            std::fs::write(folder.join(SUMMARY), summary.to_string()).unwrap();
            for (name, text) in files {
                std::fs::write(folder.join(name), text).unwrap();
            }
            Recorded::read(&folder).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn found(what: &str, a: &str, b: &str) -> Option<Difference> {
        Some(Difference { what: what.to_owned(), values: [a.to_owned(), b.to_owned()] })
    }

    #[test]
    fn what_was_asked_for_is_told_before_what_came_of_it() {
        let folder = Folder::new("asked");
        let run = |name: &str, load: f64, events: u64, mean: f64, digest: &str| {
            let summary = json!({
                "scenario": "mm1", "parameters": {"load": load}, "seed": 1, "events": events, "digest": digest,
                "metrics": {"wait_s": {"count": 3, "mean": mean}}, "wall_s": {"run": events},
            });
            folder.run(name, &summary, &[])
        };
        let a = run("a", 0.5, 10, 1.0, "aa");
        assert_eq!(a.difference(&a).unwrap(), None);
        assert_eq!(a.difference(&run("b", 0.6, 11, 2.0, "bb")).unwrap(), found("parameters.load", "0.5", "0.6"));
        assert_eq!(a.difference(&run("c", 0.5, 11, 2.0, "bb")).unwrap(), found("events", "10", "11"));
        assert_eq!(a.difference(&run("d", 0.5, 10, 2.0, "bb")).unwrap(), found("metrics.wait_s.mean", "1.0", "2.0"));
        assert_eq!(a.difference(&run("e", 0.5, 10, 1.0, "bb")).unwrap(), found("digest", "aa", "bb"));
    }

    #[test]
    fn the_first_cell_in_which_tables_differ_is_named() {
        let folder = Folder::new("tables");
        let run = |name: &str, table: &str| folder.run(name, &json!({}), &[("tables/flows.csv", table)]);
        let a = run("a", "id,bytes\n1,100\n2,200\n");
        assert_eq!(
            a.difference(&run("b", "id,bytes\n1,100\n2,201\n")).unwrap(),
            found("tables/flows.csv, row 2, bytes", "200", "201")
        );
        assert_eq!(
            a.difference(&run("c", "id,bytes\n1,100\n")).unwrap(),
            found("tables/flows.csv, row 2", "2,200", "no such row")
        );
        let none = folder.run("d", &json!({}), &[]);
        assert_eq!(a.difference(&none).unwrap(), found("tables/flows.csv", "there", "missing"));
    }

    #[test]
    fn traces_part_at_their_first_different_line() {
        let folder = Folder::new("traces");
        let of = |name: &str, trace: &str| folder.run(name, &json!({"trace": {"lps": null}}), &[(TRACE, trace)]);
        let a = of("a", "1s LP 0 <- LP 0 #0 x\n  | note\n2s LP 1 <- LP 0 #1 y\n");
        assert!(a.have_like_traces(&a));
        assert_eq!(a.compare_traces(&a, |_| {}).unwrap(), Traces::Same(2));
        let b = of("b", "1s LP 0 <- LP 0 #0 x\n  | note\n2s LP 1 <- LP 0 #1 z\n");
        let line = |text: &str| Some(text.to_owned());
        let parts = [line("2s LP 1 <- LP 0 #1 y"), line("2s LP 1 <- LP 0 #1 z")];
        assert_eq!(a.compare_traces(&b, |_| {}).unwrap(), Traces::Part(1, parts));
        let short = of("c", "1s LP 0 <- LP 0 #0 x\n  | note\n");
        assert_eq!(a.compare_traces(&short, |_| {}).unwrap(), Traces::Part(1, [line("2s LP 1 <- LP 0 #1 y"), None]));
        let filtered = folder.run("d", &json!({"trace": {"lps": "3"}}), &[]);
        assert!(!a.have_like_traces(&filtered));
        let missing = folder.run("e", &json!({"trace": {"lps": null}}), &[]);
        let said = a.compare_traces(&missing, |_| {}).unwrap_err().to_string();
        assert!(said.ends_with("e/trace.txt: cannot be read: No such file or directory"), "{said}");
    }

    #[test]
    fn folders_that_hold_no_run_are_refused_in_a_sentence() {
        let folder = Folder::new("wrong");
        let said = |text: &str| {
            std::fs::write(folder.0.join(SUMMARY), text).unwrap();
            Recorded::read(&folder.0).unwrap_err().what
        };
        assert_eq!(said("{"), "EOF while parsing an object at line 1 column 1");
        assert_eq!(said("[]"), "is no JSON object");
        let nowhere = Recorded::read(&folder.0.join("nowhere")).unwrap_err().what;
        assert_eq!(nowhere, "cannot be read: No such file or directory");
    }
}
