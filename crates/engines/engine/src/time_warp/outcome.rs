//! The handling of an outcome: GVT, the commit of everything before it, and the limit of memory.

use super::steps::Steps;
use crate::course::just_after;
use crate::workers::lock;
use parades_core::time::Time;
use parades_core::timesheet::Spent;
use parades_transport::Summary;
use std::sync::atomic::Ordering;

/// Executions rolled back since the last commit, per worker, above which nothing is executed beyond GVT's
/// round. It is several times the size of a stretch of history, because one stretch may be waiting for its
/// commit.
const LOOPING: u64 = 1 << 12;
/// The number of outcomes in a row with too much memory in use between two compactions, which take time.
const OUTCOMES_PER_COMPACTION: u32 = 16;
/// The number of outcomes in a row with too much memory in use after which the worker gives up.
const OUTCOMES_MAX: u32 = 64;
/// The part of the memory limit above [`UNCOUNTED_BESIDE`] that executions ahead leave to memory that nobody
/// counts: an eighth. Such memory is stacks, and freed memory that the allocator keeps.
const SHARE_UNCOUNTED: u64 = 8;
/// Bytes of memory that nobody counts and that a process may take beside its limit.
const UNCOUNTED_BESIDE: u64 = 8 << 20;

impl<'k> Steps<'_, 'k> {
    /// Handles an outcome: computes GVT, and commits everything before it. `observe` is called in between.
    pub(super) fn handle_outcome(&mut self, all: &Summary, observe: impl FnOnce(&mut Self)) {
        let crew = self.crew;
        crew.timekeeper.spend(self.worker, Spent::Gvt, || {
            self.update_view(all);
            observe(self);
            let Steps { site, view, world, .. } = self;
            if view.gvt >= view.horizon {
                site.close_stretch();
            }
            site.commit_before(world, view.gvt.min(view.horizon));
            // Ordering: Relaxed. The time is a statistic, and its reader does no harm with an older one.
            crew.worked_ns[self.worker].store(site.worked_ns(), Ordering::Relaxed);
            if site.ledger_mut().traces {
                lock(&crew.traced[self.worker]).append(&mut site.ledger_mut().trace);
            }
        });
    }

    /// Updates the view with an outcome. All workers draw the same conclusions.
    fn update_view(&mut self, all: &Summary) {
        let Steps { crew, worker, site, world, view, .. } = self;
        let gvt = all.next.min(all.in_flight);
        assert!(gvt >= view.gvt, "I2: GVT went back from {} to {gvt}", view.gvt);
        if all.committed > view.committed {
            (view.committed, view.rolled_back) = (all.committed, all.rolled_back);
        }
        view.is_looping = all.rolled_back - view.rolled_back > LOOPING * crew.sites.len() as u64;
        view.round = if all.in_flight > gvt { all.round } else { 0 };
        view.gvt = gvt;
        // No worker has passed a request. But if the run ends now, workers may have passed its end, and
        // roll back.
        view.horizon = view.horizon.min(all.requested);
        // Nothing at GVT is committed yet, unless one worker goes on alone. So a stop need not wait for it.
        let cut = if all.wants_stop && !view.alone { view.gvt } else { just_after(view.gvt) };
        let end = just_after(all.failed).min(if all.wants_cut { cut } else { Time::MAX });
        if end < view.horizon {
            view.horizon = end;
            crew.timekeeper.spend(*worker, Spent::Executing, || site.roll_back_all_from(world, end));
        }
        view.optimism.update(all, view.gvt);
        if let Some(limit) = crew.memory.limit {
            self.limit_memory(limit, all.bytes);
        }
        let Steps { world, view, .. } = self;
        let controllers = world.controllers();
        let earliest_request = match controllers.lps.is_empty() {
            true => Time::MAX,
            false => view.gvt.checked_add(controllers.delay).unwrap_or(Time::MAX),
        };
        view.limit = view.optimism.limit(view.gvt).min(earliest_request).min(view.horizon);
    }

    /// Limits what the worker executes ahead of GVT by the room that is left. Beyond the limit, rolls back
    /// what has been executed ahead of GVT. `bytes` is the size of pending events and histories.
    fn limit_memory(&mut self, limit: u64, bytes: u64) {
        let Steps { crew, worker, site, world, view, .. } = self;
        let needed = bytes + crew.memory.lps as u64;
        // A log doubles its room when it is full.
        let uncounted = limit.saturating_sub(UNCOUNTED_BESIDE) / SHARE_UNCOUNTED;
        let room = (limit - uncounted).saturating_sub(needed);
        let room = room / (2 * crew.sites.len() * site.execution_bytes()) as u64;
        let room = u32::try_from(room).unwrap_or(u32::MAX).saturating_add(site.uncommitted());
        view.optimism.limit_uncommitted(if needed > limit { 0 } else { room });
        view.short_outcomes = if needed > limit { view.short_outcomes + 1 } else { 0 };
        view.excess = (view.short_outcomes > OUTCOMES_MAX).then_some(needed);
        if needed <= limit {
            return;
        }
        let committed = view.gvt.min(view.horizon);
        // At a cut, no uncommitted execution may be left.
        let from = if view.excess.is_some() { committed } else { just_after(view.gvt) };
        crew.timekeeper.spend(*worker, Spent::Executing, || site.roll_back_all_from(world, from));
        site.commit_before(world, committed);
        if view.short_outcomes.is_multiple_of(OUTCOMES_PER_COMPACTION) {
            site.compact()
        } else {
            site.shrink()
        }
        crew.seat.transport.shrink(site.number() as usize - crew.first);
    }
}
