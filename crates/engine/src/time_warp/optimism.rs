//! How far ahead of GVT a worker executes.
//!
//! The bound is a stretch of virtual time in which about so many events for each worker lie, by the rate at which events were committed lately. Each worker
//! adapts the number: with it grow what is taken back and the history, which must fit the cache; waiting shrinks. So it begins small, and grows only where a
//! worker waits often and little is taken back.

use crate::transport::Summary;
use parades_core::time::{Delay, Time};

/// Events ahead for each worker, at first.
const EVENTS: f64 = 512.0;
/// At least, and at most.
const EVENTS_MIN: f64 = 32.0;
const EVENTS_MAX: f64 = 8192.0;
/// Events of a worker between two changes of mind.
const PERIOD: u64 = 8192;
/// The share of executions taken back above which the bound shrinks, and below which it may grow.
const MUCH: f64 = 0.1;
const LITTLE: f64 = 0.01;
/// The share of rounds in which a worker waits above which the bound grows.
const OFTEN: f64 = 0.25;
/// How many times the events that are meant to lie ahead may do so, where the rate turns out wrong.
const SLACK: f64 = 4.0;

/// The bound, as one worker sees it.
#[derive(Debug)]
pub(super) struct Optimism {
    workers: u64,
    /// Events ahead for each worker; infinite where nothing bounds them.
    events: f64,
    adapts: bool,
    /// Virtual time per event of a worker, in picoseconds; none until it is known.
    spacing: Option<f64>,
    /// What was known when the rate and the share taken back were looked at last.
    since: (u64, u64, Time),
    /// Rounds since then, and those of them in which the worker waited.
    rounds: (u32, u32),
    /// Whether memory is short.
    pressed: bool,
}

impl Optimism {
    /// For one of so many workers, which keeps so many events ahead, or adapts their number, or knows no bound.
    pub(super) fn new(workers: usize, wish: super::Ahead) -> Optimism {
        let (events, adapts) = match wish {
            super::Ahead::Adaptive => (EVENTS, true),
            super::Ahead::Events(events) => (f64::from(events), false),
            super::Ahead::Unbounded => (f64::INFINITY, false),
        };
        Optimism {
            workers: workers as u64,
            events,
            adapts,
            spacing: None,
            since: (0, 0, Time::ZERO),
            rounds: (0, 0),
            pressed: false,
        }
    }

    /// The worker has gone round once more, and must wait or need not.
    #[inline]
    pub(super) fn went_round(&mut self, waits: bool) {
        self.rounds.0 += 1;
        self.rounds.1 += u32::from(waits);
    }

    /// Takes in what all workers together know.
    pub(super) fn take_in(&mut self, all: &Summary, gvt: Time) {
        let (events, undone, since) = self.since;
        let executed = all.events - events;
        if executed < PERIOD / 8 * self.workers || gvt <= since {
            return;
        }
        let taken_back = all.undone - undone;
        let kept = executed.saturating_sub(taken_back).max(1);
        let spacing = gvt.since(since).as_ps() as f64 * self.workers as f64 / kept as f64;
        self.spacing = Some(self.spacing.map_or(spacing, |before| (before + spacing) / 2.0));
        self.since = (all.events, all.undone, gvt);
        if self.adapts {
            let share = taken_back as f64 / executed as f64;
            let (rounds, waits) = std::mem::take(&mut self.rounds);
            if share > MUCH {
                self.events = (self.events / 2.0).max(EVENTS_MIN);
            } else if share < LITTLE && f64::from(waits) > OFTEN * f64::from(rounds) {
                self.events = (self.events * 1.5).min(EVENTS_MAX);
            }
        }
    }

    /// Whether memory is short: then nothing is executed ahead that need not be.
    pub(super) fn press(&mut self, pressed: bool) {
        self.pressed = pressed;
    }

    /// Before which time the worker may execute. It is after GVT, so that the least event may always be executed.
    pub(super) fn limit(&self, gvt: Time) -> Time {
        let least = Delay::from_ps(1);
        let ahead = match self.spacing {
            _ if self.pressed => least,
            Some(spacing) if self.events.is_finite() => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "saturates, which is meant"
                )]
                let ps = (spacing * self.events) as u64;
                Delay::from_ps(ps).max(least)
            }
            _ => return Time::MAX,
        };
        gvt.checked_add(ahead).unwrap_or(Time::MAX)
    }

    /// How many executions may be uncommitted before the worker executes only what GVT waits for.
    pub(super) fn most_uncommitted(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
        let most = (self.events * SLACK) as u32;
        if self.pressed { 1 } else { most }
    }
}
