//! Flows and requests that are unfinished at the end of a run are counted, noted, and left out of completion
//! times and slowdowns, unless their time so far shall count.

use crate::common::{cell, count, integer, run, value};
use parades_core::metrics::Cell;
use parades_core::run::Outcome;

/// Transfers over 8 Mbit/s: one of a second, one that would take a hundred seconds, and one that starts after
/// the end.
fn text(measure: &str, apps: &str) -> String {
    format!(
        "network = \"unfinished\"\nuntil = \"10s\"\nnodes = [\"a\", \"b\", \"c\", \"d\"]\n{measure}\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"1ms\"\n\
         [[link]]\nfrom = \"c\"\nto = \"d\"\nrate = \"8Mbps\"\ndelay = \"1ms\"\n{apps}"
    )
}

fn app(name: &str, ends: [&str; 2], rest: &str) -> String {
    let [from, to] = ends;
    format!("[[app]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{rest}\n")
}

fn apps(kind: &str) -> String {
    app("x", ["a", "b"], &format!("kind = \"{kind}\"\nsize = \"1MB\"\nstart = \"1s\""))
        + &app("y", ["c", "d"], &format!("kind = \"{kind}\"\nsize = \"100MB\"\nstart = \"2s\""))
        + &app("z", ["a", "b"], &format!("kind = \"{kind}\"\nsize = \"1MB\"\nstart = \"11s\""))
}

const SO_FAR: &str = "measure = { unfinished = \"so-far\" }";

fn observations(outcome: &Outcome, name: &str) -> (u64, Option<u64>) {
    let tally = outcome.metrics.get(name).and_then(|metric| metric.tally()).expect("it is measured");
    (tally.count(), tally.max())
}

fn note(outcome: &Outcome) -> String {
    match outcome.metrics.get("note").and_then(|metric| metric.value()) {
        Some(Cell::Text(note)) => note.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unfinished_flows_have_a_count_a_note_and_their_time_so_far() {
    for kind in ["transfer", "tcp"] {
        let left_out = run(&text("", &apps(kind)));
        assert_eq!((count(&left_out, "flows_unfinished"), count(&left_out, "flows_complete")), (1, 1), "{kind}");
        let of_apps = ["unfinished_x", "unfinished_y", "unfinished_z"].map(|name| value(&left_out, name).to_string());
        assert_eq!(of_apps, ["0", "1", "0"]);
        let so_far = |row| cell(&left_out, "flows", row, "unfinished_for");
        assert_eq!([0, 1, 2].map(so_far), [Cell::Empty, Cell::Integer(8_000_000_000_000), Cell::Empty]);
        assert_eq!(observations(&left_out, "completion_y"), (0, None));
        assert!(value(&left_out, "slowdown_max") < 2.0, "{kind}");
        let expected = "1 of 2 flows with an end is unfinished: y#1; what is unfinished is left out of completion times, \
                        response times and slowdowns";
        assert_eq!(note(&left_out), expected);

        // With its time so far, it counts in the distributions. Alone it takes 104 s.
        let bound = run(&text(SO_FAR, &apps(kind)));
        assert_eq!(observations(&bound, "completion_y"), (1, Some(8_000_000_000_000)), "{kind}");
        assert_eq!(bound.digest, left_out.digest);
        let slowdown = cell(&bound, "flows", 1, "slowdown");
        assert!(matches!(slowdown, Cell::Float(x) if (0.07..0.08).contains(&x)), "{slowdown:?}");
        assert!(note(&bound).ends_with("is counted with the time so far, a lower bound"), "{}", note(&bound));
    }
}

#[test]
fn an_unfinished_request_is_one_that_waits_for_its_response() {
    // A response of 10 MB takes more than ten seconds. The client asks at 1 s.
    let requests = "kind = \"request-response\"\nrequest = \"100B\"\nresponse = \"10MB\"\nthink = \"1s\"\nstart = \"1s\"\n\
                    thinking = \"constant\"\ntimeout = \"60s\"\n";
    let unlimited = run(&text("", &app("x", ["a", "b"], requests)));
    assert_eq!((count(&unlimited, "requests_unfinished"), count(&unlimited, "flows_unfinished")), (1, 0));
    assert_eq!(integer(&unlimited, "requests", 0, "unfinished_for"), 9_000_000_000_000);
    assert!(note(&unlimited).starts_with("1 request is unfinished: x#0; "), "{}", note(&unlimited));
    assert_eq!(observations(&unlimited, "response_x"), (0, None));
    let limited = run(&text(SO_FAR, &app("x", ["a", "b"], &format!("{requests}requests = 3"))));
    assert_eq!((count(&limited, "requests_unfinished"), count(&limited, "flows_unfinished")), (1, 1));
    assert_eq!(observations(&limited, "response_x"), (1, Some(9_000_000_000_000)));
}
