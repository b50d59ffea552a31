//! The tables of nodes, links and static routes.

use super::{
    DELAY, FRAMING, Form, IMPAIRMENT, LOSS, MTU, QUEUE, QUEUE_BACK, RATE, RATE_BACK, Shape, may, must, other, required,
    size,
};
use parades_config::Parameter;

pub(crate) const GROUP: Shape = Shape {
    noun: "a group",
    name: "group",
    several: true,
    meaning: "nodes NAME.0, NAME.1 and so on, perhaps each with a link to one node; at several nodes, NAME.0.0, … are at the first",
    keys: &[
        must(Parameter::text("name", "", "its name, with which the names of its nodes begin")),
        size("how many nodes it has"),
        other(
            "attach",
            Form::Select,
            "the node that each of them is linked to; of several, each has `size` nodes of its own",
        ),
        RATE,
        RATE_BACK,
        DELAY,
        QUEUE,
        QUEUE_BACK,
        LOSS,
        FRAMING,
        MTU,
        IMPAIRMENT,
    ],
    kinds: &[],
};

pub(crate) const LINK: Shape = Shape {
    noun: "a link",
    name: "link",
    several: true,
    meaning: "links between the nodes of `from` and those of `to`",
    keys: &[
        required(other("from", Form::Select, "one end")),
        required(other("to", Form::Select, "the other end")),
        may(Parameter::text("name", "", "its name; FROM-TO by default, and needed where two nodes have several links")),
        RATE,
        RATE_BACK,
        DELAY,
        QUEUE,
        QUEUE_BACK,
        LOSS,
        FRAMING,
        MTU,
        IMPAIRMENT,
        may(Parameter::boolean("duplex", true, "whether it carries packets both ways")),
        may(Parameter::choice(
            "pairs",
            "all",
            &["all", "matching"],
            "each node of `from` with each of `to`; or the first with the first and so on",
        )),
    ],
    kinds: &[],
};

pub(crate) const ROUTE: Shape = Shape {
    noun: "a route",
    name: "route",
    several: true,
    meaning: "static routes: at their nodes they replace the shortest paths, as long as their links are up; the last one counts",
    keys: &[
        required(other("at", Form::Select, "the nodes that have the route")),
        required(other("to", Form::Select, "the destinations of packets that take it")),
        may(Parameter::text("via", "", "the next node")),
        may(Parameter::text("link", "", "or the link by which packets leave")),
    ],
    kinds: &[],
};
