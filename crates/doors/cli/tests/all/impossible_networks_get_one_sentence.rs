//! Network files that cannot be run, and one whose topology is cut in two: the message and the exit status of
//! each.
//!
//! The tests of the crate `netfile` have more messages.

use crate::common::{Folder, parades};

/// Four nodes in a row, and an app from the first to the last.
const ROW: &str = "network = \"row\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\", \"c\", \"d\"]\n[defaults]\nrate = \"10Mbps\"\n\
    delay = \"1ms\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\n[[link]]\nfrom = \"b\"\nto = \"c\"\n[[link]]\nfrom = \"c\"\n\
    to = \"d\"\nqueue = 100\n[[app]]\nname = \"x\"\nkind = \"tcp\"\nsize = \"10MB\"\nfrom = \"a\"\nto = \"d\"\n";

/// Runs the file in which `from` is replaced by `to`.
fn run(folder: &Folder, from: &str, to: &str, options: &str) -> std::process::Output {
    let text = ROW.replacen(from, to, 1);
    assert_ne!(text, ROW, "{from}");
    folder.write("n.toml", text);
    parades(&folder.0, &format!("run n.toml {options}"))
}

#[test]
fn each_is_refused_with_its_place_and_status_2() {
    let folder = Folder::new("impossible-networks");
    let cases = [
        (
            "an unknown node",
            ("to = \"d\"\nqueue", "to = \"z\"\nqueue"),
            "n.toml:15:6: there is no node `z`; there are 4 nodes, of which the first is `a`; `*` stands for any letters",
        ),
        (
            "a flow between unknown nodes",
            ("from = \"a\"\nto = \"d\"\n", "flows = [[\"a\", \"z\"]]\n"),
            "n.toml:21:16: there is no node `z`; there are 4 nodes, of which the first is `a`; `*` stands for any letters",
        ),
        ("a zero rate", ("10Mbps", "0Mbps"), "n.toml:5:8: `rate` must be above 0, not 0Mbps"),
        ("a negative rate", ("10Mbps", "-1Mbps"), "n.toml:5:8: `rate`: `-1Mbps` is negative; a rate is at least 0"),
        (
            "a queue of zero bytes",
            ("queue = 100", "queue = \"0B\""),
            "n.toml:16:9: `queue` has zero bytes, room for no packet; give it room for a packet; `0`, in packets, lets no \
             packet wait",
        ),
        (
            "thresholds of RED in the wrong order",
            ("queue = 100", "queue = { kind = \"red\", min = 20, max = 5 }"),
            "n.toml:16:9: the queue has a `min` of 20 packets and a `max` of 5; `min` must not exceed `max`",
        ),
        (
            "a segment larger than a packet",
            ("size = \"10MB\"", "size = \"10MB\"\nmss = \"100kB\""),
            "n.toml:21:7: `mss` is 100000B, more than a packet can carry beside the headers; 65447B is the most",
        ),
        (
            "a buffer below a segment",
            ("size = \"10MB\"", "size = \"10MB\"\nbuffer = \"1kB\""),
            "n.toml:21:10: `buffer` is 1000B, and a segment 1460B; give it room for a segment, or lower `mss`",
        ),
        (
            "static routes in a circle",
            (
                "[[app]]",
                "[[route]]\nat = \"b\"\nto = \"d\"\nvia = \"c\"\n[[route]]\nat = \"c\"\nto = \"d\"\nvia = \"b\"\n[[app]]",
            ),
            "n.toml:17:1: the static routes to `d` lead in a loop: `b`, `c`, `b`; change one of the routes, or leave it out",
        ),
        (
            "an event on an unknown link",
            ("[[app]]", "[[event]]\nat = \"1s\"\nlink = \"a-z\"\nstate = \"down\"\n[[app]]"),
            "n.toml:19:8: there is no link `a-z`; did you mean `a-b`?",
        ),
        (
            "a name twice",
            ("\"c\", \"d\"]", "\"c\", \"d\", \"a\"]"),
            "n.toml:3:30: there are two nodes of the name `a`; give one another name",
        ),
        (
            "no way between the ends of a flow",
            ("[[link]]\nfrom = \"b\"\nto = \"c\"\n", ""),
            "n.toml:14:1: there is no way from `a` to `d`, for the app `x`; add a link between them, or leave the app out",
        ),
    ];
    for (name, (from, to), says) in cases {
        let output = run(&folder, from, to, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((said.as_ref(), output.status.code()), (format!("error: {says}\n").as_str(), Some(2)), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
    }
}

#[test]
fn a_topology_that_a_failure_cuts_in_two_is_run_and_reported() {
    let folder = Folder::new("cut-network");
    let cut = "[[event]]\nat = \"500ms\"\nlink = \"b-c\"\nstate = \"down\"\n[[app]]";
    let output = run(&folder, "[[app]]", cut, "--json --quiet");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let notes = results["notes"].to_string();
    assert!(notes.contains("after the failure of link b-c at 0.5s, 1 of 1 flows have no path"), "{notes}");
    let received = results["metrics"]["bytes_received"].as_u64().expect("a counter");
    assert!((1..10_000_000).contains(&received), "{received}");
    let table = results["metrics"].to_string();
    assert!(table.contains("cut off"), "the flow says how it ended: {table}");
}
