//! The work of a worker from one cut to the next: it visits its partitions in turn.

use super::routes::{Route, Routes};
use super::{Leg, Nulls, Run, STOPPED};
use crate::course::just_after;
use crate::seats;
use crate::stopwatch::Stopwatch;
use crate::window::hand::Hand;
use crate::window::part::{Part, Stop};
use crate::workers::lock;
use parades_core::pending::Grid;
use parades_core::run::Control;
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::{ClockId, Promising};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

/// A worker that visits its partitions.
pub(super) struct Visitor<'r, 'k> {
    run: &'r Run<'k>,
    routes: &'r Routes,
    world: &'r World,
    hand: &'r mut Hand<'k>,
    own: Vec<OwnPart<'r, 'k>>,
    /// By worker: true if it must be notified.
    news_for: Vec<bool>,
    /// The number of requests for which the horizon has been lowered already.
    requests_handled: usize,
    /// By this the user stops the run; `None` once that has happened.
    stop: Stop<'r, 'k>,
    null_messages: u64,
    messages: u64,
    blocked: u64,
}

/// A partition of the worker's own.
struct OwnPart<'r, 'k> {
    part: MutexGuard<'r, Part<'k>>,
    route: &'r Route,
    /// The last promise on each outgoing channel.
    promised: Vec<Time>,
    /// Everything before this time has been executed.
    reached: Time,
    /// The most that the partition executes before it promises: the least lookahead of the channels to
    /// other workers. Without this limit two workers could alternate, each waiting while the other executes
    /// twice as far.
    stride: Delay,
}

/// The progress of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The partition is at the horizon.
    Done,
    /// The visit may have changed something for this partition or for another.
    Some,
    /// The partition cannot go on.
    None,
}

impl<'r, 'k> Visitor<'r, 'k> {
    pub(super) fn new(run: &'r Run<'k>, leg: &'r Leg, world: &'r World, hand: &'r mut Hand<'k>) -> Self {
        let own_part = |&number: &u32| {
            let route = &leg.routes.of[number as usize];
            let promised = route.out.iter().map(|out| out.earliest_arrival(leg.from)).collect();
            let to_others = route.out.iter().filter(|out| out.to.owner != Some(hand.worker));
            let stride = to_others.map(|out| out.lookahead).min().unwrap_or(Delay::MAX);
            OwnPart { part: lock(&run.crew.parts[number as usize]), route, promised, reached: leg.from, stride }
        };
        Visitor {
            run,
            routes: &leg.routes,
            world,
            own: leg.plan.own(hand.worker).iter().map(own_part).collect(),
            hand,
            news_for: vec![false; leg.plan.workers()],
            requests_handled: 0,
            stop: run.crew.stop(leg.ending),
            null_messages: 0,
            messages: 0,
            blocked: 0,
        }
    }

    /// Executes everything before the horizon, as the leader, which measures how long it works and waits.
    pub(super) fn lead_to_horizon(mut self, stopwatch: &mut Stopwatch) -> Result<(), Broken> {
        stopwatch.start_work();
        loop {
            seats::unbind_if_due();
            let news = self.transport().news(self.hand.worker);
            match self.visit_all() {
                Progress::Done => break,
                Progress::Some => {}
                Progress::None => {
                    stopwatch.start_wait();
                    self.wait(news)?;
                    stopwatch.start_work();
                }
            }
        }
        stopwatch.start_wait();
        self.add_counts();
        Ok(())
    }

    /// Executes everything before the horizon.
    pub(super) fn follow_to_horizon(mut self) -> Result<(), Broken> {
        loop {
            seats::unbind_if_due();
            let news = self.transport().news(self.hand.worker);
            match self.visit_all() {
                Progress::Done => break,
                Progress::Some => {}
                Progress::None => self.wait(news)?,
            }
        }
        self.add_counts();
        Ok(())
    }

