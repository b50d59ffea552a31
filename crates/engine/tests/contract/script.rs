//! A model written out in its test: what its LPs do are closures. Its times are in picoseconds.

use parades_core::error::Error;
use parades_core::pending::HeapPending;
use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::{rollback_check, sequential};
use std::sync::Mutex;

type Start = Box<dyn Fn(&mut Context<'_, Script>) + Sync>;
type Handle = Box<dyn Fn(&mut u64, Body<&u64>, &mut Context<'_, Script>) + Sync>;
type Act = Box<dyn Fn(u64, u64, &mut GlobalContext<'_, Script>) + Sync>;

/// The model. Its state and its messages are numbers; it has one counter, one float and one series.
pub(crate) struct Script {
    pub(crate) lps: u32,
    pub(crate) channels: Channels,
    pub(crate) controllers: Controllers,
    /// Times and numbers of the global events.
    pub(crate) globals: Vec<(u64, u64)>,
    pub(crate) round_limit: u32,
    pub(crate) start: Start,
    pub(crate) handle: Handle,
    /// Given the number of the global event in place of an event.
    pub(crate) visit: Handle,
    /// Given the number of the global event, and the sum of the states.
    pub(crate) act: Act,
    /// The messages that were still on their way at the end.
    pub(crate) unfinished: Mutex<Vec<String>>,
}

pub(crate) const COUNTER: MetricId = MetricId(0);
pub(crate) const SERIES: MetricId = MetricId(1);

impl Script {
    /// A model that declares nothing.
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
            start: Box::new(start),
            handle: Box::new(handle),
            visit: Box::new(|_, _, _| {}),
            act: Box::new(|_, _, _| {}),
            unfinished: Mutex::default(),
        }
    }
}

/// A global event, by its number.
#[derive(Clone, Debug)]
pub(crate) struct Numbered(pub(crate) u64);

impl Global<Script> for Numbered {
    type Summary = u64;
    fn visit(&self, model: &Script, state: &mut u64, ctx: &mut Context<'_, Script>) -> u64 {
        (model.visit)(state, Body::Message(&self.0), ctx);
        *state
    }
    fn fold(&self, left: u64, right: u64) -> u64 {
        left + right
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
        assert_eq!(metrics.series("series", Unit::Count), SERIES);
        metrics
    }
    fn globals(&self) -> Vec<(Time, Numbered)> {
        self.globals.iter().map(|&(time, number)| (Time::from_ps(time), Numbered(number))).collect()
    }
    fn round_limit(&self) -> u32 {
        self.round_limit
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

/// What a run came to, and its trace.
pub(crate) type Answer = (Result<Outcome, Error>, Vec<String>);

fn ask(options: RunOptions<'static>, run: impl FnOnce(RunOptions<'_>) -> Result<Outcome, Error>) -> Answer {
    let mut trace = Vec::new();
    let sink = |line: &str| {
        trace.push(line.to_string());
        Ok(())
    };
    let tracer = Some(Tracer::new(TraceFilter::default(), sink));
    let RunOptions { until, seed, tie_seed, .. } = options;
    let result = run(RunOptions { seed, tie_seed, notes: true, tracer, ..RunOptions::until(until) });
    (result, trace)
}

/// The answer of `sequential`, which must be that of its other pending set and of `rollback_check`.
pub(crate) fn run(model: &Script, options: impl Fn() -> RunOptions<'static>) -> Answer {
    let (result, trace) = ask(options(), |options| sequential::run(model, options));
    let heap = ask(options(), |options| sequential::run_on::<Script, HeapPending<u64>>(model, options));
    let check = ask(options(), |options| rollback_check::run(model, options));
    for (other, other_trace) in [heap, check] {
        assert_eq!(trace, other_trace);
        match (&result, &other) {
            (Ok(a), Ok(b)) => {
                assert_eq!((a.digest, &a.lp_digests, &a.metrics), (b.digest, &b.lp_digests, &b.metrics));
                assert_eq!((a.events, a.global_events, a.end), (b.events, b.global_events, b.end));
            }
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
        }
    }
    (result, trace)
}

/// The outcome and the trace of a run until `ps`, which must succeed.
pub(crate) fn run_until(model: &Script, ps: u64) -> (Outcome, Vec<String>) {
    let (result, trace) = run(model, || RunOptions::until(Time::from_ps(ps)));
    (result.unwrap_or_else(|error| panic!("{error}")), trace)
}

/// The error of a run without end.
pub(crate) fn error_of(model: &Script) -> Error {
    run(model, || RunOptions::until(Time::MAX)).0.expect_err("the model fails")
}

/// A delay in picoseconds.
pub(crate) fn ps(ps: u64) -> Delay {
    Delay::from_ps(ps)
}
