//! The engines whose workers may be split into ranks.

use super::{
    Engine, ORDERS, PLACINGS, SaveView, Setting, Subject, Varies, balance, bytes_on_sequential, engine, index_below,
};
use crate::transport::{Carrier, on_ranks};
use parades_core::any_model::{Typed, with_model};
use parades_core::cut::{AtRest, Cut, Cuts, Span, Then};
use parades_core::error::Error;
use parades_core::random::Rng;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::trace::Tracer;
use parades_engine::time_warp::{self, Ahead};
use parades_engine::{OfRank, WireModel};
use parades_engine::{null_message, window};
use parades_transport::Fabric;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// Returns the engines that run on ranks. Their settings are drawn from the seed, so that all ranks have the
/// same.
pub fn engines_on_ranks<M: Subject + WireModel>() -> Vec<Engine<M>> {
    vec![
        engine("window", Varies::Ranks, |model, options, setting| on_threads(model, options, setting, OnRanks::Window)),
        engine("null-message", Varies::Ranks, |model, options, setting| {
            on_threads(model, options, setting, OnRanks::NullMessage)
        }),
        engine("time-warp", Varies::Ranks, |model, options, setting| {
            on_threads(model, options, setting, OnRanks::TimeWarp)
        }),
        engine("broken", Varies::Ranks, run_broken),
    ]
}

/// Runs a model on one engine after another, on the ranks of the setting's carrier. Each run but the last
/// ends at a cut, where every rank writes its part. The next run goes on from the parts.
///
/// If the runs of a model cannot be saved, a run is in one piece, and goes on after each cut.
fn run_broken<M: Subject + WireModel>(
    model: &M,
    mut options: RunOptions<'_>,
    setting: &Setting<M>,
) -> Result<Outcome, Error> {
    let Carrier::Ranks(ranks) = setting.carrier else { unreachable!("this engine varies the ranks") };
    let rng = Rng::shared(setting.seed, 9);
    let breaks = if setting.save.is_some() { 1 + rng.below(3) } else { 0 };
    let RunOptions { until, seed, tie_seed, digest, notes, sends, samples, captures, control, .. } = options;
    let (mut begin, mut parts) = (Time::ZERO, Vec::<Vec<u8>>::new());
    for number in 0..=breaks {
        let own = Control::default();
        let leg = RunOptions {
            seed,
            tie_seed,
            digest,
            notes,
            sends,
            samples,
            captures,
            control: control.or(Some(&own)),
            tracer: options.tracer.as_mut().map(Tracer::reborrow),
            ..RunOptions::until(until)
        };
        let written = Mutex::new((vec![Vec::new(); ranks], begin));
        let (engine, setting_seed) = (OnRanks::ALL[index_below(&rng, 3)], setting.seed.wrapping_add(number));
        let from = (number > 0).then_some(parts.concat());
        let result = on_ranks(ranks, setting_seed, leg, |options, fabric| {
            let act = cuts(setting_seed, begin, until, number < breaks, options.control, &written);
            let options = RunOptions { cuts: Some(act), ..options };
            with_model(model, options, |model, options| {
                let save = setting.save.map(|save| save(model));
                let cut = from.as_ref().zip(save).map(|(bytes, save)| {
                    let mut rest = bytes.as_slice();
                    let cut = Cut::read(save, &mut rest).expect("a cut can be read again");
                    assert!(rest.is_empty(), "a cut is read to its end");
                    Box::new(cut)
                });
                engine.run_any_rank(
                    model,
                    Span { from: cut, save, ..Span::from(options) },
                    setting.workers,
                    setting_seed,
                    fabric,
                )
            })
        });
        let (of_ranks, time) = written.into_inner().expect("no holder of this lock panics");
        (parts, begin) = (of_ranks, time);
        if parts.iter().all(Vec::is_empty) || number == breaks {
            return result;
        }
        assert!(parts.iter().all(|part| !part.is_empty()), "all ranks come to a cut");
        if number == 0 {
            let options = || RunOptions { seed, tie_seed, digest, ..RunOptions::until(until) };
            assert!(is_cut_of_sequential(model, setting, options, begin, &parts.concat()), "the cut at {begin}");
        }
    }
    unreachable!("the last part of the run ends it")
}

/// Returns true if the parts of a cut at `time`, once they are written again by one process, are the cut of
/// `sequential`.
fn is_cut_of_sequential<M: Subject + WireModel>(
    model: &M,
    setting: &Setting<M>,
    options: impl Fn() -> RunOptions<'static>,
    time: Time,
    parts: &[u8],
) -> bool {
    let bytes = |from_parts: bool| {
        with_model(model, options(), |model, options| {
            let save = setting.save.expect("the parts were written")(model);
            let from = from_parts.then(|| Box::new(Cut::read(save, &mut &*parts).expect("it was read before")));
            bytes_on_sequential(model, save, options, from, time)
        })
    };
    bytes(true) == bytes(false)
}

