//! A timeline, read back, has every event and every arrow of its run and no others, the same on every engine.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::event::{Body, LpId};
use parades_core::prelude::*;
use parades_core::timesheet::{Slice, Spent, Timesheets};
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_models::phold::{Parameters, Phold};
use parades_models::transfer::{self, Transfer};
use parades_report::timeline::{Counts, Timeline, VIRTUAL, WALL};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use typescript_tsbuildinfo::{TraceEvent, TraceEventType, TraceJson};

/// An entry of the format. A field that the format does not know is an error here.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Entry {
    ph: String,
    pid: u32,
    #[serde(default)]
    tid: Option<u64>,
    #[serde(default)]
    ts: Option<f64>,
    #[serde(default)]
    dur: Option<f64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    bp: Option<String>,
    #[serde(default)]
    cat: Option<String>,
    name: String,
    #[serde(default)]
    args: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    display_time_unit: String,
    trace_events: Vec<Entry>,
    other_data: BTreeMap<String, serde_json::Value>,
}

/// The contents of a timeline that was read back.
#[derive(Debug, PartialEq)]
struct Read {
    events: u64,
    arrows: u64,
    lps: BTreeSet<u64>,
    /// By worker: the nanosecond at which its last slice ends.
    worked: BTreeMap<u64, u64>,
}

