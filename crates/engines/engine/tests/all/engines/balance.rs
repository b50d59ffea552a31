//! LPs and partitions that move to other workers: by measured time, and at random.

use crate::engines::support::script::Script;
use crate::engines::support::stat;
use parades_core::prelude::*;
use parades_engine::balance::Balance;
use parades_engine::retreat::Retreats;
use parades_engine::{null_message, sequential, time_warp, window};
use std::time::{Duration, Instant};

/// Makes a model in which each LP sends to itself each millisecond, and to the next LP in one of seven cases. With
/// `pairs`, the LPs of a pair have no lookahead between them. `work` is called for each event.
fn ticking(lps: u32, pairs: bool, work: fn(&Context<'_, Script>)) -> Script {
    let handle = move |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        work(ctx);
        match event.copied() {
            Body::Message(0) => {
                ctx.send_self(ms(1), 0);
                if ctx.rng().below(7) == 0 {
                    ctx.send(Port(0), ms(10), 1);
                }
                ctx.set_timer(TimerId(0), ms(3));
            }
            Body::Message(1) if pairs => ctx.send(Port(1), Delay::ZERO, 2),
            _ => {}
        }
    };
    let mut model = Script::new(lps, |ctx| ctx.send_self(ms(1), 0), handle);
    model.channels = Channels::none();
    for lp in 0..lps {
        model.channels.connect(LpId(lp), LpId((lp + 1) % lps), ms(10));
        if pairs {
            model.channels.connect(LpId(lp), LpId(lp ^ 1), Delay::ZERO);
        }
    }
    model
}

fn ms(ms: u64) -> Delay {
    Delay::from_ms(ms)
}

fn until(at: u64) -> RunOptions<'static> {
    RunOptions::until(Time::ZERO.checked_add(ms(at)).expect("soon"))
}

#[expect(clippy::disallowed_methods, reason = "the clock decides how long the loop spins, and nothing else")]
fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn lps_that_move_at_random_give_the_same_answer() {
    for (lps, pairs) in [(30, false), (30, true), (3, false)] {
        let model = ticking(lps, pairs, |_| {});
        let expected = sequential::run(&model, until(2_000)).expect("no failure");
        for threads in [1, 2, 3, 8] {
            for (every, seed) in [(1, 1), (1, 2), (3, 3)] {
                let balance = Balance::Forced { every, seed };
                for retreats in [Retreats::Never, Retreats::Every(5)] {
                    let by_window = window::Settings { balance, retreats, ..window::Settings::of_threads(threads) };
                    let by_nulls =
                        null_message::Settings { balance, retreats, ..null_message::Settings::of_threads(threads) };
                    let stalls = Some(seed);
                    let by_time_warp =
                        time_warp::Settings { balance, retreats, stalls, ..time_warp::Settings::of_threads(threads) };
                    for found in [
                        window::run(&model, until(2_000), &by_window),
                        null_message::run(&model, until(2_000), &by_nulls),
                        time_warp::run(&model, until(2_000), &by_time_warp),
                    ] {
                        let (found, how) = (found.expect("no failure"), (lps, pairs, threads, balance, retreats));
                        assert_eq!(
                            (found.digest, &found.lp_digests),
                            (expected.digest, &expected.lp_digests),
                            "{how:?}"
                        );
                        assert_eq!((found.events, &found.metrics), (expected.events, &expected.metrics), "{how:?}");
                        let moves = stat(&found, "lp_moves");
                        assert_eq!(moves > 0, threads > 1, "{how:?}: {:?}", found.engine_stats);
                    }
                }
            }
        }
    }
}

/// Runs a model on two workers by measured time, and by the number of events. Returns the imbalance by time of the
/// first, and its moves of LPs.
fn balanced(
    model: &Script,
    at: u64,
    run: impl Fn(RunOptions<'_>, Balance) -> Result<Outcome, parades_core::error::Error>,
) -> (f64, u64) {
    let expected = sequential::run(model, until(at)).expect("no failure");
    let [by_time, by_events] =
        [Balance::Measured, Balance::ByEvents].map(|balance| run(until(at), balance).expect("no failure"));
    for found in [&by_time, &by_events] {
        assert_eq!((found.digest, found.events), (expected.digest, expected.events));
    }
    assert_eq!(stat(&by_events, "lp_moves"), 0);
    let (_, imbalance) =
        by_time.engine_stats.iter().find(|(name, _)| *name == "imbalance_by_time").expect("it is measured");
    (*imbalance, stat(&by_time, "lp_moves"))
}

/// The costs are measured by the processor time of the threads. So other programs on the machine hardly change them.
#[test]
fn workers_share_costly_lps_under_window() {
    let model = ticking(16, false, |ctx| spin(Duration::from_micros(if ctx.id().0 < 4 { 40 } else { 1 })));
    let (imbalance, moves) = balanced(&model, 3_000, |options, balance| {
        let settings = window::Settings { balance, retreats: Retreats::Never, ..window::Settings::of_threads(2) };
        window::run(&model, options, &settings)
    });
    assert!(moves > 0 && imbalance < 1.4, "{moves} moves of LPs, imbalance {imbalance}");
}

#[test]
fn workers_share_costly_lps_under_time_warp() {
    let model = ticking(16, false, |ctx| spin(Duration::from_micros(if ctx.id().0 < 4 { 40 } else { 1 })));
    let (imbalance, moves) = balanced(&model, 3_000, |options, balance| {
        let settings = time_warp::Settings { balance, retreats: Retreats::Never, ..time_warp::Settings::of_threads(2) };
        time_warp::run(&model, options, &settings)
    });
    assert!(moves > 0 && imbalance < 1.6, "{moves} moves of LPs, imbalance {imbalance}");
}

/// One quarter of the LPs after the other is costly.
#[test]
fn workers_share_costly_lps_that_are_others_after_a_while() {
    let model = ticking(16, false, |ctx| {
        let costly = ctx.now().as_ps() / ms(1_000).as_ps() % 4 == u64::from(ctx.id().0 / 4);
        spin(Duration::from_micros(if costly { 40 } else { 1 }));
    });
    let (imbalance, moves) = balanced(&model, 6_000, |options, balance| {
        let settings = window::Settings { balance, retreats: Retreats::Never, ..window::Settings::of_threads(2) };
        window::run(&model, options, &settings)
    });
    assert!(moves > 2 && imbalance < 1.6, "{moves} moves of LPs, imbalance {imbalance}");
}

#[test]
fn equal_lps_do_not_move() {
    let model = ticking(64, false, |_| spin(Duration::from_micros(5)));
    let (_, moves) = balanced(&model, 1_000, |options, balance| {
        let settings = window::Settings { balance, retreats: Retreats::Never, ..window::Settings::of_threads(2) };
        window::run(&model, options, &settings)
    });
    assert_eq!(moves, 0);
}
