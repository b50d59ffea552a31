//! LPs and partitions that move to other ranks: by measured time, and at random.

use crate::engines::support::script::{COUNTER, FLOAT, SERIES, Script};
use crate::engines::support::stat;
use parades_core::any_model::{Typed, with_model};
use parades_core::cut::Span;
use parades_core::error::{Error, ErrorKind};
use parades_core::prelude::*;
use parades_engine::balance::Balance;
use parades_engine::time_warp::{self, Ahead};
use parades_engine::{OfRank, null_message, sequential, window};
use parades_transport::{Fabric, Loopback};
use std::time::{Duration, Instant};

fn ms(ms: u64) -> Delay {
    Delay::from_ms(ms)
}

fn until(at: u64) -> RunOptions<'static> {
    RunOptions::until(Time::ZERO.checked_add(ms(at)).expect("soon"))
}

/// Makes a model whose LPs send to themselves each millisecond, and to the next LP now and then. They set
/// timers, and record in metrics of each kind. Any LP may send to any other if `anyone`. A global event each
/// 50 ms adds to all states, and sends. `work` is called for each event.
fn busy(lps: u32, anyone: bool, work: fn(LpId, Time)) -> Script {
    let handle = move |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        work(ctx.id(), ctx.now());
        ctx.count(COUNTER, 1);
        ctx.observe_float(FLOAT, 1.0 / (1 + ctx.rng().below(1_000)) as f64);
        match event.copied() {
            Body::Message(0) => {
                ctx.send_self(ms(1), 0);
                let drawn = ctx.rng().below(7);
                if drawn == 0 && anyone {
                    ctx.send_to(LpId((ctx.id().0 + 1) % lps), ms(10), 1);
                } else if drawn == 0 {
                    ctx.send(Port(0), ms(10), 1);
                }
                // The wake of a timer that is set again is pending for an earlier time than the timer.
                ctx.set_timer(TimerId(0), ms(1 + drawn));
            }
            Body::Timer(_) => ctx.observe_float(FLOAT, *state as f64),
            Body::Message(_) => ctx.cancel_timer(TimerId(0)),
        }
    };
    let mut model = Script::new(lps, |ctx| ctx.send_self(ms(1), 0), handle);
    model.channels = if anyone { Channels::whole(ms(10)) } else { Channels::none() };
    for lp in (0..lps).filter(|_| !anyone) {
        model.channels.connect(LpId(lp), LpId((lp + 1) % lps), ms(10));
    }
    model.globals = (1..20).map(|number| (ms(50 * number).as_ps(), number)).collect();
    model.visit = Box::new(|state, _, ctx| {
        *state += 1;
        ctx.set_timer(TimerId(1), ms(7));
    });
    model.act = Box::new(move |number, sum, ctx| {
        ctx.point(SERIES, sum as f64);
        ctx.send(LpId(u32::try_from(number).expect("few") % lps), Delay::ZERO, 3);
    });
    model
}

/// Runs a model on ranks that share nothing but bytes. `run` runs one of them. Returns the result of each.
fn on_ranks<'a, R: Send>(ranks: usize, run: impl Fn(usize, Box<dyn Fabric>) -> R + Sync + 'a) -> Vec<R> {
    std::thread::scope(|scope| {
        let run = &run;
        let start = |(rank, end): (usize, Loopback)| scope.spawn(move || run(rank, Box::new(end)));
        let started: Vec<_> = Loopback::connect(ranks).into_iter().enumerate().map(start).collect();
        started.into_iter().map(|rank| rank.join().expect("a rank does not panic")).collect()
    })
}

/// An engine, with the settings that matter here.
#[derive(Clone, Copy, Debug)]
enum Engine {
    /// `window`, with a wish for a number of partitions.
    Window(Option<u32>),
    NullMessage,
    /// `time-warp`. Workers fall behind at random if `stalls` has a seed.
    TimeWarp {
        ahead: Ahead,
        copy_every: Option<u16>,
        stalls: Option<u64>,
    },
}

const TIME_WARP: Engine = Engine::TimeWarp { ahead: Ahead::Adaptive, copy_every: None, stalls: None };

/// Returns engines for moves at random, which `seed` draws.
fn engines(seed: u64) -> [Engine; 5] {
    let time_warp = |ahead, copy_every| Engine::TimeWarp { ahead, copy_every, stalls: Some(seed) };
    [
        Engine::Window(None),
        Engine::NullMessage,
        time_warp(Ahead::Adaptive, None),
        time_warp(Ahead::Unbounded, Some(3)),
        time_warp(Ahead::Events(20), Some(8)),
    ]
}

