//! The ranks of a run: starting or finding them, their handshake, and the part of a rank other than 0.
//!
//! Rank 0 has an order for the others. It starts them as processes of this machine, or a launcher has
//! started them ([`launched`]). They are the same to the run: a [`Fabric`] connects them.

mod handshake;
mod identity;
pub mod launched;
mod talk;

use crate::failure::STOPPED;
use crate::machine::peak_rss_bytes;
use crate::run::{Ending, Execution};
use crate::saved::Told;
use crate::{Failure, Plan, Request, interrupt, itself};
use identity::Identity;
use parades_catalog::{Choice, Simulation};
use parades_config::inputs::{self, Input};
use parades_core::event::LpId;
use parades_core::run::RunOptions;
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_processes::{Crew, Joined, Report, is_rank, join};
use parades_transport::Fabric;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
use talk::Talk;

/// The hidden argument with which a program starts itself as a rank.
pub const RANK_COMMAND: &str = "rank";

/// The part of the memory limit that payloads may take in shared memory: one half. Further payloads are
/// copied.
const ARENA_SHARE: u64 = 2;
/// The least and the greatest size of an arena, in bytes. Memory is taken only as payloads need it.
const ARENA_MIN: usize = 1 << 20;
const ARENA_MAX: usize = 64 << 30;

/// The order of rank 0 to the other ranks.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    request: Request,
    /// The files that rank 0 has read, if it holds them.
    inputs: Vec<Input>,
}

/// The options that rank 0 chooses for all ranks, once the model is made.
#[derive(Debug, Serialize, Deserialize)]
struct Go {
    until: Time,
    /// The number of bytes of the cut from which the run goes on; 0 if it starts. The bytes follow.
    cut_bytes: usize,
    notes: bool,
    sends: bool,
    samples: bool,
    /// True if workers record what they spend their time on.
    timesheets: bool,
    /// True if they also measure handlers.
    handlers: bool,
    captures: Vec<LpId>,
    /// The cuts of the run, if it is saved or goes on from a file.
    cuts: Option<Told>,
}

/// The other ranks of a run, as rank 0 sees them.
#[derive(Debug)]
pub(crate) enum Others {
    /// Processes that rank 0 has started.
    Started(Crew),
    /// Ranks that a launcher has started.
    Launched(launched::Run),
}

/// Starts the other ranks of a run, if it has several; or finds them, if a launcher has started them.
pub(crate) fn start(plan: &Plan, choice: &Choice) -> Result<Option<Others>, Failure> {
    if choice.processes < 2 {
        return Ok(None);
    }
    if is_rank() {
        // A program that runs this without serving as a rank would start itself for ever.
        return Err(Failure::usage(
            "a process of a run cannot start processes itself",
            "call `parades_session::ranks::serve` at the start of the program",
        ));
    }
    let mut request = plan.request.clone();
    (request.threads, request.processes) = (Some(choice.threads), Some(choice.processes));
    let order = Order { request, inputs: inputs::held() };
    if let Some(run) = launched::Run::begin(&order) {
        return Ok(Some(Others::Launched(run)));
    }
    let cannot = |error: std::io::Error| {
        Failure::simulation(format!(
            "{} processes cannot be started: {error}; make room for them, or use fewer",
            choice.processes
        ))
    };
    itself::command().map_err(cannot)?;
    let command = || {
        let mut command = itself::command().expect("it was made above");
        command.arg(RANK_COMMAND);
        command
    };
    let ranks = usize::try_from(choice.processes).unwrap_or(usize::MAX);
    let arena_bytes =
        usize::try_from(plan.memory_limit() / ARENA_SHARE).unwrap_or(usize::MAX).clamp(ARENA_MIN, ARENA_MAX);
    Crew::start((ranks, arena_bytes), &command, &json!(order)).map(|crew| Some(Others::Started(crew))).map_err(cannot)
}

impl Others {
    /// Greets the other ranks: checks that they run the same, and tells them what is recorded. Returns the
    /// fabric of the run.
    pub(crate) fn greet(
        &self,
        plan: &Plan,
        choice: &Choice,
        simulation: &Simulation,
        options: &RunOptions<'_>,
        cuts: Option<Told>,
        cut: Option<&[u8]>,
    ) -> Result<Box<dyn Fabric>, Failure> {
        let RunOptions { until, notes, sends, samples, captures, .. } = *options;
        let (timesheets, captures) = (options.timesheets.is_some(), captures.to_vec());
        let handlers = options.timesheets.as_ref().is_some_and(|sheets| sheets.handlers().is_some());
        let cut_bytes = cut.map_or(0, <[u8]>::len);
        let go = Go { until, cut_bytes, notes, sends, samples, timesheets, handlers, captures, cuts };
        let talk = match self {
            Others::Started(crew) => Arc::new(Talk::new(Box::new(crew.fabric()))),
            Others::Launched(run) => run.talk(),
        };
        handshake::lead(&talk, &Identity::of(plan, choice, simulation), &go)?;
        if let Some(cut) = cut {
            talk.others().for_each(|rank| talk.tell_bytes(rank, cut));
        }
        Ok(Box::new(talk))
    }

