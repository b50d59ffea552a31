//! A stepped run is the unbroken run, whoever executes it and whatever is done between the steps.

use parades_core::any_model::SaveModel;
use parades_core::cut::{AtRest, Cuts, Then};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use parades_engine::any_engine::AnyEngine;
use parades_engine::stepped::{Run, Steppable};
use parades_engine::{null_message, rounds, sequential, time_warp, window};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const LPS: u32 = 8;
const UNTIL: Time = Time::from_ms(5);
/// A handler that gets this number panics.
const PANICS: u64 = 666;

/// LPs that pass numbers on at random, with timers, and a global event each millisecond.
struct Relay {
    /// The number with which each LP begins.
    first: u64,
    /// Numbers that LPs send to themselves: the LP, the time, the number.
    own: Vec<(LpId, Time, u64)>,
    /// The time at which a global event ends the run.
    stops_at: Time,
}

const METRICS: Declared<3> = Declared::new([
    Declaration::counter("passed", Unit::Count),
    Declaration::float("drawn", Unit::Count),
    Declaration::series("sums", Unit::Count),
]);
const PASSED: CounterId = METRICS.counter("passed");
const DRAWN: FloatId = METRICS.float("drawn");
const SUMS: SeriesId = METRICS.series("sums");
const TIMER: TimerId = TimerId(0);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Passed {
    sum: u64,
    timers: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tick;

impl Global<Relay> for Tick {
    type Summary = u64;
    fn visit(&self, _: &Relay, state: &mut Passed, _: &mut Context<'_, Relay>) -> u64 {
        state.sum % 1000
    }
    fn fold(&self, left: u64, right: u64) -> u64 {
        left + right
    }
    fn act(&self, model: &Relay, sum: u64, ctx: &mut GlobalContext<'_, Relay>) {
        ctx.point(SUMS, sum as f64);
        ctx.schedule(Delay::from_ms(1), Tick);
        if ctx.now() == model.stops_at {
            ctx.stop();
        }
    }
}

impl Model for Relay {
    type State = Passed;
    type Message = u64;
    type Global = Tick;
    fn lps(&self) -> u32 {
        LPS
    }
    fn channels(&self) -> Channels {
        Channels::whole(Delay::from_us(10))
    }
    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }
    fn globals(&self) -> Vec<(Time, Tick)> {
        vec![(Time::from_ms(1), Tick)]
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> Passed {
        ctx.send_self(Delay::from_us(u64::from(ctx.id().0)), self.first);
        for &(lp, time, number) in &self.own {
            if lp == ctx.id() {
                ctx.send_self(time.since(Time::ZERO), number);
            }
        }
        Passed::default()
    }
    fn handle(&self, state: &mut Passed, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
        let Body::Message(&number) = event else {
            state.timers += 1;
            return;
        };
        assert!(number != PANICS, "it got {PANICS}");
        state.sum = state.sum.wrapping_mul(31).wrapping_add(number);
        ctx.count(PASSED, 1);
        ctx.observe_float(DRAWN, ctx.rng().unit());
        if number > 0 {
            let (to, delay) = (ctx.random_lp(LPS), ctx.rng().uniform_delay(Delay::from_us(10), Delay::from_us(60)));
            ctx.send_to(to, delay, number - 1);
            ctx.set_timer(TIMER, Delay::from_us(25));
        }
    }
    fn fold(&self, state: &Passed, digest: &mut Digest) {
        digest.word(state.sum);
        digest.word(state.timers);
    }
}

impl ByCopy for Relay {}

impl SaveModel for Relay {
    fn write_state(&self, _: LpId, state: &Passed, to: &mut Vec<u8>) {
        wire::write(state, to);
    }
    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Passed, Malformed> {
        wire::read(from)
    }
}

fn relay() -> Relay {
    Relay { first: 200, own: Vec::new(), stops_at: Time::MAX }
}

fn steppable(model: Relay) -> Steppable<Relay> {
    Steppable::from(model).undoing().saving()
}

fn options() -> RunOptions<'static> {
    RunOptions { seed: 7, ..RunOptions::until(UNTIL) }
}

