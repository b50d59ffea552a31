//! Flows spread over equally short paths and parallel links, and static routes lead them elsewhere.

use crate::common::{built, count, error, integer, on_every_engine, options, run};
use parades_core::metrics::Cell;
use parades_core::run::Outcome;
use parades_engine::sequential;
use std::collections::BTreeMap;

/// Two routers with two parallel links, a hundred flows from the hosts of one to those of the other, and
/// `more`.
fn parallel(more: &str) -> String {
    format!(
        r#"
network = "two parallel links"
until = "1s"
nodes = ["west", "east"]
{more}
[defaults]
rate = "1Gbps"
delay = "1ms"
queue = 1000
[[group]]
name = "w"
size = 10
attach = "west"
[[group]]
name = "e"
size = 10
attach = "east"
[[link]]
name = "first"
from = "west"
to = "east"
[[link]]
name = "second"
from = "east"
to = "west"
[[app]]
name = "x"
kind = "transfer"
size = "15kB"
from = "w.*"
to = "e.*"
pairs = "all"
"#
    )
}

/// Packets sent on each direction of the links between `west` and `east`, by link and sender.
fn packets(outcome: &Outcome) -> BTreeMap<(String, String), u64> {
    let table = outcome.metrics.get("links").and_then(|metric| metric.table()).expect("the table of links");
    let place = |name: &str| table.columns().iter().position(|column| &*column.name == name).expect("a column");
    let text = |row: &[Cell], name: &str| match &row[place(name)] {
        Cell::Text(text) => text.to_string(),
        other => panic!("{name} is {other:?}"),
    };
    let rows = table.rows().into_iter().map(|row| {
        let Cell::Integer(packets) = row[place("packets_sent")] else { panic!("packets are counted") };
        ((text(&row, "link"), text(&row, "from")), packets)
    });
    rows.filter(|((link, _), _)| link == "first" || link == "second").collect()
}

fn of(outcome: &Outcome, link: &str, from: &str) -> u64 {
    packets(outcome).get(&(link.to_owned(), from.to_owned())).copied().unwrap_or(0)
}

#[test]
fn parallel_links_share_the_flows_of_each_direction() {
    let outcome = run(&parallel(""));
    // 100 flows of 11 segments (of 1460 bytes), each link with 50 flows: 4.5 standard deviations are 22.5.
    let segments: u64 = 11;
    for from in ["west", "east"] {
        let [first, second] = ["first", "second"].map(|link| of(&outcome, link, from));
        assert_eq!(first + second, 100 * segments, "each segment is acknowledged once");
        assert!(first.abs_diff(50 * segments) <= 22 * segments, "{first} packets from {from}");
    }
    // A return direction makes a choice of its own: else the acknowledgements would follow the segments.
    assert_ne!(of(&outcome, "first", "west"), of(&outcome, "first", "east"));
}

#[test]
fn one_path_is_the_first_link() {
    let outcome = run(&parallel("paths = \"single\""));
    for from in ["west", "east"] {
        assert_eq!((of(&outcome, "first", from), of(&outcome, "second", from)), (1100, 0));
    }
}

#[test]
fn equal_paths_give_the_same_answer_on_every_engine() {
    let built = built(
        &parallel("")
            .replace("[[app]]", "[[event]]\nat = \"2ms\"\nlink = \"first\"\nfor = \"4ms\"\nstate = \"down\"\n[[app]]"),
    );
    let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
    assert!(count(&expected, "packets_lost_down") > 0);
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}

/// A link that fails after the end makes the network look up next hops in tables. Nothing else changes.
#[test]
fn routes_and_tables_have_one_digest_if_nothing_fails() {
    let late = "\n[[event]]\nat = \"5s\"\nlink = \"*\"\nstate = \"down\"\n";
    let fat_tree = r#"
network = "a fat tree"
until = "20ms"
routing = "hops"
[[part]]
name = "t"
kind = "fat-tree"
arity = 4
rate = "100Mbps"
delay = "3us"
[[app]]
name = "x"
kind = "constant"
rate = "50Mbps"
from = "t.host.*"
to = "t.host.*"
pairs = "random"
"#;
    let static_route = "\n[[route]]\nat = \"west\"\nto = [\"e.3\", \"e.4\"]\nlink = \"second\"\n";
    for text in [parallel(""), parallel("paths = \"single\""), parallel("") + static_route, fat_tree.to_owned()] {
        let [routes, tables] = [text.clone(), text + late].map(|text| run(&text));
        assert!(count(&routes, "packets_received") > 1000);
        assert_eq!((routes.digest, routes.events), (tables.digest, tables.events));
    }
}

