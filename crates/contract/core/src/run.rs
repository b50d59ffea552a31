//! A run: what is asked of it, how it is watched, what it comes to.

use crate::digest::Digest;
use crate::error::{Error, ErrorKind};
use crate::event::{Body, Event, LpId, Sender};
use crate::global::GlobalQueue;
use crate::lp::Lp;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::pending::Leftover;
use crate::time::Time;
use crate::timesheet::Timesheets;
use crate::trace::Tracer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is asked of a run. The answer depends on the model, `seed`, `tie_seed` and `until` alone.
///
/// ```
/// use parades_core::{run::RunOptions, time::Time};
/// let options = RunOptions { seed: 7, ..RunOptions::until(Time::from_ps(1_000)) };
/// assert!(options.digest);
/// ```
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// Everything before this time is executed, then the global events of this time, and nothing else at it.
    pub until: Time,
    /// The seed of all random streams.
    pub seed: u64,
    /// Shuffles simultaneous events of different senders at an LP.
    pub tie_seed: Option<u64>,
    /// Whether a digest is kept.
    pub digest: bool,
    /// Whether handlers are asked for their notes.
    pub notes: bool,
    /// Whether the trace is told what each handler sent and which timers it set.
    pub sends: bool,
    /// Where the trace goes, if one is wanted.
    pub tracer: Option<Tracer<'a>>,
    /// Where workers write down what they spend their wall time on; `rounds`, and engines of one thread, do not.
    pub timesheets: Option<Arc<Timesheets>>,
    /// How the run is watched and stopped from outside.
    pub control: Option<&'a Control>,
    /// Bytes that the LPs' records, pending events, and history where there is one, may take.
    pub memory_limit: Option<u64>,
}

impl RunOptions<'_> {
    /// A run until `until` with seed 1, a digest, and nothing else.
    pub fn until(until: Time) -> RunOptions<'static> {
        RunOptions {
            until,
            seed: 1,
            tie_seed: None,
            digest: true,
            notes: false,
            sends: false,
            tracer: None,
            timesheets: None,
            control: None,
            memory_limit: None,
        }
    }
}

/// A run as seen from another thread: how far it is, and a way to stop it. It has no influence on the answer up to where it stops.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    time_ps: AtomicU64,
    events: AtomicU64,
}

impl Control {
    /// Asks the run to end at the next consistent cut. Safe to call from a signal handler.
    pub fn stop(&self) {
        // Ordering: Relaxed; the flag stands alone and publishes nothing else.
        self.stop.store(true, Ordering::Relaxed);
    }

    /// How far the run is: virtual time, and events executed. The two may be an instant apart.
    pub fn progress(&self) -> (Time, u64) {
        // Ordering: Relaxed; figures for people.
        (Time::from_ps(self.time_ps.load(Ordering::Relaxed)), self.events.load(Ordering::Relaxed))
    }

    /// Whether the run was asked to end. Cheap enough for every event: one plain load.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        // Ordering: Relaxed; the flag stands alone.
        self.stop.load(Ordering::Relaxed)
    }

    /// Called by engines now and then: publishes how far they are, and tells whether they must stop.
    pub fn poll(&self, time: Time, events: u64) -> bool {
        // Ordering: Relaxed; as above.
        self.time_ps.store(time.as_ps(), Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}

/// Where and how a run ended, as [`Model::finish`] and [`Model::conclude`] see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The virtual time of the end.
    pub time: Time,
    /// Events executed.
    pub events: u64,
    /// Whether it was stopped before the time it was asked to run until.
    pub early: bool,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The digest, unless it was switched off.
    pub digest: Option<u64>,
    /// The digest of each LP, by id; empty where it was switched off.
    pub lp_digests: Vec<u64>,
    /// Messages and timers executed for good.
    pub events: u64,
    /// Global events executed.
    pub global_events: u64,
    /// Where the run ended.
    pub end: Time,
    /// Set to `end` if the run was stopped before its time, by hand or by the model.
    pub stopped_at: Option<Time>,
    /// The results.
    pub metrics: Metrics,
    /// What only this engine can tell: name and value.
    pub engine_stats: Vec<(&'static str, f64)>,
}

/// The messages that were still on their way when a run ended. They are put in order only for a model that looks at them one by one.
pub struct Unfinished<P>(Leftover<P>);

impl<P> std::fmt::Debug for Unfinished<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unfinished").finish_non_exhaustive()
    }
}

impl<P> Unfinished<P> {
    /// How many there are. Nothing is put in order for that.
    pub fn count(self) -> u64 {
        self.messages().count() as u64
    }

    /// A wake is not a timer: what timers are set is the state of their LPs.
    fn messages(self) -> impl Iterator<Item = Event<P>> {
        self.0.filter(|event| matches!(event.body, Body::Message(_)))
    }

    /// The messages in the order of events.
    pub fn in_order(self) -> impl Iterator<Item = Event<P>> {
        let mut events: Vec<_> = self.messages().collect();
        events.sort_unstable();
        events.into_iter()
    }
}

/// What an engine hands over when it has come to the end.
pub struct Finished<M: Model> {
    /// The end of the run.
    pub end: End,
    /// The metrics committed so far.
    pub metrics: Metrics,
    /// The events still on their way, in any order, wakes of timers included.
    pub pending: Leftover<M::Message>,
    /// The global events to come and gone.
    pub globals: GlobalQueue<M>,
    /// What only this engine can tell.
    pub engine_stats: Vec<(&'static str, f64)>,
}

impl<M: Model> std::fmt::Debug for Finished<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finished").field("end", &self.end).finish_non_exhaustive()
    }
}

/// Ends the part of a run that is in this process: gives the final state of each LP to [`Model::finish`]. Returns the final digest of each LP, if
/// a digest is kept. The LPs come in id order.
pub fn finish<'l, M: Model>(
    model: &M,
    (options, end): (&RunOptions<'_>, &End),
    lps: impl Iterator<Item = (LpId, &'l Lp<M::State>)>,
    metrics: &mut Metrics,
) -> Vec<(LpId, u64)>
where
    M::State: 'l,
{
    let mut digests = Vec::new();
    for (id, lp) in lps {
        metrics.record_as(Sender::lp(id));
        model.finish(id, lp.state(), end, metrics);
        if options.digest {
            digests.push((id, lp.final_digest(model)));
        }
    }
    digests
}

/// Ends a run, whatever its engine: combines the digests of all LPs, which come in id order, and concludes the metrics.
///
/// # Errors
///
/// What [`Model::conclude`] finds wrong.
pub fn conclude<M: Model>(
    model: &M,
    options: &RunOptions<'_>,
    digests: impl IntoIterator<Item = u64>,
    finished: Finished<M>,
) -> Result<Outcome, Error> {
    let Finished { end, mut metrics, pending, globals, engine_stats } = finished;
    let lp_digests: Vec<u64> = digests.into_iter().collect();
    let mut combined = Digest::default();
    lp_digests.iter().for_each(|&digest| combined.word(digest));
    if globals.executed() > 0 {
        combined.word(globals.digest());
    }
    metrics.record_as(Sender::GLOBAL);
    model.unfinished(Unfinished(pending), &mut metrics);
    let model_error = |what| Error::new(ErrorKind::Model(what));
    model.conclude(&end, &mut metrics).map_err(model_error)?;
    metrics.check().map_err(model_error)?;
    Ok(Outcome {
        digest: options.digest.then(|| combined.value()),
        lp_digests,
        events: end.events,
        global_events: globals.executed(),
        end: end.time,
        stopped_at: end.early.then_some(end.time),
        metrics,
        engine_stats,
    })
}
