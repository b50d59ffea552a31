//! The points, seeds and settings of a sweep, as far as they are known without a model.

use super::EarlierRuns;
use super::base_values::in_base_units;
use super::merge::runs_below;
use super::message::WorkerRequest;
use crate::machine::{Machine, default_memory_limit};
use crate::{Claim, Failure, Plan, Program, Request, Saved, safe_name};
use parades_catalog::Choice;
use parades_config::{ConfigError, Idle, Place, Values};
use parades_sweep::journal::Record;
use parades_sweep::{Axis, Grid, Journal, Outcome, Run, Shard, seeds};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The greatest number of runs that a sweep may have.
const RUNS_MAX: usize = 1_000_000;
/// The seeds of a sweep that adds seeds until its intervals are narrow enough.
const SEEDS_TO_ADD: &str = "1..1000";
/// The name of the tie seed among the swept parameters, where it has several values.
pub const TIE_SEED: &str = "tie_seed";
/// The name of the saved run among the swept parameters, where there are several.
pub const FROM: &str = "from";
/// The name of the journal in a sweep's folder.
pub const JOURNAL: &str = "journal.jsonl";
/// The name of the folder of all runs in a sweep's folder.
pub const RUNS: &str = "runs";

/// A request for a sweep.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// The request that all runs have in common. In `set`, a parameter may have several values: `KEY=A,B,…`.
    pub base: Request,
    /// The seeds, as the user has written them: `1..30`, `1,2,5`. Default: the seed of `base`.
    pub seeds: Option<String>,
    /// The seeds that shuffle simultaneous events, where there are several: each point is run with each. With
    /// one at most, that of `base` holds.
    pub tie_seeds: Vec<u64>,
    /// The number of runs at a time. Default: the cores of this machine over the threads of a run.
    pub jobs: Option<u64>,
    /// The metrics that are shown, and that count for `until_interval`.
    pub metrics: Vec<String>,
    /// The greatest half-width of the metrics' intervals, as a share of the mean. Seeds are added until it is
    /// reached.
    pub until_interval: Option<f64>,
    /// The folder for the journal, the tables and the results of each run.
    pub folder: Option<PathBuf>,
    /// The file of the journal, where there is no folder.
    pub journal: Option<PathBuf>,
    /// The shard that this process executes. Default: all runs.
    pub shard: Option<Shard>,
    /// True if runs in folders below `folder` count as executed.
    pub missing: bool,
    /// The saved runs whose branches the runs are; none if they start at the beginning. `base` is the request
    /// of the first.
    pub from: Vec<Arc<Saved>>,
    /// True if the metrics of branches begin at the cut.
    pub fresh_metrics: bool,
}

/// A sweep that can be executed.
#[derive(Debug)]
pub struct SweepPlan {
    /// The request, in the user's words.
    pub request: SweepRequest,
    /// The plan of a run, without the swept parameters.
    pub plan: Plan,
    /// The engine.
    pub choice: Choice,
    /// The grid of parameters. A point of the sweep is a point of the grid with one of the tie seeds, or with
    /// one of the saved runs.
    pub grid: Grid,
    /// The tie seeds, where there are several; otherwise empty.
    pub tie_seeds: Vec<u64>,
    /// Notes for the user on the grid, a sentence each.
    pub notes: Vec<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The number of threads of each run.
    pub threads: u64,
    /// The number of runs at a time.
    pub jobs: usize,
}

