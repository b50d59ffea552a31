//! The processes of a run: starting them, their handshake, and the part of a process that is not rank 0.

mod greeted;
mod identity;

use crate::machine::peak_rss_bytes;
use crate::run::{Ending, Execution};
use crate::{Failure, Plan, Request};
use greeted::Greeted;
use identity::Identity;
use parades_catalog::{Choice, Simulation};
use parades_config::inputs::{self, Input};
use parades_core::event::LpId;
use parades_core::run::RunOptions;
use parades_core::time::Time;
use parades_processes::{Crew, Joined, Report, is_rank, join};
use parades_transport::{Fabric, SharedMemory};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// The hidden argument with which a program starts itself as a rank.
pub const RANK_COMMAND: &str = "rank";

/// The part of the memory limit that payloads may take in shared memory: one half. Further payloads are copied.
const ARENA_SHARE: u64 = 2;
/// The least and the greatest size of an arena, in bytes. Memory is taken only as payloads need it.
const ARENA_MIN: usize = 1 << 20;
const ARENA_MAX: usize = 64 << 30;

/// The order of rank 0 to the processes that it starts.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    request: Request,
    /// The files that rank 0 has read, if it holds them.
    inputs: Vec<Input>,
}

/// What rank 0 decides for all ranks, once the model is made.
#[derive(Debug, Serialize, Deserialize)]
struct Go {
    until: Time,
    notes: bool,
    sends: bool,
    captures: Vec<LpId>,
}

/// Starts the other processes of a run, if it has several.
pub(crate) fn start(plan: &Plan, choice: &Choice) -> Result<Option<Crew>, Failure> {
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
    let cannot = |error: std::io::Error| {
        Failure::simulation(format!(
            "{} processes cannot be started: {error}; make room for them, or use fewer",
            choice.processes
        ))
    };
    let program = std::env::current_exe().map_err(cannot)?;
    let command = || {
        let mut command = Command::new(&program);
        command.arg(RANK_COMMAND);
        command
    };
    let mut request = plan.request.clone();
    (request.threads, request.processes) = (Some(choice.threads), Some(choice.processes));
    let order = json!(Order { request, inputs: inputs::held() });
    let ranks = usize::try_from(choice.processes).unwrap_or(usize::MAX);
    let arena_bytes =
        usize::try_from(plan.memory_limit() / ARENA_SHARE).unwrap_or(usize::MAX).clamp(ARENA_MIN, ARENA_MAX);
    Crew::start((ranks, arena_bytes), &command, &order).map(Some).map_err(cannot)
}

/// Greets all other ranks as rank 0: checks that they run the same, and tells them what is recorded.
pub(crate) fn lead(
    fabric: Arc<SharedMemory>,
    run: (&Plan, &Choice, &Simulation),
    options: &RunOptions<'_>,
) -> Result<Box<dyn Fabric>, Failure> {
    if !run.2.is_distributed() {
        let message = format!("the messages of `{}` cannot cross processes", run.0.scenario.name);
        return Err(Failure::usage(message, "use one process"));
    }
    let go =
        Go { until: options.until, notes: options.notes, sends: options.sends, captures: options.captures.to_vec() };
    Greeted::as_first(Box::new(fabric), &Identity::of(run.0, run.1, run.2), &go).map(boxed)
}

fn boxed(greeted: Greeted) -> Box<dyn Fabric> {
    Box::new(greeted)
}

/// Waits for the end of the other processes. Returns the most memory that each of them has held.
///
/// # Errors
///
/// If one of them was stopped for a reason that only it knows, such as its memory.
pub(crate) fn finish(crew: Crew) -> Result<Vec<u64>, Failure> {
    let reports = crew.finish();
    for (worker, report) in (1..).zip(&reports) {
        if let Some(Report { error: Some(error), .. }) = report {
            return Err(Failure::simulation(format!("worker {worker} failed: {error}")));
        }
    }
    Ok(reports.into_iter().map(|report| report.map_or(0, |report| report.peak_rss_bytes)).collect())
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
    let result = run_joined(&joined);
    let error = result.as_ref().err().map(ToString::to_string);
    joined.report(&Report { error, peak_rss_bytes: peak_rss_bytes() }).map_err(lost)?;
    result
}

fn run_joined(joined: &Joined) -> Result<(), Failure> {
    let order: Order = serde_json::from_value(joined.order.clone())
        .map_err(|error| Failure::simulation(format!("rank 0 gave an order that cannot be read: {error}")))?;
    if !order.inputs.is_empty() {
        inputs::hold(order.inputs);
    }
    follow(&order.request, Box::new(Arc::clone(&joined.fabric)))
}

/// Runs the part of a rank other than 0.
#[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
fn follow(request: &Request, fabric: Box<dyn Fabric>) -> Result<(), Failure> {
    let begin = Instant::now();
    let plan = Plan::of(request)?;
    let choice = plan.choice()?;
    let simulation = plan.simulation()?;
    let choice = simulation.resolve(&choice);
    let (fabric, go) = Greeted::as_other(fabric, &Identity::of(&plan, &choice, &simulation))?;
    let options =
        RunOptions { notes: go.notes, sends: go.sends, captures: &go.captures, ..RunOptions::until(go.until) };
    let memory_limit = plan.memory_limit();
    let room = memory_limit.saturating_sub(simulation.bytes);
    let execution = Execution { plan: &plan, choice: &choice, simulation: &simulation, memory_limit, room };
    let executed = execution.execute(options, Some(Box::new(fabric)), &mut (), begin);
    match executed.map_err(|error| Failure::of_run(error, &plan.command()))?.ending {
        Ending::OutOfMemory(bytes) => Err(Failure::simulation(format!(
            "it took {bytes} bytes of memory, above the limit; raise the memory limit, or use more processes"
        ))),
        Ending::Complete | Ending::Interrupted => Ok(()),
    }
}