    /// Waits for the end of the other ranks.
    ///
    /// # Errors
    ///
    /// If one of them failed for a reason that only it knows.
    pub(crate) fn finish(self) -> Result<Ended, Failure> {
        let reports = match self {
            Others::Started(crew) => crew.finish(),
            Others::Launched(run) => run.finish()?.into_iter().map(Some).collect(),
        };
        let mut ended = Ended::default();
        for (rank, report) in (1..).zip(reports) {
            let report = report.unwrap_or_default();
            if let Some(error) = report.error {
                return Err(Failure::simulation(format!("worker {rank} failed: {error}")));
            }
            ended.peak_rss_bytes.push(report.peak_rss_bytes);
            let too_much = report.too_much_memory.map(|bytes| Ending::OutOfMemory { rank, bytes });
            ended.ending = too_much.or(ended.ending).or(report.is_interrupted.then_some(Ending::Interrupted));
        }
        Ok(ended)
    }
}

/// The end of the other ranks.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// The most memory that each of them has held, in bytes, in rank order.
    pub(crate) peak_rss_bytes: Vec<u64>,
    /// How the run ended, if one of them ended it: it took too much memory, or a signal stopped it.
    pub(crate) ending: Option<Ending>,
}

/// Serves as one of the processes that another process has started for its run. A program whose runs may have
/// several processes calls this first thing if its first argument is [`RANK_COMMAND`].
///
/// # Errors
///
/// The error that ends the run on this rank. Rank 0 has it too.
pub fn serve() -> Result<(), Failure> {
    let lost = |error: std::io::Error| Failure::simulation(format!("rank 0 cannot be reached: {error}"));
    if !is_rank() {
        return Err(Failure::usage("only a run of several processes starts this", "use `--processes N`"));
    }
    let joined = join().map_err(lost)?;
    // Before the run begins, and once it is over, a signal ends this process as it always does.
    interrupt::listen(|_| std::process::exit(i32::from(STOPPED)));
    let result = run_joined(&joined);
    joined.report(&report_of(&result)).map_err(lost)?;
    result.map(drop)
}

/// Runs the part of a process that rank 0 has started. Returns as [`follow`].
fn run_joined(joined: &Joined) -> Result<Ending, Failure> {
    let order: Order = serde_json::from_value(joined.order.clone())
        .map_err(|error| Failure::simulation(format!("rank 0 gave an order that cannot be read: {error}")))?;
    follow(order, &Arc::new(Talk::new(Box::new(Arc::clone(&joined.fabric)))))
}

/// Returns the last words of a rank other than 0.
fn report_of(result: &Result<Ending, Failure>) -> Report {
    Report {
        error: result.as_ref().err().map(ToString::to_string),
        peak_rss_bytes: peak_rss_bytes(),
        too_much_memory: match result {
            Ok(Ending::OutOfMemory { bytes, .. }) => Some(*bytes),
            _ => None,
        },
        is_interrupted: matches!(result, Ok(Ending::Interrupted)),
    }
}

/// Runs the part of a rank other than 0. Returns how this rank ended the run, if it did.
#[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
fn follow(Order { request, inputs }: Order, talk: &Arc<Talk>) -> Result<Ending, Failure> {
    let begin = Instant::now();
    if !inputs.is_empty() {
        inputs::hold(inputs);
    }
    let plan = Plan::of(&request)?;
    let choice = plan.choice()?;
    let simulation = plan.simulation()?;
    let choice = simulation.resolve(&choice);
    let go = handshake::follow(talk, &Identity::of(&plan, &choice, &simulation))?;
    let cut = if go.cut_bytes > 0 { Some(talk.hear_bytes(0, go.cut_bytes)?) } else { None };
    let workers = usize::try_from(choice.threads).unwrap_or(1);
    let sheets = Timesheets::new(workers);
    let sheets = if go.handlers { sheets.with_handlers() } else { sheets };
    let timesheets = go.timesheets.then(|| Arc::new(sheets));
    if go.cuts.as_ref().is_some_and(Told::saves) {
        interrupt::listen_for_saves();
    }
    let Go { notes, sends, samples, captures, until, cuts, .. } = go;
    let (captures, cuts) = (captures.as_slice(), cuts.map(Told::into_cuts));
    let options = RunOptions { notes, sends, samples, captures, timesheets, cuts, ..RunOptions::until(until) };
    let memory_limit = plan.memory_limit();
    let room = memory_limit.saturating_sub(simulation.bytes);
    let execution = Execution {
        plan: &plan,
        choice: &choice,
        simulation: &simulation,
        memory_limit,
        room,
        cut: cut.as_deref(),
        found: None,
        save_every: None,
    };
    let executed = execution.execute(options, Some(Box::new(Arc::clone(talk))), &mut (), begin);
    executed.map(|executed| executed.ending).map_err(|error| Failure::of_run(error, &plan.command()))
}
