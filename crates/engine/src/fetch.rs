//! Fetching into the cache what the next events will need, besides the records of their LPs.

use parades_core::event::LpId;
use parades_core::lp::Lp;
use parades_core::model::Model;

/// How many events after the next an LP's is, when a step of [`Model::fetch`] is taken for it: one event takes about as long as memory does.
const AHEAD: [usize; 3] = [5, 3, 1];

/// Takes a step of [`Model::fetch`] for each of the LPs of the next few events.
#[inline(always)]
pub(crate) fn fetch_states<'a, M: Model<State: 'a>>(
    model: &M,
    upcoming: impl Fn(usize) -> Option<LpId>,
    lp: impl Fn(LpId) -> &'a Lp<M::State>,
) {
    const { assert!(M::FETCHES <= AHEAD.len(), "a state can be fetched in at most three steps") };
    for (step, ahead) in AHEAD.into_iter().take(M::FETCHES).enumerate() {
        if let Some(id) = upcoming(ahead) {
            model.fetch(lp(id).state(), step);
        }
    }
}
