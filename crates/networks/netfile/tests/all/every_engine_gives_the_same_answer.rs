//! Described networks, with failures, on every engine and 1, 2 and 3 threads: equal digests, events and
//! metrics.

use crate::common::{built, count, file, on_every_engine, options};
use parades_config::Settings;
use parades_engine::sequential;
use parades_netfile::{EXAMPLE, explicit};

fn check(text: &str) {
    let file = file(text);
    for seed in [1, 2] {
        let built = file.build(&file.parameters(), seed).unwrap_or_else(|error| panic!("{error}"));
        let expected =
            sequential::run(&built.model, options(seed, built.until)).unwrap_or_else(|error| panic!("{error}"));
        assert!(count(&expected, "packets_received") > 100);
        for (name, outcome) in on_every_engine(&built.model, seed, built.until) {
            assert_eq!(outcome.digest, expected.digest, "{name}");
            assert_eq!(outcome.events, expected.events, "{name}");
            assert_eq!(outcome.metrics, expected.metrics, "{name}");
        }
    }
}

#[test]
fn two_sites_with_a_bottleneck_that_fails() {
    check(&EXAMPLE.replace("until = \"20s\"", "until = \"10.5s\""));
}

const TORUS: &str = r#"
network = "a torus in which links and nodes fail, come back and change"
until = "3s"
convergence = "7ms"
[[part]]
name = "t"
kind = "torus"
sides = [3, 4]
rate = "2Mbps"
delay = "2ms"
queue = "10kB"
loss = 0.01
[[app]]
name = "mix"
kind = "poisson"
from = "t.*"
to = "t.*"
pairs = "random"
rate = "100kbps"
packet = "internet-mix"
[[app]]
name = "bursts"
kind = "on-off"
from = "t.0.*"
to = "t.2.*"
rate = "500kbps"
on = "50ms"
off = "50ms"
periods = "pareto"
[[app]]
name = "files"
kind = "transfer"
from = "t.*.0"
to = "t.*.2"
size = "300kB"
control = "fixed"
window = 20
[[app]]
name = "more"
kind = "transfer"
from = "t.*.2"
to = "t.*.1"
size = "100kB"
[[app]]
name = "web"
kind = "request-response"
from = "t.1.*"
to = "t.0.3"
service = "3ms"
think = "20ms"
timeout = "200ms"
spread = "50ms"
[[event]]
at = "500ms"
link = "t.0.*-t.1.*"
state = "down"
for = "400ms"
[[event]]
at = "700ms"
node = ["t.1.1", "t.0.3"]
state = "down"
for = "300ms"
[[event]]
at = "1s"
link = "t.2.*"
rate = "1Mbps"
delay = "1ms"
loss = 0.05
for = "1s"
[measure]
every = "100ms"
links = "t.0.*"
apps = ["mix", "web"]
"#;

#[test]
fn a_torus_in_which_everything_happens() {
    check(TORUS);
}

#[test]
fn what_is_written_out_in_full_is_the_same_network() {
    for (text, seed) in [(EXAMPLE, 1), (EXAMPLE, 5), (PARTS, 3), (AFTER_THE_END, 1)] {
        let read = file(text);
        let (description, until, _) = read.describe(&read.parameters(), seed).unwrap_or_else(|error| panic!("{error}"));
        let settings = read.settings(&read.parameters()).unwrap_or_else(|error| panic!("{error}"));
        let written = explicit(&read.title(), &settings, until, &description);
        let again = file(&written);
        // Nothing is left to be drawn, so another seed makes the same.
        let (same, same_until, _) =
            again.describe(&again.parameters(), 77).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!((&same, same_until), (&description, until));
        assert_eq!(explicit(&again.title(), &settings, until, &same), written);
        let [a, b] = [text, &written].map(|text| {
            let file = file(text);
            let model = file.build(&file.parameters(), seed).unwrap_or_else(|error| panic!("{error}")).model;
            sequential::run(&model, options(seed, until)).unwrap_or_else(|error| panic!("{error}")).digest
        });
        assert_eq!(a, b);
    }
}

