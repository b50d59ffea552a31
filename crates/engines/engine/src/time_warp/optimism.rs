//! Optimism: the distance to which a worker executes ahead of GVT.
//!
//! The limit is a distance in virtual time that holds about *n* events for each worker, by the rate of
//! events committed lately. Each worker adapts *n*. A larger *n* means more rollbacks and a longer history,
//! which must fit the cache, and less waiting. So *n* begins small. It grows while waiting costs much more
//! time than rollbacks, and shrinks while rollbacks cost much more time than waiting.

use crate::stopwatch::Stopwatch;
use parades_core::time::{Delay, Time};
use parades_transport::Summary;

/// Events ahead of GVT for each worker, at first.
const EVENTS: f64 = 512.0;
/// The fewest events ahead of GVT for each worker.
const EVENTS_MIN: f64 = 32.0;
/// The most events ahead of GVT for each worker. A longer history leaves the caches near the core.
const EVENTS_MAX: f64 = 1024.0;
/// The fewest events of a worker between two adaptations.
const PERIOD: u64 = 1024;
/// The cost of an execution that is rolled back, in executions that are committed.
const COST_ROLLED_BACK: f64 = 2.0;
/// The share of time that must be lost to waiting, or to rollbacks, before the distance changes.
const LOSS: f64 = 0.05;
/// The loss must also be this many times the other loss.
const LOSS_RATIO: f64 = 2.0;
/// The factor by which the distance changes.
const STEP: f64 = 1.5;
/// The fewest events between two offers.
const OFFER_MIN: u32 = 32;
/// The most events between two offers.
const OFFER_MAX: u32 = 4096;
/// The most uncommitted executions of a worker, in multiples of the events ahead. The measured rate may be
/// wrong.
const SLACK: f64 = 4.0;

/// The limit of one worker.
#[derive(Debug)]
pub(super) struct Optimism {
    workers: u64,
    /// Events ahead of GVT for each worker; infinite if nothing limits them.
    events: f64,
    adapts: bool,
    /// Virtual time between two events of a worker, in picoseconds, once it is known.
    spacing: Option<f64>,
    /// Events executed, events rolled back, and GVT at the last adaptation.
    last: (u64, u64, Time),
    stopwatch: Stopwatch,
    /// The number of uncommitted executions that fit into memory.
    room: u32,
}

impl Optimism {
    /// Returns the limit of one of `workers` workers.
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
            last: (0, 0, Time::ZERO),
            stopwatch: Stopwatch::new(),
            room: u32::MAX,
        }
    }

    /// Begins to measure waiting.
    pub(super) fn start_wait(&mut self) {
        self.stopwatch.start_wait();
    }

    /// Begins to measure work.
    pub(super) fn start_work(&mut self) {
        self.stopwatch.start_work();
    }

    /// Updates the rate of events, and adapts, with an outcome: the combined summary of all workers, and GVT.
    pub(super) fn update(&mut self, all: &Summary, gvt: Time) {
        let (last_events, last_rolled_back, last_gvt) = self.last;
        let executed = all.events - last_events;
        if executed < PERIOD * self.workers || gvt <= last_gvt {
            return;
        }
        let rolled_back = all.rolled_back - last_rolled_back;
        let kept = executed.saturating_sub(rolled_back).max(1);
        let spacing = gvt.since(last_gvt).as_ps() as f64 * self.workers as f64 / kept as f64;
        self.spacing = Some(self.spacing.map_or(spacing, |before| (before + spacing) / 2.0));
        self.last = (all.events, all.rolled_back, gvt);
        if self.adapts {
            let waited = 1.0 - self.stopwatch.share_worked();
            self.stopwatch.reset();
            self.adapt(COST_ROLLED_BACK * rolled_back as f64 / executed as f64, waited);
        }
    }

    /// Adapts the distance to the shares of time lost to rollbacks and to waiting.
    fn adapt(&mut self, rolled_back: f64, waited: f64) {
        if rolled_back > LOSS.max(LOSS_RATIO * waited) {
            self.events = (self.events / STEP).max(EVENTS_MIN);
        } else if waited > LOSS.max(LOSS_RATIO * rolled_back) {
            self.events = (self.events * STEP).min(EVENTS_MAX);
        }
    }

    /// Sets the number of uncommitted executions that fit into memory.
    pub(super) fn limit_uncommitted(&mut self, room: u32) {
        self.room = room;
    }

    /// Returns the time before which the worker may execute. It is after GVT, so that the earliest event
    /// may always be executed.
    pub(super) fn limit(&self, gvt: Time) -> Time {
        let shortest = Delay::from_ps(1);
        let ahead = match self.spacing {
            _ if self.room == 0 => shortest,
            Some(spacing) if self.events.is_finite() => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "saturates, which is meant"
                )]
                let ps = (spacing * self.events) as u64;
                Delay::from_ps(ps).max(shortest)
            }
            _ => return Time::MAX,
        };
        gvt.checked_add(ahead).unwrap_or(Time::MAX)
    }

    /// Returns the number of executed events after which a worker makes an offer, before it has to wait for
    /// GVT.
    pub(super) fn events_per_offer(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
        let quarter = (self.events / 4.0) as u32;
        quarter.min(self.room / 4).clamp(OFFER_MIN, OFFER_MAX)
    }

    /// Returns the number of uncommitted executions above which the worker executes only events at GVT.
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
    fn the_limit_is_the_time_of_n_events_once_their_rate_is_known() {
        let mut optimism = Optimism::new(2, Ahead::Events(100));
        assert_eq!((optimism.limit(at(5)), optimism.most_uncommitted()), (Time::MAX, 400));
        // Each of two workers has committed 10,000 events in 30,000 ps, 3 ps each, and rolled back as many.
        optimism.update(&after(40_000, 20_000), at(30_000));
        assert_eq!(optimism.limit(at(30_000)), at(30_300));
        // While GVT stays the same, nothing is learnt.
        optimism.update(&after(400_000, 20_000), at(30_000));
        assert_eq!(optimism.limit(at(30_000)), at(30_300));
    }

    #[test]
    fn the_distance_shrinks_with_rollbacks_and_grows_with_waiting() {
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
    fn the_earliest_event_may_always_be_executed() {
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
