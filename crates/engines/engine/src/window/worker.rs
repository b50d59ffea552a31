//! The loops of the workers. The leader leads, and goes on alone while the plan is for one worker. The other
//! workers follow.

use super::bounds::Bounds;
use super::crew::{Crew, Orders};
use super::hand::Hand;
use super::leader::Leader;
use super::pace::Pace;
use super::plan::Plan;
use crate::course::just_after;
use crate::peers::lost;
use crate::seats;
use crate::workers::{Alarm, lock, on_all_workers};
use parades_core::cut::Reached;
use parades_core::error::Error;
use parades_core::time::{Delay, Time};
use parades_core::timesheet::Spent;
use parades_sync::barrier::Broken;
use parades_transport::Summary;
use std::sync::Arc;

/// A worker, and the orders that it follows.
struct Worker<'c, 'k> {
    crew: &'c Crew<'k>,
    hand: Hand<'k>,
    orders: Orders,
    pace: Pace,
    /// The number of the next window.
    window: u64,
    /// The bound of the last window. An earlier event that is pending means that the window has a part left.
    bound: Time,
    /// The bounds of each partition, if they have bounds of their own.
    own: OwnBounds,
    /// The worker's part of the next exchange.
    mine: Summary,
    /// The number of events that all other workers had executed at the last cut.
    events_of_others: u64,
}

/// What a worker knows of the partitions, if they have bounds of their own.
#[derive(Debug)]
struct OwnBounds {
    /// The number of the next exchange of fronts.
    exchange: u64,
    /// By partition: the time of its earliest event, as heard at the last exchange.
    heard: Vec<u64>,
    /// By partition: what this worker tells at the next exchange.
    told: Vec<u64>,
    /// True once the workers have told their fronts since the last cut.
    are_known: bool,
    /// The greatest bound that this worker has executed to since the last cut.
    furthest: Time,
    /// The time at which all partitions meet for a cut. [`Time::MAX`] if they do not.
    meeting: Time,
}

impl OwnBounds {
    fn new() -> OwnBounds {
        OwnBounds {
            exchange: 0,
            heard: Vec::new(),
            told: Vec::new(),
            are_known: false,
            furthest: Time::ZERO,
            meeting: Time::MAX,
        }
    }

    /// Begins after a cut, with the partitions of `plan`.
    fn restart(&mut self, plan: &Plan) {
        let partitions = plan.distances.as_ref().map_or(0, |_| plan.placement.partitions() as usize);
        self.heard.resize(partitions, u64::MAX);
        self.told.clear();
        self.told.resize(partitions, u64::MAX);
        (self.are_known, self.furthest, self.meeting) = (false, Time::ZERO, Time::MAX);
    }
}

/// The next step of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Executes before this time, or before the bound of each partition if that is earlier.
    Execute(Time),
    /// Comes to a cut: the leader does the work that needs every LP at rest, and the others wait.
    Cut,
}

impl<'k> Crew<'k> {
    /// Runs all workers.
    pub(super) fn run(&self, leader: Leader<'k>) -> Result<Option<Reached<'k>>, Error> {
        let (workers, transport) = (self.ledgers.len(), &*self.seat.transport);
        let (mut leader, mut reached) = (Some(leader), None);
        // All workers begin by these orders. A leader that goes on alone may give others, or be at the end of
        // the run, before the thread of the last worker has begun.
        let first = &lock(&self.orders).clone();
        let mut lead = || {
            let _alarm = Alarm(transport);
            let mut leader = leader.take().expect("it leads once");
            Worker::start(self, 0, first.clone()).lead(&mut leader)?;
            reached = Some(leader.conclude(self));
            self.drop_own_lps(0)
        };
        let follow = |worker| {
            let _begun = self.timekeeper.begin(worker);
            let _alarm = Alarm(transport);
            Worker::start(self, worker, first.clone()).follow()?;
            self.drop_own_lps(worker)
        };
        let end = on_all_workers(workers, self.settings.pinned, &|| transport.break_up(), &mut lead, &follow)?;
        end.map_err(|Broken| lost(transport))?;
        reached.expect("the leader has come to the end")
    }

    /// Drops the LPs of a worker whose states stay on its thread, once the leader has concluded the run.
    ///
    /// # Errors
    ///
    /// [`Broken`] if another worker has panicked.
    pub(crate) fn drop_own_lps(&self, worker: usize) -> Result<(), Broken> {
        if self.model.stays_on_threads() && self.seat.peers.ranks() == 1 {
            self.seat.transport.exchange(worker, &Summary::NOTHING)?;
            let plan = Arc::clone(&lock(&self.orders).plan);
            plan.own(worker).iter().for_each(|&number| lock(&self.parts[number as usize]).lps.clear());
        }
        Ok(())
    }
}

impl<'c, 'k> Worker<'c, 'k> {
    /// Starts the LPs of a worker, by the first orders. It then asks for a cut.
    fn start(crew: &'c Crew<'k>, worker: usize, orders: Orders) -> Self {
        let mut hand = Hand::of(crew, worker, &orders.plan.placement);
        let mine = Summary { wants_cut: true, ..crew.start(&mut hand, &orders.plan) };
        let pace = Pace::of(&orders.plan, 0);
        let mut own = OwnBounds::new();
        own.restart(&orders.plan);
        Worker { crew, hand, orders, pace, window: 0, bound: Time::ZERO, own, mine, events_of_others: 0 }
    }

