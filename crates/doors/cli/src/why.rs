//! `parades why`: the chain of events that led to a given one, or to the failure of a run.
//!
//! The run is executed twice: once to find the chain, once to write it down (see [`parades_inspect::cause`]).

use crate::arguments::WhyArguments;
use crate::plan::Plan;
use crate::run::{Done, Watch, execute};
use crate::{print_by, say};
use parades_catalog::Choice;
use parades_core::error::Error;
use parades_core::time::{Delay, Time};
use parades_core::trace::{Executed, TraceFilter, Tracer};
use parades_inspect::cause::{Causes, Chain, Link, Target, origin};
use parades_session::Failure;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

pub(crate) fn why(arguments: &WhyArguments) -> Result<ExitCode, Failure> {
    let mut plan = Plan::of(&arguments.scenario)?;
    let choice = plan.engine(arguments.engine.as_deref(), &arguments.how)?;
    let target = arguments.event.as_deref().map(target_of).transpose()?;
    let links = arguments.links.map_or(usize::MAX, |links| links as usize);
    // What comes after the event does not matter; but without `--until` the scenario says when the run ends.
    let after = target.and_then(|target| target.time.checked_add(Delay::from_ps(1))).unwrap_or(Time::MAX);
    plan.until = plan.until.map(|until| until.min(after));
    let looker = Looker { arguments, choice: &choice };
    let (mut causes, result) = looker.first_look(&plan, target, after)?;
    let (chain, failure) = match (&target, result) {
        (_, Err(error)) if causes.is_found() => (causes.chain(links), Some(error)),
        (_, Err(error)) => (looker.chain_to_failure(&mut causes, &plan, (target, links), &error)?, Some(error)),
        (Some(target), Ok(())) => {
            let before = causes.chain(links).is_none().then(|| causes.chain_before(links)).flatten();
            if before.is_some() && !arguments.how.quiet {
                say(format_args!(
                    "note: {} executes nothing at {}; this is its last event before",
                    target.lp, target.time
                ));
            }
            let chain = causes.chain(links).or(before);
            (Some(chain.ok_or_else(|| no_event(target, &causes))?), None)
        }
        (None, Ok(())) => {
            let message = "the run does not fail, so there is nothing to ask about";
            return Err(Failure::usage(message, "name an event: `--event LP:TIME`"));
        }
    };
    if causes.others() > 0 && !arguments.how.quiet {
        let events = causes.others() + 1;
        say(format_args!(
            "note: {events} events fit that description; this is the first: name one by its sender, as LP:TIME:SENDER#NUMBER"
        ));
    }
    let (chain, is_whole) = match chain {
        Some(chain) => {
            let is_whole = chain.is_whole();
            (looker.second_look(&plan, chain, after)?, is_whole)
        }
        None => (Vec::new(), true),
    };
    let failure = failure.filter(|_| !causes.is_found());
    print_by(|to| show(to, (&chain, is_whole), failure.as_ref(), arguments.how.json))
}

fn target_of(text: &str) -> Result<Target, Failure> {
    text.parse().map_err(|error| {
        Failure::usage(format!("--event {text}: {error}"), "`parades run --trace FILE` writes such lines")
    })
}

/// That there is no such event.
fn no_event(target: &Target, causes: &Causes) -> Failure {
    if causes.are_too_many() {
        return Failure::simulation(
            "the run has more than 4294967294 events before that one, which are too many to keep; ask about an earlier one",
        );
    }
    let Target { lp, time, .. } = target;
    let last = match causes.last_before() {
        Some(line) => format!("the last before it is `{line}`"),
        None => "it executes none before it either".to_owned(),
    };
    let message = format!("{lp} executes no such event at {time} in this run; {last}");
    Failure::usage(message, "`parades run --trace FILE --trace-lps LPS` writes those that it executes")
}

/// Runs the same again and again.
struct Looker<'a> {
    arguments: &'a WhyArguments,
    choice: &'a Choice,
}

