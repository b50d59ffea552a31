//! `time_warp`: partitions that execute ahead of each other, and roll back.
//!
//! *Idea.* No partition waits: each one executes the events that it has. An event that arrives in the past of
//! its LP is a *straggler*. The LP is then rolled back to it, and anti-messages follow the events that the LP
//! sent. Everything below the global virtual time (GVT) is committed.
//!
//! *Protocol.* A seeded scheduler picks a partition. It pauses some partitions for a while, so that they fall
//! behind.
//!
//! 1. *Receive.* A straggler rolls its LP back. An anti-message annihilates its event, and rolls the LP back
//!    if that event was executed.
//! 2. *Execute a batch*, at most `OPTIMISM` uncommitted events beyond GVT.
//! 3. At random intervals, compute *GVT*: the earliest instant of all events that are pending or in transit.
//! 4. *Commit* the executions *before* GVT, in the order of events.
//! 5. When GVT has reached the horizon, make a *cut*: roll back everything at or above it, flush, and execute
//!    the global events.
//!
//! *Invariants.* I2: nothing committed is ever rolled back. I3: keys increase along an LP's history. I4: an
//! anti-message annihilates exactly one event, that of its key and execution. The key alone is not enough:
//! the sequence number is rolled back too, so a key can occur again.
//!
//! *Failures.* An execution that failed sends nothing, and its LP executes nothing more. The failure is an
//! error only when it is committed. The events that wait behind it do not hold back GVT, or it would never be
//! committed.
//!
//! *Requests.* A controller's request counts when it is committed. It may lower the horizon below a GVT that
//! was computed earlier. So GVT alone does not decide what is final: the horizon is checked after each
//! commit.
//!
//! *Timers.* After a rollback an LP renews the wakes that it needs (`Lps::renew_wakes`).
//! Older wakes are dropped.
//!
//! *Why it terminates.* The earliest pending event may always be executed, every pause is finite, and every
//! parcel arrives after finitely many steps.
//!
//! *References.* D. Jefferson, *Virtual time*, ACM Transactions on Programming Languages and Systems 7, 1985.

use super::{Choices, Fault, Setting, index_below};
use crate::ledger::{Ledger, Uncommitted};
use crate::transport::{Link, Parcel};
use parades_core::any_model::{
    AnyEvent, AnyRestorable, AnyWire, Form, Kept, Packed, RestorableLps, Undone, body_ref, in_form, with_model,
};
use parades_core::effects::{AnyEffects, Effects};
use parades_core::error::{Error, Place};
use parades_core::event::{Body, EventKey, LpId, Sender};
use parades_core::lp::{Execution, KernelCheckpoint};
use parades_core::outbox::Outbox;
use parades_core::random::Rng;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Instant, Time};
use parades_core::timer::TimerChange;
use std::collections::{BTreeMap, VecDeque};

/// The number of uncommitted events that a partition may hold beyond the earliest pending event.
const OPTIMISM: usize = 60;

/// Runs `model` optimistically.
///
/// # Errors
///
/// The first error of the run.
pub fn run<M: Restorable>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let choices = setting.choices();
    with_model(model, options, |model, options| run_any(model, options, setting.codec_of(model), choices))
}

fn run_any<'k>(
    model: &'k dyn AnyRestorable<'k>,
    options: RunOptions<'k>,
    codec: Option<&'k dyn AnyWire<'k>>,
    choices: Choices,
) -> Result<Outcome, Error> {
    let mut run = TimeWarp::start(model, options, codec, choices)?;
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
struct Executed<'k> {
    event: AnyEvent<'k>,
    /// The execution that sent the event. 0 for events that are never annihilated: those of start-up, of
    /// global events, and wakes.
    sender_execution: u64,
    /// The number of this execution, which tags all events that it sent.
    execution_id: u64,
    sent: Vec<(LpId, EventKey)>,
    before: KernelCheckpoint,
    timers: Vec<TimerChange>,
    /// The positions of its first undo record, and after the last.
    records: (u32, u32),
    uncommitted: Uncommitted,
}

