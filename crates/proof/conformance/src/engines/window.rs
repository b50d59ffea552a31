//! `window`: partitions execute every event below a bound, then exchange events.
//!
//! *Idea.* An event executed at t causes no event in another partition before t + lookahead. So each
//! partition may execute by itself everything below the earliest such time. The order among the partitions is
//! free.
//!
//! *Protocol.*
//!
//! 1. *Receive* the events that the transport delivers.
//! 2. Compute the *bound*, the minimum of four times: the earliest event in transit; the earliest pending
//!    event (LBTS) + lookahead; LBTS + control delay, if there are controllers; the horizon.
//! 3. In each partition, *execute before the bound*.
//! 4. Commit in the order of events.
//! 5. When nothing is left before the horizon: flush, execute the global events, and partition again.
//!
//! *Invariants.* I1: no event arrives below a bound that was executed to. I2: bounds never decrease.
//!
//! *Why it is correct.* By I1 a partition has all its events before the bound, so its LPs see the sequential
//! order. It terminates: the earliest pending event is before the bound unless an earlier event is in
//! transit, and that arrives after finitely many steps.
//!
//! If no lookahead remains between partitions, all LPs go to one partition. The outcome's `one_partition`
//! says so.

use super::{Choices, Fault, Setting, rounds::shuffle};
use crate::ledger::{Ledger, Uncommitted};
use crate::transport::{Link, Parcel};
use parades_core::any_model::{AnyEvent, AnyModel, AnyWire, Lps, body_ref, with_model};
use parades_core::effects::AnyEffects;
use parades_core::error::Error;
use parades_core::event::{Event, LpId};
use parades_core::model::Model;
use parades_core::random::Rng;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use std::collections::BTreeSet;

/// Runs `model` in windows.
///
/// # Errors
///
/// The first error of the run.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let choices = setting.choices();
    with_model(model, options, |model, options| run_any(model, options, setting.codec_of(model), choices))
}

fn run_any<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    codec: Option<&'k dyn AnyWire<'k>>,
    choices: Choices,
) -> Result<Outcome, Error> {
    let mut run = Window::start(model, options, codec, choices)?;
    loop {
        run.receive();
        let bound = run.bound();
        run.execute_before(bound)?;
        if run.is_empty_before(run.ledger.horizon()) {
            run.flush();
            let globals = run.ledger.execute_globals(&mut *run.lps)?;
            globals.sends.into_iter().for_each(|event| run.insert(event));
            if let Some(end) = globals.end {
                return run.conclude(end);
            }
            run.partition();
        }
    }
}

struct Window<'k> {
    ledger: Ledger<'k>,
    lps: Box<dyn Lps<'k> + 'k>,
    /// The partition of each LP.
    home: Vec<usize>,
    pending: Vec<BTreeSet<AnyEvent<'k>>>,
    transport: Link<'k>,
    effects: AnyEffects<'k>,
    rng: Rng,
    /// The smallest lookahead between partitions; `None` if nothing is sent between them.
    lookahead: Option<Delay>,
    /// The time before which everything has been executed.
    executed: Time,
    one_partition: bool,
    fault: Fault,
}

impl<'k> Window<'k> {
    fn start(
        model: &'k dyn AnyModel<'k>,
        options: RunOptions<'k>,
        codec: Option<&'k dyn AnyWire<'k>>,
        choices: Choices,
    ) -> Result<Self, Error> {
        let mut lps = model.new_lps();
        let (ledger, sends) = Ledger::start(model, options, &mut *lps)?;
        let mut run = Window {
            home: vec![0; lps.len()],
            lps,
            ledger,
            pending: (0..choices.workers).map(|_| BTreeSet::new()).collect(),
            transport: choices.carrier.open(codec, choices.workers, choices.seed),
            effects: AnyEffects::buffered(model.form()),
            rng: Rng::shared(choices.seed, 1),
            lookahead: None,
            executed: Time::ZERO,
            one_partition: false,
            fault: choices.fault,
        };
        sends.into_iter().for_each(|event| run.insert(event));
        run.partition();
        Ok(run)
    }

    /// Places the LPs in partitions at random. If that leaves no lookahead between partitions, places all LPs
    /// in one.
    fn partition(&mut self) {
        let partitions = self.pending.len();
        let rng = &mut self.rng;
        self.home.iter_mut().for_each(|home| *home = super::index_below(rng, partitions));
        self.lookahead = self.min_lookahead();
        if self.lookahead == Some(Delay::ZERO) {
            self.home.fill(0);
            self.lookahead = None;
            self.one_partition |= partitions > 1;
        }
        let events: Vec<_> = self.pending.iter_mut().flat_map(std::mem::take).collect();
        events.into_iter().for_each(|event| self.insert(event));
    }

