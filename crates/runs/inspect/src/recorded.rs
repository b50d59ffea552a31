//! Two runs written down as folders of files, and where they part.
//!
//! A folder has a `summary.json`, a `network.toml` if the run was of a network file, and, where they were asked for, a `trace.txt`, tables and series as
//! `tables/NAME.csv`. Where both have traces of the same events, the first line in which these differ is the first event at which the runs part: at the least
//! instant, of the first LP there. Otherwise what differs first is told: what was asked for, then how much was executed, then the metrics, then the rows of
//! tables.

use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The file that every folder has.
pub const SUMMARY: &str = "summary.json";
/// The trace among the files.
pub const TRACE: &str = "trace.txt";
/// The network in full, where it was described in a file.
pub const NETWORK: &str = "network.toml";
/// The folder of tables and series among them.
pub const TABLES: &str = "tables";

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
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for Unusable {}

fn unusable(path: &Path, what: impl fmt::Display) -> Unusable {
    Unusable { path: path.to_owned(), what: what.to_string() }
}

/// A reason without the system's number for it.
fn cannot_be_read(path: &Path, error: &io::Error) -> Unusable {
    let text = error.to_string();
    unusable(path, format!("cannot be read: {}", text.split(" (os error").next().unwrap_or(&text)))
}

/// What the traces of two runs say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traces {
    /// The same, in so many events.
    Same(u64),
    /// They part after so many events, each with this line; without one, it has no more.
    Part(u64, [Option<String>; 2]),
}

impl Recorded {
    /// The run in a folder.
    ///
    /// # Errors
    ///
    /// Where it has no summary, or a broken one.
    pub fn read(folder: &Path) -> Result<Recorded, Unusable> {
        let path = folder.join(SUMMARY);
        let file = File::open(&path).map_err(|error| cannot_be_read(&path, &error))?;
        let summary: Value = serde_json::from_reader(BufReader::new(file)).map_err(|error| unusable(&path, error))?;
        if !summary.is_object() {
            return Err(unusable(&path, "is no JSON object"));
        }
        Ok(Recorded { folder: folder.to_owned(), summary })
    }

    /// Its summary.
    pub fn summary(&self) -> &Value {
        &self.summary
    }

    /// Whether there is a trace of all its events.
    fn traced(&self) -> &Value {
        &self.summary["trace"]
    }

    /// Whether both have traces, of events chosen alike.
    pub fn have_like_traces(&self, other: &Recorded) -> bool {
        self.traced().is_object() && self.traced() == other.traced()
    }

    /// Compares the traces; `progress` is called now and then with the share of the first that has been read.
    ///
    /// # Errors
    ///
    /// Where one cannot be read.
    pub fn compare_traces(&self, other: &Recorded, mut progress: impl FnMut(f64)) -> Result<Traces, Unusable> {
        let paths = [self, other].map(|run| run.folder.join(TRACE));
        let open = |path: &PathBuf| File::open(path).map_err(|error| cannot_be_read(path, &error));
        let files = [open(&paths[0])?, open(&paths[1])?];
        let size = files[0].metadata().map_or(0, |data| data.len()).max(1);
        let [mut a, mut b] = files.map(BufReader::new);
        let (mut events, mut lines, mut bytes) = (0_u64, 0_u64, 0_u64);
        let [mut line_a, mut line_b] = [Vec::new(), Vec::new()];
        loop {
            for (file, line, path) in [(&mut a, &mut line_a, &paths[0]), (&mut b, &mut line_b, &paths[1])] {
                line.clear();
                file.read_until(b'\n', line).map_err(|error| cannot_be_read(path, &error))?;
            }
            if line_a != line_b {
                let text =
                    |line: &[u8]| (!line.is_empty()).then(|| String::from_utf8_lossy(line).trim_end().to_owned());
                return Ok(Traces::Part(events, [text(&line_a), text(&line_b)]));
            }
            if line_a.is_empty() {
                return Ok(Traces::Same(events));
            }
            // What a handler wrote is below its event.
            events += u64::from(!line_a.starts_with(b" "));
            lines += 1;
            bytes += line_a.len() as u64;
            if lines.is_multiple_of(1 << 14) {
                progress(bytes as f64 / size as f64);
            }
        }
    }

    /// The first difference of what was asked for and of what came of it; nothing where there is none.
    ///
    /// # Errors
    ///
    /// Where a table cannot be read.
    pub fn difference(&self, other: &Recorded) -> Result<Option<Difference>, Unusable> {
        // What each engine tells of itself, times and the machine differ between equal runs.
        for field in ["scenario", "parameters", "seed", "tie_seed", "until", "lps", "stopped_at_s"] {
            if let Some(found) = differs(field, &self.summary[field], &other.summary[field]) {
                return Ok(Some(found));
            }
        }
        if let Some(found) = self.different_network(other)? {
            return Ok(Some(found));
        }
        for field in ["events", "global_events", "metrics"] {
            // Tables and series among the metrics are told of by their rows, below.
            if let Some(found) = differs(field, &self.summary[field], &other.summary[field]) {
                return Ok(Some(found));
            }
        }
        if let Some(found) = self.different_table(other)? {
            return Ok(Some(found));
        }
        let digest = |run: &Recorded| run.summary["digest"].clone();
        // Without a digest there is nothing to compare.
        let [a, b] = [digest(self), digest(other)];
        Ok(if a.is_null() || b.is_null() { None } else { differs("digest", &a, &b) })
    }

