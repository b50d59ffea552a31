//! Programs whose processes have stacks, on engines with any number of threads.
//!
//! A token ring, a master with workers, and Chord, on each kind of stack that stays on its thread
//! ([`Stack::SLAB`], [`Stack::UCONTEXT`]). All give the answer of `sequential`.

mod programs;

use crate::compare::{Answer, Question, ask, compare, expected};
use crate::report::Report;
use parades_core::error::Error;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_engine::retreat::Retreats;
use parades_engine::{null_message, rounds, window};
use parades_program::{Processes, Stack};
use programs::{Kind, Work};

/// The virtual end time of a run.
const UNTIL: Time = Time::from_ms(400);
/// The numbers of threads.
const THREADS: [usize; 4] = [1, 2, 3, 8];
/// The numbers of nodes, one for each seed in turn.
const NODES: [u32; 3] = [12, 33, 64];
/// The bytes of a stack.
const STACK_BYTES: usize = 64 << 10;

/// The engines that run such programs on several threads.
const ENGINES: [(&str, Run); 3] = [("window", on_window), ("null-message", on_null_message), ("rounds", on_rounds)];

/// Runs a model on an engine with a number of threads.
type Run = fn(&Processes<Work>, RunOptions<'_>, usize) -> Result<Outcome, Error>;

fn on_window(model: &Processes<Work>, options: RunOptions<'_>, threads: usize) -> Result<Outcome, Error> {
    let settings = window::Settings { retreats: Retreats::Never, ..window::Settings::of_threads(threads) };
    window::run(model, options, &settings)
}

fn on_null_message(model: &Processes<Work>, options: RunOptions<'_>, threads: usize) -> Result<Outcome, Error> {
    let settings = null_message::Settings { retreats: Retreats::Never, ..null_message::Settings::of_threads(threads) };
    null_message::run(model, options, &settings)
}

fn on_rounds(model: &Processes<Work>, options: RunOptions<'_>, threads: usize) -> Result<Outcome, Error> {
    rounds::run(model, options, &rounds::Settings::of_threads(threads))
}

/// Returns the kinds of stacks of this system that stay on their threads.
fn stacks() -> Vec<(&'static str, Stack)> {
    let mut stacks = Vec::new();
    if cfg!(target_os = "linux") {
        stacks.push(("slab", Stack::SLAB.with_bytes(STACK_BYTES)));
    }
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        stacks.push(("ucontext", Stack::UCONTEXT.with_bytes(STACK_BYTES)));
    }
    stacks
}

/// A program, and the engines' threads on which it is run.
#[derive(Clone, Copy)]
struct Case<'a> {
    kind: Kind,
    nodes: u32,
    question: Question,
    threads: &'a [usize],
    /// The stacks of the processes in the run of `sequential` that defines the answer.
    reference: Stack,
    /// The arguments that run the case again.
    replay: &'a str,
}

/// Runs each program with these seeds, on every engine, number of threads and kind of stack. The answer is
/// that of processes with threads of their own.
pub fn check_stacks(seeds: impl IntoIterator<Item = u64>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        let nodes = NODES[usize::try_from(seed).unwrap_or(0) % NODES.len()];
        let question = Question { until: UNTIL, seed, tie_seed: None, traced: false };
        let (threads, reference, replay) = (&THREADS, Stack::THREAD, &format!("stacks 1 --from {seed}"));
        for kind in Kind::ALL {
            check_case(Case { kind, nodes, question, threads, reference, replay }, &mut report);
        }
    }
    report
}

/// Runs a token ring of this many nodes, each with a process on a stack, on one thread and on two. The answer
/// is that of stacks of a slab, since the system has no thread for each node.
pub fn check_stacks_at_once(nodes: u32) -> Report {
    let mut report = Report::default();
    let question = Question { until: Time::from_ms(60), seed: 1, tie_seed: None, traced: false };
    let (threads, replay) = (&[1, 2], &format!("stacks-at-once {nodes}"));
    let reference = Stack::SLAB.with_bytes(STACK_BYTES);
    check_case(Case { kind: Kind::TokenRing, nodes, question, threads, reference, replay }, &mut report);
    report
}

fn check_case(case: Case<'_>, report: &mut Report) {
    let Case { kind, nodes, question, .. } = case;
    let model = |stack| Processes::new(Work::new(kind, nodes, stack));
    let wanted = expected(&model(case.reference), question);
    report.count_model(&wanted);
    for (stack_name, stack) in stacks() {
        let mut check = |engine: &str, threads: usize, found: &Answer| {
            report.add(found);
            let run = format!("{kind:?} of {nodes} nodes on {stack_name}, {engine} on {threads} threads");
            if let Err(what) = compare(&wanted, found) {
                report.difference(format!("{run}: {what}"), case.replay);
            }
            // Under `rounds` such programs run on one thread.
            if engine != "rounds" && threads > 1 && found.find_stat("workers").is_some_and(|workers| workers < 2) {
                report.gaps.push(format!("{run} had one worker"));
            }
        };
        check("sequential", 1, &expected(&model(stack), question));
        for (engine, run) in ENGINES {
            for &threads in case.threads {
                check(engine, threads, &ask(question, |options| run(&model(stack), options, threads)));
            }
        }
    }
}
