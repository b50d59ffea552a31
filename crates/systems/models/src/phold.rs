//! PHOLD, the classic synthetic workload. Every event sends one event, to the LP itself or to another.
//!
//! *Source*: R. Fujimoto, *Performance of Time Warp under synthetic workloads*, SCS Multiconference on
//! Distributed Simulation, 1990.

use parades_config::Words;
use parades_core::any_model::SaveModel;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed, Wire};
use serde::{Deserialize, Serialize};
use std::hint::select_unpredictable;

/// The distribution of the delay of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayKind {
    /// The lookahead plus an exponential part, with the given mean in total.
    Exponential,
    /// The lookahead plus a uniform part, with the given mean in total.
    Uniform,
    /// The mean, always.
    Constant,
    /// An exponential delay, rounded up to a multiple of the lookahead. Many events then happen at one time.
    Quantised,
}

impl Words for DelayKind {
    const WORDS: &'static [(&'static str, DelayKind)] = &[
        ("exponential", DelayKind::Exponential),
        ("uniform", DelayKind::Uniform),
        ("constant", DelayKind::Constant),
        ("quantised", DelayKind::Quantised),
    ];
}

/// The way in which an LP's state is restored when an execution is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// A copy of the state before each event.
    Copy,
    /// A reverse handler, which needs the delay that was drawn.
    Reverse,
    /// The old values of the fields that changed.
    Log,
}

impl Words for Restore {
    const WORDS: &'static [(&'static str, Restore)] =
        &[("copy", Restore::Copy), ("reverse", Restore::Reverse), ("log", Restore::Log)];
}

/// The parameters.
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of LPs.
    #[parameter(integer, default = 1024, range = 1..=4_000_000_000, meaning = "logical processes")]
    pub lps: u32,
    /// The number of events that each LP begins with.
    #[parameter(integer, default = 1, range = 0..=1_000_000, meaning = "initial events of each LP")]
    pub start_events: u32,
    /// The fraction of events sent to a uniformly drawn LP, which may be the sender.
    #[parameter(
        fraction,
        changeable,
        default = 0.5,
        meaning = "share of events sent to an LP drawn uniformly, the sender included"
    )]
    pub remote: f64,
    /// The least delay.
    #[parameter(duration, changeable, default = Delay::from_ms(100), unit = "s", meaning = "least delay of an event")]
    pub lookahead: Delay,
    /// The mean delay, including the lookahead.
    #[parameter(
        duration, changeable, default = Delay::from_secs(1), unit = "s",
        meaning = "mean delay of an event, lookahead included"
    )]
    pub mean_delay: Delay,
    /// The distribution of delays.
    #[parameter(
        choice,
        changeable,
        default = "exponential",
        meaning = "distribution of delays: lookahead + exponential, lookahead + uniform, always the mean, \
                   or exponential rounded up to whole lookaheads"
    )]
    pub delay: DelayKind,
    /// The receiver of a remote event. With 0, it is any LP; with `k`, it is the LP `(id + k) mod lps`.
    #[parameter(
        integer, default = 0, range = 0..=4_000_000_000,
        needs = "remote", meaning = "0: a remote event goes to any LP; k: to (id + k) mod lps"
    )]
    pub radius: u32,
    /// The number of bytes that each event carries.
    #[parameter(integer, default = 0, range = 0..=16_777_216, meaning = "bytes that each event carries")]
    pub payload: usize,
    /// The time for which each event keeps the processor busy, in nanoseconds.
    #[parameter(
        integer, key = "work", default = 0, range = 0..=1_000_000_000,
        meaning = "nanoseconds that each event keeps the processor busy"
    )]
    pub work_ns: u64,
    /// The share of LPs whose events keep the processor busy. These are the first LPs. With a share below 1,
    /// some workers have more work than others.
    #[parameter(
        fraction,
        default = 1.0,
        needs = "work",
        meaning = "share of the LPs whose events keep the processor busy, the first LPs: below 1 the load \
                   is uneven"
    )]
    pub work_share: f64,
    /// The virtual time after which other LPs keep the processor busy: the next ones of the same number. With
    /// zero, it is always the first ones.
    #[parameter(
        duration, default = Delay::ZERO, unit = "s",
        needs = "work",
        meaning = "virtual time after which the work moves on to the next LPs; 0: it stays"
    )]
    pub work_moves: Delay,
    /// The way in which state is restored.
    #[parameter(
        choice,
        default = "copy",
        meaning = "how state is restored after a rollback: by copy, by reverse handler, by undo log"
    )]
    pub restore: Restore,
}

const EVENTS_PER_LP: MetricId = MetricId(0);
const DELAY_PER_LP: MetricId = MetricId(1);
const MEAN_DELAY: MetricId = MetricId(2);