    /// The first line in which the networks differ.
    fn different_network(&self, other: &Recorded) -> Result<Option<Difference>, Unusable> {
        let read = |run: &Recorded| {
            let path = run.folder.join(NETWORK);
            match std::fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
                read => read.map_err(|error| cannot_be_read(&path, &error)),
            }
        };
        let [a, b] = [read(self)?, read(other)?];
        if a == b {
            return Ok(None);
        }
        let line = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
        let of = |text: &str| text.lines().nth(line).unwrap_or("no such line").to_owned();
        Ok(Some(Difference { what: format!("{NETWORK}, line {}", line + 1), values: [of(&a), of(&b)] }))
    }

    /// The first difference among the tables.
    fn different_table(&self, other: &Recorded) -> Result<Option<Difference>, Unusable> {
        let mut names = self.tables()?;
        names.extend(other.tables()?);
        names.sort();
        names.dedup();
        for name in names {
            let paths = [self, other].map(|run| run.folder.join(TABLES).join(&name));
            let what = format!("{TABLES}/{name}");
            match paths.each_ref().map(|path| path.exists()) {
                [true, true] => {}
                there => {
                    let say = |there: bool| if there { "there" } else { "missing" }.to_owned();
                    return Ok(Some(Difference { what, values: there.map(say) }));
                }
            }
            if let Some(found) = different_row(&what, &paths)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn tables(&self) -> Result<Vec<String>, Unusable> {
        let path = self.folder.join(TABLES);
        match std::fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(cannot_be_read(&path, &error)),
            Ok(entries) => {
                let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
                Ok(names.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "csv")).collect())
            }
        }
    }
}

/// The first row in which two tables differ.
fn different_row(what: &str, paths: &[PathBuf; 2]) -> Result<Option<Difference>, Unusable> {
    let open = |path: &PathBuf| {
        csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_path(path)
            .map_err(|error| unusable(path, error))
    };
    let [mut a, mut b] = [open(&paths[0])?, open(&paths[1])?];
    let mut heading: Option<csv::StringRecord> = None;
    for row in 0_u64.. {
        let next = |reader: &mut csv::Reader<File>, path: &PathBuf| {
            let mut record = csv::StringRecord::new();
            reader.read_record(&mut record).map(|more| more.then_some(record)).map_err(|error| unusable(path, error))
        };
        let rows = [next(&mut a, &paths[0])?, next(&mut b, &paths[1])?];
        match &rows {
            [None, None] => break,
            [Some(a), Some(b)] if a == b => heading = heading.or_else(|| Some(a.clone())),
            [Some(a), Some(b)] if a.len() == b.len() => {
                let column = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
                let name = heading.as_ref().and_then(|heading| heading.get(column)).unwrap_or("heading");
                let what = format!("{what}, row {row}, {name}");
                return Ok(Some(Difference { what, values: [a[column].to_owned(), b[column].to_owned()] }));
            }
            _ => {
                let text = |row: &Option<csv::StringRecord>| {
                    row.as_ref().map_or("no such row".to_owned(), |row| row.iter().collect::<Vec<_>>().join(","))
                };
                return Ok(Some(Difference { what: format!("{what}, row {row}"), values: rows.each_ref().map(text) }));
            }
        }
    }
    Ok(None)
}

/// Something that two runs have different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What: `metrics.sojourn_s.mean`, `tables/flows.csv, row 3, delivered_bytes`.
    pub what: String,
    /// What it is in each.
    pub values: [String; 2],
}

/// The first place below `path` at which two values differ.
fn differs(path: &str, a: &Value, b: &Value) -> Option<Difference> {
    match (a, b) {
        _ if a == b => None,
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            let null = Value::Null;
            keys.into_iter().find_map(|key| {
                differs(&format!("{path}.{key}"), a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null))
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            let null = Value::Null;
            (0..a.len().max(b.len()))
                .find_map(|i| differs(&format!("{path}[{i}]"), a.get(i).unwrap_or(&null), b.get(i).unwrap_or(&null)))
        }
        _ => {
            let text = |value: &Value| match value {
                Value::Null => "nothing".to_owned(),
                value => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            };
            Some(Difference { what: path.to_owned(), values: [text(a), text(b)] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A folder that is gone when the test is over.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("parades-inspect-{name}-{}", std::process::id()));
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
