//! What a model is, and what its handlers may do.
//!
//! A logical process (LP) is state plus a handler. The handler sees its own state, the event by reference, its random stream and the
//! model's constants (`&self`), and acts through its [`Context`]. It has no other input and no other output, so it cannot know which
//! engine runs it, and every engine gives the same answer.
//!
//! *Read next*: [`crate::lp`], how an event is executed.

use crate::channel::{Channels, Port};
use crate::digest::{Digest, Payload};
use crate::effects::{Effects, Request};
use crate::error::ErrorKind;
use crate::event::{Body, EventKey, LpId, Sender, TimerId};
use crate::global::{Global, Scheduled};
use crate::lp::Kernel;
use crate::metrics::{MetricId, Metrics, Sample};
use crate::random::Rng;
use crate::run::{End, Unfinished};
use crate::time::{Delay, Instant, Time};
use crate::timer::{Setting, TimerChange};
use crate::trace::Note;
use crate::world::{Controllers, World};
use std::any::Any;

/// A model: constants, and how its LPs start and react.
///
/// # Examples
///
/// Two LPs that pass a ball to and fro:
///
/// ```
/// use parades_core::prelude::*;
///
/// struct PingPong;
///
/// impl Model for PingPong {
///     type State = u64; // hits so far
///     type Message = ();
///     type Global = NoGlobal;
///
///     fn lps(&self) -> u32 { 2 }
///     fn channels(&self) -> Channels { Channels::whole(Delay::from_ms(10)) }
///     fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
///         if ctx.id() == LpId(0) { ctx.send_self(Delay::ZERO, ()); }
///         0
///     }
///     fn handle(&self, hits: &mut u64, _event: Body<&()>, ctx: &mut Context<'_, Self>) {
///         *hits += 1;
///         ctx.send_to(LpId(1 - ctx.id().0), Delay::from_ms(10), ());
///     }
/// }
/// # assert_eq!(PingPong.lps(), 2);
/// ```
pub trait Model: Sized + Sync {
    /// What an LP remembers between events. Models with several kinds of LP make it an `enum`.
    type State: Send;
    /// What LPs send each other.
    type Message: Payload;
    /// The model's global events; [`crate::global::NoGlobal`] where it has none.
    type Global: Global<Self>;

    /// How many steps [`Model::fetch`] takes, at most three; by default none, which suits states that hold all they need themselves.
    const FETCHES: usize = 0;

    /// How many LPs there are, `1..2^32 - 1`. Their ids are `0..lps`.
    fn lps(&self) -> u32;

    /// Who may send to whom with what least delay. By default nothing is declared, and anyone may send to anyone.
    fn channels(&self) -> Channels {
        Channels::undeclared()
    }

    /// Which LPs may ask for global events; by default none.
    fn controllers(&self) -> Controllers {
        Controllers::default()
    }

    /// The metrics, declared once; handlers name them by the ids that the declarations gave.
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// The global events known from the start.
    fn globals(&self) -> Vec<(Time, Self::Global)> {
        Vec::new()
    }

    /// How many rounds one time may have before it is an error: the bound on chains of zero-delay sends.
    fn round_limit(&self) -> u32 {
        1 << 20
    }

