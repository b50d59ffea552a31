//! Executing a plan.

use crate::branch::Branched;
use crate::condition::Condition;
use crate::interrupt::{self, Interruptible};
use crate::machine::{Machine, peak_rss_bytes};
use crate::ranks::{self, Others};
use crate::recorded::RecordedInput;
use crate::request::quote;
use crate::saved::{self, Found, Head, Saved, Saver, Saving};
use crate::watchman::Watched;
use crate::{Failure, Observer, Plan, Recording, Tracing};
use parades_catalog::{Choice, Engine, Simulation, program_name};
use parades_config::inputs::{self, Seen};
use parades_core::error::{Error, ErrorKind};
use parades_core::metrics::{Cell, Metrics};
use parades_core::run::{Control, EngineChange, Outcome, Phase, RunOptions};
use parades_core::time::Time;
use parades_transport::Fabric;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The name of a metric that is a note for the user. A model declares it as a value, and may set it to a
/// sentence on the run. It is among the notes of the run, and among the metrics of its JSON.
pub const NOTE: &str = "note";

/// A run that is over, with all that is reported of it.
#[derive(Debug)]
pub struct FinishedRun {
    /// The plan that was executed.
    pub plan: Plan,
    /// The engine; where `auto` was asked for, the one that it chose. [`Outcome::engine_at_end`] is the one
    /// that it changed to last.
    pub choice: Choice,
    /// The results of the engine: metrics, digest, counts.
    pub outcome: Outcome,
    /// The number of events that were executed before, if the run went on from a file.
    pub events_before: u64,
    /// The number of logical processes.
    pub lps: u32,
    /// Notes for the user on the run, a sentence each.
    pub notes: Vec<String>,
    /// The machine.
    pub machine: Machine,
    /// The wall time in which the model was made and its LPs were started.
    pub setup_wall: Duration,
    /// The wall time in which events were executed.
    pub run_wall: Duration,
    /// The wall time in which results were made from the final states.
    pub results_wall: Duration,
    /// The most memory that this process has held, in bytes.
    pub peak_rss_bytes: u64,
    /// The same of each other process of the run, in rank order.
    pub peak_rss_bytes_of_others: Vec<u64>,
    /// How the run ended.
    pub ending: Ending,
    /// The files that this process, or the run that was saved, has read for it.
    pub inputs: Vec<Seen>,
    /// The save from which the run went on.
    pub resumed: Option<Resumed>,
    /// The branches that led to the run, in the order of time.
    pub branches: Vec<Branched>,
}

/// A save from which a run went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The absolute path of the file.
    pub file: PathBuf,
    /// The virtual time of the cut.
    pub time: Time,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At its end, or where the model ended it.
    Complete,
    /// An interrupt stopped it: see [`crate::interrupt`].
    Interrupted,
    /// It was stopped because one of its processes took too much memory.
    OutOfMemory {
        /// The rank of that process.
        rank: usize,
        /// The memory that it took, in bytes.
        bytes: u64,
    },
}

impl FinishedRun {
    /// Returns the events executed here in a second of wall time.
    pub fn events_per_s(&self) -> f64 {
        let seconds = self.run_wall.as_secs_f64();
        let events = self.outcome.events.saturating_sub(self.events_before);
        if seconds > 0.0 { events as f64 / seconds } else { 0.0 }
    }

    /// Returns true if an interrupt stopped the run, so that its results are those so far.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] where the run was stopped because it took too much memory, or where the model
    /// says that its results are incomplete.
    pub fn is_interrupted(&self) -> Result<bool, Failure> {
        match self.ending {
            Ending::Complete => match self.outcome.metrics.incomplete() {
                Some(why) => Err(Failure::simulation(why)),
                None => Ok(false),
            },
            Ending::Interrupted => Ok(true),
            Ending::OutOfMemory { rank, bytes } => {
                let (which, remedy) = match rank {
                    0 => ("it".to_owned(), "simulate less at a time"),
                    worker => (format!("worker {worker}"), "use more processes"),
                };
                Err(Failure::simulation(format!(
                    "{} was stopped at {}, because {which} took {bytes} bytes of memory, above the limit; \
                     raise the memory limit, or {remedy}",
                    self.plan.scenario.name, self.outcome.end
                )))
            }
        }
    }

