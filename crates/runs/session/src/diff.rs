//! The first event, of the first logical process, at which two runs part.
//!
//! Two folders with traces of the same choice of events are compared file by file. Otherwise both runs are
//! executed again, side by side. Each sends its trace line by line, and the lines are compared as they come,
//! so memory stays bounded whatever the length. A folder that another version wrote may not be reproducible.
//! Then the first difference of the files is returned.

use crate::interrupt::Stop;
use crate::recorded::{Difference, Recorded, Traces, Unusable};
use crate::{Failure, Observer, Plan, Recording, Request, run};
use parades_config::inputs;
use parades_core::trace::{TraceFilter, Tracer};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The number of lines by which one run may be ahead of the other.
const LINES_AHEAD: usize = 4096;
/// The number of events between two calls of the progress function.
const EVENTS_PER_LOOK: u64 = 1 << 14;

/// One of two runs to be compared.
#[derive(Clone, Debug)]
pub enum Side {
    /// A folder of results.
    Folder(Recorded),
    /// A run to be executed.
    Request(Request),
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The runs were executed and are the same; the number of their events.
    Same(u64),
    /// The traces in the folders are the same; the number of their events, and the first difference of the
    /// results.
    SameTraces(u64, Option<Difference>),
    /// The runs execute the same events, but end in different states; the number of events, and the
    /// difference of the results.
    OtherStates(u64, FolderDifference),
    /// The runs part.
    Part(Part),
    /// The results in the folders differ; their runs could not be reproduced.
    Files(Difference),
}

impl Verdict {
    /// True if no difference was found.
    pub fn is_same(&self) -> bool {
        match self {
            Verdict::Same(_) => true,
            Verdict::SameTraces(_, difference) => difference.is_none(),
            Verdict::OtherStates(..) | Verdict::Part(_) | Verdict::Files(_) => false,
        }
    }
}

/// The first difference of the results in two folders. `None` if there is none, or if a run is no folder. A
/// file that cannot be read is no reason to lose a verdict on the events, so its error is a part of the
/// verdict.
pub type FolderDifference = Result<Option<Difference>, Unusable>;

/// Where two runs part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of events that both execute before.
    pub events: u64,
    /// The next event of each; `None` where a run has no more events.
    pub lines: [Option<String>; 2],
    /// The difference of the results.
    pub difference: FolderDifference,
}

/// The progress of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum DiffProgress {
    /// The share of the traces that has been read.
    Share(f64),
    /// The number of events that were the same in both runs.
    Events(u64),
}

/// Compares two runs. `observers` hear of the runs that are executed.
///
/// ```
/// use parades_session::diff::{Side, Verdict, diff};
/// use parades_session::Request;
///
/// let run = |seed| {
///     let set = vec!["lps=16".into()];
///     let engine = Some("sequential".into());
///     Side::Request(Request { set, engine, seed: Some(seed), ..Request::of("phold") })
/// };
/// let compare = |a, b| diff(["a", "b"], &[run(a), run(b)], [&mut (), &mut ()], &mut |_| {});
/// assert!(matches!(compare(1, 1)?, Verdict::Same(events) if events > 0));
/// assert!(matches!(compare(1, 2)?, Verdict::Part(part) if part.events == 0));
/// # Ok::<(), parades_session::Failure>(())
/// ```
///
/// # Errors
///
/// Those of the runs. [`Failure::Input`] where a folder cannot be used. [`Failure::Simulation`] where two
/// folders have the same files, but the runs that they describe fail, or come to another digest.
pub fn diff(
    names: [&str; 2],
    sides: &[Side; 2],
    observers: [&mut dyn Observer; 2],
    progress: &mut dyn FnMut(DiffProgress),
) -> Result<Verdict, Failure> {
    let [Side::Folder(a), Side::Folder(b)] = sides else {
        return execute(names, sides, observers, progress);
    };
    if a.have_like_traces(b) {
        return of_traces([a, b], progress);
    }
    let executed = execute(names, sides, observers, progress);
    let executed = match (executed, changed_since([a, b])) {
        // The events are not those of the folders.
        (Ok(Verdict::Part(_)), changed) if !changed.is_empty() => Err(Failure::simulation(changed.join("; "))),
        (executed, _) => executed,
    };
    match executed {
        // The files differ whatever comes of running them again.
        Err(why @ (Failure::Simulation(_) | Failure::Run(_))) => match a.difference(b)? {
            Some(found) => Ok(Verdict::Files(found)),
            None => Err(Failure::simulation(format!("the files of both are the same, but: {why}"))),
        },
        Ok(Verdict::Part(part)) => Ok(Verdict::Part(Part { difference: a.difference(b), ..part })),
        Ok(Verdict::OtherStates(events, _)) => Ok(Verdict::OtherStates(events, a.difference(b))),
        found => found,
    }
}

/// Returns a sentence on each file that has changed since one of the runs read it. What a network file has
/// read stands in the folder itself.
fn changed_since(folders: [&Recorded; 2]) -> Vec<String> {
    let mut changed: Vec<String> = folders.iter().flat_map(|folder| folder.changed_since()).collect();
    changed.sort();
    changed.dedup();
    changed
}

/// Compares the traces in two folders.
fn of_traces([a, b]: [&Recorded; 2], progress: &mut dyn FnMut(DiffProgress)) -> Result<Verdict, Failure> {
    let found = a.compare_traces(b, |share| progress(DiffProgress::Share(share)))?;
    let difference = a.difference(b);
    Ok(match found {
        // Equal traces decide nothing: the results may still differ.
        Traces::Same(events) => Verdict::SameTraces(events, difference?),
        Traces::Part(events, lines) => Verdict::Part(Part { events, lines, difference }),
    })
}

