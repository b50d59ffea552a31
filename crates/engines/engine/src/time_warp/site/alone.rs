//! Executing alone. No other worker executes, so no event is ever rolled back, and each is committed at once.

use super::{Inputs, Site};
use crate::fetch::Fetcher;
use parades_core::lp::Execution;
use parades_core::outbox::Pending;
use parades_core::pending::PendingSet;
use parades_core::restore::Restorable;
use parades_core::time::Time;

impl<M: Restorable> Site<M> {
    /// Returns true if this worker executes alone.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.effects.outbox.pending, Pending::ByTime(_))
    }

    /// Executes and commits at most `most` events before `bound`. Stops after an event that fails or
    /// requests a global event.
    #[inline(never)]
    pub(in crate::time_warp) fn execute_alone(&mut self, (model, world): Inputs<'_, M>, bound: Time, most: u32) {
        let Site { placement, lps, effects, ledger, metrics, requested_committed, failed_alone, .. } = self;
        let mut executed = 0;
        let mut fetcher = Fetcher::of(model, lps.len());
        while executed < most && !*failed_alone {
            let pending = effects.outbox.direct_mut();
            let Some(event) = pending.pop_before(bound) else { break };
            let lp_of = |id| &lps[placement.index(id)];
            fetcher.records(model, |ahead| pending.upcoming(ahead), lp_of);
            let (header, body) = event.into_parts();
            let id = header.receiver();
            let lp = &mut lps[placement.index(id)];
            let execution = lp.execute(model, world, (header, body.as_ref()), effects);
            let mut has_requested = false;
            if effects.beyond_sends {
                let times = effects.requests.iter().map(|request| request.key.instant.time);
                *requested_committed = times.fold(*requested_committed, Time::min);
                has_requested = !effects.requests.is_empty();
                *failed_alone = ledger.collect((header.key(), id), effects, metrics);
            }
            if execution == Execution::Done && !*failed_alone {
                executed += 1;
                if ledger.traces {
                    ledger.trace(header.with(body), effects);
                }
            }
            if has_requested {
                break;
            }
        }
        self.counts.executed += u64::from(executed);
        self.counts.committed += u64::from(executed);
    }
}
