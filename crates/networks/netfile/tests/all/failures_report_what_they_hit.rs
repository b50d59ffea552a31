//! A failure reports the packets and the flows that it hits, and the flows that it cuts off.

use crate::common::{built, cell, count, integer, on_every_engine, options, run};
use parades_core::metrics::Cell;
use parades_engine::sequential;

/// A line `a - b - c - e`, and a spare link from `b` to `d`; ten packets of 1000 bytes a second from `a` to
/// `e`, each 10 ms on every link; and `more`.
fn line(more: &str) -> String {
    format!(
        r#"
network = "a line"
until = "10s"
headers = "0B"
nodes = ["a", "b", "c", "d", "e"]
[defaults]
rate = "1Gbps"
delay = "10ms"
[[link]]
from = "a"
to = "b"
[[link]]
from = "b"
to = "c"
[[link]]
from = "b"
to = "d"
[[link]]
from = "c"
to = "e"
[[app]]
name = "x"
kind = "constant"
rate = "80kbps"
from = "a"
to = "e"
{more}
"#
    )
}

fn text(outcome: &parades_core::run::Outcome, row: usize) -> String {
    match cell(outcome, "failures", row, "failure") {
        Cell::Text(text) => text.to_string(),
        other => panic!("the failure is {other:?}"),
    }
}

fn row(outcome: &parades_core::run::Outcome, row: usize) -> [u64; 3] {
    ["packets_lost", "flows_on_path", "flows_cut_off"].map(|column| integer(outcome, "failures", row, column))
}

#[test]
fn a_failure_that_touches_nothing_says_so() {
    let text_of = line("[[event]]\nat = \"4s\"\nlink = \"b-d\"\nstate = \"down\"");
    let built = built(&text_of);
    assert_eq!(
        built.notes,
        ["the failure of link b-d at 4s hits 0 flows: no flow that has started has a path over it"]
    );
    let outcome = run(&text_of);
    assert_eq!((text(&outcome, 0), row(&outcome, 0)), ("link b-d".to_owned(), [0, 0, 0]));
    assert_eq!(count(&outcome, "packets_lost_down"), 0);
}

#[test]
fn a_failure_that_cuts_the_network_in_two_reports_its_flows() {
    // Packets start each 0.1 s from 0 on, reach b after 10 ms and c after 20 ms. At 4.015 s the packet of 4.0
    // s is between b and c, and lost. Then b has no path, so 59 packets, of 4.1 s to 9.9 s, are lost at b.
    let text_of = line("[[event]]\nat = \"4.015s\"\nlink = \"b-c\"\nstate = \"down\"");
    let built = built(&text_of);
    assert_eq!(built.notes, ["after the failure of link b-c at 4.015s, 1 of 1 flows have no path"]);
    let outcome = run(&text_of);
    assert_eq!((text(&outcome, 0), row(&outcome, 0)), ("link b-c".to_owned(), [1, 1, 1]));
    assert_eq!((integer(&outcome, "flows", 0, "packets_received"), count(&outcome, "packets_lost_down")), (40, 60));
    // The source goes on, and the flow ends with the run.
    assert_eq!(integer(&outcome, "flows", 0, "packets_sent"), 100);
}

#[test]
fn until_routes_follow_packets_are_lost_at_the_failure() {
    // The packets of 4.0 s to 5.0 s are at b before 5.015 s and meet the link down. Those after find no path.
    let convergence = "[[event]]\nat = \"4.015s\"\nlink = \"b-c\"\nstate = \"down\"";
    let outcome = run(&line(convergence).replace("headers", "convergence = \"1s\"\nheaders"));
    assert_eq!(row(&outcome, 0), [11, 1, 1]);
}

#[test]
fn the_failure_of_a_node_is_of_the_flows_through_it() {
    let outcome = run(&line("[[event]]\nat = \"4.005s\"\nnode = \"b\"\nstate = \"down\"\nfor = \"1s\""));
    // The packet of 4.0 s is on its way to b. The leaf a sends by its only link, down or not, until b is
    // back: the packets of 4.1 s to 5.0 s.
    assert_eq!((text(&outcome, 0), row(&outcome, 0)), ("node b".to_owned(), [11, 1, 1]));
    assert_eq!(integer(&outcome, "flows", 0, "packets_received"), 100 - 11);
}

