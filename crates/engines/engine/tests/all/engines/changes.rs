//! A run that goes on under other engines is the run of one engine, whatever happens at the changes.

use super::support::script::{Numbered, SERIES, Script};
use super::support::{Answer, stat, traced};
use parades_core::any_model::with_model;
use parades_core::cut::{AtRest, Cuts, Reached, Span, Then, Umpire};
use parades_core::error::{Error, ErrorKind};
use parades_core::prelude::*;
use parades_core::run::Control;
use parades_core::timesheet::{Spent, Timesheets};
use parades_engine::any_engine::AnyEngine;
use parades_engine::auto::{self, Changes, Suits, advise};
use parades_engine::{null_message, rounds, sequential, time_warp, window};
use std::sync::{Arc, Mutex};

const LPS: u32 = 24;
const UNTIL: Time = Time::from_ms(400);
/// A handler that gets this number panics.
const PANICS: u64 = 1 << 32;

/// LPs that pass numbers on at random, with timers and a sample every 50 ms.
fn passing(first: u64) -> Script {
    let mut model = Script::new(
        LPS,
        move |ctx| ctx.send_self(Delay::from_us(u64::from(ctx.id().0)), first),
        |state, event, ctx| {
            let Body::Message(&number) = event else {
                *state += 1;
                return;
            };
            assert!(number != PANICS, "it got {PANICS}");
            *state = state.wrapping_mul(31).wrapping_add(number);
            let (to, delay) = (ctx.random_lp(LPS), ctx.rng().uniform_delay(Delay::from_ms(1), Delay::from_ms(4)));
            ctx.send_to(to, delay, number + 1);
            ctx.set_timer(TimerId(0), Delay::from_ms(3));
        },
    );
    model.channels = Channels::whole(Delay::from_ms(1));
    model.globals = vec![(50_000_000_000, 0)];
    model.act = Box::new(|number, sum, ctx| {
        ctx.point(SERIES, (sum % 1000) as f64);
        ctx.schedule(Delay::from_ms(50), Numbered(number + 1));
    });
    model
}

fn engines() -> [AnyEngine; 5] {
    [
        AnyEngine::Window(window::Settings::of_threads(2)),
        AnyEngine::NullMessage(null_message::Settings::of_threads(2)),
        AnyEngine::Sequential,
        AnyEngine::TimeWarp(time_warp::Settings::of_threads(2)),
        AnyEngine::Rounds(rounds::Settings::of_threads(2)),
    ]
}

fn changing(model: &Script, options: RunOptions<'_>, changes: Changes) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| {
        auto::advance(model, Some(model), options.into(), &engines(), changes).map(Reached::end)
    })
}

fn assert_same((expected, trace): &Answer, (found, found_trace): &Answer) {
    match (expected, found) {
        (Ok(expected), Ok(found)) => {
            assert_eq!((expected.digest, expected.events, expected.end), (found.digest, found.events, found.end));
            assert_eq!(expected.metrics, found.metrics);
        }
        (expected, found) => assert_eq!(expected.as_ref().err(), found.as_ref().err()),
    }
    assert_eq!(trace, found_trace);
}

#[test]
fn results_and_trace_are_those_of_one_engine() {
    let model = passing(1);
    let expected = traced(RunOptions::until(UNTIL), |options| sequential::run(&model, options));
    for (asked, apart) in [(1, Delay::MAX), (3, Delay::MAX), (u32::MAX, Delay::from_ms(7)), (2, Delay::from_ms(50))] {
        let changes = Changes::Every { asked, apart };
        let found = traced(RunOptions::until(UNTIL), |options| changing(&model, options, changes));
        assert_same(&expected, &found);
        let switches = found.0.as_ref().map_or(0, |outcome| stat(outcome, "engine_switches"));
        // The number of questions of an engine depends on its threads.
        let least = if apart == Delay::MAX { 1 } else { 5 };
        assert!(switches >= least, "{changes:?} made {switches}");
    }
}

#[test]
fn timesheets_and_handlers_go_on_under_the_next_engine() {
    let model = passing(1);
    let expected = sequential::run(&model, RunOptions::until(UNTIL)).expect("no failure");
    let sheets = Arc::new(Timesheets::new(2).with_handlers());
    let options = RunOptions { timesheets: Some(Arc::clone(&sheets)), ..RunOptions::until(UNTIL) };
    let changes = Changes::Every { asked: u32::MAX, apart: Delay::from_ms(7) };
    let outcome = changing(&model, options, changes).expect("no failure");
    assert_eq!(outcome.digest, expected.digest);
    assert!(stat(&outcome, "engine_switches") >= 5);
    let rows = sheets.handlers().expect("they are measured").read();
    assert_eq!(rows.iter().map(|row| row.work.events).sum::<u64>(), expected.events);
    assert!(rows.iter().all(|row| row.kind == "Script" && row.work.ns > 0.0), "{rows:?}");
    let spent = |worker, what: Spent| sheets.read(worker).iter().map(|slice| slice.times[what as usize]).sum::<u64>();
    let all = |worker| Spent::ALL.into_iter().map(|what| spent(worker, what)).sum::<u64>();
    assert!(all(0) > 0 && all(0) == all(1), "both are there for the whole run");
    assert!(spent(1, Spent::Away) > 0, "`sequential` has no thread for it");
    assert_eq!(spent(0, Spent::Away), 0);
}

