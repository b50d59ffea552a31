//! Prefetching: brings the memory that the next events need into the cache.

use parades_core::event::LpId;
use parades_core::lp::Lp;
use parades_core::model::Model;
use parades_raw::prefetch::prefetch;

/// The distance, in events, at which an LP's record is fetched. Busy memory takes as long as this number of
/// small events.
const FAR: usize = 12;
/// The same near the end of a sorted run of events, beyond which the order is not known yet.
const NEAR: usize = 5;

/// The size of all LPs' records, in bytes, up to which nothing is fetched. The records then lie in a cache
/// near the core, and fetching would cost more than it gains.
const NEAR_BYTES: usize = 1 << 17;

/// By step of [`Model::fetch`]: its distance in events. One event takes about as long as an access to memory.
const AHEAD: [usize; 3] = [5, 3, 1];

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
    /// True if steps of [`Model::fetch`] are taken.
    takes_steps: bool,
}

impl Fetcher {
    /// Makes a fetcher for `lps` LPs that takes no steps of [`Model::fetch`].
    pub(crate) fn without_steps<S>(lps: usize) -> Fetcher {
        Fetcher { fetches: lps * size_of::<Lp<S>>() > NEAR_BYTES, is_behind: true, takes_steps: false }
    }

    /// Makes a fetcher that takes the steps of the model's [`Model::fetch`], if the model has any and says
    /// that they pay.
    pub(crate) fn of<M: Model>(model: &M, lps: usize) -> Fetcher {
        Fetcher { takes_steps: model.fetches(), ..Fetcher::without_steps::<M::State>(lps) }
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
                self.catch_up(upcoming, fetch);
            }
        } else {
            self.fetch_near(upcoming, fetch);
        }
    }

    /// Fetches all events nearer than [`FAR`]. Never inlined, so that the common path keeps its values in
    /// registers.
    #[inline(never)]
    fn catch_up(&mut self, upcoming: impl Fn(usize) -> Option<LpId>, fetch: impl Fn(LpId)) {
        self.is_behind = false;
        (0..FAR).filter_map(upcoming).for_each(fetch);
    }

    /// Fetches the event at distance [`NEAR`]. Never inlined, for the same reason.
    #[inline(never)]
    fn fetch_near(&mut self, upcoming: impl Fn(usize) -> Option<LpId>, fetch: impl Fn(LpId)) {
        self.is_behind = true;
        upcoming(NEAR).into_iter().for_each(fetch);
    }

    /// Fetches the records of LPs whose events come soon, and takes the steps of [`Model::fetch`] for
    /// nearer events.
    #[inline(always)]
    pub(crate) fn records<'a, M: Model<State: 'a>>(
        &mut self,
        model: &M,
        upcoming: impl Fn(usize) -> Option<LpId>,
        lp: impl Fn(LpId) -> &'a Lp<M::State>,
    ) {
        const { assert!(M::FETCHES <= AHEAD.len(), "a state can be fetched in at most three steps") };
        self.each(&upcoming, |id| prefetch(lp(id)));
        if M::FETCHES == 0 || !self.takes_steps {
            return;
        }
        for (step, ahead) in AHEAD.into_iter().take(M::FETCHES).enumerate() {
            if let Some(id) = upcoming(ahead) {
                model.fetch(lp(id).state(), step);
            }
        }
    }
}
