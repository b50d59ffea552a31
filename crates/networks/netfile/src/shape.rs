//! The shapes of tables: their keys, and the values and meanings of the keys. Checks, error messages and the
//! JSON schema are made from them.

use parades_config::Parameter;
use parades_config::units::{KIB, MBPS};
use parades_core::time::Delay;

/// The form of a key's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// One value, as in a scenario file.
    One(Parameter),
    /// Packets as a whole number, or bytes with their unit.
    Limit,
    /// As `Limit`, or the name of a queue or of a discipline.
    Queue,
    /// A payload with its unit, or `internet-mix`.
    Packet,
    /// A name, or several; `*` stands for any letters.
    Select,
    /// New names.
    Names,
    /// Whole numbers.
    Sides,
    /// Pairs of names, each perhaps with a start.
    Flows,
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) meaning: &'static str,
    pub(crate) required: bool,
}

/// A table of a file.
#[derive(Debug)]
pub(crate) struct Shape {
    /// As in: a link has no key `x`.
    pub(crate) noun: &'static str,
    pub(crate) name: &'static str,
    /// True if there may be several tables: `[[link]]`, not `[link]`.
    pub(crate) several: bool,
    pub(crate) meaning: &'static str,
    pub(crate) keys: &'static [Key],
    /// The values of the key `kind`. Empty if the table has no such key.
    pub(crate) kinds: &'static [Variant],
}

/// Further keys of a table, for one of its kinds.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) keys: &'static [Key],
}

impl Shape {
    /// Returns the keys of a table of this kind.
    pub(crate) fn keys_of(&self, kind: Option<&Variant>) -> impl Iterator<Item = &'static Key> + Clone {
        self.keys.iter().chain(kind.map_or(&[][..], |kind| kind.keys))
    }
}

/// Returns a key that may be left out.
const fn may(parameter: Parameter) -> Key {
    Key { name: parameter.key(), meaning: parameter.meaning(), form: Form::One(parameter), required: false }
}

/// Returns a key that must be given.
const fn must(parameter: Parameter) -> Key {
    Key { required: true, ..may(parameter) }
}

const fn other(name: &'static str, form: Form, meaning: &'static str) -> Key {
    Key { name, form, meaning, required: false }
}

const fn required(key: Key) -> Key {
    Key { required: true, ..key }
}

const RATE: Key = may(Parameter::rate("rate", MBPS, "bits in a second, each way").positive());
const DELAY: Key = may(Parameter::duration("delay", Delay::ZERO, "propagation delay"));
const LOSS: Key = may(Parameter::fraction("loss", 0.0, "probability that a packet which was sent does not arrive"));
const QUEUE: Key = other(
    "queue",
    Form::Queue,
    "what may wait at each end: packets, bytes with a unit, or the name of a queue or of its kind, as in `red`",
);
const FRAMING: Key = may(Parameter::choice(
    "framing",
    "none",
    FRAMINGS,
    "frames of the link: ppp adds 2 bytes to a packet, ethernet 18",
));
/// The names of [`parades_packet::description::Framing`].
pub(crate) const FRAMINGS: &[&str] = &["none", "ppp", "ethernet"];
const IMPAIRMENT: Key = may(Parameter::text("impairment", "", "the name of the link's impairment"));
const LIMIT: Key = other("limit", Form::Limit, "what may wait: packets, or bytes with a unit");
const ECN: Key =
    may(Parameter::boolean("ecn", true, "whether packets whose senders understand marks are marked, not dropped"));
const TARGET: Key = may(Parameter::duration("target", Delay::from_ms(5), "the waiting time that is acceptable"));
const INTERVAL: Key = may(Parameter::duration(
    "interval",
    Delay::from_ms(100),
    "the time for which packets may wait longer than `target` before one is dropped",
));
const MTU: Key = may(Parameter::size("mtu", 1500, "no packet is dropped while so few bytes remain"));
const COUNT_MAX: u64 = 1 << 24;
const fn size(meaning: &'static str) -> Key {
    must(Parameter::integer("size", 1, 1..=COUNT_MAX, meaning))
}

