//! The queues of links: tables with names, and tables that stand at a link.

use super::{Form, Key, Shape, Variant, also, kind, kind_also, may, must, other};
use parades_config::Parameter;
use parades_config::units::MBPS;
use parades_core::time::Delay;

pub(crate) const QUEUES: Shape = Shape {
    noun: "a queue",
    name: "queue",
    several: true,
    meaning: "queues that links name with their key `queue`",
    keys: &[must(Parameter::text("name", "", "its name")), LIMIT, DEVICE],
    kinds: KINDS,
};

/// The keys of links whose value is a queue.
pub(crate) const QUEUE_KEYS: [&str; 2] = ["queue", "queue_back"];

/// The table that a link may have as the value of [`QUEUE_KEYS`].
pub(crate) const QUEUE_OF_LINK: Shape = Shape {
    noun: "a queue",
    name: "queue",
    several: false,
    meaning: "the queue of a link, without a name",
    keys: &[LIMIT, DEVICE],
    kinds: KINDS,
};

const LIMIT: Key = other("limit", Form::Limit, "what may wait: packets, or bytes with a unit");
const DEVICE: Key =
    may(Parameter::integer("device", 0, 0..=1_000_000, "packets that wait in the device, unseen by the discipline"));
const ECN: Key =
    may(Parameter::boolean("ecn", true, "whether packets whose senders understand marks are marked, not dropped"));
const TARGET: Key = may(Parameter::duration("target", Delay::from_ms(5), "the waiting time that is acceptable"));
const INTERVAL: Key = may(Parameter::duration(
    "interval",
    Delay::from_ms(100),
    "the time for which packets may wait longer than `target` before one is dropped",
));
const MTU: Key = may(Parameter::size("mtu", 1500, "no packet is dropped while so few bytes remain"));

/// The queue of a data centre at 1 Gbit/s marks from 20 packets on (Alizadeh et al., SIGCOMM 2010, section
/// 4.1).
const MARK_AT_DEFAULT: u64 = 20;

const KINDS: &[Variant] = &[
    kind_also(
        kind("droptail", "first in, first out; a packet beyond the limit is dropped; 100 packets by default", &[]),
        &["drop-tail"],
    ),
    kind(
        "red",
        "random early detection: the longer the average queue, the more packets are dropped or marked; 100 packets by \
         default",
        RED,
    ),
    kind_also(
        kind(
            "dctcp",
            "marks each packet that finds `mark_at` packets or more waiting, as DCTCP needs it; 100 packets by default",
            &[also(may(Parameter::integer("mark_at", MARK_AT_DEFAULT, 1..=1_000_000_000, "packets waiting")), &["k"])],
        ),
        &["threshold"],
    ),
    kind(
        "pie",
        "drops or marks packets with a probability that follows the queueing delay (RFC 8033); 1000 packets by default",
        &[
            may(Parameter::duration("target", Delay::from_ms(15), "the queueing delay that is aimed at").positive()),
            also(
                may(Parameter::duration("update", Delay::from_ms(15), "time between two updates of the probability")
                    .positive()),
                &["tupdate"],
            ),
            may(Parameter::duration(
                "burst",
                Delay::from_ms(150),
                "length of a burst after a quiet time in which nothing is dropped",
            )),
            may(Parameter::size(
                "mean_packet",
                1500,
                "mean size of packets, headers included; nothing is dropped while two of them or less wait",
            )),
            may(Parameter::boolean(
                "ecn",
                true,
                "whether packets whose senders understand marks are marked, not dropped, while the probability is below 0.1",
            )),
        ],
    ),
    kind(
        "token-bucket",
        "shapes the traffic to a rate, with bursts; 100 packets by default",
        &[
            must(Parameter::rate("rate", MBPS, "bits in a second, headers included").positive()),
            must(
                Parameter::size("burst", 10_000, "bytes that may be sent at once after a pause; at least a packet")
                    .positive(),
            ),
        ],
    ),
    kind(
        "codel",
        "drops or marks packets if they wait too long; 1000 packets by default",
        &[TARGET, INTERVAL, MTU, ECN],
    ),
    kind_also(
        kind("fqcodel", "a queue for each flow, with CoDel in each; 10240 packets by default", FAIR),
        &["fq-codel"],
    ),
    kind(
        "cake",
        "a shaper, and queues that share the link among hosts and flows, with COBALT in each (Linux `sch_cake`, with one \
         tin: classes have no effect); 10240 packets by default",
        CAKE,
    ),
    kind(
        "priority",
        "a queue for each class of packets, each with the limit; the highest class is sent first; 100 packets by default",
        &[],
    ),
];

const RED: &[Key] = &[
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
    also(
        may(Parameter::fraction("probability", 0.02, "probability of a drop at the average `max`")),
        &["max_probability"],
    ),
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
];

const CAKE: &[Key] = &[
    also(
        may(Parameter::rate(
            "bandwidth",
            MBPS,
            "bits in a second at which packets are sent, with `overhead`; as fast as the link by default",
        )
        .positive()),
        &["rate"],
    ),
    may(Parameter::choice(
        "isolation",
        "triple",
        &["none", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple"],
        "among whom the link is shared: `triple` is among flows, whose share is divided by the number of busy flows of their \
         source or destination, whichever is more",
    )),
    may(Parameter::duration(
        "rtt",
        Delay::from_ms(100),
        "the usual round trip: packets may wait a twentieth of it, and longer once in it",
    )),
    may(Parameter::integer("overhead", 0, 0..=256, "bytes that the link below adds to each packet for the shaper")
        .needs("bandwidth")),
    may(Parameter::integer("mpu", 0, 0..=256, "least bytes of a packet for the shaper, with `overhead`")
        .needs("bandwidth")),
    may(Parameter::choice(
        "cells",
        "none",
        &["none", "atm", "ptm"],
        "how the link below divides packets: `atm` as ADSL, `ptm` as VDSL2",
    )
    .needs("bandwidth")),
    may(Parameter::boolean(
        "ingress",
        false,
        "whether dropped packets count as sent, as behind a bottleneck that they have passed",
    )),
    ECN,
    may(Parameter::size(
        "mtu",
        1514,
        "the largest packet, by which a low `bandwidth` allows longer waits; 1514B by default",
    )
    .positive()
    .needs("bandwidth")),
    may(Parameter::integer("queues", 1024, 1..=1 << 20, "number of queues, in sets of eight")),
    also(
        may(Parameter::size(
            "memory",
            4 << 20,
            "bytes of all queues together; four times `bandwidth` by `rtt`, and at least 4 MiB, by default",
        )
        .positive()),
        &["memlimit"],
    ),
];

const FAIR: &[Key] = &[
    TARGET,
    INTERVAL,
    MTU,
    ECN,
    also(
        may(Parameter::integer("queues", 1024, 1..=1 << 20, "number of queues, which flows are hashed to")),
        &["flows"],
    ),
    may(Parameter::size("quantum", 1500, "bytes that a queue sends in its turn").positive()),
    also(may(Parameter::size("memory", 32 << 20, "bytes of all queues together").positive()), &["memory_limit"]),
];
