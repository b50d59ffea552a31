//! The engines whose workers may be split into ranks.

use super::{Engine, ORDERS, PLACINGS, Setting, Subject, Varies, engine, index_below};
use crate::transport::{Carrier, OfRank, on_ranks};
use parades_core::any_model::{AnyRestorable, AnyWire, Packed, in_form, with_model};
use parades_core::error::Error;
use parades_core::random::Rng;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::{ModelCodec, TaggedCodec, WireModel};
use parades_engine::time_warp::{self, Ahead, Tagged};
use parades_engine::{null_message, window};
use parades_sync::barrier::BarrierKind;
use parades_transport::{Codec, Fabric, Ranked, Threads};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    ]
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
    on_ranks(ranks, seed, options, |options, fabric| engine.run_rank(model, options, (workers, seed), fabric))
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

    /// Runs a model as one rank, with this number of workers, and with settings drawn from the seed.
    pub fn run_rank<M: Subject + WireModel>(
        self,
        model: &M,
        options: RunOptions<'_>,
        (workers, seed): (usize, u64),
        fabric: Box<dyn Fabric>,
    ) -> OfRank {
        with_model(model, options, |model, options| self.run_any((model, model), options, (workers, seed), fabric))
    }

    fn run_any<'k>(
        self,
        model: (&'k dyn AnyRestorable<'k>, &'k dyn AnyWire<'k>),
        options: RunOptions<'k>,
        (workers, seed): (usize, u64),
        fabric: Box<dyn Fabric>,
    ) -> OfRank {
        in_form!(model.0.form(), run_in(model, options, self, (workers, seed), fabric))
    }
}

fn run_in<'k, P: Packed<'k>>(
    model: (&'k dyn AnyRestorable<'k>, &'k dyn AnyWire<'k>),
    options: RunOptions<'k>,
    engine: OnRanks,
    (workers, seed): (usize, u64),
    fabric: Box<dyn Fabric>,
) -> OfRank {
    let (all_workers, codec) = (workers * fabric.ranks(), ModelCodec(model.1));
    match engine {
        OnRanks::Window => {
            let settings = window_settings(workers, seed);
            let partitions = window::partitions_max(&window::Settings { threads: all_workers, ..settings });
            with_transport::<P>(codec, fabric, (workers, partitions), |ranked| {
                window::run_rank_over(model.1, options, &settings, Arc::clone(ranked) as _, Arc::clone(ranked) as _)
            })
        }
        OnRanks::NullMessage => {
            let settings = null_message_settings(workers, seed);
            let of_all = null_message::Settings { threads: all_workers, ..settings };
            with_transport::<P>(codec, fabric, (workers, null_message::partitions_max(&of_all)), |ranked| {
                let (transport, group) = (Arc::clone(ranked) as _, Arc::clone(ranked) as _);
                null_message::run_rank_over(model.1, options, &settings, transport, group)
            })
        }
        OnRanks::TimeWarp => {
            let settings = time_warp_settings(workers, seed);
            let partitions = u32::try_from(all_workers).expect("few workers");
            with_transport::<Tagged<P>>(TaggedCodec(codec), fabric, (workers, partitions), |ranked| {
                time_warp::run_rank_over(model, options, &settings, Arc::clone(ranked) as _, Arc::clone(ranked) as _)
            })
        }
    }
}

/// Calls `run` with the transport at one end of a fabric.
fn with_transport<'k, T: Send + 'k>(
    codec: impl Codec<T> + 'k,
    fabric: Box<dyn Fabric>,
    (workers, partitions): (usize, u32),
    run: impl FnOnce(&Arc<Ranked<'k, T>>) -> Result<Option<Outcome>, Error>,
) -> OfRank {
    let threads = Threads::new(workers, partitions, BarrierKind::default());
    let ranked = Arc::new(Ranked::new(fabric, threads, workers, codec));
    let result = run(&ranked);
    OfRank { result, crossed: ranked.crossed() }
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
        ..time_warp::Settings::of_threads(workers)
    }
}
