//! From the values of `--tune` to the settings of an engine.

use super::Choice;
use crate::engine::settings::{BARRIERS, MAINS, NULL_MESSAGES, ORDERS, PLACEMENTS, TAKINGS, THRESHOLDS, WAITINGS};
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
        let settings = &self.settings;
        let fan_in = usize::try_from(settings.integer("fan-in")).unwrap_or(1);
        window::Settings {
            barrier: value_of(settings, "barrier", &BARRIERS)(fan_in),
            dedicated: settings.float("dedicated"),
            sets: usize::try_from(settings.integer("sets")).unwrap_or(usize::MAX),
            taking: value_of(settings, "taking", &TAKINGS),
            ..self.conservative_settings()
        }
    }

    pub(super) fn null_message_settings(&self) -> null_message::Settings {
        let shared = self.conservative_settings();
        let window::Settings { threads, partitions, least_lookahead, placing, order, retreats, pinned, .. } = shared;
        let nulls = value_of(&self.settings, "nulls", &NULL_MESSAGES);
        null_message::Settings { threads, partitions, least_lookahead, placing, order, nulls, retreats, pinned }
    }

    pub(super) fn rounds_settings(&self) -> rounds::Settings {
        let settings = &self.settings;
        rounds::Settings {
            threshold: value_of(settings, "threshold", &THRESHOLDS)(settings.integer("parallel-from")),
            waiting: value_of(settings, "waiting", &WAITINGS),
            main: value_of(settings, "main", &MAINS),
            pinned: settings.boolean("pinned"),
            ..rounds::Settings::of_threads(self.worker_threads())
        }
    }

    pub(super) fn time_warp_settings(&self) -> time_warp::Settings {
        let settings = &self.settings;
        let ahead = match settings.integer("ahead") {
            _ if !settings.boolean("bound") => time_warp::Ahead::Unbounded,
            0 => time_warp::Ahead::Adaptive,
            events => time_warp::Ahead::Events(u32::try_from(events).unwrap_or(u32::MAX)),
        };
        time_warp::Settings {
            ahead,
            copy_every: u16::try_from(settings.integer("copy-every")).ok().filter(|&every| every > 0),
            placing: value_of(settings, "placement", &PLACEMENTS),
            stalls: Some(settings.integer("stalls")).filter(|&seed| seed > 0),
            retreats: self.retreats(),
            pinned: settings.boolean("pinned"),
            ..time_warp::Settings::of_threads(self.worker_threads())
        }
    }

    fn retreats(&self) -> Retreats {
        if self.settings.boolean("retreat") { Retreats::WhereFaster } else { Retreats::Never }
    }
}
