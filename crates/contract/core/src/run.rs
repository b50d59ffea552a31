//! A run: its options, its control from outside, and its outcome.

use crate::any_model::{AnyLeftover, AnyModel, Lps};
use crate::cut::Cuts;
use crate::digest::Digest;
use crate::error::{Error, ErrorKind};
use crate::event::{Body, Event, LpId, Sender};
use crate::global::GlobalQueue;
use crate::metrics::Metrics;
use crate::pending::Leftover;
use crate::round_log::RoundLog;
use crate::time::Time;
use crate::timesheet::Timesheets;
use crate::trace::Tracer;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The options of a run. The answer depends only on the model, `seed`, `tie_seed` and `until`.
///
/// ```
/// use parades_core::{run::RunOptions, time::Time};
/// let options = RunOptions { seed: 7, ..RunOptions::until(Time::from_ps(1_000)) };
/// assert!(options.digest);
/// ```
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// The run executes everything before this time, then the global events of this time. Other events of
    /// this time are not executed.
    pub until: Time,
    /// The seed of all random streams.
    pub seed: u64,
    /// Shuffles simultaneous events of different senders at an LP.
    pub tie_seed: Option<u64>,
    /// True if the run computes a digest.
    pub digest: bool,
    /// True if handlers are asked for their notes.
    pub notes: bool,
    /// True if the trace includes the messages that each handler sends and the timers that it sets.
    pub sends: bool,
    /// True if the trace includes the observations that each handler records, in the notes of events.
    pub samples: bool,
    /// The LPs at which packets are captured. The trace gets the packets, in the notes of events. In order,
    /// each LP once.
    pub captures: &'a [LpId],
    /// The trace, if one is wanted.
    pub tracer: Option<Tracer<'a>>,
    /// The record of the wall time of workers, and of handlers where it has them.
    pub timesheets: Option<Arc<Timesheets>>,
    /// The log of rounds, if one is wanted. Only the engine `rounds` writes it, and then times each round.
    pub rounds: Option<RoundLog<'a>>,
    /// Progress of the run, and a way to stop it from outside.
    pub control: Option<&'a Control>,
    /// A limit in bytes on the LPs' records, the pending events, and the history if there is one.
    pub memory_limit: Option<u64>,
    /// The cuts of the run, if any are wanted.
    pub cuts: Option<Cuts<'a>>,
}

impl RunOptions<'_> {
    /// Returns the options of a run until `until` with seed 1, a digest, and nothing else.
    pub fn until(until: Time) -> RunOptions<'static> {
        RunOptions {
            until,
            seed: 1,
            tie_seed: None,
            digest: true,
            notes: false,
            sends: false,
            samples: false,
            captures: &[],
            tracer: None,
            timesheets: None,
            rounds: None,
            control: None,
            memory_limit: None,
            cuts: None,
        }
    }
}

/// A view of a run from another thread: its progress, and a way to stop it. It does not influence the answer
/// up to the point where the run stops.
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    cut: AtomicBool,
    time_ps: AtomicU64,
    events: AtomicU64,
    /// True once [`Phase::Executing`] has been entered: a run has many cuts.
    executes: AtomicBool,
    enters: Option<Box<OnPhase>>,
}

/// Called when a phase begins, by a thread of the run.
type OnPhase = dyn Fn(Phase) + Send + Sync;

/// A phase of a run. Before the first one, the LPs start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Events are executed.
    Executing,
    /// Results are made from the final states.
    Concluding,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, events) = self.progress();
        f.debug_struct("Control").field("time", &time).field("events", &events).finish_non_exhaustive()
    }
}

impl Control {
    /// Returns a control that calls `enters` when a phase begins, once for each.
    pub fn with_phases(enters: impl Fn(Phase) + Send + Sync + 'static) -> Control {
        Control { enters: Some(Box::new(enters)), ..Control::default() }
    }