    /// Returns the run if it came to its end. `why` says why a part of a run is of no use.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] where an interrupt stopped the run, and the error of
    /// [`FinishedRun::is_interrupted`].
    pub fn complete(self, why: &'static str) -> Result<FinishedRun, Failure> {
        if self.is_interrupted()? { Err(Failure::Stopped(why)) } else { Ok(self) }
    }
}

/// Makes the model of a plan and runs it on an engine.
///
/// # Errors
///
/// [`Failure::Input`] where the values of the parameters make no sense together; [`Failure::Run`] where the
/// run ends in an error; [`Failure::Stopped`] where an interrupt came before there was a result.
#[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
pub fn run(
    plan: &Plan,
    choice: &Choice,
    recording: Recording<'_>,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, Failure> {
    let begin = Instant::now();
    check_recording(choice, &recording)?;
    observer.prepares();
    // The other processes make the model at the same time.
    let others = ranks::start(plan, choice)?;
    let simulation = plan.simulation()?;
    let making = begin.elapsed();
    let finished = run_on(others, plan, &simulation, choice, recording, observer)?;
    Ok(FinishedRun { setup_wall: making + finished.setup_wall, ..finished })
}

/// Checks that a run can be saved, or go on from a file, in this way.
fn check_recording(choice: &Choice, recording: &Recording<'_>) -> Result<(), Failure> {
    recording.saving.map_or(Ok(()), Saving::check_period)?;
    recording.saving.zip(recording.from).map_or(Ok(()), |(saving, from)| saving.check_after(from))?;
    let is_in_parts = recording.saving.is_some() || recording.from.is_some();
    if is_in_parts && choice.engine == Engine::RollbackCheck {
        let message =
            format!("the engine `{}` executes a run in one piece, and neither saves nor resumes it", choice.engine);
        return Err(Failure::usage(message, "use another engine: the answer is the same"));
    }
    Ok(())
}

/// Runs the model of a plan, which has been made, on an engine. Otherwise as [`run`].
pub(crate) fn run_made(
    plan: &Plan,
    simulation: &Simulation,
    choice: &Choice,
    recording: Recording<'_>,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, Failure> {
    run_on(ranks::start(plan, choice)?, plan, simulation, choice, recording, observer)
}

