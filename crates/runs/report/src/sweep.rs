//! The results of a sweep: as JSON, as tables for people, as files.

use crate::drawing::{Column, Entry, draw, draw_whole, sentence};
use crate::metrics::{bare_name, is_percentile, unit_of_values};
use crate::people::note_error;
use crate::result_file::{ResultFile, write_whole};
use crate::ties::Ties;
use crate::view::View;
use parades_config::{quoted, shortened_to};
use parades_core::metrics::{Estimate, PERCENTILE_ERROR_PERMILLE, Unit};
use parades_session::sweep::{FROM, FinishedSweep, OverSavedRuns, SweepPlan, SweepRequest, TIE_SEED, full_name};
use parades_session::{Failure, Program, machine::Machine};
use parades_sweep::results::{Interval, Points, Runs, cell};
use parades_sweep::ties::effects;
use parades_sweep::{End, Figures, Outcome, Point, Results};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The number of rows shown of the table of runs.
const ROWS_SHOWN: usize = 100;

/// The counters of what is unfinished at the end of a run, or was dropped before: `unfinished` are downloads.
const UNFINISHED: [&str; 5] =
    ["flows_unfinished", "requests_unfinished", "unfinished_look_ups", "dropped_look_ups", "unfinished"];

/// A sweep, to be reported in any form.
#[derive(Debug)]
pub struct SweepReport<'a> {
    sweep: &'a FinishedSweep<'a>,
    results: Results<'a>,
    program: &'a Program,
}

impl<'a> SweepReport<'a> {
    /// Returns the report of a sweep that this program executed.
    pub fn of(sweep: &'a FinishedSweep<'a>, program: &'a Program) -> SweepReport<'a> {
        SweepReport { sweep, results: sweep.results(), program }
    }

    /// Returns the tables of results.
    pub fn results(&self) -> &Results<'a> {
        &self.results
    }

    pub(crate) fn plan(&self) -> &SweepPlan {
        self.sweep.plan
    }