    /// Says that a phase begins. Engines call this; a second call for the same phase does nothing.
    pub fn enter(&self, phase: Phase) {
        // Ordering: Relaxed; the leader alone enters phases.
        let repeats = phase == Phase::Executing && self.executes.swap(true, Ordering::Relaxed);
        if let (Some(enters), false) = (&self.enters, repeats) {
            enters(phase);
        }
    }

    /// Asks the run to end at the next consistent cut. Safe to call from a signal handler.
    pub fn stop(&self) {
        // Ordering: Relaxed; the flag publishes nothing else.
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the progress: virtual time, and the number of executed events. The two may be an instant
    /// apart.
    pub fn progress(&self) -> (Time, u64) {
        // Ordering: Relaxed; figures for display.
        (Time::from_ps(self.time_ps.load(Ordering::Relaxed)), self.events.load(Ordering::Relaxed))
    }

    /// True if the run was asked to end. It is one plain load, cheap enough for every event.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        // Ordering: Relaxed; the flag publishes nothing else.
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks the run for a cut ([`Cuts`]) as soon as possible, and to go on after it. Safe to call from a
    /// signal handler. A run without cuts ignores it.
    pub fn ask_for_cut(&self) {
        // Ordering: Relaxed; the flag publishes nothing else.
        self.cut.store(true, Ordering::Relaxed);
    }

    /// True if somebody has asked for a cut that has not been made yet.
    pub fn wants_cut(&self) -> bool {
        // Ordering: Relaxed; the flag publishes nothing else.
        self.cut.load(Ordering::Relaxed)
    }

    /// Says that the run is at a cut. Engines call this.
    pub fn is_at_cut(&self) {
        // Ordering: Relaxed; the leader alone calls this, and a request in between is for this cut.
        self.cut.store(false, Ordering::Relaxed);
    }

    /// Publishes the progress, and returns true if the run must stop. Engines call this at intervals.
    pub fn poll(&self, time: Time, events: u64) -> bool {
        // Ordering: Relaxed, as above.
        self.time_ps.store(time.as_ps(), Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}

/// The end of a run, as a model sees it when it concludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The virtual time of the end.
    pub time: Time,
    /// The number of executed events.
    pub events: u64,
    /// True if the run was stopped before the time that it was asked to reach.
    pub early: bool,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The digest, unless it was switched off.
    pub digest: Option<u64>,
    /// The digest of each LP, by id. Empty if digests were switched off.
    pub lp_digests: Vec<u64>,
    /// The number of committed messages and timers.
    pub events: u64,
    /// The number of executed global events.
    pub global_events: u64,
    /// The time at which the run ended.
    pub end: Time,
    /// Equal to `end` if the run was stopped early, by hand or by the model.
    pub stopped_at: Option<Time>,
    /// The results.
    pub metrics: Metrics,
    /// Figures that only this engine has: name and value.
    pub engine_stats: Vec<(&'static str, f64)>,
    /// The changes of engine, in the order of time. Only an engine that chooses another one makes any.
    pub changes: Vec<EngineChange>,
}

impl Outcome {
    /// Returns the name of the engine that executed the end of the run, if the engine was changed.
    pub fn engine_at_end(&self) -> Option<&'static str> {
        self.changes.last().map(|change| change.to)
    }
}

/// A change to an engine that was measured to be faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineChange {
    /// The virtual time of the cut at which the new engine went on.
    pub time: Time,
    /// The name of the engine before.
    pub from: &'static str,
    /// The name of the engine that went on.
    pub to: &'static str,
    /// The events of the new engine in a second of wall time, over those of the one before.
    pub times_as_fast: f64,
}

/// The messages that were still in transit when a run ended. They are sorted only if a model asks for them in
/// order.
pub struct Unfinished<'l, P>(pub(crate) Leftover<'l, P>);

impl<P> std::fmt::Debug for Unfinished<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unfinished").finish_non_exhaustive()
    }
}

