//! Prefetching: brings the memory that the next events need into the cache.

use parades_core::any_model::AnyModel;
use parades_core::event::LpId;
use parades_core::model::MOST_FETCHES;

/// The distance, in events, at which an LP's record is fetched. Busy memory takes as long as this number of
/// small events.
const FAR: usize = 12;
/// The distance, in events, at which an LP's record is fetched near the end of a sorted run. There the event
/// at distance [`FAR`] is not known yet, because the next run is not sorted.
const NEAR: usize = 5;

/// The size of all LPs' records, in bytes, up to which nothing is fetched. The records then lie in a cache
/// near the core, and fetching would cost more than it gains.
const NEAR_BYTES: usize = 1 << 17;

/// By step of `fetch`: its distance in events. One event takes about as long as an access to memory.
const AHEAD: [usize; MOST_FETCHES] = [5, 3, 1];

/// Fetches the records of the LPs whose events come next.
///
/// The next events are known as far as the pending set has sorted them: mostly [`FAR`] events ahead. Near
/// the end of a sorted run, fewer are known. When the next run has been sorted, its first events are all
/// fetched together.
#[derive(Debug)]
pub(crate) struct Fetcher {
    /// True if records are fetched at all.
    fetches: bool,
    /// True if the event at distance [`FAR`] was not known at the last call.
    is_behind: bool,
    /// The number of steps of [`Lps::fetch`](parades_core::any_model::Lps::fetch) to take.
    steps: usize,
}

impl Fetcher {
    /// Makes a fetcher for `lps` LPs of a model that takes no steps.
    pub(crate) fn without_steps(model: &dyn AnyModel<'_>, lps: usize) -> Fetcher {
        Fetcher { fetches: lps * model.lp_bytes() > NEAR_BYTES, is_behind: true, steps: 0 }
    }

    /// Makes a fetcher that takes the steps of the model, if it has any and says that they pay.
    pub(crate) fn of(model: &dyn AnyModel<'_>, lps: usize) -> Fetcher {
        let fetcher = Fetcher::without_steps(model, lps);
        Fetcher { steps: if fetcher.fetches { model.fetch_steps() } else { 0 }, ..fetcher }
    }

    /// Calls `fetch` for LPs whose events come soon. Must be called once for each executed event.
    #[inline(always)]
    pub(crate) fn each(&mut self, upcoming: impl Fn(usize) -> Option<LpId>, fetch: impl Fn(LpId)) {
        if !self.fetches {
            return;
        }
        if let Some(id) = upcoming(FAR) {
            fetch(id);
            if self.is_behind {
                self.catch_up(&upcoming, &fetch);
            }
        } else {
            self.fetch_near(&upcoming, &fetch);
        }
    }

    /// Fetches all events nearer than [`FAR`]. Never inlined, so that the common path keeps its values in
    /// registers.
    #[inline(never)]
    fn catch_up(&mut self, upcoming: &dyn Fn(usize) -> Option<LpId>, fetch: &dyn Fn(LpId)) {
        self.is_behind = false;
        (0..FAR).filter_map(upcoming).for_each(fetch);
    }

    /// Fetches the event at distance [`NEAR`]. Never inlined, for the same reason.
    #[inline(never)]
    fn fetch_near(&mut self, upcoming: &dyn Fn(usize) -> Option<LpId>, fetch: &dyn Fn(LpId)) {
        self.is_behind = true;
        upcoming(NEAR).into_iter().for_each(fetch);
    }

    /// Calls `take` with each step that an LP needs whose event comes soon. Must be called once for each
    /// executed event.
    #[inline(always)]
    pub(crate) fn steps(&self, upcoming: impl Fn(usize) -> Option<LpId>, take: impl Fn(LpId, usize)) {
        for (step, ahead) in AHEAD.into_iter().take(self.steps).enumerate() {
            if let Some(id) = upcoming(ahead) {
                take(id, step);
            }
        }
    }
}
