//! Runs with little more memory than `sequential` needs.

use super::compare::{assert_same, in_order};
use super::mesh::{at, lp, mesh};
use crate::engines::support::script::{Script, ps};
use crate::engines::support::stat;
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::timesheet::{Spent, Timesheets};
use parades_engine::retreat::Retreats;
use parades_engine::sequential;
use parades_engine::time_warp::{self, Ahead, Settings};
use std::sync::Arc;

const LPS: u32 = 4096;

/// Makes a model with eight pending events for each LP at all times.
fn crowded() -> Script {
    let mut model = mesh(LPS, |_, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        let (to, delay) = (ctx.rng().below(u64::from(LPS)), ctx.rng().below(1000));
        ctx.send_to(lp(to), ps(delay), hops + 1);
    });
    model.start = Box::new(|ctx| {
        for _ in 0..8 {
            let delay = ps(ctx.rng().below(1000));
            ctx.send_self(delay, 0);
        }
    });
    model
}

fn run(model: &Script, until: Time, limit: u64, settings: &Settings) -> Result<Outcome, parades_core::error::Error> {
    time_warp::run(model, RunOptions { memory_limit: Some(limit), ..RunOptions::until(until) }, settings)
}

#[test]
fn little_more_memory_than_sequential_needs_is_enough() {
    let (model, until) = (crowded(), at(3_000));
    let expected = in_order(&model, until).expect("no failure");
    let needed = stat(&expected, "pending_bytes") + u64::from(LPS) * stat(&expected, "lp_bytes");
    let mut rollbacks = 0;
    for threads in [1, 2, 3] {
        // The memory is short all the time, or becomes short by executions ahead of GVT.
        for (percent, copy_every, retreats) in [
            (104, None, Retreats::Never),
            (110, None, Retreats::WhereFaster),
            (110, Some(3), Retreats::Never),
            (110, None, Retreats::Every(30)),
            (125, None, Retreats::Never),
            (125, Some(3), Retreats::Every(7)),
            (150, Some(8), Retreats::WhereFaster),
        ] {
            let (ahead, stalls) = (Ahead::Unbounded, Some(11));
            let settings = Settings { ahead, copy_every, retreats, stalls, ..Settings::of_threads(threads) };
            let found = run(&model, until, needed * percent / 100, &settings);
            let found = found.unwrap_or_else(|error| panic!("{percent} % with {settings:?}: {error}"));
            assert_same(&expected, &found, &settings);
            // A single worker rolls back only for lack of memory.
            rollbacks += if threads == 1 { stat(&found, "rollbacks") } else { 0 };
        }
    }
    assert!(rollbacks > 0);
}

#[test]
fn events_of_one_time_need_no_room_for_their_history() {
    // All LPs execute an event at each time. The history of one time takes about as much memory as the LPs
    // and their pending events.
    const MANY: u32 = 1 << 16;
    let mut model = mesh(MANY, |_, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        let to = ctx.rng().below(u64::from(MANY));
        ctx.send_to(lp(to), ps(1000), hops + 1);
    });
    model.start = Box::new(|ctx| ctx.send_self(ps(1000), 0));
    let until = at(4_500);
    let expected = in_order(&model, until).expect("no failure");
    let needed = stat(&expected, "pending_bytes") + u64::from(MANY) * stat(&expected, "lp_bytes");
    for threads in [1, 2, 3] {
        for retreats in [Retreats::Never, Retreats::Every(30)] {
            let settings = Settings { retreats, ..Settings::of_threads(threads) };
            let found = run(&model, until, needed * 120 / 100, &settings);
            let found = found.unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            assert_same(&expected, &found, &settings);
            assert!(threads > 1 || stat(&found, "alone_for_memory") == 1, "one goes on alone: {settings:?}");
        }
    }
}

#[test]
fn half_the_memory_that_sequential_needs_is_too_little() {
    let (model, until) = (crowded(), at(3_000));
    let expected = in_order(&model, until).expect("no failure");
    let needed = stat(&expected, "pending_bytes") + u64::from(LPS) * stat(&expected, "lp_bytes");
    for threads in [1, 2, 3] {
        let settings = Settings { ahead: Ahead::Unbounded, stalls: Some(11), ..Settings::of_threads(threads) };
        let error = run(&model, until, needed / 2, &settings).expect_err("too little");
        let ErrorKind::Memory { limit, needed: found } = *error.kind() else { panic!("another error: {error}") };
        assert!(limit == needed / 2 && found > limit, "{error}");
    }
}

#[test]
fn pending_events_may_grow_beyond_the_limit_during_the_run() {
    // The number of committed sends grows without end.
    let model = mesh(8, |_, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        let to = ctx.rng().below(8);
        ctx.send_to(lp(to), ps(1 + hops % 20), hops + 1);
        ctx.send_self(ps(1_000_000_000), 0);
    });
    for threads in [1, 2, 3] {
        for ahead in [Ahead::Adaptive, Ahead::Unbounded] {
            let settings = Settings { ahead, stalls: Some(5), ..Settings::of_threads(threads) };
            let error = run(&model, at(100_000_000), 1 << 20, &settings).expect_err("too little");
            assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
        }
    }
}

/// LPs with eight pending events each, whose undo takes far longer than their handler.
struct SlowUndo;

impl Model for SlowUndo {
    type State = u64;
    type Message = u64;
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        LPS
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        for _ in 0..8 {
            let delay = ps(ctx.rng().below(1000));
            ctx.send_self(delay, 0);
        }
        0
    }
    fn handle(&self, state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
        *state += 1;
        let Body::Message(hops) = event.copied() else { return };
        let (to, delay) = (ctx.rng().below(u64::from(LPS)), ctx.rng().below(1000));
        ctx.send_to(lp(to), ps(delay), hops + 1);
    }
    fn fold(&self, state: &u64, digest: &mut Digest) {
        digest.word(*state);
    }
}

impl Restorable for SlowUndo {
    type Undo = ();
    fn handle_undoable(&self, state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Self>, _: &mut UndoLog<()>) {
        self.handle(state, event, ctx);
    }
    fn undo(&self, state: &mut u64, _: Body<&u64>, _: &mut UndoLog<()>) {
        (0..2_000_000_u32).for_each(|step| {
            std::hint::black_box(step);
        });
        *state -= 1;
    }
}

#[test]
fn undoing_for_lack_of_memory_is_time_of_executing() {
    let until = at(3_000);
    let alone = sequential::run(&SlowUndo, RunOptions::until(until)).expect("no failure");
    let needed = stat(&alone, "pending_bytes") + u64::from(LPS) * stat(&alone, "lp_bytes");
    let sheets = Arc::new(Timesheets::new(1).with_handlers());
    let (timesheets, memory_limit) = (Some(Arc::clone(&sheets)), Some(needed * 110 / 100));
    let options = RunOptions { timesheets, memory_limit, ..RunOptions::until(until) };
    let settings = Settings { ahead: Ahead::Unbounded, retreats: Retreats::Never, ..Settings::of_threads(1) };
    let found = time_warp::run(&SlowUndo, options, &settings).expect("no failure");
    assert_eq!(found.digest, alone.digest);
    let rows = sheets.handlers().expect("they are measured").read();
    assert!(rows.iter().map(|row| row.work.rolled_back).sum::<u64>() > 100, "{rows:?}");
    let undoing = rows.iter().map(|row| row.work.undo_ns).sum::<f64>();
    let executing = sheets.read(0).iter().map(|slice| slice.times[Spent::Executing as usize]).sum::<u64>() as f64;
    assert!(executing > 0.9 * undoing, "{executing} ns of executing have {undoing} ns of undoing");
}