/// A packet is on a link that fails after the end, so it is lost before it.
const AFTER_THE_END: &str = r#"
network = "a link fails after the end"
until = "1s"
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "8Mbps"
delay = "20ms"
[[app]]
name = "p"
kind = "constant"
from = "a"
to = "b"
rate = "800kbps"
[[event]]
at = "1005ms"
link = "a-b"
state = "down"
"#;

#[test]
fn a_failure_after_the_end_takes_what_is_on_the_link_then() {
    let built = built(AFTER_THE_END);
    let outcome = sequential::run(&built.model, options(1, built.until)).unwrap_or_else(|error| panic!("{error}"));
    // The packet sent at 980 ms would arrive in time, the last one, of 990 ms, would not.
    assert_eq!((count(&outcome, "packets_sent"), count(&outcome, "packets_lost_down")), (100, 1));
    assert_eq!(count(&outcome, "packets_in_flight"), 1);
}

#[test]
fn a_title_that_is_a_parameter_is_written_out_as_it_reads() {
    let text = AFTER_THE_END.replace("network = \"a link", "network = \"$title\"\nparameters = { title = \"a link");
    let read = file(&text.replace("after the end\"\n", "after the end\" }\n"));
    assert_eq!(read.title(), "a link fails after the end");
    let (description, until, _) = read.describe(&read.parameters(), 1).unwrap_or_else(|error| panic!("{error}"));
    let written = file(&explicit(&read.title(), &Settings::default(), until, &description));
    assert_eq!(written.title(), read.title());
    assert!(written.build(&written.parameters(), 1).is_ok());
}

/// All kinds of generated parts that need no file, joined to one another.
const PARTS: &str = r#"
network = "parts"
until = "300ms"
[defaults]
rate = "50Mbps"
delay = "100us"
queue = "100kB"
[[part]]
name = "line"
kind = "line"
size = 3
[[part]]
name = "ring"
kind = "ring"
size = 5
[[part]]
name = "star"
kind = "star"
size = 4
[[part]]
name = "bell"
kind = "dumbbell"
size = 3
trunk_rate = "5Mbps"
[[part]]
name = "torus"
kind = "torus"
sides = [3, 3, 3]
[[part]]
name = "tree"
kind = "fat-tree"
arity = 4
[[part]]
name = "campus"
kind = "campus"
lan_clients = 2
[[part]]
name = "plane"
kind = "random-geometric"
size = 60
radius = 0.12
[[part]]
name = "europe"
kind = "backbone"
[[link]]
from = ["line.0", "ring.0", "star.hub", "bell.left", "torus.0.0.0", "tree.core.0", "campus.0.net0.0", "plane.0"]
to = "europe.Paris"
[[app]]
name = "gossip"
kind = "poisson"
from = "*"
to = "*"
pairs = "random"
rate = "400kbps"
spread = "10ms"
[[app]]
name = "heavy"
kind = "on-off"
from = "tree.host.0.*"
to = "bell.right.*"
rate = "3Mbps"
on = "10ms"
off = "13ms"
periods = "pareto"
shape = 1.3
"#;

#[test]
fn parts_have_the_nodes_and_links_of_their_definition() {
    let of = |kind: &str, keys: &str| {
        let text = format!(
            "network = \"\"\n[[part]]\nname = \"p\"\nkind = \"{kind}\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n{keys}\n"
        );
        let topology = built(&text).model.topology().clone();
        (topology.nodes(), topology.links().len())
    };
    assert_eq!(of("line", "size = 5"), (5, 4));
    assert_eq!(of("ring", "size = 5"), (5, 5));
    assert_eq!(of("star", "size = 5"), (6, 5));
    assert_eq!(of("dumbbell", "size = 5"), (12, 11));
    assert_eq!(of("torus", "sides = [4, 5, 6]"), (120, 360));
    // k = 6: 9 core switches, 6 pods of 6 switches and 9 hosts; each layer has k^3/4 links.
    assert_eq!(of("fat-tree", "arity = 6"), (9 + 36 + 54, 3 * 54));
    assert_eq!(of("campus", "").0, 538);
    assert_eq!(of("backbone", ""), (24, 35));
    let (nodes, links) = of("random-geometric", "size = 200\nradius = 0.01");
    assert!(nodes == 200 && links >= 199, "pieces are joined: {links}");
    let full = of("random-geometric", "size = 20\nradius = 2.0");
    assert_eq!(full, (20, 190));
}
