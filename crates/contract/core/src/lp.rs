//! How an event is executed: the one function that all engines share.
//!
//! Engines differ in *when* they call [`Lp::execute`] and in *what they do with the effects*, in nothing else.
//!
//! *Read next*: the `sequential` engine, which is one loop around it.

use crate::digest::Digest;
use crate::effects::Effects;
use crate::event::{Body, Event, EventKey, Header, LpId, Sender, TimerId};
use crate::global::Global;
use crate::model::{Context, Model, Phase};
use crate::random::Rng;
use crate::restore::{Restorable, UndoLog};
use crate::time::{Instant, Time};
use crate::timer::{Setting, TimerChange, Timers, WakeResult};
use crate::world::World;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the kernel keeps for each LP, beside the model's state.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) rng: Rng,
    /// Sends, timer settings and requests so far.
    pub(crate) sequence: u64,
    digest: Digest,
    /// When it last executed an event.
    last: Time,
    pub(crate) timers: Timers,
}

/// A logical process: the model's state, and 48 bytes of the kernel's. It begins on a cache line of its own, with the kernel's part, all of
/// which every event touches.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Lp<S> {
    kernel: Kernel,
    state: S,
}

/// What became of an event that was given to its LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Execution {
    /// Its handler ran.
    Done,
    /// It was a timer that has since been cancelled or set anew: it does not count.
    Skipped,
}

/// The kernel's part of an LP as it was before an event, all but its timers, whose changes are listed one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCheckpoint {
    rng: Rng,
    sequence: u64,
    digest: Digest,
    last: Time,
}

/// All that is needed to take one execution back, in a piece of its own.
#[derive(Debug)]
pub struct Undo<U> {
    before: KernelCheckpoint,
    execution: Execution,
    timers: Vec<TimerChange>,
    log: UndoLog<U>,
}

impl<S> Lp<S> {
    /// Starts the LP `id`: its state, and its start-up events among the effects; no state if it failed.
    pub fn start<M: Model<State = S>>(model: &M, world: &World, id: LpId, effects: &mut Effects<M>) -> Option<Lp<S>> {
        let rng = Rng::stream(world.seed, id.0);
        let mut kernel =
            Kernel { rng, sequence: 0, digest: Digest::default(), last: Time::ZERO, timers: Timers::default() };
        let mut ctx = Context::new(id, Instant::START, Phase::Start, &mut kernel, effects, world);
        let state = catch_panics(&mut ctx, |ctx| model.start(ctx));
        state.map(|state| Lp { kernel, state })
    }

    /// Executes an event for its receiver, this LP. The event comes in its parts ([`Event::parts`]), so that of one that an engine takes out of where it
    /// waited only the body need be written to memory once more.
    #[inline(always)]
    pub fn execute<M: Model<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        (header, body): (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
    ) -> Execution {
        let execution =
            self.execute_by(world, (header, body), effects, |state, ctx| handle(model, state, parts_of(body), ctx));
        if execution == Execution::Done {
            world.note_round(header.instant(), header.receiver());
        }
        execution
    }

    /// The kernel's part as it is now.
    #[inline(always)]
    pub fn checkpoint_kernel(&self) -> KernelCheckpoint {
        let Kernel { ref rng, sequence, digest, last, .. } = self.kernel;
        KernelCheckpoint { rng: rng.clone(), sequence, digest, last }
    }

    /// Executes an event so that [`Lp::undo_logged`] can take it back. What that will need is [`Lp::before`], the changes of timers, which are added to those
    /// among the effects, and what the model adds to the log; without a log the state will have to be restored by other means. The effects must be
    /// [`Effects::undoable`]. Whoever commits the execution calls [`World::note_round`] then.
    #[inline(always)]
    pub fn execute_optimistically<M: Restorable<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        (header, body): (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
        log: Option<&mut UndoLog<M::Undo>>,
    ) -> Execution {
        self.execute_optimistically_by(world, (header, body), effects, |state, ctx| match log {
            Some(log) => model.handle_undoable(state, body, ctx, log),
            None => model.handle(state, body, ctx),
        })
    }

    /// As [`Lp::execute_optimistically`], for an event that is executed twice, to compare or to coast forward. A closure of its own, so that the other's is used in one
    /// place, and what catches its panics is inlined there.
    #[inline(never)]
    pub fn reexecute<M: Restorable<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        (header, body): (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
        log: Option<&mut UndoLog<M::Undo>>,
    ) -> Execution {
        self.execute_optimistically_by(world, (header, body), effects, |state, ctx| match log {
            Some(log) => model.handle_undoable(state, body, ctx, log),
            None => handle(model, state, parts_of(body), ctx),
        })
    }