/// Keys that stand above all tables, beside the settings of every scenario file.
pub(crate) const TOP: &[Key] = &[
    must(Parameter::text("network", "", "what the network is, in a few words; marks the file as one")),
    may(Parameter::choice("routing", "delay", &["delay", "hops"], "what makes a path short")),
    may(Parameter::choice(
        "paths",
        "ecmp",
        &["ecmp", "single"],
        "ecmp: flows spread over equally short paths, by a hash of the flow and the node; single: all take the first of them",
    )),
    may(Parameter::duration("convergence", Delay::ZERO, "from a failure, or a return, until routes follow")),
    may(Parameter::size(
        "headers",
        30,
        "headers that come to the payload of a datagram: UDP 8, IP 20, PPP 2; TCP has its own",
    )),
    other("nodes", Form::Names, "names of nodes"),
];

pub(crate) const DEFAULTS: Shape = Shape {
    noun: "the table of defaults",
    name: "defaults",
    several: false,
    meaning: "what holds where a link, part, group or app says nothing",
    keys: &[
        RATE,
        DELAY,
        QUEUE,
        LOSS,
        FRAMING,
        IMPAIRMENT,
        other("packet", Form::Packet, "payload of packets; 1000B by default"),
    ],
    kinds: &[],
};

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
        DELAY,
        QUEUE,
        LOSS,
        FRAMING,
        IMPAIRMENT,
    ],
    kinds: &[],
};

const TRUNK_RATE: Key = may(Parameter::rate("trunk_rate", MBPS, "rate of the links between routers").positive());
const TRUNK_DELAY: Key = may(Parameter::duration("trunk_delay", Delay::ZERO, "delay of the links between routers"));
pub(crate) const FILE: Key = must(Parameter::path("file", "the file, relative to the folder of this one"));

const OF_GRAPH: &str =
    "a file of another tool: GraphML, GML, or node-link JSON; `rate`, `delay` and `loss` are of links without";

