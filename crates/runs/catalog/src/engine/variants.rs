//! Variants of the engines that exist to be compared. The command does not have them: a program that measures
//! brings them along.

use super::Engine;
use parades_config::{Parameter, Values};
use parades_engine::{null_message, rounds, time_warp, window};
use std::sync::OnceLock;

/// Settings that a program adds to those of the engines, and how they change an engine's settings.
#[derive(Clone, Copy, Debug)]
pub struct Variants {
    /// Returns the further settings of an engine, for `--tune`.
    pub settings: fn(Engine) -> &'static [Parameter],
    /// Returns true if `sequential` uses a binary heap as its pending set.
    pub uses_heap: fn(&Values) -> bool,
    /// Changes the settings of `rounds`.
    pub rounds: fn(&Values, &mut rounds::Settings),
    /// Changes the settings of `window`.
    pub window: fn(&Values, &mut window::Settings),
    /// Changes the settings of `null-message`.
    pub null_message: fn(&Values, &mut null_message::Settings),
    /// Changes the settings of `time-warp`.
    pub time_warp: fn(&Values, &mut time_warp::Settings),
}

static ADDED: OnceLock<Added> = OnceLock::new();

struct Added {
    variants: Variants,
    /// By engine, in the order of [`Engine::ALL`]: its own settings, then those of the variants.
    settings: Vec<Vec<Parameter>>,
}

/// Adds variants to the engines of this process. Only the first call counts, so it belongs to the start of
/// `main`.
pub fn add_variants(variants: Variants) {
    let of = |engine: Engine| [engine.own_settings(), (variants.settings)(engine)].concat();
    let _ = ADDED.set(Added { variants, settings: Engine::ALL.into_iter().map(of).collect() });
}

/// Returns the variants of this process, if there are any.
pub(crate) fn variants() -> Option<&'static Variants> {
    ADDED.get().map(|added| &added.variants)
}

/// Returns the settings of an engine.
pub(super) fn settings(engine: Engine) -> &'static [Parameter] {
    let place = Engine::ALL.into_iter().position(|other| other == engine);
    ADDED.get().zip(place).map_or_else(|| engine.own_settings(), |(added, place)| &added.settings[place])
}
