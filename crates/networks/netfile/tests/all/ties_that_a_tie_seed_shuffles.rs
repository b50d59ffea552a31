//! A packet may arrive at a port at the very time at which another one leaves it. Without a tie seed the
//! queue decides; under tie seeds both orders occur, alike on every engine.

use crate::common::{built, count};
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_netfile::Built;
use std::collections::BTreeSet;

/// A packet of 1,000 bytes each second from `a` to `b`, over a last link that takes a second for each.
fn text(nodes: &str, links: &str, queue: &str) -> String {
    format!(
        "network = \"ties\"\nuntil = \"100.5s\"\nheaders = \"0B\"\nnodes = {nodes}\nlink = [{links}]\n\
         queue = [{{ name = \"q\", {queue} }}]\n\
         app = [{{ name = \"x\", kind = \"constant\", from = \"a\", to = \"b\", rate = \"8kbps\", packet = \"1000B\" }}]\n"
    )
}

/// The source is at the port itself, or a hop before it.
fn networks(queue: &str) -> [String; 2] {
    let last = |from| format!("{{ from = \"{from}\", to = \"b\", rate = \"8kbps\", delay = \"1ms\", queue = \"q\" }}");
    let first = "{ from = \"a\", to = \"r\", rate = \"8Mbps\", delay = \"1ms\" }";
    [
        text("[\"a\", \"b\"]", &last("a"), queue),
        text("[\"a\", \"r\", \"b\"]", &format!("{first}, {}", last("r")), queue),
    ]
}

fn tied(tie_seed: Option<u64>, until: Time) -> RunOptions<'static> {
    RunOptions { tie_seed, ..RunOptions::until(until) }
}

/// The packets that were lost under a tie seed.
fn lost(text: &str, tie_seed: Option<u64>) -> u64 {
    let Built { model, until, .. } = built(text);
    let outcome = sequential::run(&model, tied(tie_seed, until)).expect("it runs");
    count(&outcome, "packets_lost_queue")
}

#[test]
fn a_packet_arrives_before_or_after_another_one_leaves_the_port() {
    // Without room, a packet that comes before the end of a transmission is lost, and the next one ties with
    // nothing.
    for text in networks("kind = \"droptail\", limit = 0") {
        assert_eq!(lost(&text, None), 0, "the transmission ends first");
        for seed in 0..8 {
            let lost = lost(&text, Some(seed));
            assert!((15..48).contains(&lost), "{lost} of 100 under {seed}: about a third");
        }
    }
}

#[test]
fn both_orders_occur_for_every_discipline_that_decides_on_arrival() {
    // A burst fills the queue of one packet, and the packet of 100 s finds it full, or just emptied.
    for queue in [
        "kind = \"droptail\", limit = 1",
        "kind = \"droptail\", limit = \"1000B\"",
        "kind = \"dctcp\", mark_at = 1, limit = 1",
    ] {
        for text in networks(queue) {
            let burst = "{ name = \"y\", kind = \"constant\", from = \"a\", to = \"b\", rate = \"8Mbps\", packet = \"1000B\", \
                         size = \"3000B\", start = \"99.2s\" }";
            let text = text.replace("app = [", &format!("app = [{burst}, "));
            let losses: BTreeSet<u64> = (0..12).map(|seed| lost(&text, Some(seed))).collect();
            assert_eq!(losses, BTreeSet::from([2, 3]), "{queue}");
        }
    }
}

#[test]
fn the_order_of_a_tie_seed_is_the_same_on_every_engine() {
    for text in networks("kind = \"droptail\", limit = 0") {
        let Built { model, until, .. } = built(&text);
        let options = || tied(Some(3), until);
        let expected = sequential::run(&model, options()).expect("it runs");
        let warp = time_warp::Settings::of_threads(2);
        for outcome in [
            rollback_check::run(&model, options()),
            rounds::run(&model, options(), &rounds::Settings::of_threads(2)),
            window::run(&model, options(), &window::Settings::of_threads(2)),
            null_message::run(&model, options(), &null_message::Settings::of_threads(2)),
            time_warp::run(&model, options(), &warp),
        ] {
            let outcome = outcome.expect("it runs");
            assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics));
        }
    }
}