fn start(model: impl Into<Steppable<Relay>>, engine: AnyEngine) -> Run<Relay> {
    Run::start(model, engine, options()).expect("it starts")
}

fn engines() -> Vec<AnyEngine> {
    let mut engines = vec![AnyEngine::Auto { threads: 2 }, AnyEngine::Sequential];
    for workers in 1..=3 {
        let threshold = rounds::Threshold::Fixed(2);
        engines.extend([
            AnyEngine::Rounds(rounds::Settings { threshold, ..rounds::Settings::of_threads(workers) }),
            AnyEngine::Window(window::Settings::of_threads(workers)),
            AnyEngine::NullMessage(null_message::Settings::of_threads(workers)),
            AnyEngine::TimeWarp(time_warp::Settings::of_threads(workers)),
        ]);
    }
    engines
}

/// Everything of an outcome that does not depend on the engine.
fn answer(outcome: &Outcome) -> String {
    let Outcome { digest, lp_digests, events, global_events, end, stopped_at, metrics, .. } = outcome;
    format!("{digest:?} {lp_digests:?} {events} {global_events} {end} {stopped_at:?} {metrics:?}")
}

fn states(run: &mut Run<Relay>) -> Vec<Passed> {
    let each: Vec<_> = (0..LPS).map(|lp| run.state(LpId(lp), Passed::clone).expect("it has one")).collect();
    let all = run.fold(Vec::new(), |mut all, lp, state: &Passed| {
        assert_eq!(lp.index(), all.len());
        all.push(state.clone());
        all
    });
    assert_eq!(all, Ok(each.clone()));
    each
}

#[test]
fn steps_change_nothing_on_any_engine() {
    let unbroken = answer(&sequential::run(&relay(), options()).expect("it runs"));
    let mut at_steps = Vec::new();
    for engine in engines() {
        let (mut run, mut seen) = (start(steppable(relay()), engine), Vec::new());
        while run.now() < UNTIL {
            let next = run.now().checked_add(Delay::from_us(333)).expect("there is such a time");
            assert_eq!(run.advance(next).expect("it goes on"), next.min(UNTIL), "{engine:?}");
            let (digest, metrics) = (run.digest().expect("it goes on"), run.metrics().expect("it goes on"));
            seen.push(format!("{} {} {digest:?} {metrics:?} {:?}", run.now(), run.events(), states(&mut run)));
        }
        if at_steps.is_empty() {
            at_steps.clone_from(&seen);
        }
        assert_eq!(seen, at_steps, "{engine:?}");
        assert_eq!(answer(&run.conclude().expect("it ends")), unbroken, "{engine:?}");
    }
    assert!(at_steps.len() == 16 && at_steps[14] != at_steps[15]);
}

#[test]
fn a_run_that_is_not_stepped_concludes_as_the_unbroken_one() {
    let unbroken = answer(&sequential::run(&relay(), options()).expect("it runs"));
    for engine in engines() {
        assert_eq!(answer(&start(steppable(relay()), engine).conclude().expect("it ends")), unbroken, "{engine:?}");
    }
}

#[test]
fn a_run_that_ends_now_is_the_one_until_now() {
    let until = Time::from_ms(2); // a global event comes at this time
    let shorter = sequential::run(&relay(), RunOptions { until, ..options() }).expect("it runs");
    for engine in engines() {
        let mut run = start(steppable(relay()), engine);
        run.advance(until).expect("it goes on");
        let outcome = run.conclude_now().expect("it ends");
        assert_eq!((outcome.global_events, answer(&outcome)), (2, answer(&shorter)), "{engine:?}");
    }
}

/// Numbers from outside: the time at which they are given, the LP, the time at which they arrive, the number.
const INJECTED: [(u64, u32, u64, u64); 4] =
    [(0, 3, 150_000_001, 9), (1_000, 0, 1_000_000_000, 12), (1_000, 7, 1_200_000_007, 3), (2_500, 0, 2_500_000_000, 5)];

/// Advances a run, and gives it the numbers.
fn feed(run: &mut Run<Relay>, injected: &[(u64, u32, u64, u64)]) {
    for &(at_us, lp, time, number) in injected {
        run.advance(Time::from_ps(at_us * 1_000_000)).expect("it goes on");
        run.inject(LpId(lp), Time::from_ps(time), number).expect("it enters");
    }
}