    /// Writes the sweep as a JSON object on one line.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write_json(&self, to: impl Write) -> io::Result<()> {
        // The object without its last brace: the rows follow one by one, as there may be many.
        let mut head = self.head();
        if let Some(SweepTies { ties, all, incomplete }) = self.ties() {
            head["ties"] = ties.as_json();
            head["ties"]["groups"] = json!(all);
            head["ties"]["incomplete"] = json!(incomplete);
        }
        if let Some(saved) = self.plan().from(0) {
            head["from"] = json!(self.plan().request.from.iter().map(|saved| saved.path()).collect::<Vec<_>>());
            head["from_time_s"] = json!(saved.head.time().as_secs_f64());
            head["fresh_metrics"] = json!(self.plan().request.fresh_metrics);
        }
        if self.plan().request.from.len() > 1 {
            let row = |OverSavedRuns { parameters, means }: OverSavedRuns| {
                let metric = |(name, Estimate { count, mean, half_width }): (String, Estimate)| {
                    (name, json!({"count": count, "mean": mean, "half_width_95": half_width}))
                };
                json!({"parameters": parameters, "metrics": means.into_iter().map(metric).collect::<Map<_, _>>()})
            };
            head["over_saved_runs"] = self.sweep.over_saved_runs().into_iter().map(row).collect();
        }
        let mut head = head.to_string();
        head.pop();
        let mut to = BufWriter::new(to);
        write!(to, "{head},\"points\":")?;
        serde_json::to_writer(&mut to, &Points(&self.results))?;
        write!(to, ",\"runs\":")?;
        serde_json::to_writer(&mut to, &Runs(&self.results))?;
        writeln!(to, "}}")?;
        to.flush()
    }

    /// Returns the fields of the sweep but the rows.
    fn head(&self) -> Value {
        let (plan, program) = (self.plan(), self.program);
        let (finished, total) = self.sweep.schedule.progress();
        json!({
            "schema": 1,
            "version": program.version,
            "commit": program.commit,
            "command": program.command,
            "machine": Machine::this(),
            "scenario": plan.plan.scenario.name,
            "parameters": plan.fixed(),
            "swept": self.swept(),
            "engine": plan.choice.engine.name(),
            "settings": plan.choice.settings,
            "threads": plan.threads,
            "jobs": plan.jobs,
            "tie_seed": plan.plan.tie_seed,
            "finished": finished,
            "total": total,
            "failed": self.sweep.schedule.failures(),
            "stopped": self.sweep.end == End::Stopped,
            "notes": self.notes(),
        })
    }

    /// Returns the effect of the tie seed on each metric, over all points and seeds. `None` where there are
    /// no several tie seeds.
    fn ties(&self) -> Option<SweepTies> {
        let (plan, schedule) = (self.plan(), &self.sweep.schedule);
        // The runs of a point of the grid and a seed, one for each tie seed.
        let mut groups: BTreeMap<(usize, u64), Vec<Map<String, Value>>> = BTreeMap::new();
        for (group, points) in plan.tie_groups().enumerate() {
            for (seed, outcome) in points.flat_map(|point| schedule.runs(point)) {
                let runs = groups.entry((group, seed)).or_default();
                runs.extend(outcome.figures().map(Figures::results));
            }
        }
        if groups.is_empty() {
            return None;
        }
        let (all, seeds) = (groups.len(), plan.tie_seeds.len());
        let incomplete = groups.values().filter(|runs| runs.len() < seeds).count();
        // A single run is compared with nothing.
        groups.retain(|_, runs| runs.len() > 1);
        let values = plan.swept_values();
        let keys: Vec<&str> = plan.swept().filter(|key| *key != TIE_SEED).collect();
        let place = |&(group, seed): &(usize, u64)| {
            let of_point = &values[group * seeds];
            let parameters: Map<String, Value> =
                keys.iter().zip(of_point).map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
            json!({"parameters": parameters, "seed": seed})
        };
        let places = groups.keys().map(place).collect();
        let effects = effects(&groups.into_values().collect::<Vec<_>>());
        Some(SweepTies { ties: Ties { effects, places }, all, incomplete })
    }

    /// Returns a sentence on each count of something unfinished that is above zero in some runs. What is
    /// unfinished has no time yet, so means and percentiles of times miss it.
    fn notes(&self) -> Vec<String> {
        let counts = self.results.metrics().iter().filter(|name| UNFINISHED.contains(&name.as_str()));
        let note = |name: &String| {
            let numbers =
                || self.results.runs().filter_map(|(.., outcome)| outcome.figures()?.metrics.get(name)?.as_f64());
            let some = numbers().filter(|count| *count > 0.0).count();
            let all = numbers().count();
            (some > 0).then(|| format!("`{name}` is above 0 in {some} of {all} runs: see it beside times"))
        };
        let on_seeds = self.note_on_seeds().into_iter();
        counts.filter_map(note).chain(on_seeds).chain(self.notes_on_saved_runs()).collect()
    }

    /// Returns a sentence if there are several seeds, and all have the same results: the intervals are then those
    /// of equal values. Digests differ, as they have the seed.
    fn note_on_seeds(&self) -> Option<String> {
        let schedule = &self.sweep.schedule;
        let results = |point| {
            let figures = schedule.outcomes(point).filter_map(Outcome::figures);
            figures.map(|figures| (figures.events, &figures.metrics)).collect::<Vec<_>>()
        };
        let mut several = (0..schedule.points()).map(results).filter(|results| results.len() > 1).peekable();
        several.peek()?;
        several.all(|results| results.windows(2).all(|pair| pair[0] == pair[1])).then(|| {
            "every seed has the same results, so the intervals over seeds say nothing: add randomness, such as \
             `spread` or `poisson` of an app, or leave the seeds out"
                .to_owned()
        })
    }

    /// Returns sentences on what the runs of saved runs share.
    fn notes_on_saved_runs(&self) -> Vec<String> {
        let SweepRequest { from, fresh_metrics, .. } = &self.plan().request;
        let Some(saved) = from.first() else { return Vec::new() };
        let time = saved.head.time();
        let mut notes = vec![match from.len() {
            1 => format!(
                "the runs share what was before {time}: their intervals hold given this saved run alone; \
                 several `--from`, saved with other seeds, make intervals that hold for all runs"
            ),
            runs => format!(
                "the runs of a saved run share what was before {time}: intervals of one saved run hold given it \
                 alone; those over {runs} saved runs hold for all runs"
            ),
        }];
        if !fresh_metrics {
            notes.push(format!("metrics are of the whole run, also of the time before {time}, which the runs share"));
        }
        notes
    }

    /// Returns the values of each swept parameter, each value once.
    fn swept(&self) -> Map<String, Value> {
        let mut swept: Map<String, Value> = self.results.keys().iter().map(|key| (key.clone(), json!([]))).collect();
        for point in self.plan().swept_values() {
            for (values, value) in swept.values_mut().filter_map(Value::as_array_mut).zip(point) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        swept
    }

    /// Writes the tables and the JSON into the sweep's folder.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if a file cannot be written.
    pub fn write_folder(&self, folder: &Path) -> Result<(), Failure> {
        write_whole(&folder.join("runs.csv"), |to| self.results.write_runs(to))?;
        write_whole(&folder.join("means.csv"), |to| self.results.write_means(to))?;
        write_whole(&folder.join("sweep.json"), |to| self.write_json(to))
    }

    /// Writes the table of runs as a Parquet file.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if it cannot be written.
    #[cfg(feature = "parquet")]
    pub fn write_parquet(&self, mut file: ResultFile) -> Result<(), Failure> {
        self.results.write_parquet(&mut file).map_err(|error| crate::result_file::late(&error))?;
        file.finish()
    }

    /// Fails: this crate was built without Parquet, which [`parquet_is_possible`](crate::parquet_is_possible)
    /// reports before the sweep.
    ///
    /// # Errors
    ///
    /// Always.
    #[cfg(not(feature = "parquet"))]
    pub fn write_parquet(&self, file: ResultFile) -> Result<(), Failure> {
        crate::parquet_is_possible(&file.path().display().to_string(), "read the table that `--csv` prints")
    }

    /// Returns the metrics to show: those that the user asked for; by default the metrics of one number, and
    /// the means of the others.
    fn shown(&self) -> Vec<&String> {
        let (all, asked) = (self.results.metrics(), &self.plan().request.metrics);
        if !asked.is_empty() {
            let wanted: Vec<String> = asked.iter().filter_map(|name| full_name(name, all).ok()).collect();
            return wanted.iter().filter_map(|name| all.iter().find(|other| *other == name)).collect();
        }
        all.iter().filter(|name| name.strip_suffix(".mean").unwrap_or(name).find('.').is_none()).collect()
    }

    /// Returns the sweep as text: a row for each run, and the means over seeds with their intervals.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if `view` wants another table than `runs` or `means`.
    pub fn for_people(&self, view: &View) -> Result<String, Failure> {
        check_table(view)?;
        let mut text = String::new();
        match view.table.as_deref() {
            Some("runs") => {
                draw_whole(&mut text, &self.run_columns(&self.all_shown(), usize::MAX), view.width);
                return Ok(text);
            }
            Some(_) => {
                draw_whole(&mut text, &self.point_columns(&self.all_shown()), view.width);
                return Ok(text);
            }
            None => {}
        }
        let shown = self.shown();
        let rows = self.results.runs().count();
        let plural = if rows == 1 { "" } else { "s" };
        let scenario = &self.plan().plan;
        let title = format!("{}: {rows} run{plural}", scenario.title());
        let _ = writeln!(text, "{}", shortened_to(view.width - 1, &title));
        let points = self.results.points().filter(is_over).count();
        // If each point has one run, the means are the runs.
        let has_means = points > 0 && rows > points;
        if rows > 0 && !(view.is_brief && has_means) {
            let columns = self.run_columns(&shown, ROWS_SHOWN);
            draw(
                &mut text,
                &columns,
                view.width,
                rows.saturating_sub(ROWS_SHOWN),
                "`--table runs`, `--csv`, `--json`, `--out`",
            );
        }
        if has_means {
            let given = if self.plan().request.from.is_empty() { "" } else { " given the saved run" };
            let _ = writeln!(text, "\nmeans over seeds, with intervals of 95 %{given}");
            draw(
                &mut text,
                &self.point_columns(&shown),
                view.width,
                0,
                "`--table means`, `--csv=means`, `--json`, `--out`",
            );
        }
        self.draw_over_saved_runs(&mut text, &shown, view);
        if shown.iter().any(|name| is_percentile(name)) {
            note_error(&mut text, PERCENTILE_ERROR_PERMILLE);
        }
        for note in self.notes() {
            sentence(&mut text, &note, view.width);
        }
        if let Some(ties) = self.ties() {
            let asked = if self.plan().request.metrics.is_empty() { Vec::new() } else { shown };
            ties.draw(&mut text, &self.plan().tie_seeds, &asked, view.width);
        }
        Ok(text)
    }

    /// Draws the means over several saved runs, if there are several.
    fn draw_over_saved_runs(&self, text: &mut String, shown: &[&String], view: &View) {
        let rows = self.sweep.over_saved_runs();
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "\nmeans over saved runs, with intervals of 95 %");
        let keys = self.results.keys().iter().filter(|key| *key != FROM);
        let mut columns: Vec<Column> = keys
            .map(|key| {
                let entries: Vec<Entry> = rows.iter().map(|row| entry(&row.parameters[key.as_str()])).collect();
                Column::of(key, Unit::Count, &entries)
            })
            .collect();
        columns.extend(shown.iter().map(|metric| {
            let of_row = |row: &OverSavedRuns| {
                row.means
                    .iter()
                    .find(|(name, _)| name == *metric)
                    .map_or(Entry::Empty, |(_, estimate)| entry_of(estimate, metric))
            };
            Column::of(&bare_name(metric), unit_of_values(metric), &rows.iter().map(of_row).collect::<Vec<_>>())
        }));
        draw(text, &columns, view.width, 0, "`--json`");
    }

    /// Returns the metrics that a whole table has: those that the user asked for, or else all.
    fn all_shown(&self) -> Vec<&String> {
        if self.plan().request.metrics.is_empty() { self.results.metrics().iter().collect() } else { self.shown() }
    }

    /// Returns the columns of the swept parameters. `rows` has their values in each row.
    fn swept_columns(&self, rows: &[&[Value]]) -> Vec<Column> {
        let column = |(index, key): (usize, &String)| {
            let entries: Vec<Entry> = rows.iter().map(|row| entry(&row[index])).collect();
            Column::of(key, Unit::Count, &entries)
        };
        self.results.keys().iter().enumerate().map(column).collect()
    }

    /// Returns the table of the first runs.
    fn run_columns(&self, shown: &[&String], rows_shown: usize) -> Vec<Column> {
        let runs: Vec<(&[Value], u64, &Outcome)> = self.results.runs().take(rows_shown).collect();
        let mut columns = self.swept_columns(&runs.iter().map(|(values, ..)| *values).collect::<Vec<_>>());
        columns.push(Column::of_texts("seed", runs.iter().map(|(_, seed, _)| seed.to_string()).collect()));
        columns.extend(shown.iter().map(|metric| {
            let of_run = |(_, _, outcome): &(&[Value], u64, &Outcome)| match outcome.figures() {
                None => Entry::Text("failed".into()),
                Some(figures) => figures.metrics.get(metric.as_str()).map_or(Entry::Empty, entry),
            };
            Column::of(&bare_name(metric), unit_of_values(metric), &runs.iter().map(of_run).collect::<Vec<_>>())
        }));
        columns
    }

    /// Returns the table of means: a row for each point of which a run is over.
    fn point_columns(&self, shown: &[&String]) -> Vec<Column> {
        let points: Vec<Point<'_>> = self.results.points().filter(is_over).collect();
        let mut columns = self.swept_columns(&points.iter().map(|point| point.values).collect::<Vec<_>>());
        columns.push(Column::of_texts("runs", points.iter().map(runs_of).collect()));
        columns.extend(shown.iter().map(|metric| {
            let entries: Vec<Entry> = points.iter().map(|point| mean(point, metric)).collect();
            Column::of(&bare_name(metric), unit_of_values(metric), &entries)
        }));
        columns
    }
}

