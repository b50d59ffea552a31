//! A site behind a table of functions, whatever the form of the messages.

use super::{Counts, Site, Wants};
use crate::costs::{Costs, Load};
use crate::ledger::Ledger;
use crate::time_warp::coast::Coast;
use crate::time_warp::history::NONE;
use parades_core::any_model::{
    AnyEvent, AnyLeftover, AnyRestorable, Hidden, Lps, Packed, any_event, event_of, in_form,
};
use parades_core::event::{Event, LpId};
use parades_core::metrics::Metrics;
use parades_core::optimistic::NEVER;
use parades_core::placement::Placement;
use parades_core::time::{Instant, Time};
use parades_core::world::World;
use parades_transport::{Arrived, Optimistic, ParcelRef, Transport};
use std::ops::Range;

/// A site of any form.
pub(in crate::time_warp) type SiteBox<'k> = Box<dyn AnySite<'k> + 'k>;

/// A [`Site`]. Its functions are called once for each batch, list of events, or cut. The loops behind them
/// are compiled for each form.
pub(in crate::time_warp) trait AnySite<'k>: Send {
    /// Returns the number of the worker among those of all ranks.
    fn number(&self) -> u32;

    /// Returns the counts of the worker's work.
    fn counts(&self) -> &Counts;

    /// Returns the counts of the worker's work.
    fn counts_mut(&mut self) -> &mut Counts;

    /// Returns the ledger.
    fn ledger_mut(&mut self) -> &mut Ledger<'k>;

    /// Returns the LPs.
    fn lps(&self) -> &(dyn Lps<'k> + 'k);

    /// Returns the LPs and their metrics.
    fn residents(&mut self) -> (&mut (dyn Lps<'k> + 'k), &mut Metrics);

    /// Reserves room for `lps` LPs.
    fn reserve(&mut self, lps: usize);

    /// Starts an LP of this worker. LPs start in the order of their ids. Returns false if the LP failed.
    fn start(&mut self, world: &World, id: LpId) -> bool;

    // The cost of executions.

    /// Returns the costs of the LPs.
    fn costs(&self) -> &Costs;

    /// Returns the costs of the LPs.
    fn costs_mut(&mut self) -> &mut Costs;

    /// Returns the share of the recent executions that are kept, scaled so that the costs of workers compare.
    fn useful_share(&self) -> f64;

    /// Returns the cost of the executions that are kept. Ages the costs, if that is due.
    fn useful_load(&mut self) -> Load;

    /// Returns the nanoseconds that all executions have taken, also those rolled back, as far as it is measured.
    fn worked_ns(&self) -> u64;

    // Pending events.

    /// Adds an event that is never annihilated.
    fn push_unmarked(&mut self, event: AnyEvent<'k>);

    /// Adds events that have arrived from other workers. Some may be stragglers. Returns their number.
    fn receive(&mut self, arrived: ParcelRef<'_, 'k, Optimistic>) -> usize;

    /// Returns the instant of the earliest event, or [`NEVER`].
    fn next_instant(&mut self) -> Instant;

    /// Returns the time of the earliest event, or [`Time::MAX`].
    fn next_time(&mut self) -> Time {
        self.next_instant().time
    }

    /// Returns the number of pending events; see
    /// [`OptimisticSet::len_from_frontier`](parades_core::optimistic::OptimisticSet::len_from_frontier).
    fn waiting(&self) -> usize;

    /// Sends the events for other workers. Returns the instant of the earliest. `here` is the range of this
    /// rank's workers among the workers of all ranks.
    fn flush(&mut self, transport: &(dyn Transport<'k, Optimistic> + 'k), here: &Range<usize>) -> Instant;

    /// Prefetches the memory for sending to the workers for which there are events. `worker` is the number of
    /// this worker in its rank.
    fn prefetch_inboxes(&self, transport: &(dyn Transport<'k, Optimistic> + 'k), worker: usize);

    // Executing and committing.

    /// Executes at most `most` events before `bound`. Returns the number of steps, which includes
    /// annihilations.
    fn execute_before(&mut self, world: &World, bound: Time, most: u32) -> u32;

    /// Does the same as [`AnySite::execute_before`], for events up to instant `last`.
    fn execute_round(&mut self, world: &World, last: Instant, bound: Time, most: u32) -> u32;

    /// Executes and commits at most `most` events before `bound`, while no other worker executes. Stops after
    /// an event that fails or requests a global event.
    fn execute_alone(&mut self, world: &World, bound: Time, most: u32);

    /// Ends a batch of `executed` events, of which `most_uncommitted` may be uncommitted.
    fn end_batch(&mut self, executed: u32, most_uncommitted: u32);

    /// Closes the open stretch of the history, and opens another.
    fn close_stretch(&mut self);

    /// Commits the stretches that end before `gvt`.
    fn commit_before(&mut self, world: &World, gvt: Time);

    /// Rolls back all executions at or after `time`.
    fn roll_back_all_from(&mut self, world: &World, time: Time);

    /// Returns the number of events executed so far, including those rolled back.
    fn executed(&self) -> u64;

    /// Returns the number of uncommitted executions, including those rolled back.
    fn uncommitted(&self) -> u32;

    /// Returns the time of the earliest failure that can no longer be rolled back.
    fn failed_before(&self, gvt: Time) -> Time;

    /// Returns the earliest time for which a global event is requested.
    fn requested(&self) -> Time;

    // At a cut, and when memory is short.

    /// Removes and returns the ledger, for the leader. Everything before the horizon has been committed.
    fn take_ledger(&mut self) -> Ledger<'k>;

    /// Removes and returns all pending messages and wakes, in no order. No anti-message is in flight.
    fn take_all(&mut self) -> AnyLeftover<'k>;

    /// Prepares the site, whose LPs have been taken away, for other LPs. If `alone`, it will execute all LPs
    /// of the run.
    fn restart(&mut self, placement: &Placement, alone: bool);

    /// Takes the LPs that have moved here
    /// ([`AnyModel::distribute`](parades_core::any_model::AnyModel::distribute)).
    fn pick_up(&mut self);

    /// Sends the wakes of the timers of LPs that have come from another rank. `arrived` has their indices and
    /// ids.
    fn renew_wakes(&mut self, arrived: &[(usize, LpId)], world: &World);

    /// Takes the LPs of a cut, from which the run goes on, and everything that is pending for them.
    fn resume(&mut self, world: &World, messages: Vec<AnyEvent<'k>>);

    /// Frees memory that is not in use.
    fn shrink(&mut self);

    /// Does the same as [`AnySite::shrink`], and also compacts the pending set.
    fn compact(&mut self);

    /// Returns the bytes of pending events and of the history.
    fn allocated_bytes(&self) -> usize;

    /// Returns the bytes that an uncommitted execution takes in the logs, if it sends and changes little.
    fn execution_bytes(&self) -> usize;
}

/// Makes the site of worker `number`. Each LP has a checkpoint at every `copy_every`-th execution.
pub(in crate::time_warp) fn of_form<'k>(
    number: u32,
    placement: Placement,
    model: &'k dyn AnyRestorable<'k>,
    wants: Wants<'_>,
    copy_every: u16,
) -> SiteBox<'k> {
    fn site_in<'k, P: Packed<'k>>(
        number: u32,
        placement: Placement,
        model: &'k dyn AnyRestorable<'k>,
        wants: Wants<'_>,
        copy_every: u16,
    ) -> SiteBox<'k> {
        Box::new(Site::<P>::new(number, placement, model, wants, Coast::new(copy_every)))
    }
    in_form!(model.form(), site_in(number, placement, model, wants, copy_every))
}

