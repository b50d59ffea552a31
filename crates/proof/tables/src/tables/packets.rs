//! `bench packets`: the campus with TCP, beside ns-3 if its program is given. With `--validation`, what ns-3
//! and FreeBSD's receiver computed, beside ours.

pub(super) mod campus;
mod cases;
mod dumbbell;
mod queues;
mod receivers;

use super::flows::{in_file, rows};
use crate::Validation;
pub(super) use campus::measure;
use cases::Case;
use dumbbell::Results;
use parades_config::{ConfigError, quoted};
use parades_report::drawing::table;
use parades_session::Failure;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A quantity of a case, ours beside the range in which it agrees.
#[derive(Debug)]
struct Row {
    case: String,
    quantity: &'static str,
    ours: f64,
    low: f64,
    high: f64,
}

impl Row {
    fn agrees(&self) -> bool {
        (self.low..=self.high).contains(&self.ours)
    }

    fn json(&self) -> Value {
        let Row { case, quantity, ours, low, high } = self;
        json!({"case": case, "quantity": quantity, "ours": ours, "low": low, "high": high, "agrees": self.agrees()})
    }
}

/// Compares the cases of a folder with ours: `cases.tsv`, `expected.tsv`, `bands.tsv`, and `receiver.tsv` if
/// there is one.
pub(super) fn validate(folder: &Path) -> Result<Validation, Failure> {
    let cases = cases::read(folder)?;
    let results = cases.iter().map(|case| Ok((&*case.name, dumbbell::run(case)?)));
    let results = results.collect::<Result<BTreeMap<&str, Results>, Failure>>()?;
    let expected = expected(folder)?;
    let mut found = Vec::new();
    for case in cases.iter().filter(|case| case.loss == 0.0) {
        match bands(folder, &case.name)? {
            Some(bands) if bands.drops.1 == 0.0 && bands.is_narrow() => {
                found.extend(exact(case, &results[&*case.name], &expected[&case.name]));
            }
            Some(bands) => found.extend(bands.rows(&case.name, &results[&*case.name])),
            None => found.extend(exact(case, &results[&*case.name], &expected[&case.name])),
        }
    }
    found.extend(losses(&cases, &results, &expected));
    let receivers = receivers::compare(folder)?;
    Ok(show(&found, &receivers))
}

/// Draws the rows, and makes their JSON object.
fn show(found: &[Row], receivers: &[receivers::Line]) -> Validation {
    let mut drawn = table(&["case", "quantity", "ours", "low", "high", "agrees"]);
    let digits = |x: f64| if x.abs() < 1.0 { format!("{x:.6}") } else { format!("{x:.3}") };
    for row in found {
        let [ours, low, high] = [row.ours, row.low, row.high].map(digits);
        let agrees = if row.agrees() { "yes" } else { "no" };
        drawn.add_row([row.case.clone(), row.quantity.to_owned(), ours, low, high, agrees.to_owned()]);
    }
    let mut text = format!("{drawn}\n");
    let agreeing = found.iter().filter(|row| row.agrees()).count();
    let _ = writeln!(text, "{agreeing} of {} quantities agree", found.len());
    if !receivers.is_empty() {
        for line in receivers.iter().filter(|line| !line.agrees()) {
            let _ = writeln!(text, "receiver {}: ours {}; expected {}", line.case, line.ours, line.expected);
        }
        let agreeing = receivers.iter().filter(|line| line.agrees()).count();
        let _ = writeln!(text, "{agreeing} of {} sequences of acknowledgements agree", receivers.len());
    }
    let cases: Vec<Value> = found.iter().map(Row::json).chain(receivers.iter().map(receivers::Line::json)).collect();
    Validation { text, json: json!({ "cases": cases }) }
}

/// For each case, the completion of each flow in seconds.
fn expected(folder: &Path) -> Result<BTreeMap<String, Vec<[f64; 2]>>, ConfigError> {
    let path = folder.join("expected.tsv");
    let mut expected: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for [case, first, completion] in rows(&path, ["case", "first_byte_s", "completion_s"])? {
        expected.entry(case).or_default().push([number(&path, &first)?, number(&path, &completion)?]);
    }
    Ok(expected)
}

