//! The table of generated parts.

use super::{
    DELAY, FRAMING, Form, IMPAIRMENT, Key, LOSS, MTU, QUEUE, RATE, Shape, kind, may, must, other, required, size,
};
use parades_config::Parameter;
use parades_config::units::MBPS;
use parades_core::time::Delay;

const TRUNK_RATE: Key = may(Parameter::rate("trunk_rate", MBPS, "rate of the links between routers").positive());
const TRUNK_DELAY: Key = may(Parameter::duration("trunk_delay", Delay::ZERO, "delay of the links between routers"));
pub(crate) const FILE: Key = must(Parameter::path("file", "the file, relative to the folder of this one"));

const OF_GRAPH: &str = "a file of another tool: GraphML, GML, JSON (node-link, adjacency, Cytoscape), a list of edges (SNAP, CAIDA), or a topology of BRITE or HPCC; `rate`, `delay` and `loss` are for links of the file that have none";

pub(crate) const PART: Shape = Shape {
    noun: "a part",
    name: "part",
    several: true,
    meaning: "a generated part of the network; its nodes' names begin with its own",
    keys: &[must(Parameter::text("name", "", "its name")), RATE, DELAY, QUEUE, LOSS, FRAMING, MTU, IMPAIRMENT],
    kinds: &[
        kind("line", "nodes in a row: NAME.0, NAME.1, …", &[size("nodes")]),
        kind("ring", "a row whose ends are linked", &[size("nodes, 3 or more")]),
        kind("star", "NAME.hub, and nodes NAME.0, … around it", &[size("nodes around the hub")]),
        kind(
            "dumbbell",
            "routers NAME.left and NAME.right with a trunk between; hosts NAME.left.0, … and NAME.right.0, … at them",
            &[size("hosts at each side"), TRUNK_RATE, TRUNK_DELAY],
        ),
        kind(
            "torus",
            "a grid whose rows and columns are rings: NAME.0.0, …",
            &[required(other("sides", Form::Sides, "how many nodes along each side, 3 or more, as in [4, 4]"))],
        ),
        kind(
            "fat-tree",
            "k pods of k switches in two layers, (k/2)^2 core switches and k^3/4 hosts: NAME.host.POD.EDGE.I, …",
            &[must(Parameter::integer("arity", 4, 2..=128, "k, the ports of a switch; even")), TRUNK_RATE, TRUNK_DELAY],
        ),
        kind(
            "campus",
            "the ring of campuses of the DARPA NMS programme, with its own rates and delays: NAME.0.net0.1, …",
            &[
                may(Parameter::integer("size", 1, 1..=4096, "campuses")),
                may(Parameter::integer("lan_clients", 42, 1..=65_536, "hosts at each of the twelve LANs of a campus")),
            ],
        ),
        kind(
            "random-geometric",
            "nodes at random in a square, linked where they are nearer than a radius, in one piece: NAME.0, …",
            &[
                size("nodes"),
                may(Parameter::float("radius", 0.2, 0.0..=2.0, "as a share of the square's side").positive()),
                may(Parameter::duration(
                    "across",
                    Delay::from_ms(10),
                    "delay along a side of the square; it is added to `delay`",
                )),
                may(Parameter::integer("seed", 1, 0..=u64::MAX, "seed of the random draw of the part")),
            ],
        ),
        kind("backbone", "24 European cities: NAME.Paris, …, with rates and delays of their own", &[]),
        kind("graph", OF_GRAPH, &[FILE]),
        kind("graphml", OF_GRAPH, &[FILE]),
        kind("edges", "a file with a line for each link: two names, and perhaps rate, delay and loss", &[FILE]),
    ],
};
