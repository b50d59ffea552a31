//! The context through which a handler acts: sends, timers, metrics, notes and requests.
//!
//! *Read next*: [`crate::effects`], which collects the effects of a handler.

use crate::capture::Captured;
use crate::channel::Port;
use crate::effects::{OtherEffects, Request, SendMessage, SendWake, Sends};
use crate::error::{ErrorKind, Failure, line_of};
use crate::event::{EventKey, LpId, Sender, TimerId};
use crate::global::{AnyGlobal, Scheduled};
use crate::lp::Kernel;
use crate::metrics::{CounterId, FloatId, IntegerId, Sample};
use crate::model::Model;
use crate::random::Rng;
use crate::time::{Delay, Instant, Time};
use crate::timer::{Setting, TimerChange};
use crate::trace::Note;
use crate::world::World;
use std::any::Any;
use std::panic::Location;

/// The means by which a handler acts, besides changing its state.
#[derive(Debug)]
pub struct Context<'a, M: Model> {
    id: LpId,
    now: Instant,
    phase: Phase,
    kernel: &'a mut Kernel,
    sends: Sends<'a, M::Message>,
    effects: &'a mut OtherEffects,
    world: &'a World,
}

/// The phase of a run in which a context is used. It decides which actions are allowed, and when an event
/// without delay arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Start-up: events go to the LP itself, and may arrive at `(0, 0)`.
    Start,
    /// The execution of an event from this sender.
    Event(Sender),
    /// The visit of a global event: timers may be due at `(now, 0)`, and only the global event may send
    /// messages.
    Visit,
}

