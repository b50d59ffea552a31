//! The bounds of partitions under `window`.

use super::support::script::{Script, ps};
use super::support::stat;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::retreat::Retreats;
use parades_engine::sequential;
use parades_engine::window::{self, Order, Reach, Settings};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

/// The lookaheads around the ring, in milliseconds.
const RING_MS: [u64; 4] = [20, 1, 200, 1];
/// The message that is not followed by another.
const LAST: u64 = 10_000;

/// Makes a ring of four LPs in which channels have the lookaheads of [`RING_MS`]. Each LP whose number is in
/// `busy` has a timer each millisecond, and every tenth of them sends to the next LP.
fn ring(busy: &'static [u32]) -> Script {
    let mut channels = Channels::none();
    for (id, &ms) in (0..).zip(&RING_MS) {
        channels.connect(LpId(id), LpId((id + 1) % 4), Delay::from_ms(ms));
    }
    let start = move |ctx: &mut Context<'_, Script>| {
        if busy.contains(&ctx.id().0) {
            ctx.send_self(Delay::from_ms(1), 0);
        }
    };
    let handle = |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        let Body::Message(&count) = event else { return };
        if count < LAST {
            ctx.send_self(Delay::from_ms(1), count + 1);
            if count.is_multiple_of(10) {
                ctx.send(Port(0), Delay::from_ms(RING_MS[ctx.id().index()]), LAST);
            }
        }
    };
    Script { channels, ..Script::new(4, start, handle) }
}

/// Returns the number of windows of a run of one virtual second.
fn windows(busy: &'static [u32], reach: Reach) -> u64 {
    let until = Time::from_ps(1_000_000_000_000);
    let expected = sequential::run(&ring(busy), RunOptions::until(until)).expect("no failure");
    let settings = Settings { partitions: Some(2), reach, retreats: Retreats::Never, ..Settings::of_threads(2) };
    let found = window::run(&ring(busy), RunOptions::until(until), &settings).expect("no failure");
    assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{reach:?}");
    assert_eq!(stat(&found, "partitions"), 2, "{reach:?}: the channels of 1 ms are inside partitions");
    stat(&found, "windows")
}

#[test]
fn a_partition_whose_events_come_back_late_does_not_wait_for_the_shortest_channel() {
    // LP 0 sends to the other partition at 20 ms. The answer arrives after 220 ms.
    assert!(windows(&[0], Reach::Common) >= 50);
    assert!(windows(&[0], Reach::Own) < 30);
}

#[test]
fn bounds_of_their_own_are_no_narrower_where_all_partitions_are_busy() {
    let busy: &[u32] = &[0, 1, 2, 3];
    assert!(windows(busy, Reach::Own) <= windows(busy, Reach::Common));
}

/// Makes a ring of eight LPs whose states stay on their threads: an LP that another thread executes panics.
/// `lookahead` is that of each channel, and after half of the `hops` it becomes `later`.
#[expect(clippy::disallowed_methods, reason = "the test looks at the threads of states")]
fn staying(hops: u64, lookahead: u64, later: u64) -> Script {
    let mut channels = Channels::none();
    for id in 0..8 {
        channels.connect(LpId(id), LpId((id + 1) % 8), ps(lookahead));
    }
    let own: Arc<Mutex<Vec<Option<ThreadId>>>> = Arc::new(Mutex::new(vec![None; 8]));
    let handle = move |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        let here = thread::current().id();
        let owner = *own.lock().expect("nobody has panicked")[ctx.id().index()].get_or_insert(here);
        assert_eq!(owner, here, "{} has come to another thread", ctx.id());
        *state += 1;
        if let Body::Message(&count) = event
            && count < hops
        {
            ctx.send(Port(0), ps(lookahead.max(later)), count + 1);
        }
    };
    let start = move |ctx: &mut Context<'_, Script>| ctx.send_self(ps(1 + u64::from(ctx.id().0)), 0);
    let mut model = Script { channels, stays_on_threads: true, ..Script::new(8, start, handle) };
    model.globals = vec![(hops / 2 * lookahead.max(later), later)];
    model.act = Box::new(|later, _, ctx| (0..8).for_each(|id| ctx.set_lookahead(LpId(id), Port(0), ps(later))));
    model
}

fn run_staying(model: &Script) -> Result<Outcome, Error> {
    window::run(model, RunOptions::until(Time::MAX), &Settings { partitions: Some(4), ..Settings::of_threads(2) })
}

#[test]
fn states_that_stay_on_their_threads_cost_no_cuts() {
    // Reviews of balance would be due after milliseconds.
    let found = run_staying(&staying(40_000, 10, 10)).expect("no failure");
    let (windows, cuts) = (stat(&found, "windows"), stat(&found, "rests"));
    assert!(windows >= 20_000, "{windows} windows");
    assert!(cuts < windows / 100, "{cuts} cuts in {windows} windows");
}

#[test]
fn states_stay_on_their_threads_when_a_lookahead_changes() {
    for later in [3, 30] {
        let expected = sequential::run(&staying(1_000, 10, later), RunOptions::until(Time::MAX)).expect("no failure");
        let found = run_staying(&staying(1_000, 10, later)).expect("no failure");
        assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{later} ps");
    }
    let error = run_staying(&staying(1_000, 10, 0)).expect_err("LPs of two threads cannot have a lookahead of zero");
    assert!(error.to_string().contains("stay on their threads"), "{error}");
}

/// A window takes long to open, whether the visit then executes one of its events or all.
#[test]
fn large_windows_are_executed_lp_by_lp_in_few_visits() {
    const LPS: u32 = 1 << 16;
    const EVENTS: u64 = 8;
    const WIDTH: u64 = 1_000_000_000_000;
    let mut channels = Channels::none();
    (0..LPS).for_each(|id| channels.connect(LpId(id), LpId((id + 1) % LPS), ps(WIDTH)));
    let start = |ctx: &mut Context<'_, Script>| {
        let first = u64::from(ctx.id().0) * EVENTS;
        (first..first + EVENTS).for_each(|place| ctx.send_self(ps(WIDTH + place * 1_000_000), 0));
    };
    let handle = |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        if let Body::Message(&count) = event
            && count < 2
        {
            ctx.send(Port(0), ps(WIDTH), count + 1);
        }
    };
    let model = Script { channels, ..Script::new(LPS, start, handle) };
    let until = Time::from_ps(4 * WIDTH);
    let expected = sequential::run(&model, RunOptions::until(until)).expect("no failure");
    let settings = Settings { order: Order::Lp, partitions: Some(1), ..Settings::of_threads(1) };
    let found = window::run(&model, RunOptions::until(until), &settings).expect("no failure");
    assert_eq!((found.digest, found.events), (expected.digest, expected.events));
    assert!(stat(&found, "windows") < 1_000, "{} windows", stat(&found, "windows"));
}