    /// The steps around a handler whose execution may be taken back.
    #[inline(always)]
    fn execute_optimistically_by<M: Model<State = S>>(
        &mut self,
        world: &World,
        (header, body): (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
        handle: impl FnOnce(&mut S, &mut Context<'_, M>),
    ) -> Execution {
        debug_assert!(effects.timer_changes.is_some(), "effects of an engine that rolls back are undoable");
        let execution = self.execute_by(world, (header, body), effects, handle);
        if execution == Execution::Skipped {
            // It is taken back in its turn like the others: nothing earlier may come after it.
            self.kernel.last = header.time();
        }
        execution
    }

    /// Takes back the last execution that is not yet taken back, given what it left: the kernel's part, the changes of timers in their order, and the
    /// model's log, which is then empty. Without a log the state stays as it is.
    pub fn undo_logged<M: Restorable<State = S>>(
        &mut self,
        model: &M,
        body: Body<&M::Message>,
        (execution, before): (Execution, KernelCheckpoint),
        timers: &mut Vec<TimerChange>,
        log: Option<&mut UndoLog<M::Undo>>,
    ) {
        if execution == Execution::Done
            && let Some(log) = log
        {
            model.undo(&mut self.state, body, log);
            assert!(log.is_empty(), "the model's undo leaves its log empty");
        }
        for TimerChange(id, slot) in timers.drain(..).rev() {
            self.kernel.timers.restore(id, slot);
        }
        self.restore_kernel(before);
    }

    /// Puts the kernel's part, but for its timers, to what it was.
    pub fn restore_kernel(&mut self, before: KernelCheckpoint) {
        let KernelCheckpoint { rng, sequence, digest, last } = before;
        self.kernel.rng = rng;
        self.kernel.sequence = sequence;
        self.kernel.digest = digest;
        self.kernel.last = last;
    }

    /// As [`Lp::execute_optimistically`], with all that [`Lp::undo`] will need in one piece.
    pub fn execute_undoable<M: Restorable<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        event: (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
    ) -> (Execution, Undo<M::Undo>) {
        // A start-up or a visit leaves changes too, and is never taken back.
        effects.timer_changes.as_mut().expect("effects of an engine that rolls back are undoable").clear();
        let mut log = UndoLog::default();
        let before = self.checkpoint_kernel();
        let execution = self.reexecute(model, world, event, effects, Some(&mut log));
        if execution == Execution::Skipped {
            // Who keeps things in pieces need not keep this one, and may execute something earlier.
            self.kernel.last = before.last;
        }
        let timers = effects.timer_changes.as_mut().map(std::mem::take).unwrap_or_default();
        (execution, Undo { before, execution, timers, log })
    }

    /// Takes back the last execution that is not yet taken back, given what its event was about.
    pub fn undo<M: Restorable<State = S>>(&mut self, model: &M, body: Body<&M::Message>, undo: Undo<M::Undo>) {
        let Undo { before, execution, mut timers, mut log } = undo;
        self.undo_logged(model, body, (execution, before), &mut timers, Some(&mut log));
    }

    /// When it last executed an event; ahead of time, be it a wake that does not count.
    #[inline]
    pub fn last(&self) -> Time {
        self.kernel.last
    }

    /// The steps around a handler: take the timer's wake, run the handler, fold the digest.
    #[inline(always)]
    fn execute_by<M: Model<State = S>>(
        &mut self,
        world: &World,
        (header, body): (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
        handle: impl FnOnce(&mut S, &mut Context<'_, M>),
    ) -> Execution {
        let (now, id) = (header.instant(), header.receiver());
        if now.time < self.kernel.last {
            out_of_order(now, self.kernel.last);
        }
        if let Body::Timer(timer) = body
            && !self.accept_wake(world, timer, &header.key(), id, effects)
        {
            return Execution::Skipped;
        }
        self.kernel.last = now.time;
        if world.digest {
            self.kernel.digest.event(&header.key(), body);
        }
        let Lp { kernel, state } = self;
        let phase = Phase::Event(header.sender());
        let mut ctx = Context::new(id, now, phase, kernel, effects, world);
        catch_panics(&mut ctx, |ctx| handle(state, ctx));
        Execution::Done
    }

    /// Whether a timer whose wake has come is due; if it is set to later, its next wake is sent.
    fn accept_wake<M: Model>(
        &mut self,
        world: &World,
        id: TimerId,
        key: &EventKey,
        lp: LpId,
        effects: &mut Effects<M>,
    ) -> bool {
        if let Some(changes) = &mut effects.timer_changes {
            changes.push(TimerChange(id, self.kernel.timers.get(id)));
            effects.beyond_sends = true;
        }
        match self.kernel.timers.accept_wake(id, Setting { instant: key.instant, sequence: key.sequence }) {
            WakeResult::Fire => true,
            WakeResult::Stale => false,
            WakeResult::Later(setting) => {
                effects.outbox.push(wake_key(world, lp, setting), lp, Body::Timer(id));
                false
            }
        }
    }

    /// The wakes that this LP's timers need after a rollback. Those already on their way become stale; an engine whose pending set tells
    /// events apart by key must drop them, as the count of sends rolls back too and their keys may come again as those of messages.
    pub fn renew_wakes<P>(&mut self, world: &World, lp: LpId) -> Vec<Event<P>> {
        self.kernel.timers.renew_wakes().map(|(id, setting)| wake(world, lp, id, setting)).collect()
    }

    /// Lets a global event visit this LP.
    pub(crate) fn visit<M: Model<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        (id, time): (LpId, Time),
        global: &M::Global,
        effects: &mut Effects<M>,
    ) -> Option<<M::Global as Global<M>>::Summary> {
        let Lp { kernel, state } = self;
        let mut ctx = Context::new(id, Instant::at(time), Phase::Visit, kernel, effects, world);
        catch_panics(&mut ctx, |ctx| global.visit(model, state, ctx))
    }

    /// Sends, timer settings and requests so far: a measure of how much it has executed.
    pub fn sequence(&self) -> u64 {
        self.kernel.sequence
    }

    /// The model's part of the LP.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Plants a fault for the tests of the tests: a sequence number that a rollback forgot to restore.
    #[cfg(feature = "test-hooks")]
    pub fn skip_sequence(&mut self) {
        self.kernel.sequence += 1;
    }

    /// The digest of what this LP executed, and of its final state.
    pub fn final_digest<M: Model<State = S>>(&self, model: &M) -> u64 {
        let mut digest = self.kernel.digest;
        digest.word(self.kernel.sequence);
        model.fold(&self.state, &mut digest);
        digest.value()
    }

    /// Whether two LPs are alike in all that the kernel keeps for them.
    pub fn has_same_kernel(&self, other: &Lp<S>) -> bool {
        let (a, b) = (&self.kernel, &other.kernel);
        a.rng == b.rng
            && (a.sequence, a.digest, a.last) == (b.sequence, b.digest, b.last)
            && a.timers.has_same_settings(&b.timers)
    }
}

impl<S: Clone> Clone for Lp<S> {
    fn clone(&self) -> Lp<S> {
        let Kernel { rng, sequence, digest, last, timers } = &self.kernel;
        let kernel =
            Kernel { rng: rng.clone(), sequence: *sequence, digest: *digest, last: *last, timers: timers.clone() };
        Lp { kernel, state: self.state.clone() }
    }
}

/// Runs a part of the model. A panic in it becomes the failure of the execution, and may yet be rolled back like any other.
///
/// The context is made before, and passed by one reference. Made in the closure, it would be made of parts that have just been written one by one and are
/// then read two at a time; such a read waits until the writes have left the core, behind those of earlier events.
#[inline(always)]
fn catch_panics<'a, M: Model, T>(ctx: &mut Context<'a, M>, part: impl FnOnce(&mut Context<'a, M>) -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(|| part(ctx))) {
        Ok(result) => Some(result),
        Err(panic) => {
            ctx.set_panic(panic.as_ref());
            None
        }
    }
}

/// The handler, as it is called where nothing is left for taking it back, but for `time-warp`'s first execution ([`Lp::execute_optimistically`]). It is never inlined,
/// so that what catches its panics is: that is small then, and else a call of its own, whose arguments go through memory. So would a [`Body`], which is
/// therefore passed in its parts: the message, or else the timer.
#[inline(never)]
fn handle<M: Model>(
    model: &M,
    state: &mut M::State,
    (message, timer): (Option<&M::Message>, TimerId),
    ctx: &mut Context<'_, M>,
) {
    model.handle(state, message.map_or(Body::Timer(timer), Body::Message), ctx);
}

/// The message, or else the timer.
#[inline(always)]
fn parts_of<P>(body: Body<&P>) -> (Option<&P>, TimerId) {
    match body {
        Body::Message(message) => (Some(message), TimerId(0)),
        Body::Timer(timer) => (None, timer),
    }
}

/// An engine is wrong.
#[cold]
#[inline(never)]
fn out_of_order(now: Instant, last: Time) -> ! {
    panic!("I3: an LP executed an event of {now} after one of {last}")
}

/// The event that wakes a timer.
fn wake<P>(world: &World, lp: LpId, id: TimerId, setting: Setting) -> Event<P> {
    Event::new(wake_key(world, lp, setting), lp, Body::Timer(id))
}

/// The key of the event that wakes a timer.
fn wake_key(world: &World, lp: LpId, Setting { instant, sequence }: Setting) -> EventKey {
    let sender = Sender::lp(lp);
    EventKey { instant, tie: world.tie(instant, lp, sender), sender, sequence }
}