    /// Leads the other workers, until the run is over.
    fn lead(&mut self, leader: &mut Leader<'k>) -> Result<(), Broken> {
        while !self.orders.over {
            seats::unbind_if_due();
            if self.orders.are_for_one() {
                self.go_on_alone(leader)?;
                continue;
            }
            self.add_wishes(leader);
            let all = self.end_window()?;
            match self.next_step(&all) {
                Step::Execute(bound) => self.execute_as_leader(bound, &all, leader),
                Step::Cut => self.lead_cut(&all, leader)?,
            }
        }
        Ok(())
    }

    /// Follows the leader, until the run is over.
    fn follow(&mut self) -> Result<(), Broken> {
        while !self.orders.over {
            seats::unbind_if_due();
            if self.orders.are_for_one() {
                self.end_cut(Time::MAX)?; // Waits until the leader no longer goes on alone.
                continue;
            }
            let all = self.end_window()?;
            match self.next_step(&all) {
                Step::Execute(bound) => self.execute(bound),
                Step::Cut => self.follow_cut()?,
            }
        }
        Ok(())
    }

    /// Executes windows and cuts without the other workers, until there are orders for all of them.
    fn go_on_alone(&mut self, leader: &mut Leader<'k>) -> Result<(), Broken> {
        while self.orders.are_for_one() {
            seats::unbind_if_due();
            self.add_wishes(leader);
            let all = Summary { events: self.mine.events + self.events_of_others, ..self.mine };
            match self.next_step(&all) {
                Step::Execute(bound) => self.execute_as_leader(bound, &all, leader),
                Step::Cut => self.execute_cut_alone(&all, leader)?,
            }
        }
        Ok(())
    }

    fn add_wishes(&mut self, leader: &Leader<'k>) {
        self.mine.wants_cut |= leader.wants_cut();
        self.mine.wants_stop = leader.wants_stop();
    }

    /// Ends a window: waits for the other workers, and hears what they have done.
    fn end_window(&mut self) -> Result<Summary, Broken> {
        if !self.has_own_bounds() {
            return self.exchange(&self.mine);
        }
        let fronts = &self.crew.fronts;
        let OwnBounds { exchange, heard, told, furthest, .. } = &mut self.own;
        fronts.tell(*exchange, self.hand.worker, told, *furthest);
        let all = self.crew.seat.transport.exchange(self.hand.worker, &self.mine)?;
        *furthest = fronts.hear(*exchange, heard);
        *exchange += 1;
        Ok(all)
    }

    fn has_own_bounds(&self) -> bool {
        self.orders.plan.distances.is_some()
    }

    /// Returns the step that follows from an exchange. It is the same for all workers, but for the time of
    /// [`Step::Execute`] if partitions have bounds of their own, and unless the leader goes on alone.
    fn next_step(&mut self, all: &Summary) -> Step {
        let Orders { horizon, plan, .. } = &self.orders;
        let horizon = (*horizon).min(just_after(all.failed));
        let lbts = all.next.min(all.in_flight);
        let after = |delay: Option<Delay>| delay.and_then(|delay| lbts.checked_add(delay)).unwrap_or(Time::MAX);
        if self.own.are_known {
            if all.wants_cut {
                self.own.meeting = self.own.meeting.min(self.own.furthest);
            }
            let horizon = horizon.min(self.own.meeting);
            if all.wants_stop || lbts >= horizon {
                return Step::Cut;
            }
            let paced = after(Some(self.pace.next(all.events, plan.width)));
            // What the transport holds back is in nobody's front.
            return Step::Execute(paced.min(after(plan.control_delay)).min(all.in_flight).min(horizon));
        }
        if lbts < self.bound && !all.wants_stop {
            return Step::Execute(self.bound); // The window has a part left.
        }
        if all.wants_cut || lbts >= horizon {
            return Step::Cut;
        }
        let free = after(plan.lookahead)
            .min(after(plan.control_delay))
            .min(after(Some(self.pace.next(all.events, plan.width))));
        // A bound on the grid spares the partitions from opening one of their windows twice.
        let even = plan.grid.map_or(free, |grid| grid.floor(free));
        let free = if even > lbts { even } else { free };
        let bound = free.min(all.in_flight).min(horizon);
        self.pace.width = bound.since(lbts);
        self.bound = bound;
        Step::Execute(bound)
    }

