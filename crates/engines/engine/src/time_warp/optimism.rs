//! How far ahead of GVT a worker executes.
//!
//! The bound is a stretch of virtual time in which about so many events for each worker lie, by the rate at which events were committed lately. Each worker
//! adapts the number: with it grow what is taken back and the history, which must fit the cache; waiting shrinks. So it begins small, and follows whichever
//! of waiting and taking back costs much more time than the other.

use crate::stopwatch::Stopwatch;
use crate::transport::Summary;
use parades_core::time::{Delay, Time};

/// Events ahead for each worker, at first.
const EVENTS: f64 = 512.0;
/// At least, and at most.
const EVENTS_MIN: f64 = 32.0;
const EVENTS_MAX: f64 = 1024.0;
/// Events of a worker between two changes of mind.
const PERIOD: u64 = 8192;
/// What an execution and taking it back cost, in executions that are kept.
const COST_UNDONE: f64 = 2.0;
/// The share of time that may be lost either way before the bound changes, and how many times as much as the other way.
const LOSS: f64 = 0.05;
const MORE: f64 = 2.0;
/// How many times as large or small it then becomes.
const STEP: f64 = 1.5;
/// Events between two offers, at least and at most.
const OFFER_MIN: u32 = 32;
const OFFER_MAX: u32 = 4096;
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
    stopwatch: Stopwatch,
    /// Executions that the memory has room for.
    room: u32,
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
            stopwatch: Stopwatch::new(),
            room: u32::MAX,
        }
    }

    /// The worker waits for the others.
    pub(super) fn start_wait(&mut self) {
        self.stopwatch.start_wait();
    }

    /// And goes on.
    pub(super) fn start_work(&mut self) {
        self.stopwatch.start_work();
    }

    /// Takes in what all workers together know.
    pub(super) fn update(&mut self, all: &Summary, gvt: Time) {
        let (events, rolled_back, since) = self.since;
        let executed = all.events - events;
        if executed < PERIOD / 8 * self.workers || gvt <= since {
            return;
        }
        let taken_back = all.rolled_back - rolled_back;
        let kept = executed.saturating_sub(taken_back).max(1);
        let spacing = gvt.since(since).as_ps() as f64 * self.workers as f64 / kept as f64;
        self.spacing = Some(self.spacing.map_or(spacing, |before| (before + spacing) / 2.0));
        self.since = (all.events, all.rolled_back, gvt);
        if self.adapts {
            let waited = 1.0 - self.stopwatch.share_worked();
            self.stopwatch.reset();
            self.adapt(COST_UNDONE * taken_back as f64 / executed as f64, waited);
        }
    }

    /// Such shares of the time were lost to what was taken back, and to waiting.
    fn adapt(&mut self, rolled_back: f64, waited: f64) {
        if rolled_back > LOSS.max(MORE * waited) {
            self.events = (self.events / STEP).max(EVENTS_MIN);
        } else if waited > LOSS.max(MORE * rolled_back) {
            self.events = (self.events * STEP).min(EVENTS_MAX);
        }
    }

    /// There is memory for so many executions that are not committed.
    pub(super) fn limit_uncommitted(&mut self, room: u32) {
        self.room = room;
    }

    /// Before which time the worker may execute. It is after GVT, so that the least event may always be executed.
    pub(super) fn limit(&self, gvt: Time) -> Time {
        let least = Delay::from_ps(1);
        let ahead = match self.spacing {
            _ if self.room == 0 => least,
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

    /// After how many events a worker asks for another GVT before it has to wait for it.
    pub(super) fn events_per_offer(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
        let quarter = (self.events / 4.0) as u32;
        quarter.min(self.room / 4).clamp(OFFER_MIN, OFFER_MAX)
    }

    /// How many executions may be uncommitted before the worker executes only what GVT waits for.
    pub(super) fn most_uncommitted(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
        let most = (self.events * SLACK) as u32;
        most.min(self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ahead;
    use super::*;

    fn after(events: u64, rolled_back: u64) -> Summary {
        Summary { events, rolled_back, ..Summary::NOTHING }
    }

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn the_bound_is_the_time_of_so_many_events_once_their_rate_is_known() {
        let mut optimism = Optimism::new(2, Ahead::Events(100));
        assert_eq!((optimism.limit(at(5)), optimism.most_uncommitted()), (Time::MAX, 400));
        // Each of two workers has committed 10,000 events in 30,000 ps, 3 ps each, and taken back as many.
        optimism.update(&after(40_000, 20_000), at(30_000));
        assert_eq!(optimism.limit(at(30_000)), at(30_300));
        // Where GVT stays nothing is learnt.
        optimism.update(&after(400_000, 20_000), at(30_000));
        assert_eq!(optimism.limit(at(30_000)), at(30_300));
    }

    #[test]
    fn it_follows_what_costs_more() {
        let mut optimism = Optimism::new(1, Ahead::Adaptive);
        let first = optimism.most_uncommitted();
        for (rolled_back, waited) in [(0.01, 0.04), (0.3, 0.2), (0.2, 0.3)] {
            optimism.adapt(rolled_back, waited);
            assert_eq!(optimism.most_uncommitted(), first, "neither costs much more than the other");
        }
        optimism.adapt(0.5, 0.1);
        assert!(optimism.most_uncommitted() < first);
        (0..50).for_each(|_| optimism.adapt(0.01, 0.5));
        assert!(optimism.most_uncommitted() > first);
        (0..50).for_each(|_| optimism.adapt(1.0, 0.0));
        assert!(optimism.most_uncommitted() > 0 && optimism.most_uncommitted() < first / 8);
    }

    #[test]
    fn the_least_event_may_always_be_executed() {
        for ahead in [Ahead::Adaptive, Ahead::Events(0), Ahead::Events(1), Ahead::Unbounded] {
            let mut optimism = Optimism::new(3, ahead);
            optimism.update(&after(100_000, 0), at(1));
            assert!(optimism.limit(at(1)) > at(1));
            optimism.limit_uncommitted(0);
            assert_eq!((optimism.limit(at(7)), optimism.most_uncommitted()), (at(8), 0));
            assert_eq!(optimism.limit(Time::MAX), Time::MAX);
        }
    }
}
