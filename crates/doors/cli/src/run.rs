//! `parades run`: one simulation, from arguments to results.

use crate::arguments::{HowArguments, RunArguments};
use crate::files::{Files, Traced};
use crate::plan::{Plan, typed};
use crate::watch::{Watched, Watchman};
use crate::{interrupt, print, print_by, report, say, steady};
use parades_catalog::{Choice, Simulation};
use parades_config::Kind;
use parades_core::error::{Error, ErrorKind};
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::Tracer;
use parades_inspect::recorded::TRACE;
use parades_session::Failure;
use parades_session::failure::STOPPED;
use parades_session::machine::{Machine, peak_rss_bytes};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A run that is over, with all that is reported of it.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) plan: Plan,
    pub(crate) choice: Choice,
    pub(crate) outcome: Outcome,
    pub(crate) lps: u32,
    pub(crate) notes: Vec<String>,
    /// What the user typed.
    pub(crate) command: String,
    pub(crate) machine: Machine,
    pub(crate) setup: Duration,
    pub(crate) run: Duration,
    pub(crate) peak_rss_bytes: u64,
    /// The memory for which it was stopped early, if it was.
    pub(crate) too_much_memory: Option<u64>,
    /// The trace that goes into its folder, if any does.
    pub(crate) traced: Option<Traced>,
    /// Whether its tables go there as Parquet too.
    pub(crate) parquet: bool,
}

/// What a run is watched for.
#[derive(Default)]
pub(crate) struct Watch<'a> {
    /// Where the trace goes.
    pub(crate) tracer: Option<MakeTracer<'a>>,
    /// Whether the trace is told what handlers send.
    pub(crate) sends: bool,
    /// Where workers write down what they spend their time on.
    pub(crate) timesheets: Option<Arc<Timesheets>>,
    /// Whether progress is drawn.
    pub(crate) progress: bool,
}

/// Makes a tracer, once it is known when the run ends.
pub(crate) type MakeTracer<'a> = Box<dyn FnOnce(Time) -> Tracer<'a> + 'a>;

pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let mut plan = Plan::of(&arguments.scenario)?;
    let choice = plan.engine(arguments.engine.as_deref(), &arguments.how)?;
    check_apart(arguments, &plan)?;
    let mut files = Files::of(arguments, &choice)?;
    let reproduce = plan.command(&arguments.scenario, &arguments.how, choice.engine.name);
    let failed = |error: Error| Failure::of_run(&error, &reproduce);
    let long_enough = match steady::Wanted::of(arguments) {
        Some(wanted) => Some(wanted.lengthen(&plan, &choice, &arguments.how)?.map_err(failed)?),
        None => None,
    };
    let mut done = match long_enough {
        Some(done) if !files.are_wanted() || done.outcome.stopped_at.is_some() => done,
        found => {
            // What is written as a run goes on is that of the last.
            let notes = found.map_or_else(Vec::new, |done| {
                plan.until = Some(done.outcome.end);
                done.notes
            });
            let watch = Watch { progress: !arguments.how.quiet, ..files.watch() };
            let mut done = execute(plan, choice, &arguments.how, watch)?.map_err(failed)?;
            done.notes.extend(notes.into_iter().filter(|note| note.starts_with("until-interval")));
            done
        }
    };
    (done.traced, done.parquet) = (files.traced(), arguments.out_parquet);
    // Printed first: whatever becomes of the files, the results are not lost.
    if arguments.how.json {
        print_by(|to| report::write_json_line(to, &done))?;
    } else {
        print(&report::for_people(&done))?;
    }
    files.finish()?;
    if let Some(folder) = &arguments.out {
        report::write_folder(folder, &done)?;
    }
    Ok(if done.stopped_by_hand()? { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

/// Refuses to write over what the run is read from, or over what it writes elsewhere.
fn check_apart(arguments: &RunArguments, plan: &Plan) -> Result<(), Failure> {
    let RunArguments { scenario, out, trace, timeline, .. } = arguments;
    let scenario = Some(PathBuf::from(&scenario.scenario)).filter(|path| path.is_file());
    let paths = plan.values.iter().filter(|(parameter, _)| matches!(parameter.kind(), Kind::Path));
    let paths = paths.filter_map(|(parameter, _)| Some((parameter.key(), plan.values.path(parameter.key())?)));
    let inputs = scenario.map(|path| ("the scenario's file", path)).into_iter().chain(paths);
    // A trace that is to be where a folder of results has its own is that one.
    let is_own_trace = |path: &PathBuf| path.ends_with(TRACE) && trace.as_ref() == Some(path);
    let in_folder = out.iter().flat_map(|folder| report::results_in(folder)).filter(|path| !is_own_trace(path));
    let named = [("--trace", trace.clone()), ("--timeline", timeline.clone())];
    let named = named.into_iter().filter_map(|(what, path)| Some((what, path?)));
    let outputs = named.chain(in_folder.map(|path| ("--out", path)));
    let mut known: Vec<(&str, PathBuf)> = inputs.map(|(what, path)| (what, whereabouts(&path))).collect();
    for (what, path) in outputs {
        // Devices and pipes keep nothing that could be lost.
        if path.exists() && !path.is_file() {
            continue;
        }
        let place = whereabouts(&path);
        if let Some((other, _)) = known.iter().find(|(_, known)| *known == place) {
            let message = format!("{what} would write over {}, which {other} is", path.display());
            return Err(Failure::usage(message, "name another file"));
        }
        known.push((what, place));
    }
    Ok(())
}

/// A file's path from the root, the same however it is written; it may not be there yet.
fn whereabouts(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

impl Done {
    /// Whether Ctrl-C ended it before its time; an error where its memory did.
    pub(crate) fn stopped_by_hand(&self) -> Result<bool, Failure> {
        match self.too_much_memory {
            Some(bytes) if self.outcome.stopped_at.is_some() => Err(Failure::simulation(format!(
                "{} was stopped at {}, because it took {bytes} bytes of memory, above the limit; \
                 raise the memory limit, or simulate less at a time",
                self.plan.scenario.name, self.outcome.end
            ))),
            _ => Ok(self.outcome.stopped_at.is_some() && interrupt::happened()),
        }
    }
}

/// Makes the model and runs it. The outer error is the user's, the inner one the simulation's.
#[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
pub(crate) fn execute(
    plan: Plan,
    choice: Choice,
    how: &HowArguments,
    watch: Watch<'_>,
) -> Result<Result<Done, Error>, Failure> {
    let machine = Machine::this();
    let begin = Instant::now();
    let simulation = plan.simulation()?;
    let asked = Asked { plan: &plan, choice: &choice, how, watch, machine: &machine, begin };
    Ok(asked.execute(&simulation).map(|Executed { choice, outcome, lps, notes, setup, run, memory }| Done {
        too_much_memory: memory,
        traced: None,
        parquet: false,
        command: typed(),
        peak_rss_bytes: peak_rss_bytes(),
        plan,
        choice,
        outcome,
        lps,
        notes,
        machine,
        setup,
        run,
    }))
}

/// What is asked of a run.
struct Asked<'a, 'w> {
    plan: &'a Plan,
    choice: &'a Choice,
    how: &'a HowArguments,
    watch: Watch<'w>,
    machine: &'a Machine,
    begin: Instant,
}

struct Executed {
    choice: Choice,
    outcome: Outcome,
    lps: u32,
    notes: Vec<String>,
    setup: Duration,
    run: Duration,
    memory: Option<u64>,
}

impl Asked<'_, '_> {
    /// Runs a simulation on the engine that was chosen.
    #[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
    fn execute(self, simulation: &Simulation) -> Result<Executed, Error> {
        let Asked { plan, choice, how, watch, machine, begin } = self;
        // Where the machine does not tell its memory, there is no bound but the user's.
        let of_machine = Some(machine.memory_bytes / 4 * 3).filter(|&limit| limit > 0);
        let memory_limit = how.memory_limit.or(of_machine).unwrap_or(u64::MAX);
        simulation.check_room(memory_limit)?;
        let choice = simulation.resolve(choice);
        let mut notes = simulation.notes.clone();
        if !how.quiet {
            if let Some(why) = &choice.why {
                say(format_args!("engine: {} (auto: {why})", choice.engine.name));
            }
            notes.iter().for_each(|note| say(format_args!("note: {note}")));
        }
        let control = Arc::new(Control::default());
        let until = plan.until.unwrap_or(simulation.until);
        let options = RunOptions {
            seed: plan.seed,
            tie_seed: plan.tie_seed,
            digest: !how.no_digest,
            notes: watch.tracer.is_some(),
            sends: watch.sends,
            tracer: watch.tracer.map(|make| make(until)),
            timesheets: watch.timesheets,
            control: Some(&control),
            memory_limit: Some(memory_limit),
            ..RunOptions::until(until)
        };
        let watchman = Watchman::of(&control, Watched { until, progress: watch.progress, memory_limit });
        interrupt::stops(&control);
        let (setup, start) = (begin.elapsed(), Instant::now());
        let outcome = simulation.run(&choice, options);
        let run = start.elapsed();
        interrupt::release(&control);
        let memory = watchman.dismiss();
        match (outcome, memory) {
            (Err(error), Some(needed)) if *error.kind() == ErrorKind::Stopped => {
                Err(Error::new(ErrorKind::Memory { limit: memory_limit, needed }))
            }
            (outcome, memory) => {
                let outcome = outcome?;
                notes.extend(idle_threads(&outcome.engine_stats, choice.threads, simulation.lps()));
                Ok(Executed { choice, outcome, lps: simulation.lps(), notes, setup, run, memory })
            }
        }
    }
}

/// A note on threads that had nothing to do, if there were any.
fn idle_threads(stats: &[(&str, f64)], threads: u64, lps: u32) -> Option<String> {
    let stat = |name| stats.iter().find(|(stat, _)| *stat == name).map(|&(_, value)| value);
    let workers = stat("workers")?;
    if workers < threads as f64 {
        // An engine that needs no lookahead has a worker for each LP, if there are threads enough.
        let why =
            if workers < f64::from(lps) { "lookahead leaves no more partitions" } else { "there are no more LPs" };
        return Some(format!("{workers} of {threads} threads used: {why} than that"));
    }
    if stat("alone_for_memory").is_some_and(|is_so| is_so > 0.0) {
        return Some(format!("1 of {threads} threads used in the end: the memory limit has no room for history"));
    }
    // It goes to and fro between one worker and all.
    let ended_on_one = stat("turns").is_some_and(|turns| turns % 2.0 > 0.5);
    ended_on_one.then(|| {
        format!("1 of {threads} threads used in the end: several had too little to do, or too little of the machine")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_on_idle_threads_names_what_there_are_too_few_of() {
        let note = |workers, threads, lps| idle_threads(&[("workers", workers), ("turns", 0.0)], threads, lps);
        assert_eq!(note(3.0, 8, 3).as_deref(), Some("3 of 8 threads used: there are no more LPs than that"));
        assert_eq!(
            note(3.0, 8, 4).as_deref(),
            Some("3 of 8 threads used: lookahead leaves no more partitions than that")
        );
        assert_eq!(note(8.0, 8, 8), None);
        assert_eq!(idle_threads(&[], 8, 3), None, "an engine without workers");
        let turns = |turns| idle_threads(&[("workers", 8.0), ("turns", turns)], 8, 64);
        assert_eq!(
            turns(3.0).as_deref(),
            Some("1 of 8 threads used in the end: several had too little to do, or too little of the machine")
        );
        assert_eq!(turns(4.0), None);
        let stats = [("workers", 8.0), ("turns", 1.0), ("alone_for_memory", 1.0)];
        assert_eq!(
            idle_threads(&stats, 8, 64).as_deref(),
            Some("1 of 8 threads used in the end: the memory limit has no room for history")
        );
    }
}
