//! The loops of the workers from cut to cut. `null_message/visit.rs` has the loops between two cuts.

use super::visit::Visitor;
use super::{Leg, Run};
use crate::window::hand::Hand;
use crate::window::leader::Leader;
use crate::window::plan::Plan;
use crate::workers::lock;
use parades_core::timesheet::Spent;
use parades_sync::barrier::Broken;
use parades_transport::Summary;
use std::sync::Arc;

/// A worker.
pub(super) struct Worker<'r, 'k> {
    run: &'r Run<'k>,
    hand: Hand<'k>,
    plan: Arc<Plan>,
    /// The number of events that all other workers had executed at the last cut.
    events_of_others: u64,
}

impl<'r, 'k> Worker<'r, 'k> {
    /// Starts the LPs of a worker, by the first plan.
    pub(super) fn start(run: &'r Run<'k>, number: usize, plan: &Arc<Plan>) -> Self {
        let plan = Arc::clone(plan);
        let mut hand = Hand::of(&run.crew, number, &plan.placement);
        run.crew.start(&mut hand, &plan);
        Worker { run, hand, plan, events_of_others: 0 }
    }

    /// Leads the other workers from cut to cut, until the run is over. Goes on alone while the plan has one
    /// partition.
    pub(super) fn lead(&mut self, leader: &mut Leader<'k>) -> Result<(), Broken> {
        loop {
            let all = self.begin_cut()?;
            let run = self.run;
            run.crew.timekeeper.spend(0, Spent::Cut, || run.execute_cut(leader, &all))?;
            if !self.plan.has_one_partition() || !lock(&self.run.crew.orders).are_for_one() {
                self.meet()?;
            }
            let Some(leg) = self.read_orders()? else { return Ok(()) };
            leader.stopwatch.resume();
            let world = self.run.crew.read_world();
            Visitor::new(self.run, &leg, &world, &mut self.hand).lead_to_horizon(&mut leader.stopwatch)?;
        }
    }

    /// Follows the leader from cut to cut, until the run is over.
    pub(super) fn follow(&mut self) -> Result<(), Broken> {
        loop {
            self.begin_cut()?;
            self.meet()?;
            let Some(leg) = self.read_orders()? else { return Ok(()) };
            if self.plan.has_one_partition() {
                continue; // There is nothing to do. The world must not be locked, because the leader may change it.
            }
            let world = self.run.crew.read_world();
            Visitor::new(self.run, &leg, &world, &mut self.hand).follow_to_horizon()?;
        }
    }

    /// Deposits the worker's ledger, and waits for the other workers to do the same, unless one of them goes
    /// on alone. Returns the sum of all workers' events.
    fn begin_cut(&mut self) -> Result<Summary, Broken> {
        self.run.crew.deposit_ledger(&mut self.hand);
        let mine = Summary { events: self.hand.events, ..Summary::NOTHING };
        if self.plan.has_one_partition() {
            return Ok(Summary { events: mine.events + self.events_of_others, ..mine });
        }
        let all = self.run.crew.seat.transport.exchange(self.hand.worker, &mine)?;
        self.events_of_others = all.events - mine.events;
        Ok(all)
    }

    /// Waits for all workers.
    fn meet(&self) -> Result<(), Broken> {
        self.run.crew.seat.transport.exchange(self.hand.worker, &Summary::NOTHING).map(drop)
    }

    /// Reads the orders that the leader gave at the cut, unless the run is over.
    fn read_orders(&mut self) -> Result<Option<Leg>, Broken> {
        if lock(&self.run.crew.orders).over {
            return Ok(None);
        }
        let leg = lock(&self.run.leg).clone();
        if !self.plan.has_one_partition() && leg.plan.has_one_partition() {
            // The leader must not go on alone before all have read the orders.
            self.meet()?;
        }
        if !Arc::ptr_eq(&self.plan, &leg.plan) {
            self.plan = Arc::clone(&leg.plan);
            self.hand.set_placement(&self.plan.placement);
        }
        Ok(Some(leg))
    }
}
