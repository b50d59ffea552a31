//! `null-message`: its cost and its ends. No worker waits for ever.

mod ends;
mod idle;
mod releases;
mod turns;

use crate::engines::support::script::Script;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::null_message::{self, Nulls, Settings};
use parades_engine::retreat::Retreats;
use parades_engine::sequential;

/// Makes a model of LPs in a ring, each with one channel to the next. They count their events. Each begins
/// with an event to itself.
fn ring(lps: u32, handle: impl Fn(&mut u64, Body<&u64>, &mut Context<'_, Script>) + Sync + 'static) -> Script {
    let counted = move |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        handle(state, event, ctx);
    };
    let mut model = Script::new(lps, |ctx| ctx.send_self(ms(1), 0), counted);
    model.channels = channels(lps, ms(10));
    model.visit = Box::new(|state, _, _| *state += 1_000_000);
    model.act = Box::new(|_, sum, ctx| ctx.send(LpId(0), Delay::ZERO, sum));
    model
}

fn channels(lps: u32, lookahead: Delay) -> Channels {
    let mut channels = Channels::none();
    (0..lps).for_each(|lp| channels.connect(LpId(lp), LpId((lp + 1) % lps), lookahead));
    channels
}

/// Makes a ring in which each LP sends to itself every millisecond, and to the next LP in one of seven cases.
fn busy(lps: u32) -> Script {
    ring(lps, |_, event, ctx| tick(event, ctx))
}

fn tick(event: Body<&u64>, ctx: &mut Context<'_, Script>) {
    if event.copied() == Body::Message(0) {
        ctx.send_self(ms(1), 0);
        if ctx.rng().below(7) == 0 {
            ctx.send(Port(0), ms(10), 1);
        }
    }
}

fn ms(ms: u64) -> Delay {
    Delay::from_ms(ms)
}

fn at_ms(at: u64) -> Time {
    Time::ZERO.checked_add(ms(at)).expect("soon")
}

/// Returns settings with eight partitions during the whole run.
fn ways() -> impl Iterator<Item = Settings> {
    let threads = [1, 2, 3, 8];
    threads.into_iter().flat_map(|threads| {
        [Nulls::Lazy, Nulls::Demand].map(|nulls| Settings {
            nulls,
            partitions: Some(8),
            retreats: Retreats::Never,
            ..Settings::of_threads(threads)
        })
    })
}

fn in_order(model: &Script, until: Time) -> Result<Outcome, Error> {
    sequential::run(model, RunOptions::until(until))
}

/// Runs the model with all settings, and compares the results with `sequential`.
fn assert_alike(model: &Script, until: Time) {
    let expected = in_order(model, until);
    for settings in ways() {
        let found = null_message::run(model, RunOptions::until(until), &settings);
        match (&expected, &found) {
            (Ok(a), Ok(b)) => {
                assert_eq!((a.digest, &a.lp_digests, a.events), (b.digest, &b.lp_digests, b.events), "{settings:?}");
                assert_eq!((a.end, a.global_events, a.stopped_at), (b.end, b.global_events, b.stopped_at));
            }
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err(), "{settings:?}"),
        }
    }
}
