//! Global events: they happen while no LP executes.
//!
//! A global event at time t runs after everything before `(t, 0)` and before the events of `(t, 0)`. It has
//! three steps, which also work across processes:
//!
//! 1. It *visits* each LP where the LP is, and gets a summary.
//! 2. It *folds* the summaries in id order.
//! 3. It *acts* on the result. It may send events (as the reserved sender `GLOBAL`, arriving from `(t, 0)`
//!    on), change lookahead, schedule the next global event, or end the run.

mod visits;

pub use visits::{AllLps, AnySummaries, OneList, SummaryOf, Visitor, Visits};

pub(crate) use visits::Summaries;
use visits::visit_all;

use crate::any_model::{AnyModel, AnyWire};
use crate::channel::Port;
use crate::cut::{COUNT_MAX, is_pending};
use crate::digest::Digest;
use crate::effects::{HiddenEffects, Request, SendMessage, Sends};
use crate::error::{Error, ErrorKind, Failure, Place};
use crate::event::{EventKey, LpId, Sender};
use crate::metrics::{Metrics, SeriesId};
use crate::model::Model;
use crate::time::{Delay, Instant, Time};
use crate::wire::{self, Malformed};
use crate::world::World;
use parades_raw::message::Kind;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// A kind of global event of the model `M`.
pub trait Global<M: Model>: Clone + Send + Debug + 'static {
    /// The result of a visit.
    type Summary: Send + 'static;

    /// Visits one LP. The visit may read and change the LP's state, set its timers and record metrics, but
    /// not send.
    fn visit(&self, model: &M, state: &mut M::State, ctx: &mut crate::model::Context<'_, M>) -> Self::Summary;

    /// Combines the summary of some LPs with the summary of the next LP, in id order.
    fn fold(&self, left: Self::Summary, right: Self::Summary) -> Self::Summary;

    /// Acts on the summary of all LPs.
    fn act(&self, model: &M, summary: Self::Summary, ctx: &mut GlobalContext<'_, M>);
}

/// The kind of global event of models that have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoGlobal {}

impl<M: Model> Global<M> for NoGlobal {
    type Summary = ();
    fn visit(&self, _: &M, _: &mut M::State, _: &mut crate::model::Context<'_, M>) {
        match *self {}
    }
    fn fold(&self, (): (), (): ()) {
        match *self {}
    }
    fn act(&self, _: &M, (): (), _: &mut GlobalContext<'_, M>) {
        match *self {}
    }
}

/// A global event of a model whose type the holder does not know.
pub struct AnyGlobal(Box<dyn Value>);

/// The operations on a global event that need its type.
trait Value: Any + Send + Debug {
    fn copy(&self) -> Box<dyn Value>;
}

impl<G: Clone + Send + Debug + 'static> Value for G {
    fn copy(&self) -> Box<dyn Value> {
        Box::new(self.clone())
    }
}

impl AnyGlobal {
    /// Hides the type of a global event.
    pub fn new<G: Clone + Send + Debug + 'static>(global: G) -> AnyGlobal {
        AnyGlobal(Box::new(global))
    }

    /// Returns the global event.
    ///
    /// # Panics
    ///
    /// If it has another type than `G`: it belongs to another model.
    pub fn get<G: 'static>(&self) -> &G {
        (&*self.0 as &dyn Any).downcast_ref().expect("a run has global events of one type")
    }
}

impl Clone for AnyGlobal {
    fn clone(&self) -> AnyGlobal {
        AnyGlobal((*self.0).copy())
    }
}

impl Debug for AnyGlobal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// An entry of the queue of global events.
#[derive(Clone, Debug)]
pub enum Scheduled {
    /// A global event of the model.
    Model(AnyGlobal),
    /// The end of the run.
    Stop,
}

/// The means by which a global event acts, after all LPs have been visited.
#[derive(Debug)]
pub struct GlobalContext<'a, M: Model> {
    now: Time,
    world: &'a mut World,
    metrics: &'a mut Metrics,
    sends: Sends<'a, M::Message>,
    queue: &'a mut GlobalQueue,
    failure: Option<Failure>,
}

/// The means by which a global event acts, as engines hand them to a model of any type.
#[derive(Debug)]
pub struct Acting<'a, 'k> {
    now: Time,
    world: &'a mut World,
    metrics: &'a mut Metrics,
    effects: HiddenEffects<'a, 'k>,
    queue: &'a mut GlobalQueue,
}

