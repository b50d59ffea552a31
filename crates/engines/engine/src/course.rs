//! The course of a run: how far it is, what happens beside the events, how it ends. One thread directs it: the only one, or the leader of several.

use crate::ledger::{Least, Ledger, Trace};
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Body, Event, EventKey, Header, LpId};
use parades_core::global::{AllLps, GlobalQueue};
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::pending::Leftover;
use parades_core::run::{Control, Finished, Outcome, RunOptions, conclude};
use parades_core::time::{Delay, Time};
use parades_core::trace::Note;
use parades_core::world::World;

/// Events between two looks at the outside: progress, the wish to stop, memory.
const EVENTS_PER_POLL: u64 = 1 << 12;

/// How far a run is, and what it comes to.
pub(crate) struct Course<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) options: RunOptions<'a>,
    pub(crate) globals: GlobalQueue<M>,
    /// Of all LPs, or of the global events alone where the engine keeps the others elsewhere.
    pub(crate) metrics: Metrics,
    /// Executed for good.
    pub(crate) events: u64,
    /// Events before this time may be executed, or, where there are several workers, have been once they rest.
    pub(crate) bound: Time,
    /// The end; earlier than the options say once the run is stopped by hand.
    pub(crate) until: Time,
    /// The least failure that workers have left.
    pub(crate) failure: Least,
}

/// All LPs of a run, at rest, and what waits at them.
pub(crate) trait Rest<M: Model> {
    /// When the next event is due.
    fn next_time(&mut self) -> Time;
    /// The LPs, for global events that record in `metrics`.
    fn lps<'b>(&'b mut self, metrics: &'b mut Metrics) -> impl AllLps<M> + 'b;
    /// Adds an event.
    fn push(&mut self, event: Event<M::Message>);
}

/// The next time that can be told from `time`.
pub(crate) fn just_after(time: Time) -> Time {
    time.checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX)
}

