//! Copies that links make of packets are no data: an application gets each packet once.

use crate::common::{built, cell, count, integer, on_every_engine, options, run, value};
use parades_core::metrics::Cell;
use parades_engine::sequential;

/// A link of 10 Mbit/s and 1 ms from `a` to `b`, which copies each packet, and an app.
fn text(impairment: &str, app: &str) -> String {
    format!(
        "network = \"copies\"\nuntil = \"10s\"\nnodes = [\"a\", \"b\"]\n\
         link = [{{ from = \"a\", to = \"b\", rate = \"10Mbps\", delay = \"1ms\", impairment = \"copies\" }}]\n\
         impairment = [{{ name = \"copies\", duplicate = 1{impairment} }}]\n\
         app = [{{ name = \"x\", from = \"a\", to = \"b\", {app} }}]\n"
    )
}

const REQUESTS: &str = "kind = \"request-response\", request = \"100B\", response = \"14600B\", think = \"0s\", \
                        thinking = \"constant\", requests = 10";
const DATAGRAMS: &str = "kind = \"constant\", rate = \"1Mbps\", size = \"100kB\"";

#[test]
fn a_response_is_complete_when_each_of_its_packets_has_arrived() {
    let outcome = run(&text("", REQUESTS));
    assert_eq!(integer(&outcome, "flows", 0, "bytes_received"), 146_000);
    assert_eq!(integer(&outcome, "requests", 0, "responses"), 10);
    // The 14,600 bytes take 11.7 ms at 10 Mbit/s without their headers, and 2 ms there and back.
    let least = integer(&outcome, "requests", 0, "response_min");
    assert!(least > 12_000_000_000, "{least}");
    let counts = ["packets_received", "copies_received", "answers_received", "answer_copies_received"]
        .map(|column| integer(&outcome, "flows", 0, column));
    let parts = integer(&outcome, "flows", 0, "answers_sent");
    assert_eq!(counts, [10, 10, parts, parts]);
}

/// The loss of a part makes a response incomplete, however many copies of the other parts arrive.
#[test]
fn no_response_is_complete_without_one_of_its_packets() {
    for seed in [", loss_bad = 0.3, to_bad = 0.5, to_good = 0.5", ", loss_good = 0.1, to_bad = 0.01"] {
        let outcome = run(&text(seed, &REQUESTS.replace("requests = 10", "timeout = \"100ms\"")));
        let responses = integer(&outcome, "requests", 0, "responses");
        let bytes = integer(&outcome, "flows", 0, "bytes_received");
        assert!(responses > 0 && responses * 14_600 <= bytes, "{responses} responses in {bytes} bytes");
        assert!(integer(&outcome, "requests", 0, "timeouts") > 0);
    }
}

#[test]
fn datagrams_count_once_and_copies_are_not_reordered() {
    let outcome = run(&text("", DATAGRAMS));
    let of = |column: &str| integer(&outcome, "flows", 0, column);
    assert_eq!(["packets_received", "copies_received", "packets_reordered"].map(of), [100, 100, 0]);
    assert_eq!(of("bytes_received"), 100_000);
    assert_eq!((count(&outcome, "copies_received"), count(&outcome, "packets_duplicated")), (100, 100));
    assert_eq!((value(&outcome, "loss_ratio"), cell(&outcome, "flows", 0, "state")), (0.0, Cell::from("complete")));
    let rate = value(&outcome, "throughput_x");
    assert!((rate - 100_000.0 * 8.0 / 10.0).abs() < 1.0, "{rate}");
}

#[test]
fn groups_transfers_and_streams_count_segments_once() {
    let group = format!("{DATAGRAMS}, multicast = true");
    for app in [&group, "kind = \"transfer\", size = \"100kB\"", "kind = \"tcp\", size = \"100kB\""] {
        let outcome = run(&text("", app));
        let of = |column: &str| integer(&outcome, "flows", 0, column);
        assert_eq!((of("bytes_received"), of("packets_reordered")), (100_000, 0), "{app}");
        assert_eq!((of("packets_received"), of("copies_received")), (of("packets_sent"), of("packets_sent")), "{app}");
        assert_eq!((of("answers_received"), of("answers_sent")), (of("answers_sent"), of("answers_sent")), "{app}");
        assert_eq!(cell(&outcome, "flows", 0, "state"), Cell::from("complete"), "{app}");
    }
}

/// A retransmission is sent later, so it has overtaken nothing.
#[test]
fn retransmissions_are_not_reordered() {
    let text =
        text("", "kind = \"transfer\", size = \"1MB\"").replace("duplicate = 1", "loss_good = 0.02, to_bad = 0.01");
    let outcome = run(&text);
    assert!(integer(&outcome, "transfers", 0, "segments_sent_again") > 5);
    assert_eq!(integer(&outcome, "flows", 0, "packets_reordered"), 0);
}

#[test]
fn copies_are_the_same_on_every_engine() {
    for app in [REQUESTS, DATAGRAMS, "kind = \"transfer\", size = \"100kB\"", "kind = \"tcp\", size = \"100kB\""] {
        let text = text(", jitter = \"3ms\", loss_good = 0.01, to_bad = 0.01", app);
        let built = built(&text);
        let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
        for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
            assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}, {app}");
        }
    }
}
