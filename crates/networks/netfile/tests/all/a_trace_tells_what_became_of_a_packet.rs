//! Traces of networks call nodes, apps and links by their names, and say why each lost packet is lost.

use crate::common::built;
use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::{sequential, time_warp};
use parades_netfile::Built;

/// Two nodes and a link of 8 Mbit/s: a packet of 1000 bytes takes 1 ms. A burst of packets at the start.
fn network(link: &str, more: &str) -> String {
    format!(
        "network = \"two\"\nuntil = \"1s\"\nnodes = [\"here\", \"there\"]\n\
         link = [{{ name = \"wire\", from = \"here\", to = \"there\", rate = \"8Mbps\", delay = \"10ms\", {link} }}]\n\
         app = [{{ name = \"video\", kind = \"constant\", from = \"here\", to = \"there\", rate = \"15.52Mbps\", \
         packet = \"970B\", stop = \"2.2ms\" }}]\n{more}"
    )
}

fn trace(text: &str) -> Vec<String> {
    let Built { model, until, .. } = built(text);
    let on = |run: &dyn Fn(RunOptions<'_>) -> Result<Outcome, parades_core::error::Error>| {
        let mut lines = Vec::new();
        let tracer = Tracer::new(TraceFilter::default(), |line| {
            lines.push(line.to_owned());
            Ok(())
        });
        let outcome = run(RunOptions { notes: true, tracer: Some(tracer), ..RunOptions::until(until) });
        outcome.unwrap_or_else(|error| panic!("{error}"));
        lines
    };
    let lines = on(&|options| sequential::run(&model, options));
    assert_eq!(on(&|options| time_warp::run(&model, options, &time_warp::Settings::of_threads(2))), lines);
    lines
}

/// Returns the notes on lost packets.
fn losses(text: &str) -> Vec<String> {
    trace(text).into_iter().filter(|line| line.starts_with("  | ")).collect()
}

#[test]
fn a_packet_that_arrives_is_called_by_its_app_and_its_nodes() {
    let lines = trace(&network("queue = 9", ""));
    assert_eq!(lines[0], "0s here <- here #0 timer: next packet of app video to there");
    assert!(lines.iter().any(|line| line == "0.011s there <- here #2 app video #0, 970 B, here to there"), "{lines:?}");
}

#[test]
fn a_packet_that_a_full_queue_refuses_is_in_the_trace() {
    // Packets every 0.5 ms: the first is transmitted, the second waits, the third finds that at 1 ms the
    // second is transmitted and the queue is free, the fourth at 1.5 ms finds the third there.
    let lost = losses(&network("queue = 1", ""));
    assert_eq!(lost[0], "  | lost: app video #3, 970 B, here to there: the queue of link wire to there is full");
}

#[test]
fn a_packet_lost_by_chance_is_in_the_trace() {
    let lost = losses(&network("loss = 1.0", ""));
    assert_eq!(lost[0], "  | lost: app video #0, 970 B, here to there: by chance, on link wire to there");
}

#[test]
fn a_packet_lost_with_its_link_or_node_is_in_the_trace() {
    let packet = |number| format!("  | lost: app video #{number}, 970 B, here to there: ");
    let lost = losses(&network("queue = 9", "event = [{ at = \"1.2ms\", link = \"wire\", state = \"down\" }]"));
    assert_eq!(lost[0], packet(0) + "link wire to there goes down at 0.0012s, before the packet has crossed it");
    let lost = losses(&network("queue = 9", "event = [{ at = \"1.2ms\", node = \"there\", state = \"down\" }]"));
    assert_eq!(lost[0], packet(0) + "node there fails at 0.0012s, before the packet has crossed link wire to there");
    // Routes follow a failure after a while. Until then packets are sent into it.
    let slow = "convergence = \"1s\"\n";
    let text = network("queue = 9", "event = [{ at = \"0.2ms\", link = \"wire\", state = \"down\" }]");
    assert_eq!(losses(&(slow.to_owned() + &text))[1], packet(1) + "link wire to there is down");
    let text = network("queue = 9", "event = [{ at = \"0.2ms\", node = \"there\", state = \"down\" }]");
    assert_eq!(losses(&(slow.to_owned() + &text))[1], packet(1) + "node there has failed");
    // Once routes have followed, no path is left.
    let text = network("queue = 9", "event = [{ at = \"0.2ms\", link = \"wire\", state = \"down\" }]");
    assert_eq!(losses(&text)[1], packet(1) + "no path leads on from here");
}