#[test]
fn events_from_outside_give_one_answer_on_every_engine() {
    for tie_seed in [None, Some(3)] {
        let answers = engines().into_iter().map(|engine| {
            let options = RunOptions { tie_seed, ..options() };
            let mut run = Run::start(steppable(relay()), engine, options).expect("it starts");
            feed(&mut run, &INJECTED);
            (engine, answer(&run.conclude().expect("it ends")))
        });
        let answers: Vec<_> = answers.collect();
        for (engine, answer) in &answers {
            assert_eq!(*answer, answers[0].1, "{engine:?}");
        }
    }
}

#[test]
fn events_from_outside_do_what_the_same_events_of_the_model_do() {
    let own = INJECTED.map(|(_, lp, time, number)| (LpId(lp), Time::from_ps(time), number));
    let mut itself = start(steppable(Relay { own: own.into(), ..relay() }), AnyEngine::Sequential);
    let mut fed = start(steppable(relay()), AnyEngine::Sequential);
    feed(&mut fed, &INJECTED);
    for run in [&mut itself, &mut fed] {
        run.advance(UNTIL).expect("it goes on");
    }
    assert_eq!(states(&mut itself), states(&mut fed));
    let (itself, fed) = (itself.conclude().expect("it ends"), fed.conclude().expect("it ends"));
    assert_eq!((itself.events, format!("{:?}", itself.metrics)), (fed.events, format!("{:?}", fed.metrics)));
    assert_ne!(itself.digest, fed.digest, "the digest counts the sender");
}

#[test]
fn events_from_outside_come_last_and_in_the_order_given() {
    let at = Time::from_ms(2);
    for engine in engines() {
        let mut run = start(steppable(Relay { first: 0, own: vec![(LpId(0), at, 7)], ..relay() }), engine);
        let early = run.inject(LpId(0), at, 5).expect("it enters");
        run.advance(at).expect("it goes on");
        let late = run.inject(LpId(0), at, 6).expect("it enters");
        assert_eq!((early.sender, early.sequence, late.sequence), (Sender::OUTSIDE, 0, 1));
        run.advance(at.checked_add(Delay::from_ps(1)).expect("there is such a time")).expect("it goes on");
        assert_eq!(run.state(LpId(0), |state| state.sum).expect("it has one"), (7 * 31 + 5) * 31 + 6, "{engine:?}");
    }
}

#[test]
fn branches_do_not_see_each_other() {
    let alone = |injected: &[(u64, u32, u64, u64)]| {
        let mut run = start(steppable(relay()), AnyEngine::Sequential);
        feed(&mut run, injected);
        answer(&run.conclude().expect("it ends"))
    };
    for engine in engines() {
        let mut run = start(steppable(relay()), engine);
        feed(&mut run, &INJECTED[..2]);
        let mut other = run.branch().expect("it can be saved");
        assert_eq!((other.now(), other.digest()), (run.now(), run.digest()));
        feed(&mut run, &INJECTED[2..3]);
        feed(&mut other, &INJECTED[3..]);
        assert_eq!(answer(&run.conclude().expect("it ends")), alone(&INJECTED[..3]), "{engine:?}");
        let expected = alone(&[INJECTED[0], INJECTED[1], INJECTED[3]]);
        // A run may move to another thread.
        let other = std::thread::spawn(move || other.conclude()).join().expect("it does not panic");
        assert_eq!(answer(&other.expect("it ends")), expected, "{engine:?}");
    }
}

#[test]
fn a_run_goes_on_under_one_engine_after_the_other() {
    let unbroken = answer(&sequential::run(&relay(), options()).expect("it runs"));
    let mut run = start(steppable(relay()), AnyEngine::Sequential);
    for (step, engine) in (1..).zip(engines()) {
        run.advance(Time::from_ps(step * 301_000_000)).expect("it goes on");
        run.continue_under(engine).expect("the model can be restored");
        assert_eq!(run.now(), Time::from_ps(step * 301_000_000));
    }
    assert_eq!(answer(&run.conclude().expect("it ends")), unbroken);
}

