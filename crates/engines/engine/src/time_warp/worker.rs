//! The work of a worker between two cuts, step by step: outcome, receive, offer, execute, send.

use super::leader::Leader;
use super::optimism::Optimism;
use super::reviewer::Cost;
use super::site::Site;
use super::{Crew, Stalls};
use crate::course::just_after;
use crate::seats;
use crate::stopwatch::timed;
use crate::workers::lock;
use parades_core::optimistic::NEVER;
use parades_core::restore::Restorable;
use parades_core::time::{Instant, Time};
use parades_core::timesheet::Spent;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::Summary;

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
}

/// The fewest events of a batch. After each batch the worker receives the events that others have sent.
const BATCH_MIN: u32 = 80;
/// The most events of a batch.
const BATCH_MAX: u32 = 512;
/// A batch is the pending events divided by this. If few are pending, a batch of given size reaches far in
/// virtual time, and then many events would arrive late.
const BATCH_SHARE: usize = 16;
/// The longest time of a batch, in nanoseconds.
const BATCH_NS: f64 = 25_000.0;
/// The number of events before the end of a batch at which the worker prefetches the inboxes.
const BATCH_LAST: u32 = 8;
/// Executions rolled back since the last commit, per worker, above which nothing is executed beyond GVT's
/// round. It is several times the size of a stretch of history, because one stretch may be waiting for its
/// commit.
const LOOPING: u64 = 1 << 12;
/// Batches between two measurements of the cost of an execution.
const BATCHES_PER_MEASUREMENT: u32 = 16;
/// The number of outcomes in a row with too much memory in use between two compactions, which take time.
const OUTCOMES_PER_COMPACTION: u32 = 16;
/// The number of outcomes in a row with too much memory in use after which the worker gives up.
const OUTCOMES_MAX: u32 = 64;

