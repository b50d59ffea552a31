//! `parades run`: one simulation, from arguments to results.

use crate::arguments::{HowArguments, RunArguments};
use crate::engines::Choice;
use crate::failure::{Failure, STOPPED};
use crate::machine::{Machine, peak_rss_bytes};
use crate::plan::{Plan, quote};
use crate::watch::{Watched, Watchman};
use crate::{interrupt, print, report};
use parades_core::error::{Error, ErrorKind};
use parades_core::event::LpId;
use parades_core::restore::Restorable;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::trace::{TraceFilter, Tracer};
use parades_scenarios::{Prepared, Visitor};
use std::fmt::Debug;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::Path;
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
}

/// What a run is watched for.
#[derive(Debug, Default)]
pub(crate) struct Watch<'a> {
    /// Where the trace goes.
    pub(crate) tracer: Option<Tracer<'a>>,
    /// Whether progress is drawn.
    pub(crate) progress: bool,
}

pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let plan = Plan::of(&arguments.scenario)?;
    let choice = plan.engine(arguments.engine.as_deref(), &arguments.how)?;
    let filter = TraceFilter {
        lps: arguments.trace_lps.as_deref().map_or(Ok(Vec::new()), trace_lps)?,
        from: arguments.trace_from.unwrap_or(Time::ZERO),
        before: arguments.trace_before.unwrap_or(Time::MAX),
    };
    let out = arguments.out.as_deref();
    out.map_or(Ok(()), report::make_folder)?;
    let mut trace = arguments.trace.as_deref().map(create).transpose()?;
    let tracer = trace.as_mut().map(|file| Tracer::new(filter, |line| writeln!(file, "{line}")));
    if let Some(why) = choice.why.filter(|_| !arguments.how.quiet) {
        eprintln!("engine: {} (auto: {why})", choice.engine.name);
    }
    let reproduce = plan.command(&arguments.scenario, choice.engine.name);
    let watch = Watch { tracer, progress: !arguments.how.quiet };
    let executed = execute(plan, choice, &arguments.how, watch)?;
    if executed.as_ref().is_err_and(|error| *error.kind() == ErrorKind::Stopped) {
        return Ok(ExitCode::from(STOPPED));
    }
    let done = executed.map_err(|error| Failure::of_run(&error, &reproduce))?;
    if let (Some(mut file), Some(path)) = (trace, arguments.trace.as_deref()) {
        file.flush().map_err(|error| cannot_write(path, &error))?;
    }
    out.map_or(Ok(()), |folder| report::write_folder(folder, &done))?;
    print(&if arguments.how.json { report::json_line(&done) } else { report::for_people(&done) })?;
    match done.too_much_memory {
        Some(bytes) if done.outcome.stopped_at.is_some() => Err(Failure::simulation(format!(
            "the run was stopped at {}, because it took {bytes} bytes of memory, above the limit; its results so far stand above; \
             raise the memory limit, or simulate less at a time",
            done.outcome.end
        ))),
        _ if done.outcome.stopped_at.is_some() && interrupt::happened() => Ok(ExitCode::from(STOPPED)),
        _ => Ok(ExitCode::SUCCESS),
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
    let visitor = Execute { plan: &plan, choice: &choice, how, watch, machine: &machine, begin };
    let executed = plan.scenario.accept(&plan.values, plan.seed, visitor)?;
    Ok(executed.map(|Executed { outcome, lps, notes, setup, run, memory }| Done {
        too_much_memory: memory,
        command: std::env::args().map(|word| quote(&word)).collect::<Vec<_>>().join(" "),
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

/// Runs whatever model a scenario makes.
struct Execute<'a> {
    plan: &'a Plan,
    choice: &'a Choice,
    how: &'a HowArguments,
    watch: Watch<'a>,
    machine: &'a Machine,
    begin: Instant,
}

struct Executed {
    outcome: Outcome,
    lps: u32,
    notes: Vec<String>,
    setup: Duration,
    run: Duration,
    memory: Option<u64>,
}

impl Visitor for Execute<'_> {
    type Output = Result<Executed, Error>;

    #[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
    fn visit<M>(self, Prepared { model, until, notes }: Prepared<M>) -> Result<Executed, Error>
    where
        M: Restorable<State: Clone + PartialEq + Debug>,
    {
        let Execute { plan, choice, how, watch, machine, begin } = self;
        if !how.quiet {
            notes.iter().for_each(|note| eprintln!("note: {note}"));
        }
        let control = Arc::new(Control::default());
        let until = plan.until.unwrap_or(until);
        // Where the machine does not tell its memory, there is no bound but the user's.
        let of_machine = Some(machine.memory_bytes / 4 * 3).filter(|&limit| limit > 0);
        let memory_limit = how.memory_limit.or(of_machine).unwrap_or(u64::MAX);
        let options = RunOptions {
            seed: plan.seed,
            tie_seed: plan.tie_seed,
            digest: !how.no_digest,
            notes: watch.tracer.is_some(),
            tracer: watch.tracer,
            control: Some(&control),
            memory_limit: Some(memory_limit),
            ..RunOptions::until(until)
        };
        let watchman = Watchman::of(&control, Watched { until, progress: watch.progress, memory_limit });
        interrupt::stops(&control);
        let (setup, start) = (begin.elapsed(), Instant::now());
        let outcome = choice.run(&model, options);
        let run = start.elapsed();
        interrupt::release();
        let memory = watchman.dismiss();
        match (outcome, memory) {
            (Err(error), Some(needed)) if *error.kind() == ErrorKind::Stopped => {
                Err(Error::new(ErrorKind::Memory { limit: memory_limit, needed }))
            }
            (outcome, memory) => Ok(Executed { outcome: outcome?, lps: model.lps(), notes, setup, run, memory }),
        }
    }
}

/// The LPs of `3`, `10..=20` and lists of such.
fn trace_lps(text: &str) -> Result<Vec<RangeInclusive<u32>>, Failure> {
    let range = |part: &str| {
        let lp = |text: &str| text.trim().parse::<u32>().ok().filter(|&id| id < u32::MAX);
        let (first, last) = part.split_once("..=").unwrap_or((part, part));
        let range = lp(first)?..=lp(last)?;
        (!range.is_empty()).then_some(range)
    };
    text.split(',').map(range).collect::<Option<_>>().ok_or_else(|| {
        let message = format!("`--trace-lps {text}` names no LPs ({} and so on)", LpId(0));
        Failure::usage(message, "write `3`, `10..=20`, or several of them with commas")
    })
}

/// Makes a file for writing.
fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    File::create(path).map(BufWriter::new).map_err(|error| cannot_write(path, &error))
}

/// That a file cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or(&text);
    Failure::usage(format!("{} cannot be written: {reason}", path.display()), "name a place where files can be written")
}