impl<'k, P: Packed<'k>> AnySite<'k> for Site<'k, P> {
    fn number(&self) -> u32 {
        self.number
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn counts_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn ledger_mut(&mut self) -> &mut Ledger<'k> {
        &mut self.ledger
    }

    fn lps(&self) -> &(dyn Lps<'k> + 'k) {
        &*self.lps
    }

    fn residents(&mut self) -> (&mut (dyn Lps<'k> + 'k), &mut Metrics) {
        (&mut *self.lps, &mut self.metrics)
    }

    fn reserve(&mut self, lps: usize) {
        self.lps.reserve(lps);
        self.heads.reserve_exact(lps);
        self.records = self.lps.records();
        self.costs.reset(if self.sampler.is_on() { lps } else { 0 });
    }

    fn start(&mut self, world: &World, id: LpId) -> bool {
        Site::start(self, world, id)
    }

    fn costs(&self) -> &Costs {
        &self.costs
    }

    fn costs_mut(&mut self) -> &mut Costs {
        &mut self.costs
    }

    fn useful_share(&self) -> f64 {
        Site::useful_share(self)
    }

    fn useful_load(&mut self) -> Load {
        Site::useful_load(self)
    }

    fn worked_ns(&self) -> u64 {
        self.sampler.worked_ns()
    }

    fn push_unmarked(&mut self, event: AnyEvent<'k>) {
        Site::push_unmarked(self, event_of(event));
    }

