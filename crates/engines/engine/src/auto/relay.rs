//! A run that several engines execute in turn, each from a cut to a cut.
//!
//! *Idea.* Between cuts, an engine is a function from a cut to a cut ([`parades_core::cut`]). So a run goes
//! on under another engine by calling another function. An [`Umpire`] measures the engine in force, and ends
//! its span; a contest (`auto/contest.rs`) decides who goes on.
//!
//! *Determinism.* A cut has no trace of the engine that made it. So clocks decide who executes the run, and
//! never what is executed.

use super::contest::{Contest, Win};
use crate::any_engine::AnyEngine;
use crate::stopwatch::now;
use crate::workers::lock;
use parades_core::any_model::{AnyModel, AnyRestorable};
use parades_core::cut::{Reached, Span, Umpire};
use parades_core::error::Error;
use parades_core::run::{EngineChange, Outcome};
use parades_core::time::Time;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The rule by which a run changes the engine. It changes the duration of the run, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// The run uses the engine that is measured to be faster.
    WhereFaster,
    /// The next engine goes on whenever the umpire is asked for the *n*-th time, and at each multiple of a
    /// virtual time.
    #[cfg(feature = "test-hooks")]
    Every {
        /// *n*.
        asked: u32,
        /// The virtual time between two changes.
        apart: parades_core::time::Delay,
    },
}

/// Runs a span of a run, under the first of these engines, and then under another one where `changes` says
/// so. `restorable` is the same model, if its states can be restored.
///
/// The outcome's figures are those of the last engine, since it went on.
///
/// # Errors
///
/// As [`AnyEngine::advance`].
///
/// # Panics
///
/// If there is no engine.
pub fn advance<'k>(
    model: &'k dyn AnyModel<'k>,
    restorable: Option<&'k dyn AnyRestorable<'k>>,
    mut span: Span<'k>,
    engines: &[AnyEngine],
    changes: Changes,
) -> Result<Reached<'k>, Error> {
    if let [engine] = engines {
        return engine.advance(model, restorable, span);
    }
    let relay = Arc::new(Mutex::new(Relay::new(engines, changes, &span)));
    loop {
        let engine = engines[lock(&relay).in_force()];
        span.umpire = Some(Box::new(Watch::new(&relay)));
        span = match engine.advance(model, restorable, span)? {
            Reached::End(outcome) => return Ok(Reached::End(lock(&relay).conclude(outcome))),
            Reached::Cut(span) if std::mem::take(&mut lock(&relay).has_changed) => span,
            Reached::Cut(span) => return Ok(Reached::Cut(Span { umpire: None, ..span })),
        };
    }
}

/// A run under several engines.
#[derive(Debug)]
struct Relay {
    engines: Vec<AnyEngine>,
    contest: Contest,
    /// Changes at fixed intervals, in place of the contest.
    #[cfg(feature = "test-hooks")]
    forced: Option<Forced>,
    /// The time at which the clock was read last. `None` at a cut.
    since: Option<Instant>,
    /// The number of events at that time.
    events: u64,
    /// The time at which the run begins, until the first engine executes events.
    begins: Option<Instant>,
    /// The virtual time from which the run goes on, and its end.
    from: Time,
    until: Time,
    /// True if another engine had little to gain when the umpire was asked last.
    is_busy: bool,
    /// The end of the last span, until the next engine executes events.
    left: Option<(Instant, Time)>,
    /// True if the last span has ended for a change.
    has_changed: bool,
    /// The virtual time at which the engine in force went on.
    in_force_from: Time,
    /// The number of times that another engine went on, trials included.
    switches: u32,
    changes: Vec<EngineChange>,
}

/// Changes at fixed intervals.
#[cfg(feature = "test-hooks")]
#[derive(Debug)]
struct Forced {
    /// The number of questions from change to change.
    asked: u32,
    /// The virtual time from change to change.
    apart: parades_core::time::Delay,
    /// The number of questions so far.
    times: u32,
}

impl Relay {
    fn new(engines: &[AnyEngine], changes: Changes, span: &Span<'_>) -> Relay {
        #[cfg_attr(not(feature = "test-hooks"), expect(unused_mut, reason = "nothing is forced"))]
        let mut relay = Relay {
            engines: engines.to_vec(),
            contest: Contest::new(engines.len()),
            #[cfg(feature = "test-hooks")]
            forced: None,
            since: None,
            events: 0,
            begins: Some(now()),
            from: span.from.as_ref().map_or(Time::ZERO, |cut| cut.time),
            until: span.options.until,
            is_busy: false,
            left: None,
            has_changed: false,
            in_force_from: Time::ZERO,
            switches: 0,
            changes: Vec::new(),
        };
        match changes {
            Changes::WhereFaster => {}
            #[cfg(feature = "test-hooks")]
            Changes::Every { asked, apart } => relay.forced = Some(Forced { asked, apart, times: 0 }),
        }
        relay
    }

