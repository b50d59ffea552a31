//! The execution of an event: one function that all engines share.
//!
//! Engines call it through [`Lps`](crate::any_model::Lps). They differ in *when* they call it, and in *what
//! they do with the effects*, and in nothing else.
//!
//! *Read next*: the `sequential` engine, a loop around this function.

mod undo;

pub use undo::KernelCheckpoint;

use crate::context::{Context, Phase};
use crate::cut::{COUNT_MAX, is_pending};
use crate::digest::Digest;
use crate::effects::{OtherEffects, SendWake, Sends};
use crate::event::{Body, EventKey, Header, LpId, Sender, TimerId};
use crate::global::Global;
use crate::global::SummaryOf;
use crate::model::Model;
use crate::random::Rng;
use crate::time::{Instant, Time};
use crate::timer::{Setting, TimerChange, Timers, WakeResult};
use crate::wire::{self, Malformed};
use crate::world::World;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The kernel's part of an LP, beside the model's state.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) rng: Rng,
    /// The number of sends, timer settings and requests so far.
    pub(crate) sequence: u64,
    digest: Digest,
    /// The time of the last executed event.
    last: Time,
    pub(crate) timers: Timers,
}

impl Kernel {
    /// Appends the bytes of the kernel's part. The wakes of timers are left out, as they depend on the
    /// engine.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let Kernel { rng, sequence, digest, last: _, timers } = self;
        wire::write(&(rng, sequence, digest, timers.settings()), to);
    }

    /// Reads the kernel's part of an LP of a run at rest at `time`.
    pub(crate) fn read(time: Time, from: &mut &[u8]) -> Result<Kernel, Malformed> {
        let (rng, sequence, digest, settings): (Rng, u64, Digest, Vec<Option<Setting>>) = wire::read(from)?;
        if settings.len() > TimerId::MAX.0 as usize + 1 {
            return Err(Malformed::new("an LP has more timers than are possible"));
        }
        let is_possible = |setting: &Setting| is_pending(setting.instant, time) && setting.sequence < sequence;
        if sequence >= COUNT_MAX || !settings.iter().flatten().all(is_possible) {
            return Err(Malformed::new("a timer is set to a time before the cut, or by no event"));
        }
        Ok(Kernel { rng, sequence, digest, last: Time::ZERO, timers: Timers::of_settings(&settings) })
    }
}

/// A logical process: 48 bytes of the kernel, then the model's state. Each LP begins on a cache line of its
/// own. The kernel's part comes first, because every event touches all of it.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Lp<S> {
    kernel: Kernel,
    state: S,
}

/// The result of giving an event to its LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Execution {
    /// The handler ran.
    Done,
    /// The event was the wake of a timer that has since been cancelled or reset. Such an event does not
    /// count.
    Skipped,
}

impl<S> Lp<S> {
    /// Starts the LP `id`. Its start-up events are among the effects. Returns `None` if it failed.
    pub(crate) fn start<M: Model<State = S>>(
        model: &M,
        world: &World,
        id: LpId,
        sends: Sends<'_, M::Message>,
        effects: &mut OtherEffects,
    ) -> Option<Lp<S>> {
        let rng = Rng::stream(world.seed, id.0);
        let mut kernel =
            Kernel { rng, sequence: 0, digest: Digest::default(), last: Time::ZERO, timers: Timers::default() };
        let mut ctx = Context::new(id, Instant::START, Phase::Start, &mut kernel, sends, effects, world);
        let state = catch_panics(&mut ctx, |ctx| model.start(ctx));
        state.map(|state| Lp { kernel, state })
    }