impl<M: Restorable> Crew<'_, M> {
    /// Repeats the steps of the protocol until GVT has reached the horizon.
    pub(super) fn run_to_horizon(
        &self,
        worker: usize,
        view: &mut View,
        mut stalls: Option<&mut Stalls>,
        mut leader: Option<&mut Leader<'_, M>>,
    ) -> Result<(), Broken> {
        let mut site = lock(&self.sites[self.first + worker]);
        let site = &mut *site;
        let world = self.read_world();
        let of = (self.model, &*world);
        let number = u32::try_from(self.first + worker).unwrap_or(u32::MAX);
        let here = self.first..self.first + self.ledgers.len();
        let mut batches = 0_u32;
        loop {
            seats::unbind_if_due();
            let seen = self.seat.transport.news(worker);
            let mut idle = true;
            // A worker that never waits learns here that another has failed. It asks often enough, because
            // it makes an offer after a number of executions, or when it is idle.
            if view.has_offered
                && let Some(all) = self.seat.transport.outcome(worker)?
            {
                idle = false;
                view.has_offered = false;
                if self.handle_outcome(worker, &all, view, (site, &world), leader.as_deref_mut()) {
                    // Sends the anti-messages of the last rollbacks.
                    site.flush(self.seat.transport, &here);
                    return Ok(());
                }
            }
            self.seat.transport.receive(worker, number, false, &mut |arrived| {
                idle &= arrived.is_empty();
                site.push_all(arrived);
            });
            let stalled = stalls.as_deref_mut().is_some_and(Stalls::advance);
            // Each reduction costs every worker some time. So no reduction begins before some worker needs
            // it.
            if !view.has_offered && (view.is_offer_due || view.executed_since_offer >= view.optimism.events_per_offer())
            {
                view.sent_since_offer = view.sent_since_offer.min(site.flush(self.seat.transport, &here));
                let wants_cut = leader.as_deref_mut().is_some_and(|leader| leader.announce_cut());
                let mine = self.summary(site, view, wants_cut);
                (view.has_offered, view.is_offer_due) = (true, false);
                (view.executed_since_offer, view.sent_since_offer) = (0, NEVER);
                // This offer may have been the last, so that the outcome is there.
                idle = false;
                self.seat.transport.offer(worker, &mine);
            }
            if stalled {
                std::thread::yield_now();
                continue;
            }
            batches = batches.wrapping_add(1);
            let executed = if batches.is_multiple_of(BATCHES_PER_MEASUREMENT) {
                let (executed, took) = timed(|| self.execute(worker, site, of, view));
                if executed > BATCH_MIN / 2 {
                    view.cost.add(took.as_nanos() as f64 / f64::from(executed));
                }
                executed
            } else {
                self.execute(worker, site, of, view)
            };
            idle &= executed == 0;
            view.executed_since_offer += executed;
            site.end_batch(executed, view.optimism.most_uncommitted());
            view.sent_since_offer = view.sent_since_offer.min(site.flush(self.seat.transport, &here));
            if idle && view.has_offered {
                view.optimism.start_wait();
                self.seat.transport.wait(worker, seen)?;
                view.optimism.start_work();
            } else {
                view.is_offer_due |= idle;
            }
        }
    }

    /// Executes all LPs up to the horizon, while the other workers wait. The next pending event is at GVT.
    pub(super) fn run_alone_to_horizon(&self, view: &mut View, leader: &mut Leader<'_, M>) {
        let mut site = lock(&self.sites[0]);
        let site = &mut *site;
        let world = self.read_world();
        loop {
            seats::unbind_if_due();
            let mine = self.summary(site, view, leader.announce_cut());
            if self.handle_outcome(0, &mine, view, (site, &world), Some(leader)) {
                return;
            }
            site.execute_alone((self.model, &world), view.horizon, batch_of(view.cost));
        }
    }

    /// Handles an outcome: computes GVT, and commits everything before it. Returns true if all workers come
    /// to a cut.
    fn handle_outcome(
        &self,
        worker: usize,
        all: &Summary,
        view: &mut View,
        (site, world): (&mut Site<M>, &World),
        leader: Option<&mut Leader<'_, M>>,
    ) -> bool {
        self.timekeeper.spend(worker, Spent::Gvt, || {
            self.update_view(all, view, site, world);
            if let Some(leader) = leader {
                let pending = if view.alone { 0 } else { site.waiting() * self.sites.len() };
                leader.observe((self, world), all, view, pending);
            }
            if view.gvt >= view.horizon {
                site.close_stretch();
            }
            site.commit_before(world, view.gvt.min(view.horizon));
            if site.ledger.traces {
                lock(&self.traced[worker]).append(&mut site.ledger.trace);
            }
        });
        view.gvt >= view.horizon || view.excess.is_some()
    }

    /// Updates the view with an outcome. All workers draw the same conclusions.
    fn update_view(&self, all: &Summary, view: &mut View, site: &mut Site<M>, world: &World) {
        let gvt = all.next.min(all.in_flight);
        assert!(gvt >= view.gvt, "I2: GVT went back from {} to {gvt}", view.gvt);
        if all.committed > view.committed {
            (view.committed, view.rolled_back) = (all.committed, all.rolled_back);
        }
        view.is_looping = all.rolled_back - view.rolled_back > LOOPING * self.sites.len() as u64;
        view.round = if all.in_flight > gvt { all.round } else { 0 };
        view.gvt = gvt;
        // No worker has passed a request. But if the run ends now, workers may have passed its end, and
        // roll back.
        view.horizon = view.horizon.min(all.requested);
        let of = (self.model, world);
        let end = just_after(all.failed).min(if all.wants_cut { just_after(view.gvt) } else { Time::MAX });
        if end < view.horizon {
            view.horizon = end;
            site.roll_back_all_from(of, end);
        }
        view.optimism.update(all, view.gvt);
        if let Some(limit) = self.memory.limit {
            let needed = all.bytes + self.memory.lps as u64;
            // A log doubles its room when it is full.
            let room = limit.saturating_sub(needed) / (2 * self.sites.len() * Site::<M>::EXECUTION_BYTES) as u64;
            let room = u32::try_from(room).unwrap_or(u32::MAX).saturating_add(site.uncommitted());
            view.optimism.limit_uncommitted(if needed > limit { 0 } else { room });
            view.short_outcomes = if needed > limit { view.short_outcomes + 1 } else { 0 };
            view.excess = (view.short_outcomes > OUTCOMES_MAX).then_some(needed);
            if needed > limit {
                let committed = view.gvt.min(view.horizon);
                // At a cut, no uncommitted execution may be left.
                site.roll_back_all_from(of, if view.excess.is_some() { committed } else { just_after(view.gvt) });
                site.commit_before(world, committed);
                if view.short_outcomes.is_multiple_of(OUTCOMES_PER_COMPACTION) {
                    site.compact()
                } else {
                    site.shrink()
                }
                self.seat.transport.shrink(site.number as usize - self.first);
            }
        }
        let controllers = world.controllers();
        let earliest_request = match controllers.lps.is_empty() {
            true => Time::MAX,
            false => view.gvt.checked_add(controllers.delay).unwrap_or(Time::MAX),
        };
        view.limit = view.optimism.limit(view.gvt).min(earliest_request).min(view.horizon);
    }

    /// Executes a batch. Returns the number of events executed.
    fn execute(&self, worker: usize, site: &mut Site<M>, of: (&M, &World), view: &View) -> u32 {
        let share = u32::try_from(site.waiting() / BATCH_SHARE).unwrap_or(u32::MAX);
        let batch = share.clamp(BATCH_MIN, BATCH_MAX).min(batch_of(view.cost));
        let bound = just_after(view.gvt).min(view.horizon);
        if view.is_looping {
            let executed = site.execute_round(of, Instant { time: view.gvt, round: view.round }, bound, batch);
            site.close_stretch();
            return executed;
        }
        let most = batch.min(view.optimism.most_uncommitted().saturating_sub(site.uncommitted()));
        let last = most.min(BATCH_LAST);
        let mut executed = site.execute_before(of, view.limit, most - last);
        if executed == most - last {
            self.seat.transport.prefetch_inboxes(worker, &mut site.full_parcels());
            executed += site.execute_before(of, view.limit, last);
        }
        // Events at GVT are executed whatever the limits, because GVT waits for them.
        if site.next_time() <= view.gvt { executed + site.execute_before(of, bound, batch) } else { executed }
    }

    fn summary(&self, site: &mut Site<M>, view: &View, wants_cut: bool) -> Summary {
        let earliest = site.next_instant().min(view.sent_since_offer);
        Summary {
            next: earliest.time,
            round: earliest.round,
            failed: site.failed_before(view.gvt),
            requested: site.requested(),
            events: site.executed(),
            rolled_back: site.counts.rolled_back,
            committed: site.counts.committed,
            bytes: match self.memory.limit {
                Some(_) => {
                    (site.allocated_bytes()
                        + self.seat.transport.allocated_bytes(site.number as usize - self.first, site.number))
                        as u64
                }
                None => 0,
            },
            wants_cut,
            ..Summary::NOTHING
        }
    }
}

/// Returns the number of events that take about as long as a batch may take.
fn batch_of(cost: Cost) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
    let events = (BATCH_NS / cost.ns()) as u32;
    events.clamp(BATCH_MIN, BATCH_MAX)
}
