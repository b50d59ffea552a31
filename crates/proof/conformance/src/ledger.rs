//! The common part of all test engines: start, commit, global events, the end.
//!
//! Executions are committed in the order of events: by instant, then LP, then key. So metrics and traces are
//! in that order, and the first failure met is the first failure of the run.

use parades_core::any_model::{AnyEvent, AnyModel, Lps, body_ref};
use parades_core::effects::{AnyEffects, OtherEffects, Request};
use parades_core::error::{Error, ErrorKind, Failure, Place};
use parades_core::event::{Event, LpId};
use parades_core::global::{GlobalQueue, OneList};
use parades_core::lp::Execution;
use parades_core::metrics::{Metrics, Sample};
use parades_core::run::{End, Finished, Outcome, RunOptions, conclude, finish};
use parades_core::time::Time;
use parades_core::trace::Note;
use parades_core::world::World;

/// The effects of an execution, except its sends, until it is committed.
#[derive(Debug)]
pub struct Uncommitted {
    execution: Execution,
    samples: Vec<Sample>,
    notes: Vec<Note>,
    requests: Vec<Request>,
    failure: Option<Failure>,
}

impl Uncommitted {
    /// Takes the effects of an execution.
    pub fn take(execution: Execution, effects: &mut OtherEffects) -> Uncommitted {
        effects.any = false;
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
pub struct Ledger<'k> {
    /// The model.
    pub model: &'k dyn AnyModel<'k>,
    /// The world of the run.
    pub world: World,
    options: RunOptions<'k>,
    globals: GlobalQueue,
    metrics: Metrics,
    events: u64,
}

impl std::fmt::Debug for Ledger<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("events", &self.events).finish_non_exhaustive()
    }
}

impl<'k> Ledger<'k> {
    /// Starts a run, whose LPs go to the empty list `lps`. Returns its ledger and its start-up events.
    ///
    /// # Errors
    ///
    /// A wrong declaration, or the failure of the first LP that cannot start.
    pub fn start(
        model: &'k dyn AnyModel<'k>,
        options: RunOptions<'k>,
        lps: &mut (dyn Lps<'k> + 'k),
    ) -> Result<(Self, Vec<AnyEvent<'k>>), Error> {
        let world = World::new(model, &options)?;
        let (globals, metrics) = (GlobalQueue::new(model), model.metrics());
        let mut ledger = Ledger { model, world, options, globals, metrics, events: 0 };
        let mut effects = AnyEffects::buffered(model.form());
        for id in (0..ledger.world.lps()).map(LpId) {
            let has_started = lps.start(id, &ledger.world, effects.hide());
            ledger.apply(id, None, Uncommitted::take(Execution::Done, effects.hide().others))?;
            assert!(has_started, "an LP that failed to start has ended the run");
        }
        Ok((ledger, effects.take_buffer()))
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
    pub fn commit_all(&mut self, mut executed: Vec<(AnyEvent<'k>, Uncommitted)>) -> Result<(), Error> {
        executed.sort_by(|(a, _), (b, _)| a.cmp(b));
        executed.into_iter().try_for_each(|(event, uncommitted)| self.commit(&event, uncommitted))
    }

    /// Commits the next execution in the order of events.
    ///
    /// # Errors
    ///
    /// The failure of the execution.
    pub fn commit(&mut self, event: &AnyEvent<'k>, uncommitted: Uncommitted) -> Result<(), Error> {
        if uncommitted.execution == Execution::Skipped {
            return Ok(());
        }
        self.apply(event.receiver(), Some(event), uncommitted)
    }

    fn apply(&mut self, lp: LpId, event: Option<&AnyEvent<'k>>, uncommitted: Uncommitted) -> Result<(), Error> {
        let Uncommitted { samples, notes, requests, failure, .. } = uncommitted;
        if let Some(failure) = failure {
            let instant = event.map(Event::instant).unwrap_or_default();
            return Err(self.world.error_at(failure, Place { instant, lp: Some(lp), event: event.map(Event::key) }));
        }
        samples.iter().for_each(|sample| self.metrics.apply(lp, sample));
        requests.into_iter().for_each(|request| self.globals.add(request));
        let Some(event) = event else { return Ok(()) };
        self.events += 1;
        self.world.note_round(event.instant(), lp);
        match &mut self.options.tracer {
            None => Ok(()),
            Some(tracer) => tracer
                .record(self.model, &event.header().with(body_ref(event)), &notes)
                .map_err(|error| Error::new(ErrorKind::Trace(error.to_string()))),
        }
    }

    /// Executes the global events at the horizon. Everything before it must have been committed.
    ///
    /// # Errors
    ///
    /// The failure of a global event.
    pub fn execute_globals(&mut self, lps: &mut (dyn Lps<'k> + 'k)) -> Result<GlobalResult<'k>, Error> {
        let time = self.horizon();
        let mut lps = OneList { lps, metrics: &mut self.metrics };
        let mut effects = AnyEffects::buffered(self.model.form());
        self.globals.execute_at(time, self.model, &mut self.world, &mut lps, effects.hide())?;
        let ends = time >= self.options.until || self.globals.is_stopped();
        Ok(GlobalResult { sends: effects.take_buffer(), end: ends.then_some(time) })
    }

    /// Ends the run, and returns its outcome. `pending` has all events that are still pending or in transit.
    ///
    /// # Errors
    ///
    /// The sentence of the model about a condition that does not hold.
    pub fn conclude(
        self,
        end: Time,
        lps: &(dyn Lps<'k> + 'k),
        pending: Vec<AnyEvent<'k>>,
        engine_stats: Vec<(&'static str, f64)>,
    ) -> Result<Outcome, Error> {
        let Ledger { model, options, globals, mut metrics, events, .. } = self;
        let end = End { time: end, events, early: end < options.until };
        let mut all = (0..lps.len()).map(|index| (LpId::from_index(index), lps, index));
        let digests = finish(&options, &end, &mut all, &mut metrics);
        let pending = Box::new(pending.into_iter());
        conclude(model, &options, digests, Finished { end, metrics, pending, globals, engine_stats })
    }
}

/// The result of the global events of one time.
#[derive(Debug)]
pub struct GlobalResult<'k> {
    /// The events that they sent, including wakes of timers.
    pub sends: Vec<AnyEvent<'k>>,
    /// The end of the run, if it is at this time.
    pub end: Option<Time>,
}