    /// Executes a window before `time`, or before the bound of each partition if that is earlier.
    fn execute(&mut self, time: Time) {
        let Worker { crew, hand, orders, own, .. } = self;
        let OwnBounds { heard, told, are_known, furthest, .. } = own;
        let plan = &orders.plan;
        let bounds = match &plan.distances {
            Some(distances) if *are_known => Bounds::Own { distances, fronts: heard, most: time, grid: plan.grid },
            _ => Bounds::Common(time),
        };
        let mut reached = Time::ZERO;
        self.mine = crew.execute(&bounds, self.window, orders, hand, told, &mut reached);
        if let Bounds::Own { fronts, .. } = bounds {
            let lbts = fronts.iter().copied().min().map_or(Time::MAX, Time::from_ps);
            self.pace.record_own(reached.max(lbts).since(lbts));
        }
        *furthest = reached.max(*furthest);
        *are_known = plan.distances.is_some();
        self.window += 1;
    }

    /// Executes a window, and measures how long the leader works.
    fn execute_as_leader(&mut self, time: Time, all: &Summary, leader: &mut Leader<'k>) {
        leader.stopwatch.start_work();
        let bound = if self.has_own_bounds() { self.own.furthest.max(leader.course.bound) } else { time };
        leader.advance_to(bound, all);
        self.orders.plan.reset(self.window + 1);
        self.execute(time);
        leader.stopwatch.start_wait();
    }

    /// Comes to a cut as the leader. When this returns, all workers have read the new orders.
    fn lead_cut(&mut self, all: &Summary, leader: &mut Leader<'k>) -> Result<(), Broken> {
        self.begin_cut()?;
        leader.stopwatch.start_work();
        if self.has_own_bounds() {
            leader.course.bound = self.own.furthest.max(leader.course.bound);
        }
        let next = self.crew.timekeeper.spend(0, Spent::Cut, || leader.execute_cut(self.crew, all))?;
        self.end_cut(next)?;
        self.await_readers()?;
        leader.stopwatch.resume();
        Ok(())
    }

    /// Comes to a cut, and waits for the leader's work there.
    fn follow_cut(&mut self) -> Result<(), Broken> {
        self.begin_cut()?;
        self.end_cut(Time::MAX)?;
        self.await_readers()
    }

    /// Executes a cut while the others wait in the exchange of [`Worker::end_cut`]. Releases them from there
    /// if the new orders are for all.
    fn execute_cut_alone(&mut self, all: &Summary, leader: &mut Leader<'k>) -> Result<(), Broken> {
        self.crew.deposit_ledger(&mut self.hand);
        leader.stopwatch.start_work();
        let next = self.crew.timekeeper.spend(0, Spent::Cut, || leader.execute_cut(self.crew, all))?;
        if lock(&self.crew.orders).are_for_one() {
            self.read_orders(next);
        } else {
            self.end_cut(next)?;
        }
        leader.stopwatch.resume();
        Ok(())
    }

    /// Deposits the worker's ledger, and waits for the other workers to do the same.
    fn begin_cut(&mut self) -> Result<(), Broken> {
        self.crew.deposit_ledger(&mut self.hand);
        self.exchange(&Summary::NOTHING).map(drop)
    }

    /// Waits for the end of the leader's work at a cut, counts events, and reads the new orders. `next` is
    /// the time of the next event, as far as this worker knows.
    fn end_cut(&mut self, next: Time) -> Result<(), Broken> {
        let counts = Summary { events: self.hand.events, ..Summary::NOTHING };
        self.events_of_others = self.exchange(&counts)?.events - self.hand.events;
        self.read_orders(next);
        Ok(())
    }

    /// Waits until all have read the orders, if the leader goes on alone next. It would change them.
    fn await_readers(&self) -> Result<(), Broken> {
        if self.orders.are_for_one() { self.exchange(&Summary::NOTHING).map(drop) } else { Ok(()) }
    }

    /// Reads the orders that the leader gave at the cut.
    fn read_orders(&mut self, next: Time) {
        self.mine = Summary { next, events: self.hand.events, ..Summary::NOTHING };
        let orders = lock(&self.crew.orders).clone();
        self.bound = Time::ZERO;
        let before = std::mem::replace(&mut self.orders, orders);
        let Orders { plan, window, .. } = &self.orders;
        self.window = *window;
        if !Arc::ptr_eq(&before.plan, plan) {
            self.hand.set_placement(&plan.placement);
        }
        self.own.restart(plan);
        if before.plan.has_one_partition() != plan.has_one_partition() {
            self.pace = Pace::of(plan, self.hand.events + self.events_of_others);
        }
    }

    fn exchange(&self, mine: &Summary) -> Result<Summary, Broken> {
        self.crew.seat.transport.exchange(self.hand.worker, mine)
    }
}
