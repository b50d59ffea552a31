//! `time_warp`: partitions that execute ahead of each other, and roll back.
//!
//! *Idea.* Nobody waits: a partition executes what it has. When an event turns out to be missing from an LP's past (a *straggler*), the
//! LP is rolled back to it, and what it sent is chased by anti-messages. What lies below the global virtual time (GVT) is committed.
//!
//! *Protocol.* A seeded scheduler picks a partition, and pauses others for a while, so that they fall behind. (1) *receive*: a straggler
//! rolls its LP back; an anti-message annihilates its event, rolling back if that was executed. (2) *execute a batch*, at most
//! `OPTIMISM` uncommitted events ahead. Now and then: (3) *GVT* is the least instant of what is pending or in flight. (4) *Commit
//! before it*, in the order of events. (5) Once it has reached the horizon, a *cut*: roll back what lies at or above, flush, global events.
//!
//! *Invariants.* I2: what has been committed is never rolled back. I3: keys increase along an LP's history. I4: an anti-message annihilates
//! exactly one event, of its key and incarnation: the sequence rolls back too, so keys come again.
//!
//! *Failures.* An execution that failed sends nothing, and its LP waits behind it; it is an error if it comes to be committed. What
//! waits behind it does not hold back GVT, or that would never be.
//!
//! *Requests.* A controller's request counts once it is committed, and may lower the horizon below a GVT computed before. So GVT alone
//! does not say what is final; the horizon is looked at after each commit.
//!
//! *Timers.* After a rollback an LP names the wakes that it needs ([`Lp::renew_wakes`]); those on their way are dropped.
//!
//! *Why it terminates.* The least pending event may always be executed, a pause is finite, and so is a parcel's way.
//!
//! *References.* D. Jefferson, *Virtual time*, ACM Transactions on Programming Languages and Systems 7, 1985.

use super::{Fault, Setting, index_below};
use crate::ledger::{Ledger, Leftover};
use crate::transport::{Link, Parcel};
use parades_core::effects::Effects;
use parades_core::error::{Error, Place};
use parades_core::event::{Body, Event, EventKey, LpId, Sender};
use parades_core::lp::{Execution, Lp, Undo};
use parades_core::outbox::Outbox;
use parades_core::random::Rng;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Instant, Time};
use std::collections::{BTreeMap, VecDeque};

/// How many uncommitted events a partition may hold, beyond the least pending one.
const OPTIMISM: usize = 60;

/// Runs `model` optimistically.
///
/// # Errors
///
/// The least error of the run.
pub fn run<M: Restorable>(model: &M, options: RunOptions<'_>, setting: &Setting<M::Message>) -> Result<Outcome, Error> {
    let mut run = TimeWarp::start(model, options, setting)?;
    loop {
        let partition = run.pick();
        run.receive(partition);
        run.execute_batch(partition)?;
        if run.rng.chance(0.2) {
            let gvt = run.gvt();
            run.commit_before(gvt)?;
            if run.committed >= Instant::at(run.ledger.horizon())
                && let Some(end) = run.cut()?
            {
                return run.conclude(end);
            }
        }
    }
}

/// An execution that is not committed yet.
struct Executed<M: Restorable> {
    event: Event<M::Message>,
    /// Of the event; 0 for what is never taken back: start-up, global events, wakes.
    incarnation: u64,
    /// Of this execution, and of all that it sent.
    own_incarnation: u64,
    sent: Vec<(LpId, EventKey)>,
    undo: Undo<M::Undo>,
    leftover: Leftover<M>,
}

/// The events to execute, in order, and their incarnations.
type Pending<P> = BTreeMap<Place, (Event<P>, u64)>;

struct TimeWarp<'a, M: Restorable> {
    ledger: Ledger<'a, M>,
    lps: Vec<Lp<M::State>>,
    /// The partition of each LP.
    home: Vec<usize>,
    history: Vec<VecDeque<Executed<M>>>,
    /// By partition.
    pending: Vec<Pending<M::Message>>,
    transport: Link<M::Message>,
    effects: Effects<M>,
    incarnations: u64,
    /// Everything before it has been committed.
    committed: Instant,
    /// For how many steps each partition is not picked.
    pause: Vec<u64>,
    rng: Rng,
    rollbacks: u64,
    anti_messages: u64,
    fault: Fault,
}

fn place<P>(event: &Event<P>) -> Place {
    Place { instant: event.instant(), lp: Some(event.receiver), event: Some(event.key()) }
}