/// Runs the model of a plan in this process, or together with other ranks.
#[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
fn run_on(
    others: Option<Others>,
    plan: &Plan,
    simulation: &Simulation,
    choice: &Choice,
    mut recording: Recording<'_>,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, Failure> {
    let machine = Machine::this();
    let begin = Instant::now();
    let memory_limit = plan.memory_limit();
    let command = recording.from.map_or_else(|| plan.command(), |saved| saved.command(plan));
    let room = memory_limit.saturating_sub(simulation.bytes);
    let of_room = |error| Failure::of_run(with_model(error, room, memory_limit), &command);
    simulation.check_room(room).map_err(of_room)?;
    let choice = simulation.resolve(choice);
    simulation.check(&choice, plan.scenario.name).map_err(|refusal| plan.refused(refusal))?;
    let mut notes = simulation.notes.clone();
    notes.extend(recording.from.into_iter().flat_map(|saved| saved.notes.clone()));
    let until = plan.until.unwrap_or(simulation.until);
    let tracing = recording.tracer.take().map(|make| make(simulation, until)).transpose()?;
    let (tracer, captures) = tracing.map(|Tracing { tracer, captures }| (tracer, captures)).unzip();
    let options = RunOptions {
        notes: tracer.is_some(),
        sends: recording.sends,
        samples: recording.samples,
        captures: captures.as_deref().unwrap_or_default(),
        tracer,
        timesheets: recording.timesheets.take(),
        rounds: recording.rounds.take(),
        ..RunOptions::until(until)
    };
    let found = Arc::new(Mutex::new(Found::default()));
    let saver = saver_of(plan, simulation, &choice, &recording, until, &found)?;
    if let Some(saving) = recording.saving {
        notes.extend(saved::check(saving, simulation.why_not_saved().as_deref(), choice.processes)?);
        interrupt::listen_for_saves();
    }
    let told = saver.as_ref().map(Saver::told);
    let options = RunOptions { cuts: saver.map(Saver::into_cuts), ..options };
    let cut = recording.from.filter(|saved| saved.head.replayed.is_none()).map(|saved| saved.cut.as_slice());
    let greet = |others: &Others| others.greet(plan, &choice, simulation, &options, told, cut);
    let fabric = others.as_ref().map(greet).transpose()?;
    observer.begins(&choice, &notes);
    let save_every = recording.saving.and_then(|saving| saving.every);
    let execution =
        Execution { plan, choice: &choice, simulation, memory_limit, room, cut, save_every, found: Some(&found) };
    let Executed { outcome, walls: [setup_wall, run_wall, results_wall], ending } = execution
        .execute(options, fabric, observer, begin)
        .map_err(|error| failure_of(error, &recording, &command, &saved::lock(&found)))?;
    let found = std::mem::take(&mut *saved::lock(&found));
    recording.from.filter(|_| found.differs).map_or(Ok(()), |saved| Err(saved.differs()))?;
    let outcome = outcome.expect("rank 0 has the outcome");
    let others = others.map(Others::finish).transpose()?.unwrap_or_default();
    let ending = others.ending.unwrap_or(ending);
    notes.extend(outcome.metrics.incomplete().map(str::to_owned).into_iter().chain(note_of(&outcome.metrics)));
    let of_end = end_notes(found, &outcome, ending, recording.saving, plan.request.digest);
    observer.says(&of_end);
    notes.extend(of_end);
    notes.extend(idle_threads(&outcome.engine_stats, choice.threads * choice.processes, simulation.lps()));
    Ok(FinishedRun {
        plan: plan.clone(),
        choice,
        outcome,
        events_before: cut.and(recording.from).map_or(0, |saved| saved.head.events),
        lps: simulation.lps(),
        notes,
        machine,
        setup_wall,
        run_wall,
        results_wall,
        peak_rss_bytes: peak_rss_bytes(),
        peak_rss_bytes_of_others: others.peak_rss_bytes,
        ending,
        inputs: inputs_of(recording.from),
        resumed: recording.from.map(Saved::resumed),
        branches: branches_of(recording.from),
    })
}

/// Returns the failure of a run that was saved, or went on from a save. `command` leads to the error again.
fn failure_of(error: Error, recording: &Recording<'_>, command: &str, found: &Found) -> Failure {
    match (error.kind(), recording.from) {
        (ErrorKind::Malformed(what), Some(saved)) => saved.malformed(what),
        _ => {
            let left = recording.saving.and_then(|saving| saving.left(found));
            Failure::of_run(error, command).and(left.as_deref())
        }
    }
}

/// Returns notes on what became of the user's wishes, and on changes of engine, a sentence each.
fn end_notes(
    found: Found,
    outcome: &Outcome,
    ending: Ending,
    saving: Option<&Saving>,
    wants_digest: bool,
) -> Vec<String> {
    let mut notes = notes_on_wishes(found, outcome, ending, saving, wants_digest);
    notes.extend(note_on_changes(&outcome.changes));
    notes
}