    /// Executes an event for its receiver, this LP.
    #[inline(always)]
    pub(crate) fn execute<M: Model<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        header: &Header,
        body: Body<&M::Message>,
        sends: Sends<'_, M::Message>,
        effects: &mut OtherEffects,
    ) -> Execution {
        let execution =
            self.execute_by::<M>(world, header, body, sends, effects, |state, ctx| model.handle(state, body, ctx));
        if execution == Execution::Done {
            world.note_round(header.instant(), header.receiver());
        }
        execution
    }

    /// Returns the time of the last executed event. After an optimistic execution, the wake of a cancelled
    /// timer counts too.
    #[inline]
    pub(crate) fn last(&self) -> Time {
        self.kernel.last
    }

    /// Executes an event by `handle`: first the timer accepts the wake, then the handler runs. The digest
    /// folds the event.
    #[inline(always)]
    fn execute_by<M: Model<State = S>>(
        &mut self,
        world: &World,
        header: &Header,
        body: Body<&M::Message>,
        mut sends: Sends<'_, M::Message>,
        effects: &mut OtherEffects,
        handle: impl FnOnce(&mut S, &mut Context<'_, M>),
    ) -> Execution {
        let (now, id) = (header.instant(), header.receiver());
        if now.time < self.kernel.last {
            out_of_order(now, self.kernel.last);
        }
        if let Body::Timer(timer) = body
            && !self.accept_wake(world, timer, &header.key(), id, &mut sends, effects)
        {
            return Execution::Skipped;
        }
        self.kernel.last = now.time;
        if world.digest {
            self.kernel.digest.event(&header.key(), body);
        }
        let Lp { kernel, state } = self;
        let phase = Phase::Event(header.sender());
        let mut ctx = Context::new(id, now, phase, kernel, sends, effects, world);
        catch_panics(&mut ctx, |ctx| handle(state, ctx));
        Execution::Done
    }

    /// Returns true if the timer of this wake is due. If the timer is set to a later instant, sends its next
    /// wake.
    fn accept_wake<T: Send + 'static>(
        &mut self,
        world: &World,
        id: TimerId,
        key: &EventKey,
        lp: LpId,
        sends: &mut Sends<'_, T>,
        effects: &mut OtherEffects,
    ) -> bool {
        if let Some(changes) = &mut effects.timer_changes {
            changes.push(TimerChange(id, self.kernel.timers.get(id)));
            effects.any = true;
        }
        match self.kernel.timers.accept_wake(id, Setting { instant: key.instant, sequence: key.sequence }) {
            WakeResult::Fire => true,
            WakeResult::Stale => false,
            WakeResult::Later(setting) => {
                sends.apply(SendWake { key: wake_key(world, lp, setting), lp, timer: id });
                false
            }
        }
    }

    /// Sends the wakes that the timers of this LP need after a rollback.
    ///
    /// Older wakes become stale. An engine whose pending set tells events apart by key must drop them. The
    /// sequence number is rolled back too, so a message may get the key of an old wake.
    pub(crate) fn renew_wakes<T: Send + 'static>(&mut self, world: &World, lp: LpId, mut sends: Sends<'_, T>) {
        for (id, setting) in self.kernel.timers.renew_wakes() {
            sends.apply(SendWake { key: wake_key(world, lp, setting), lp, timer: id });
        }
    }

    /// Lets a global event visit this LP.
    pub(crate) fn visit<M: Model<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        id: LpId,
        time: Time,
        global: &M::Global,
        sends: Sends<'_, M::Message>,
        effects: &mut OtherEffects,
    ) -> Option<SummaryOf<M>> {
        let Lp { kernel, state } = self;
        let mut ctx = Context::new(id, Instant::at(time), Phase::Visit, kernel, sends, effects, world);
        catch_panics(&mut ctx, |ctx| global.visit(model, state, ctx))
    }

    /// Returns the number of sends, timer settings and requests so far. It is a measure of the LP's load.
    pub(crate) fn sequence(&self) -> u64 {
        self.kernel.sequence
    }

    /// Returns the model's state of the LP.
    pub(crate) fn state(&self) -> &S {
        &self.state
    }

    /// Returns the model's state of the LP.
    pub(crate) fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }

    /// Replaces the random stream of the LP `id` by that of a branch ([`Rng::afresh`]).
    pub(crate) fn draw_afresh(&mut self, seed: u64, id: LpId, time: Time) {
        self.kernel.rng = self.kernel.rng.afresh(seed, id.0, time);
    }

    /// Makes an LP of the kernel's part and the model's state.
    pub(crate) fn of_parts(kernel: Kernel, state: S) -> Lp<S> {
        Lp { kernel, state }
    }

    /// Returns the kernel's part of the LP.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Plants a fault for the tests of the tests: a sequence number that a rollback did not restore.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn skip_sequence(&mut self) {
        self.kernel.sequence += 1;
    }

    /// Returns the digest of everything that this LP executed, and of its final state.
    pub(crate) fn final_digest<M: Model<State = S>>(&self, model: &M) -> u64 {
        let mut digest = self.kernel.digest;
        digest.word(self.kernel.sequence);
        model.fold(&self.state, &mut digest);
        digest.value()
    }

    /// True if everything that the kernel keeps is equal in the two LPs, except the wakes of timers.
    pub(crate) fn has_same_kernel(&self, other: &Lp<S>) -> bool {
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

/// Calls a part of the model. A panic becomes the failure of the execution, and may be rolled back like any
/// other.
///
/// The context is made by the caller and passed by reference. Its fields are written one by one. If the
/// context were made in the closure, they would be read two at a time right after that. Such a read waits
/// until the writes have left the core.
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

/// Panics, because an engine is wrong.
#[cold]
#[inline(never)]
fn out_of_order(now: Instant, last: Time) -> ! {
    panic!("I3: an LP executed an event of {now} after one of {last}")
}

/// Returns the key of the event that wakes a timer.
fn wake_key(world: &World, lp: LpId, Setting { instant, sequence }: Setting) -> EventKey {
    let sender = Sender::lp(lp);
    EventKey { instant, tie: world.tie(instant, lp, sender), sender, sequence }
}