impl SweepPlan {
    /// Returns the plan of a request.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] where a parameter, a value, a seed or the engine is wrong, or where there are too
    /// many runs.
    pub fn of(request: &SweepRequest) -> Result<SweepPlan, Failure> {
        let has_ties = request.tie_seeds.len() > 1;
        let tie_seeds = if has_ties { request.tie_seeds.clone() } else { Vec::new() };
        let tie_seed = request.base.tie_seed.filter(|_| !has_ties);
        let base = Request { set: Vec::new(), tie_seed, allows_idle: true, ..request.base.clone() };
        if request.shard.is_some() && request.base.scenario == "-" {
            return Err(Failure::usage(
                "the scenario of a shard cannot come from standard input",
                "write it to a file, which `merge` reads again",
            ));
        }
        let mut plan = Plan::of(&base)?;
        check_alike(&request.from, &plan, &base)?;
        if has_ties {
            // A scenario file may have one of its own.
            plan.tie_seed = None;
        }
        let axes: Vec<Axis> = request.base.set.iter().map(|set| Axis::parse("--set", set)).collect::<Result<_, _>>()?;
        if !request.from.is_empty() && plan.network.is_none() {
            for Axis { key, values, .. } in &axes {
                let first = values.first().map_or("", String::as_str);
                plan.values.clone().change_argument("--set", &format!("{key}={first}"))?;
            }
        }
        request.from.first().map_or(Ok(()), |saved| saved.check_time_left(&plan))?;
        let mut grid = Grid::of(&plan.values, "--set", axes)?;
        grid.complete(|values| plan.scenario.apply_presets(values));
        // A parameter without effect in the saved run was noted there.
        let notes = if request.from.is_empty() { notes_on_idle(grid.points())? } else { Vec::new() };
        let seeds = match (&request.seeds, request.until_interval) {
            (Some(text), _) => {
                seeds::parse(text).map_err(|error| error.at(Place::Argument(format!("--seeds {text}"))))?
            }
            (None, Some(_)) if request.base.seed.is_none() => seeds::parse(SEEDS_TO_ADD)?,
            (None, _) if request.from.is_empty() => vec![plan.seed],
            (None, _) => vec![request.base.seed.unwrap_or(1)],
        };
        let points =
            grid.points().len().saturating_mul(tie_seeds.len().max(1)).saturating_mul(request.from.len().max(1));
        if points.saturating_mul(seeds.len()) > RUNS_MAX {
            return Err(Failure::usage(
                format!("{points} points with {} seeds are more than {RUNS_MAX} runs", seeds.len()),
                "sweep over fewer values, or fewer seeds",
            ));
        }
        let threads = base.threads.or(plan.settings.threads).unwrap_or(1);
        plan.request.threads = Some(threads);
        let choice = plan.choice()?;
        let cores = Machine::this().cores as u64;
        let jobs = request.jobs.unwrap_or_else(|| (cores / threads).max(1));
        let jobs = usize::try_from(jobs).expect("a few thousand");
        let runs = points * seeds.len();
        let jobs = jobs.min(request.shard.map_or(runs, |shard| shard.share_of(runs).max(1)));
        Ok(SweepPlan { request: request.clone(), plan, choice, grid, tie_seeds, notes, seeds, threads, jobs })
    }

    /// Returns the number of points. The tie seed or the saved run varies faster than the parameters.
    pub fn points(&self) -> usize {
        self.grid.points().len() * self.variants()
    }

    /// Returns the number of points with the same parameters: they differ in the tie seed, or in the saved
    /// run. A saved run has its own tie seed, so there are never several of both.
    fn variants(&self) -> usize {
        self.ties().max(self.request.from.len())
    }

    /// Returns the saved run whose branches the runs of a point are.
    pub fn from(&self, point: usize) -> Option<&Saved> {
        let from = &self.request.from;
        (!from.is_empty()).then(|| &*from[point % from.len()])
    }

    /// Returns the points in groups that differ in the saved run alone. Without several saved runs there are
    /// none.
    pub fn groups_of_from(&self) -> impl Iterator<Item = Range<usize>> {
        let runs = self.request.from.len();
        let groups = if runs > 1 { self.grid.points().len() } else { 0 };
        (0..groups).map(move |group| group * runs..(group + 1) * runs)
    }

    /// Returns the number of points that differ in the tie seed alone.
    fn ties(&self) -> usize {
        self.tie_seeds.len().max(1)
    }

    /// Returns the values of the parameters at a point.
    pub(super) fn values(&self, point: usize) -> &Values {
        &self.grid.points()[point / self.variants()]
    }

    /// Returns the tie seed of a point.
    pub fn tie_seed(&self, point: usize) -> Option<u64> {
        self.tie_seeds.get(point % self.variants()).copied().or(self.plan.tie_seed)
    }

    /// Returns the `KEY=VALUE` of each parameter that is set, at a point.
    pub fn assignments(&self, point: usize) -> Vec<String> {
        self.grid.assignments(point / self.variants())
    }

    /// Returns the keys with several values: those of the grid, then [`TIE_SEED`] or [`FROM`].
    pub fn swept(&self) -> impl Iterator<Item = &str> + Clone {
        let of_ties = (!self.tie_seeds.is_empty()).then_some(TIE_SEED);
        self.grid.swept().chain(of_ties).chain((self.request.from.len() > 1).then_some(FROM))
    }