fn notes_on_wishes(
    found: Found,
    outcome: &Outcome,
    ending: Ending,
    saving: Option<&Saving>,
    wants_digest: bool,
) -> Vec<String> {
    let Found { mut notes, saved, kept, .. } = found;
    if wants_digest && outcome.digest.is_none() {
        let end = outcome.end;
        notes.push(format!("stopped among the events of {end}: some of them are not executed, so there is no digest"));
    }
    let Some(saving) = saving else { return notes };
    let (file, program) = (quote(&saving.file.display().to_string()), program_name());
    match (kept, saved) {
        (Some((time, why)), Some(saved)) => notes.push(format!(
            "{why} at {time}: the last save before it, at {saved}, is kept; \
             `{program} resume {file} --trace TRACE` shows what follows"
        )),
        (Some((time, why)), None) => notes.push(format!("{why} at {time}, before the run was saved; save it sooner")),
        (None, Some(time)) if ending == Ending::Interrupted => {
            notes.push(format!("saved at {time}: `{program} resume {file}` goes on"));
        }
        (None, Some(_)) => {
            let condition = saving.when.as_ref();
            notes.extend(condition.map(|when| format!("`{when}` was true at no save; {file} has the run at its end")));
        }
        (None, None) if notes.is_empty() => {
            notes.push(format!("the run is not saved: a global event of the model ended it at {}", outcome.end));
        }
        (None, None) => {}
    }
    notes
}

/// A model and the engine on which it is run.
pub(crate) struct Execution<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) choice: &'a Choice,
    pub(crate) simulation: &'a Simulation,
    /// The bytes that the whole run may take.
    pub(crate) memory_limit: u64,
    /// The bytes that the model leaves of them to the engine.
    pub(crate) room: u64,
    /// The bytes of the cut from which the run goes on.
    pub(crate) cut: Option<&'a [u8]>,
    /// The wall time after which the run is saved each time.
    pub(crate) save_every: Option<Duration>,
    /// The findings of the run's cuts. They are told if the memory limit ends the run.
    pub(crate) found: Option<&'a Mutex<Found>>,
}

/// Returns the saver of a run that is saved, or goes on from a file.
fn saver_of<'a>(
    plan: &Plan,
    simulation: &Simulation,
    choice: &Choice,
    recording: &Recording<'a>,
    until: Time,
    found: &Arc<Mutex<Found>>,
) -> Result<Option<Saver<'a>>, Failure> {
    let Recording { saving, outputs, from, .. } = *recording;
    from.map_or(Ok(()), |saved| saved.check(simulation.lps(), until))?;
    if saving.is_none() && from.is_none() {
        return Ok(None);
    }
    let condition = saving.and_then(|saving| saving.when.as_ref());
    let condition = condition.map(|text| Condition::of(text, &simulation.metrics())).transpose()?;
    let saving = saving.map(|saving| {
        let head = Head {
            version: saving.version.to_owned(),
            commit: saving.commit.to_owned(),
            scenario: plan.as_file(Some(until))?,
            time_ps: 0,
            events: 0,
            lps: simulation.lps(),
            digest: plan.request.digest.then_some(0),
            replayed: simulation.why_not_saved(),
            engine: choice.engine.name().to_owned(),
            inputs: inputs_of(from).into_iter().map(RecordedInput::from).collect(),
            branches: branches_of(from),
            ranks: 1,
            ..Head::default()
        };
        Ok::<_, Failure>((saving.clone(), head))
    });
    let (resumed, found) = (from.map(Saved::expected), Arc::clone(found));
    Ok(Some(Saver { saving: saving.transpose()?, outputs, until, resumed, condition, found }))
}

/// Returns the branches that led to a run.
fn branches_of(from: Option<&Saved>) -> Vec<Branched> {
    from.map_or_else(Vec::new, |saved| saved.head.branches.clone())
}

/// Returns the files that a run has read. Of a run that goes on from a save, these are the files that it has
/// read so far and in this process, without the scenario file in the save.
fn inputs_of(from: Option<&Saved>) -> Vec<Seen> {
    let seen = inputs::seen();
    let Some(saved) = from else { return seen };
    let before = saved.head.inputs.iter().cloned().map(Seen::from);
    let by_path = before.chain(seen).map(|seen| (seen.path.clone(), seen));
    let scenario = saved.scenario_file();
    by_path.filter(|(path, _)| *path != scenario).collect::<BTreeMap<_, _>>().into_values().collect()
}

