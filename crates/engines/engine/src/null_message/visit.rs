//! What a worker does from one cut to the next: it goes round its partitions.

use super::routes::{Route, Routes};
use super::{Leg, Nulls, Run};
use crate::course::just_after;
use crate::seats;
use crate::stopwatch::Stopwatch;
use crate::transport::Transport;
use crate::window::hand::Hand;
use crate::window::part::Part;
use crate::workers::lock;
use parades_core::model::Model;
use parades_core::pending::Grid;
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_sync::barrier::Broken;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

/// A worker on its rounds.
pub(super) struct Round<'r, 'a, M: Model, T> {
    run: &'r Run<'a, M, T>,
    routes: &'r Routes,
    world: &'r World,
    hand: &'r mut Hand<M>,
    stations: Vec<Station<'r, M>>,
    /// The workers that are to be notified.
    news_for: Vec<bool>,
    /// Requests that the horizon has been lowered to.
    requests_seen: usize,
    null_messages: u64,
    messages: u64,
    blocked: u64,
}

/// A partition that the worker comes by.
struct Station<'r, M: Model> {
    part: MutexGuard<'r, Part<M>>,
    route: &'r Route,
    /// The last promise on each outgoing channel.
    promised: Vec<Time>,
    /// Everything before it has been executed.
    reached: Time,
    /// How far it executes before it promises: the least lookahead of the channels to other workers. Else two workers could take turns, each
    /// waiting while the other executes twice as far.
    stride: Delay,
}

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The partition is at the horizon.
    Done,
    /// It may have changed something for itself or for another.
    Change,
    /// It cannot go on.
    Nothing,
}

impl<'r, 'a, M: Model, T: Transport<M::Message>> Round<'r, 'a, M, T> {
    pub(super) fn new(run: &'r Run<'a, M, T>, leg: &'r Leg, world: &'r World, hand: &'r mut Hand<M>) -> Self {
        let station = |&number: &u32| {
            let route = &leg.routes.of[number as usize];
            let promised = route.out.iter().map(|out| out.first(leg.from)).collect();
            let elsewhere = route.out.iter().filter(|out| out.owner != hand.worker);
            let stride = elsewhere.map(|out| out.lookahead).min().unwrap_or(Delay::MAX);
            Station { part: lock(&run.crew.parts[number as usize]), route, promised, reached: leg.from, stride }
        };
        Round {
            run,
            routes: &leg.routes,
            world,
            stations: leg.plan.own(hand.worker).iter().map(station).collect(),
            hand,
            news_for: vec![false; leg.plan.workers()],
            requests_seen: 0,
            null_messages: 0,
            messages: 0,
            blocked: 0,
        }
    }

    /// Executes all that is before the horizon; the leader notes how long it works, and how long it waits.
    pub(super) fn go_on_to_horizon(mut self, mut stopwatch: Option<&mut Stopwatch>) -> Result<(), Broken> {
        let (transport, worker) = (&self.run.crew.transport, self.hand.worker);
        stopwatch.iter_mut().for_each(|stopwatch| stopwatch.works());
        loop {
            seats::free_if_begun();
            let seen = transport.news(worker);
            match self.once() {
                Found::Done => break,
                Found::Change => {}
                Found::Nothing => {
                    self.blocked += 1;
                    stopwatch.iter_mut().for_each(|stopwatch| stopwatch.waits());
                    transport.wait(worker, seen)?;
                    stopwatch.iter_mut().for_each(|stopwatch| stopwatch.works());
                }
            }
        }
        stopwatch.iter_mut().for_each(|stopwatch| stopwatch.waits());
        // Ordering: Relaxed; the exchange that follows publishes them.
        let counts = &self.run.counts;
        counts.null_messages.fetch_add(self.null_messages, Ordering::Relaxed);
        counts.messages.fetch_add(self.messages, Ordering::Relaxed);
        counts.blocked.fetch_add(self.blocked, Ordering::Relaxed);
        Ok(())
    }

    /// Visits each partition once.
    fn once(&mut self) -> Found {
        let mut stations = std::mem::take(&mut self.stations);
        let mut all = Found::Done;
        for station in &mut stations {
            all = match (all, self.visit(station)) {
                (Found::Change, _) | (_, Found::Change) => Found::Change,
                (Found::Nothing, _) | (_, Found::Nothing) => Found::Nothing,
                (Found::Done, Found::Done) => Found::Done,
            };
        }
        self.stations = stations;
        all
    }

    fn horizon(&self) -> Time {
        // Ordering: Relaxed; read after the clocks, whose promises were made after the horizon was lowered.
        Time::from_ps(self.run.horizon.load(Ordering::Relaxed))
    }

