//! What a worker does between two rests: it goes round, taking in, receiving, offering, executing, sending.

use super::leader::Leader;
use super::optimism::Optimism;
use super::reviewer::Cost;
use super::site::Site;
use super::{Crew, Stalls};
use crate::course::just_after;
use crate::seats;
use crate::stopwatch::timed;
use crate::transport::{Summary, Transport};
use crate::workers::lock;
use parades_core::optimistic::{NEVER, Tagged};
use parades_core::restore::Restorable;
use parades_core::time::{Instant, Time};
use parades_core::timesheet::Spent;
use parades_core::world::World;
use parades_sync::barrier::Broken;

/// What a worker knows of the others.
pub(super) struct View {
    pub(super) gvt: Time,
    pub(super) horizon: Time,
    /// Before which time it may execute.
    pub(super) limit: Time,
    /// Whether it has made an offer whose outcome it does not have yet.
    pub(super) offered: bool,
    /// What it has executed since then.
    pub(super) since: u32,
    /// Whether it has nothing to do before there is another.
    pub(super) is_due: bool,
    /// The round that GVT has reached at its time.
    pub(super) round: u32,
    /// What all had committed, and taken back when that last grew.
    pub(super) committed: u64,
    pub(super) rolled_back: u64,
    /// Whether so much has been taken back since that it may be the same again and again.
    pub(super) circles: bool,
    /// The least instant of what it sent since its last offer.
    pub(super) sent: Instant,
    pub(super) optimism: Optimism,
    /// Whether this worker executes all, and need not ask the others.
    pub(super) alone: bool,
    pub(super) cost: Cost,
    /// Outcomes in a row with which memory was short.
    pub(super) short: u32,
    /// Bytes that were needed when there was no more to be done about it.
    pub(super) too_much: Option<u64>,
}

impl View {
    /// Of one who knows nothing yet.
    pub(super) fn new(optimism: Optimism) -> View {
        View {
            gvt: Time::ZERO,
            horizon: Time::ZERO,
            limit: Time::ZERO,
            offered: false,
            since: 0,
            is_due: true,
            round: 0,
            committed: 0,
            rolled_back: 0,
            circles: false,
            sent: NEVER,
            optimism,
            alone: false,
            cost: Cost::default(),
            short: 0,
            too_much: None,
        }
    }
}

/// Events between two looks at what others have sent: at least, and at most.
const BATCH_MIN: u32 = 80;
const BATCH_MAX: u32 = 512;
/// One in so many of those that wait, lest many come late: the fewer there are, the further in virtual time does a batch reach.
const BATCH_SHARE: usize = 16;
/// And no more than take so long, in nanoseconds.
const BATCH_NS: f64 = 25_000.0;
/// How many events before the end of a batch a worker hints that it will soon send and receive.
const BATCH_LAST: u32 = 8;
/// Executions of each worker that are taken back while nothing is committed, after which nothing is executed beyond GVT's round: some times what a stretch
/// holds, for so much may be due to be committed.
const CIRCLING: u64 = 1 << 12;
/// Turns between two measurements of what an execution costs.
const TURNS_PER_LOOK: u32 = 16;
/// Outcomes in a row with too much memory in use after which what waits is put together anew, since it takes time.
const SHORT: u32 = 16;
/// And after which there is nothing left to be tried.
const HOPELESS: u32 = 64;

