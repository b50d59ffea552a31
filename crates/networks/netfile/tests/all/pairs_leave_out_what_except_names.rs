//! The pairs of an app: without nodes that would send to themselves, and without those that `except` names.

use crate::common::{error, file};

/// Four hosts at a hub, and the pairs of an app.
fn text(pairs: &str) -> String {
    format!(
        "network = \"pairs\"\n[[part]]\nname = \"h\"\nkind = \"star\"\nsize = 4\nrate = \"10Mbps\"\ndelay = \"1ms\"\n\
         [[app]]\nname = \"x\"\nkind = \"constant\"\nrate = \"1Mbps\"\n{pairs}\n"
    )
}

/// Returns the flows as `0>1`, and the notes.
fn flows(pairs: &str) -> (Vec<String>, Vec<String>) {
    let file = file(&text(pairs));
    let (description, _, notes) = file.describe(&file.parameters(), 1).unwrap_or_else(|error| panic!("{error}"));
    let name = |node: parades_topology::NodeId| description.nodes[node.index()].trim_start_matches("h.").to_owned();
    let pair = |flow: &parades_packet::description::Ends| format!("{}>{}", name(flow.source), name(flow.destination));
    (description.apps[0].flows.iter().map(pair).collect(), notes)
}

#[test]
fn a_node_is_left_out_of_its_own_pairs() {
    let (made, notes) = flows("from = [\"h.0\", \"h.1\", \"h.2\"]\nto = [\"h.1\", \"h.1\", \"h.3\"]");
    assert_eq!(made, ["0>1", "2>3"]);
    assert_eq!(notes, ["of the app `x`, 1 node would send to itself, and does not: 2 flows are left"]);
    let (made, notes) = flows("from = \"h.*\"\nto = \"h.1\"");
    assert_eq!((made.len(), notes.len()), (4, 1), "the hub is one of them");
    let (made, notes) = flows("from = \"h.*\"\nto = \"h.*\"\npairs = \"all\"");
    assert_eq!((made.len(), notes.len()), (20, 0));
    let said = error(&text("from = \"h.*\"\nto = \"h.*\""));
    assert!(said.starts_with("net.toml:12:8: a node cannot send to itself; "), "{said}");
}

#[test]
fn nodes_and_pairs_are_left_out() {
    const HOSTS: &str = "[\"h.0\", \"h.1\", \"h.2\", \"h.3\"]";
    let all = |except: &str| flows(&format!("from = {HOSTS}\nto = {HOSTS}\npairs = \"all\"\nexcept = {except}"));
    assert_eq!(all("\"h.3\"").0, ["0>1", "0>2", "1>0", "1>2", "2>0", "2>1"]);
    assert_eq!(all("[\"h.3\", [\"h.0\", \"h.1\"], [\"h.2\", \"*\"]]").0, ["0>2", "1>0", "1>2"]);
    let (made, notes) = all("\"h.hub\"");
    assert_eq!(
        (made.len(), &notes[..]),
        (12, &["of the app `x`, `except` has no effect: no pair is one of those".to_owned()][..])
    );
    let (made, _) = flows(&format!(
        "from = {HOSTS}\nto = [\"h.1\", \"h.2\", \"h.3\", \"h.0\"]\nexcept = [[\"h.1\", \"h.2\"], \"h.3\"]"
    ));
    assert_eq!(made, ["0>1"]);
    // Drawn pairs are drawn among the others: node 0 has two left, 1 and 2 have one, and 3 sends nothing.
    let drawn = |except: &str| flows(&format!("from = {HOSTS}\nto = {HOSTS}\npairs = \"random\"\nexcept = {except}")).0;
    let drawn = drawn("[\"h.3\", [\"h.1\", \"h.0\"], [\"h.2\", \"h.1\"]]");
    assert!(["0>1", "0>2"].contains(&&*drawn[0]), "{drawn:?}");
    assert_eq!(drawn[1..], ["1>2", "2>0"]);
}

#[test]
fn what_except_cannot_mean_is_refused() {
    for (pairs, expected) in [
        ("from = \"h.0\"\nto = \"h.1\"\nexcept = \"h.1\"", "net.toml:14:10: `except` leaves no pair; "),
        (
            "from = \"h.0\"\nto = \"h.1\"\nexcept = [[\"h.1\"]]",
            "net.toml:14:11: a pair has two names, and this one 1; ",
        ),
        ("from = \"h.0\"\nto = \"h.1\"\nexcept = \"h.9\"", "net.toml:14:10: there is no node `h.9`; "),
        ("flows = [[\"h.0\", \"h.1\"]]\nexcept = \"h.1\"", "net.toml:13:10: `except` stands beside `flows`, "),
    ] {
        let said = error(&text(pairs));
        assert!(said.starts_with(expected), "{said}");
    }
}
