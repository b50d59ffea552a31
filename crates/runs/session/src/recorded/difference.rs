//! The first difference of two runs' results.

use super::{FILE_BYTES_MAX, NETWORK, Recorded, TABLES, Unusable, cannot_be_read, check_is_file, text_of, unusable};
use parades_config::inputs::read_apart;
use serde_json::Value;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A difference of two runs. It is of a file that they read if `what` begins with "the file".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place: `metrics.sojourn_s.mean`, `tables/flows.csv, row 3, delivered_bytes`.
    pub what: String,
    /// The value in each run.
    pub values: [String; 2],
}

impl Recorded {
    /// Returns the first difference of two runs: of what was asked for, the files read, the number of events,
    /// the metrics, the rows of tables and the digest. `None` where there is no difference.
    ///
    /// # Errors
    ///
    /// Where a table cannot be read.
    pub fn difference(&self, other: &Recorded) -> Result<Option<Difference>, Unusable> {
        // Engine statistics, wall times and the machine differ between equal runs.
        let mut parameters = [&self.summary, &other.summary].map(|summary| summary["parameters"].clone());
        let of_files = self.compare_file_parameters(other, &mut parameters);
        let [mine, theirs] = &parameters;
        for field in ["scenario", "parameters", "seed", "tie_seed", "until", "lps", "stopped_at_s"] {
            let (a, b) = match field {
                "parameters" => (mine, theirs),
                _ => (&self.summary[field], &other.summary[field]),
            };
            if let Some(found) = differs(field, a, b) {
                return Ok(Some(found));
            }
        }
        if let Some(found) = of_files.or_else(|| self.different_input(other)) {
            return Ok(Some(found));
        }
        if let Some(found) = self.different_network(other)? {
            return Ok(Some(found));
        }
        for field in ["events", "global_events", "metrics"] {
            if let Some(found) = differs(field, &self.summary[field], &other.summary[field]) {
                return Ok(Some(found));
            }
        }
        if let Some(found) = self.different_table(other)? {
            return Ok(Some(found));
        }
        let digest = |run: &Recorded| run.summary["digest"].clone();
        // A run without a digest has nothing to compare.
        let [a, b] = [digest(self), digest(other)];
        Ok(if a.is_null() || b.is_null() { None } else { differs("digest", &a, &b) })
    }

    /// Returns the first line in which the networks differ.
    fn different_network(&self, other: &Recorded) -> Result<Option<Difference>, Unusable> {
        let read = |run: &Recorded| {
            let path = run.folder.join(NETWORK);
            if !path.exists() {
                return Ok(String::new());
            }
            check_is_file(&path)?;
            let bytes = read_apart(&path, FILE_BYTES_MAX).map_err(|error| cannot_be_read(&path, &error))?;
            String::from_utf8(bytes).map_err(|_| unusable(&path, "is not text in UTF-8"))
        };
        let [a, b] = [read(self)?, read(other)?];
        if a == b {
            return Ok(None);
        }
        let line = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
        let of = |text: &str| text.lines().nth(line).unwrap_or("no such line").to_owned();
        Ok(Some(Difference { what: format!("{NETWORK}, line {}", line + 1), values: [of(&a), of(&b)] }))
    }

    /// Returns the first difference among the tables.
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

    /// Returns the names of the tables.
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

/// Returns the first row in which two tables differ.
fn different_row(what: &str, paths: &[PathBuf; 2]) -> Result<Option<Difference>, Unusable> {
    let open = |path: &PathBuf| {
        check_is_file(path)?;
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

/// Returns the first place below `path` at which two values differ.
pub fn differs(path: &str, a: &Value, b: &Value) -> Option<Difference> {
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
                value => text_of(value),
            };
            Some(Difference { what: path.to_owned(), values: [text(a), text(b)] })
        }
    }
}