impl<'a, M: Model> Context<'a, M> {
    #[inline(always)]
    pub(crate) fn new(
        id: LpId,
        now: Instant,
        phase: Phase,
        kernel: &'a mut Kernel,
        sends: Sends<'a, M::Message>,
        effects: &'a mut OtherEffects,
        world: &'a World,
    ) -> Context<'a, M> {
        Context { id, now, phase, kernel, sends, effects, world }
    }

    /// Returns the LP whose handler this is.
    #[inline]
    pub fn id(&self) -> LpId {
        self.id
    }

    /// Returns the number of LPs.
    #[inline]
    pub fn lps(&self) -> u32 {
        self.world.lps
    }

    /// Returns the virtual time.
    #[inline]
    pub fn now(&self) -> Time {
        self.now.time
    }

    /// Returns the virtual time with its round.
    #[inline]
    pub fn instant(&self) -> Instant {
        self.now
    }

    /// Returns the sender of the event that is being executed, or `None` outside an event.
    pub fn sender(&self) -> Option<Sender> {
        match self.phase {
            Phase::Event(sender) => Some(sender),
            Phase::Start | Phase::Visit => None,
        }
    }

    /// Returns the order of the event that is being executed, and something that the LP does at this time
    /// without an event of its own: true if the event comes first. So a packet arrives at a port before or
    /// after another one leaves it. `what` tells apart the things that the LP does.
    ///
    /// A tie seed shuffles them as it shuffles events. `None` without a tie seed, when the model decides.
    #[inline]
    pub fn precedes(&self, what: u32) -> Option<bool> {
        match self.phase {
            Phase::Event(sender) => self.world.precedes(self.now, self.id, sender, what),
            Phase::Start | Phase::Visit => None,
        }
    }

    /// Returns whether a tie seed shuffles simultaneous events. Then an LP does nothing early that an event
    /// of its own is due to do at this time, such as what a timer is for: the order of the events decides.
    #[inline]
    pub fn shuffles_ties(&self) -> bool {
        self.world.shuffles_ties()
    }

    /// Returns the LP's own random stream.
    #[inline]
    pub fn rng(&self) -> &Rng {
        &self.kernel.rng
    }

    /// Draws one of the first `n` LPs, each with the same probability, from the LP's own random stream.
    ///
    /// # Panics
    ///
    /// If `n` is zero, or more than the number of LPs. In a handler, a panic is an error of the run.
    #[inline]
    #[track_caller]
    pub fn random_lp(&self, n: u32) -> LpId {
        assert!((1..=self.world.lps).contains(&n), "a draw from {n} LPs, when there are {}", self.world.lps);
        #[expect(clippy::cast_possible_truncation, reason = "below `n`")]
        let id = self.rng().below(u64::from(n)) as u32;
        LpId(id)
    }

    /// Sends through the channel `port` of this LP. A delay below the channel's lookahead is an error of the
    /// run.
    #[inline]
    #[track_caller]
    pub fn send(&mut self, port: Port, delay: Delay, message: M::Message) {
        match self.world.channels.at(self.id, port) {
            Some(channel) if delay >= channel.lookahead => self.post(channel.receiver, delay, message),
            Some(channel) => self.fail_lookahead(channel.receiver, delay, channel.lookahead),
            None => self.fail_channel(format!("it sent through its port {}, which it does not declare", port.0)),
        }
    }

    /// Sends to any LP, as declared for the sender ([`to_anyone`](crate::channel::Channels::to_anyone)) or
    /// for the whole model ([`whole`](crate::channel::Channels::whole)), and for other groups
    /// ([`to_other_groups`](crate::channel::Channels::to_other_groups)). Sending to itself needs no
    /// declaration.
    #[inline]
    #[track_caller]
    pub fn send_to(&mut self, receiver: LpId, delay: Delay, message: M::Message) {
        if receiver.0 < self.world.lps && self.world.channels.allows_all(delay) {
            self.post(receiver, delay, message);
        } else {
            self.send_to_checked(receiver, delay, message);
        }
    }

    /// As [`Context::send_to`], if the delay is too short for at least one sender.
    #[inline(never)]
    #[track_caller]
    fn send_to_checked(&mut self, receiver: LpId, delay: Delay, message: M::Message) {
        if receiver == self.id {
            return self.send_self(delay, message);
        }
        if receiver.0 >= self.world.lps {
            return self.fail_channel(format!("it sent to {receiver}, but there are only {} LPs", self.world.lps));
        }
        match self.world.channels.lookahead_to(self.id, receiver) {
            Some(lookahead) if delay >= lookahead => self.post(receiver, delay, message),
            Some(lookahead) => self.fail_lookahead(receiver, delay, lookahead),
            None => self
                .fail_channel(format!("it sent to {receiver} without naming a channel, and declares none to anyone")),
        }
    }

    /// Sends to the LP itself, with any delay.
    #[inline]
    #[track_caller]
    pub fn send_self(&mut self, delay: Delay, message: M::Message) {
        self.post(self.id, delay, message);
    }

    /// Sends to any LP, after the channel has been checked. Never inlined: it has the code of every kind of
    /// pending set.
    #[inline(never)]
    #[track_caller]
    fn post(&mut self, receiver: LpId, delay: Delay, message: M::Message) {
        if !matches!(self.phase, Phase::Event(_)) && receiver != self.id {
            return self.refuse_send(receiver);
        }
        if let Some(key) = self.next_key(receiver, delay) {
            self.sends.apply(SendMessage { key, receiver, message });
        }
    }

    /// Fails the execution, because it sent to another LP while no event was being executed.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse_send(&mut self, receiver: LpId) {
        match self.phase {
            Phase::Start => self.misuse(ErrorKind::Model(format!(
                "it sent to {receiver} while starting up, when an LP may send only to itself"
            ))),
            _ => self.fail_channel(format!(
                "it sent to {receiver} while visited by a global event, which alone may send then"
            )),
        }
    }

    /// Sets a timer of this LP, or resets it. It will be due once, `delay` from now.
    #[inline]
    #[track_caller]
    pub fn set_timer(&mut self, id: TimerId, delay: Delay) {
        if id.0 > TimerId::MAX.0 {
            return self.misuse(ErrorKind::Model(format!(
                "it set its timer {}, but timers are numbered from 0 to {}",
                id.0,
                TimerId::MAX.0
            )));
        }
        let Some(key) = self.next_key(self.id, delay) else { return };
        self.replace_last_note(|key| Some(Note::Set { timer: id, sequence: key.sequence }));
        self.log_timer(id);
        if self.kernel.timers.set(id, Setting { instant: key.instant, sequence: key.sequence }).is_some() {
            self.sends.apply(SendWake { key, lp: self.id, timer: id });
        }
    }

    /// Cancels a timer of this LP. It is then not executed, even if it was due at this very instant. Does
    /// nothing if the timer is not set.
    #[inline]
    pub fn cancel_timer(&mut self, id: TimerId) {
        if self.kernel.timers.is_set(id) {
            self.log_timer(id);
            self.kernel.timers.cancel(id);
        }
    }

    /// True if a timer is set and still to come.
    pub fn is_timer_set(&self, id: TimerId) -> bool {
        self.kernel.timers.is_set(id)
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(&mut self, counter: impl Into<CounterId>, amount: u64) {
        self.record(Sample::integer(counter.into().into(), amount));
    }

    /// Records one observation of an integer metric, such as a time in picoseconds or a length in packets.
    #[inline]
    pub fn observe(&mut self, metric: impl Into<IntegerId>, value: u64) {
        self.record(Sample::integer(metric.into().into(), value));
    }

    /// Records one observation of an integer metric that a flow measured. Samples then have the flow.
    #[inline]
    pub fn observe_of(&mut self, flow: impl FnOnce() -> u32, metric: impl Into<IntegerId>, value: u64) {
        let sample = Sample::integer(metric.into().into(), value);
        if self.world.has_samples {
            self.note_sample(sample, Some(flow()));
        }
        self.push_sample(sample);
    }

    /// Records one observation of a floating-point metric.
    #[inline]
    pub fn observe_float(&mut self, metric: impl Into<FloatId>, value: f64) {
        self.record(Sample::float(metric.into().into(), value));
    }

    /// Records a sample, which the caller has made from the id of a metric of this model.
    #[inline]
    pub fn record(&mut self, sample: Sample) {
        if self.world.has_samples {
            self.note_sample(sample, None);
        }
        self.push_sample(sample);
    }

    #[inline]
    fn push_sample(&mut self, sample: Sample) {
        self.effects.samples.push(sample);
        self.effects.any = true;
    }

    /// Notes an observation for a trace that wants it. An observation that an LP records while it starts, or
    /// while a global event visits it, is in no trace.
    #[cold]
    #[inline(never)]
    fn note_sample(&mut self, sample: Sample, flow: Option<u32>) {
        if matches!(self.phase, Phase::Event(_)) && self.world.observes(sample.metric()) {
            self.effects.notes.push(Note::Observed { sample, flow });
        }
    }

    /// Adds a line to the trace of this event. `text` is called only if there is a trace, so it must change
    /// nothing.
    #[inline]
    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if self.world.notes {
            self.effects.notes.push(Note::Line(text()));
            self.effects.any = true;
        }
    }

    /// True if packets are captured, at this LP or at others. Then handlers call [`Context::capture`] for
    /// each packet.
    #[inline]
    pub fn has_captures(&self) -> bool {
        self.world.has_captures
    }

    /// Captures a packet at a port of `lp`, in the trace of this event. `packet` is called only if packets at
    /// `lp` are captured, so it must change nothing.
    pub fn capture(&mut self, lp: LpId, packet: impl FnOnce() -> Captured) {
        if self.world.captures(lp) {
            self.effects.notes.push(Note::Captured(Box::new(packet())));
            self.effects.any = true;
        }
    }

    /// Asks for a global event after the control delay. Only controllers may ask.
    #[track_caller]
    pub fn request(&mut self, global: M::Global) {
        self.request_scheduled(Scheduled::Model(AnyGlobal::new(global)));
    }

    /// Asks for the end of the run after the control delay. Only controllers may ask.
    #[track_caller]
    pub fn request_stop(&mut self) {
        self.request_scheduled(Scheduled::Stop);
    }

    #[track_caller]
    fn request_scheduled(&mut self, global: Scheduled) {
        if !self.world.is_controller(self.id) {
            let what = "it asked for a global event without being declared a controller".into();
            return self.misuse(ErrorKind::Declaration(what));
        }
        if self.phase == Phase::Visit {
            return self.fail_channel(
                "it asked for a global event while visited by one, which alone may schedule another then".into(),
            );
        }
        if let Some(key) = self.next_key(self.id, self.world.controllers().delay) {
            self.replace_last_note(|_| None);
            self.effects.requests.push(Request { key, global });
            self.effects.any = true;
        }
    }

    /// Ends the run with an error. Anything that the handler does afterwards has no effect.
    #[cold]
    pub fn fail(&mut self, why: impl Into<String>) {
        self.set_failure(ErrorKind::Model(why.into()).into());
    }

    /// Makes a panic of the model the failure of this execution.
    #[cold]
    pub(crate) fn set_panic(&mut self, panic: &(dyn Any + Send)) {
        self.effects.set_panic(panic);
    }

    /// Returns the key for the next message, timer or request, and counts it. Returns `None` if the execution
    /// fails.
    ///
    /// Always inlined, so that the fields of the key reach the event in registers. Memory written in halves
    /// is slow to read as a whole.
    #[inline(always)]
    #[track_caller]
    fn next_key(&mut self, receiver: LpId, delay: Delay) -> Option<EventKey> {
        let instant = match self.now.time.later_by(delay) {
            Some(time) => Instant::at(time),
            None => self.instant_without_delay(receiver, delay)?,
        };
        let sender = Sender::lp(self.id);
        let sequence = self.kernel.sequence;
        self.kernel.sequence += 1;
        let tie =
            if self.world.has_ties_or_send_notes { self.tie_and_note(receiver, instant, sender, sequence) } else { 0 };
        Some(EventKey { instant, tie, sender, sequence })
    }

    /// Returns the tie of a send, and notes the send for a trace that wants it. Never inlined, because most
    /// runs have no tie seed and no such trace.
    #[inline(never)]
    fn tie_and_note(&mut self, receiver: LpId, instant: Instant, sender: Sender, sequence: u64) -> u32 {
        let tie = self.world.tie(instant, receiver, sender);
        if self.world.sends {
            let key = EventKey { instant, tie, sender, sequence };
            self.effects.notes.push(Note::Sent { key, receiver });
            self.effects.any = true;
        }
        tie
    }

    /// Replaces the last note for the trace. That note says that a message was sent, but its key belongs to a
    /// timer or a request.
    fn replace_last_note(&mut self, what: impl FnOnce(&EventKey) -> Option<Note>) {
        if self.world.sends
            && let Some(Note::Sent { key, .. }) = self.effects.notes.pop()
        {
            self.effects.notes.extend(what(&key));
        }
    }

    /// Returns the instant at which a send without delay arrives, usually in the next round.
    ///
    /// A delay above zero may be passed only if it leads past the end of virtual time. The event then has the
    /// last time, at which no run executes anything. At the bound on rounds, the execution fails, and the
    /// result is `None`.
    #[inline(never)]
    #[track_caller]
    fn instant_without_delay(&mut self, receiver: LpId, delay: Delay) -> Option<Instant> {
        if delay > Delay::ZERO {
            return Some(Instant::at(Time::MAX));
        }
        if !matches!(self.phase, Phase::Event(_)) {
            return Some(self.now);
        }
        if self.now.round < self.world.round_limit {
            return Some(Instant { time: self.now.time, round: self.now.round + 1 });
        }
        self.misuse(self.world.too_many_rounds(self.id, receiver));
        None
    }

    #[inline]
    fn log_timer(&mut self, id: TimerId) {
        if let Some(changes) = &mut self.effects.timer_changes {
            changes.push(TimerChange(id, self.kernel.timers.get(id)));
            self.effects.any = true;
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn fail_lookahead(&mut self, receiver: LpId, delay: Delay, lookahead: Delay) {
        self.misuse(ErrorKind::Lookahead { receiver, delay, lookahead });
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn fail_channel(&mut self, what: String) {
        self.misuse(ErrorKind::NoChannel(what));
    }

    /// Fails the execution, because the line that called the context misused it.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn misuse(&mut self, kind: ErrorKind) {
        self.set_failure(Failure::in_line(kind, Location::caller()));
    }

    /// True if the execution has failed. Whatever its handler still does has no effect.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.effects.failure.is_some()
    }

    /// Says which line has caused the failure of the execution, for code that acts for another: a program's
    /// process sends at the end of its event.
    #[cold]
    pub fn blame(&mut self, caller: &Location<'_>) {
        if let Some(failure) = &mut self.effects.failure {
            failure.line = Some(line_of(caller));
        }
    }

    /// Sets the failure of the execution. Of several failures the first counts.
    #[cold]
    #[inline(never)]
    fn set_failure(&mut self, failure: Failure) {
        self.effects.failure.get_or_insert(failure);
        self.effects.any = true;
    }
}
