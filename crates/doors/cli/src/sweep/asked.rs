//! What a sweep consists of, gathered from the command line and checked as far as that goes without a model.

use super::Recorded;
use super::worker::Request;
use crate::arguments::{HowArguments, ScenarioArguments, SweepArguments};
use crate::plan::Plan;
use crate::report::safe_name;
use parades_catalog::Choice;
use parades_config::{Kind, Place, Values, quoted};
use parades_core::digest::Digest;
use parades_session::Failure;
use parades_session::machine::Machine;
use parades_sweep::journal::Record;
use parades_sweep::{Axis, Grid, Header, Journal, Outcome, Pool, Run, seeds};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// More runs than this are refused.
const RUNS_MAX: usize = 1_000_000;
/// The seeds of a sweep that adds as many as it needs.
const SEEDS_TO_ADD: &str = "1..1000";
/// The journal in a sweep's folder.
const JOURNAL: &str = "journal.jsonl";
/// The folders of runs in it.
const RUNS: &str = "runs";

/// A sweep that was asked for.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) arguments: &'a SweepArguments,
    pub(super) plan: Plan,
    pub(super) choice: Choice,
    pub(super) grid: Grid,
    pub(super) seeds: Vec<u64>,
    /// Threads of each run.
    pub(super) threads: u64,
    pub(super) jobs: usize,
}