    fn min_lookahead(&self) -> Option<Delay> {
        let channels = self.ledger.world.channels();
        let crosses = self.home.iter().any(|&home| home != self.home[0]);
        (0..self.ledger.world.lps())
            .flat_map(|id| {
                let pairs = channels.from_sender(LpId(id)).iter();
                let between = pairs.filter(|c| self.home[c.sender.index()] != self.home[c.receiver.index()]);
                between.map(|c| c.lookahead).chain(channels.lookahead_to_anyone(LpId(id)).filter(|_| crosses))
            })
            .min()
    }

    fn insert(&mut self, event: AnyEvent<'k>) {
        let fresh = self.pending[self.home[event.receiver().index()]].insert(event);
        assert!(fresh, "no two events of a run are the same");
    }

    /// Receives the events that have arrived.
    fn receive(&mut self) {
        for to in 0..self.pending.len() {
            for parcel in self.transport.receive(to) {
                let Parcel::Event(event, _) = parcel else {
                    unreachable!("a conservative engine sends no anti-messages")
                };
                assert!(event.time() >= self.executed, "I1: an event arrived below the bound executed to");
                self.insert(event);
            }
        }
    }

    fn next(&self) -> Time {
        self.pending.iter().filter_map(BTreeSet::first).map(Event::time).min().unwrap_or(Time::MAX)
    }

    fn in_flight(&self) -> Time {
        self.transport.least_in_flight().map_or(Time::MAX, |instant| instant.time)
    }

    fn is_empty_before(&self, horizon: Time) -> bool {
        self.next() >= horizon && self.in_flight() >= horizon
    }

    /// Returns the bound of the next window.
    fn bound(&self) -> Time {
        let lbts = self.next();
        let after = |delay| lbts.checked_add(delay).unwrap_or(Time::MAX);
        let controllers = self.ledger.world.controllers();
        let requests = if controllers.lps.is_empty() { Time::MAX } else { after(controllers.delay) };
        let mut sends = self.lookahead.map_or(Time::MAX, after);
        if self.fault == Fault::WindowTooHigh {
            sends = sends.checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX);
        }
        sends.min(requests).min(self.in_flight()).min(self.ledger.horizon())
    }

    /// Executes the events before the bound, partition by partition, and commits them.
    fn execute_before(&mut self, bound: Time) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..self.pending.len()).collect();
        shuffle(&mut order, &self.rng);
        let mut executed = Vec::new();
        for partition in order {
            self.execute_partition(partition, bound, &mut executed);
        }
        if self.fault != Fault::WindowTooHigh {
            assert!(bound >= self.executed, "I2: the bound went back from {} to {bound}", self.executed);
            self.executed = bound;
        }
        self.ledger.commit_all(executed)
    }

    /// Executes the events of one partition before the bound, in order, up to its first failure.
    fn execute_partition(&mut self, from: usize, bound: Time, executed: &mut Vec<(AnyEvent<'k>, Uncommitted)>) {
        while self.pending[from].first().is_some_and(|event| event.time() < bound) {
            let event = self.pending[from].pop_first().expect("there is a first");
            let (index, body) = (event.receiver().index(), body_ref(&event));
            let execution = self.lps.execute(index, &event.header(), body, &self.ledger.world, self.effects.hide());
            let uncommitted = Uncommitted::take(execution, self.effects.hide().others);
            for send in self.effects.take_buffer() {
                match self.home[send.receiver().index()] {
                    to if to == from => self.insert(send),
                    to => self.transport.send(from, to, Parcel::Event(send, 0)),
                }
            }
            let failed = uncommitted.has_failed();
            executed.push((event, uncommitted));
            if failed {
                return;
            }
        }
    }

    /// Waits until no event is in transit.
    fn flush(&mut self) {
        while self.transport.least_in_flight().is_some() {
            self.receive();
        }
    }

    fn conclude(self, end: Time) -> Result<Outcome, Error> {
        let pending = self.pending.into_iter().flatten().collect();
        let stats = vec![("one_partition", f64::from(u8::from(self.one_partition)))];
        self.ledger.conclude(end, &*self.lps, pending, stats)
    }
}
