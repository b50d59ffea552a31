//! `parades diff`: the first event, of the first LP, at which two runs part.
//!
//! Two folders that have traces of all events, or of events chosen alike, are compared file by file. Otherwise both are run again side by side, each writing
//! its trace line by line; the lines are compared as they come, so memory stays bounded whatever the length. Where folders cannot be had again by
//! running, because another version wrote them, what differs in their files is told.

use crate::arguments::{Arguments, Command, DiffArguments, RunArguments};
use crate::plan::Plan;
use crate::run::{Watch, execute};
use crate::{print, report};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use parades_core::trace::{TraceFilter, Tracer};
use parades_inspect::recorded::{Difference, Recorded, Traces};
use parades_session::Failure;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Lines that one run may be ahead of the other.
const LINES_AHEAD: usize = 4096;
/// Events between two looks at the progress line.
const EVENTS_PER_LOOK: u64 = 1 << 14;

/// What a run says of itself as it goes.
enum Said {
    /// An executed event.
    Line(String),
    /// It is over: its digest, or why there is none.
    End(Box<Result<Option<u64>, Failure>>),
}

pub(crate) fn diff(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let folders = arguments.runs.iter().map(|run| folder_of(run)).collect::<Result<Vec<_>, _>>()?;
    let [name_a, name_b] = arguments.runs.as_slice() else { unreachable!("the grammar asks for two runs") };
    let names = [name_a.as_str(), name_b.as_str()];
    let both = match folders.as_slice() {
        [Some(a), Some(b)] => Some([a, b]),
        _ => None,
    };
    if let Some([a, b]) = both
        && a.have_like_traces(b)
    {
        return of_traces(names, [a, b]);
    }
    let again = || run_again(arguments);
    match both {
        // What their files say is so whatever comes of running them again.
        Some(both) => match again() {
            Err(Failure::Simulation(why)) => of_files(names, both, &why),
            Ok(code) if code == ExitCode::from(1) => tell_difference(names, both).map(|()| code),
            found => found,
        },
        None => again(),
    }
}

/// Compares the traces in two folders.
fn of_traces(names: [&str; 2], [a, b]: [&Recorded; 2]) -> Result<ExitCode, Failure> {
    let bar = bar("{wide_bar} {percent:>3}%  {eta} left", 100);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
    let found = a.compare_traces(b, |share| bar.set_position((share * 100.0) as u64)).map_err(broken)?;
    bar.finish_and_clear();
    match found {
        Traces::Same(events) => match a.difference(b).map_err(broken)? {
            None => print(&format!("the runs are the same: {events} events in their traces\n")),
            Some(found) => {
                print(&format!("the traces are the same: {events} events\n"))?;
                print(&sentence(names, &found)).map(|_| ExitCode::from(1))
            }
        },
        Traces::Part(events, lines) => {
            let [a_line, b_line] = lines.map(|line| line.unwrap_or_else(|| "(no more events)".to_owned()));
            print(&parted(events, [(names[0], &a_line), (names[1], &b_line)]))?;
            tell_difference(names, [a, b]).map(|()| ExitCode::from(1))
        }
    }
}

/// Compares what is in two folders whose runs could not be had again.
fn of_files(names: [&str; 2], [a, b]: [&Recorded; 2], why: &str) -> Result<ExitCode, Failure> {
    match a.difference(b).map_err(broken)? {
        Some(found) => print(&sentence(names, &found)).map(|_| ExitCode::from(1)),
        None => Err(Failure::simulation(format!("the files of both are the same, but: {why}"))),
    }
}

/// Tells what differs first in the files of two runs that part.
fn tell_difference(names: [&str; 2], [a, b]: [&Recorded; 2]) -> Result<(), Failure> {
    match a.difference(b).map_err(broken)? {
        Some(found) => print(&sentence(names, &found)).map(|_| ()),
        None => Ok(()),
    }
}

fn sentence(names: [&str; 2], Difference { what, values: [a, b] }: &Difference) -> String {
    format!("the first difference in their results is `{what}`:\n  {}: {a}\n  {}: {b}\n", names[0], names[1])
}

fn parted(events: u64, [(a, a_line), (b, b_line)]: [(&str, &str); 2]) -> String {
    format!("the runs are the same for {events} events, then part:\n  {a}: {a_line}\n  {b}: {b_line}\n")
}

/// A folder that `run --out` wrote; nothing where options are given.
fn folder_of(run: &str) -> Result<Option<Recorded>, Failure> {
    let path = Path::new(run);
    if path.is_dir() { Recorded::read(path).map(Some).map_err(broken) } else { Ok(None) }
}

fn broken(unusable: parades_inspect::recorded::Unusable) -> Failure {
    Failure::usage(unusable.to_string(), "give a folder that `run --out` wrote")
}

/// A progress line, where standard error is a terminal.
fn bar(template: &str, steps: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    ProgressBar::new(steps).with_style(ProgressStyle::with_template(template).expect("the template is right"))
}

/// Runs both and compares their events as they come.
fn run_again(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
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
    let bar = bar("{spinner} {msg}  {elapsed}", 0);
    loop {
        let (line_a, line_b) = match (hear(a)?, hear(b)?) {
            (Said::Line(a), Said::Line(b)) if a == b => {
                events += u64::from(!a.starts_with(' '));
                if events.is_multiple_of(EVENTS_PER_LOOK) {
                    bar.set_message(format!("the same for {events} events"));
                    bar.tick();
                }
                continue;
            }
            (Said::Line(a), Said::Line(b)) => (a, b),
            // What the longer run still has to say counts only if it ended as it should.
            (Said::Line(line), Said::End(end)) => (line, end.map(|_| "(no more events)".to_owned())?),
            (Said::End(end), Said::Line(line)) => (end.map(|_| "(no more events)".to_owned())?, line),
            (Said::End(a), Said::End(b)) => {
                bar.finish_and_clear();
                let (a, b) = ((*a)?, (*b)?);
                if a == b {
                    return print(&format!("the runs are the same: {events} events\n"));
                }
                print(&format!("the runs execute the same {events} events, but end in different states\n"))?;
                return Ok(ExitCode::from(1));
            }
        };
        bar.finish_and_clear();
        print(&parted(events, [(&names[0], &line_a), (&names[1], &line_b)]))?;
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
    let tracer = Box::new(|_| Tracer::new(TraceFilter::default(), send));
    let watch = Watch { tracer: Some(tracer), ..Watch::default() };
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
    if words.is_empty() {
        return Err(wrong("neither a folder nor a scenario is named"));
    }
    match Arguments::try_parse_from(command.into_iter().chain(words)) {
        Ok(Arguments { command: Command::Run(arguments) }) => {
            let how = &arguments.how;
            let writes = arguments.out.is_some() || arguments.trace.is_some() || arguments.timeline.is_some();
            if writes || how.json || how.no_digest || arguments.until_interval.is_some() {
                let what = "`--out`, `--trace`, `--timeline`, `--json`, `--no-digest` and `--until-interval` have no meaning here";
                return Err(wrong(what));
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