/// The events to execute, in order, each with the execution that sent it.
type Pending<'k> = BTreeMap<Place, (AnyEvent<'k>, u64)>;

struct TimeWarp<'k> {
    ledger: Ledger<'k>,
    lps: Box<dyn RestorableLps<'k> + 'k>,
    /// The partition of each LP.
    home: Vec<usize>,
    history: Vec<VecDeque<Executed<'k>>>,
    /// The pending events of each partition.
    pending: Vec<Pending<'k>>,
    transport: Link<'k>,
    effects: AnyEffects<'k>,
    executions: u64,
    /// The instant before which everything has been committed.
    committed: Instant,
    /// The number of steps for which each partition is still paused.
    pause: Vec<u64>,
    rng: Rng,
    rollbacks: u64,
    anti_messages: u64,
    fault: Fault,
}

/// Makes effects for executions that may be undone. Their sends are in the buffer.
fn undoable_effects<'k>(form: Form) -> AnyEffects<'k> {
    fn undoable<'k, P: Packed<'k>>() -> AnyEffects<'k> {
        AnyEffects::new::<P>(Effects::undoable(Outbox::buffered()))
    }
    in_form!(form, undoable())
}

fn place(event: &AnyEvent<'_>) -> Place {
    Place { instant: event.instant(), lp: Some(event.receiver()), event: Some(event.key()) }
}

impl<'k> TimeWarp<'k> {
    fn start(
        model: &'k dyn AnyRestorable<'k>,
        options: RunOptions<'k>,
        codec: Option<&'k dyn AnyWire<'k>>,
        choices: Choices,
    ) -> Result<Self, Error> {
        let mut lps = model.new_restorable_lps();
        let (ledger, sends) = Ledger::start(model, options, &mut *lps)?;
        let rng = Rng::shared(choices.seed, 1);
        let mut run = TimeWarp {
            home: (0..lps.len()).map(|_| index_below(&rng, choices.workers)).collect(),
            history: (0..lps.len()).map(|_| VecDeque::new()).collect(),
            lps,
            ledger,
            pending: (0..choices.workers).map(|_| BTreeMap::new()).collect(),
            transport: choices.carrier.open(codec, choices.workers, choices.seed),
            effects: undoable_effects(model.form()),
            executions: 0,
            committed: Instant::START,
            pause: vec![0; choices.workers],
            rng,
            rollbacks: 0,
            anti_messages: 0,
            fault: choices.fault,
        };
        sends.into_iter().for_each(|event| run.insert(event, 0));
        Ok(run)
    }