impl<'a, M: Restorable> TimeWarp<'a, M> {
    fn start(model: &'a M, options: RunOptions<'a>, setting: &Setting<M::Message>) -> Result<Self, Error> {
        let (ledger, lps, sends) = Ledger::start(model, options)?;
        let mut rng = Rng::shared(setting.seed, 1);
        let mut run = TimeWarp {
            home: lps.iter().map(|_| index_below(&mut rng, setting.workers)).collect(),
            history: lps.iter().map(|_| VecDeque::new()).collect(),
            lps,
            ledger,
            pending: (0..setting.workers).map(|_| BTreeMap::new()).collect(),
            transport: setting.carrier.open(setting.codec, setting.workers, setting.seed),
            effects: Effects::undoable(Outbox::buffered()),
            incarnations: 0,
            committed: Instant::START,
            pause: vec![0; setting.workers],
            rng,
            rollbacks: 0,
            anti_messages: 0,
            fault: setting.fault,
        };
        sends.into_iter().for_each(|event| run.insert(event, 0));
        Ok(run)
    }

    /// Picks a partition that is not paused; now and then one is paused, and falls behind.
    fn pick(&mut self) -> usize {
        let partition = index_below(&mut self.rng, self.pause.len());
        if self.pause[partition] > 0 {
            self.pause[partition] -= 1;
            return self.pause.iter().position(|&steps| steps == 0).unwrap_or(partition);
        }
        if self.rng.chance(0.1) {
            self.pause[partition] = self.rng.below(30);
        }
        partition
    }

    // Receiving.

    fn receive(&mut self, partition: usize) {
        for parcel in self.transport.receive(partition) {
            self.arrive(parcel);
        }
    }

    /// Takes in an event or an anti-message of this partition's or another's.
    fn arrive(&mut self, parcel: Parcel<M::Message>) {
        match parcel {
            Parcel::Event(event, incarnation) => {
                let history = &self.history[event.receiver.index()];
                if history.back().is_some_and(|last| last.event.key() > event.key()) {
                    self.roll_back(event.receiver, event.key());
                }
                self.insert(event, incarnation);
            }
            Parcel::Anti(receiver, key, incarnation) => self.annihilate(receiver, key, incarnation),
        }
    }

    fn insert(&mut self, event: Event<M::Message>, incarnation: u64) {
        let pending = &mut self.pending[self.home[event.receiver.index()]];
        let twin = pending.insert(place(&event), (event, incarnation));
        assert!(twin.is_none(), "I4: an event came while its twin was still there");
    }

    fn annihilate(&mut self, receiver: LpId, key: EventKey, incarnation: u64) {
        let place = Place { instant: key.instant, lp: Some(receiver), event: Some(key) };
        if self.history[receiver.index()].iter().any(|executed| executed.event.key() == key) {
            self.roll_back(receiver, key);
        }
        let twin = self.pending[self.home[receiver.index()]].remove(&place);
        assert!(twin.is_some_and(|(_, n)| n == incarnation), "I4: an anti-message met no event of its incarnation");
    }

    /// Takes back all that an LP executed from `key` on, and sends anti-messages after what it sent.
    fn roll_back(&mut self, id: LpId, key: EventKey) {
        assert!(key.instant >= self.committed, "I2: a rollback to {key}, below GVT");
        self.rollbacks += 1;
        let mut anti_messages = Vec::new();
        while self.history[id.index()].back().is_some_and(|last| last.event.key() >= key) {
            let last = self.history[id.index()].pop_back().expect("there is a last");
            self.lps[id.index()].undo(self.ledger.model, last.event.body.as_ref(), last.undo);
            anti_messages.extend(last.sent.into_iter().map(|(to, key)| Parcel::Anti(to, key, last.own_incarnation)));
            self.insert(last.event, last.incarnation);
        }
        let lp = &mut self.lps[id.index()];
        if self.fault == Fault::SequenceNotRestored {
            lp.skip_sequence();
        }
        // Wakes on their way are dropped: as the count of sends rolls back, their keys may come again as those of messages.
        let wakes_of_id = |event: &Event<M::Message>| event.receiver == id && matches!(event.body, Body::Timer(_));
        self.pending[self.home[id.index()]].retain(|_, (event, _)| !wakes_of_id(event));
        if self.fault != Fault::WakeForgotten {
            lp.renew_wakes(&self.ledger.world, id).into_iter().for_each(|wake| self.insert(wake, 0));
        }
        self.anti_messages += anti_messages.len() as u64;
        anti_messages.into_iter().for_each(|anti| self.send(id, anti));
    }

    /// Sends a parcel of `from`'s to wherever its receiver is.
    fn send(&mut self, from: LpId, parcel: Parcel<M::Message>) {
        let (from, to) = (self.home[from.index()], self.home[parcel.address().0.index()]);
        match from == to {
            true => self.arrive(parcel),
            false => self.transport.send(from, to, parcel),
        }
    }

    // Executing.

