//! Look-ups that are under way at the end of a run are counted, noted, and left out of their times, unless
//! their time so far shall count.

use parades_carriers::Constant;
use parades_core::metrics::{Cell, MetricValue};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::churn::{Churn, Law};
use parades_p2p::driver::AsModel;
use parades_p2p::unfinished::Unfinished;
use parades_p2p::{chord, kademlia};

const LATENCY: Delay = Delay::from_ms(500);

fn counter(outcome: &Outcome, name: &str) -> u64 {
    let counter = outcome.metrics.get(name).and_then(MetricValue::counter).expect("it is declared");
    u64::try_from(counter).expect("a short run")
}

/// The number of times of look-ups.
fn times(outcome: &Outcome) -> u64 {
    outcome.metrics.get("look_up_time").and_then(MetricValue::tally).expect("it is declared").count()
}

fn note(outcome: &Outcome) -> String {
    match outcome.metrics.get("note").and_then(MetricValue::value) {
        Some(Cell::Text(note)) => note.to_string(),
        other => panic!("{other:?}"),
    }
}

fn check(run: impl Fn(Unfinished) -> Outcome) {
    let [left_out, so_far] = [Unfinished::LeftOut, Unfinished::SoFar].map(run);
    let (count, ended) = (counter(&left_out, "unfinished_look_ups"), counter(&left_out, "look_ups"));
    assert!(count > 5, "{count} look-ups are under way");
    assert_eq!(times(&left_out), ended - counter(&left_out, "failed_look_ups"));
    assert_eq!(times(&so_far), times(&left_out) + count);
    assert_eq!(so_far.digest, left_out.digest);
    let begin = format!("{count} of {} look-ups are unfinished: ", count + ended);
    assert_eq!(note(&left_out), format!("{begin}they are left out of the times"));
    assert_eq!(note(&so_far), format!("{begin}their times so far count, lower bounds"));
}

#[test]
fn of_chord() {
    check(|unfinished| {
        let parameters = chord::Parameters { nodes: 200, latency: LATENCY, unfinished, ..Default::default() };
        let model = chord::Chord::model(parameters, 1).expect("the parameters are possible");
        sequential::run(&model, RunOptions::until(Time::from_secs(1000))).expect("it runs")
    });
}

#[test]
fn of_kademlia() {
    check(|unfinished| {
        let parameters =
            kademlia::Parameters { nodes: 300, tables: kademlia::Tables::Ideal, unfinished, ..Default::default() };
        let protocol = kademlia::Kademlia::new(parameters, 1).expect("possible");
        let model = AsModel::new(protocol, Constant::new(LATENCY));
        sequential::run(&model, RunOptions::until(Time::from_secs(100))).expect("it runs")
    });
}

/// Users begin a look-up every 5 s on average in each of 100 nodes, for 1000 s. A look-up takes seconds, and
/// sessions take a minute: many nodes leave in the middle of one. Few nodes of the ring are members for long.
#[test]
fn look_ups_of_nodes_that_leave_are_counted_as_dropped() {
    let until = Time::from_secs(1000);
    let law = |secs| Law::exponential(Delay::from_secs(secs)).expect("a mean above zero");
    let churn = || Some(Churn::random(law(60), law(10), until).with_crash(0.5));
    let look_up = Delay::from_secs(5);
    let parameters = kademlia::Parameters { nodes: 100, look_up, churn: churn(), ..Default::default() };
    let protocol = kademlia::Kademlia::new(parameters, 1).expect("possible");
    let kademlia = AsModel::new(protocol, Constant::new(LATENCY));
    let kademlia = sequential::run(&kademlia, RunOptions::until(until)).expect("it runs");
    let parameters =
        chord::Parameters { nodes: 100, look_up, latency: LATENCY, churn: churn(), ..chord::Parameters::default() };
    let chord = chord::Chord::model(parameters, 1).expect("possible");
    let chord = sequential::run(&chord, RunOptions::until(until)).expect("it runs");
    for (outcome, least) in [(kademlia, 100), (chord, 1)] {
        let [dropped, unfinished, ended] =
            ["dropped_look_ups", "unfinished_look_ups", "look_ups"].map(|name| counter(&outcome, name));
        assert!(dropped >= least, "{dropped} look-ups were dropped");
        let all = dropped + unfinished + ended;
        let expected = format!("{dropped} of {all} look-ups were dropped when their nodes left, and have no times");
        assert!(note(&outcome).ends_with(&expected), "{}", note(&outcome));
    }
}
