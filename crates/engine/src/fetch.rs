//! Fetching into the cache what the next events will need.

use parades_core::event::LpId;
use parades_core::lp::Lp;
use parades_core::model::Model;
use parades_raw::prefetch::prefetch;

/// How many events ahead of its execution the record of an event's LP is fetched by who takes all events of a run in the order of time.
pub(crate) const RECORD_AHEAD: usize = 6;

/// How many events after the next an LP's is, when a step of [`Model::fetch`] is taken for it: one event takes about as long as memory does.
const AHEAD: [usize; 3] = [5, 3, 1];

/// Fetches the record of the LP whose event comes `record_ahead` events after the next, and takes a step of [`Model::fetch`] for those of nearer ones.
#[inline(always)]
pub(crate) fn fetch_upcoming<'a, M: Model<State: 'a>>(
    model: &M,
    record_ahead: usize,
    upcoming: impl Fn(usize) -> Option<LpId>,
    lp: impl Fn(LpId) -> &'a Lp<M::State>,
) {
    const { assert!(M::FETCHES <= AHEAD.len(), "a state can be fetched in at most three steps") };
    if let Some(id) = upcoming(record_ahead) {
        prefetch(lp(id));
    }
    for (step, ahead) in AHEAD.into_iter().take(M::FETCHES).enumerate() {
        if let Some(id) = upcoming(ahead) {
            model.fetch(lp(id).state(), step);
        }
    }
}
