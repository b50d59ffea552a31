//! The table of apps.

use super::{Form, Key, Shape, kind, may, must, other};
use parades_config::Parameter;
use parades_config::units::MBPS;
use parades_core::time::Delay;

const MULTICAST: Key = may(Parameter::boolean(
    "multicast",
    false,
    "whether the source sends each packet once, and nodes on the way copy it to all destinations",
));
const STOP: Key = may(Parameter::duration("stop", Delay::MAX, "when it stops; never by default").positive());
const BYTES: Key = may(Parameter::size("size", 1, "what is sent in all; no bound by default").positive());
const PACKET: Key = other("packet", Form::Packet, "payload of a packet, or `internet-mix`");
const SEND_RATE: Key = may(Parameter::rate("rate", MBPS, "bits of payload in a second, on average").positive());

/// Returns the key of a size above zero. A number without a unit is bytes, as other simulators have it.
const fn bytes(parameter: Parameter) -> Key {
    may(parameter.positive().with_default_unit("B"))
}

/// The keys of a TCP app. `profile` sets all of them, and what else there is.
const TCP: &[Key] = &[
    bytes(Parameter::size("size", 1, "bytes of a stream; without it, `writes` and `rate` go on to the end")),
    bytes(Parameter::size(
        "writes",
        1,
        "bytes that the application writes at a time; all at the start by default, in profile ns3 an `mss`",
    )),
    may(Parameter::rate("rate", MBPS, "bits that the application writes in a second, with `writes`").positive()),
    may(Parameter::rate(
        "read_rate",
        MBPS,
        "bits that the receiving application reads in a second; the window closes while the receive buffer is full; by \
         default it reads all at once",
    )
    .positive()),
    may(Parameter::choice("profile", "linux", PROFILES, "the implementation whose settings hold")),
    may(Parameter::choice("congestion", "cubic", &["newreno", "cubic", "dctcp", "bbr", "vegas"], "congestion control")),
    bytes(Parameter::size(
        "mss",
        1460,
        "largest segment; 536B in profile ns3; less where the `mtu` of a link on a path of the app's flows asks for it",
    )),
    may(Parameter::integer("initial_window", 10, 1..=1 << 16, "initial window in segments (RFC 6928)")),
    bytes(Parameter::size("buffer", 4 << 20, "send buffer and receive buffer; 128KiB in profile ns3")),
    may(Parameter::boolean("sack", true, "whether acknowledgements are selective (RFC 2018)")),
    may(Parameter::boolean("timestamps", true, "whether segments have timestamps (RFC 7323)")),
    may(Parameter::integer("delayed_ack", 2, 1..=1 << 10, "segments that are acknowledged together")),
    may(Parameter::duration("min_rto", Delay::from_ms(200), "least retransmission timeout; 1s in profile ns3")),
    may(Parameter::duration(
        "keep_alive",
        Delay::from_hours(2),
        "silence after which the other end is asked whether it is alive (RFC 9293); never by default",
    )
    .positive()),
    may(Parameter::duration(
        "user_timeout",
        Delay::from_secs(900),
        "time without an acknowledgement after which a connection is given up (RFC 5482); never by default",
    )
    .positive()),
    may(Parameter::boolean(
        "pacing",
        false,
        "whether segments are spread over the round trip; those of bbr always are",
    )
    .needs("congestion!=bbr")),
    may(Parameter::boolean("hystart", true, "whether cubic leaves slow start before losses (RFC 9406)")
        .needs("congestion=cubic")),
];
/// The names of the profiles of TCP.
const PROFILES: &[&str] = &["linux", "ns3"];

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
            "the first with the first and so on, the shorter list is repeated; each with each; each of `from` with one \
             drawn; no node sends to itself",
        )),
        other(
            "except",
            Form::Except,
            "nodes whose flows are left out of the pairs, and pairs that are: `[\"a\", [\"b\", \"c\"]]` leaves out all \
             flows from or to `a`, and those from `b` to `c`",
        ),
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
        kind(
            "constant",
            "packets at a constant rate",
            &[
                must(Parameter::rate("rate", MBPS, "bits of payload in a second").positive()),
                PACKET,
                BYTES,
                STOP,
                MULTICAST,
            ],
        ),
        kind(
            "poisson",
            "packets as a Poisson process",
            &[
                SEND_RATE,
                may(Parameter::duration("gap", Delay::from_ms(1), "instead of `rate`: mean time between packets")
                    .positive()),
                PACKET,
                BYTES,
                STOP,
                MULTICAST,
            ],
        ),
        kind(
            "on-off",
            "packets at a constant rate, on and off",
            &[
                must(Parameter::rate("rate", MBPS, "bits of payload in a second while it is on").positive()),
                must(Parameter::duration("on", Delay::from_ms(100), "mean length of on periods").positive()),
                must(Parameter::duration("off", Delay::from_ms(100), "mean length of off periods").positive()),
                may(Parameter::choice(
                    "periods",
                    "exponential",
                    &["exponential", "constant", "pareto", "pareto-least"],
                    "how their lengths are distributed; of `pareto-least`, `on` and `off` are the least lengths",
                )),
                may(Parameter::float("shape", 1.5, 1.0..=100.0, "of Pareto periods; above 1")
                    .needs("periods=pareto|pareto-least")),
                PACKET,
                BYTES,
                STOP,
                MULTICAST,
            ],
        ),
        kind(
            "request-response",
            "a client asks a server, waits for the whole response, thinks, and asks again",
            &[
                may(Parameter::size("request", 100, "payload of a request").positive()),
                may(Parameter::size("response", 10_000, "payload of a response").positive()),
                may(Parameter::size("segment", 1460, "payload of a packet of a response").positive()),
                may(Parameter::duration("think", Delay::from_ms(100), "mean time from a response to the next request")),
                may(Parameter::choice("thinking", "exponential", &["exponential", "constant"], "its distribution")
                    .needs("think")),
                may(Parameter::duration("service", Delay::ZERO, "mean time from a request's arrival to its response")),
                may(Parameter::choice("serving", "exponential", &["exponential", "constant"], "its distribution")
                    .needs("service")),
                may(Parameter::duration(
                    "timeout",
                    Delay::from_secs(1),
                    "how long a client waits before it asks again",
                )
                .positive()),
                may(Parameter::integer("requests", 0, 0..=u64::MAX, "how many responses it wants; 0: no bound")),
                STOP,
            ],
        ),
        kind(
            "transfer",
            "bytes moved reliably through an idealised sliding window, with segments of one size: for comparisons with theory and for speed, and no model of TCP",
            &[
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
        ),
        kind("tcp", "a stream of bytes over TCP (RFC 9293), as Linux or ns-3 speaks it", TCP),
    ],
};
