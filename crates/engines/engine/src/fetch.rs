//! Fetching into the cache what the next events will need.

use parades_core::event::LpId;
use parades_core::lp::Lp;
use parades_core::model::Model;
use parades_raw::prefetch::prefetch;

/// How many events after the next an LP's is, when its record is fetched: memory that is beside a cache, and busy, takes as long as that many small events do.
const FAR: usize = 12;
/// The same where no more are known, as a run of events comes to its end.
const NEAR: usize = 5;

/// Bytes of all LPs' records up to which a core finds them so soon that fetching them costs more. By measurement: PHOLD of 256 / 1,024 / 2,048 LPs (`parades run
/// phold --engine time-warp --threads 1 --set lps=256`) takes 0.93 / 0.96 / 0.96 of the time without, and of 4,096 as long.
const NEAR_BYTES: usize = 1 << 17;

/// How many events after the next an LP's is, when a step of [`Model::fetch`] is taken for it: one event takes about as long as memory does.
const AHEAD: [usize; 3] = [5, 3, 1];

/// Fetches the records of the LPs whose events come next.
///
/// Which those are is known as far as the events that wait are in order: [`FAR`] ahead, but at the end of a run of them. When another run has been put in
/// order, its first events have not been fetched, and are so together.
#[derive(Debug)]
pub(crate) struct Fetcher {
    /// Whether records are fetched.
    fetches: bool,
    /// No event so far ahead was known.
    is_behind: bool,
    /// Whether steps of [`Model::fetch`] are taken.
    takes_steps: bool,
}

impl Fetcher {
    /// One that has fetched nothing, for so many LPs, and takes no steps of [`Model::fetch`].
    pub(crate) fn without_steps<S>(lps: usize) -> Fetcher {
        Fetcher { fetches: lps * size_of::<Lp<S>>() > NEAR_BYTES, is_behind: true, takes_steps: false }
    }

    /// One that has fetched nothing, and takes the steps of this model's [`Model::fetch`], if it has any and they are worth it.
    pub(crate) fn of<M: Model>(model: &M, lps: usize) -> Fetcher {
        Fetcher { takes_steps: model.fetches(), ..Fetcher::without_steps::<M::State>(lps) }
    }

    /// Calls `fetch` for LPs whose events come soon; asked for at each event.
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

    /// Fetches all that is not so far ahead. Never inlined, as the next: what is done at each event is to keep what it works with in registers.
    #[inline(never)]
    fn catch_up(&mut self, upcoming: impl Fn(usize) -> Option<LpId>, fetch: impl Fn(LpId)) {
        self.is_behind = false;
        (0..FAR).filter_map(upcoming).for_each(fetch);
    }

    #[inline(never)]
    fn fetch_near(&mut self, upcoming: impl Fn(usize) -> Option<LpId>, fetch: impl Fn(LpId)) {
        self.is_behind = true;
        upcoming(NEAR).into_iter().for_each(fetch);
    }

    /// Fetches the records of LPs whose events come soon, and takes a step of [`Model::fetch`] for those of nearer ones.
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