    fn receive(&mut self, arrived: ParcelRef<'_, 'k, Optimistic>) -> usize {
        let arrived = arrived.show::<P>();
        let events = arrived.len();
        // While another worker executes alone, nothing arrives here, and there is no optimistic set.
        if events > 0 {
            let ahead = self.ahead();
            Arrived::of(arrived).for_each(|event| ahead.push(event));
        }
        events
    }

    fn next_instant(&mut self) -> Instant {
        Site::next_instant(self)
    }

    fn waiting(&self) -> usize {
        self.effects.outbox.optimistic_ref().len_from_frontier()
    }

    fn flush(&mut self, transport: &(dyn Transport<'k, Optimistic> + 'k), here: &Range<usize>) -> Instant {
        let mut next = NEVER;
        let worker = self.number as usize - here.start;
        for (to, parcel) in (0..).zip(&mut self.ahead().parcels) {
            if !parcel.is_empty() {
                next = parcel.iter().map(Event::instant).fold(next, Instant::min);
                transport.send(worker, to, Hidden::new::<P>(parcel));
                if here.contains(&(to as usize)) {
                    transport.notify(to as usize - here.start);
                }
            }
        }
        next
    }

    fn prefetch_inboxes(&self, transport: &(dyn Transport<'k, Optimistic> + 'k), worker: usize) {
        let parcels = (0..).zip(&self.effects.outbox.optimistic_ref().parcels);
        let mut receivers = parcels.filter(|(_, parcel)| !parcel.is_empty()).map(|(to, _)| to);
        transport.prefetch_inboxes(worker, &mut receivers);
    }

    fn execute_before(&mut self, world: &World, bound: Time, most: u32) -> u32 {
        Site::execute_before(self, world, bound, most)
    }

    fn execute_round(&mut self, world: &World, last: Instant, bound: Time, most: u32) -> u32 {
        Site::execute_round(self, world, last, bound, most)
    }

    fn execute_alone(&mut self, world: &World, bound: Time, most: u32) {
        Site::execute_alone(self, world, bound, most);
    }

    fn end_batch(&mut self, executed: u32, most_uncommitted: u32) {
        Site::end_batch(self, executed, most_uncommitted);
    }

    fn close_stretch(&mut self) {
        Site::close_stretch(self);
    }

    fn commit_before(&mut self, world: &World, gvt: Time) {
        Site::commit_before(self, world, gvt);
    }

    fn roll_back_all_from(&mut self, world: &World, time: Time) {
        Site::roll_back_all_from(self, world, time);
    }

    fn executed(&self) -> u64 {
        Site::executed(self)
    }

    fn uncommitted(&self) -> u32 {
        Site::uncommitted(self)
    }

    fn failed_before(&self, gvt: Time) -> Time {
        Site::failed_before(self, gvt)
    }

    fn requested(&self) -> Time {
        Site::requested(self)
    }

    fn take_ledger(&mut self) -> Ledger<'k> {
        self.requested_committed = Time::MAX;
        self.ledger.take()
    }

    fn take_all(&mut self) -> AnyLeftover<'k> {
        let behind = std::mem::take(&mut self.behind_failures).into_values().flatten();
        behind.for_each(|event| self.push(event));
        Box::new(self.effects.outbox.pending.take_all().map(any_event))
    }

    fn restart(&mut self, placement: &Placement, alone: bool) {
        Site::restart(self, placement, alone);
    }

    fn pick_up(&mut self) {
        self.lps.pick_up(self.number as usize);
        self.heads = vec![NONE; self.lps.len()];
        self.records = self.lps.records();
        self.costs.reset(if self.sampler.is_on() { self.lps.len() } else { 0 });
    }

    fn renew_wakes(&mut self, arrived: &[(usize, LpId)], world: &World) {
        for &(index, id) in arrived {
            self.lps.renew_wakes(index, id, world, self.effects.hide());
        }
        let sent = &mut self.effects.outbox.optimistic_mut().sent;
        sent.release_before(sent.end());
    }

    fn resume(&mut self, world: &World, messages: Vec<AnyEvent<'k>>) {
        AnySite::pick_up(self);
        let members = (0..world.lps()).map(LpId).filter(|id| self.placement.partition(*id) == self.number);
        let members: Vec<(usize, LpId)> = members.enumerate().collect();
        AnySite::renew_wakes(self, &members, world);
        messages.into_iter().for_each(|event| self.push_unmarked(event_of(event)));
    }

    fn shrink(&mut self) {
        Site::shrink(self);
    }

    fn compact(&mut self) {
        Site::compact(self);
    }

    fn allocated_bytes(&self) -> usize {
        Site::allocated_bytes(self)
    }

    fn execution_bytes(&self) -> usize {
        Site::execution_bytes(self)
    }
}