pub(crate) struct Executed {
    /// The outcome; `None` on a rank other than 0.
    outcome: Option<Outcome>,
    /// The wall times of set-up, execution and results.
    walls: [Duration; 3],
    pub(crate) ending: Ending,
}

impl Execution<'_> {
    /// Runs the model, with `options` that say what is recorded and when the run ends. With a fabric, this
    /// process is one of the ranks that the fabric connects.
    #[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
    pub(crate) fn execute(
        self,
        options: RunOptions<'_>,
        fabric: Option<Box<dyn Fabric>>,
        observer: &mut dyn Observer,
        begin: Instant,
    ) -> Result<Executed, Error> {
        let Execution { plan, choice, simulation, memory_limit, room, cut, save_every, found } = self;
        let entered: Arc<[OnceLock<Instant>; 2]> = Arc::default();
        let enters = Arc::clone(&entered);
        let control = Arc::new(Control::with_phases(move |phase| {
            enters[usize::from(phase == Phase::Concluding)].get_or_init(Instant::now);
        }));
        let until = options.until;
        let options = RunOptions {
            seed: plan.seed,
            tie_seed: plan.tie_seed,
            digest: plan.request.digest,
            control: Some(&control),
            memory_limit: Some(room),
            ..options
        };
        let watched = Watched { control: &control, until, memory_limit, save_every, found };
        let rank = fabric.as_ref().map_or(0, |fabric| fabric.rank());
        let (outcome, memory) = std::thread::scope(|scope| {
            let (going_on, over) = channel();
            let observer = &mut *observer;
            // Where the system does not begin the thread, nobody watches.
            let watch = std::thread::Builder::new().spawn_scoped(scope, move || watched.watch(&over, observer)).ok();
            let interruptible = Interruptible::new(&control);
            let outcome = match fabric {
                None => match cut {
                    Some(cut) => simulation.resume(choice, options, cut).map(Some),
                    None => simulation.run(choice, options).map(Some),
                },
                Some(fabric) => simulation.run_rank(choice, options, cut, fabric),
            };
            drop((interruptible, going_on));
            (outcome, watch.and_then(|watch| watch.join().unwrap_or(None)))
        });
        let end = Instant::now();
        observer.ends();
        let executing = entered[0].get().copied().unwrap_or(end);
        let concluding = entered[1].get().copied().unwrap_or(end);
        let walls = [executing - begin, concluding - executing, end - concluding];
        match (outcome, memory) {
            (Err(error), Some(needed)) if *error.kind() == ErrorKind::Stopped => {
                Err(Error::new(ErrorKind::Memory { limit: memory_limit, needed }))
            }
            (outcome, memory) => {
                let outcome = outcome.map_err(|error| with_model(error, room, memory_limit))?;
                let ending = ending(rank, outcome.as_ref(), memory, &control);
                Ok(Executed { outcome, walls, ending })
            }
        }
    }
}

/// Returns the error of a run. If it says that `room`, the memory beside the model, is not enough, it then
/// says so of the whole limit, which the user knows.
fn with_model(error: Error, room: u64, memory_limit: u64) -> Error {
    match *error.kind() {
        ErrorKind::Memory { limit, needed } if limit == room => {
            Error::new(ErrorKind::Memory { limit: memory_limit, needed: needed.saturating_add(memory_limit - room) })
        }
        _ => error,
    }
}

/// Returns how a run ended on a rank. `memory` is what that rank took when it was stopped for that.
fn ending(rank: usize, outcome: Option<&Outcome>, memory: Option<u64>, control: &Control) -> Ending {
    // Another rank than 0 has no outcome. If its memory stopped the run, it says so in any case.
    match (outcome.is_none_or(|outcome| outcome.stopped_at.is_some()), memory) {
        (true, Some(bytes)) => Ending::OutOfMemory { rank, bytes },
        (true, None) if control.is_stopped() => Ending::Interrupted,
        _ => Ending::Complete,
    }
}