impl Engine {
    /// Runs a rank with this number of threads.
    fn run<'k>(
        self,
        model: &'k Typed<'k, '_, Script>,
        span: Span<'k>,
        balance: Balance,
        threads: usize,
        fabric: Box<dyn Fabric>,
    ) -> OfRank {
        match self {
            Engine::Window(partitions) => {
                let settings = window::Settings { balance, partitions, ..window::Settings::of_threads(threads) };
                window::run_any_rank(model, span, &settings, fabric)
            }
            Engine::NullMessage => {
                let settings = null_message::Settings { balance, ..null_message::Settings::of_threads(threads) };
                null_message::run_any_rank(model, span, &settings, fabric)
            }
            Engine::TimeWarp { ahead, copy_every, stalls } => {
                let defaults = time_warp::Settings::of_threads(threads);
                let settings = time_warp::Settings { balance, ahead, copy_every, stalls, ..defaults };
                time_warp::run_any_rank(model, model, span, &settings, fabric)
            }
        }
    }
}

/// The ranks of a run, and the threads of each.
#[derive(Clone, Copy, Debug)]
struct Shape {
    ranks: usize,
    threads: usize,
}

const TWO: Shape = Shape { ranks: 2, threads: 1 };

/// Runs a model whose states can be written, if `saves`, on ranks. Returns the result of rank 0.
fn run_ranks(
    model: &Script,
    at: u64,
    Shape { ranks, threads }: Shape,
    saves: bool,
    engine: Engine,
    balance: Balance,
) -> Result<Outcome, Error> {
    let mut all = on_ranks(ranks, |_, fabric| {
        with_model(model, until(at), |model, options| {
            let span = Span { save: saves.then_some(model as _), ..Span::from(options) };
            engine.run(model, span, balance, threads, fabric).result
        })
    });
    let first = all.swap_remove(0);
    for other in all {
        other.map(|outcome| assert!(outcome.is_none(), "rank 0 has the outcome"))?;
    }
    first.map(|outcome| outcome.expect("rank 0 has the outcome"))
}

fn assert_same(found: &Outcome, expected: &Outcome, how: &str) {
    assert_eq!((found.digest, &found.lp_digests), (expected.digest, &expected.lp_digests), "{how}");
    assert_eq!((found.events, &found.metrics), (expected.events, &expected.metrics), "{how}");
}

#[test]
fn lps_that_move_between_ranks_at_random_give_the_same_answer() {
    for (lps, anyone) in [(30, false), (30, true), (3, false)] {
        let model = busy(lps, anyone, |_, _| {});
        let expected = sequential::run(&model, until(1_000)).expect("no failure");
        for (ranks, threads, every, seed) in [(2, 1, 1, 1), (2, 2, 3, 2), (3, 1, 2, 3), (4, 1, 1, 4)] {
            for engine in engines(seed) {
                let (balance, shape) = (Balance::Forced { every, seed }, Shape { ranks, threads });
                let how = format!("{engine:?}, {lps} LPs, anyone {anyone}, {shape:?}");
                let found = run_ranks(&model, 1_000, shape, true, engine, balance).expect("no failure");
                assert_same(&found, &expected, &how);
                // Each worker of `time-warp` keeps one LP.
                let can_move = !matches!(engine, Engine::TimeWarp { .. }) || lps as usize > ranks * threads;
                assert_eq!(stat(&found, "rank_moves") > 0, can_move, "{how}: {:?}", found.engine_stats);
            }
        }
    }
}

/// Returns true if the statistics say nothing of moves between ranks, because there can be none.
fn has_no_moves(outcome: &Outcome) -> bool {
    outcome.engine_stats.iter().all(|(name, _)| *name != "rank_moves")
}