impl<'a, M: Model> Course<'a, M> {
    pub(crate) fn new(model: &'a M, options: RunOptions<'a>) -> Course<'a, M> {
        Course {
            model,
            globals: GlobalQueue::new(model),
            metrics: model.metrics(),
            events: 0,
            bound: Time::ZERO,
            until: options.until,
            failure: Least::default(),
            options,
        }
    }

    /// The next global event, or the end.
    pub(crate) fn horizon(&self) -> Time {
        self.globals.next_time().unwrap_or(Time::MAX).min(self.until)
    }

    /// From now on events before the next global event, or the end, may be executed.
    pub(crate) fn go_on(&mut self) {
        self.bound = self.horizon();
    }

    /// Whether everything before the bound, and the global events there, were the last.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over_at(self.bound)
    }

    fn is_over_at(&self, time: Time) -> bool {
        time >= self.until || self.globals.is_stopped()
    }

    /// Whether executions are to be traced.
    pub(crate) fn traces(&self) -> bool {
        self.options.tracer.is_some()
    }

    /// Whether the user wants the run to end.
    #[inline(always)]
    pub(crate) fn is_stopped(&self) -> bool {
        self.options.control.is_some_and(Control::is_stopped)
    }

    /// An event was executed: it is traced and counted. Whether it is time to look at the outside. An event may take long: the wish to stop is heard after
    /// each.
    #[inline(always)]
    pub(crate) fn done(
        &mut self,
        header: Header,
        body: Body<M::Message>,
        notes: &mut Vec<Note>,
    ) -> Result<bool, Error> {
        if self.traces() {
            self.trace(&header.with(body), notes)?;
            notes.clear();
        }
        self.events += 1;
        Ok(self.is_stopped() || self.events.is_multiple_of(EVENTS_PER_POLL))
    }

    /// Counts so many events at once; whether it is time to look at the outside.
    pub(crate) fn count_all(&mut self, events: u64) -> bool {
        let before = self.events / EVENTS_PER_POLL;
        self.events += events;
        self.is_stopped() || self.events / EVENTS_PER_POLL != before
    }

    /// Takes up what an execution did besides its sends, and a failure above all; the metrics go to `metrics`, or to the course's own.
    #[cold]
    #[inline(never)]
    pub(crate) fn beyond_sends(
        &mut self,
        world: &World,
        (lp, event): (LpId, Option<EventKey>),
        effects: &mut Effects<M>,
        metrics: Option<&mut Metrics>,
    ) -> Result<(), Error> {
        if let Some(kind) = effects.failure.take() {
            let (instant, key) = event.map_or_else(Default::default, |key| (key.instant, Some(key)));
            return Err(world.error_at(kind, Place { instant, lp: Some(lp), event: key }));
        }
        let metrics = metrics.unwrap_or(&mut self.metrics);
        effects.samples.drain(..).for_each(|sample| metrics.apply(lp, &sample));
        for request in effects.requests.drain(..) {
            self.bound = self.bound.min(request.key.instant.time);
            self.globals.add(request);
        }
        effects.beyond_sends = false;
        // Only an event that is traced takes its notes along.
        if event.is_none() || !self.traces() {
            effects.notes.clear();
        }
        Ok(())
    }

    /// Writes an event into the trace, if there is one.
    pub(crate) fn trace(&mut self, event: &Event<M::Message>, notes: &[Note]) -> Result<(), Error> {
        let Some(tracer) = &mut self.options.tracer else { return Ok(()) };
        tracer.record(event, notes).map_err(|error| Error::new(ErrorKind::Trace(error.to_string())))
    }

    /// Takes up what workers left: requests, the least failure, and, as far as it comes before that, the trace.
    pub(crate) fn take_up(&mut self, left: impl IntoIterator<Item = Ledger<M>>) -> Result<(), Error> {
        let mut trace = Vec::new();
        for ledger in left {
            ledger.requests.into_iter().for_each(|request| self.globals.add(request));
            trace.extend(ledger.trace);
            self.failure.merge(ledger.failure);
        }
        self.trace_all(trace)
    }

    /// Writes events into the trace, in order, as far as they come before the least failure.
    pub(crate) fn trace_all(&mut self, mut trace: Trace<M::Message>) -> Result<(), Error> {
        let place = |event: &Event<M::Message>| Place {
            instant: event.instant(),
            lp: Some(event.receiver),
            event: Some(event.key()),
        };
        trace.retain(|(event, _)| self.failure.place().is_none_or(|failed| place(event) < *failed));
        trace.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        trace.iter().try_for_each(|(event, notes)| self.trace(event, notes))
    }

    /// Executes the global events that come before any event that waits; the end of the run, if that is reached.
    pub(crate) fn execute_globals_first(
        &mut self,
        world: &mut World,
        rest: &mut impl Rest<M>,
        effects: &mut Effects<M>,
    ) -> Result<Option<Time>, Error> {
        while rest.next_time() >= self.horizon() {
            let time = self.horizon();
            self.bound = self.bound.max(time);
            self.globals.execute_at(time, (self.model, world), &mut rest.lps(&mut self.metrics), effects)?;
            effects.outbox.buffer.drain(..).for_each(|event| rest.push(event));
            if self.is_over_at(time) {
                return Ok(Some(time));
            }
            // Global events alone may go on for ever.
            if self.options.control.is_some_and(|control| control.poll(time, self.events)) {
                self.until = self.until.min(just_after(time));
            }
        }
        Ok(None)
    }

    /// Whether the run is to end before it has begun.
    pub(crate) fn check_not_stopped(&self) -> Result<(), Error> {
        match self.options.control {
            Some(control) if control.poll(Time::ZERO, 0) => Err(Error::new(ErrorKind::Stopped)),
            _ => Ok(()),
        }
    }

    /// Looks at the outside, having reached `time`, with so many bytes of pending events. A run stopped by hand ends just after that.
    #[cold]
    pub(crate) fn poll(&mut self, world: &World, time: Time, pending: usize) -> Result<(), Error> {
        world.forget_rounds_before(time);
        if self.options.control.is_some_and(|control| control.poll(time, self.events)) {
            self.until = self.until.min(just_after(time));
            self.bound = self.bound.min(self.until);
        }
        self.check_memory(world, pending)
    }

    /// Whether the LPs' records and so many bytes of pending events are within the limit.
    #[inline]
    pub(crate) fn check_memory(&self, world: &World, pending: usize) -> Result<(), Error> {
        let lps = world.lps() as usize * size_of::<Lp<M::State>>();
        let needed = (lps + pending) as u64;
        match self.options.memory_limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }

    /// The end of the run, at `end`: the LPs come in id order.
    pub(crate) fn conclude<'l>(
        self,
        end: Time,
        lps: impl Iterator<Item = &'l Lp<M::State>>,
        pending: Leftover<M::Message>,
        mut engine_stats: Vec<(&'static str, f64)>,
    ) -> Result<Outcome, Error>
    where
        M::State: 'l,
    {
        let Course { model, options, globals, metrics, events, .. } = self;
        if let Some(control) = options.control {
            control.poll(end, events);
        }
        engine_stats.push(("lp_bytes", size_of::<Lp<M::State>>() as f64));
        engine_stats.push(("state_bytes", size_of::<M::State>() as f64));
        conclude(model, &options, lps, Finished { events, end, metrics, pending, globals, engine_stats })
    }
}