#[test]
fn a_fat_tree_carries_traffic_over_all_core_switches() {
    let text = r#"
network = "a permutation on a fat tree"
until = "100ms"
[[part]]
name = "t"
kind = "fat-tree"
arity = 8
rate = "1Gbps"
delay = "3us"
[[app]]
name = "x"
kind = "constant"
rate = "10Mbps"
from = ["t.host.0.*", "t.host.1.*", "t.host.2.*", "t.host.3.*", "t.host.4.*", "t.host.5.*", "t.host.6.*", "t.host.7.*"]
to = ["t.host.4.*", "t.host.5.*", "t.host.6.*", "t.host.7.*", "t.host.0.*", "t.host.1.*", "t.host.2.*", "t.host.3.*"]
"#;
    let cores = |text: &str| -> usize {
        let outcome = run(text);
        assert_eq!(count(&outcome, "packets_lost_queue"), 0);
        let table = outcome.metrics.get("links").and_then(|metric| metric.table()).expect("the table of links");
        let from = table.columns().iter().position(|column| &*column.name == "from").expect("a column");
        let senders = table.rows().into_iter().filter_map(|row| match &row[from] {
            Cell::Text(name) if name.starts_with("t.core.") => Some(name.to_string()),
            _ => None,
        });
        senders.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(cores(text), 16);
    // Four of 16, since each pair of pods has one path.
    assert!(cores(&text.replace("[[part]]", "paths = \"single\"\n[[part]]")) < 16);
}

#[test]
fn a_static_route_takes_the_flows_to_its_destinations() {
    let outcome = run(&(parallel("") + "[[route]]\nat = \"west\"\nto = \"e.*\"\nlink = \"second\"\n"));
    assert_eq!((of(&outcome, "first", "west"), of(&outcome, "second", "west")), (0, 1100));
    assert!(of(&outcome, "first", "east") > 0, "the way back is not concerned");
    // Via a neighbour: all links to the neighbour.
    let via = run(&(parallel("") + "[[route]]\nat = \"west\"\nto = \"e.*\"\nvia = \"east\"\n"));
    assert_eq!(via.digest, run(&parallel("")).digest);
}

#[test]
fn a_static_route_counts_while_its_link_is_up() {
    let text = parallel("")
        + "[[route]]\nat = \"west\"\nto = \"e.*\"\nlink = \"second\"\n[[event]]\nat = \"1ms\"\nlink = \"second\"\nstate = \"down\"\n";
    let outcome = run(&text);
    assert_eq!(integer(&outcome, "flows", 0, "complete"), 1);
    assert!(of(&outcome, "first", "west") >= 1100 - of(&outcome, "second", "west"));
}

#[test]
fn impossible_static_routes_get_one_clear_sentence() {
    let line = |routes: &str| {
        format!(
            "network = \"line\"\nnodes = [\"a\", \"b\", \"c\", \"d\"]\n[defaults]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
             [[link]]\nfrom = \"a\"\nto = \"b\"\n[[link]]\nfrom = \"b\"\nto = \"c\"\n[[link]]\nfrom = \"c\"\nto = \"d\"\n\
             duplex = false\n[[app]]\nname = \"x\"\nkind = \"constant\"\nrate = \"1kbps\"\nfrom = \"a\"\nto = \"c\"\n{routes}"
        )
    };
    let route = |rest: &str| error(&line(&format!("[[route]]\n{rest}\n")));
    for (rest, expected) in [
        (
            "at = \"b\"\nto = \"c\"\nvia = \"a\"",
            "net.toml:22:1: the static routes to `c` lead in a loop: `b`, `a`, `b`; change one of the routes, or leave it out",
        ),
        (
            "at = \"a\"\nto = \"c\"\nvia = \"c\"",
            "net.toml:25:7: no link joins `a` and `c`; name a neighbour of each node of `at`, or a link of it",
        ),
        (
            "at = \"d\"\nto = \"c\"\nlink = \"c-d\"",
            "net.toml:25:8: `d` cannot send by the link `c-d`; name a neighbour of each node of `at`, or a link of it",
        ),
        ("at = \"a\"\nto = \"c\"", "net.toml:22:1: a route has no next hop; add `via = \"NODE\"` or `link = \"LINK\"`"),
        (
            "at = \"a\"\nto = \"c\"\nvia = \"b\"\nlink = \"a-b\"",
            "net.toml:26:8: `link` stands beside `via`; give one of them",
        ),
        (
            "at = \"a\"\nto = \"c\"\nvia = \"*\"",
            "net.toml:25:7: `*` stands for several, and a route has one next hop; name one",
        ),
        (
            "at = \"a\"\nto = \"e\"\nvia = \"b\"",
            "net.toml:24:6: there is no node `e`; there are 4 nodes, of which the first is `a`; `*` stands for any letters",
        ),
    ] {
        assert_eq!(route(rest), expected);
    }
    // From `d` no link leads on.
    let dead = line(
        "[[route]]\nat = \"c\"\nto = \"a\"\nvia = \"d\"\n[[app]]\nname = \"y\"\nkind = \"constant\"\nrate = \"1kbps\"\nfrom = \"c\"\nto = \"a\"\n",
    );
    assert_eq!(
        error(&dead),
        "net.toml:22:1: the static route at `c` to `a` leads to `d`, from which no path leads on; change one of the \
         routes, or leave it out"
    );
}
