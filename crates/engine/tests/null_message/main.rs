//! `null-message`: what it costs, how it ends, and that nobody waits for ever.

mod ends;
mod idle;
mod releases;

use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::null_message::{self, Nulls, Settings};
use parades_engine::sequential;

type Handle = Box<dyn Fn(&mut u64, Body<&u64>, &mut Context<'_, Ring>) + Sync>;

/// LPs in a ring, each with one channel to the next. Each begins with an event to itself.
struct Ring {
    lps: u32,
    lookahead: Delay,
    first: Delay,
    handle: Handle,
    controllers: Controllers,
    /// Times of global events; the one at `stops` ends the run.
    globals: Vec<Time>,
    stops: Option<Time>,
}

impl Ring {
    fn new(lps: u32, handle: impl Fn(&mut u64, Body<&u64>, &mut Context<'_, Ring>) + Sync + 'static) -> Ring {
        Ring {
            lps,
            lookahead: ms(10),
            first: ms(1),
            handle: Box::new(handle),
            controllers: Controllers::default(),
            globals: Vec::new(),
            stops: None,
        }
    }

    /// Each LP sends to itself every millisecond, and to the next LP every seventh time.
    fn busy(lps: u32) -> Ring {
        Ring::new(lps, |_, event, ctx| tick(event, ctx))
    }
}

fn tick(event: Body<&u64>, ctx: &mut Context<'_, Ring>) {
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

#[derive(Clone, Debug)]
struct Look;

impl Global<Ring> for Look {
    type Summary = u64;
    fn visit(&self, _: &Ring, state: &mut u64, _: &mut Context<'_, Ring>) -> u64 {
        *state += 1_000_000;
        *state
    }
    fn fold(&self, left: u64, right: u64) -> u64 {
        left + right
    }
    fn act(&self, model: &Ring, sum: u64, ctx: &mut GlobalContext<'_, Ring>) {
        ctx.send(LpId(0), Delay::ZERO, sum);
        if model.stops == Some(ctx.now()) {
            ctx.stop();
        }
    }
}

impl Model for Ring {
    type State = u64;
    type Message = u64;
    type Global = Look;
    fn lps(&self) -> u32 {
        self.lps
    }
    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        (0..self.lps).for_each(|lp| channels.connect(LpId(lp), LpId((lp + 1) % self.lps), self.lookahead));
        channels
    }
    fn controllers(&self) -> Controllers {
        self.controllers.clone()
    }
    fn globals(&self) -> Vec<(Time, Look)> {
        self.globals.iter().map(|&time| (time, Look)).collect()
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        ctx.send_self(self.first, 0);
        0
    }
    fn handle(&self, state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
        *state += 1;
        (self.handle)(state, event, ctx);
    }
    fn fold(&self, state: &u64, digest: &mut Digest) {
        digest.word(*state);
    }
}

/// Ways to run with a partition for each of a few LPs.
fn ways() -> impl Iterator<Item = Settings> {
    let threads = [1, 2, 3, 8];
    threads.into_iter().flat_map(|threads| {
        [Nulls::Lazy, Nulls::Demand].map(|nulls| Settings {
            nulls,
            partitions: Some(8),
            ..Settings::of_threads(threads)
        })
    })
}

fn stat(outcome: &Outcome, name: &str) -> u64 {
    let (_, value) = outcome.engine_stats.iter().find(|(stat, _)| *stat == name).expect("it is counted");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts, written as floats")]
    let value = *value as u64;
    value
}

fn in_order(model: &Ring, until: Time) -> Result<Outcome, Error> {
    sequential::run(model, RunOptions::until(until))
}

/// Runs the model in all ways and compares with `sequential`.
fn assert_alike(model: &Ring, until: Time) {
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