#[test]
fn lps_whose_states_cannot_be_written_stay_on_their_ranks() {
    let model = busy(30, true, |_, _| {});
    let expected = sequential::run(&model, until(300)).expect("no failure");
    for engine in engines(1) {
        let found = run_ranks(&model, 300, TWO, false, engine, Balance::Forced { every: 1, seed: 1 });
        let found = found.expect("no failure");
        assert_same(&found, &expected, "not saved");
        assert!(has_no_moves(&found), "{engine:?}: {:?}", found.engine_stats);
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock decides how long the loop spins, and nothing else")]
fn spin(us: u64) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(us) {
        std::hint::spin_loop();
    }
}

/// Runs a model on two ranks by measured time. Returns the imbalance by time, and the moves between ranks.
fn balanced(model: &Script, at: u64, engine: Engine) -> (f64, u64) {
    let expected = sequential::run(model, until(at)).expect("no failure");
    let found = run_ranks(model, at, TWO, true, engine, Balance::Measured).expect("no failure");
    assert_same(&found, &expected, "by time");
    let unmoved = run_ranks(model, at, TWO, true, engine, Balance::ByEvents).expect("no failure");
    assert!(has_no_moves(&unmoved));
    assert_eq!(stat(&found, "workers"), 2);
    let (_, imbalance) = found.engine_stats.iter().find(|(name, _)| *name == "imbalance_by_time").expect("measured");
    (*imbalance, stat(&found, "rank_moves"))
}

/// The costs are measured by the processor time of the threads. So other programs on the machine hardly
/// change them.
#[test]
fn ranks_share_costly_lps() {
    // With channels to all, there is a partition for each rank, so LPs must be gathered into others. In the
    // ring, whole partitions can move.
    for (anyone, engine) in [(true, Engine::Window(None)), (false, Engine::Window(Some(16))), (true, TIME_WARP)] {
        let model = busy(16, anyone, |id, _| spin(if id.0 < 4 { 60 } else { 1 }));
        let (imbalance, moves) = balanced(&model, 1_500, engine);
        assert!(moves > 0 && imbalance < 1.5, "{engine:?}: {moves} moves between ranks, imbalance {imbalance}");
    }
}

#[test]
fn ranks_share_costly_lps_that_are_others_after_a_while() {
    let model = busy(16, true, |id, now| {
        let costly = now.as_ps() / ms(500).as_ps() % 4 == u64::from(id.0 / 4);
        spin(if costly { 60 } else { 1 });
    });
    for engine in [Engine::Window(None), TIME_WARP] {
        let (_, moves) = balanced(&model, 2_000, engine);
        // Each of the four quarters in turn is shared by the ranks.
        assert!(moves >= 8, "{engine:?}: {moves} moves between ranks");
    }
}

#[test]
fn equal_lps_stay_on_their_ranks() {
    let model = busy(64, true, |_, _| spin(5));
    for engine in [Engine::Window(None), TIME_WARP] {
        let (_, moves) = balanced(&model, 500, engine);
        assert_eq!(moves, 0, "{engine:?}");
    }
}

/// A rank ends while it writes LPs that travel. The other rank says so, and does not wait for it.
#[test]
fn a_rank_that_dies_while_lps_move_is_named() {
    for engine in [Engine::Window(None), TIME_WARP] {
        let mut doomed = busy(30, true, |_, _| {});
        doomed.on_write = |lp| panic!("{lp} cannot be written");
        let models = [busy(30, true, |_, _| {}), doomed];
        let ends = on_ranks(2, |rank, fabric| {
            let run = || {
                with_model(&models[rank], until(300), |model, options| {
                    let span = Span { save: Some(model), ..Span::from(options) };
                    engine.run(model, span, Balance::Forced { every: 1, seed: 1 }, 1, fabric).result
                })
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
                .map_err(|panic| *panic.downcast::<String>().expect("text"))
        });
        assert!(ends[1].as_ref().is_err_and(|panic| panic.contains("cannot be written")), "{:?}", ends[1]);
        let error = ends[0].as_ref().expect("no panic").as_ref().expect_err("the other rank has died").to_string();
        assert!(error.contains("rank 1 ended before the run did"), "{error}");
    }
}

#[test]
fn a_memory_limit_counts_all_ranks_however_lps_move() {
    let model = busy(30, true, |_, _| {});
    let expected = sequential::run(&model, until(300)).expect("no failure");
    let run = |limit| {
        let mut ends = on_ranks(2, |_, fabric| {
            with_model(&model, RunOptions { memory_limit: Some(limit), ..until(300) }, |model, options| {
                let span = Span { save: Some(model), ..Span::from(options) };
                TIME_WARP.run(model, span, Balance::Forced { every: 1, seed: 1 }, 1, fabric).result
            })
        });
        ends.swap_remove(0)
    };
    let found = run(1 << 24).expect("no failure").expect("rank 0 has the outcome");
    assert_same(&found, &expected, "within the limit");
    assert!(stat(&found, "rank_moves") > 0, "{:?}", found.engine_stats);
    let error = run(1 << 10).expect_err("LPs and pending events need more");
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
}