/// A message of a run that is executed.
enum Sent {
    /// An executed event, or a line that its handler wrote.
    Line(String),
    /// The end of the run: its digest, or why it has none.
    End(Box<Result<Option<u64>, Failure>>),
}

/// Executes both runs and compares their events as they come.
fn execute(
    names: [&str; 2],
    sides: &[Side; 2],
    observers: [&mut dyn Observer; 2],
    progress: &mut dyn FnMut(DiffProgress),
) -> Result<Verdict, Failure> {
    // Both requests are checked first: a mistake in one needs no run of the other.
    let runs = [Wanted::of(names[0], &sides[0])?, Wanted::of(names[1], &sides[1])?];
    std::thread::scope(|scope| {
        let [wanted_a, wanted_b] = &runs;
        let [observer_a, observer_b] = observers;
        let start = |wanted: &'_ Wanted, observer| {
            let (to, from) = sync_channel(LINES_AHEAD);
            let (wanted, held, task) = (wanted.clone(), inputs::held(), Stop::of_this_thread());
            let execute = move || {
                let execute = || inputs::apart(held, || wanted.execute(&to, observer));
                let end = task.unwrap_or_default().within(execute);
                // Once the runs have parted, nobody receives the end.
                let _ = to.send(Sent::End(Box::new(end)));
            };
            match std::thread::Builder::new().spawn_scoped(scope, execute) {
                Ok(_) => Ok(from),
                Err(error) => Err(Failure::no_thread("run", &error)),
            }
        };
        let a = start(wanted_a, observer_a)?;
        compare(&a, &start(wanted_b, observer_b)?, progress)
    })
}

/// Compares what two runs send. Dropping the receivers ends runs that have parted.
fn compare(a: &Receiver<Sent>, b: &Receiver<Sent>, progress: &mut dyn FnMut(DiffProgress)) -> Result<Verdict, Failure> {
    let receive = |run: &Receiver<Sent>| {
        run.recv().map_err(|_| Failure::simulation("a run ended without a word; run it by itself to see why"))
    };
    let mut events: u64 = 0;
    loop {
        let lines = match (receive(a)?, receive(b)?) {
            (Sent::Line(a), Sent::Line(b)) if a == b => {
                events += u64::from(!a.starts_with(' '));
                if events.is_multiple_of(EVENTS_PER_LOOK) {
                    progress(DiffProgress::Events(events));
                }
                continue;
            }
            (Sent::Line(a), Sent::Line(b)) => [Some(a), Some(b)],
            // The further events of the longer run count only if the other one ended without an error.
            (Sent::Line(line), Sent::End(end)) => [Some(line), end.map(|_| None)?],
            (Sent::End(end), Sent::Line(line)) => [end.map(|_| None)?, Some(line)],
            (Sent::End(a), Sent::End(b)) => {
                let is_same = (*a)? == (*b)?;
                return Ok(if is_same { Verdict::Same(events) } else { Verdict::OtherStates(events, Ok(None)) });
            }
        };
        return Ok(Verdict::Part(Part { events, lines, difference: Ok(None) }));
    }
}

/// A run to be executed, and its folder if it has one.
#[derive(Clone, Debug)]
struct Wanted {
    name: String,
    request: Request,
    recorded: Option<Recorded>,
}

impl Wanted {
    fn of(name: &str, side: &Side) -> Result<Wanted, Failure> {
        let (request, recorded) = match side {
            Side::Folder(recorded) => (recorded.request()?, Some(recorded.clone())),
            Side::Request(request) => (request.clone(), None),
        };
        Ok(Wanted { name: name.to_owned(), request, recorded })
    }

    /// Executes the run and sends each line of its trace. Returns the digest. Copies of input files in its
    /// folder are read in place of the files.
    fn execute(&self, to: &SyncSender<Sent>, observer: &mut dyn Observer) -> Result<Option<u64>, Failure> {
        let copies = self.recorded.iter().flat_map(Recorded::copies);
        inputs::holding(copies, || self.execute_on(to, observer))
    }

    fn execute_on(&self, to: &SyncSender<Sent>, observer: &mut dyn Observer) -> Result<Option<u64>, Failure> {
        let plan = Plan::of(&self.request)?;
        let send =
            |line: &str| to.send(Sent::Line(line.to_owned())).map_err(|_| io::Error::other("the runs have parted"));
        let tracer = Box::new(|_: &_, _| Ok(Tracer::new(TraceFilter::default(), send).into()));
        let recording = Recording { tracer: Some(tracer), ..Recording::default() };
        let finished = run(&plan, &plan.choice()?, recording, observer)?;
        let finished = finished.complete("a comparison needs whole runs, so there is no result")?;
        let digest = finished.outcome.digest;
        let text = digest.map(|digest| format!("{digest:016x}")).unwrap_or_default();
        let Some(recorded) = &self.recorded else { return Ok(digest) };
        match recorded.digest() {
            Some(before) if *before != text => {
                let changed = recorded.changed_files(&finished.inputs);
                let why = match changed.as_slice() {
                    [] => "it was altered, or written by another version".to_owned(),
                    changed => changed.join("; "),
                };
                Err(Failure::simulation(format!(
                    "the run of `{}` cannot be repeated: {why} (its digest was {before}, and is {text} here)",
                    self.name
                )))
            }
            _ => Ok(digest),
        }
    }
}