    /// Returns the number of the engine that executes the next span.
    fn in_force(&self) -> usize {
        #[cfg(feature = "test-hooks")]
        if self.forced.is_some() {
            return self.switches as usize % self.engines.len();
        }
        self.contest.wanted()
    }

    fn goes_on(&mut self, events: u64) {
        if self.since.is_some() {
            return;
        }
        let now = now();
        (self.since, self.events) = (Some(now), events);
        if let Some(begins) = self.begins.take() {
            self.contest.note_beginning(now - begins);
        }
        if let Some((left, time)) = self.left.take() {
            self.in_force_from = time;
            self.contest.note_change(now - left);
        }
    }

    /// Counts the work since the clock was read last.
    fn measure(&mut self, events: u64) {
        let Some(since) = self.since else { return };
        let now = now();
        // Some of the events that an optimistic engine has counted are rolled back later.
        let work = events as f64 - self.events as f64;
        (self.since, self.events) = (Some(now), events);
        if let Some(Win { from, to, times_as_fast }) = self.contest.note_work(work, now - since, self.is_busy) {
            let [from, to] = [from, to].map(|number| self.engines[number].name());
            self.changes.push(EngineChange { time: self.in_force_from, from, to, times_as_fast });
        }
    }

    fn wants_change(&mut self, events: u64, time: Time, is_busy: bool) -> bool {
        #[cfg(feature = "test-hooks")]
        if let Some(Forced { asked, times, .. }) = &mut self.forced {
            *times += 1;
            return (*times).is_multiple_of(*asked);
        }
        self.is_busy = is_busy;
        let [done, all] = [time.min(self.until), self.until].map(|time| time.since(self.from).as_secs_f64());
        self.contest.note_progress(done / all);
        self.measure(events);
        self.contest.wants_change()
    }

    fn leaves(&mut self, time: Time, events: u64) {
        #[cfg(feature = "test-hooks")]
        if self.forced.is_some() {
            (self.switches, self.has_changed) = (self.switches + 1, true);
            return;
        }
        self.measure(events);
        (self.since, self.left, self.has_changed) = (None, Some((now(), time)), true);
        self.switches += 1;
    }

    /// Adds the figures of the relay to those of the last engine.
    fn conclude(&mut self, mut outcome: Outcome) -> Outcome {
        outcome.changes = std::mem::take(&mut self.changes);
        let (lost, Contest { trials, elapsed, .. }) = (self.contest.lost(), &self.contest);
        let share = if elapsed.is_zero() { 0.0 } else { lost.as_secs_f64() / elapsed.as_secs_f64() };
        let stats = &mut outcome.engine_stats;
        stats.push(("engine_trials", f64::from(*trials)));
        stats.push(("engine_trials_share", share));
        stats.push(("engine_switches", f64::from(self.switches)));
        stats.push(("engine_since_s", self.in_force_from.as_secs_f64()));
        outcome
    }
}

/// The questions to an umpire between two looks at the clock, if fewer than [`EVENTS`] events were executed.
/// A look takes as long as an event does.
const QUESTIONS: u32 = 64;
/// The events between two looks at the clock.
const EVENTS: u64 = 256;

/// The umpire of one span.
#[derive(Debug)]
struct Watch {
    relay: Arc<Mutex<Relay>>,
    /// The number of questions since the last look at the clock.
    questions: u32,
    /// The number of events at the last look.
    events: u64,
}

impl Watch {
    fn new(relay: &Arc<Mutex<Relay>>) -> Watch {
        Watch { relay: Arc::clone(relay), questions: 0, events: 0 }
    }

    /// Returns true if it is time to look at the clock.
    fn looks(&mut self, events: u64) -> bool {
        self.questions += 1;
        let is_due = self.questions >= QUESTIONS || events >= self.events + EVENTS;
        #[cfg(feature = "test-hooks")]
        let is_due = is_due || lock(&self.relay).forced.is_some();
        if is_due {
            (self.questions, self.events) = (0, events);
        }
        is_due
    }
}

impl Umpire for Watch {
    fn goes_on(&mut self, events: u64) {
        lock(&self.relay).goes_on(events);
    }

    fn rests(&mut self, events: u64) {
        let mut relay = lock(&self.relay);
        relay.measure(events);
        relay.since = None;
    }

    fn wants_change(&mut self, events: u64, time: Time, is_busy: bool) -> bool {
        self.looks(events) && lock(&self.relay).wants_change(events, time, is_busy)
    }

    fn is_on_trial(&self) -> bool {
        lock(&self.relay).contest.is_trial()
    }

    fn leaves(&mut self, time: Time, events: u64) {
        lock(&self.relay).leaves(time, events);
    }

    #[cfg(feature = "test-hooks")]
    fn next_change(&mut self, time: Time) -> Time {
        lock(&self.relay).forced.as_ref().map_or(Time::MAX, |Forced { apart, .. }| {
            let multiple = (time.as_ps() / apart.as_ps()).saturating_add(1);
            Time::from_ps(multiple.saturating_mul(apart.as_ps()))
        })
    }
}
