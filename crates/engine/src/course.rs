//! The course of a run that one thread directs, event by event: how far it is, what happens beside the events, how it ends.

use parades_core::effects::{Effects, Request};
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Event, LpId};
use parades_core::global::GlobalQueue;
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::pending::Leftover;
use parades_core::run::{Control, Finished, Outcome, RunOptions, conclude};
use parades_core::time::{Delay, Time};
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
    /// Events before this time may be executed: the next global event, or the end.
    pub(crate) bound: Time,
    /// The end; earlier than the options say once the run is stopped by hand.
    until: Time,
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
            options,
        }
    }

    /// From now on events before the next global event, or the end, may be executed.
    pub(crate) fn go_on(&mut self) {
        self.bound = self.globals.next_time().unwrap_or(Time::MAX).min(self.until);
    }

    /// Whether everything before the bound, and the global events there, were the last.
    pub(crate) fn is_over(&self) -> bool {
        self.bound >= self.until || self.globals.stopped()
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

    /// Counts an event; whether it is time to look at the outside. An event may take long: the wish to stop is heard after each.
    #[inline(always)]
    pub(crate) fn count(&mut self) -> bool {
        self.events += 1;
        self.is_stopped() || self.events.is_multiple_of(EVENTS_PER_POLL)
    }

    /// Counts so many events at once; whether it is time to look at the outside.
    pub(crate) fn count_all(&mut self, events: u64) -> bool {
        let before = self.events / EVENTS_PER_POLL;
        self.events += events;
        self.is_stopped() || self.events / EVENTS_PER_POLL != before
    }

    /// Takes up what a controller asked for.
    pub(crate) fn add(&mut self, request: Request<M::Global>) {
        self.bound = self.bound.min(request.key.instant.time);
        self.globals.add(request);
    }

    /// Takes up what an execution did besides its sends, and a failure above all; the metrics go to `metrics`, or to the course's own.
    #[cold]
    #[inline(never)]
    pub(crate) fn beyond_sends(
        &mut self,
        world: &World,
        (lp, event): (LpId, Option<&Event<M::Message>>),
        effects: &mut Effects<M>,
        metrics: Option<&mut Metrics>,
    ) -> Result<(), Error> {
        if let Some(kind) = effects.failure.take() {
            let (instant, key) = event.map_or_else(Default::default, |event| (event.instant(), Some(event.key())));
            return Err(world.error_at(kind, Place { instant, lp: Some(lp), event: key }));
        }
        let metrics = metrics.unwrap_or(&mut self.metrics);
        effects.samples.drain(..).for_each(|sample| metrics.apply(lp, &sample));
        effects.requests.drain(..).for_each(|request| self.add(request));
        effects.beyond_sends = false;
        // Only an event that is traced takes its notes along.
        if event.is_none() || !self.traces() {
            effects.notes.clear();
        }
        Ok(())
    }

    /// Writes an event into the trace, if there is one.
    pub(crate) fn trace(&mut self, event: &Event<M::Message>, notes: &[String]) -> Result<(), Error> {
        let Some(tracer) = &mut self.options.tracer else { return Ok(()) };
        tracer.record(event, notes).map_err(|error| Error::new(ErrorKind::Trace(error.to_string())))
    }

    /// Writes events that were executed at once into the trace, as far as they come before a failure.
    pub(crate) fn trace_all(
        &mut self,
        mut trace: Vec<(Event<M::Message>, Vec<String>)>,
        failed: Option<Place>,
    ) -> Result<(), Error> {
        let place = |event: &Event<M::Message>| Place {
            instant: event.instant(),
            lp: Some(event.receiver),
            event: Some(event.key()),
        };
        trace.retain(|(event, _)| failed.is_none_or(|failed| place(event) < failed));
        trace.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        trace.iter().try_for_each(|(event, notes)| self.trace(event, notes))
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
            self.until = self.until.min(time.checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX));
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

    /// The end of the run: the LPs come in id order.
    pub(crate) fn conclude<'l>(
        self,
        lps: impl Iterator<Item = &'l Lp<M::State>>,
        pending: Leftover<M::Message>,
        mut engine_stats: Vec<(&'static str, f64)>,
    ) -> Result<Outcome, Error>
    where
        M::State: 'l,
    {
        let Course { model, options, globals, metrics, events, bound: end, .. } = self;
        if let Some(control) = options.control {
            control.poll(end, events);
        }
        engine_stats.push(("lp_bytes", size_of::<Lp<M::State>>() as f64));
        engine_stats.push(("state_bytes", size_of::<M::State>() as f64));
        conclude(model, &options, lps, Finished { events, end, metrics, pending, globals, engine_stats })
    }
}
