//! Sweeps for tests. Their workers are shells.

use parades_sweep::journal::Record;
use parades_sweep::{Drive, Figures, Header, Journal, Outcome, Pool, Precision, Results, Run, Schedule, drive};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Creates a folder for the test `name`.
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("parades-sweep-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the test's own folder can be used");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the header of the tests' journals.
pub(crate) fn header() -> Header {
    match json!({"commit": "cafe", "scenario": "test", "parameters": {"lps": 8}, "tie_seed": null}) {
        Value::Object(fields) => Header(fields),
        _ => unreachable!("it is an object"),
    }
}

/// Returns the figures of a run without metrics.
pub(crate) fn figures(events: u64) -> Figures {
    Figures {
        events,
        global_events: 0,
        digest: Some("00000000000000ff".into()),
        virtual_time_s: 0.1,
        setup_s: 0.0,
        run_s: 0.0,
        peak_rss_bytes: 0,
        metrics: Map::new(),
    }
}

/// Returns a pool of shells that answer each request with the request.
pub(crate) fn echoes(workers: usize) -> Pool {
    shells(workers, "while read -r line; do printf '%s\\n' \"$line\"; done")
}

/// Returns a pool of shells that execute `script`.
pub(crate) fn shells(workers: usize, script: &'static str) -> Pool {
    Pool::new(workers, move || {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    })
    .expect("there are threads")
}

/// Executes a sweep of four points with three seeds, with a journal at `path`. Stops it after `runs_max`
/// runs.
///
/// Returns its tables, and the number of runs that have begun.
pub(crate) fn table_of(path: Option<&Path>, runs_max: usize) -> (String, usize) {
    let (points, seeds) = (4, vec![1, 2, 3]);
    let mut recorded = BTreeMap::new();
    let mut journal = path.map(|path| {
        let (journal, records) = Journal::open(path, &header()).expect("it is a journal of this sweep");
        for Record { parameters, seed, outcome } in records {
            let point = parameters["point"].parse().expect("a number");
            recorded.insert(Run { point, replication: usize::try_from(seed).expect("small") - 1 }, outcome);
        }
        journal
    });
    let mut schedule = Schedule::new(points, seeds, None, recorded);
    let begun = Cell::new(0);
    driven(&mut schedule, &echoes(2), journal.as_mut(), &begun, runs_max);
    let values = (0..points).map(|point| vec![json!(point)]).collect();
    let results = Results::new(&schedule, vec!["point".into()], values);
    let mut table = Vec::new();
    results.write_runs(&mut table).expect("memory can be written");
    results.write_means(&mut table).expect("memory can be written");
    (String::from_utf8(table).expect("it is text"), begun.get())
}

/// Executes a schedule. At point `p`, the metric `x` of seed `s` is `(s + 10 p) / 3`. Stops after `runs_max`
/// runs.
pub(crate) fn driven(
    schedule: &mut Schedule,
    pool: &Pool,
    journal: Option<&mut Journal>,
    begun: &Cell<usize>,
    runs_max: usize,
) {
    let request = |schedule: &Schedule, run: Run| {
        begun.set(begun.get() + 1);
        let mut figures = figures(schedule.seed(run));
        figures.metrics.insert("x".into(), json!((schedule.seed(run) as f64 + 10.0 * run.point as f64) / 3.0));
        json!(Outcome::Figures(Box::new(figures))).to_string()
    };
    let record = |schedule: &Schedule, run: Run, outcome: &Outcome| Record {
        parameters: BTreeMap::from([("point".to_owned(), run.point.to_string())]),
        seed: schedule.seed(run),
        outcome: outcome.clone(),
    };
    let (before, finished) = (schedule.progress().0, Cell::new(0));
    let stopped = || finished.get() >= runs_max;
    let mut progress = |schedule: &Schedule| finished.set(schedule.progress().0 - before);
    let mut how = Drive { request: &request, record: &record, progress: &mut progress, stopped: &stopped };
    drive(schedule, pool, journal, &mut how).expect("the journal can be written");
}

/// Returns a precision for the metric `x`.
pub(crate) fn precision(relative_half_width: f64) -> Precision {
    Precision { relative_half_width, metrics: vec!["x".into()] }
}