impl<'k> Acting<'_, 'k> {
    /// Lets a global event act on the summary of all LPs.
    pub(crate) fn act<M: Model>(
        self,
        model: &M,
        kind: Kind<'k, M::Message>,
        global: &M::Global,
        summary: SummaryOf<M>,
    ) -> Result<(), Failure> {
        let Acting { now, world, metrics, effects, queue } = self;
        let sends = kind.view(effects.outbox);
        let mut ctx = GlobalContext { now, world, metrics, sends, queue, failure: None };
        let acted = catch_panics(|| global.act(model, summary, &mut ctx));
        ctx.failure.map_or(acted.map_err(Failure::from), Err)
    }
}

impl<M: Model> GlobalContext<'_, M> {
    /// Returns the virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of LPs.
    pub fn lps(&self) -> u32 {
        self.world.lps
    }

    /// Sends to an LP, with any delay.
    ///
    /// Without delay the event arrives at this very time. As [`Sender::GLOBAL`] sorts first, it comes before
    /// the events that LPs sent for this time, unless a tie seed shuffles them.
    #[track_caller]
    pub fn send(&mut self, receiver: LpId, delay: Delay, message: M::Message) {
        if receiver.0 >= self.world.lps {
            return self.set_failure(ErrorKind::NoChannel(format!(
                "it sent to {receiver}, but there are only {} LPs",
                self.world.lps
            )));
        }
        let mut key = self.next_key(delay);
        key.tie = self.world.tie(key.instant, receiver, Sender::GLOBAL);
        self.sends.apply(SendMessage { key, receiver, message });
    }

    /// Schedules a global event after a delay above zero.
    #[track_caller]
    pub fn schedule(&mut self, delay: Delay, global: M::Global) {
        if delay == Delay::ZERO {
            return self
                .set_failure(ErrorKind::Model("it scheduled a global event for the very time it ran at".into()));
        }
        let key = self.next_key(delay);
        self.queue.insert(key, Scheduled::Model(AnyGlobal::new(global)));
    }

    /// Ends the run at this time. Everything before it has been executed, and the global events of this time
    /// will be.
    pub fn stop(&mut self) {
        self.queue.stopped = true;
    }

    /// Changes the lookahead of a channel. Events in transit keep their arrival.
    #[track_caller]
    pub fn set_lookahead(&mut self, sender: LpId, port: Port, lookahead: Delay) {
        if let Err(what) = self.world.set_lookahead(sender, port, lookahead) {
            self.set_failure(ErrorKind::NoChannel(what));
        }
    }

    /// Records a point of a sampled series.
    pub fn point(&mut self, series: impl Into<SeriesId>, value: f64) {
        self.metrics.record_as(Sender::GLOBAL);
        self.metrics.point(series, self.now, value);
    }

    /// Ends the run with an error.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.failure.get_or_insert(ErrorKind::Model(why.into()).into());
    }

    fn next_key(&mut self, delay: Delay) -> EventKey {
        self.queue.next_key(self.now.saturating_add(delay))
    }

    #[track_caller]
    fn set_failure(&mut self, kind: ErrorKind) {
        self.failure.get_or_insert(Failure::in_line(kind, Location::caller()));
    }
}

/// The pending global events. Every process of a run holds the same events.
#[derive(Debug, Default)]
pub struct GlobalQueue {
    pending: BTreeMap<EventKey, Scheduled>,
    /// The sequence number of the sender `GLOBAL`.
    sequence: u64,
    executed: u64,
    digest: Digest,
    stopped: bool,
}

impl GlobalQueue {
    /// Makes the queue of the global events that the model knows from the start.
    pub fn new(model: &dyn AnyModel<'_>) -> GlobalQueue {
        let mut queue = GlobalQueue::default();
        for (time, global) in model.globals() {
            let key = queue.next_key(time);
            queue.pending.insert(key, Scheduled::Model(global));
        }
        queue
    }

    fn next_key(&mut self, time: Time) -> EventKey {
        let sequence = self.sequence;
        self.sequence += 1;
        EventKey { instant: Instant::at(time), tie: 0, sender: Sender::GLOBAL, sequence }
    }

    /// Returns the time of the next global event.
    pub fn next_time(&self) -> Option<Time> {
        self.pending.first_key_value().map(|(key, _)| key.instant.time)
    }