/// The effects of the tie seed in a sweep. A group of runs is a point of the grid with a seed.
struct SweepTies {
    ties: Ties,
    /// The number of groups.
    all: usize,
    /// The number of groups that lack the run of a tie seed: it failed, or the sweep was stopped.
    incomplete: usize,
}

impl SweepTies {
    fn draw(&self, text: &mut String, seeds: &[u64], asked: &[&String], width: usize) {
        let SweepTies { ties, all, incomplete } = self;
        if ties.places.is_empty() {
            let _ = writeln!(text, "\nthe effect of tie seeds is unknown: no point has runs of two with one seed");
            return;
        }
        ties.draw(text, seeds, asked, width);
        let _ = writeln!(text, "tables and series are not compared here: `compare --tie-seed` compares those of a run");
        if *incomplete > 0 {
            let _ = writeln!(
                text,
                "of {all} pairs of a grid point and a seed, {incomplete} lack runs of some tie seeds: they tell less"
            );
        }
    }
}

/// Checks that a sweep has the table that `view` wants.
///
/// # Errors
///
/// [`Failure::Input`] if it wants another table than `runs` or `means`.
pub fn check_table(view: &View) -> Result<(), Failure> {
    match view.table.as_deref() {
        None | Some("runs" | "means") => Ok(()),
        Some(other) => {
            let message = format!("--table: a sweep has no table {}", quoted(other));
            Err(Failure::usage(message, "there are `runs` and `means`; `run --table` has the tables of one run"))
        }
    }
}

