//! Chains of causes are those that follow from the rules of the models.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::{sequential, time_warp};
use parades_models::faulty::{Fault, Faulty};
use parades_models::phold::{Parameters, Phold};
use parades_session::cause::{Causes, Chain, Link, Target};

fn secs(s: f64) -> Time {
    Time::try_from_secs_f64(s).unwrap()
}

type Run<'r> = &'r dyn Fn(RunOptions<'_>) -> Result<Outcome, Error>;

fn causes(run: Run<'_>, until: Time, target: Option<Target>) -> (Causes, Result<Outcome, Error>) {
    let mut causes = Causes::new(target);
    let tracer = Tracer::observing(TraceFilter::default(), |executed| {
        causes.event(executed);
        Ok(())
    });
    let result = run(RunOptions { sends: true, tracer: Some(tracer), ..RunOptions::until(until) });
    (causes, result)
}

fn found(run: Run<'_>, until: Time, mut chain: Chain) -> Vec<Link> {
    let tracer = Tracer::observing(TraceFilter::default(), |executed| {
        chain.event(executed);
        Ok(())
    });
    let _ = run(RunOptions { tracer: Some(tracer), ..RunOptions::until(until) });
    assert_eq!(chain.len(), chain.links().len());
    chain.links().to_vec()
}

fn links(run: Run<'_>, until: Time, target: Target) -> Vec<Link> {
    let (causes, _) = causes(run, until, Some(target));
    let chain = causes.chain(usize::MAX).unwrap();
    assert!(chain.is_whole());
    found(run, until, chain)
}

#[test]
fn in_phold_each_cause_is_the_senders_event_of_that_number() {
    let model = Phold::<()>::new(Parameters { lps: 30, remote: 0.8, ..Parameters::default() });
    let until = secs(40.0);
    let run = |options: RunOptions<'_>| sequential::run(&model, options);
    // All events in order, as the test sees them: LP, instant, sender, sequence.
    let mut all = Vec::new();
    let tracer = Tracer::observing(TraceFilter::default(), |executed| {
        all.push((executed.receiver, executed.key, executed.to_string()));
        Ok(())
    });
    run(RunOptions { tracer: Some(tracer), ..RunOptions::until(until) }).unwrap();
    for (lp, key, line) in all.iter().rev().step_by(97) {
        let links = links(&run, until, line.parse().unwrap());
        assert_eq!(links.last().unwrap().line, *line);
        let (mut lp, mut key) = (*lp, *key);
        for link in links.iter().rev() {
            assert_eq!((link.lp, link.instant, link.sent), (lp, key.instant, (key.sender, key.sequence)));
            // Each event sends one on, and each LP began with its send number 0.
            let Some(index) = key.sequence.checked_sub(1) else { break };
            let sender = key.sender.as_lp().unwrap();
            let mut of_sender = all.iter().filter(|(receiver, ..)| *receiver == sender);
            (lp, key) = of_sender.nth(usize::try_from(index).unwrap()).map(|(lp, key, _)| (*lp, *key)).unwrap();
        }
        assert_eq!(links[0].sent.1, 0, "the chain begins with what was sent at the start");
        let optimistic = |options: RunOptions<'_>| time_warp::run(&model, options, &time_warp::Settings::of_threads(3));
        assert_eq!(self::links(&optimistic, until, Target::of_key(lp, &key)).len(), 1);
        assert_eq!(self::links(&optimistic, until, line.parse().unwrap()), links, "the same on every engine");
    }
}

/// LP 0 sets its timer again with every message of LP 1. When the timer is due at last, LP 0 sends to LP 2.
struct Patient;

impl Model for Patient {
    type State = u32;
    type Message = u32;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        3
    }
    fn channels(&self) -> Channels {
        Channels::whole(Delay::from_ms(1))
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> u32 {
        if ctx.id() == LpId(1) {
            (1..=4).for_each(|n| ctx.send_self(Delay::from_ms(10 * n), 0));
        }
        0
    }
    fn handle(&self, count: &mut u32, body: Body<&u32>, ctx: &mut Context<'_, Self>) {
        *count += 1;
        match (ctx.id(), body) {
            (LpId(1), _) => ctx.send_to(LpId(0), Delay::from_ms(1), *count),
            (LpId(0), Body::Message(_)) => ctx.set_timer(TimerId(5), Delay::from_ms(15)),
            (LpId(0), Body::Timer(_)) => ctx.send_to(LpId(2), Delay::from_ms(1), *count),
            _ => {}
        }
    }
}

impl ByCopy for Patient {}

#[test]
fn a_timer_was_caused_by_what_set_it_last() {
    let run = |options: RunOptions<'_>| sequential::run(&Patient, options);
    let links = links(&run, secs(1.0), "2:57ms".parse().unwrap());
    let lines: Vec<&str> = links.iter().map(|link| link.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "0.04s LP 1 <- LP 1 #3 0",
            "0.041s LP 0 <- LP 1 #7 4",
            "0.056s LP 0 <- LP 0 #3 timer 5",
            "0.057s LP 2 <- LP 0 #4 5"
        ]
    );
}

#[test]
fn the_chain_may_be_cut_and_says_so() {
    let run = |options: RunOptions<'_>| sequential::run(&Patient, options);
    let (causes, _) = causes(&run, secs(1.0), Some("2:57ms".parse().unwrap()));
    let chain = causes.chain(2).unwrap();
    assert!(!chain.is_whole());
    assert_eq!(found(&run, secs(1.0), chain)[0].line, "0.056s LP 0 <- LP 0 #3 timer 5");
}

#[test]
fn an_event_that_does_not_come_has_no_chain_but_a_last_one_before_it() {
    let run = |options: RunOptions<'_>| sequential::run(&Patient, options);
    let (causes, _) = causes(&run, secs(1.0), Some("0:55ms".parse().unwrap()));
    assert!(causes.chain(1).is_none() && !causes.is_found());
    assert_eq!(causes.last_before(), Some("0.041s LP 0 <- LP 1 #7 4"));
}

#[test]
fn what_led_to_a_failure_can_be_asked_too() {
    let model = Faulty { lps: 8, fault: Fault::Fail, at_event: 5, round_limit: 1000 };
    let run = |options: RunOptions<'_>| sequential::run(&model, options);
    let (mut causes, result) = causes(&run, secs(1.0), None);
    let error = result.unwrap_err();
    let place = error.place().unwrap();
    let (lp, key) = (place.lp.unwrap(), place.event.unwrap());
    let chain = causes.chain_to_failure(lp, &key, usize::MAX).unwrap();
    let links = found(&run, secs(1.0), chain);
    assert_eq!(Sender::lp(links.last().unwrap().lp), key.sender);
    assert!(links.windows(2).all(|pair| pair[0].instant < pair[1].instant && pair[1].sent.0 == Sender::lp(pair[0].lp)));
}
