//! One run on several engines, side by side: as JSON for scripts, as a table for people, and as a folder that
//! shows a reviewer what was compared.
//!
//! | file | contents |
//! |---|---|
//! | `proof.txt` | the comparison in plain words, with the commands that repeat it |
//! | `comparison.json` | the object of `--json` |
//! | `scenario.toml` | a scenario file whose run is the same |
//! | `record.json` | the circumstances: date, system, machine, compiler, files read, by their hashes |
//! | `runs/` | a folder of results for each run, as `run --out` writes it |

mod people;
mod proof;
mod ties;

use crate::Report;
use crate::folder::{self, Kind, write_json};
use crate::metrics::AllMetrics;
use parades_catalog::{Choice, program_name};
use parades_session::recorded::{Difference, RECORD, SCENARIO, differs};
use parades_session::request::quote;
use parades_session::sweep::RUNS;
use parades_session::{Claim, Comparison, Failure, FinishedRun, Plan, Planned, Program};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The name of the file of the comparison in plain words.
const PROOF: &str = "proof.txt";
/// The name of the file of the JSON object.
const COMPARISON: &str = "comparison.json";

/// The results of a comparison.
const KIND: Kind = Kind {
    results: &[RUNS, SCENARIO, RECORD, PROOF, COMPARISON],
    optional: &[],
    is_in: is_of_a_comparison,
    name: "comparison",
};

/// The fields of a run's JSON that all runs of a comparison share.
const SHARED: [&str; 9] =
    ["schema", "version", "commit", "command", "machine", "scenario", "parameters", "seed", "inputs"];

/// A comparison, to be reported in any form. It has at least one run.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonReport<'a> {
    compared: &'a Comparison,
    program: &'a Program,
    /// True if the files that the runs read are copied into the folders of results.
    pub copy_inputs: bool,
}

/// Makes the folder of a comparison that a user asks for, before the runs.
///
/// # Errors
///
/// [`Failure::Input`] if the folder has other results that must not be replaced, or if files cannot be
/// written.
pub fn make_folder(folder: &Path, overwrites: bool) -> Result<Claim, Failure> {
    folder::make_for_user(&KIND, folder, overwrites)
}

/// Returns the name of a run that tells it from another run.
fn name(run: &FinishedRun, other: &FinishedRun) -> String {
    let (choice, engine) = (&run.choice, run.choice.engine);
    if engine != other.choice.engine {
        return engine.to_string();
    }
    format!("{engine} on {} processes of {} threads", choice.processes, choice.threads)
}

/// True if a comparison wrote this folder.
fn is_of_a_comparison(folder: &Path) -> bool {
    let object = fs::File::open(folder.join(COMPARISON)).ok();
    let object: Option<Value> = object.and_then(|file| serde_json::from_reader(std::io::BufReader::new(file)).ok());
    object.is_some_and(|object| object["schema"].is_u64() && object["runs"].is_array())
}