/// Returns the cuts of one rank from `begin` to `until`. All ranks have the same cuts. The run goes on after
/// some of them. If it `ends`, it ends at the last one, where each rank writes its part.
fn cuts<'a>(
    seed: u64,
    begin: Time,
    until: Time,
    ends: bool,
    control: Option<&'a Control>,
    written: &'a Mutex<(Vec<Vec<u8>>, Time)>,
) -> Cuts<'a> {
    let rng = Rng::shared(seed, 10);
    let mut times: Vec<Time> = (0..1 + rng.below(3)).map(|_| super::time_of_cut(&rng, begin, until)).collect();
    times.sort_unstable();
    // A cut may ask for the next one as soon as possible, which is a picosecond later.
    let (first, last, mut asks) = (times[0], times[times.len() - 1], rng.below(4));
    let act = move |run: &mut AtRest<'_, '_>| {
        let all = run.share(vec![u8::try_from(run.rank()).expect("ranks are few")]).expect("no rank is lost");
        assert!((0..).zip(&all).all(|(rank, said)| *said == [rank]), "{all:?}");
        if run.time < last {
            if let (1.., Some(control)) = (asks, control) {
                asks -= 1;
                control.ask_for_cut();
            }
            return Then::Continue(times.iter().copied().find(|&time| time > run.time).unwrap_or(Time::MAX));
        }
        if !ends {
            return Then::Continue(Time::MAX);
        }
        let mut written = written.lock().expect("no holder of this lock panics");
        written.1 = run.time;
        let rank = run.rank();
        run.write(&mut written.0[rank]);
        Then::End
    };
    Cuts { next: first, at_end: false, act: Box::new(act) }
}

/// Runs a model on the ranks of the setting's carrier, which are threads of this process.
fn on_threads<M: Subject + WireModel>(
    model: &M,
    options: RunOptions<'_>,
    setting: &Setting<M>,
    engine: OnRanks,
) -> Result<Outcome, Error> {
    let Carrier::Ranks(ranks) = setting.carrier else { unreachable!("these engines vary the ranks") };
    let (workers, seed) = (setting.workers, setting.seed);
    on_ranks(ranks, seed, options, |options, fabric| {
        engine.run_rank(model, options, setting.save, workers, seed, fabric)
    })
}

/// An engine that runs on ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnRanks {
    /// `window`.
    Window,
    /// `null-message`.
    NullMessage,
    /// `time-warp`.
    TimeWarp,
}

impl OnRanks {
    /// All of them.
    pub const ALL: [OnRanks; 3] = [OnRanks::Window, OnRanks::NullMessage, OnRanks::TimeWarp];

    /// Returns the name of the engine on the command line.
    pub fn name(self) -> &'static str {
        match self {
            OnRanks::Window => "window",
            OnRanks::NullMessage => "null-message",
            OnRanks::TimeWarp => "time-warp",
        }
    }

    /// Does the same as [`OnRanks::run_rank`], for a model in a run, from its start or from a cut.
    fn run_any_rank<'k, M: Subject + WireModel>(
        self,
        model: &'k Typed<'k, '_, M>,
        span: Span<'k>,
        workers: usize,
        seed: u64,
        fabric: Box<dyn Fabric>,
    ) -> OfRank {
        match self {
            OnRanks::Window => window::run_any_rank(model, span, &window_settings(workers, seed), fabric),
            OnRanks::NullMessage => {
                null_message::run_any_rank(model, span, &null_message_settings(workers, seed), fabric)
            }
            OnRanks::TimeWarp => {
                time_warp::run_any_rank(model, model, span, &time_warp_settings(workers, seed), fabric)
            }
        }
    }

    /// Runs a model as one rank, with this number of workers, and with settings drawn from the seed. LPs can
    /// move to other ranks if `save` shows how their states are written.
    pub fn run_rank<M: Subject + WireModel>(
        self,
        model: &M,
        options: RunOptions<'_>,
        save: Option<SaveView<M>>,
        workers: usize,
        seed: u64,
        fabric: Box<dyn Fabric>,
    ) -> OfRank {
        with_model(model, options, |model, options| {
            let span = Span { save: save.map(|save| save(model)), ..Span::from(options) };
            self.run_any_rank(model, span, workers, seed, fabric)
        })
    }
}

/// Draws the number of partitions that the user wishes for, or no wish.
fn wished_partitions(rng: &Rng) -> Option<u32> {
    rng.chance(0.7).then(|| 1 + u32::try_from(rng.below(12)).expect("below 12"))
}

fn window_settings(workers: usize, seed: u64) -> window::Settings {
    let rng = Rng::shared(seed, 4);
    window::Settings {
        order: ORDERS[index_below(&rng, ORDERS.len())],
        dedicated: [0.0, 0.5, 1.0][index_below(&rng, 3)],
        partitions: wished_partitions(&rng),
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        balance: balance(&rng, [50, 300, 2_000]), // Ranks take long to come to a cut.
        ..window::Settings::of_threads(workers)
    }
}

fn null_message_settings(workers: usize, seed: u64) -> null_message::Settings {
    let rng = Rng::shared(seed, 5);
    null_message::Settings {
        order: ORDERS[index_below(&rng, ORDERS.len())],
        partitions: wished_partitions(&rng),
        nulls: [null_message::Nulls::Lazy, null_message::Nulls::Demand][index_below(&rng, 2)],
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        balance: balance(&rng, [50, 300, 2_000]), // Ranks take long to come to a cut.
        ..null_message::Settings::of_threads(workers)
    }
}

fn time_warp_settings(workers: usize, seed: u64) -> time_warp::Settings {
    let rng = Rng::shared(seed, 6);
    let aheads = [Ahead::Adaptive, Ahead::Events(1), Ahead::Events(20), Ahead::Events(500), Ahead::Unbounded];
    time_warp::Settings {
        ahead: aheads[index_below(&rng, aheads.len())],
        copy_every: [None, None, Some(2), Some(3), Some(8)][index_below(&rng, 5)],
        stalls: Some(seed),
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        balance: balance(&rng, [5, 30, 200]), // Ranks take long to come to a cut.
        ..time_warp::Settings::of_threads(workers)
    }
}
