//! `bench flows`: the cost of beginning and ending flows that share links. With `--validation`, results that
//! other simulators computed, beside ours.

use crate::record::Figure;
use crate::sides::{Spread, choice, progress, simulation, timed};
use crate::{Measured, Options, Validation};
use parades_catalog::Scenario;
use parades_catalog::Simulation;
use parades_config::{ConfigError, Place, quoted};
use parades_core::metrics::Cell;
use parades_core::run::RunOptions;
use parades_core::time::Time;
use parades_report::drawing::table;
use parades_session::Failure;
use serde_json::json;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::{Debug, Write};
use std::path::Path;

/// The rows: the parameters that are set. The first row has few flows at a time, the last about ten thousand.
const ROWS: [&[&str]; 4] = [
    &["hosts=10000", "flows=200000", "size=1kB", "arrivals=10000"],
    &["hosts=1000", "flows=20000", "arrivals=1000"],
    &["hosts=10000", "flows=100000", "arrivals=10000"],
    &["hosts=100000", "flows=200000", "arrivals=100000"],
];

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let mut drawn = table(&["flows on a cluster", "flows/s of wall time", "flows at a time"]);
    let mut figures = Vec::new();
    let (scenario, sequential) = (Scenario::named("flows")?, choice("sequential", 1, &[])?);
    for set in ROWS {
        let mut values = scenario.values();
        set.iter().try_for_each(|assignment| values.set_argument("--set", assignment))?;
        let what = set.join(" ");
        let (mut rates, mut at_a_time) = (Vec::new(), 0.0);
        let progress = progress(pairs, &what);
        for _ in 0..pairs {
            progress.inc(1);
            let simulation = Simulation::new(scenario, &values, 1)?;
            let run = || simulation.run(&sequential, RunOptions::until(simulation.until));
            let (outcome, seconds) = timed(|| run().map_err(|error| Failure::simulation(error.to_string())))?;
            let durations = outcome.metrics.get("duration").and_then(|metric| metric.tally());
            let (count, mean_ps) = durations.map_or((0, 0.0), |tally| (tally.count(), tally.mean().unwrap_or(0.0)));
            rates.push(count as f64 / seconds);
            // Little's law: the number of flows at a time is their rate of arrival times their duration.
            at_a_time = values.float("arrivals") * mean_ps / 1e12;
        }
        progress.finish_and_clear();
        let rate = Spread::of(&rates);
        drawn.add_row([what.clone(), format!("{:.0}", rate.median), format!("{at_a_time:.0}")]);
        figures.push(Figure { name: format!("{what}: flows/s"), spread: rate });
    }
    let text = format!("flows drawn at random under LV08; sequential, digest on\n{drawn}\n");
    Ok(Measured { text, figures })
}

/// A line of `expected.tsv`.
#[derive(Debug)]
struct Expected {
    case: String,
    model: String,
    flow: String,
    end_s: f64,
}

/// Compares the cases of a folder with ours: `cases.tsv` (case, platform, pattern), `expected.tsv` (case,
/// model, flow, …, end_s), `platforms/`, `patterns/`.
pub(super) fn validate(folder: &Path) -> Result<Validation, Failure> {
    let cases: BTreeMap<String, (String, String)> = rows(&folder.join("cases.tsv"), ["case", "platform", "pattern"])?
        .into_iter()
        .map(|[case, platform, pattern]| (case, (platform, pattern)))
        .collect();
    let path = folder.join("expected.tsv");
    let expected = rows(&path, ["case", "model", "flow", "end_s"])?.into_iter().map(|[case, model, flow, end]| {
        let end_s = end.parse().map_err(|_| in_file(&path, format!("{} is no time in seconds", quoted(&end))))?;
        Ok(Expected { case, model, flow, end_s })
    });
    let expected = expected.collect::<Result<Vec<Expected>, ConfigError>>()?;
    let mut drawn = table(&["case", "model", "flow", "expected, s", "ours, s", "relative error"]);
    let mut ends: BTreeMap<(&str, &str), BTreeMap<String, f64>> = BTreeMap::new();
    let mut compared = Vec::new();
    let mut worst: Option<(f64, String)> = None;
    for Expected { case, model, flow, end_s } in &expected {
        let key = (case.as_str(), model.as_str());
        let of_case = match ends.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let (platform, pattern) = cases
                    .get(case)
                    .ok_or_else(|| in_file(&folder.join("cases.tsv"), format!("there is no case {}", quoted(case))))?;
                vacant.insert(run(
                    &folder.join("platforms").join(platform),
                    &folder.join("patterns").join(pattern),
                    model,
                )?)
            }
        };
        let ours = of_case.get(flow).copied();
        let error = ours.map_or(f64::INFINITY, |ours| (ours - end_s).abs() / end_s);
        drawn.add_row([
            case.clone(),
            model.clone(),
            flow.clone(),
            format!("{end_s:.9}"),
            ours.map_or_else(|| "–".to_owned(), |ours| format!("{ours:.9}")),
            format!("{error:.1e}"),
        ]);
        compared.push(json!({"case": case, "model": model, "flow": flow, "expected_s": end_s, "ours_s": ours}));
        if worst.as_ref().is_none_or(|(worst, _)| error > *worst) {
            worst = Some((error, format!("{case}, {model}, flow {flow}")));
        }
    }
    let mut text = format!("{drawn}\n");
    if let Some((error, what)) = worst {
        let _ = writeln!(text, "{} flows; the worst relative error is {error:.1e}: {what}", expected.len());
    }
    Ok(Validation { text, json: json!({ "cases": compared }) })
}

/// Returns the end of each flow of a case, in seconds, by the flow's id.
fn run(platform: &Path, flows: &Path, model: &str) -> Result<BTreeMap<String, f64>, Failure> {
    let (platform, flows) = (platform.display(), flows.display());
    let set = [format!("platform={platform}"), format!("pattern={flows}"), format!("model={model}")];
    let simulation = simulation("flows", &set)?;
    let sequential = choice("sequential", 1, &[])?;
    let outcome = simulation
        .run(&sequential, RunOptions::until(Time::MAX))
        .map_err(|error| Failure::simulation(error.to_string()))?;
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).expect("the model has the table");
    let mut ends = BTreeMap::new();
    for row in table.rows() {
        let id = match &row[0] {
            Cell::Integer(id) => id.to_string(),
            Cell::Text(id) => id.to_string(),
            _ => continue,
        };
        if let Cell::Integer(end) = row[2] {
            ends.insert(id, Time::from_ps(end).as_secs_f64());
        }
    }
    Ok(ends)
}

pub(super) fn in_file(path: &Path, message: String) -> ConfigError {
    ConfigError::new(message).with_help("correct the file").at(Place::File(path.to_owned()))
}

/// Returns these columns of a file whose columns are separated by tabs.
pub(super) fn rows<const N: usize>(path: &Path, columns: [&str; N]) -> Result<Vec<[String; N]>, ConfigError> {
    let wrong = |why: csv::Error| in_file(path, format!("it cannot be read: {why}"));
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').from_path(path).map_err(wrong)?;
    let headings = reader.headers().map_err(wrong)?.clone();
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        *place = headings
            .iter()
            .position(|heading| heading == column)
            .ok_or_else(|| in_file(path, format!("there is no column {}", quoted(column))))?;
    }
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.map_err(wrong)?;
        Ok(places.map(|place| record.get(place).unwrap_or_default().to_owned()))
    };
    reader.records().map(row).collect()
}