    fn visit(&mut self, station: &mut Station<'_, M>) -> Found {
        let number = station.part.number;
        let (clock, control) = (self.routes.clocks.least(number), self.routes.controls.least(number));
        let horizon = self.horizon();
        if station.reached >= horizon {
            // A request or a failure may have lowered the horizon to here, and others may wait for the last promise.
            let changed = self.send_and_promise(station, station.reached, horizon);
            self.notify();
            return if changed { Found::Change } else { Found::Done };
        }
        let Run { crew, nulls, .. } = self.run;
        let Station { part, route, reached, stride, .. } = station;
        let executes = part.visit(|part| {
            crew.transport.receive(self.hand.worker, number, false, &mut |arrived| part.push_all(arrived));
            let bound = bound(part, (route, *reached, *stride), (clock.min(control), horizon), self.routes.grid);
            let executes = bound > *reached;
            if executes {
                *reached = bound;
                part.execute_before(bound, (crew.model, self.world), self.hand);
            }
            executes
        });
        if executes {
            self.lower_horizon();
        }
        let mut changed = self.send_and_promise(station, station.part.next.min(clock), horizon);
        if !executes && *nulls == Nulls::Demand {
            changed |= self.ask(station, (clock, control), horizon);
        }
        self.notify();
        if executes || changed { Found::Change } else { Found::Nothing }
    }

    /// Sees to it that nobody passes a failure or a request of the execution that was just made; before anything is promised.
    fn lower_horizon(&mut self) {
        let ledger = &self.hand.ledger;
        let requests = ledger.requests[self.requests_seen..].iter().map(|request| request.key.instant.time);
        let failed = just_after(ledger.failure.time());
        let least = requests.fold(failed, Time::min);
        self.requests_seen = ledger.requests.len();
        if least < self.horizon() {
            // Ordering: Relaxed; the promises that follow release it.
            self.run.horizon.fetch_min(least.as_ps(), Ordering::Relaxed);
            // Those who wait may have come to the horizon by this alone.
            self.news_for.fill(true);
        }
    }

    /// Sends what was sent to each other partition, and promises what follows from nothing being executed here before some time; whether it
    /// promised anything.
    fn send_and_promise(&mut self, station: &mut Station<'_, M>, idle_until: Time, horizon: Time) -> bool {
        let (transport, worker) = (&self.run.crew.transport, self.hand.worker);
        let mut changed = false;
        for (out, promised) in station.route.out.iter().zip(&mut station.promised) {
            let parcel = &mut self.hand.effects.outbox.parcels[out.to as usize];
            let with_events = !parcel.is_empty();
            if with_events {
                transport.send(worker, out.to, parcel);
                self.messages += 1;
            }
            let promise = out.first(idle_until);
            if promise <= *promised || *promised >= horizon {
                continue;
            }
            let last = promise >= horizon;
            if self.run.nulls == Nulls::Lazy || with_events || last || out.clocks.is_asked(out.clock) {
                out.clocks.answers(out.clock);
                transport.promise(worker, &out.clocks, out.clock, promise);
                *promised = promise;
                self.null_messages += u64::from(!with_events);
                self.news_for[out.owner] = true;
                changed = true;
            }
        }
        debug_assert!(self.hand.effects.outbox.parcels.iter().all(Vec::is_empty), "events go by channels");
        changed
    }

    /// Asks for the promises that a partition waits for.
    fn ask(&mut self, station: &Station<'_, M>, (clock, control): (Time, Time), horizon: Time) -> bool {
        let Station { part, route, .. } = station;
        // Without an event to get to, only the clocks that are lowest hold it up.
        let next = if part.next < horizon { part.next } else { clock.min(control) };
        let mut changed = false;
        let Round { routes, news_for, .. } = self;
        for (clocks, sources, least) in
            [(&routes.clocks, &route.sources, clock), (&routes.controls, &route.controllers, control)]
        {
            if least <= next.max(clock.min(control)) {
                clocks.ask(part.number, next.max(least), &mut |number| {
                    news_for[sources[number as usize]] = true;
                    changed = true;
                });
            }
        }
        changed
    }

    /// Tells the other workers that they may find something changed.
    fn notify(&mut self) {
        for (worker, news) in self.news_for.iter_mut().enumerate() {
            if std::mem::take(news) && worker != self.hand.worker {
                self.run.crew.transport.notify(worker);
            }
        }
    }
}

/// How far a partition may execute now: before that time, all that will ever be here is here.
fn bound<M: Model>(
    part: &Part<M>,
    (route, reached, stride): (&Route, Time, Delay),
    (clock, horizon): (Time, Time),
    grid: Option<Grid>,
) -> Time {
    let reach = route.reach.and_then(|reach| part.next.checked_add(reach)).unwrap_or(Time::MAX);
    let free = clock.min(part.next.max(reached).checked_add(stride).unwrap_or(Time::MAX));
    let grid = grid.filter(|_| part.is_by_lp());
    let free = if free < horizon { grid.map_or(free, |grid| grid.floor(free)) } else { horizon };
    free.min(reach)
}