impl<M: Restorable, T: Transport<Tagged<M::Message>>> Crew<'_, M, T> {
    /// Goes round until GVT has reached the horizon.
    pub(super) fn go(
        &self,
        worker: usize,
        view: &mut View,
        mut stalls: Option<&mut Stalls>,
        mut leader: Option<&mut Leader<'_, M>>,
    ) -> Result<(), Broken> {
        let mut site = lock(&self.sites[worker]);
        let site = &mut *site;
        let world = self.read_world();
        let of = (self.model, &*world);
        let number = u32::try_from(worker).unwrap_or(u32::MAX);
        let mut turns = 0_u32;
        loop {
            seats::unbind_if_due();
            let seen = self.transport.news(worker);
            let mut idle = true;
            // Who never waits hears here that another has failed. Sooner or later it has an offer out: after so many steps; and who takes none is idle, except
            // while it receives what others send in theirs.
            if view.offered
                && let Some(all) = self.transport.outcome(worker)?
            {
                idle = false;
                view.offered = false;
                if self.take_up(worker, &all, view, (site, &world), leader.as_deref_mut()) {
                    // Anti-messages after what was taken back last.
                    site.flush(&self.transport);
                    return Ok(());
                }
            }
            self.transport.receive(worker, number, false, &mut |arrived| {
                idle &= arrived.is_empty();
                site.push_all(arrived);
            });
            let stalled = stalls.as_deref_mut().is_some_and(Stalls::stalls);
            // Each reduction costs every worker something, so there is none before some worker waits for it.
            if !view.offered && (view.is_due || view.since >= view.optimism.events_per_offer()) {
                view.sent = view.sent.min(site.flush(&self.transport));
                let wants_cut = leader.as_deref_mut().is_some_and(|leader| leader.announce_cut());
                let mine = self.summary(site, view, wants_cut);
                (view.offered, view.is_due) = (true, false);
                (view.since, view.sent) = (0, NEVER);
                // It may have been the last.
                idle = false;
                self.transport.offer(worker, &mine);
            }
            if stalled {
                std::thread::yield_now();
                continue;
            }
            turns = turns.wrapping_add(1);
            let executed = if turns.is_multiple_of(TURNS_PER_LOOK) {
                let (executed, took) = timed(|| self.execute(worker, site, of, view));
                if executed > BATCH_MIN / 2 {
                    view.cost.note(took.as_nanos() as f64 / f64::from(executed));
                }
                executed
            } else {
                self.execute(worker, site, of, view)
            };
            idle &= executed == 0;
            view.since += executed;
            site.end_turn(executed, view.optimism.most_uncommitted());
            view.sent = view.sent.min(site.flush(&self.transport));
            if idle && view.offered {
                view.optimism.start_wait();
                self.transport.wait(worker, seen)?;
                view.optimism.start_work();
            } else {
                view.is_due |= idle;
            }
        }
    }

    /// Executes all LPs until the horizon, while the others rest: what waits next is GVT.
    pub(super) fn go_alone(&self, view: &mut View, leader: &mut Leader<'_, M>) {
        let mut site = lock(&self.sites[0]);
        let site = &mut *site;
        let world = self.read_world();
        loop {
            seats::unbind_if_due();
            let mine = self.summary(site, view, leader.announce_cut());
            if self.take_up(0, &mine, view, (site, &world), Some(leader)) {
                return;
            }
            site.execute_alone((self.model, &world), view.horizon, batch_of(view.cost));
        }
    }

    /// Takes in what all workers together know, and commits; whether all are to rest now.
    fn take_up(
        &self,
        worker: usize,
        all: &Summary,
        view: &mut View,
        (site, world): (&mut Site<M>, &World),
        leader: Option<&mut Leader<'_, M>>,
    ) -> bool {
        self.timekeeper.spend(worker, Spent::Gvt, || {
            self.take_in(all, view, site, world);
            if let Some(leader) = leader {
                let waiting = if view.alone { 0 } else { site.waiting() * self.sites.len() };
                leader.observe((self, world), all, view, waiting);
            }
            if view.gvt >= view.horizon {
                site.close_stretch();
            }
            site.commit_before(world, view.gvt.min(view.horizon));
            if site.ledger.traces {
                lock(&self.traced[worker]).append(&mut site.ledger.trace);
            }
        });
        view.gvt >= view.horizon || view.too_much.is_some()
    }

    /// Takes in what all workers together know: the same on all of them.
    fn take_in(&self, all: &Summary, view: &mut View, site: &mut Site<M>, world: &World) {
        let gvt = all.next.min(all.in_flight);
        assert!(gvt >= view.gvt, "I2: GVT went back from {} to {gvt}", view.gvt);
        if all.committed > view.committed {
            (view.committed, view.rolled_back) = (all.committed, all.rolled_back);
        }
        view.circles = all.rolled_back - view.rolled_back > CIRCLING * self.sites.len() as u64;
        view.round = if all.in_flight > gvt { all.round } else { 0 };
        view.gvt = gvt;
        // Nobody has passed what was asked for; but where the run is to end now, what lies beyond has never been.
        view.horizon = view.horizon.min(all.requested);
        let of = (self.model, world);
        let end = just_after(all.failed).min(if all.wants_cut { just_after(view.gvt) } else { Time::MAX });
        if end < view.horizon {
            view.horizon = end;
            site.take_back_from(of, end);
        }
        view.optimism.take_in(all, view.gvt);
        if let Some(limit) = self.memory.limit {
            let needed = all.bytes + self.memory.lps as u64;
            // A log doubles when it is full.
            let room = limit.saturating_sub(needed) / (2 * self.sites.len() * Site::<M>::EXECUTION_BYTES) as u64;
            let room = u32::try_from(room).unwrap_or(u32::MAX).saturating_add(site.uncommitted());
            view.optimism.press(if needed > limit { 0 } else { room });
            view.short = if needed > limit { view.short + 1 } else { 0 };
            view.too_much = (view.short > HOPELESS).then_some(needed);
            if needed > limit {
                let committed = view.gvt.min(view.horizon);
                // At the end nothing that is not committed may be left.
                site.take_back_from(of, if view.too_much.is_some() { committed } else { just_after(view.gvt) });
                site.commit_before(world, committed);
                if view.short.is_multiple_of(SHORT) {
                    site.compact()
                } else {
                    site.shrink()
                }
                self.transport.shrink(site.number as usize);
            }
        }
        let controllers = world.controllers();
        let asked = match controllers.lps.is_empty() {
            true => Time::MAX,
            false => view.gvt.checked_add(controllers.delay).unwrap_or(Time::MAX),
        };
        view.limit = view.optimism.limit(view.gvt).min(asked).min(view.horizon);
    }

    /// Executes a batch; how many events.
    fn execute(&self, worker: usize, site: &mut Site<M>, of: (&M, &World), view: &View) -> u32 {
        let some = u32::try_from(site.waiting() / BATCH_SHARE).unwrap_or(u32::MAX);
        let batch = some.clamp(BATCH_MIN, BATCH_MAX).min(batch_of(view.cost));
        let bound = just_after(view.gvt).min(view.horizon);
        if view.circles {
            let executed = site.execute_round(of, Instant { time: view.gvt, round: view.round }, bound, batch);
            site.close_stretch();
            return executed;
        }
        let most = batch.min(view.optimism.most_uncommitted().saturating_sub(site.uncommitted()));
        let last = most.min(BATCH_LAST);
        let mut executed = site.execute_before(of, view.limit, most - last);
        if executed == most - last {
            self.transport.prefetch_inboxes(worker, &mut site.full_parcels());
            executed += site.execute_before(of, view.limit, last);
        }
        // What GVT waits for is executed whatever the bounds.
        if site.next_time() <= view.gvt { executed + site.execute_before(of, bound, batch) } else { executed }
    }

    fn summary(&self, site: &mut Site<M>, view: &View, wants_cut: bool) -> Summary {
        let least = site.next_instant().min(view.sent);
        Summary {
            next: least.time,
            round: least.round,
            failed: site.failed_before(view.gvt),
            requested: site.requested(),
            events: site.executed(),
            rolled_back: site.counts.rolled_back,
            committed: site.counts.committed,
            bytes: match self.memory.limit {
                Some(_) => (site.allocated_bytes() + self.transport.allocated_bytes(site.number as usize)) as u64,
                None => 0,
            },
            wants_cut,
            ..Summary::NOTHING
        }
    }
}

/// Events that take about as long as a batch may, at such a cost.
fn batch_of(cost: Cost) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
    let soon = (BATCH_NS / cost.ns()) as u32;
    soon.clamp(BATCH_MIN, BATCH_MAX)
}