#[test]
fn an_error_is_that_of_one_engine() {
    let model = passing(PANICS - 60);
    let expected = traced(RunOptions::until(UNTIL), |options| sequential::run(&model, options));
    assert!(expected.0.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::Panic(_))), "{:?}", expected.0);
    let changes = Changes::Every { asked: u32::MAX, apart: Delay::from_ms(7) };
    let found = traced(RunOptions::until(UNTIL), |options| changing(&model, options, changes));
    assert_same(&expected, &found);
}

#[test]
fn cuts_of_the_user_stay_where_they_are() {
    let times: Vec<Time> = [10, 33, 49, 50, 56, 200].map(Time::from_ms).into();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (to, mut later) = (Arc::clone(&seen), times.clone().into_iter().skip(1));
    let act = move |run: &mut AtRest<'_, '_>| {
        to.lock().expect("nobody panicked").push((run.time, run.events, run.digest()));
        Then::Continue(later.next().unwrap_or(Time::MAX))
    };
    let cuts = Some(Cuts { next: times[0], at_end: true, act: Box::new(act) });
    let changes = Changes::Every { asked: 2, apart: Delay::from_ms(7) };
    let outcome = changing(&passing(1), RunOptions { cuts, ..RunOptions::until(UNTIL) }, changes).expect("no failure");
    assert!(stat(&outcome, "engine_switches") > 50);
    let expected = times.iter().chain([&UNTIL]).map(|&time| {
        let before = sequential::run(&passing(1), RunOptions::until(time)).expect("no failure");
        (time, before.events)
    });
    let seen = seen.lock().expect("nobody panicked");
    assert_eq!(seen.iter().map(|&(time, events, _)| (time, events)).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(Some(seen.last().expect("one at the end").2), without_last_global());
}

/// Returns the digest of the run at its end, before the global event there.
fn without_last_global() -> Option<u64> {
    let mut model = passing(1);
    model.act = Box::new(|number, sum, ctx| {
        ctx.point(SERIES, (sum % 1000) as f64);
        if number < 6 {
            ctx.schedule(Delay::from_ms(50), Numbered(number + 1));
        }
    });
    sequential::run(&model, RunOptions::until(UNTIL)).expect("no failure").digest
}

/// Ends a span at the first cut from a time on. A control is stopped there.
#[derive(Debug)]
struct Ends<'c> {
    at: Time,
    stops: Option<&'c Control>,
    is_on_trial: bool,
}

impl Umpire for Ends<'static> {
    fn goes_on(&mut self, _: u64) {}
    fn rests(&mut self, _: u64) {}
    fn wants_change(&mut self, _: u64, _: Time, _: bool) -> bool {
        false
    }
    fn is_on_trial(&self) -> bool {
        self.is_on_trial
    }
    fn next_change(&mut self, time: Time) -> Time {
        if time < self.at { self.at } else { Time::MAX }
    }
    fn leaves(&mut self, _: Time, _: u64) {
        self.stops.iter().for_each(|control| control.stop());
    }
}

#[test]
fn a_stop_between_two_engines_keeps_the_results_so_far() {
    let at = Time::from_ms(77);
    let expected = sequential::run(&passing(1), RunOptions::until(at)).expect("no failure");
    for first in engines() {
        for second in engines() {
            let control: &'static Control = Box::leak(Box::default());
            let options = RunOptions { control: Some(control), ..RunOptions::until(UNTIL) };
            let found = with_model(&passing(1), options, |model, options| {
                let umpire = Box::new(Ends { at, stops: Some(control), is_on_trial: false });
                let span = Span { umpire: Some(umpire), ..Span::from(options) };
                let Reached::Cut(span) = first.advance(model, Some(model), span)? else { panic!("it ends at a cut") };
                second.advance(model, Some(model), Span { umpire: None, ..span }).map(Reached::end)
            });
            let found = found.unwrap_or_else(|error| panic!("{}, then {}: {error}", first.name(), second.name()));
            // `sequential` and `rounds` notice a stop after an event, and execute the others of its time.
            let until = found.stopped_at.expect("it was stopped");
            let expected = if until == at { &expected } else { &run_until(until) };
            assert!(until >= at && until < at.checked_add(Delay::from_ms(4)).expect("it is early"), "{until}");
            assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{}", second.name());
        }
    }
}