/// The contents of an event: nothing, or bytes.
pub trait Contents: Payload {
    /// Creates contents of `bytes` bytes.
    fn with_length(bytes: usize, rng: &Rng) -> Self;
}

impl Contents for () {
    #[inline]
    fn with_length(_: usize, _: &Rng) {}
}

impl Contents for Bytes {
    fn with_length(bytes: usize, rng: &Rng) -> Bytes {
        let pattern = rng.next_u64().to_le_bytes();
        Bytes::write(bytes, |to| {
            for chunk in to.chunks_mut(pattern.len()) {
                chunk.copy_from_slice(&pattern[..chunk.len()]);
            }
        })
    }
}

/// The model. `C` is the contents of events: `()` for a payload of 0 bytes, [`Bytes`] for any other.
#[derive(Clone, Debug)]
pub struct Phold<C> {
    parameters: Parameters,
    /// The mean of the delay beyond the lookahead.
    mean_beyond: Delay,
    contents: std::marker::PhantomData<fn() -> C>,
}

/// The state of an LP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The number of events executed.
    events: u64,
    /// The sum of the delays drawn, in picoseconds. A sum of more than 213 days is an error.
    delays_ps: u64,
}

impl<C> Phold<C> {
    /// Creates the model of these parameters, which the caller has checked by [`Parameters::check`].
    pub fn new(parameters: Parameters) -> Phold<C> {
        let mean_beyond = Delay::from_ps(parameters.mean_delay.as_ps().saturating_sub(parameters.lookahead.as_ps()));
        Phold { parameters, mean_beyond, contents: std::marker::PhantomData }
    }

    #[inline(always)]
    fn draw_delay(&self, rng: &Rng) -> Delay {
        let Parameters { lookahead, delay, mean_delay, .. } = self.parameters;
        match delay {
            DelayKind::Exponential => lookahead.saturating_add(rng.exponential_delay(self.mean_beyond)),
            DelayKind::Uniform => lookahead.saturating_add(self.mean_beyond.scaled(2.0 * rng.unit())),
            DelayKind::Constant => mean_delay,
            DelayKind::Quantised => {
                let steps = rng.exponential_delay(mean_delay).as_ps().div_ceil(lookahead.as_ps()).max(1);
                Delay::from_ps(steps.saturating_mul(lookahead.as_ps()))
            }
        }
    }

    /// Keeps the processor busy, if the events of this LP do so.
    #[inline(always)]
    fn work(&self, ctx: &Context<'_, Self>)
    where
        C: Contents,
    {
        let Parameters { work_ns, work_share, work_moves, lps, .. } = self.parameters;
        if work_ns == 0 {
            return;
        }
        let (lps, busy) = (u64::from(lps), work_share * f64::from(lps));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `lps`")]
        let step = busy.ceil() as u64;
        let moves = ctx.now().as_ps().checked_div(work_moves.as_ps()).unwrap_or(0);
        // The number of the LP, counted from the first busy one.
        let number = (u64::from(ctx.id().0) + lps - (moves % lps) * step % lps) % lps;
        if (number as f64) < busy {
            keep_busy(work_ns);
        }
    }

    /// Executes an event: draws the receiver and the delay of the next event, and sends it. Returns the
    /// delay.
    #[inline(always)]
    fn send_next(&self, state: &mut State, ctx: &mut Context<'_, Self>) -> Delay
    where
        C: Contents,
    {
        let Parameters { remote, radius, payload, lps, .. } = self.parameters;
        self.work(ctx);
        state.events += 1;
        let delay = self.draw_delay(ctx.rng());
        let (sum, overflows) = state.delays_ps.overflowing_add(delay.as_ps());
        state.delays_ps = sum;
        if overflows {
            ctx.fail("the delays that it has drawn add up to more than 213 days, which its sum of them cannot hold");
        }
        let is_remote = ctx.rng().chance(remote);
        let message = C::with_length(payload, ctx.rng());
        if radius == 0 {
            // The receiver is drawn even if the LP itself receives the event. A branch that is taken half of
            // the time would cost more than the draw.
            #[expect(clippy::cast_possible_truncation, reason = "below `lps`, which is a u32")]
            let other = LpId(ctx.rng().below(u64::from(lps)) as u32);
            ctx.send_to(select_unpredictable(is_remote, other, ctx.id()), delay, message);
        } else if is_remote {
            ctx.send(Port(0), delay, message);
        } else {
            ctx.send_self(delay, message);
        }
        delay
    }
}

impl Parameters {
    /// Checks that the parameters make sense.
    ///
    /// # Errors
    ///
    /// Returns the first wrong key, and a sentence about it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.lookahead > self.mean_delay {
            let Parameters { lookahead, mean_delay, .. } = self;
            return Err(("lookahead", format!("the lookahead of {lookahead} is above the mean delay of {mean_delay}")));
        }
        if self.delay == DelayKind::Quantised && self.lookahead == Delay::ZERO {
            return Err(("lookahead", "delays cannot be rounded up to whole lookaheads of zero".into()));
        }
        Ok(())
    }
}