    /// Makes the initial state of the LP `ctx.id()` and its start-up events. Those go to the LP itself; one with delay zero arrives at
    /// `(0, 0)`. A pure function of the model, the seed and the id.
    fn start(&self, ctx: &mut Context<'_, Self>) -> Self::State;

    /// Executes an event.
    fn handle(&self, state: &mut Self::State, event: Body<&Self::Message>, ctx: &mut Context<'_, Self>);

    /// Asks the processor for what the state of an LP points to, an event for it being due soon. Step after step, each some events later, what lies one pointer
    /// further is asked for ([`crate::prefetch`]); what a step reads, the one before should have asked for. Changes nothing but time; an engine need not call
    /// it, and `time-warp` does not.
    #[inline]
    fn fetch(&self, state: &Self::State, step: usize) {
        let _ = (state, step);
    }

    /// Whether [`Model::fetch`] is worth its steps, where it has any: whether there is so much state that the caches do not hold it.
    #[inline]
    fn fetches(&self) -> bool {
        true
    }

    /// Folds the final state of an LP into the digest; by default events alone count.
    fn fold(&self, state: &Self::State, digest: &mut Digest) {
        let _ = (state, digest);
    }

    /// Adds what is left in the final state of an LP to the metrics; called in id order.
    fn finish(&self, id: LpId, state: &Self::State, end: &End, metrics: &mut Metrics) {
        let _ = (id, state, end, metrics);
    }

    /// Looks at the messages that were still on their way when the run ended.
    fn unfinished(&self, messages: Unfinished<Self::Message>, metrics: &mut Metrics) {
        let _ = (messages, metrics);
    }

    /// Sets the metrics that are known only at the end, and checks what must hold of all of them (conservation of packets, say).
    ///
    /// # Errors
    ///
    /// One sentence on what does not hold; it becomes the error of the run.
    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let _ = (end, metrics);
        Ok(())
    }
}

/// What a handler may do besides changing its state.
#[derive(Debug)]
pub struct Context<'a, M: Model> {
    id: LpId,
    now: Instant,
    phase: Phase,
    kernel: &'a mut Kernel,
    effects: &'a mut Effects<M>,
    world: &'a World,
}

/// Where in a run a context is used; it decides when a delay of zero is over, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Setting up: events go to the LP itself, and may arrive at `(0, 0)`.
    Start,
    /// Executing an event of this sender.
    Event(Sender),
    /// Visited by a global event: timers may be due at `(now, 0)`, messages are the global event's to send.
    Visit,
}

