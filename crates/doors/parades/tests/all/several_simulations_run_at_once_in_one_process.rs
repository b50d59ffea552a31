//! Several simulations at the same time, in threads of one process. Each has the result that it has alone,
//! since none keeps state in the process.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades::Engine;
use parades::models::phold::{Parameters, Phold};
use parades::models::queueing::{Network, Queueing};
use parades::models::transfer::{self, Transfer};
use parades::p2p::chord::{self, Chord};
use parades::prelude::*;
use std::sync::Barrier;

fn secs(s: f64) -> Time {
    Time::try_from_secs_f64(s).unwrap()
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    digest: Option<u64>,
    events: u64,
    metrics: String,
}

impl Answer {
    fn of(outcome: Outcome) -> Answer {
        Answer { digest: outcome.digest, events: outcome.events, metrics: format!("{:?}", outcome.metrics) }
    }
}

fn phold(engine: Engine, seed: u64) -> Answer {
    let model = Phold::<()>::new(Parameters { lps: 300, ..Parameters::default() });
    Answer::of(engine.run(&model, 2, RunOptions { seed, ..RunOptions::until(secs(60.0)) }).unwrap())
}

fn mm1(engine: Engine, seed: u64) -> Answer {
    let model = Queueing::new(Network::mm1(0.8, 1000.0).unwrap(), Delay::from_us(100), Some(5_000)).unwrap();
    Answer::of(engine.run(&model, 2, RunOptions { seed, ..RunOptions::until(model.duration()) }).unwrap())
}

fn transfers(engine: Engine, seed: u64) -> Answer {
    let model = Transfer::new(transfer::Parameters { pairs: 8, ..transfer::Parameters::default() }).unwrap();
    Answer::of(engine.run(&model, 2, RunOptions { seed, ..RunOptions::until(secs(5.0)) }).unwrap())
}

/// Chord as processes. While a process is polled, its node lies in storage of the thread, apart from other
/// threads.
fn chord(engine: Engine, seed: u64) -> Answer {
    let model = Chord::model(chord::Parameters { nodes: 60, ..chord::Parameters::default() }, seed).unwrap();
    let options = RunOptions { seed, ..RunOptions::until(secs(900.0)) };
    Answer::of(engine.run_unrestorable(&model, 2, options).unwrap())
}

type Run = fn(Engine, u64) -> Answer;

/// Runs both again and again in two threads at once. Compares each result with the result of the run alone.
fn at_once(first: (Run, Engine), second: (Run, Engine)) {
    let alone = [first, second].map(|(run, engine)| [1, 2, 3].map(|seed| run(engine, seed)));
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let threads = [first, second].map(|(run, engine)| {
            let barrier = &barrier;
            scope.spawn(move || {
                [1, 2, 3].map(|seed| {
                    barrier.wait();
                    run(engine, seed)
                })
            })
        });
        let together = threads.map(|thread| thread.join().unwrap());
        assert_eq!(together, alone, "{} beside {}", first.1, second.1);
    });
}

#[test]
fn two_models_on_two_engines_do_not_disturb_each_other() {
    for engine in Engine::ALL {
        at_once((phold, engine), (mm1, engine));
        at_once((transfers, engine), (phold, Engine::TimeWarp));
        if !engine.rolls_back() {
            at_once((chord, engine), (chord, Engine::Sequential));
            at_once((chord, engine), (transfers, Engine::Window));
        }
    }
}

#[test]
fn one_model_with_two_seeds_is_two_simulations() {
    let [a, b] = [1, 2].map(|seed| phold(Engine::Window, seed));
    assert_ne!(a, b);
    at_once((phold, Engine::Window), (phold, Engine::NullMessage));
}
