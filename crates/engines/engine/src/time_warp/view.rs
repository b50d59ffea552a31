//! A worker's view of the run, from the outcomes of its offers.

use super::optimism::Optimism;
use super::reviewer::Cost;
use super::{Orders, Settings};
use parades_core::optimistic::NEVER;
use parades_core::time::{Instant, Time};

/// A worker's view of the run, from the outcomes of its offers.
pub(super) struct View {
    pub(super) gvt: Time,
    pub(super) horizon: Time,
    /// The worker may execute events before this time.
    pub(super) limit: Time,
    /// True while an offer of the worker has no outcome yet.
    pub(super) has_offered: bool,
    /// Events that the worker has executed since its last offer.
    pub(super) executed_since_offer: u32,
    /// The earliest instant of the events that the worker has sent since its last offer.
    pub(super) sent_since_offer: Instant,
    /// True if the worker has nothing to do before its next offer.
    pub(super) is_offer_due: bool,
    /// The round that GVT has reached at its time.
    pub(super) round: u32,
    /// The number of events that all workers had committed as of the last outcome.
    pub(super) committed: u64,
    /// The number of executions that all workers had rolled back when `committed` last grew.
    pub(super) rolled_back: u64,
    /// True if many executions have been rolled back since then: the workers may repeat them without end.
    pub(super) is_looping: bool,
    pub(super) optimism: Optimism,
    /// True while one worker executes all LPs.
    pub(super) alone: bool,
    pub(super) cost: Cost,
    /// The number of the latest outcomes in a row with more memory in use than the limit.
    pub(super) short_outcomes: u32,
    /// Bytes needed, once nothing is left that could bring them below the memory limit.
    pub(super) excess: Option<u64>,
}

impl View {
    /// Returns the view before the first outcome.
    pub(super) fn new(optimism: Optimism) -> View {
        View {
            gvt: Time::ZERO,
            horizon: Time::ZERO,
            limit: Time::ZERO,
            has_offered: false,
            executed_since_offer: 0,
            sent_since_offer: NEVER,
            is_offer_due: true,
            round: 0,
            committed: 0,
            rolled_back: 0,
            is_looping: false,
            optimism,
            alone: false,
            cost: Cost::default(),
            short_outcomes: 0,
            excess: None,
        }
    }

    /// Begins to execute after a cut, by the leader's orders.
    pub(super) fn begin_after_cut(&mut self, orders: Orders, workers: usize, settings: &Settings) {
        // Global events may have sent to the very time of the cut.
        self.gvt = self.gvt.min(self.horizon);
        (self.round, self.is_looping) = (0, false);
        // While one worker goes on alone, the others do not see the outcomes.
        (self.short_outcomes, self.excess) = (0, None);
        // All events in flight have been received.
        (self.executed_since_offer, self.sent_since_offer) = (0, NEVER);
        if self.alone != orders.alone {
            self.alone = orders.alone;
            self.optimism = Optimism::new(workers, settings.ahead);
        }
        self.horizon = orders.horizon;
        self.limit = orders.horizon.min(self.limit);
    }

    /// Returns true if all workers come to a cut now.
    pub(super) fn is_at_cut(&self) -> bool {
        self.gvt >= self.horizon || self.excess.is_some()
    }
}