    fn execute_batch(&mut self, partition: usize) -> Result<(), Error> {
        // What lies beyond the next global event will be rolled back there; half of the batches go on all the same.
        let end = if self.rng.chance(0.5) { self.ledger.horizon() } else { self.ledger.until() };
        for _ in 0..self.rng.below(16) + 1 {
            let Some(least) = self.executable(partition) else { break };
            let home = |lp: usize| self.home[lp] == partition;
            let uncommitted: usize =
                self.history.iter().enumerate().filter(|(lp, _)| home(*lp)).map(|(_, h)| h.len()).sum();
            if least.instant.time >= end || uncommitted >= OPTIMISM && least.instant > self.gvt() {
                break;
            }
            let (event, incarnation) = self.pending[partition].remove(&least).expect("it was found there");
            self.execute(event, incarnation)?;
        }
        Ok(())
    }

    /// The least pending event of a partition that no failure keeps waiting.
    fn executable(&self, partition: usize) -> Option<Place> {
        let waits = |lp: LpId| self.history[lp.index()].back().is_some_and(|last| last.leftover.failed());
        self.pending[partition].values().find(|(event, _)| !waits(event.receiver)).map(|(event, _)| place(event))
    }

    fn execute(&mut self, event: Event<M::Message>, incarnation: u64) -> Result<(), Error> {
        let id = event.receiver;
        let history = &self.history[id.index()];
        assert!(
            history.back().is_none_or(|last| last.event.key() < event.key()),
            "I3: {} after a greater key",
            event.key()
        );
        let lp = &mut self.lps[id.index()];
        let (model, world) = (self.ledger.model, &self.ledger.world);
        let (execution, undo) = lp.execute_undoable(model, world, event.parts(), &mut self.effects);
        let leftover = Leftover::take(execution, &mut self.effects);
        let mut sends = std::mem::take(&mut self.effects.outbox.buffer);
        if self.fault == Fault::EarlyFailure && leftover.failed() {
            return self.ledger.commit(&event, leftover);
        }
        if leftover.failed() {
            sends.clear();
        }
        self.incarnations += 1;
        let own_incarnation = self.incarnations;
        if execution == Execution::Done {
            let messages = sends.iter().filter(|send| matches!(send.body, Body::Message(_)));
            let sent = messages.map(|send| (send.receiver, send.key())).collect();
            self.history[id.index()].push_back(Executed { event, incarnation, own_incarnation, sent, undo, leftover });
        }
        for send in sends {
            match send.body {
                Body::Timer(_) => self.insert(send, 0),
                Body::Message(_) => self.send(id, Parcel::Event(send, own_incarnation)),
            }
        }
        Ok(())
    }

    // Committing.

    /// The least instant of what is pending or in flight: nothing before it will be rolled back, except at a cut.
    fn gvt(&self) -> Instant {
        let pending = (0..self.pending.len()).filter_map(|partition| self.executable(partition));
        let in_flight = self.transport.least_in_flight().filter(|_| self.fault != Fault::GvtIgnoresTransit);
        let end_of_time = Instant::at(Time::MAX);
        pending.map(|place| place.instant).chain(in_flight).min().unwrap_or(end_of_time)
    }

    /// Commits what was executed before `gvt` and the horizon, which a request may lower on the way.
    fn commit_before(&mut self, gvt: Instant) -> Result<(), Error> {
        assert!(gvt >= self.committed, "I2: GVT went back from {} to {gvt}", self.committed);
        loop {
            let bound = gvt.min(Instant::at(self.ledger.horizon()));
            let least = self.history.iter().filter_map(VecDeque::front).map(|first| &first.event).min();
            let Some(id) = least.filter(|event| event.instant() < bound).map(|event| event.receiver) else {
                self.committed = bound;
                return Ok(());
            };
            let Executed { event, leftover, .. } = self.history[id.index()].pop_front().expect("it was the least");
            self.ledger.commit(&event, leftover)?;
        }
    }

    /// All LPs come to the horizon, and global events happen there; the end of the run if it is here.
    fn cut(&mut self) -> Result<Option<Time>, Error> {
        let instant = Instant::at(self.ledger.horizon());
        let first_key = EventKey { instant, tie: 0, sender: Sender::GLOBAL, sequence: 0 };
        for id in (0..self.lps.len()).map(LpId::from_index) {
            if !self.history[id.index()].is_empty() && self.fault != Fault::NoCut {
                self.roll_back(id, first_key);
            }
        }
        while self.transport.least_in_flight().is_some() {
            (0..self.pending.len()).for_each(|partition| self.receive(partition));
        }
        let globals = self.ledger.execute_globals(&mut self.lps)?;
        globals.sends.into_iter().for_each(|event| self.insert(event, 0));
        Ok(globals.end)
    }

    fn conclude(self, end: Time) -> Result<Outcome, Error> {
        let pending = self.pending.into_iter().flat_map(BTreeMap::into_values).map(|(event, _)| event).collect();
        let stats = vec![("rollbacks", self.rollbacks as f64), ("anti_messages", self.anti_messages as f64)];
        self.ledger.conclude(end, &self.lps, pending, stats)
    }
}