impl Looker<'_> {
    /// Runs until `observer` has seen what it wants; the error of the run, if it has one.
    fn look(
        &self,
        plan: &Plan,
        (is_first, before): (bool, Time),
        sends: bool,
        observer: &mut dyn FnMut(&Executed<'_>) -> bool,
    ) -> Result<Result<(), Error>, Failure> {
        let how = &self.arguments.how;
        let mut is_done = false;
        let mut quiet = how.clone();
        // What is said of the scenario and the engine is said once.
        quiet.quiet |= !is_first;
        let filter = TraceFilter { before, ..TraceFilter::default() };
        let is_done_here = &mut is_done;
        let make = |_| {
            Tracer::observing(filter, move |executed| {
                *is_done_here |= observer(executed);
                if *is_done_here { Err(std::io::Error::other("it has come")) } else { Ok(()) }
            })
        };
        let watch = Watch { tracer: Some(Box::new(make)), sends, timesheets: None, progress: !how.quiet };
        let result = execute(plan.clone(), self.choice.clone(), &quiet, watch)?;
        if is_done {
            return Ok(Ok(()));
        }
        match result {
            Ok(done) => whole(&done).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn first_look(
        &self,
        plan: &Plan,
        target: Option<Target>,
        after: Time,
    ) -> Result<(Causes, Result<(), Error>), Failure> {
        let mut causes = Causes::new(target);
        let result = self.look(plan, (true, Time::MAX), true, &mut |executed| {
            let is_past = executed.key.instant.time >= after;
            if !is_past {
                causes.event(executed);
            }
            is_past
        })?;
        Ok((causes, result))
    }

    fn second_look(&self, plan: &Plan, mut chain: Chain, after: Time) -> Result<Vec<Link>, Failure> {
        let result = self.look(plan, (false, after), false, &mut |executed| {
            chain.event(executed);
            chain.links().len() == chain.len()
        })?;
        if chain.links().len() < chain.len() {
            let why = result.err().map_or_else(|| "it came to an end early".to_owned(), |error| error.to_string());
            return Err(Failure::simulation(format!("the run was not the same the second time: {why}")));
        }
        Ok(chain.links().to_vec())
    }

    /// The chain to the event at which the run failed; `None` where that has no cause.
    fn chain_to_failure(
        &self,
        causes: &mut Causes,
        plan: &Plan,
        (target, links): (Option<Target>, usize),
        error: &Error,
    ) -> Result<Option<Chain>, Failure> {
        let place = error.place().and_then(|place| Some((place.lp?, place.event?)));
        match place {
            Some((lp, key)) if target.is_none_or(|target| target.is(lp, &key)) => {
                Ok(causes.chain_to_failure(lp, &key, links))
            }
            _ => {
                let arguments = &self.arguments;
                let command = plan.command(&arguments.scenario, &arguments.how, self.choice.engine.name);
                Err(Failure::of_run(error, &command))
            }
        }
    }
}

/// That a run came to its end.
fn whole(done: &Done) -> Result<(), Failure> {
    if done.stopped_by_hand()? {
        return Err(Failure::Stopped("the events were still being looked through, so there is no result"));
    }
    Ok(())
}

/// Writes the chain, the first cause first.
fn show(
    to: &mut dyn Write,
    (chain, is_whole): (&[Link], bool),
    failure: Option<&Error>,
    json: bool,
) -> std::io::Result<()> {
    let failure = failure.map(ToString::to_string);
    if json {
        let link = |link: &Link| {
            let sender = link.sent.0.as_lp().map_or(json!("GLOBAL"), |lp| json!(lp.0));
            json!({
                "time_s": link.instant.time.as_secs_f64(), "round": link.instant.round, "lp": link.lp.0, "sender": sender,
                "sequence": link.sent.1, "event": link.line,
            })
        };
        let chain: Vec<_> = chain.iter().map(link).collect();
        return writeln!(to, "{}", json!({"schema": 1, "whole": is_whole, "chain": chain, "failure": failure}));
    }
    match chain.first() {
        Some(first) if is_whole => writeln!(to, "({})", origin(first))?,
        Some(_) => writeln!(to, "…")?,
        None => {}
    }
    for link in chain {
        writeln!(to, "{}", link.line)?;
    }
    failure.map_or(Ok(()), |failure| writeln!(to, "failed: {failure}"))
}