    fn transport(&self) -> &'r (dyn Promising<'k> + 'k) {
        &*self.run.transport
    }

    /// Waits until there is more than `news`.
    fn wait(&mut self, news: u64) -> Result<(), Broken> {
        self.blocked += 1;
        self.transport().wait(self.hand.worker, news)
    }

    /// Adds the worker's counts to those of the run.
    fn add_counts(&self) {
        // Ordering: Relaxed; the exchange that follows publishes the counts.
        let counts = &self.run.counts;
        counts.null_messages.fetch_add(self.null_messages, Ordering::Relaxed);
        counts.messages.fetch_add(self.messages, Ordering::Relaxed);
        counts.blocked.fetch_add(self.blocked, Ordering::Relaxed);
    }

    /// Visits each partition once.
    fn visit_all(&mut self) -> Progress {
        let mut own = std::mem::take(&mut self.own);
        let mut all = Progress::Done;
        for part in &mut own {
            all = match (all, self.visit(part)) {
                (Progress::Some, _) | (_, Progress::Some) => Progress::Some,
                (Progress::None, _) | (_, Progress::None) => Progress::None,
                (Progress::Done, Progress::Done) => Progress::Done,
            };
        }
        self.own = own;
        all
    }

    fn horizon(&self) -> Time {
        self.transport().horizon()
    }

    /// Visits a partition: steps 1 to 4 of the protocol.
    fn visit(&mut self, own: &mut OwnPart<'_, 'k>) -> Progress {
        let number = own.part.number;
        self.stop_if_asked();
        let (clock, control) = (self.routes.clocks.earliest(number), self.routes.controls.earliest(number));
        let horizon = self.horizon();
        if own.reached >= horizon {
            // A request or a failure may have lowered the horizon to here, and others may wait for the last
            // promise.
            let changed = self.send_and_promise(own, own.reached, horizon);
            self.notify();
            return if changed { Progress::Some } else { Progress::Done };
        }
        let Run { crew, nulls, transport, .. } = self.run;
        let OwnPart { part, route, reached, stride, .. } = own;
        let executes = part.visit(|part| {
            transport.receive(self.hand.worker, number, false, &mut |arrived| part.receive(arrived));
            let bound = bound(part, route, *reached, *stride, clock.min(control), horizon, self.routes.grid);
            let executes = bound > *reached;
            if executes {
                part.execute_before(bound, crew.model, self.world, self.hand, self.stop);
                *reached = part.reached;
            }
            executes
        });
        if executes {
            self.lower_horizon();
        }
        let mut changed = self.send_and_promise(own, own.part.next.min(clock), horizon);
        if !executes && *nulls == Nulls::Demand {
            changed |= self.request_promises(own, clock, control, horizon);
        }
        self.notify();
        if executes || changed { Progress::Some } else { Progress::None }
    }

    /// Brings all workers to a cut, wherever they are, if the user has stopped the run.
    fn stop_if_asked(&mut self) {
        let Stop { control, grace } = self.stop;
        if (control.is_some_and(Control::is_stopped) || grace.is_over()) && self.horizon() > STOPPED {
            self.transport().lower_horizon(self.hand.worker, STOPPED);
            self.news_for.fill(true);
        }
    }

    /// Lowers the horizon to the failure and the requests of the last execution, so that no partition
    /// passes them. It must be called before anything is promised.
    fn lower_horizon(&mut self) {
        let ledger = &self.hand.ledger;
        let requests = ledger.requests[self.requests_handled..].iter().map(|request| request.key.instant.time);
        let failed = just_after(ledger.failure.time());
        let earliest = requests.fold(failed, Time::min);
        self.requests_handled = ledger.requests.len();
        if earliest < self.horizon() {
            self.transport().lower_horizon(self.hand.worker, earliest);
            // Waiting workers may have come to the horizon by this alone.
            self.news_for.fill(true);
        }
    }

    /// Sends the new events to each other partition. Then promises on each channel that this partition
    /// executes nothing before `idle_until`. Returns true if it made a promise.
    fn send_and_promise(&mut self, own: &mut OwnPart<'_, 'k>, idle_until: Time, horizon: Time) -> bool {
        let (transport, worker) = (self.transport(), self.hand.worker);
        let mut changed = false;
        for (out, promised) in own.route.out.iter().zip(&mut own.promised) {
            let parcel = self.hand.parcel(out.to.partition);
            let with_events = parcel.is_some();
            if let Some(parcel) = parcel {
                transport.send(worker, out.to.partition, parcel);
                self.messages += 1;
            }
            let promise = out.earliest_arrival(idle_until);
            if promise <= *promised || *promised >= horizon {
                continue;
            }
            let last = promise >= horizon;
            if self.run.nulls == Nulls::Lazy || with_events || last || out.clocks.is_requested(out.clock) {
                out.clocks.clear_request(out.clock);
                transport.promise(worker, &out.clocks, out.clock, promise);
                *promised = promise;
                self.null_messages += u64::from(!with_events);
                if let Some(owner) = out.to.owner {
                    self.news_for[owner] = true;
                }
                changed = true;
            }
        }
        debug_assert!(
            (0..self.hand.placement.partitions()).all(|to| self.hand.parcel(to).is_none()),
            "events go by channels"
        );
        changed
    }

    /// Requests the promises that a partition waits for. Returns true if there is a new request.
    fn request_promises(&mut self, own: &OwnPart<'_, 'k>, clock: Time, control: Time, horizon: Time) -> bool {
        let OwnPart { part, route, .. } = own;
        // Without an event before the horizon, only the lowest clocks hold the partition up.
        let next = if part.next < horizon { part.next } else { clock.min(control) };
        let mut changed = false;
        let Visitor { routes, news_for, run, .. } = self;
        let transport = &*run.transport;
        for (clocks, sources, earliest) in
            [(&routes.clocks, &route.sources, clock), (&routes.controls, &route.controllers, control)]
        {
            if earliest <= next.max(clock.min(control)) {
                clocks.request(part.number, next.max(earliest), &mut |number| {
                    let source = sources[number as usize];
                    let clock = ClockId { to: part.number, number };
                    transport.request_promise(clocks, clock, source.partition);
                    if let Some(owner) = source.owner {
                        news_for[owner] = true;
                    }
                    changed = true;
                });
            }
        }
        changed
    }

    /// Notifies the other workers for which something may have changed.
    fn notify(&mut self) {
        let transport = self.transport();
        for (worker, news) in self.news_for.iter_mut().enumerate() {
            if std::mem::take(news) && worker != self.hand.worker {
                transport.notify(worker);
            }
        }
    }
}

/// Returns the bound before which a partition may execute now. No further event will arrive before the bound.
fn bound<'k>(
    part: &Part<'k>,
    route: &Route,
    reached: Time,
    stride: Delay,
    clock: Time,
    horizon: Time,
    grid: Option<Grid>,
) -> Time {
    let reach = route.reach.and_then(|reach| part.next.checked_add(reach)).unwrap_or(Time::MAX);
    let free = clock.min(part.next.max(reached).checked_add(stride).unwrap_or(Time::MAX));
    let grid = grid.filter(|_| part.is_by_lp());
    let free = if free < horizon { grid.map_or(free, |grid| grid.floor(free)) } else { horizon };
    free.min(reach)
}