#[test]
fn a_flow_that_starts_later_is_not_hit_but_may_be_cut_off() {
    let text_of = line("start = \"5s\"\n[[event]]\nat = \"4s\"\nlink = \"b-c\"\nstate = \"down\"");
    assert_eq!(row(&run(&text_of), 0), [0, 0, 1]);
}

#[test]
fn a_group_is_cut_off_where_its_tree_is() {
    let group = line("").replace("to = \"e\"\n\n", "to = [\"e\", \"d\"]\nmulticast = true\n");
    let text_of = group + "[[event]]\nat = \"4.015s\"\nlink = \"b-c\"\nstate = \"down\"\n";
    let outcome = run(&text_of);
    // A tree stays as it is: the packet on its way, and all later ones, are lost on the link.
    assert_eq!(row(&outcome, 0), [60, 1, 1]);
    assert_eq!(count(&outcome, "packets_lost_down"), 60);
}

#[test]
fn a_failure_of_a_link_that_is_down_is_noted() {
    let event = |at: &str, more: &str| format!("[[event]]\nat = \"{at}\"\nlink = \"b-c\"\nstate = \"down\"\n{more}\n");
    let lasts = "for = \"2s\"";
    let overlap = "the link `b-c` fails at 3s, while it is down since 2s: ";
    for (events, note) in [
        (event("2s", lasts) + &event("3s", lasts), Some(format!("{overlap}the first return ends both, at 4s"))),
        (event("2s", "") + &event("3s", ""), Some(format!("{overlap}it does not come back"))),
        (event("2s", lasts) + &event("4s", lasts), None),
        (event("2s", lasts) + &event("11s", lasts), None),
    ] {
        let notes = built(&line(&events)).notes;
        let found = notes.iter().find(|note| note.contains("while it is down"));
        assert_eq!(found, note.as_ref(), "{notes:?}");
    }
}

#[test]
fn failures_are_the_same_on_every_engine() {
    let events = "[[event]]\nat = \"2.015s\"\nlink = \"b-c\"\nstate = \"down\"\nfor = \"1s\"\n\
                  [[event]]\nat = \"4.005s\"\nnode = \"b\"\nstate = \"down\"\nfor = \"1s\"";
    let built = built(&line(events));
    let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}

#[test]
fn a_transfer_across_a_cut_does_not_complete() {
    // Segments of the second round trip, which begins at 60 ms, are between b and c at 75 ms.
    let transfer = line("").replace("kind = \"constant\"\nrate = \"80kbps\"", "kind = \"transfer\"\nsize = \"100MB\"");
    let outcome = run(&(transfer + "[[event]]\nat = \"75ms\"\nlink = \"b-c\"\nstate = \"down\"\n"));
    assert_eq!(integer(&outcome, "flows", 0, "complete"), 0);
    let [lost, on_path, cut_off] = row(&outcome, 0);
    assert!(lost > 0 && (on_path, cut_off) == (1, 1));
}

/// The bucket sends a packet of 1000 bytes each 80 ms, so most packets that wait would start after the
/// failure.
#[test]
fn a_token_bucket_before_a_failure_is_as_busy_as_it_sends() {
    let text = line(
        "[measure]\nevery = \"10ms\"\nlinks = [\"a-b\"]\n[[queue]]\nname = \"shaped\"\nkind = \"token-bucket\"\n\
         rate = \"100kbps\"\nburst = \"1000B\"\n[[event]]\nat = \"4s\"\nlink = \"a-b\"\nstate = \"down\"\n",
    );
    let text = text
        .replace("rate = \"80kbps\"", "rate = \"1Mbps\"")
        .replace("to = \"b\"\n", "to = \"b\"\nqueue = \"shaped\"\n");
    let text = text.replace("rate = \"1Gbps\"", "rate = \"1Mbps\"");
    let outcome = run(&text);
    let series = outcome.metrics.get("link_utilisation_a-b").and_then(|metric| metric.series()).expect("it is sampled");
    let busy: f64 = series.points().iter().map(|point| point.1).sum::<f64>() * 0.01;
    assert!(series.points().iter().all(|point| (0.0..=1.0).contains(&point.1)));
    // 4 s at 100 kbit/s are 50 packets, of 8 ms each on the link.
    assert!((0.39..0.42).contains(&busy), "{busy}");
}