/// Returns true if a run of the point is over.
fn is_over(point: &Point<'_>) -> bool {
    point.succeeded + point.failed > 0
}

/// Returns a value as an entry of a table for people.
fn entry(value: &Value) -> Entry {
    match (value, value.as_u64(), value.as_f64()) {
        (Value::Null, ..) => Entry::Empty,
        (_, Some(x), _) => Entry::Whole(x.into()),
        (_, _, Some(x)) => Entry::Number(x),
        _ => Entry::Text(cell(value)).cut(),
    }
}

/// Returns the number of a point's runs, with what is missing.
fn runs_of(point: &Point<'_>) -> String {
    match (point.failed, point.reached) {
        (0, Some(false)) => format!("{} (too few)", point.succeeded),
        (0, _) => point.succeeded.to_string(),
        (failed, _) => format!("{} ({failed} failed)", point.succeeded),
    }
}

/// Returns the mean of a metric at a point, with its interval. Equal percentiles are only equal to the width
/// of a bucket, so they get no interval of zero.
fn mean(point: &Point<'_>, metric: &str) -> Entry {
    let found = point.intervals.iter().find(|interval| interval.metric == metric);
    found.map_or(Entry::Empty, |Interval { estimate, .. }| entry_of(estimate, metric))
}

fn entry_of(estimate: &Estimate, metric: &str) -> Entry {
    match estimate.half_width {
        Some(half_width) if half_width > 0.0 || !is_percentile(metric) => Entry::Interval(estimate.mean, half_width),
        _ => Entry::Number(estimate.mean),
    }
}