    /// Returns the points in groups that differ in the tie seed alone. Without several tie seeds there are
    /// none.
    pub fn tie_groups(&self) -> impl Iterator<Item = Range<usize>> {
        let ties = self.tie_seeds.len();
        let groups = if ties > 0 { self.grid.points().len() } else { 0 };
        (0..groups).map(move |group| group * ties..(group + 1) * ties)
    }

    /// Returns the bound on the memory of each run, in bytes; `None` where the system does not tell its
    /// memory.
    pub fn memory_limit(&self) -> Option<u64> {
        self.request.base.memory_limit.or_else(|| default_memory_limit().map(|limit| limit / self.jobs as u64))
    }

    /// Returns the question to the process that executes a run.
    pub(super) fn run_request(&self, point: usize, seed: u64) -> WorkerRequest {
        let folder = self.request.folder.as_ref().map(|folder| folder.join(RUNS).join(self.folder_of(point, seed)));
        WorkerRequest::run(self, point, seed, folder)
    }

    /// Returns the name of a run's folder.
    fn folder_of(&self, point: usize, seed: u64) -> String {
        let parameters = self.parameters_of(point);
        let words = parameters.iter().map(|(key, value)| format!("{key}={value}")).chain([format!("seed={seed}")]);
        safe_name(&words.collect::<Vec<_>>().join(","), |c| c.is_ascii_alphanumeric() || "-_=.,+%".contains(c))
    }

    /// Returns the values of the swept parameters at a point, as the journal has them.
    fn parameters_of(&self, point: usize) -> BTreeMap<String, String> {
        let values = self.values(point);
        let text = |key: &str| match (key, self.tie_seed(point), self.from(point)) {
            (TIE_SEED, Some(seed), _) => seed.to_string(),
            (FROM, _, Some(saved)) => saved.path().display().to_string(),
            _ => values.get(key).map_or_else(String::new, ToString::to_string),
        };
        self.swept().map(|key| (key.to_owned(), text(key))).collect()
    }

    /// Returns the values of the swept parameters at each point.
    pub fn swept_values(&self) -> Vec<Vec<Value>> {
        let of_point = |point| {
            let mut all = json!(self.values(point));
            if !self.tie_seeds.is_empty() {
                all[TIE_SEED] = json!(self.tie_seed(point));
            }
            if let Some(saved) = self.from(point) {
                all[FROM] = json!(saved.path());
            }
            self.swept().map(|key| all[key].clone()).collect()
        };
        (0..self.points()).map(of_point).collect()
    }

    /// Returns the values of the swept parameters at each point, in base units: seconds, bytes, bits per
    /// second.
    pub fn swept_numbers(&self) -> Vec<Vec<Value>> {
        let mut points = self.swept_values();
        for (index, key) in self.grid.swept().enumerate() {
            let values: Vec<_> = (0..self.points()).filter_map(|point| self.values(point).get(key)).collect();
            let shown: Vec<Value> = points.iter().map(|point| point[index].clone()).collect();
            if values.len() == shown.len() {
                let numbers = in_base_units(&values, &shown);
                points.iter_mut().zip(numbers).for_each(|(point, number)| point[index] = number);
            }
        }
        points
    }

    /// Returns the parameters that are the same in all runs.
    pub fn fixed(&self) -> Map<String, Value> {
        let mut points = self.grid.points().iter().map(|values| match json!(values) {
            Value::Object(values) => values,
            _ => unreachable!("values are a map"),
        });
        let mut fixed = points.next().expect("there is a point");
        self.grid.swept().for_each(|key| {
            fixed.shift_remove(key);
        });
        // A preset that is swept changes other parameters.
        points.for_each(|point| fixed.retain(|key, value| point.get(key) == Some(value)));
        fixed
    }

    /// Returns a run as the journal has it.
    pub(super) fn record(&self, point: usize, seed: u64, outcome: &Outcome) -> Record {
        Record { parameters: self.parameters_of(point), seed, outcome: outcome.clone() }
    }

    /// Returns the path of the journal, if there is one.
    pub fn journal_path(&self) -> Option<PathBuf> {
        let in_folder = self.request.folder.as_ref().map(|folder| folder.join(JOURNAL));
        in_folder.or_else(|| self.request.journal.clone())
    }

