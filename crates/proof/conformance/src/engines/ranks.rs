//! The engines whose workers may be split into ranks.

use super::{Engine, ORDERS, PLACINGS, Setting, Subject, Varies, engine, index_below};
use crate::transport::{Carrier, on_ranks};
use parades_core::error::Error;
use parades_core::random::Rng;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::time_warp::{self, Ahead};
use parades_engine::{OfRank, WireModel};
use parades_engine::{null_message, window};
use parades_transport::Fabric;
use serde::{Deserialize, Serialize};

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
    on_ranks(ranks, seed, options, |options, fabric| engine.run_rank(model, options, workers, seed, fabric))
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
        workers: usize,
        seed: u64,
        fabric: Box<dyn Fabric>,
    ) -> OfRank {
        match self {
            OnRanks::Window => window::run_rank(model, options, &window_settings(workers, seed), fabric),
            OnRanks::NullMessage => {
                null_message::run_rank(model, options, &null_message_settings(workers, seed), fabric)
            }
            OnRanks::TimeWarp => time_warp::run_rank(model, options, &time_warp_settings(workers, seed), fabric),
        }
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