impl Asked<'_> {
    /// What the arguments ask for.
    pub(super) fn of(arguments: &SweepArguments) -> Result<Asked<'_>, Failure> {
        let plan = Plan::of(&ScenarioArguments { set: Vec::new(), ..arguments.scenario.clone() })?;
        let axes = arguments.scenario.set.iter().map(|set| Axis::parse("--set", set)).collect::<Result<_, _>>()?;
        let mut grid = Grid::of(&plan.values, "--set", axes)?;
        grid.complete(|values| plan.scenario.apply_presets(values));
        let seeds = match (&arguments.seeds, arguments.until_interval) {
            (Some(text), _) => {
                seeds::parse(text).map_err(|error| error.at(Place::Argument(format!("--seeds {text}"))))?
            }
            (None, Some(_)) if arguments.scenario.seed.is_none() => seeds::parse(SEEDS_TO_ADD)?,
            _ => vec![plan.seed],
        };
        let points = grid.points().len();
        if points.saturating_mul(seeds.len()) > RUNS_MAX {
            return Err(Failure::usage(
                format!("{points} points with {} seeds are more than {RUNS_MAX} runs", seeds.len()),
                "sweep over fewer values, or fewer seeds",
            ));
        }
        let threads = arguments.how.threads.or(plan.settings.threads).unwrap_or(1);
        let how = HowArguments { threads: Some(threads), ..arguments.how.clone() };
        let choice = plan.engine(arguments.engine.as_deref(), &how)?;
        let cores = Machine::this().cores as u64;
        let jobs = arguments.jobs.unwrap_or_else(|| (cores / threads).max(1));
        let jobs = usize::try_from(jobs).expect("a few thousand").min(points * seeds.len());
        Ok(Asked { arguments, plan, choice, grid, seeds, threads, jobs })
    }

    /// The processes that execute the runs.
    pub(super) fn pool(&self) -> Result<Pool, Failure> {
        // The program as it was started, even if its file is replaced while the sweep goes on.
        let running = PathBuf::from("/proc/self/exe");
        let program = if running.exists() { Ok(running) } else { std::env::current_exe() };
        let program =
            program.map_err(|error| Failure::simulation(format!("processes for runs cannot be started: {error}")))?;
        let words = self.worker_words();
        let command = move || {
            let mut command = Command::new(&program);
            command.args(&words);
            command
        };
        Pool::new(self.jobs, command).map_err(|error| {
            Failure::simulation(format!("a thread for each job cannot be started: {error}; sweep with fewer `--jobs`"))
        })
    }

    /// The options of a worker: what all runs have in common.
    fn worker_words(&self) -> Vec<String> {
        let SweepArguments { scenario, how, engine, .. } = self.arguments;
        let mut words = vec!["sweep-worker".to_owned(), scenario.scenario.clone(), "--quiet".into()];
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]));
        };
        option("tie-seed", self.plan.tie_seed.map(|seed| seed.to_string()));
        option("until", scenario.until.map(|until| until.to_string()));
        option("engine", engine.clone());
        option("threads", Some(self.threads.to_string()));
        option("processes", how.processes.map(|processes| processes.to_string()));
        for setting in &how.tune {
            option("tune", Some(setting.clone()));
        }
        // The machine's memory is for all of them together.
        let shared = |memory: u64| (memory > 0).then(|| memory / 4 * 3 / self.jobs as u64);
        let memory = how.memory_limit.or_else(|| shared(Machine::this().memory_bytes));
        option("memory-limit", memory.map(|bytes| format!("{}B", bytes.max(1))));
        if how.no_digest {
            words.push("--no-digest".into());
        }
        words
    }

    /// The line that asks a worker for a run.
    pub(super) fn request(&self, point: usize, seed: u64) -> String {
        let folder = self.arguments.out.as_ref().map(|folder| folder.join(RUNS).join(self.folder_of(point, seed)));
        Request::run(&self.grid, point, seed, folder).line()
    }

    /// The name of a run's folder.
    fn folder_of(&self, point: usize, seed: u64) -> String {
        let parameters = self.parameters_of(point);
        let words = parameters.iter().map(|(key, value)| format!("{key}={value}")).chain([format!("seed={seed}")]);
        let name = words.collect::<Vec<_>>().join(",");
        safe_name(&name, |c| c.is_ascii_alphanumeric() || "-_=.,+%".contains(c))
    }

    /// The values of the swept parameters at a point, as the journal has them.
    fn parameters_of(&self, point: usize) -> BTreeMap<String, String> {
        let values = &self.grid.points()[point];
        let text = |key: &str| values.get(key).map_or_else(String::new, ToString::to_string);
        self.grid.swept().map(|key| (key.to_owned(), text(key))).collect()
    }

    /// The values of the swept parameters at each point.
    pub(super) fn swept_values(&self) -> Vec<Vec<Value>> {
        let of_point = |values: &Values| {
            let all = json!(values);
            self.grid.swept().map(|key| all[key].clone()).collect()
        };
        self.grid.points().iter().map(of_point).collect()
    }

    /// The parameters that are the same in all runs.
    pub(super) fn fixed(&self) -> Map<String, Value> {
        let mut points = self.grid.points().iter().map(|values| match json!(values) {
            Value::Object(values) => values,
            _ => unreachable!("values are a map"),
        });
        let mut fixed = points.next().expect("there is a point");
        self.grid.swept().for_each(|key| {
            fixed.shift_remove(key);
        });
        // A preset that is swept changes others.
        points.for_each(|point| fixed.retain(|key, value| point.get(key) == Some(value)));
        fixed
    }

    /// A run as the journal has it.
    pub(super) fn record(&self, point: usize, seed: u64, outcome: &Outcome) -> Record {
        Record { parameters: self.parameters_of(point), seed, outcome: outcome.clone() }
    }

    /// Where the journal is, if there is one.
    pub(super) fn journal_path(&self) -> Option<PathBuf> {
        let in_folder = self.arguments.out.as_ref().map(|folder| folder.join(JOURNAL));
        in_folder.or_else(|| self.arguments.journal.clone())
    }

    /// The file of a network, the files that parameters name, and those that these name in turn, with hashes of what is in them: where that changes, so do the
    /// answers. Those that cannot be read are complained of elsewhere.
    fn files(&self) -> Map<String, Value> {
        let mut named = BTreeSet::new();
        let mut files = BTreeSet::new();
        for values in self.grid.points() {
            let of_kind = values.iter().filter(|(parameter, _)| matches!(parameter.kind(), Kind::Path));
            named.extend(of_kind.filter_map(|(parameter, _)| Some((parameter.key(), values.path(parameter.key())?))));
            files.extend(self.plan.network.iter().filter_map(|network| network.files(values).ok()).flatten());
        }
        for (parameter, path) in named {
            files.extend(self.plan.scenario.files_named_in(parameter, &path));
            files.insert(path);
        }
        let entry = |path: &Path, bytes: &[u8]| {
            let mut hash = Digest::default();
            hash.bytes(bytes);
            (path.to_string_lossy().into_owned(), Value::from(format!("{:016x}", hash.value())))
        };
        let network = self.plan.network.iter().map(|network| entry(network.path(), network.text().as_bytes()));
        network.chain(files.iter().filter_map(|path| Some(entry(path, &fs::read(path).ok()?)))).collect()
    }

    /// What must be the same for runs of an earlier sweep to be of use. Seeds and values of swept parameters may be more than there were.
    fn header(&self) -> Header {
        let fields = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "commit": env!("PARADES_COMMIT"),
            "scenario": self.plan.scenario.name,
            "parameters": self.fixed(),
            "files": self.files(),
            "until": self.plan.until.map(|until| until.to_string()),
            "tie_seed": self.plan.tie_seed,
            "engine": self.choice.engine.name,
            "settings": self.choice.settings,
            "threads": self.threads,
            "digest": !self.arguments.how.no_digest,
        });
        match fields {
            Value::Object(fields) => Header(fields),
            _ => unreachable!("it is written as an object above"),
        }
    }

    /// Opens the journal, if one is wanted, with those of its runs that belong to this sweep.
    pub(super) fn open_journal(&self) -> Result<(Option<Journal>, Recorded), Failure> {
        let Some(path) = self.journal_path() else { return Ok((None, Recorded::new())) };
        if let Some(folder) = &self.arguments.out {
            make_folder(folder)?;
        }
        let (journal, records) = Journal::open(&path, &self.header())?;
        let points: BTreeMap<_, _> =
            (0..self.grid.points().len()).map(|point| (self.parameters_of(point), point)).collect();
        let replications: BTreeMap<_, _> =
            self.seeds.iter().zip(0..).map(|(&seed, replication)| (seed, replication)).collect();
        let mut recorded = Recorded::new();
        for Record { parameters, seed, outcome } in records {
            if let (Some(&point), Some(&replication)) = (points.get(&parameters), replications.get(&seed)) {
                recorded.entry(Run { replication, point }).or_insert(outcome);
            }
        }
        Ok((Some(journal), recorded))
    }

    /// The name that one means by a metric's, among those that runs will have: its own, that without `.mean`, or that without its unit.
    pub(super) fn metric(name: &str, among: &[String]) -> Result<String, Failure> {
        let names = |full: &String| {
            let short = full.strip_suffix(".mean").unwrap_or(full);
            let units = ["_per_s", "_bytes", "_bps", "_s"];
            let bare = units.iter().find_map(|unit| short.strip_suffix(unit)).unwrap_or(short);
            [full.clone(), short.to_owned(), bare.to_owned()]
        };
        let same = |full: &&String| names(full).iter().any(|other| other == name);
        let found = among.iter().find(|full| *full == name).or_else(|| among.iter().find(same));
        found.cloned().ok_or_else(|| {
            let names: Vec<String> = among.iter().flat_map(names).collect();
            let help = match parades_config::nearest(name, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", among.join(", ")),
            };
            Failure::usage(format!("--metric {name}: there is no metric {} in these runs", quoted(name)), help)
        })
    }
}

/// Makes the folder of a sweep. One that holds something, but no journal, is refused.
fn make_folder(folder: &Path) -> Result<(), Failure> {
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