    /// Opens the journal, if one is wanted.
    pub(super) fn open_journal(&self, program: &Program) -> Result<OpenJournal, Failure> {
        let Some(path) = self.journal_path() else { return Ok(OpenJournal::default()) };
        let mut earlier = match &self.request.folder {
            Some(folder) if self.request.missing && folder.is_dir() => runs_below(folder, self, program)?,
            _ => EarlierRuns::new(),
        };
        match &self.request.folder {
            // A folder of other sweeps' folders has no journal of its own yet.
            Some(folder) if earlier.is_empty() => make_folder(folder)?,
            _ => {}
        }
        let (journal, records) = Journal::open(&path, &self.header(program))?;
        let claim = self.request.folder.as_deref().map(Claim::of).transpose()?;
        let run_of = self.run_finder();
        for record in records {
            if let Some(run) = run_of(&record) {
                earlier.entry(run).or_insert(record.outcome);
            }
        }
        Ok(OpenJournal { journal: Some(journal), earlier, claim })
    }

    /// Returns a function that finds the run of a record, if the sweep has the run.
    pub(super) fn run_finder(&self) -> impl Fn(&Record) -> Option<Run> {
        let points: BTreeMap<_, _> = (0..self.points()).map(|point| (self.parameters_of(point), point)).collect();
        let replications: BTreeMap<_, _> =
            self.seeds.iter().zip(0..).map(|(&seed, replication)| (seed, replication)).collect();
        move |Record { parameters, seed, .. }| {
            Some(Run { point: *points.get(parameters)?, replication: *replications.get(seed)? })
        }
    }
}

/// Checks that saved runs differ in their seeds alone: that they are of one scenario, with the same values
/// and end, and were saved at the same time.
fn check_alike(from: &[Arc<Saved>], first: &Plan, base: &Request) -> Result<(), Failure> {
    let Some((one, others)) = from.split_first() else { return Ok(()) };
    let without_seed = |saved: &Saved| -> String {
        saved.head.scenario.lines().filter(|line| !line.starts_with("seed = ")).collect::<Vec<_>>().join("\n")
    };
    for other in others {
        let file = other.path().display();
        let (times, is_same) = ([one.head.time(), other.head.time()], without_seed(one) == without_seed(other));
        let plan = Plan::of(&other.hold(&Request { scenario: other.scenario_name(), ..base.clone() }))?;
        if times[0] != times[1] || !is_same || plan.values != first.values {
            let message = match times[0] == times[1] {
                true => format!("{file} is of another run than {}, beside the seed", one.path().display()),
                false => format!("{file} was saved at {}, and {} at {}", times[1], one.path().display(), times[0]),
            };
            return Err(Failure::usage(message, "save runs that differ in `--seed` alone, at one time"));
        }
    }
    Ok(())
}

/// Returns notes on values that act at some points only. A value that acts at no point is refused.
fn notes_on_idle(points: &[Values]) -> Result<Vec<String>, ConfigError> {
    let mut found: BTreeMap<&str, (usize, Idle)> = BTreeMap::new();
    for values in points {
        for idle in values.idle() {
            found.entry(idle.key).or_insert((0, idle)).0 += 1;
        }
    }
    let note = |(count, idle): (usize, Idle)| {
        if count == points.len() && idle.is_refused {
            return Err(points[0].refusal(&idle));
        }
        let (key, all, needs) = (idle.key, points.len(), idle.term.in_words());
        Ok(format!("`{key}` has no effect at {count} of {all} points: it acts only {needs}"))
    };
    found.into_values().map(note).collect()
}

/// The journal of a sweep, and what goes with it.
#[derive(Default)]
pub(super) struct OpenJournal {
    pub(super) journal: Option<Journal>,
    /// The runs of the journal that belong to the sweep.
    pub(super) earlier: EarlierRuns,
    /// The right to write into the folder of the sweep.
    pub(super) claim: Option<Claim>,
}

/// Makes the folder of a sweep. A folder that holds something, but no journal, is refused.
pub(super) fn make_folder(folder: &Path) -> Result<(), Failure> {
    if folder.to_str().is_none() {
        let message = format!("the name of the folder {} is not UTF-8 text", folder.display());
        return Err(Failure::usage(message, "name another folder for `--out`"));
    }
    fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    let mut entries = fs::read_dir(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
    if entries.next().is_some() && !folder.join(JOURNAL).exists() {
        let message = format!("{} is not empty, and no sweep wrote it", folder.display());
        return Err(Failure::usage(message, "name another folder for `--out`"));
    }
    Ok(())
}
