//! The engines whose workers may be split into ranks.

use super::{Engine, ORDERS, PLACINGS, Setting, Subject, Varies, engine, index_below};
use crate::transport::{Carrier, Shape, on_ranks};
use parades_core::error::Error;
use parades_core::random::Rng;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::WireModel;
use parades_engine::time_warp::{self, Ahead};
use parades_engine::{null_message, window};

/// Returns the engines that run on ranks. Their settings are drawn from the seed, so that all ranks have the
/// same.
pub fn engines_on_ranks<M: Subject + WireModel>() -> Vec<Engine<M>> {
    vec![
        engine("window", Varies::Ranks, on_window),
        engine("null-message", Varies::Ranks, on_null_message),
        engine("time-warp", Varies::Ranks, on_time_warp),
    ]
}

/// Returns the shape of a run on the ranks of the setting's carrier.
fn shape<P>(setting: &Setting<P>, partitions: u32) -> Shape {
    let Carrier::Ranks(ranks) = setting.carrier else { unreachable!("these engines vary the ranks") };
    Shape { ranks, workers: setting.workers, partitions, seed: setting.seed }
}

/// Draws the number of partitions that the user wishes for, or no wish.
fn wished_partitions(rng: &Rng) -> Option<u32> {
    rng.chance(0.7).then(|| 1 + u32::try_from(rng.below(12)).expect("below 12"))
}

fn on_window<M: WireModel>(
    model: &M,
    options: RunOptions<'_>,
    setting: &Setting<M::Message>,
) -> Result<Outcome, Error> {
    let rng = Rng::shared(setting.seed, 4);
    let settings = window::Settings {
        order: ORDERS[index_below(&rng, ORDERS.len())],
        dedicated: [0.0, 0.5, 1.0][index_below(&rng, 3)],
        partitions: wished_partitions(&rng),
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        ..window::Settings::of_threads(setting.workers)
    };
    let of_all = |ranks| window::partitions_max(&window::Settings { threads: setting.workers * ranks, ..settings });
    let shape = Shape { partitions: of_all(shape(setting, 0).ranks), ..shape(setting, 0) };
    on_ranks(shape, options, |options, ranked| window::run_rank(model, options, &settings, ranked, ranked))
}

fn on_null_message<M: WireModel>(
    model: &M,
    options: RunOptions<'_>,
    setting: &Setting<M::Message>,
) -> Result<Outcome, Error> {
    let rng = Rng::shared(setting.seed, 5);
    let settings = null_message::Settings {
        order: ORDERS[index_below(&rng, ORDERS.len())],
        partitions: wished_partitions(&rng),
        nulls: [null_message::Nulls::Lazy, null_message::Nulls::Demand][index_below(&rng, 2)],
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        ..null_message::Settings::of_threads(setting.workers)
    };
    let of_all =
        |ranks| null_message::partitions_max(&null_message::Settings { threads: setting.workers * ranks, ..settings });
    let shape = Shape { partitions: of_all(shape(setting, 0).ranks), ..shape(setting, 0) };
    on_ranks(shape, options, |options, ranked| null_message::run_rank(model, options, &settings, ranked, ranked))
}

fn on_time_warp<M: Subject + WireModel>(
    model: &M,
    options: RunOptions<'_>,
    setting: &Setting<M::Message>,
) -> Result<Outcome, Error> {
    let rng = Rng::shared(setting.seed, 6);
    let aheads = [Ahead::Adaptive, Ahead::Events(1), Ahead::Events(20), Ahead::Events(500), Ahead::Unbounded];
    let settings = time_warp::Settings {
        ahead: aheads[index_below(&rng, aheads.len())],
        copy_every: [None, None, Some(2), Some(3), Some(8)][index_below(&rng, 5)],
        stalls: Some(setting.seed),
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        ..time_warp::Settings::of_threads(setting.workers)
    };
    let shape = shape(setting, 0);
    let partitions = u32::try_from(shape.ranks * shape.workers).expect("few workers");
    on_ranks(Shape { partitions, ..shape }, options, |options, ranked| {
        time_warp::run_rank(model, options, &settings, ranked, ranked)
    })
}