    /// Picks a partition that is not paused. Sometimes pauses a partition, so that it falls behind.
    fn pick(&mut self) -> usize {
        let partition = index_below(&self.rng, self.pause.len());
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
            self.accept(parcel);
        }
    }

    /// Accepts an event or an anti-message, from this partition or another one.
    fn accept(&mut self, parcel: Parcel<'k>) {
        match parcel {
            Parcel::Event(event, sender_execution) => {
                let history = &self.history[event.receiver().index()];
                if history.back().is_some_and(|last| last.event.key() > event.key()) {
                    self.roll_back(event.receiver(), event.key());
                }
                self.insert(event, sender_execution);
            }
            Parcel::Anti(receiver, key, sender_execution) => self.annihilate(receiver, key, sender_execution),
        }
    }

    fn insert(&mut self, event: AnyEvent<'k>, sender_execution: u64) {
        let pending = &mut self.pending[self.home[event.receiver().index()]];
        let twin = pending.insert(place(&event), (event, sender_execution));
        assert!(twin.is_none(), "I4: an event came while its twin was still there");
    }

    fn annihilate(&mut self, receiver: LpId, key: EventKey, sender_execution: u64) {
        let place = Place { instant: key.instant, lp: Some(receiver), event: Some(key) };
        if self.history[receiver.index()].iter().any(|executed| executed.event.key() == key) {
            self.roll_back(receiver, key);
        }
        let twin = self.pending[self.home[receiver.index()]].remove(&place);
        assert!(twin.is_some_and(|(_, n)| n == sender_execution), "I4: an anti-message met no event of its execution");
    }

    /// Undoes everything that an LP executed from `key` on, and sends anti-messages for the events that it
    /// sent.
    fn roll_back(&mut self, id: LpId, key: EventKey) {
        assert!(key.instant >= self.committed, "I2: a rollback to {key}, below GVT");
        self.rollbacks += 1;
        let mut anti_messages = Vec::new();
        while self.history[id.index()].back().is_some_and(|last| last.event.key() >= key) {
            let last = self.history[id.index()].pop_back().expect("there is a last");
            let (before, mut timers, execution) = (last.before, last.timers, Execution::Done);
            let undone = Undone { execution, before, timers: &mut timers, records: Some(last.records) };
            self.lps.undo(id.index(), (&last.event.header(), body_ref(&last.event)), undone);
            anti_messages.extend(last.sent.into_iter().map(|(to, key)| Parcel::Anti(to, key, last.execution_id)));
            self.insert(last.event, last.sender_execution);
        }
        if self.fault == Fault::SequenceNotRestored {
            self.lps.skip_sequence(id.index());
        }
        // All pending wakes of the LP are dropped, and its timers then send new ones. The rollback also
        // restores the sequence number, so a later message may get the key of a dropped wake.
        let wakes_of_id = |event: &AnyEvent<'k>| event.receiver() == id && matches!(event.body, Body::Timer(_));
        self.pending[self.home[id.index()]].retain(|_, (event, _)| !wakes_of_id(event));
        if self.fault != Fault::WakeForgotten {
            self.lps.renew_wakes(id.index(), id, &self.ledger.world, self.effects.hide());
            for wake in self.effects.take_buffer() {
                self.insert(wake, 0);
            }
        }
        self.anti_messages += anti_messages.len() as u64;
        anti_messages.into_iter().for_each(|anti| self.send(id, anti));
    }

    /// Sends a parcel of `from` to the partition of its receiver.
    fn send(&mut self, from: LpId, parcel: Parcel<'k>) {
        let (from, to) = (self.home[from.index()], self.home[parcel.address().0.index()]);
        match from == to {
            true => self.accept(parcel),
            false => self.transport.send(from, to, parcel),
        }
    }

    // Executing.

    fn execute_batch(&mut self, partition: usize) -> Result<(), Error> {
        // Events beyond the next global event will be rolled back there. Half of the batches execute them
        // nevertheless.
        let end = if self.rng.chance(0.5) { self.ledger.horizon() } else { self.ledger.until() };
        for _ in 0..self.rng.below(16) + 1 {
            let Some(least) = self.executable(partition) else { break };
            let home = |lp: usize| self.home[lp] == partition;
            let open: usize = self.history.iter().enumerate().filter(|(lp, _)| home(*lp)).map(|(_, h)| h.len()).sum();
            if least.instant.time >= end || open >= OPTIMISM && least.instant > self.gvt() {
                break;
            }
            let (event, sender_execution) = self.pending[partition].remove(&least).expect("it was found there");
            self.execute(event, sender_execution)?;
        }
        Ok(())
    }

    /// Returns the place of the earliest pending event of a partition, without those that wait behind a
    /// failure.
    fn executable(&self, partition: usize) -> Option<Place> {
        let waits = |lp: LpId| self.history[lp.index()].back().is_some_and(|last| last.uncommitted.has_failed());
        self.pending[partition].values().find(|(event, _)| !waits(event.receiver())).map(|(event, _)| place(event))
    }

    fn execute(&mut self, event: AnyEvent<'k>, sender_execution: u64) -> Result<(), Error> {
        let id = event.receiver();
        let history = &self.history[id.index()];
        assert!(
            history.back().is_none_or(|last| last.event.key() < event.key()),
            "I3: {} after a greater key",
            event.key()
        );
        // A start-up or a visit also leaves changes of timers, which are never undone.
        self.effects.hide().others.timer_changes.iter_mut().for_each(Vec::clear);
        let (mut before, begin) = (KernelCheckpoint::unset(), self.lps.undos_end());
        let kept = Kept { before: &mut before, records: true };
        let (header, body) = (event.header(), body_ref(&event));
        let effects = self.effects.hide();
        let (execution, end) =
            self.lps.execute_optimistically(id.index(), (&header, body), kept, &self.ledger.world, effects);
        let timers = self.effects.hide().others.timer_changes.as_mut().map(std::mem::take).unwrap_or_default();
        let records = (begin, end);
        if execution == Execution::Skipped {
            // The wake had no effect and is forgotten, and an earlier event may be executed next.
            self.lps.restore_kernel(id.index(), before.clone());
        }
        let uncommitted = Uncommitted::take(execution, self.effects.hide().others);
        let mut sends = self.effects.take_buffer();
        if self.fault == Fault::EarlyFailure && uncommitted.has_failed() {
            return self.ledger.commit(&event, uncommitted);
        }
        if uncommitted.has_failed() {
            sends.clear();
        }
        self.executions += 1;
        let execution_id = self.executions;
        if execution == Execution::Done {
            let messages = sends.iter().filter(|send| matches!(send.body, Body::Message(_)));
            let sent = messages.map(|send| (send.receiver(), send.key())).collect();
            self.history[id.index()].push_back(Executed {
                event,
                sender_execution,
                execution_id,
                sent,
                before,
                timers,
                records,
                uncommitted,
            });
        }
        for send in sends {
            match send.body {
                Body::Timer(_) => self.insert(send, 0),
                Body::Message(_) => self.send(id, Parcel::Event(send, execution_id)),
            }
        }
        Ok(())
    }

    // Committing.

    /// Returns the earliest instant of the events that are pending or in transit. Only a cut rolls back
    /// anything before it.
    fn gvt(&self) -> Instant {
        let pending = (0..self.pending.len()).filter_map(|partition| self.executable(partition));
        let in_flight = self.transport.least_in_flight().filter(|_| self.fault != Fault::GvtIgnoresTransit);
        let end_of_time = Instant::at(Time::MAX);
        pending.map(|place| place.instant).chain(in_flight).min().unwrap_or(end_of_time)
    }

    /// Commits the executions before `gvt` and the horizon. A committed request may lower the horizon.
    fn commit_before(&mut self, gvt: Instant) -> Result<(), Error> {
        assert!(gvt >= self.committed, "I2: GVT went back from {} to {gvt}", self.committed);
        loop {
            let bound = gvt.min(Instant::at(self.ledger.horizon()));
            let least = self.history.iter().filter_map(VecDeque::front).map(|first| &first.event).min();
            let Some(id) = least.filter(|event| event.instant() < bound).map(|event| event.receiver()) else {
                self.committed = bound;
                return Ok(());
            };
            let Executed { event, uncommitted, .. } = self.history[id.index()].pop_front().expect("it was the least");
            self.ledger.commit(&event, uncommitted)?;
        }
    }

    /// Brings all LPs to the horizon, and executes the global events there. Returns the end of the run, if
    /// the run ends there.
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
        let globals = self.ledger.execute_globals(&mut *self.lps)?;
        globals.sends.into_iter().for_each(|event| self.insert(event, 0));
        Ok(globals.end)
    }

    fn conclude(self, end: Time) -> Result<Outcome, Error> {
        let pending = self.pending.into_iter().flat_map(BTreeMap::into_values).map(|(event, _)| event).collect();
        let stats = vec![("rollbacks", self.rollbacks as f64), ("anti_messages", self.anti_messages as f64)];
        self.ledger.conclude(end, &*self.lps, pending, stats)
    }
}