    /// Returns true if the run is to stop at `time`, before which all has been executed.
    pub fn stops_at(&self, time: Time) -> bool {
        let mut due = self.pending.iter().take_while(|(key, _)| key.instant.time <= time);
        due.any(|(_, scheduled)| matches!(scheduled, Scheduled::Stop))
    }

    /// Adds a request of a controller.
    pub fn add(&mut self, Request { key, global }: Request) {
        // A tie seed shuffles events at LPs, but not global events. Their order is by sender and sequence.
        self.insert(EventKey { tie: 0, ..key }, global);
    }

    /// Inserts a global event, unless it is at the last time, where those past the end of virtual time are
    /// too. A run to that end would execute it.
    fn insert(&mut self, key: EventKey, global: Scheduled) {
        if key.instant.time < Time::MAX {
            self.pending.insert(key, global);
        }
    }

    /// Returns the number of executed global events.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Returns the digest of the executed global events.
    pub fn digest(&self) -> u64 {
        self.digest.value()
    }

    /// True if a global event has ended the run.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Appends the bytes of the queue.
    pub(crate) fn write<'k>(&self, model: &(impl AnyWire<'k> + ?Sized), to: &mut Vec<u8>) {
        let GlobalQueue { pending, sequence, executed, digest, stopped } = self;
        wire::write(&(pending.len(), sequence, executed, digest, stopped), to);
        for (key, scheduled) in pending {
            wire::write(&(key, matches!(scheduled, Scheduled::Stop)), to);
            if let Scheduled::Model(global) = scheduled {
                model.write_global(global, to);
            }
        }
    }

    /// Reads a queue of a run at rest at `time` from the front of `from`.
    pub(crate) fn read<'k>(
        model: &(impl AnyWire<'k> + ?Sized),
        time: Time,
        from: &mut &[u8],
    ) -> Result<GlobalQueue, Malformed> {
        let (count, sequence, executed, digest, stopped): (usize, _, _, _, _) = wire::read(from)?;
        if sequence >= COUNT_MAX || executed >= COUNT_MAX {
            return Err(Malformed::new("there are more global events than a run has"));
        }
        let mut pending = BTreeMap::new();
        for _ in 0..count {
            let (key, is_stop): (EventKey, bool) = wire::read(from)?;
            if !is_pending(key.instant, time) || key.sequence >= COUNT_MAX {
                return Err(Malformed::new("a global event is before the cut"));
            }
            let scheduled = if is_stop { Scheduled::Stop } else { Scheduled::Model(model.read_global(from)?) };
            pending.insert(key, scheduled);
        }
        Ok(GlobalQueue { pending, sequence, executed, digest, stopped })
    }

    /// Executes the global events of `time`. The events that they send go to the outbox of the effects.
    ///
    /// # Errors
    ///
    /// The first failure, of a visit or of an act.
    pub fn execute_at<'k>(
        &mut self,
        time: Time,
        model: &'k dyn AnyModel<'k>,
        world: &mut World,
        lps: &mut dyn AllLps<'k>,
        mut effects: HiddenEffects<'_, 'k>,
    ) -> Result<(), Error> {
        while let Some(entry) = self.pending.first_entry() {
            if entry.key().instant.time != time {
                break;
            }
            let (key, scheduled) = entry.remove_entry();
            self.executed += 1;
            self.digest.word(time.as_ps());
            self.digest.word(u64::from(key.sender.rank()));
            self.digest.word(key.sequence);
            let global = match scheduled {
                Scheduled::Stop => {
                    self.stopped = true;
                    continue;
                }
                Scheduled::Model(global) => global,
            };
            let summaries = visit_all(model, world, key, &global, lps, &mut effects)?;
            let metrics = lps.metrics();
            let acting = Acting { now: time, world, metrics, effects: effects.reborrow(), queue: self };
            if let Err(failure) = model.act(&global, summaries, acting) {
                return Err(Error::at(failure, Place { instant: key.instant, lp: None, event: Some(key) }));
            }
        }
        Ok(())
    }
}

/// Calls a part of the model. A panic becomes a failure like any other.
fn catch_panics<T>(part: impl FnOnce() -> T) -> Result<T, ErrorKind> {
    catch_unwind(AssertUnwindSafe(part)).map_err(|panic| ErrorKind::of_panic(panic.as_ref()))
}