impl<'a, M: Model> Context<'a, M> {
    pub(crate) fn new(
        id: LpId,
        now: Instant,
        phase: Phase,
        kernel: &'a mut Kernel,
        effects: &'a mut Effects<M>,
        world: &'a World,
    ) -> Context<'a, M> {
        Context { id, now, phase, kernel, effects, world }
    }

    /// The LP whose handler this is.
    #[inline]
    pub fn id(&self) -> LpId {
        self.id
    }

    /// How many LPs there are.
    #[inline]
    pub fn lps(&self) -> u32 {
        self.world.lps
    }

    /// The virtual time.
    #[inline]
    pub fn now(&self) -> Time {
        self.now.time
    }

    /// The virtual time with its round.
    #[inline]
    pub fn instant(&self) -> Instant {
        self.now
    }

    /// Who sent the event that is being executed; `None` outside of one.
    pub fn sender(&self) -> Option<Sender> {
        match self.phase {
            Phase::Event(sender) => Some(sender),
            Phase::Start | Phase::Visit => None,
        }
    }

    /// The LP's own random stream.
    #[inline]
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.kernel.rng
    }

    /// Sends through the sender's channel `port`. A delay below the channel's lookahead is an error of the run.
    #[inline]
    pub fn send(&mut self, port: Port, delay: Delay, message: M::Message) {
        match self.world.channels.at(self.id, port) {
            Some(channel) if delay >= channel.lookahead => self.post(channel.receiver, delay, message),
            Some(channel) => self.fail_lookahead(channel.receiver, delay, channel.lookahead),
            None => self.fail_channel(format!("it sent through its port {}, which it does not declare", port.0)),
        }
    }

    /// Sends to any LP, as declared for the sender or the whole model ([`Channels::to_anyone`], [`Channels::whole`]); to itself
    /// without any declaration.
    #[inline]
    pub fn send_to(&mut self, receiver: LpId, delay: Delay, message: M::Message) {
        if receiver.0 < self.world.lps && self.world.channels.allows_all(delay) {
            self.post(receiver, delay, message);
        } else {
            self.send_to_checked(receiver, delay, message);
        }
    }

    /// As [`Context::send_to`], where a look at all channels does not suffice.
    #[inline(never)]
    fn send_to_checked(&mut self, receiver: LpId, delay: Delay, message: M::Message) {
        if receiver == self.id {
            return self.send_self(delay, message);
        }
        if receiver.0 >= self.world.lps {
            return self.fail_channel(format!("it sent to {receiver}, but there are only {} LPs", self.world.lps));
        }
        match self.world.channels.lookahead_to_anyone(self.id) {
            Some(lookahead) if delay >= lookahead => self.post(receiver, delay, message),
            Some(lookahead) => self.fail_lookahead(receiver, delay, lookahead),
            None => self
                .fail_channel(format!("it sent to {receiver} without naming a channel, and declares none to anyone")),
        }
    }

    /// Sends to the LP itself, with any delay.
    #[inline]
    pub fn send_self(&mut self, delay: Delay, message: M::Message) {
        if let Some(key) = self.next_key(self.id, delay) {
            self.effects.outbox.push(key, self.id, Body::Message(message));
        }
    }

    /// Sends to another LP, the channel having been checked.
    #[inline]
    fn post(&mut self, receiver: LpId, delay: Delay, message: M::Message) {
        if !matches!(self.phase, Phase::Event(_)) && receiver != self.id {
            return self.refuse_send(receiver);
        }
        if let Some(key) = self.next_key(receiver, delay) {
            self.effects.outbox.push(key, receiver, Body::Message(message));
        }
    }

    /// Fails the execution, because it sent to another LP while no event was being executed.
    #[cold]
    #[inline(never)]
    fn refuse_send(&mut self, receiver: LpId) {
        self.fail_channel(match self.phase {
            Phase::Start => format!("it sent to {receiver} while starting up, when an LP may send only to itself"),
            _ => format!("it sent to {receiver} while visited by a global event, which alone may send then"),
        });
    }

    /// Sets a timer of the LP's own, or resets it if it is set: it will be due after `delay` from now, once.
    #[inline]
    pub fn set_timer(&mut self, id: TimerId, delay: Delay) {
        if id.0 > TimerId::MAX.0 {
            return self.fail(format!(
                "it set its timer {}, but timers are numbered from 0 to {}",
                id.0,
                TimerId::MAX.0
            ));
        }
        let Some(key) = self.next_key(self.id, delay) else { return };
        self.replace_last_note(|key| Some(Note::Set { timer: id, sequence: key.sequence }));
        self.log_timer(id);
        if self.kernel.timers.set(id, Setting { instant: key.instant, sequence: key.sequence }).is_some() {
            self.effects.outbox.push(key, self.id, Body::Timer(id));
        }
    }

    /// Cancels a timer of the LP's own: it is not executed, even if it was due at this very instant. Nothing if it is not set.
    #[inline]
    pub fn cancel_timer(&mut self, id: TimerId) {
        if self.kernel.timers.is_set(id) {
            self.log_timer(id);
            self.kernel.timers.cancel(id);
        }
    }

    /// Whether a timer is set and still to come.
    pub fn is_timer_set(&self, id: TimerId) -> bool {
        self.kernel.timers.is_set(id)
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(&mut self, metric: MetricId, amount: u64) {
        self.sample(Sample::integer(metric, amount));
    }

    /// Records one observation of an integer metric: a time in picoseconds, a length in packets.
    #[inline]
    pub fn observe(&mut self, metric: MetricId, value: u64) {
        self.sample(Sample::integer(metric, value));
    }

    /// Records one observation of a floating-point metric.
    #[inline]
    pub fn observe_float(&mut self, metric: MetricId, value: f64) {
        self.sample(Sample::float(metric, value));
    }

    #[inline]
    fn sample(&mut self, sample: Sample) {
        self.effects.samples.push(sample);
        self.effects.beyond_sends = true;
    }

    /// Adds a line to the trace of this event. It is made only if a trace is kept, so making it must change nothing.
    #[inline]
    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if self.world.notes {
            self.effects.notes.push(Note::Line(text()));
            self.effects.beyond_sends = true;
        }
    }

    /// Asks for a global event after the control delay; for controllers only.
    pub fn request(&mut self, global: M::Global) {
        self.request_scheduled(Scheduled::Model(global));
    }

    /// Asks for the end of the run after the control delay; for controllers only.
    pub fn request_stop(&mut self) {
        self.request_scheduled(Scheduled::Stop);
    }

    fn request_scheduled(&mut self, global: Scheduled<M::Global>) {
        if !self.world.is_controller(self.id) {
            let what = "it asked for a global event without being declared a controller".into();
            self.set_failure(ErrorKind::Declaration(what));
            return;
        }
        if self.phase == Phase::Visit {
            return self.fail_channel(
                "it asked for a global event while visited by one, which alone may schedule another then".into(),
            );
        }
        if let Some(key) = self.next_key(self.id, self.world.controllers().delay) {
            self.replace_last_note(|_| None);
            self.effects.requests.push(Request { key, global });
            self.effects.beyond_sends = true;
        }
    }

    /// Ends the run with an error: the model cannot go on. What the handler does after it has no effect.
    #[cold]
    pub fn fail(&mut self, why: impl Into<String>) {
        self.set_failure(ErrorKind::Model(why.into()));
    }

    /// Takes up a panic of the model's.
    #[cold]
    pub(crate) fn set_panic(&mut self, panic: &(dyn Any + Send)) {
        self.effects.set_panic(panic);
    }

    /// The key of the next thing that this LP sends or sets, and its place in the LP's count; `None` if there can be none. Always inlined, so
    /// that the parts of a key reach the event through registers: memory written in halves is slow to read as a whole.
    #[inline(always)]
    fn next_key(&mut self, receiver: LpId, delay: Delay) -> Option<EventKey> {
        let instant = match self.now.time.later_by(delay) {
            Some(time) => Instant::at(time),
            None => self.instant_without_delay(receiver, delay)?,
        };
        let sender = Sender::lp(self.id);
        let sequence = self.kernel.sequence;
        self.kernel.sequence += 1;
        let tie =
            if self.world.has_ties_or_notes { self.tie_and_note(receiver, (instant, sender, sequence)) } else { 0 };
        Some(EventKey { instant, tie, sender, sequence })
    }

    /// The tie shuffle of what is sent, which a trace may want to know of. Out of the way of runs that have neither.
    #[inline(never)]
    fn tie_and_note(&mut self, receiver: LpId, (instant, sender, sequence): (Instant, Sender, u64)) -> u32 {
        let tie = self.world.tie(instant, receiver, sender);
        if self.world.sends {
            let key = EventKey { instant, tie, sender, sequence };
            self.effects.notes.push(Note::Sent { key, receiver });
            self.effects.beyond_sends = true;
        }
        tie
    }

    /// What a trace was told of last is not a message but something else that took a key.
    fn replace_last_note(&mut self, what: impl FnOnce(&EventKey) -> Option<Note>) {
        if self.world.sends
            && let Some(Note::Sent { key, .. }) = self.effects.notes.pop()
        {
            self.effects.notes.extend(what(&key));
        }
    }

    /// The instant at which what is sent without delay arrives; `None` where the delay leads past the end of time.
    #[inline(never)]
    fn instant_without_delay(&mut self, receiver: LpId, delay: Delay) -> Option<Instant> {
        if delay > Delay::ZERO {
            self.set_failure(ErrorKind::TimeOverflow { delay });
            return None;
        }
        if !matches!(self.phase, Phase::Event(_)) {
            return Some(self.now);
        }
        if self.now.round < self.world.round_limit {
            return Some(Instant { time: self.now.time, round: self.now.round + 1 });
        }
        self.set_failure(self.world.too_many_rounds(self.id, receiver));
        None
    }

    #[inline]
    fn log_timer(&mut self, id: TimerId) {
        if let Some(changes) = &mut self.effects.timer_changes {
            changes.push(TimerChange(id, self.kernel.timers.get(id)));
            self.effects.beyond_sends = true;
        }
    }

    #[cold]
    #[inline(never)]
    fn fail_lookahead(&mut self, receiver: LpId, delay: Delay, lookahead: Delay) {
        self.set_failure(ErrorKind::Lookahead { receiver, delay, lookahead });
    }

    #[cold]
    #[inline(never)]
    fn fail_channel(&mut self, what: String) {
        self.set_failure(ErrorKind::NoChannel(what));
    }

    /// Keeps the first failure of an execution.
    #[cold]
    #[inline(never)]
    fn set_failure(&mut self, kind: ErrorKind) {
        self.effects.failure.get_or_insert(kind);
        self.effects.beyond_sends = true;
    }
}
