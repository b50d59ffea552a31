//! Executing alone. No other worker executes, so no event is ever rolled back, and each is committed at once.

use super::Site;
use crate::fetch::Fetcher;
use parades_core::any_model::{Packed, hide_body};
use parades_core::lp::Execution;
use parades_core::outbox::Pending;
use parades_core::pending::PendingSet;
use parades_core::time::Time;
use parades_core::world::World;

impl<'k, P: Packed<'k>> Site<'k, P> {
    /// Returns true if this worker executes alone.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.effects.outbox.pending, Pending::ByTime(_))
    }

    /// Executes and commits at most `most` events before `bound`. Stops after an event that fails or
    /// requests a global event.
    #[inline(never)]
    pub(super) fn execute_alone(&mut self, world: &World, bound: Time, most: u32) {
        let Site {
            model, placement, lps, records, effects, ledger, metrics, requested_committed, failed_alone, ..
        } = self;
        let mut executed = 0;
        let mut fetcher = Fetcher::of(*model, lps.len());
        while executed < most && !*failed_alone {
            let pending = effects.outbox.direct_mut();
            let Some(event) = pending.pop_before(bound) else { break };
            fetcher.each(|ahead| pending.upcoming(ahead), |id| records.prefetch(placement.index(id)));
            fetcher.steps(|ahead| pending.upcoming(ahead), |id, step| lps.fetch(placement.index(id), step));
            let id = event.receiver();
            let execution =
                lps.execute(placement.index(id), event.header_ref(), hide_body(&event.body), world, effects.hide());
            let mut has_requested = false;
            let others = &mut effects.others;
            if others.any {
                let times = others.requests.iter().map(|request| request.key.instant.time);
                *requested_committed = times.fold(*requested_committed, Time::min);
                has_requested = !others.requests.is_empty();
                *failed_alone = ledger.collect(event.key(), id, others, metrics);
            }
            if execution == Execution::Done && !*failed_alone {
                executed += 1;
                if ledger.traces {
                    ledger.trace(event, others);
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
