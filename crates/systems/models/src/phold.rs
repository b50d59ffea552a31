//! PHOLD: the classic synthetic workload. Every event executed sends one event on, to the LP itself or to another.
//!
//! Source: R. Fujimoto, *Performance of Time Warp under synthetic workloads*, SCS Multiconference on Distributed Simulation, 1990.

use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use std::hint::select_unpredictable;

/// How the delay of an event is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayKind {
    /// Lookahead + exponential, with the given mean in all.
    Exponential,
    /// Lookahead + uniform, with the given mean in all.
    Uniform,
    /// The mean, always.
    Constant,
    /// Exponential, rounded up to whole lookaheads: many events at one time.
    Quantised,
}

/// How an LP's state is put back when an execution is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// A copy of the state before each event.
    Copy,
    /// A reverse handler, which needs the delay that was drawn.
    Reverse,
    /// The old values of what changed.
    Log,
}

/// The parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Logical processes.
    pub lps: u32,
    /// Events that each LP begins with.
    pub start_events: u32,
    /// The fraction of events sent to an LP drawn uniformly, the sender included.
    pub remote: f64,
    /// The least delay.
    pub lookahead: Delay,
    /// The mean delay, lookahead included.
    pub mean_delay: Delay,
    /// The distribution of delays.
    pub delay: DelayKind,
    /// 0: a remote event goes to any LP; k: to `(id + k) mod lps`.
    pub radius: u32,
    /// Bytes that each event carries.
    pub payload: usize,
    /// Nanoseconds that each event keeps the processor busy.
    pub work_ns: u64,
    /// The share of LPs whose events do, the first ones: with less than all, some workers have more to do than others.
    pub work_share: f64,
    /// How state is restored.
    pub restore: Restore,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            lps: 1024,
            start_events: 1,
            remote: 0.5,
            lookahead: Delay::from_ms(100),
            mean_delay: Delay::from_secs(1),
            delay: DelayKind::Exponential,
            radius: 0,
            payload: 0,
            work_ns: 0,
            work_share: 1.0,
            restore: Restore::Copy,
        }
    }
}

const EVENTS_PER_LP: MetricId = MetricId(0);
const DELAY_PER_LP: MetricId = MetricId(1);
const MEAN_DELAY: MetricId = MetricId(2);

/// What an event carries: nothing, or bytes.
pub trait Carried: Payload {
    /// A payload of `bytes` bytes.
    fn of(bytes: usize, rng: &mut Rng) -> Self;
}

impl Carried for () {
    #[inline]
    fn of(_: usize, _: &mut Rng) {}
}

impl Carried for Box<[u8]> {
    fn of(bytes: usize, rng: &mut Rng) -> Box<[u8]> {
        let pattern = rng.next_u64().to_le_bytes();
        pattern.iter().copied().cycle().take(bytes).collect()
    }
}

/// The model. `C` is what events carry: `()` for a payload of 0 bytes, `Box<[u8]>` for others.
#[derive(Clone, Debug)]
pub struct Phold<C> {
    parameters: Parameters,
    /// The mean of what is added to the lookahead.
    mean_beyond: Delay,
    carried: std::marker::PhantomData<fn() -> C>,
}

/// What an LP remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Events executed.
    events: u64,
    /// The sum of the delays drawn, in picoseconds; more than 213 days of them are an error.
    delays_ps: u64,
}

impl<C> Phold<C> {
    /// The model of these parameters. [`Parameters::check`] says whether they make sense.
    pub fn new(parameters: Parameters) -> Phold<C> {
        let mean_beyond = Delay::from_ps(parameters.mean_delay.as_ps().saturating_sub(parameters.lookahead.as_ps()));
        Phold { parameters, mean_beyond, carried: std::marker::PhantomData }
    }

    #[inline(always)]
    fn draw_delay(&self, rng: &mut Rng) -> Delay {
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

    /// Keeps the processor busy for as long as an event of this LP is to.
    #[inline(always)]
    fn work(&self, ctx: &Context<'_, Self>)
    where
        C: Carried,
    {
        let Parameters { work_ns, work_share, lps, .. } = self.parameters;
        if work_ns > 0 && f64::from(ctx.id().0) < work_share * f64::from(lps) {
            keep_busy(work_ns);
        }
    }

    /// What an event does: draws whom the next goes to, and when, and sends it. With which delay.
    #[inline(always)]
    fn send_on(&self, state: &mut State, ctx: &mut Context<'_, Self>) -> Delay
    where
        C: Carried,
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
        let message = C::of(payload, ctx.rng());
        if radius == 0 {
            // Drawn where it is not needed too: a branch that goes either way as often would cost more.
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
    /// What makes no sense: the key and a sentence.
    ///
    /// # Errors
    ///
    /// The first such key.
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

impl<C: Carried> Model for Phold<C> {
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
            let message = C::of(self.parameters.payload, ctx.rng());
            ctx.send_self(delay, message);
        }
        State::default()
    }

    #[inline]
    fn handle(&self, state: &mut State, _: Body<&C>, ctx: &mut Context<'_, Self>) {
        self.send_on(state, ctx);
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        digest.word(state.events);
        digest.word(state.delays_ps);
    }

    fn finish(&self, _: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        metrics.observe(EVENTS_PER_LP, state.events);
        metrics.observe(DELAY_PER_LP, state.delays_ps);
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

/// Keeps the processor busy. No result depends on it.
#[cold]
#[expect(clippy::disallowed_methods, reason = "the clock decides how long the loop spins, and nothing else")]
fn keep_busy(nanoseconds: u64) {
    let begin = std::time::Instant::now();
    while begin.elapsed().as_nanos() < u128::from(nanoseconds) {
        std::hint::spin_loop();
    }
}

/// What undoing an event needs.
#[derive(Debug)]
pub enum Undo {
    /// All of the state before.
    Copy(State),
    /// The delay that was drawn: the rest is computed back.
    Reverse(Delay),
    /// The number of events before.
    Events(u64),
    /// The sum of delays before.
    Delays(u64),
}

impl<C: Carried> Restorable for Phold<C> {
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
        let delay = self.send_on(state, ctx);
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