fn number(path: &Path, text: &str) -> Result<f64, ConfigError> {
    text.parse().map_err(|_| in_file(path, format!("{} is no number", quoted(text))))
}

/// The relative error within which results of arithmetic agree.
const ARITHMETIC: f64 = 1e-4;

/// Returns the rows of a case that follows from arithmetic.
fn exact(case: &Case, ours: &Results, expected: &[[f64; 2]]) -> Vec<Row> {
    let mut found = Vec::new();
    for (flow, expected) in ours.flows.iter().zip(expected) {
        let (first, last) = flow.unwrap_or((f64::INFINITY, f64::INFINITY));
        for (quantity, ours, theirs) in [("first_s", first, expected[0]), ("completion_s", last, expected[1])] {
            let (low, high) = (theirs * (1.0 - ARITHMETIC), theirs * (1.0 + ARITHMETIC));
            found.push(Row { case: case.name.clone(), quantity, ours, low, high });
        }
    }
    found
}

/// The least and the greatest value of each quantity over several runs.
#[derive(Debug)]
struct Bands {
    last_s: (f64, f64),
    mean_s: (f64, f64),
    drops: (f64, f64),
    queue: (f64, f64),
    marks: (f64, f64),
}

/// The parts by which a band is widened on each side: of times, and of the others.
const WIDER: (f64, f64) = (0.03, 0.1);

impl Bands {
    /// Returns true if the times differ so little that nothing but the delays of the runs can be the reason.
    fn is_narrow(&self) -> bool {
        self.last_s.1 / self.last_s.0 < 1.005 && self.queue.1 < 2.0
    }

    fn rows(&self, case: &str, ours: &Results) -> Vec<Row> {
        let row = |quantity, ours, (low, high): (f64, f64), wider: f64| Row {
            case: case.to_owned(),
            quantity,
            ours,
            low: low * (1.0 - wider),
            high: high * (1.0 + wider),
        };
        vec![
            row("last_s", ours.last_s, self.last_s, WIDER.0),
            row("mean_s", ours.mean_s, self.mean_s, WIDER.0),
            row("drops", ours.drops, self.drops, WIDER.1),
            row("queue", ours.queue, self.queue, WIDER.1),
            row("marks", ours.marks, self.marks, WIDER.1),
        ]
    }
}

/// Reads the bands of a case.
fn bands(folder: &Path, case: &str) -> Result<Option<Bands>, ConfigError> {
    let path = folder.join("bands.tsv");
    const COLUMNS: [&str; 11] = [
        "case",
        "last_s_min",
        "last_s_max",
        "mean_s_min",
        "mean_s_max",
        "drops_min",
        "drops_max",
        "queue_min",
        "queue_max",
        "marks_min",
        "marks_max",
    ];
    let Some(row) = rows(&path, COLUMNS)?.into_iter().find(|row| row[0] == case) else { return Ok(None) };
    let pair = |first: usize| Ok((number(&path, &row[first])?, number(&path, &row[first + 1])?));
    Ok(Some(Bands { last_s: pair(1)?, mean_s: pair(3)?, drops: pair(5)?, queue: pair(7)?, marks: pair(9)? }))
}

/// The standard errors within which two means agree.
const STANDARD_ERRORS: f64 = 3.0;

/// Returns a row for each group of cases that differ in the seed of losses: their mean completion.
fn losses(cases: &[Case], results: &BTreeMap<&str, Results>, expected: &BTreeMap<String, Vec<[f64; 2]>>) -> Vec<Row> {
    let mut groups: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    for case in cases {
        let Some(group) = case.group() else { continue };
        let [ours, theirs] = groups.entry(group).or_default();
        ours.push(results[&*case.name].mean_s);
        theirs.extend(expected[&case.name].iter().map(|[_, completion]| completion));
    }
    let rows = groups.into_iter().map(|(group, [ours, theirs])| {
        let ((ours, our_error), (theirs, their_error)) = (mean(&ours), mean(&theirs));
        let error = STANDARD_ERRORS * (our_error * our_error + their_error * their_error).sqrt();
        Row { case: group.to_owned(), quantity: "mean_s", ours, low: theirs - error, high: theirs + error }
    });
    rows.collect()
}

/// Returns the mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}