/// Reads a timeline and checks it by the rules of the format.
fn read(bytes: &[u8]) -> Read {
    let File { display_time_unit, trace_events, other_data } = serde_json::from_slice(bytes).expect("it is JSON");
    assert_eq!(display_time_unit, "ns");
    let (mut slices, mut begins, mut ends) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    let (mut named, mut last, mut events) = (BTreeSet::new(), BTreeMap::new(), 0);
    let (mut worked, mut of_workers) = (BTreeMap::new(), 0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of the test's few seconds")]
    let ns = |ts: f64| (ts * 1e3).round() as u64;
    for entry in trace_events {
        let at = || (entry.tid.expect("a thread"), ns(entry.ts.expect("a time")));
        match entry.ph.as_str() {
            "M" if entry.name == "thread_name" && entry.pid == VIRTUAL => {
                let tid = entry.tid.expect("a thread");
                assert_eq!(entry.args["name"], format!("LP {}", tid - 1));
                assert!(named.insert(tid), "named twice");
            }
            "M" => assert!(["process_name", "thread_name", "thread_sort_index"].contains(&entry.name.as_str())),
            "X" if entry.pid == WALL => {
                assert!(Spent::ALL.iter().any(|spent| spent.name() == entry.name), "{}", entry.name);
                let (begin, end) = (ns(entry.ts.expect("a time")), entry.dur.expect("a length"));
                let before = worked.insert(entry.tid.expect("a worker"), begin + ns(end)).unwrap_or(0);
                assert_eq!(before, begin, "a worker always does one thing");
                of_workers += 1;
            }
            "X" => {
                let (tid, ts) = at();
                assert!(named.contains(&tid) && !entry.name.is_empty() && entry.cat.is_some());
                assert_eq!(ns(entry.dur.expect("a length")), 1);
                // Two slices of a thread must be apart, or at the same place: viewers nest all others
                // wrongly.
                assert!(last.insert(tid, ts).is_none_or(|before| before <= ts), "in order");
                slices.insert((tid, ts));
                events += 1;
            }
            "s" => assert!(begins.insert(entry.id.expect("a number"), at()).is_none(), "an arrow begins once"),
            "f" => {
                assert_eq!(entry.bp.as_deref(), Some("e"), "it ends in the slice that is there");
                assert!(ends.insert(entry.id.expect("a number"), at()).is_none(), "an arrow ends once");
            }
            "C" => assert_eq!(entry.pid, WALL),
            other => panic!("there is no phase {other} in it"),
        }
    }
    for (id, begin) in &begins {
        let end = ends.get(id).expect("every arrow that begins ends");
        assert!(slices.contains(begin) && slices.contains(end), "an arrow joins slices");
        assert!(begin.1 <= end.1, "no arrow goes back in time");
    }
    assert_eq!(begins.len(), ends.len());
    let arrows = ends.len() as u64;
    assert_eq!(read_by_a_library(bytes), (events + of_workers, arrows));
    assert_eq!((&other_data["events"], &other_data["arrows"]), (&events.into(), &arrows.into()));
    Read { events, arrows, lps: slices.iter().map(|&(tid, _)| tid - 1).collect(), worked }
}

/// Returns the slices and the arrows as an independent reader of the format finds them.
fn read_by_a_library(bytes: &[u8]) -> (u64, u64) {
    #[derive(Deserialize)]
    struct Trace {
        #[serde(rename = "traceEvents")]
        events: TraceJson,
    }
    let Trace { events } = serde_json::from_slice(bytes).expect("the library reads it");
    let count = |is_it: fn(&TraceEvent) -> bool| events.iter().filter(|event| is_it(event)).count() as u64;
    let arrows = count(|event| event.ph == TraceEventType::FlowStart && event.id.is_some());
    assert_eq!(arrows, count(|event| event.ph == TraceEventType::FlowEnd && event.id.is_some()));
    (count(|event| event.ph == TraceEventType::Complete && event.dur.is_some()), arrows)
}

/// An event, as the test records it independently.
#[derive(Clone, Debug)]
struct Seen {
    lp: LpId,
    time: Time,
    sender: Option<LpId>,
    sequence: u64,
    is_message: bool,
}

type Run<'r> = &'r dyn Fn(RunOptions<'_>) -> Outcome;

/// Returns the timeline of a run, with all events that were executed.
fn timeline(run: Run<'_>, until: Time, filter: &TraceFilter) -> (Vec<u8>, Counts, Outcome) {
    let mut bytes = Vec::new();
    let mut timeline = Timeline::new(&mut bytes, filter.clone(), until).unwrap();
    let tracer = Tracer::observing(filter.clone(), |executed| timeline.event(executed));
    let options = RunOptions { sends: true, notes: true, tracer: Some(tracer), ..RunOptions::until(until) };
    let outcome = run(options);
    let (_, counts) = timeline.finish("a test").unwrap();
    (bytes, counts, outcome)
}

/// Returns the events of a run.
fn seen(run: Run<'_>, until: Time) -> Vec<Seen> {
    let mut seen = Vec::new();
    let tracer = Tracer::observing(TraceFilter::default(), |executed| {
        let (sender, sequence) = (executed.key.sender.as_lp(), executed.key.sequence);
        let is_message = matches!(executed.body, Body::Message(_));
        seen.push(Seen { lp: executed.receiver, time: executed.key.instant.time, sender, sequence, is_message });
        Ok(())
    });
    run(RunOptions { tracer: Some(tracer), ..RunOptions::until(until) });
    seen
}

fn until_ms(ms: u64) -> Time {
    Time::ZERO.checked_add(Delay::from_ms(ms)).unwrap()
}

/// An engine's name, and a run of a model on it.
type Named<'m> = (&'static str, Box<dyn Fn(RunOptions<'_>) -> Outcome + 'm>);

/// Returns the engines.
fn engines<M: Restorable<State: Clone + PartialEq + Debug>>(model: &M) -> [Named<'_>; 6] {
    [
        ("sequential", Box::new(|options: RunOptions<'_>| sequential::run(model, options).unwrap())),
        ("rollback-check", Box::new(|options| rollback_check::run(model, options).unwrap())),
        ("rounds", Box::new(|options| rounds::run(model, options, &rounds::Settings::of_threads(2)).unwrap())),
        ("window", Box::new(|options| window::run(model, options, &window::Settings::of_threads(2)).unwrap())),
        (
            "null-message",
            Box::new(|options| null_message::run(model, options, &null_message::Settings::of_threads(2)).unwrap()),
        ),
        ("time-warp", Box::new(|options| time_warp::run(model, options, &time_warp::Settings::of_threads(3)).unwrap())),
    ]
}

#[test]
fn every_message_of_phold_that_an_event_sent_has_its_arrow() {
    let model = Phold::<()>::new(Parameters { lps: 40, start_events: 3, ..Parameters::default() });
    let until = until_ms(20_000);
    let mut first: Option<Vec<u8>> = None;
    for (name, run) in engines(&model) {
        let (bytes, counts, outcome) = timeline(&*run, until, &TraceFilter::default());
        let read = read(&bytes);
        // Each LP begins with three events, its sends 0 to 2, whose cause is the start.
        let at_start = seen(&*run, until).iter().filter(|event| event.sequence < 3).count() as u64;
        assert_eq!((read.events, read.arrows), (outcome.events, outcome.events - at_start), "{name}");
        assert_eq!((counts.events, counts.arrows, counts.cut_off), (read.events, read.arrows, 0), "{name}");
        assert!(at_start >= 100 && read.arrows > 2000, "{name}: there is something to count");
        assert!(first.get_or_insert_with(|| bytes.clone()) == &bytes, "{name}: the same file, byte for byte");
    }
}

#[test]
fn timers_are_slices_without_arrows() {
    let model = Transfer::new(transfer::Parameters { pairs: 3, ..transfer::Parameters::default() }).unwrap();
    let until = until_ms(3_000);
    let mut first: Option<Vec<u8>> = None;
    for (name, run) in engines(&model) {
        let (bytes, counts, outcome) = timeline(&*run, until, &TraceFilter::default());
        let all = seen(&*run, until);
        let timers = all.iter().filter(|event| !event.is_message).count() as u64;
        // A start-up event's sender is its receiver; later ones go to the other end.
        let at_start = all.iter().filter(|event| event.is_message && event.sender == Some(event.lp)).count() as u64;
        let read = read(&bytes);
        assert!(timers > 0 && read.arrows > 1000, "{name}: {timers} timers, {read:?}");
        assert_eq!((read.events, read.arrows), (outcome.events, outcome.events - timers - at_start), "{name}");
        assert_eq!(counts.cut_off, 0);
        assert!(first.get_or_insert_with(|| bytes.clone()) == &bytes, "{name}: the same file, byte for byte");
    }
}

#[test]
fn a_filtered_timeline_has_the_arrows_with_both_ends_in_it() {
    let model = Phold::<()>::new(Parameters { lps: 40, remote: 0.9, ..Parameters::default() });
    let until = until_ms(20_000);
    let run = |options: RunOptions<'_>| sequential::run(&model, options).unwrap();
    let filter = TraceFilter { lps: vec![0..=19, 30..=34], from: until_ms(2_000), before: until_ms(18_000) };
    let (bytes, counts, _) = timeline(&run, until, &filter);
    let found = read(&bytes);
    // An LP sends once at its start and once in each event. So its send number n comes from its event number
    // n - 1.
    let all = seen(&run, until);
    let mut of_lp: BTreeMap<LpId, Vec<&Seen>> = BTreeMap::new();
    all.iter().for_each(|event| of_lp.entry(event.lp).or_default().push(event));
    let wanted = |event: &Seen| filter.wants(event.time, event.lp);
    let has_arrow = |event: &&Seen| {
        let Some(index) = event.sequence.checked_sub(1) else { return false };
        let cause = of_lp[&event.sender.unwrap()][usize::try_from(index).unwrap()];
        wanted(event) && wanted(cause)
    };
    assert_eq!(found.events, all.iter().filter(|event| wanted(event)).count() as u64);
    assert_eq!(found.arrows, all.iter().filter(has_arrow).count() as u64);
    assert!(found.arrows > 100 && found.arrows < found.events, "{found:?}");
    assert!(found.lps.iter().all(|lp| (0..=19).contains(lp) || (30..=34).contains(lp)));
    assert_eq!(counts.cut_off, 0, "nothing beyond the filter's end or the run's is waited for");
}

#[test]
fn the_workers_of_every_engine_tell_what_they_spend_all_their_time_on() {
    let model = Phold::<()>::new(Parameters { lps: 256, ..Parameters::default() });
    let until = until_ms(300_000);
    for (name, run) in engines(&model) {
        let sheets = Arc::new(Timesheets::new(4));
        run(RunOptions { timesheets: Some(Arc::clone(&sheets)), ..RunOptions::until(until) });
        let sum =
            |worker, spent: Spent| sheets.read(worker).iter().map(|slice| slice.times[spent as usize]).sum::<u64>();
        let all = |worker| sheets.read(worker).iter().map(Slice::length_ns).sum::<u64>();
        let workers = (0..4).filter(|&worker| !sheets.read(worker).is_empty()).count();
        let expected = match name {
            "sequential" | "rollback-check" => 1,
            "time-warp" => 3,
            _ => 2,
        };
        // A run by rounds may need no other worker.
        assert!(workers == expected || name == "rounds" && workers == 1, "{name}: {workers} workers");
        assert!(sum(0, Spent::Executing) > 0, "{name}");
        for worker in 0..workers {
            assert!(all(worker) > 0 && all(worker) == all(0), "{name}, worker {worker}: all of the run");
            assert!(name == "time-warp" || sum(worker, Spent::Gvt) == 0, "{name}");
        }
        let waited = (0..workers).map(|worker| sum(worker, Spent::Waiting)).sum::<u64>();
        assert!(waited > 0 || workers == 1, "{name}");
        let mut bytes = Vec::new();
        let mut timeline = Timeline::new(&mut bytes, TraceFilter::default(), until).unwrap();
        timeline.workers(&sheets).unwrap();
        timeline.finish("a test").unwrap();
        let found = read(&bytes);
        assert_eq!(found.events, 0);
        assert!(found.worked.into_iter().eq((1..).take(workers).map(|tid| (tid, all(0)))), "{name}");
    }
}
