//! `parades diff`: the first event, of the first LP, at which two runs part.
//!
//! Both are run again side by side, each writing its trace line by line; the lines are compared as they come, so memory stays bounded
//! whatever the length.

use crate::arguments::{Arguments, Command, DiffArguments, RunArguments};
use crate::failure::Failure;
use crate::plan::Plan;
use crate::run::{Watch, execute};
use crate::{print, report};
use clap::Parser;
use parades_core::trace::{TraceFilter, Tracer};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Lines that one run may be ahead of the other.
const LINES_AHEAD: usize = 4096;

/// What a run says of itself as it goes.
enum Said {
    /// An executed event.
    Line(String),
    /// It is over: its digest, or why there is none.
    End(Box<Result<Option<u64>, Failure>>),
}

pub(crate) fn diff(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let runs = arguments.runs.iter().map(|run| options_of(run)).collect::<Result<Vec<_>, _>>()?;
    let [a, b] = runs.as_slice() else { unreachable!("the grammar asks for two runs") };
    std::thread::scope(|scope| {
        let start = |run: &'_ Asked| {
            let run = run.clone();
            let (said, heard) = sync_channel(LINES_AHEAD);
            scope.spawn(move || {
                let end = tell(&run, &said);
                // The listener is gone once the runs have parted: then nobody waits for the end.
                let _ = said.send(Said::End(Box::new(end)));
            });
            heard
        };
        listen(arguments, &start(a), &start(b))
    })
}

/// Compares what the two say. Dropping the receivers ends runs that have parted.
fn listen(arguments: &DiffArguments, a: &Receiver<Said>, b: &Receiver<Said>) -> Result<ExitCode, Failure> {
    let names = &arguments.runs;
    let hear = |run: &Receiver<Said>| {
        run.recv().map_err(|_| Failure::simulation("a run ended without a word; run it by itself to see why"))
    };
    let mut events: u64 = 0;
    loop {
        let (line_a, line_b) = match (hear(a)?, hear(b)?) {
            (Said::Line(a), Said::Line(b)) if a == b => {
                events += u64::from(!a.starts_with(' '));
                continue;
            }
            (Said::Line(a), Said::Line(b)) => (a, b),
            // What the longer run still has to say counts only if it ended as it should.
            (Said::Line(line), Said::End(end)) => (line, end.map(|_| "(no more events)".to_owned())?),
            (Said::End(end), Said::Line(line)) => (end.map(|_| "(no more events)".to_owned())?, line),
            (Said::End(a), Said::End(b)) => {
                let (a, b) = ((*a)?, (*b)?);
                if a == b {
                    return print(&format!("the runs are the same: {events} events\n"));
                }
                print(&format!("the runs execute the same {events} events, but end in different states\n"))?;
                return Ok(ExitCode::from(1));
            }
        };
        print(&format!(
            "the runs are the same for {events} events, then part:\n  {}: {line_a}\n  {}: {line_b}\n",
            names[0], names[1]
        ))?;
        return Ok(ExitCode::from(1));
    }
}

/// A run to be compared, and the digest that its folder says it had.
#[derive(Clone, Debug)]
struct Asked {
    name: String,
    arguments: RunArguments,
    recorded: Option<String>,
}

/// Executes a run, sending each line of its trace.
fn tell(Asked { name, arguments, recorded }: &Asked, said: &SyncSender<Said>) -> Result<Option<u64>, Failure> {
    let plan = Plan::of(&arguments.scenario)?;
    let choice = plan.engine(arguments.engine.as_deref(), &arguments.how)?;
    let command = plan.command(&arguments.scenario, &arguments.how, choice.engine.name);
    let send =
        |line: &str| said.send(Said::Line(line.to_owned())).map_err(|_| io::Error::other("the runs have parted"));
    let watch = Watch { tracer: Some(Tracer::new(TraceFilter::default(), send)), progress: false };
    let done = execute(plan, choice, &arguments.how, watch)?.map_err(|error| Failure::of_run(&error, &command))?;
    if done.stopped_by_hand()? {
        return Err(Failure::Stopped("a comparison needs whole runs, so there is no result"));
    }
    let digest = done.outcome.digest.map(|digest| format!("{digest:016x}"));
    match recorded {
        Some(recorded) if digest.as_ref() != Some(recorded) => Err(Failure::simulation(format!(
            "`{name}` recorded the digest {recorded}, but its run comes to {} here; it was altered, or written by another version",
            digest.unwrap_or_default()
        ))),
        _ => Ok(done.outcome.digest),
    }
}

/// The options of a run, given as such or by a folder that `run --out` wrote.
fn options_of(run: &str) -> Result<Asked, Failure> {
    let (words, recorded) =
        if Path::new(run).is_dir() { report::command_of(Path::new(run))? } else { (words_of(run), None) };
    let command = ["parades".to_owned(), "run".to_owned()];
    let words = words.strip_prefix(&command).unwrap_or(&words).to_vec();
    let wrong = |what: &str| {
        Failure::usage(
            format!("`{run}`: {what}"),
            "give a folder that `run --out` wrote, or the options of a run in quotes",
        )
    };
    match Arguments::try_parse_from(command.into_iter().chain(words)) {
        Ok(Arguments { command: Command::Run(arguments) }) => {
            let how = &arguments.how;
            if arguments.out.is_some() || arguments.trace.is_some() || how.json || how.no_digest {
                return Err(wrong("`--out`, `--trace`, `--json` and `--no-digest` have no meaning here"));
            }
            Ok(Asked { name: run.to_owned(), arguments, recorded })
        }
        Ok(_) => unreachable!("the command is `run`"),
        Err(error) => {
            let text = error.to_string();
            Err(wrong(text.lines().next().unwrap_or_default().trim_start_matches("error: ")))
        }
    }
}

/// Words separated by blanks, where single quotes hold blanks together.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted) = (None::<String>, false);
    for c in text.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
