//! The chain of events that led to a given one, or to the failure of a run.
//!
//! The run is executed twice: once to find the chain, once to collect the lines of its events (see
//! [`crate::cause`]).

use crate::cause::{Causes, Chain, Link, NoTarget, Target};
use crate::run::run_made;
use crate::{Failure, LpNames, Observer, Plan, Recording};
use parades_catalog::{Choice, Simulation, program_name};
use parades_config::shortened_to;
use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use parades_core::trace::{Executed, TraceFilter, Tracer, shown_name};
use std::io;

/// The greatest number of characters shown of an event, in the user's words.
const EVENT_CHARS_MAX: usize = 200;

/// A question about a run.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The event, as [`Target::find`] reads it; `None` for the event at which the run fails.
    pub event: Option<&'a str>,
    /// The greatest number of events to tell of, the latest ones.
    pub links: usize,
}

/// The chain of events.
#[derive(Debug)]
pub struct Answer {
    /// The events, the first cause first.
    pub chain: Vec<Link>,
    /// True if the first event of the chain has no event as its cause.
    pub is_whole: bool,
    /// The error that the run ended in, where that was asked about.
    pub failure: Option<Error>,
    /// Notes for the user on the answer, a sentence each.
    pub notes: Vec<String>,
}

/// Finds the chain of events that led to the event or the failure in `question`.
///
/// # Errors
///
/// [`Failure::Input`] if the run does not execute that event, or if `question` names no event and the run
/// does not fail. Also the errors of [`crate::run()`].
pub fn why(
    plan: &Plan,
    choice: &Choice,
    question: Question<'_>,
    observer: &mut dyn Observer,
) -> Result<Answer, Failure> {
    let simulation = plan.simulation()?;
    let target = question.event.map(|event| target_of(event, &LpNames::of(&simulation))).transpose()?;
    // Later events do not matter. Without an end of the plan's own, the scenario says when
    // the run ends.
    let after = target.and_then(|target| target.time.checked_add(Delay::from_ps(1))).unwrap_or(Time::MAX);
    let mut plan = plan.clone();
    plan.until = plan.until.map(|until| until.min(after));
    let mut looker = Looker { plan: &plan, simulation: &simulation, choice, after, observer };
    let (mut causes, error) = looker.first_look(target)?;
    let mut notes = Vec::new();
    let chain = match (&error, target) {
        (Some(_), _) if causes.is_found() => causes.chain(question.links),
        (Some(error), _) => looker.chain_to_failure(&mut causes, target, question.links, error)?,
        (None, Some(target)) => Some(looker.chain_to(&target, &causes, question.links, &mut notes)?),
        (None, None) => {
            let message = "the run does not fail, so there is no failure to explain";
            return Err(Failure::usage(message, "name an event: `--event LP:TIME`"));
        }
    };
    if causes.others() > 0 {
        let events = causes.others() + 1;
        notes.push(format!(
            "{events} events fit that description; this is the first: name one by its sender, as LP:TIME:SENDER#NUMBER"
        ));
    }
    let is_whole = chain.as_ref().is_none_or(Chain::is_whole);
    let chain = chain.map_or(Ok(Vec::new()), |chain| looker.second_look(chain))?;
    Ok(Answer { chain, is_whole, failure: error.filter(|_| !causes.is_found()), notes })
}

fn target_of(event: &str, names: &LpNames) -> Result<Target, Failure> {
    Target::find(event, names).map_err(|NoTarget { message, help }| {
        Failure::usage(format!("--event {}: {message}", shortened_to(EVENT_CHARS_MAX, event)), help)
    })
}

/// Executes the same run again and again.
struct Looker<'a> {
    plan: &'a Plan,
    simulation: &'a Simulation,
    choice: &'a Choice,
    /// The time just after the event asked about.
    after: Time,
    observer: &'a mut dyn Observer,
}