impl<C: Contents> Model for Phold<C> {
    type State = State;
    type Message = C;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.parameters.lps
    }

    fn channels(&self) -> Channels {
        let Parameters { lps, lookahead, radius, .. } = self.parameters;
        if radius == 0 {
            return Channels::whole(lookahead);
        }
        let mut channels = Channels::none();
        for id in 0..lps {
            let receiver = (u64::from(id) + u64::from(radius)) % u64::from(lps);
            channels.connect(LpId(id), LpId::from_index(usize::try_from(receiver).expect("below lps")), lookahead);
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        assert_eq!(metrics.tally("events_per_lp", Unit::Count), EVENTS_PER_LP);
        assert_eq!(metrics.tally("delay_per_lp", Unit::Picoseconds), DELAY_PER_LP);
        assert_eq!(metrics.value("mean_delay", Unit::Seconds), MEAN_DELAY);
        metrics
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        for _ in 0..self.parameters.start_events {
            let delay = self.draw_delay(ctx.rng());
            let message = C::with_length(self.parameters.payload, ctx.rng());
            ctx.send_self(delay, message);
        }
        State::default()
    }

    #[inline]
    fn handle(&self, state: &mut State, _: Body<&C>, ctx: &mut Context<'_, Self>) {
        self.send_next(state, ctx);
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        digest.word(state.events);
        digest.word(state.delays_ps);
    }

    fn finish(&self, _: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        metrics.observe(EVENTS_PER_LP, state.events);
        metrics.observe(DELAY_PER_LP, state.delays_ps);
    }

    /// The messages in transit are not looked at.
    fn splits_unfinished(&self) -> bool {
        true
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        let sum = |metric| metrics.by_id(metric).and_then(MetricValue::tally).map_or(0.0, |tally| tally.sum() as f64);
        let (events, delays_ps) = (sum(EVENTS_PER_LP), sum(DELAY_PER_LP));
        if events > 0.0 {
            metrics.set(MEAN_DELAY, delays_ps / events / 1e12);
        }
        Ok(())
    }
}

impl<C: Contents + Wire> SaveModel for Phold<C> {
    fn write_state(&self, _: LpId, state: &Self::State, to: &mut Vec<u8>) {
        wire::write(state, to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed> {
        wire::read(from)
    }
}

/// Keeps the processor busy. No result depends on this.
#[cold]
#[expect(clippy::disallowed_methods, reason = "the clock decides how long the loop spins, and nothing else")]
fn keep_busy(nanoseconds: u64) {
    let begin = std::time::Instant::now();
    while begin.elapsed().as_nanos() < u128::from(nanoseconds) {
        std::hint::spin_loop();
    }
}

/// A record from which an event is undone.
#[derive(Debug)]
pub enum Undo {
    /// The state before the event.
    Copy(State),
    /// The delay that was drawn, from which the reverse handler computes the state before.
    Reverse(Delay),
    /// The number of events before.
    Events(u64),
    /// The sum of delays before.
    Delays(u64),
}

impl<C: Contents> Restorable for Phold<C> {
    type Undo = Undo;

    #[inline]
    fn handle_undoable(&self, state: &mut State, _: Body<&C>, ctx: &mut Context<'_, Self>, log: &mut UndoLog<Undo>) {
        match self.parameters.restore {
            Restore::Copy => log.push(Undo::Copy(*state)),
            Restore::Log => {
                log.push(Undo::Events(state.events));
                log.push(Undo::Delays(state.delays_ps));
            }
            Restore::Reverse => {}
        }
        let delay = self.send_next(state, ctx);
        if self.parameters.restore == Restore::Reverse {
            log.push(Undo::Reverse(delay));
        }
    }

    fn copies(&self) -> bool {
        self.parameters.restore == Restore::Copy
    }

    #[inline]
    fn undo(&self, state: &mut State, _: Body<&C>, log: &mut UndoLog<Undo>) {
        while let Some(record) = log.pop() {
            match record {
                Undo::Copy(before) => *state = before,
                Undo::Events(before) => state.events = before,
                Undo::Delays(before) => state.delays_ps = before,
                Undo::Reverse(delay) => {
                    state.events -= 1;
                    state.delays_ps = state.delays_ps.wrapping_sub(delay.as_ps());
                }
            }
        }
    }
}
