//! The steps of a worker between two cuts: outcome, receive, offer, execute, send.

use super::Crew;
use super::leader::{Leader, Wishes};
use super::reviewer::Cost;
use super::site::AnySite;
use super::stalls::Stalls;
use super::view::View;
use crate::course::just_after;
use crate::seats;
use crate::stopwatch::timed;

use parades_core::optimistic::NEVER;
use parades_core::time::Instant;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::Summary;

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
/// Batches between two measurements of the cost of an execution.
const BATCHES_PER_MEASUREMENT: u32 = 16;

/// A worker between two cuts. It holds its site and the world.
pub(super) struct Steps<'w, 'k> {
    pub(super) crew: &'w Crew<'k>,
    /// The worker's number in its rank.
    pub(super) worker: usize,
    pub(super) site: &'w mut (dyn AnySite<'k> + 'k),
    pub(super) world: &'w World,
    pub(super) view: &'w mut View,
    /// The worker's stalls, in a test.
    pub(super) stalls: Option<&'w mut Stalls>,
    /// The number of batches executed.
    pub(super) batches: u32,
    /// True while the worker has found nothing to do in this round of steps.
    pub(super) idle: bool,
}

impl<'k> Steps<'_, 'k> {
    /// Repeats the steps of the protocol until GVT has reached the horizon, as the leader.
    pub(super) fn lead(mut self, leader: &mut Leader<'k>) -> Result<(), Broken> {
        loop {
            let news = self.begin();
            if let Some(all) = self.take_outcome()? {
                let pending = self.site.waiting() * self.crew.sites.len();
                self.handle_outcome(&all, |steps| {
                    leader.observe(steps.crew, steps.world, &all, steps.view, pending);
                });
                if self.view.is_at_cut() {
                    return self.finish();
                }
            }
            self.receive();
            if self.needs_offer() {
                self.offer(leader.announce_cut());
            }
            self.execute();
            self.wait_if_idle(news)?;
        }
    }

    /// Repeats the steps of the protocol until GVT has reached the horizon.
    pub(super) fn follow(mut self) -> Result<(), Broken> {
        loop {
            let news = self.begin();
            if let Some(all) = self.take_outcome()? {
                self.handle_outcome(&all, |_| {});
                if self.view.is_at_cut() {
                    return self.finish();
                }
            }
            self.receive();
            if self.needs_offer() {
                self.offer(Wishes::default());
            }
            self.execute();
            self.wait_if_idle(news)?;
        }
    }

    /// Executes all LPs up to the horizon, while the other workers wait. The next pending event is at GVT.
    pub(super) fn go_on_alone(mut self, leader: &mut Leader<'k>) {
        loop {
            seats::unbind_if_due();
            let mine = self.summary(leader.announce_cut());
            self.handle_outcome(&mine, |steps| leader.observe(steps.crew, steps.world, &mine, steps.view, 0));
            if leader.gives_up() {
                self.view.horizon = self.view.horizon.min(self.view.gvt);
            }
            if self.view.is_at_cut() {
                return;
            }
            self.site.execute_alone(self.world, self.view.horizon, batch_of(self.view.cost));
        }
    }

    /// Begins a round of steps. Returns the number of notifications for this worker so far.
    fn begin(&mut self) -> u64 {
        seats::unbind_if_due();
        self.idle = true;
        self.crew.seat.transport.news(self.worker)
    }

    /// Returns the outcome of the worker's offer, if there is one.
    ///
    /// A worker that never waits learns here that another has failed. It asks often enough, because it makes
    /// an offer after a number of executions, or when it is idle.
    fn take_outcome(&mut self) -> Result<Option<Summary>, Broken> {
        if !self.view.has_offered {
            return Ok(None);
        }
        let outcome = self.crew.seat.transport.outcome(self.worker)?;
        if outcome.is_some() {
            (self.idle, self.view.has_offered) = (false, false);
        }
        Ok(outcome)
    }

    /// Receives the events that have arrived.
    fn receive(&mut self) {
        let Steps { site, idle, .. } = self;
        self.crew.seat.transport.receive(self.worker, site.number(), false, &mut |arrived| {
            *idle &= site.receive(arrived) == 0;
        });
    }

    /// Returns true if the worker must make an offer. Each reduction costs every worker some time, so none
    /// begins before some worker needs it.
    fn needs_offer(&self) -> bool {
        let View { has_offered, is_offer_due, executed_since_offer, optimism, .. } = &*self.view;
        !has_offered && (*is_offer_due || *executed_since_offer >= optimism.events_per_offer())
    }

    /// Offers the earliest instant that this worker knows.
    fn offer(&mut self, wishes: Wishes) {
        self.send();
        let mine = self.summary(wishes);
        let view = &mut *self.view;
        (view.has_offered, view.is_offer_due) = (true, false);
        (view.executed_since_offer, view.sent_since_offer) = (0, NEVER);
        // This offer may have been the last, so that the outcome is there.
        self.idle = false;
        self.crew.seat.transport.offer(self.worker, &mine);
    }

    /// Executes a batch, now and then measures it, and sends the new events. Does nothing in a stall.
    fn execute(&mut self) {
        if self.stalls.as_mut().is_some_and(|stalls| stalls.advance()) {
            self.idle = false;
            return std::thread::yield_now();
        }
        self.batches = self.batches.wrapping_add(1);
        let executed = if self.batches.is_multiple_of(BATCHES_PER_MEASUREMENT) {
            let (executed, took) = timed(|| self.execute_batch());
            if executed > BATCH_MIN / 2 {
                self.view.cost.add(took.as_nanos() as f64 / f64::from(executed));
            }
            executed
        } else {
            self.execute_batch()
        };
        self.idle &= executed == 0;
        self.view.executed_since_offer += executed;
        self.site.end_batch(executed, self.view.optimism.most_uncommitted());
        self.send();
    }

    /// Waits for news if the worker can do nothing before the outcome of its offer.
    fn wait_if_idle(&mut self, news: u64) -> Result<(), Broken> {
        if self.idle && self.view.has_offered {
            self.view.optimism.start_wait();
            self.crew.seat.transport.wait(self.worker, news)?;
            self.view.optimism.start_work();
        } else {
            self.view.is_offer_due |= self.idle;
        }
        Ok(())
    }

    /// Sends the anti-messages of the last rollbacks, at the end of the steps.
    fn finish(mut self) -> Result<(), Broken> {
        self.send();
        Ok(())
    }

    /// Sends the events for other workers.
    fn send(&mut self) {
        let sent = self.site.flush(&*self.crew.seat.transport, &self.crew.here());
        self.view.sent_since_offer = self.view.sent_since_offer.min(sent);
    }

    /// Executes a batch. Returns the number of events executed.
    fn execute_batch(&mut self) -> u32 {
        let Steps { crew, site, view, .. } = self;
        let world = self.world;
        let share = u32::try_from(site.waiting() / BATCH_SHARE).unwrap_or(u32::MAX);
        let batch = share.clamp(BATCH_MIN, BATCH_MAX).min(batch_of(view.cost));
        let bound = just_after(view.gvt).min(view.horizon);
        if view.is_looping {
            let executed = site.execute_round(world, Instant { time: view.gvt, round: view.round }, bound, batch);
            site.close_stretch();
            return executed;
        }
        let most = batch.min(view.optimism.most_uncommitted().saturating_sub(site.uncommitted()));
        let last = most.min(BATCH_LAST);
        let mut executed = site.execute_before(world, view.limit, most - last);
        if executed == most - last {
            site.prefetch_inboxes(&*crew.seat.transport, self.worker);
            executed += site.execute_before(world, view.limit, last);
        }
        // Events at GVT are executed whatever the limits, because GVT waits for them.
        if site.next_time() <= view.gvt { executed + site.execute_before(world, bound, batch) } else { executed }
    }

    fn summary(&mut self, wishes: Wishes) -> Summary {
        let Steps { crew, site, view, .. } = self;
        let earliest = site.next_instant().min(view.sent_since_offer);
        let load = site.useful_load();
        let mine = Summary {
            next: earliest.time,
            round: earliest.round,
            failed: site.failed_before(view.gvt),
            requested: site.requested(),
            events: site.executed(),
            rolled_back: site.counts().rolled_back,
            committed: site.counts().committed,
            bytes: match crew.memory.limit {
                Some(_) => {
                    (site.allocated_bytes()
                        + crew.seat.transport.allocated_bytes(site.number() as usize - crew.first, site.number()))
                        as u64
                }
                None => 0,
            },
            wants_cut: wishes.cut,
            wants_stop: wishes.stop,
            ..Summary::NOTHING
        };
        mine.with_load(load.ns, load.squares)
    }
}

/// Returns the number of events that take about as long as a batch may take.
fn batch_of(cost: Cost) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
    let events = (BATCH_NS / cost.ns()) as u32;
    events.clamp(BATCH_MIN, BATCH_MAX)
}
