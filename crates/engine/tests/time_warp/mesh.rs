//! A model without lookahead, written out in its test: what its LPs do are closures.

use parades_core::prelude::*;
use std::sync::Mutex;

type Start = Box<dyn Fn(&mut Context<'_, Mesh>) + Sync>;
type Handle = Box<dyn Fn(&mut u64, Body<&u64>, &mut Context<'_, Mesh>) + Sync>;
type Act = Box<dyn Fn(u64, u64, &mut GlobalContext<'_, Mesh>) + Sync>;

/// LPs whose states and messages are numbers, and which declare nothing unless told to: anyone may send to anyone at once.
pub(crate) struct Mesh {
    pub(crate) lps: u32,
    pub(crate) channels: Channels,
    pub(crate) controllers: Controllers,
    /// Times and numbers of the global events.
    pub(crate) globals: Vec<(u64, u64)>,
    pub(crate) round_limit: u32,
    pub(crate) start: Start,
    pub(crate) handle: Handle,
    /// Given the number of the global event, and the sum of the states.
    pub(crate) act: Act,
    /// The messages that were still on their way at the end.
    pub(crate) unfinished: Mutex<Vec<String>>,
}

pub(crate) const COUNTER: MetricId = MetricId(0);
pub(crate) const HISTOGRAM: MetricId = MetricId(1);
pub(crate) const FLOAT: MetricId = MetricId(2);
pub(crate) const SERIES: MetricId = MetricId(3);

impl Mesh {
    /// Each LP begins with an event to itself.
    pub(crate) fn new(
        lps: u32,
        handle: impl Fn(&mut u64, Body<&u64>, &mut Context<'_, Mesh>) + Sync + 'static,
    ) -> Mesh {
        Mesh {
            lps,
            channels: Channels::undeclared(),
            controllers: Controllers::default(),
            globals: Vec::new(),
            round_limit: 1 << 20,
            start: Box::new(|ctx| {
                let delay = ps(ctx.rng().below(100));
                ctx.send_self(delay, 0);
            }),
            handle: Box::new(handle),
            act: Box::new(|_, _, _| {}),
            unfinished: Mutex::default(),
        }
    }

    /// Every event leads to another, at an LP drawn from all.
    pub(crate) fn all_to_all(lps: u32) -> Mesh {
        Mesh::new(lps, |_, event, ctx| wander(event, ctx))
    }
}

/// Sends one event to an LP drawn from all: one in four at once, the others after less than 200 ps.
pub(crate) fn wander(event: Body<&u64>, ctx: &mut Context<'_, Mesh>) {
    let Body::Message(hops) = event.copied() else { return };
    let lps = u64::from(ctx.lps());
    let to = ctx.rng().below(lps);
    let delay = if ctx.rng().below(4) == 0 { 0 } else { ctx.rng().below(200) };
    ctx.send_to(lp(to), ps(delay), hops + 1);
}

pub(crate) fn lp(id: u64) -> LpId {
    LpId(u32::try_from(id).expect("an id of an LP"))
}

/// A delay in picoseconds.
pub(crate) fn ps(ps: u64) -> Delay {
    Delay::from_ps(ps)
}

/// A time in picoseconds.
pub(crate) fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

/// A global event, by its number.
#[derive(Clone, Debug)]
pub(crate) struct Numbered(pub(crate) u64);

impl Global<Mesh> for Numbered {
    type Summary = u64;
    fn visit(&self, _: &Mesh, state: &mut u64, _: &mut Context<'_, Mesh>) -> u64 {
        *state = state.wrapping_mul(3).wrapping_add(self.0);
        *state
    }
    fn fold(&self, left: u64, right: u64) -> u64 {
        left.wrapping_add(right)
    }
    fn act(&self, model: &Mesh, sum: u64, ctx: &mut GlobalContext<'_, Mesh>) {
        (model.act)(self.0, sum, ctx);
    }
}

impl Model for Mesh {
    type State = u64;
    type Message = u64;
    type Global = Numbered;
    fn lps(&self) -> u32 {
        self.lps
    }
    fn channels(&self) -> Channels {
        self.channels.clone()
    }
    fn controllers(&self) -> Controllers {
        self.controllers.clone()
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        assert_eq!(metrics.counter("counter", Unit::Count), COUNTER);
        assert_eq!(metrics.histogram("histogram", Unit::Count), HISTOGRAM);
        assert_eq!(metrics.float("float", Unit::Count), FLOAT);
        assert_eq!(metrics.series("series", Unit::Count), SERIES);
        metrics
    }
    fn globals(&self) -> Vec<(Time, Numbered)> {
        self.globals.iter().map(|&(time, number)| (at(time), Numbered(number))).collect()
    }
    fn round_limit(&self) -> u32 {
        self.round_limit
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        (self.start)(ctx);
        0
    }
    fn handle(&self, state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
        *state += 1;
        (self.handle)(state, event, ctx);
    }
    fn fold(&self, state: &u64, digest: &mut Digest) {
        digest.word(*state);
    }
    fn unfinished(&self, messages: Unfinished<u64>, _: &mut Metrics) {
        let lines = messages.in_order().map(|event| parades_core::trace::line(&event));
        self.unfinished.lock().expect("nobody panicked").extend(lines);
    }
}

impl ByCopy for Mesh {}