impl<'a> ComparisonReport<'a> {
    /// Returns the report of a comparison that this program made. There are no copies of inputs.
    pub fn of(compared: &'a Comparison, program: &'a Program) -> ComparisonReport<'a> {
        ComparisonReport { compared, program, copy_inputs: false }
    }

    fn first(&self) -> &'a FinishedRun {
        self.compared.runs.first().expect("there is no comparison without a run")
    }

    /// Returns the comparison as one JSON object. Each run is compared with the first of its tie seed.
    pub fn as_json(&self) -> Value {
        let Comparison { runs, stopped, left_out, making } = self.compared;
        let shared = self.run_report(self.first()).fields();
        let mut object: Map<String, Value> =
            SHARED.iter().map(|name| ((*name).to_owned(), shared[*name].clone())).collect();
        let tie_seeds = self.tie_seeds();
        object.insert("tie_seed".into(), json!(self.first().plan.tie_seed.filter(|_| tie_seeds.len() < 2)));
        if tie_seeds.len() > 1 {
            object.insert("tie_seeds".into(), json!(tie_seeds));
            object.insert("ties".into(), self.ties().as_json());
        }
        object.insert("build".into(), json!(self.program.build));
        object.insert("same".into(), json!(self.are_same()));
        object.insert("runs".into(), runs.iter().map(|run| self.row(run)).collect());
        let stopped = stopped.iter().map(|Planned { plan, choice }| {
            let (engine, tie_seed) = (choice.engine.name(), plan.tie_seed);
            json!({"engine": engine, "threads": choice.threads, "processes": choice.processes, "tie_seed": tie_seed})
        });
        object.insert("stopped".into(), stopped.collect());
        let left_out =
            left_out.iter().map(|out| json!({"engine": out.engine.name(), "processes": out.processes, "why": out.why}));
        object.insert("left_out".into(), left_out.collect());
        object.insert("making_s".into(), json!(making.as_secs_f64()));
        object.insert("repeat".into(), json!(self.commands("SCENARIO").join("\n")));
        Value::Object(object)
    }

    /// Returns a run as an object. The first run of a tie seed has the metrics, and each other one the first
    /// difference from that run, if there is one.
    fn row(&self, run: &FinishedRun) -> Value {
        let first = self.compared.reference(run);
        let mut row = self.run_report(run).fields();
        row.retain(|name, _| !SHARED.contains(&name.as_str()) && name != "metrics");
        if std::ptr::eq(run, first) {
            row.insert("metrics".into(), json!(AllMetrics(&run.outcome.metrics)));
        }
        row.insert("same".into(), json!(run.has_result_of(first)));
        let difference = difference(run, first)
            .map(|Difference { what, values: [here, first] }| json!({"what": what, "here": here, "first": first}));
        row.insert("difference".into(), json!(difference));
        row.insert("run_s".into(), json!(run.run_wall.as_secs_f64()));
        row.insert("speedup".into(), json!(first.run_wall.as_secs_f64() / run.run_wall.as_secs_f64()));
        Value::Object(row)
    }

    fn run_report(&self, run: &'a FinishedRun) -> Report<'a> {
        Report { copy_inputs: self.copy_inputs, ..Report::of(run, self.program) }
    }

    /// Checks that each run has the result of the first of its tie seed.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] with the first two runs that differ.
    pub fn check(&self) -> Result<(), Failure> {
        let differs = |run: &&FinishedRun| !run.has_result_of(self.compared.reference(run));
        let Some(other) = self.compared.runs.iter().find(differs) else { return Ok(()) };
        let first = self.compared.reference(other);
        Err(Failure::simulation(format!(
            "{} and {} came to different results{}; `{} diff` finds the event where they diverge",
            name(first, other),
            name(other, first),
            other.plan.tie_seed.map_or_else(String::new, |seed| format!(" with tie seed {seed}")),
            program_name()
        )))
    }

    /// True if each run has the result of the first of its tie seed.
    fn are_same(&self) -> bool {
        self.compared.runs.iter().all(|run| run.has_result_of(self.compared.reference(run)))
    }

    /// Returns the tie seeds of the finished runs, in the order of the runs.
    fn tie_seeds(&self) -> Vec<u64> {
        self.compared.groups().filter_map(|runs| runs[0].plan.tie_seed).collect()
    }

    /// Returns all runs, the finished ones first.
    fn sides(&self) -> impl Iterator<Item = Side<'a>> {
        let Comparison { runs, stopped, .. } = self.compared;
        let finished = runs.iter().map(|run| Side { plan: &run.plan, choice: &run.choice });
        finished.chain(stopped.iter().map(|Planned { plan, choice }| Side { plan, choice }))
    }

    /// Returns the commands that make the same comparison of a scenario file. There is one, unless the number
    /// of threads depends on the number of processes, which no single command can say.
    fn commands(&self, scenario: &str) -> Vec<String> {
        let tie_seed = self.first().plan.tie_seed;
        let mut rest: Vec<Side<'_>> = self.sides().filter(|side| side.plan.tie_seed == tie_seed).collect();
        if are_all_combinations(&rest) {
            return vec![self.command(scenario, &rest)];
        }
        let mut commands = Vec::new();
        while let Some(workers) = rest.iter().find(|side| side.has_workers()).map(Side::workers) {
            let is_next = |side: &Side<'_>| side.workers() == workers || !side.has_workers();
            let (next, others) = rest.into_iter().partition(is_next);
            commands.push(self.command(scenario, &Vec::from_iter::<Vec<Side<'_>>>(next)));
            rest = others;
        }
        commands
    }

    /// Returns the command that compares all combinations of the engines, threads and processes of `sides`.
    fn command(&self, scenario: &str, sides: &[Side<'_>]) -> String {
        let plan = &self.first().plan;
        let list = |numbers: Vec<u64>| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let engines = once_each(sides.iter().map(Side::engine)).join(",");
        let mut words = ["compare", scenario, "--engines", &engines].map(str::to_owned).to_vec();
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        let (threads, processes) = (list(threads_of(sides)), list(processes_of(sides)));
        if !threads.is_empty() {
            option("--threads", threads);
        }
        if !matches!(processes.as_str(), "" | "1") {
            option("--processes", processes);
        }
        let ties = once_each(self.sides().filter_map(|side| side.plan.tie_seed));
        if ties.len() > 1 {
            option("--tie-seed", list(ties));
        }
        let tune = once_each(sides.iter().flat_map(|side| &side.plan.request.tune));
        tune.into_iter().for_each(|setting| option("--tune", setting.clone()));
        plan.request.memory_limit.iter().for_each(|bytes| option("--memory-limit", format!("{bytes}B")));
        let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
        format!("{} {}", program_name(), words.join(" "))
    }

    /// Writes the comparison into a folder that [`make_folder`] has made.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if a file cannot be written.
    pub fn write_folder(&self, folder: &Path) -> Result<(), Failure> {
        folder::write(&KIND, folder, |gathered| {
            let late = |path: &Path, error| Failure::written_late(path, &error);
            let names = self.names();
            for (run, name) in self.compared.runs.iter().zip(&names) {
                let of_run = gathered.join(RUNS).join(name);
                fs::create_dir_all(&of_run).map_err(|error| late(&of_run, error))?;
                self.run_report(run).gather(&of_run)?;
            }
            let mut plan = self.first().plan.clone();
            if once_each(self.sides().filter_map(|side| side.plan.tie_seed)).len() > 1 {
                plan.tie_seed = None;
            }
            let scenario = plan.as_file_in(Some(folder), Some(self.first().outcome.end))?;
            for (name, text) in [(SCENARIO, scenario), (PROOF, self.proof(&names))] {
                let path = gathered.join(name);
                fs::write(&path, text).map_err(|error| late(&path, error))?;
            }
            write_json(&gathered.join(RECORD), &self.run_report(self.first()).record())?;
            write_json(&gathered.join(COMPARISON), &self.as_json())
        })
    }

    /// Returns the name of each run, the finished ones first. Those have a folder of that name.
    fn names(&self) -> Vec<String> {
        let has_ties = once_each(self.sides().filter_map(|side| side.plan.tie_seed)).len() > 1;
        let (mut names, mut counts) = (Vec::new(), BTreeMap::new());
        for side in self.sides() {
            let Side { plan, choice } = side;
            let mut name = format!("engine={},threads={}", side.engine(), choice.threads);
            if choice.processes > 1 {
                name += &format!(",processes={}", choice.processes);
            }
            if let Some(seed) = plan.tie_seed.filter(|_| has_ties) {
                name += &format!(",tie_seed={seed}");
            }
            let count: &mut u64 = counts.entry(name.clone()).or_default();
            names.push(if *count > 0 { format!("{name},again={count}") } else { name });
            *count += 1;
        }
        names
    }
}

/// A run of a comparison, finished or not.
#[derive(Clone, Copy)]
struct Side<'a> {
    plan: &'a Plan,
    choice: &'a Choice,
}

impl<'a> Side<'a> {
    /// Returns the name of the engine that was asked for.
    fn engine(&self) -> &'a str {
        self.plan.request.engine.as_deref().unwrap_or(self.choice.engine.name())
    }

    /// Returns the numbers of processes and of threads of each.
    fn workers(&self) -> (u64, u64) {
        (self.choice.processes, self.choice.threads)
    }

    /// Returns true if the engine can have several workers.
    fn has_workers(&self) -> bool {
        self.choice.engine.is_parallel() || self.choice.engine.is_distributed()
    }
}