impl<'l, P: 'l> Unfinished<'l, P> {
    /// Returns the number of messages, without sorting them.
    pub fn count(self) -> u64 {
        self.in_any_order().count() as u64
    }

    /// Returns the messages in any order, which may differ from run to run. Wakes are left out: a set timer
    /// is part of its LP's state.
    pub fn in_any_order(self) -> impl Iterator<Item = Event<P>> + 'l {
        self.0.filter(|event| matches!(event.body, Body::Message(_)))
    }

    /// Returns the messages in the order of events.
    pub fn in_order(self) -> impl Iterator<Item = Event<P>> + 'l {
        let mut events: Vec<_> = self.in_any_order().collect();
        events.sort_unstable();
        events.into_iter()
    }
}

/// A finished run, as an engine passes it to [`conclude`].
pub struct Finished<'k> {
    /// The end of the run.
    pub end: End,
    /// The metrics committed by the engine.
    pub metrics: Metrics,
    /// The events that are still pending, in any order, including wakes of timers.
    pub pending: AnyLeftover<'k>,
    /// The global events, executed and still to come.
    pub globals: GlobalQueue,
    /// Figures that only this engine has: name and value.
    pub engine_stats: Vec<(&'static str, f64)>,
}

impl std::fmt::Debug for Finished<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finished").field("end", &self.end).finish_non_exhaustive()
    }
}

/// Ends the part of a run that is in this process. Gives the final state of each LP to
/// [`Model::finish`](crate::model::Model::finish), and returns the final digest of each LP, in the order of
/// `lps`, if digests are on. Each LP comes with the list that has it, and its index there.
pub fn finish<'l, 'k: 'l>(
    options: &RunOptions<'_>,
    end: &End,
    lps: &mut dyn Iterator<Item = (LpId, &'l (dyn Lps<'k> + 'k), usize)>,
    metrics: &mut Metrics,
) -> Vec<u64> {
    let mut digests = Vec::new();
    for (id, lps, index) in lps {
        metrics.record_as(Sender::lp(id));
        lps.finish(index, id, end, metrics);
        if options.digest {
            digests.push(lps.final_digest(index));
        }
    }
    digests
}

/// Returns the digest of a run from those of its LPs, which are in id order, and of its global events.
pub(crate) fn combined_digest(lp_digests: &[u64], globals: &GlobalQueue) -> u64 {
    let mut combined = Digest::default();
    lp_digests.iter().for_each(|&digest| combined.word(digest));
    if globals.executed() > 0 {
        combined.word(globals.digest());
    }
    combined.value()
}

/// Passes the pending messages of this process to the model, if it takes them by process. Otherwise returns
/// them, for [`conclude`].
pub fn count_unfinished<'k>(
    model: &'k dyn AnyModel<'k>,
    pending: AnyLeftover<'k>,
    metrics: &mut Metrics,
) -> AnyLeftover<'k> {
    if !model.splits_unfinished() {
        return pending;
    }
    metrics.record_as(Sender::GLOBAL);
    model.unfinished(pending, metrics);
    Box::new(std::iter::empty())
}

/// Ends a run, whatever the engine: combines the digests of all LPs, which are in id order, and concludes the
/// metrics.
///
/// # Errors
///
/// The sentence of [`Model::conclude`](crate::model::Model::conclude) about a condition that does not hold,
/// or that of [`Metrics::check`].
pub fn conclude<'k>(
    model: &'k dyn AnyModel<'k>,
    options: &RunOptions<'_>,
    lp_digests: Vec<u64>,
    finished: Finished<'k>,
) -> Result<Outcome, Error> {
    let Finished { end, mut metrics, pending, globals, engine_stats } = finished;
    let digest = options.digest.then(|| combined_digest(&lp_digests, &globals));
    metrics.record_as(Sender::GLOBAL);
    model.unfinished(pending, &mut metrics);
    let model_error = |what| Error::new(ErrorKind::Model(what));
    model.conclude(&end, &mut metrics).map_err(model_error)?;
    metrics.check().map_err(model_error)?;
    Ok(Outcome {
        digest,
        lp_digests,
        events: end.events,
        global_events: globals.executed(),
        end: end.time,
        stopped_at: end.early.then_some(end.time),
        metrics,
        engine_stats,
        changes: Vec::new(),
    })
}
