//! The common part of all test engines: start, commit, global events, the end.
//!
//! Executions are committed in the order of events: by instant, then LP, then key. So metrics and traces are
//! in that order, and the first failure met is the first failure of the run.

use parades_core::effects::{Effects, Request};
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Event, LpId};
use parades_core::global::{GlobalQueue, OneList};
use parades_core::lp::{Execution, Lp};
use parades_core::metrics::{Metrics, Sample};
use parades_core::model::Model;
use parades_core::run::{End, Finished, Outcome, RunOptions, conclude, finish};
use parades_core::time::Time;
use parades_core::trace::Note;
use parades_core::world::World;

/// The effects of an execution, except its sends, until it is committed.
#[derive(Debug)]
pub struct Uncommitted<M: Model> {
    execution: Execution,
    samples: Vec<Sample>,
    notes: Vec<Note>,
    requests: Vec<Request<M::Global>>,
    failure: Option<ErrorKind>,
}

impl<M: Model> Uncommitted<M> {
    /// Takes the effects of an execution.
    pub fn take(execution: Execution, effects: &mut Effects<M>) -> Uncommitted<M> {
        effects.beyond_sends = false;
        Uncommitted {
            execution,
            samples: std::mem::take(&mut effects.samples),
            notes: std::mem::take(&mut effects.notes),
            requests: std::mem::take(&mut effects.requests),
            failure: effects.failure.take(),
        }
    }

    /// True if the execution failed.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// The committed part of a run.
#[derive(Debug)]
pub struct Ledger<'a, M: Model> {
    /// The model.
    pub model: &'a M,
    /// The world of the run.
    pub world: World,
    options: RunOptions<'a>,
    globals: GlobalQueue<M>,
    metrics: Metrics,
    events: u64,
}

impl<'a, M: Model> Ledger<'a, M> {
    /// Starts a run. Returns its ledger, its LPs and its start-up events.
    ///
    /// # Errors
    ///
    /// A wrong declaration, or the failure of the first LP that cannot start.
    #[expect(clippy::type_complexity, reason = "three parts of one result")]
    pub fn start(
        model: &'a M,
        options: RunOptions<'a>,
    ) -> Result<(Self, Vec<Lp<M::State>>, Vec<Event<M::Message>>), Error> {
        let world = World::new(model, &options)?;
        let (globals, metrics) = (GlobalQueue::new(model), model.metrics());
        let mut ledger = Ledger { model, world, options, globals, metrics, events: 0 };
        let mut effects = Effects::new();
        let mut lps = Vec::new();
        for id in (0..ledger.world.lps()).map(LpId) {
            let lp = Lp::start(model, &ledger.world, id, &mut effects);
            ledger.apply(id, None, Uncommitted::take(Execution::Done, &mut effects))?;
            lps.push(lp.expect("an LP that failed to start has ended the run"));
        }
        Ok((ledger, lps, effects.outbox.buffer))
    }

    /// Returns the time of the next global event, or the end if it comes first. Events before it may be
    /// executed.
    pub fn horizon(&self) -> Time {
        self.globals.next_time().unwrap_or(Time::MAX).min(self.options.until)
    }

    /// Returns the end of the run, if no global event ends it earlier.
    pub fn until(&self) -> Time {
        self.options.until
    }

    /// Commits executions in the order of events.
    ///
    /// # Errors
    ///
    /// The failure of the first execution that failed.
    pub fn commit_all(&mut self, mut executed: Vec<(Event<M::Message>, Uncommitted<M>)>) -> Result<(), Error> {
        executed.sort_by(|(a, _), (b, _)| a.cmp(b));
        executed.into_iter().try_for_each(|(event, uncommitted)| self.commit(&event, uncommitted))
    }

    /// Commits the next execution in the order of events.
    ///
    /// # Errors
    ///
    /// The failure of the execution.
    pub fn commit(&mut self, event: &Event<M::Message>, uncommitted: Uncommitted<M>) -> Result<(), Error> {
        if uncommitted.execution == Execution::Skipped {
            return Ok(());
        }
        self.apply(event.receiver(), Some(event), uncommitted)
    }

    fn apply(&mut self, lp: LpId, event: Option<&Event<M::Message>>, uncommitted: Uncommitted<M>) -> Result<(), Error> {
        let Uncommitted { samples, notes, requests, failure, .. } = uncommitted;
        if let Some(kind) = failure {
            let instant = event.map(Event::instant).unwrap_or_default();
            return Err(self.world.error_at(kind, Place { instant, lp: Some(lp), event: event.map(Event::key) }));
        }
        samples.iter().for_each(|sample| self.metrics.apply(lp, sample));
        requests.into_iter().for_each(|request| self.globals.add(request));
        let Some(event) = event else { return Ok(()) };
        self.events += 1;
        self.world.note_round(event.instant(), lp);
        match &mut self.options.tracer {
            None => Ok(()),
            Some(tracer) => tracer
                .record(self.model, event, &notes)
                .map_err(|error| Error::new(ErrorKind::Trace(error.to_string()))),
        }
    }

    /// Executes the global events at the horizon. Everything before it must have been committed.
    ///
    /// # Errors
    ///
    /// The failure of a global event.
    pub fn execute_globals(&mut self, lps: &mut [Lp<M::State>]) -> Result<GlobalResult<M>, Error> {
        let time = self.horizon();
        let mut lps = OneList { lps, metrics: &mut self.metrics };
        let mut effects = Effects::new();
        let world = (self.model, &mut self.world);
        self.globals.execute_at(time, world, &mut lps, &mut effects)?;
        let ends = time >= self.options.until || self.globals.is_stopped();
        Ok(GlobalResult { sends: effects.outbox.buffer, end: ends.then_some(time) })
    }

    /// Ends the run, and returns its outcome. `pending` has all events that are still pending or in transit.
    ///
    /// # Errors
    ///
    /// The sentence of the model about a condition that does not hold.
    pub fn conclude(
        self,
        end: Time,
        lps: &[Lp<M::State>],
        pending: Vec<Event<M::Message>>,
        engine_stats: Vec<(&'static str, f64)>,
    ) -> Result<Outcome, Error> {
        let Ledger { model, options, globals, mut metrics, events, .. } = self;
        let end = End { time: end, events, early: end < options.until };
        let lps = (0..).map(LpId).zip(lps);
        let digests = finish(model, (&options, &end), lps, &mut metrics);
        let pending = Box::new(pending.into_iter());
        conclude(model, &options, digests, Finished { end, metrics, pending, globals, engine_stats })
    }
}

/// The result of the global events of one time.
#[derive(Debug)]
pub struct GlobalResult<M: Model> {
    /// The events that they sent, including wakes of timers.
    pub sends: Vec<Event<M::Message>>,
    /// The end of the run, if it is at this time.
    pub end: Option<Time>,
}
