//! A model that a test writes as closures. Its times are in picoseconds.

use parades_core::any_model::SaveModel;
use parades_core::prelude::*;
use parades_core::wire;
use std::sync::Mutex;

type Start = Box<dyn Fn(&mut Context<'_, Script>) + Sync>;
type Handle = Box<dyn Fn(&mut u64, Body<&u64>, &mut Context<'_, Script>) + Sync>;
type Act = Box<dyn Fn(u64, u64, &mut GlobalContext<'_, Script>) + Sync>;

/// The model. Its states and messages are numbers. It has metrics of several kinds.
pub(crate) struct Script {
    pub(crate) lps: u32,
    pub(crate) channels: Channels,
    pub(crate) controllers: Controllers,
    /// The times and numbers of the global events.
    pub(crate) globals: Vec<(u64, u64)>,
    pub(crate) round_limit: u32,
    /// True if the states stay on their threads.
    pub(crate) stays_on_threads: bool,
    pub(crate) start: Start,
    pub(crate) handle: Handle,
    /// Called for each LP, with the number of the global event in place of an event.
    pub(crate) visit: Handle,
    /// Called with the number of the global event, and the sum of the states.
    pub(crate) act: Act,
    /// Called before the state of an LP is written.
    pub(crate) on_write: fn(LpId),
    /// The messages that were in flight at the end.
    pub(crate) unfinished: Mutex<Vec<String>>,
}

pub(crate) const COUNTER: MetricId = MetricId(0);
pub(crate) const HISTOGRAM: MetricId = MetricId(1);
pub(crate) const FLOAT: MetricId = MetricId(2);
pub(crate) const SERIES: MetricId = MetricId(3);

impl Script {
    /// Makes a model that declares no channels.
    pub(crate) fn new(
        lps: u32,
        start: impl Fn(&mut Context<'_, Script>) + Sync + 'static,
        handle: impl Fn(&mut u64, Body<&u64>, &mut Context<'_, Script>) + Sync + 'static,
    ) -> Script {
        Script {
            lps,
            channels: Channels::undeclared(),
            controllers: Controllers::default(),
            globals: Vec::new(),
            round_limit: 1 << 20,
            stays_on_threads: false,
            start: Box::new(start),
            handle: Box::new(handle),
            visit: Box::new(|_, _, _| {}),
            act: Box::new(|_, _, _| {}),
            on_write: |_| {},
            unfinished: Mutex::default(),
        }
    }
}

/// Returns a delay in picoseconds.
pub(crate) fn ps(ps: u64) -> Delay {
    Delay::from_ps(ps)
}

/// A global event, by its number.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Numbered(pub(crate) u64);

impl Global<Script> for Numbered {
    type Summary = u64;
    fn visit(&self, model: &Script, state: &mut u64, ctx: &mut Context<'_, Script>) -> u64 {
        (model.visit)(state, Body::Message(&self.0), ctx);
        *state
    }
    fn fold(&self, left: u64, right: u64) -> u64 {
        left.wrapping_add(right)
    }
    fn act(&self, model: &Script, summary: u64, ctx: &mut GlobalContext<'_, Script>) {
        (model.act)(self.0, summary, ctx);
    }
}

impl Model for Script {
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
        self.globals.iter().map(|&(time, number)| (Time::from_ps(time), Numbered(number))).collect()
    }
    fn round_limit(&self) -> u32 {
        self.round_limit
    }
    fn stays_on_threads(&self) -> bool {
        self.stays_on_threads
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        (self.start)(ctx);
        0
    }
    fn handle(&self, state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
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

impl ByCopy for Script {}

impl SaveModel for Script {
    fn write_state(&self, lp: LpId, state: &u64, to: &mut Vec<u8>) {
        (self.on_write)(lp);
        wire::write(state, to);
    }
    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<u64, wire::Malformed> {
        wire::read(from)
    }
}