pub(crate) const PART: Shape = Shape {
    noun: "a part",
    name: "part",
    several: true,
    meaning: "a generated part of the network; its nodes' names begin with its own",
    keys: &[must(Parameter::text("name", "", "its name")), RATE, DELAY, QUEUE, LOSS, FRAMING, IMPAIRMENT],
    kinds: &[
        Variant { name: "line", meaning: "nodes in a row: NAME.0, NAME.1, …", keys: &[size("nodes")] },
        Variant { name: "ring", meaning: "a row whose ends are linked", keys: &[size("nodes, 3 or more")] },
        Variant {
            name: "star",
            meaning: "NAME.hub, and nodes NAME.0, … around it",
            keys: &[size("nodes around the hub")],
        },
        Variant {
            name: "dumbbell",
            meaning: "routers NAME.left and NAME.right with a trunk between; hosts NAME.left.0, … and NAME.right.0, … at them",
            keys: &[size("hosts at each side"), TRUNK_RATE, TRUNK_DELAY],
        },
        Variant {
            name: "torus",
            meaning: "a grid whose rows and columns are rings: NAME.0.0, …",
            keys: &[required(other("sides", Form::Sides, "how many nodes along each side, 3 or more, as in [4, 4]"))],
        },
        Variant {
            name: "fat-tree",
            meaning: "k pods of k switches in two layers, (k/2)^2 core switches and k^3/4 hosts: NAME.host.POD.EDGE.I, …",
            keys: &[
                must(Parameter::integer("arity", 4, 2..=128, "k, the ports of a switch; even")),
                TRUNK_RATE,
                TRUNK_DELAY,
            ],
        },
        Variant {
            name: "campus",
            meaning: "the ring of campuses of the DARPA NMS programme, with its own rates and delays: NAME.0.net0.1, …",
            keys: &[
                may(Parameter::integer("size", 1, 1..=4096, "campuses")),
                may(Parameter::integer("lan_clients", 42, 1..=65_536, "hosts at each of the twelve LANs of a campus")),
            ],
        },
        Variant {
            name: "random-geometric",
            meaning: "nodes at random in a square, linked where they are nearer than a radius, in one piece: NAME.0, …",
            keys: &[
                size("nodes"),
                may(Parameter::float("radius", 0.2, 0.0..=2.0, "as a share of the square's side").positive()),
                may(Parameter::duration(
                    "across",
                    Delay::from_ms(10),
                    "delay along a side of the square; it comes to `delay`",
                )),
                may(Parameter::integer("seed", 1, 0..=u64::MAX, "which of all such parts it is")),
            ],
        },
        Variant {
            name: "backbone",
            meaning: "24 European cities: NAME.Paris, …, with rates and delays of their own",
            keys: &[],
        },
        Variant { name: "graph", meaning: OF_GRAPH, keys: &[FILE] },
        Variant { name: "graphml", meaning: OF_GRAPH, keys: &[FILE] },
        Variant {
            name: "edges",
            meaning: "a file with a line for each link: two names, and perhaps rate, delay and loss",
            keys: &[FILE],
        },
    ],
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
        DELAY,
        QUEUE,
        LOSS,
        FRAMING,
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

pub(crate) const QUEUES: Shape = Shape {
    noun: "a queue",
    name: "queue",
    several: true,
    meaning: "queues that links name with their key `queue`",
    keys: &[
        must(Parameter::text("name", "", "its name")),
        LIMIT,
        may(Parameter::integer(
            "device",
            0,
            0..=1_000_000,
            "packets that wait in the device, unseen by the discipline",
        )),
    ],
    kinds: &[
        Variant {
            name: "drop-tail",
            meaning: "first in, first out; a packet beyond the limit is dropped; 100 packets by default",
            keys: &[],
        },
        Variant {
            name: "red",
            meaning: "random early detection: the longer the average queue, the more packets are dropped or marked",
            keys: &[
                may(Parameter::float(
                    "min",
                    12.5,
                    0.0..=1e9,
                    "average from which on packets are dropped; an eighth of the limit by default",
                )),
                may(Parameter::float(
                    "max",
                    37.5,
                    0.0..=1e9,
                    "average at which `probability` is reached; three eighths of the limit by default",
                )),
                may(Parameter::fraction("probability", 0.02, "probability of a drop at the average `max`")),
                may(Parameter::fraction("weight", 0.002, "weight of a packet in the average")),
                may(Parameter::boolean(
                    "gentle",
                    true,
                    "whether the probability grows to 1 at twice `max`; else it is 1 from `max` on",
                )),
                may(Parameter::boolean("wait", true, "whether two drops are at least 1/probability packets apart")),
                may(Parameter::size(
                    "mean_packet",
                    1500,
                    "mean size of packets, headers included, by which the average of an idle queue falls",
                )
                .positive()),
                ECN,
            ],
        },
        Variant {
            name: "threshold",
            meaning: "marks each packet that finds `mark_at` packets or more waiting, as DCTCP needs it",
            keys: &[must(Parameter::integer("mark_at", 20, 1..=1_000_000_000, "packets waiting"))],
        },
        Variant {
            name: "token-bucket",
            meaning: "shapes the traffic to a rate, with bursts",
            keys: &[
                must(Parameter::rate("rate", MBPS, "bits in a second, headers included").positive()),
                must(
                    Parameter::size("burst", 10_000, "bytes that may be sent at once after a pause; at least a packet")
                        .positive(),
                ),
            ],
        },
        Variant {
            name: "codel",
            meaning: "drops or marks packets if they wait too long; 1000 packets by default",
            keys: &[TARGET, INTERVAL, MTU, ECN],
        },
        Variant {
            name: "fq-codel",
            meaning: "a queue for each flow, with CoDel in each; 10240 packets by default",
            keys: &[
                TARGET,
                INTERVAL,
                MTU,
                ECN,
                may(Parameter::integer("queues", 1024, 1..=1 << 20, "number of queues, which flows are hashed to")),
                may(Parameter::size("quantum", 1500, "bytes that a queue sends in its turn").positive()),
                may(Parameter::size("memory", 32 << 20, "bytes of all queues together").positive()),
            ],
        },
        Variant {
            name: "priority",
            meaning: "a queue for each class of packets, each with the limit; the highest class is sent first",
            keys: &[],
        },
    ],
};

pub(crate) const IMPAIRMENTS: Shape = Shape {
    noun: "an impairment",
    name: "impairment",
    several: true,
    meaning: "impairments that links name with their key `impairment`; they only add delay",
    keys: &[
        must(Parameter::text("name", "", "its name")),
        may(Parameter::duration(
            "jitter",
            Delay::from_ms(1),
            "further delay of each packet: the longest, the mean, or the scale",
        )
        .positive()),
        may(Parameter::choice(
            "distribution",
            "uniform",
            &["uniform", "normal", "pareto"],
            "how the jitter is distributed",
        )),
        may(Parameter::duration("deviation", Delay::ZERO, "standard deviation of normal jitter")),
        may(Parameter::float("shape", 3.0, 1.001..=100.0, "shape of Pareto jitter; its mean is jitter / (shape - 1)")),
        may(Parameter::boolean("keep_order", false, "whether no packet overtakes another one")),
        may(Parameter::fraction("reorder", 0.0, "probability that a packet skips the jitter and may overtake others")),
        may(Parameter::fraction("duplicate", 0.0, "probability that a packet arrives twice")),
        may(Parameter::fraction(
            "to_bad",
            0.0,
            "losses in bursts (Gilbert-Elliott): probability that a bad spell begins with the next packet",
        )),
        may(Parameter::fraction("to_good", 1.0, "probability that a bad spell ends with the next packet")),
        may(Parameter::fraction("loss_good", 0.0, "probability of a loss in good spells")),
        may(Parameter::fraction("loss_bad", 1.0, "probability of a loss in bad spells")),
    ],
    kinds: &[],
};

const MULTICAST: Key = may(Parameter::boolean(
    "multicast",
    false,
    "whether the source sends each packet once, and nodes on the way copy it to all destinations",
));
const STOP: Key = may(Parameter::duration("stop", Delay::MAX, "when it stops; never by default").positive());
const BYTES: Key = may(Parameter::size("size", 1, "what is sent in all; no bound by default").positive());
const PACKET: Key = other("packet", Form::Packet, "payload of a packet, or `internet-mix`");
const SEND_RATE: Key = may(Parameter::rate("rate", MBPS, "bits of payload in a second, on average").positive());

/// The keys of a TCP app. `profile` sets all of them, and what else there is.
const TCP: &[Key] = &[
    may(Parameter::size("size", 1, "bytes of a stream; without it, `writes` and `rate` go on to the end").positive()),
    may(Parameter::size("writes", 1, "bytes that the application writes at a time; all at the start by default")
        .positive()),
    may(Parameter::rate("rate", MBPS, "bits that the application writes in a second, with `writes`").positive()),
    may(Parameter::choice("profile", "linux", PROFILES, "the implementation whose settings hold")),
    may(Parameter::choice("congestion", "cubic", &["newreno", "cubic", "dctcp", "bbr", "vegas"], "congestion control")),
    may(Parameter::size("mss", 1460, "largest segment; 536 in profile ns3").positive()),
    may(Parameter::integer("initial_window", 10, 1..=1 << 16, "initial window in segments (RFC 6928)")),
    may(Parameter::size("buffer", 4 << 20, "send buffer and receive buffer; 128KiB in profile ns3").positive()),
    may(Parameter::boolean("sack", true, "whether acknowledgements are selective (RFC 2018)")),
    may(Parameter::boolean("timestamps", true, "whether segments have timestamps (RFC 7323)")),
    may(Parameter::integer("delayed_ack", 2, 1..=1 << 10, "segments that are acknowledged together")),
    may(Parameter::duration("min_rto", Delay::from_ms(200), "least retransmission timeout; 1s in profile ns3")),
    may(Parameter::boolean("pacing", false, "whether segments are spread over the round trip")),
    may(Parameter::boolean("hystart", true, "whether cubic leaves slow start before losses (RFC 9406)")),
];
/// The names of the profiles of TCP.
pub(crate) const PROFILES: &[&str] = &["linux", "ns3"];

pub(crate) const APP: Shape = Shape {
    noun: "an app",
    name: "app",
    several: true,
    meaning: "what sends: a flow for each pair of nodes of `from` and `to`",
    keys: &[
        must(Parameter::text("name", "", "its name, for tables and metrics")),
        other("from", Form::Select, "the nodes that begin"),
        other("to", Form::Select, "the nodes that they send to"),
        may(Parameter::choice(
            "pairs",
            "matching",
            &["matching", "all", "random"],
            "the first with the first and so on, the shorter list anew; each with each; each of `from` with one drawn",
        )),
        other(
            "flows",
            Form::Flows,
            "instead of `from` and `to`: the pairs, as in [[\"a\", \"b\"], [\"a\", \"c\", \"2s\"]], perhaps with starts",
        ),
        may(Parameter::duration("start", Delay::ZERO, "when it starts")),
        may(Parameter::integer(
            "class",
            0,
            0..=7,
            "the class of its packets; queues of kind `priority` send the highest first",
        )),
        may(Parameter::boolean(
            "ecn",
            false,
            "whether its packets may be marked instead of dropped (RFC 3168); those of `dctcp` always may",
        )),
        may(Parameter::duration("spread", Delay::ZERO, "flows start up to so much later, drawn from the seed")),
    ],
    kinds: &[
        Variant {
            name: "constant",
            meaning: "packets at a constant rate",
            keys: &[
                must(Parameter::rate("rate", MBPS, "bits of payload in a second").positive()),
                PACKET,
                BYTES,
                STOP,
                MULTICAST,
            ],
        },
        Variant {
            name: "poisson",
            meaning: "packets as a Poisson process",
            keys: &[
                SEND_RATE,
                may(Parameter::duration("gap", Delay::from_ms(1), "instead of `rate`: mean time between packets")
                    .positive()),
                PACKET,
                BYTES,
                STOP,
                MULTICAST,
            ],
        },
        Variant {
            name: "on-off",
            meaning: "packets at a constant rate, on and off",
            keys: &[
                must(Parameter::rate("rate", MBPS, "bits of payload in a second while it is on").positive()),
                must(Parameter::duration("on", Delay::from_ms(100), "mean length of on periods").positive()),
                must(Parameter::duration("off", Delay::from_ms(100), "mean length of off periods").positive()),
                may(Parameter::choice(
                    "periods",
                    "exponential",
                    &["exponential", "constant", "pareto", "pareto-least"],
                    "how their lengths are distributed; of `pareto-least`, `on` and `off` are the least lengths",
                )),
                may(Parameter::float("shape", 1.5, 1.0..=100.0, "of Pareto periods; above 1")),
                PACKET,
                BYTES,
                STOP,
                MULTICAST,
            ],
        },
        Variant {
            name: "request-response",
            meaning: "a client asks a server, waits for the whole response, thinks, and asks again",
            keys: &[
                may(Parameter::size("request", 100, "payload of a request").positive()),
                may(Parameter::size("response", 10_000, "payload of a response").positive()),
                may(Parameter::size("segment", 1460, "payload of a packet of a response").positive()),
                may(Parameter::duration("think", Delay::from_ms(100), "mean time from a response to the next request")),
                may(Parameter::choice("thinking", "exponential", &["exponential", "constant"], "its distribution")),
                may(Parameter::duration("service", Delay::ZERO, "mean time from a request's arrival to its response")),
                may(Parameter::choice("serving", "exponential", &["exponential", "constant"], "its distribution")),
                may(Parameter::duration(
                    "timeout",
                    Delay::from_secs(1),
                    "how long a client waits before it asks again",
                )
                .positive()),
                may(Parameter::integer("requests", 0, 0..=u64::MAX, "how many responses it wants; 0: no bound")),
                STOP,
            ],
        },
        Variant {
            name: "transfer",
            meaning: "bytes moved reliably through an idealised sliding window, with segments of one size: for comparisons with theory and for speed, and no model of TCP",
            keys: &[
                must(Parameter::size("size", 1, "what is to arrive").positive()),
                may(Parameter::size("segment", 1460, "payload of a segment").positive()),
                may(Parameter::integer(
                    "window",
                    64,
                    1..=parades_packet::description::WINDOW_MAX as u64,
                    "segments that may be under way",
                )),
                may(Parameter::choice("control", "reno", &["reno", "fixed"], "whether the window adapts to losses")),
            ],
        },
        Variant {
            name: "tcp",
            meaning: "a stream of bytes over TCP (RFC 9293), as Linux or ns-3 speaks it",
            keys: TCP,
        },
    ],
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

pub(crate) const EVENT: Shape = Shape {
    noun: "an event",
    name: "event",
    several: true,
    meaning: "failures, repairs and changes of links or nodes, each at a time",
    keys: &[
        must(Parameter::duration("at", Delay::from_secs(1), "when").positive()),
        other("link", Form::Select, "the links"),
        other("node", Form::Select, "or the nodes"),
        may(Parameter::choice("state", "down", &["down", "up"], "what becomes of them")),
        may(Parameter::rate("rate", MBPS, "the links' rate from now on").positive()),
        may(Parameter::duration("delay", Delay::ZERO, "their delay from now on")),
        may(Parameter::fraction("loss", 0.0, "their probability of loss from now on")),
        may(Parameter::duration("for", Delay::from_secs(1), "after so long all is again as the file begins").positive()),
    ],
    kinds: &[],
};

pub(crate) const MEASURE: Shape = Shape {
    noun: "the table `measure`",
    name: "measure",
    several: false,
    meaning: "what is measured beside what always is",
    keys: &[
        may(Parameter::duration("every", Delay::ZERO, "time between two samples; 0s: none")),
        other("links", Form::Select, "links whose utilisation and queue are sampled one by one"),
        other("apps", Form::Select, "apps whose throughput is sampled one by one"),
        other(
            "flows",
            Form::Select,
            "flows whose goodput is sampled one by one, and of TCP its window, round trip and rate: `video#3` is flow 3 \
             of the table of flows, an app's name all of its flows",
        ),
        may(Parameter::boolean(
            "percentiles",
            true,
            "whether each flow has percentiles of its delay, a kilobyte or so each",
        )),
    ],
    kinds: &[],
};

/// The tables of a file, beside its parameters.
pub(crate) const TABLES: &[&Shape] =
    &[&DEFAULTS, &GROUP, &PART, &LINK, &QUEUES, &IMPAIRMENTS, &ROUTE, &APP, &EVENT, &MEASURE];

/// The queue of a link by default, in packets.
pub(crate) const QUEUE_DEFAULT: u32 = 100;
/// The payload of a packet by default, in bytes.
pub(crate) const PACKET_DEFAULT: u32 = 1000;
/// The greatest size of a file, in bytes.
pub(crate) const FILE_BYTES_MAX: u64 = 256 * 1024 * KIB;