/// Returns the note on a run that the model has set: the metric [`NOTE`].
pub fn note_of(metrics: &Metrics) -> Option<String> {
    match metrics.get(NOTE)?.value()? {
        Cell::Text(note) => Some(note.to_string()),
        _ => None,
    }
}

/// Returns a note on the changes of engine that `auto` made, if it made any.
fn note_on_changes(changes: &[EngineChange]) -> Option<String> {
    let then = |EngineChange { time, to, times_as_fast, .. }: &EngineChange| {
        format!(", then {to} at {}: {times_as_fast:.1} times as fast", rounded(*time))
    };
    let engines: String = changes.iter().map(then).collect();
    changes.first().map(|first| format!("engine: auto: {}{engines}", first.from))
}

/// Returns a time with its first three digits.
fn rounded(time: Time) -> Time {
    let unit = 10_u64.pow(time.as_ps().checked_ilog10().unwrap_or(0).saturating_sub(2));
    Time::from_ps((time.as_ps() + unit / 2) / unit * unit)
}

/// Returns a note on threads that had nothing to do, if there were any.
fn idle_threads(stats: &[(&str, f64)], threads: u64, lps: u32) -> Option<String> {
    let stat = |name| stats.iter().find(|(stat, _)| *stat == name).map(|&(_, value)| value);
    let workers = stat("workers")?;
    if threads > 1 && stat("alone_for_stacks").is_some_and(|is_so| is_so > 0.0) {
        return Some(format!(
            "1 of {threads} threads used: under `rounds`, processes on stacks stay on one; `window` uses all threads"
        ));
    }
    if workers < threads as f64 {
        // An engine that needs no lookahead has a worker for each logical process, if there are threads
        // enough.
        let why =
            if workers < f64::from(lps) { "lookahead leaves no more partitions" } else { "there are no more LPs" };
        return Some(format!("{workers} of {threads} threads used: {why} than that"));
    }
    if stat("alone_for_memory").is_some_and(|is_so| is_so > 0.0) {
        return Some(format!("1 of {threads} threads used in the end: the memory limit has no room for history"));
    }
    // The first mode switch leaves one worker, the next brings all of them back.
    let ended_on_one = stat("turns").is_some_and(|turns| turns % 2.0 > 0.5);
    ended_on_one.then(|| {
        format!("1 of {threads} threads used in the end: several had too little to do, or too little of the machine")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_about_the_room_beside_a_model_names_the_limit_that_the_user_knows() {
        let of = |limit| with_model(Error::new(ErrorKind::Memory { limit, needed: 500 }), 90, 100);
        assert_eq!(*of(90).kind(), ErrorKind::Memory { limit: 100, needed: 510 });
        assert_eq!(*of(100).kind(), ErrorKind::Memory { limit: 100, needed: 500 }, "it is about the whole limit");
    }

    #[test]
    fn the_note_on_changes_has_each_engine_with_its_time_and_its_gain() {
        let change = |ms, from, to, times_as_fast| EngineChange { time: Time::from_ms(ms), from, to, times_as_fast };
        let first = change(12_345, "window", "null-message", 1.4321);
        let note = "engine: auto: window, then null-message at 12.3s: 1.4 times as fast";
        assert_eq!(note_on_changes(&[first]).as_deref(), Some(note));
        let both = [first, change(60_000, "null-message", "sequential", 2.0)];
        assert_eq!(note_on_changes(&both), Some(format!("{note}, then sequential at 60s: 2.0 times as fast")));
        assert_eq!(note_on_changes(&[]), None);
    }

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
        assert_eq!(
            idle_threads(&[("workers", 1.0), ("alone_for_stacks", 1.0)], 8, 64).as_deref(),
            Some("1 of 8 threads used: under `rounds`, processes on stacks stay on one; `window` uses all threads")
        );
        let stats = [("workers", 8.0), ("turns", 1.0), ("alone_for_memory", 1.0)];
        assert_eq!(
            idle_threads(&stats, 8, 64).as_deref(),
            Some("1 of 8 threads used in the end: the memory limit has no room for history")
        );
    }
}