impl Looker<'_> {
    /// Returns the chain to an event, or to the last one before it.
    fn chain_to(
        &self,
        target: &Target,
        causes: &Causes,
        links: usize,
        notes: &mut Vec<String>,
    ) -> Result<Chain, Failure> {
        if let Some(chain) = causes.chain(links) {
            return Ok(chain);
        }
        let before = causes.chain_before(links).ok_or_else(|| self.no_event(target, causes))?;
        let lp = self.name_of(target.lp);
        notes.push(format!("{lp} executes no event at {}; its last event before that time follows", target.time));
        Ok(before)
    }

    /// Reports that a run has no such event.
    fn no_event(&self, target: &Target, causes: &Causes) -> Failure {
        if causes.are_too_many() {
            return Failure::simulation(
                "the run has more than 4294967294 events before that one, which are too many to keep; ask about an earlier one",
            );
        }
        let (lp, time) = (self.name_of(target.lp), target.time);
        let last = match causes.last_before() {
            Some(line) => format!("the last before it is `{line}`"),
            None => "it executes none before it either".to_owned(),
        };
        let message = format!("{lp} executes no such event at {time} in this run; {last}");
        let program = program_name();
        Failure::usage(message, format!("`{program} run --trace FILE --trace-lps LPS` writes those that it executes"))
    }

    fn name_of(&self, lp: LpId) -> String {
        shown_name(lp, self.simulation.lp_name(lp))
    }

    /// Runs until `look` returns true. Returns the error of the run, if it ended in one before.
    fn look(
        &mut self,
        before: Time,
        sends: bool,
        mut look: impl FnMut(&Executed<'_>) -> bool,
    ) -> Result<Option<Error>, Failure> {
        let mut is_done = false;
        let filter = TraceFilter { before, ..TraceFilter::default() };
        let is_done_here = &mut is_done;
        let make = |_: &Simulation, _| {
            let tracer = Tracer::observing(filter, move |executed| {
                *is_done_here |= look(executed);
                if *is_done_here { Err(io::Error::other("the look is over")) } else { Ok(()) }
            });
            Ok(tracer.into())
        };
        let recording = Recording { tracer: Some(Box::new(make)), sends, ..Recording::default() };
        let result = run_made(self.plan, self.simulation, self.choice, recording, self.observer);
        match result {
            _ if is_done => Ok(None),
            Ok(finished) => {
                finished.complete("the events were still being looked through, so there is no result").map(|_| None)
            }
            Err(Failure::Run(run)) => Ok(Some(run.error)),
            Err(other) => Err(other),
        }
    }

    /// Numbers the events up to the one asked about.
    fn first_look(&mut self, target: Option<Target>) -> Result<(Causes, Option<Error>), Failure> {
        let (mut causes, after) = (Causes::new(target), self.after);
        let error = self.look(Time::MAX, true, |executed| {
            let is_past = executed.key.instant.time >= after;
            if !is_past {
                causes.event(executed);
            }
            is_past
        })?;
        Ok((causes, error))
    }

    /// Collects the events of a chain.
    fn second_look(&mut self, mut chain: Chain) -> Result<Vec<Link>, Failure> {
        let error = self.look(self.after, false, |executed| {
            chain.event(executed);
            chain.links().len() == chain.len()
        })?;
        if chain.links().len() < chain.len() {
            let why = error.map_or_else(|| "it came to an end early".to_owned(), |error| error.to_string());
            return Err(Failure::simulation(format!("the run was not the same the second time: {why}")));
        }
        Ok(chain.links().to_vec())
    }

    /// Returns the chain to the event at which the run failed; `None` where that event has no cause.
    fn chain_to_failure(
        &self,
        causes: &mut Causes,
        target: Option<Target>,
        links: usize,
        error: &Error,
    ) -> Result<Option<Chain>, Failure> {
        let place = error.place().and_then(|place| Some((place.lp?, place.event?)));
        match place {
            Some((lp, key)) if target.is_none_or(|target| target.is(lp, &key)) => {
                Ok(causes.chain_to_failure(lp, &key, links))
            }
            _ => Err(Failure::of_run(error.clone(), &self.plan.command())),
        }
    }
}
