//! From the values of `--tune` to the settings of an engine.

use super::Choice;
use crate::engine::settings::{ORDERS, PLACEMENTS};
use crate::engine::variants::variants;
use crate::words::value_of;
use parades_core::time::Delay;
use parades_engine::retreat::Retreats;
use parades_engine::{null_message, rounds, time_warp, window};

impl Choice {
    pub(super) fn worker_threads(&self) -> usize {
        usize::try_from(self.threads).unwrap_or(usize::MAX)
    }

    /// Returns the settings that the conservative engines have in common; the other settings of `window` are
    /// at their defaults.
    fn conservative_settings(&self) -> window::Settings {
        let settings = &self.settings;
        let above_zero = |n: u64| (n > 0).then_some(n);
        window::Settings {
            partitions: above_zero(settings.integer("partitions")).and_then(|n| u32::try_from(n).ok()),
            least_lookahead: above_zero(settings.duration("least-lookahead").as_ps()).map(Delay::from_ps),
            placing: value_of(settings, "placement", &PLACEMENTS),
            order: value_of(settings, "order", &ORDERS),
            retreats: self.retreats(),
            pinned: settings.boolean("pinned"),
            ..window::Settings::of_threads(self.worker_threads())
        }
    }

    pub(super) fn window_settings(&self) -> window::Settings {
        let mut settings =
            window::Settings { dedicated: self.settings.float("dedicated"), ..self.conservative_settings() };
        if let Some(variants) = variants() {
            (variants.window)(&self.settings, &mut settings);
        }
        settings
    }

    pub(super) fn null_message_settings(&self) -> null_message::Settings {
        let shared = self.conservative_settings();
        let window::Settings { threads, partitions, least_lookahead, placing, order, retreats, pinned, .. } = shared;
        let mut settings = null_message::Settings {
            partitions,
            least_lookahead,
            placing,
            order,
            retreats,
            pinned,
            ..null_message::Settings::of_threads(threads)
        };
        if let Some(variants) = variants() {
            (variants.null_message)(&self.settings, &mut settings);
        }
        settings
    }

    pub(super) fn rounds_settings(&self) -> rounds::Settings {
        let mut settings = rounds::Settings {
            pinned: self.settings.boolean("pinned"),
            ..rounds::Settings::of_threads(self.worker_threads())
        };
        if let Some(variants) = variants() {
            (variants.rounds)(&self.settings, &mut settings);
        }
        settings
    }

    pub(super) fn time_warp_settings(&self) -> time_warp::Settings {
        let ahead = match self.settings.integer("ahead") {
            0 => time_warp::Ahead::Adaptive,
            events => time_warp::Ahead::Events(u32::try_from(events).unwrap_or(u32::MAX)),
        };
        let mut settings = time_warp::Settings {
            ahead,
            placing: value_of(&self.settings, "placement", &PLACEMENTS),
            retreats: self.retreats(),
            pinned: self.settings.boolean("pinned"),
            ..time_warp::Settings::of_threads(self.worker_threads())
        };
        if let Some(variants) = variants() {
            (variants.time_warp)(&self.settings, &mut settings);
        }
        settings
    }

    fn retreats(&self) -> Retreats {
        if self.settings.boolean("retreat") { Retreats::WhereFaster } else { Retreats::Never }
    }
}