/// Returns the numbers of threads of the parallel engines.
fn threads_of(sides: &[Side<'_>]) -> Vec<u64> {
    let parallel = sides.iter().filter(|side| side.choice.engine.is_parallel());
    once_each(parallel.map(|side| side.choice.threads))
}

/// Returns the numbers of processes of the distributed engines.
fn processes_of(sides: &[Side<'_>]) -> Vec<u64> {
    let distributed = sides.iter().filter(|side| side.choice.engine.is_distributed());
    once_each(distributed.map(|side| side.choice.processes))
}

/// Returns true if each engine runs on each of the numbers of threads and processes, as far as it can.
fn are_all_combinations(sides: &[Side<'_>]) -> bool {
    let (threads, processes) = (threads_of(sides), processes_of(sides));
    once_each(sides.iter().map(Side::engine)).into_iter().all(|engine| {
        let of_engine: Vec<&Side<'_>> = sides.iter().filter(|side| side.engine() == engine).collect();
        let facts = of_engine[0].choice.engine;
        let expected = if facts.is_parallel() { threads.len() } else { 1 }
            * if facts.is_distributed() { processes.len() } else { 1 };
        once_each(of_engine.iter().map(|side| side.workers())).len() == expected
    })
}

/// Returns the items, each of them once, in the order in which they first occur.
fn once_each<T: Ord + Copy>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    items.filter(|item| seen.insert(*item)).collect()
}

/// Returns the first difference between the result of a run and that of another one.
fn difference(run: &FinishedRun, other: &FinishedRun) -> Option<Difference> {
    if run.has_result_of(other) {
        return None;
    }
    let result = |run: &FinishedRun| {
        let outcome = &run.outcome;
        json!({
            "events": outcome.events, "global_events": outcome.global_events, "until": outcome.end.to_string(),
            "metrics": AllMetrics(&outcome.metrics),
            "digest": outcome.digest.map(|digest| format!("{digest:016x}")),
        })
    };
    let (here, there) = (result(run), result(other));
    let fields = ["events", "global_events", "until", "metrics", "digest"];
    fields.into_iter().find_map(|field| differs(field, &here[field], &there[field]))
}