#[test]
fn a_saved_run_has_the_same_bytes_on_every_engine_and_goes_on_under_any() {
    let mut files = Vec::new();
    for engine in engines() {
        let (mut run, mut file) = (start(steppable(relay()), engine), Vec::new());
        feed(&mut run, &INJECTED[..3]);
        run.save(&mut file).expect("it is written");
        files.push(file);
        feed(&mut run, &INJECTED[3..]);
        let unbroken = answer(&run.conclude().expect("it ends"));
        for engine in engines() {
            let mut run = Run::load(steppable(relay()), engine, &*files[0]).expect("it is read");
            assert_eq!(run.now(), Time::from_ms(1));
            feed(&mut run, &INJECTED[3..]);
            assert_eq!(answer(&run.conclude().expect("it ends")), unbroken, "{engine:?}");
        }
    }
    assert!(files.iter().all(|file| *file == files[0]));
}

/// A model that is another type, and has the same bytes.
struct Other(Relay);

impl Model for Other {
    type State = ();
    type Message = u64;
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        self.0.lps()
    }
    fn start(&self, _: &mut Context<'_, Self>) {}
    fn handle(&self, (): &mut (), _: Body<&u64>, _: &mut Context<'_, Self>) {}
}

impl SaveModel for Other {
    fn write_state(&self, _: LpId, (): &(), _: &mut Vec<u8>) {}
    fn read_state(&self, _: LpId, _: &mut &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

/// A file on a full disk.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is full"))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn bytes_that_are_no_run_of_the_model_are_refused() {
    let (mut run, mut file) = (start(steppable(relay()), AnyEngine::Sequential), Vec::new());
    feed(&mut run, &INJECTED[..2]);
    run.save(&mut file).expect("it is written");
    let error = |model: Steppable<Relay>, bytes: &[u8]| {
        let error = Run::load(model, AnyEngine::Sequential, bytes).expect_err("it is refused");
        let ErrorKind::Malformed(what) = error.kind() else { panic!("another error: {error}") };
        what.clone()
    };
    for at in (0..file.len()).step_by(7) {
        let mut damaged = file.clone();
        damaged[at] ^= 1;
        let what = error(steppable(relay()), &damaged);
        let expected = ["it is damaged, or not whole", "it is no saved run of the library"];
        assert_eq!(what, expected[usize::from(at < 16)], "byte {at}");
        assert!(!error(steppable(relay()), &file[..at]).is_empty());
    }
    assert_eq!(error(relay().into(), &file), "it is not said how the states of this model are read");
    let other = Run::load(Steppable::from(Other(relay())).saving(), AnyEngine::Sequential, &*file);
    let other = other.expect_err("it is a run of another model").to_string();
    assert!(other.contains("Relay`, and not of `") && other.contains("Other`"), "{other}");
    let full = run.save(Full).expect_err("the disk is full").to_string();
    assert_eq!(full, "the run cannot be saved: the disk is full; the run is as it was");
    run.conclude().expect("it goes on nevertheless");
}

#[test]
fn wishes_that_cannot_be_fulfilled_are_refused_and_change_nothing() {
    let unbroken = answer(&sequential::run(&relay(), options()).expect("it runs"));
    let mut run = Run::start(relay(), AnyEngine::Sequential, options()).expect("it starts");
    run.advance(Time::from_ms(1)).expect("it goes on");
    let early = run.inject(LpId(0), Time::from_ps(999_999_999), 1).expect_err("that is over");
    assert_eq!(
        early.to_string(),
        "no event can enter at 0.000999999999s, since the run is at 0.001s; the run is as it was"
    );
    let unknown = run.inject(LpId(8), Time::from_ms(1), 1).expect_err("there is no such LP");
    assert_eq!(unknown.to_string(), "no event can enter at LP 8, since there are 8 LPs; the run is as it was");
    assert_eq!(
        run.state(LpId(8), |_| ()).expect_err("there is no such LP").to_string(),
        "there is no LP 8, since there are 8 LPs; the run is as it was"
    );
    assert_eq!(run.advance(Time::ZERO), Ok(Time::from_ms(1)), "time does not go back");
    let time_warp = AnyEngine::TimeWarp(time_warp::Settings::of_threads(2));
    for refused in [
        run.continue_under(time_warp).expect_err("it is not undoing"),
        run.branch().expect_err("it is not saving"),
        run.save(Vec::new()).expect_err("it is not saving"),
        Run::start(relay(), time_warp, options()).expect_err("it is not undoing"),
    ] {
        assert!(matches!(refused.kind(), ErrorKind::Refused(_)), "{refused}");
    }
    let panic = catch_unwind(AssertUnwindSafe(|| run.state(LpId(0), |_| -> () { panic!("the user's") })));
    assert_eq!(panic.expect_err("it is passed on").downcast_ref(), Some(&"the user's"));
    assert_eq!(run.advance(Time::from_secs(9)), Ok(UNTIL), "the run has an end");
    assert_eq!(answer(&run.conclude().expect("it ends")), unbroken);
    let cuts = Cuts { next: Time::ZERO, at_end: false, act: Box::new(|_: &mut AtRest<'_, '_>| Then::End) };
    let refused = Run::start(steppable(relay()), AnyEngine::Sequential, RunOptions { cuts: Some(cuts), ..options() });
    assert!(matches!(refused.expect_err("it has its own").kind(), ErrorKind::Refused(_)));
}

#[test]
fn a_failure_comes_out_of_the_step_and_of_every_later_one() {
    for engine in engines() {
        let mut run = start(steppable(relay()), engine);
        run.inject(LpId(5), Time::from_ms(3), PANICS).expect("it enters");
        assert_eq!(run.advance(Time::from_ms(3)), Ok(Time::from_ms(3)), "the event lies after the cut");
        let error = run.advance(Time::from_ms(4)).expect_err("it panics");
        assert_eq!(*error.kind(), ErrorKind::Panic("it got 666".into()), "{engine:?}");
        assert_eq!(error.place().and_then(|place| place.event).map(|event| event.sender), Some(Sender::OUTSIDE));
        assert_eq!(run.digest(), Err(error.clone()));
        assert_eq!(run.inject(LpId(0), UNTIL, 1), Err(error.clone()));
        assert_eq!(run.continue_under(AnyEngine::Sequential), Err(error.clone()));
        assert_eq!(run.conclude().expect_err("it has failed"), error);
    }
}

#[test]
fn a_run_that_its_model_ends_stays_readable() {
    let model = || Relay { stops_at: Time::from_ms(2), ..relay() };
    let unbroken = answer(&sequential::run(&model(), options()).expect("it runs"));
    for engine in engines() {
        let mut run = start(steppable(model()), engine);
        assert_eq!(run.advance(Time::from_ms(2)), Ok(Time::from_ms(2)), "the cut lies before the global event");
        assert_eq!(run.advance(Time::from_ms(4)), Ok(Time::from_ms(2)), "{engine:?}");
        assert_eq!(run.advance(Time::from_ms(5)), Ok(Time::from_ms(2)));
        let refused = run.inject(LpId(0), UNTIL, 1).expect_err("it is over");
        assert_eq!(refused.to_string(), "the run has ended at 0.002s; the run is as it was");
        let (digest, metrics) = (run.digest().expect("it has one"), run.metrics().expect("it has some"));
        let outcome = run.conclude().expect("it has ended");
        assert_eq!((digest, format!("{metrics:?}")), (outcome.digest, format!("{:?}", outcome.metrics)));
        assert_eq!(answer(&outcome), unbroken, "{engine:?}");
    }
}

#[test]
fn a_run_that_is_dropped_ends_its_threads() {
    for engine in engines() {
        let model = Arc::new(relay());
        for until in [0, 1_234_567_890, UNTIL.as_ps()] {
            let mut run = start(Steppable::shared(Arc::clone(&model)).undoing(), engine);
            run.advance(Time::from_ps(until)).expect("it goes on");
            assert!(Arc::strong_count(&model) > 1);
            drop(run);
            assert_eq!(Arc::strong_count(&model), 1, "the thread that held the model has ended");
        }
    }
}
