//! How far ahead of GVT a worker executes.
//!
//! The bound is a stretch of virtual time in which about so many events for each worker lie, by the rate at which events were committed lately. Each worker
//! adapts the number: what is taken back grows with it, idle waiting shrinks.

use crate::transport::Summary;
use parades_core::time::{Delay, Time};

/// Events ahead for each worker, at first.
const EVENTS: f64 = 2048.0;
/// At least, and at most.
const EVENTS_MIN: f64 = 32.0;
const EVENTS_MAX: f64 = 16_384.0;
/// Events of a worker between two changes of mind.
const PERIOD: u64 = 8192;
/// The share of executions taken back above which the bound shrinks, and below which it grows.
const MUCH: f64 = 0.2;
const LITTLE: f64 = 0.05;
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
        Optimism { workers: workers as u64, events, adapts, spacing: None, since: (0, 0, Time::ZERO), pressed: false }
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
            if share > MUCH {
                self.events = (self.events / 2.0).max(EVENTS_MIN);
            } else if share < LITTLE {
                self.events = (self.events * 1.25).min(EVENTS_MAX);
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

#[cfg(test)]
mod tests {
    use super::super::Ahead;
    use super::*;

    fn after(events: u64, undone: u64) -> Summary {
        Summary { events, undone, ..Summary::NOTHING }
    }

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn the_bound_is_the_time_of_so_many_events_once_their_rate_is_known() {
        let mut optimism = Optimism::new(2, Ahead::Events(100));
        assert_eq!((optimism.limit(at(5)), optimism.most_uncommitted()), (Time::MAX, 400));
        // Each of two workers has committed 10,000 events in 30,000 ps, 3 ps each, and taken back as many.
        optimism.take_in(&after(40_000, 20_000), at(30_000));
        assert_eq!(optimism.limit(at(30_000)), at(30_300));
        // Where GVT stays nothing is learnt.
        optimism.take_in(&after(400_000, 20_000), at(30_000));
        assert_eq!(optimism.limit(at(30_000)), at(30_300));
    }

    #[test]
    fn it_shrinks_where_much_is_taken_back_and_grows_where_little_is() {
        let mut optimism = Optimism::new(1, Ahead::Adaptive);
        let first = optimism.most_uncommitted();
        optimism.take_in(&after(10_000, 5_000), at(10_000));
        assert_eq!(optimism.most_uncommitted(), first / 2);
        for turn in 2..50 {
            optimism.take_in(&after(10_000 * turn, 5_000), at(10_000 * turn));
        }
        assert!(optimism.most_uncommitted() > first);
        for turn in 50..100 {
            optimism.take_in(&after(10_000 * turn, 5_000 * turn), at(10_000 * turn));
        }
        assert!(optimism.most_uncommitted() > 0 && optimism.most_uncommitted() < first / 8);
    }

    #[test]
    fn the_least_event_may_always_be_executed() {
        for ahead in [Ahead::Adaptive, Ahead::Events(0), Ahead::Events(1), Ahead::Unbounded] {
            let mut optimism = Optimism::new(3, ahead);
            optimism.take_in(&after(100_000, 0), at(1));
            assert!(optimism.limit(at(1)) > at(1));
            optimism.press(true);
            assert_eq!((optimism.limit(at(7)), optimism.most_uncommitted()), (at(8), 1));
            assert_eq!(optimism.limit(Time::MAX), Time::MAX);
        }
    }
}