fn run_until(until: Time) -> Outcome {
    sequential::run(&passing(1), RunOptions::until(until)).expect("no failure")
}

/// Returns LPs that pass numbers on beside very many that do nothing, and a memory limit that has room for them,
/// but not four times. So what the run needs hardly depends on its course.
fn passing_beside_idle_lps() -> (Script, u64) {
    let mut model = passing(1);
    let start = std::mem::replace(&mut model.start, Box::new(|_| {}));
    model.start = Box::new(move |ctx| {
        if ctx.id().0 < LPS {
            start(ctx)
        }
    });
    model.lps = 1 << 14;
    let alone = sequential::run(&model, RunOptions::until(UNTIL)).expect("no failure");
    let memory_limit = 3 * u64::from(model.lps) * stat(&alone, "lp_bytes");
    (model, memory_limit)
}

#[test]
fn a_change_for_which_memory_may_not_be_enough_is_not_made() {
    let (model, memory_limit) = passing_beside_idle_lps();
    let switches = |memory_limit| {
        let changes = Changes::Every { asked: 1, apart: Delay::MAX };
        let options = RunOptions { memory_limit: Some(memory_limit), ..RunOptions::until(UNTIL) };
        stat(&changing(&model, options, changes).expect("it fits"), "engine_switches")
    };
    assert!(switches(1 << 40) > 0);
    assert_eq!(switches(memory_limit), 0, "{memory_limit}");
}

#[test]
fn an_engine_on_trial_is_left_although_memory_is_short() {
    let (model, memory_limit) = passing_beside_idle_lps();
    let settings = window::Settings::of_threads(2);
    let leaves = |is_on_trial| {
        let options = RunOptions { memory_limit: Some(memory_limit), ..RunOptions::until(UNTIL) };
        with_model(&model, options, |model, options| {
            let umpire = Box::new(Ends { at: Time::from_ms(77), stops: None, is_on_trial });
            let span = Span { umpire: Some(umpire), ..Span::from(options) };
            matches!(window::advance(model, span, &settings).expect("it fits"), Reached::Cut(_))
        })
    };
    assert!(leaves(true) && !leaves(false));
}

#[test]
fn rivals_are_the_engines_that_may_gain() {
    let threads = 2;
    let [window, null_message, time_warp] =
        [Suits::Window { threads, shared: false }, Suits::NullMessage { threads }, Suits::TimeWarp { threads }];
    let mut model = Script::new(4096, |_| {}, |_, _, _| {});
    let rivals = |model: &Script, threads, copies| {
        let advice = advise(model, threads, copies);
        (advice.engine, advice.rivals)
    };
    assert_eq!(rivals(&model, 2, false), (Suits::Sequential, vec![]), "no lookahead, and nothing to roll back by");
    assert_eq!(rivals(&model, 2, true), (time_warp, vec![Suits::Sequential]));
    assert_eq!(rivals(&model, 1, true), (Suits::Sequential, vec![]), "no lookahead on one thread");
    model.channels = Channels::whole(Delay::from_ms(1));
    let alone = Suits::Window { threads: 1, shared: false };
    assert_eq!(rivals(&model, 1, true), (Suits::Sequential, vec![alone]), "one thread");
    assert_eq!(rivals(&model, 2, false), (window, vec![null_message, Suits::Sequential]));
    assert_eq!(rivals(&model, 2, true), (window, vec![null_message, time_warp, Suits::Sequential]));
}

#[test]
fn auto_without_rivals_is_the_advised_engine_alone() {
    let run = |threads, lookahead| {
        let channels = Channels::whole(lookahead);
        with_model(&Script { channels, ..passing(1) }, RunOptions::until(UNTIL), |model, options| {
            AnyEngine::Auto { threads }.advance(model, Some(model), options.into()).map(Reached::end)
        })
    };
    let has_relay = |outcome: &Outcome| outcome.engine_stats.iter().any(|(name, _)| *name == "engine_trials");
    let runs = [(1, Delay::ZERO), (1, Delay::from_ms(1)), (2, Delay::from_ms(1))];
    let outcomes = runs.map(|(threads, lookahead)| run(threads, lookahead).expect("no failure"));
    assert_eq!(outcomes.each_ref().map(has_relay), [false, true, true]);
    for outcome in &outcomes {
        assert_eq!((outcome.digest, &outcome.metrics), (outcomes[0].digest, &outcomes[0].metrics));
        assert!(outcome.changes.is_empty(), "it is over too soon");
    }
}
