//! The shapes of tables: their keys, and the values and meanings of the keys. Checks, error messages and the
//! JSON schema are made from them.

mod apps;
mod changes;
mod impairments;
mod links;
mod parts;
mod queues;

pub(crate) use apps::APP;
pub(crate) use changes::{EVENT, MEASURE};
pub(crate) use impairments::IMPAIRMENTS;
pub(crate) use links::{GROUP, LINK, ROUTE};
pub(crate) use parts::{FILE, PART};
pub(crate) use queues::{QUEUE_KEYS, QUEUE_OF_LINK, QUEUES};

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
    /// As `Limit`, or the name of a queue or of its kind, or a table of the shape [`QUEUE_OF_LINK`].
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
    /// Names, and pairs of names.
    Except,
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) meaning: &'static str,
    pub(crate) required: bool,
    /// Other names of the key.
    pub(crate) also: &'static [&'static str],
}

impl Key {
    /// Returns true if this is a name of the key.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }
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
    /// Other names of the kind.
    pub(crate) also: &'static [&'static str],
}

impl Variant {
    /// Returns true if this is a name of the kind.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }
}

impl Shape {
    /// Returns the keys of a table of this kind.
    pub(crate) fn keys_of(&self, kind: Option<&Variant>) -> impl Iterator<Item = &'static Key> + Clone {
        self.keys.iter().chain(kind.map_or(&[][..], |kind| kind.keys))
    }

    /// Returns true if the command line may set the kind of such a table: a queue. Each kind of queue has a
    /// default for almost all of its keys.
    pub(crate) fn has_settable_kind(&self) -> bool {
        self.name == QUEUES.name
    }

    /// Returns the kinds that have a key of this name.
    pub(crate) fn kinds_with(&self, key: &str) -> impl Iterator<Item = &'static Variant> {
        self.kinds.iter().filter(move |kind| kind.keys.iter().any(|own| own.is_called(key)))
    }
}

/// Returns a key that may be left out.
const fn may(parameter: Parameter) -> Key {
    Key { name: parameter.key(), meaning: parameter.meaning(), form: Form::One(parameter), required: false, also: &[] }
}

/// Returns a key that must be given.
const fn must(parameter: Parameter) -> Key {
    Key { required: true, ..may(parameter) }
}

const fn other(name: &'static str, form: Form, meaning: &'static str) -> Key {
    Key { name, form, meaning, required: false, also: &[] }
}

const fn required(key: Key) -> Key {
    Key { required: true, ..key }
}

/// Returns the key with further names.
const fn also(key: Key, also: &'static [&'static str]) -> Key {
    Key { also, ..key }
}

const fn kind(name: &'static str, meaning: &'static str, keys: &'static [Key]) -> Variant {
    Variant { name, meaning, keys, also: &[] }
}

/// Returns the kind with further names.
const fn kind_also(kind: Variant, also: &'static [&'static str]) -> Variant {
    Variant { also, ..kind }
}

const RATE: Key = may(Parameter::rate("rate", MBPS, "bits in a second, each way").positive());
const RATE_BACK: Key = may(Parameter::rate(
    "rate_back",
    MBPS,
    "bits in a second from `to` back to `from`, if that differs from `rate`, as on an ADSL line",
)
.positive());
const DELAY: Key = may(Parameter::duration("delay", Delay::ZERO, "propagation delay"));
const LOSS: Key = may(Parameter::fraction("loss", 0.0, "probability that a packet which was sent does not arrive"));
const QUEUE: Key = other(
    "queue",
    Form::Queue,
    "what may wait at each end: packets; bytes with a unit; the name of a queue, or of its kind, as in `codel`; or a \
     table with the keys of a queue, as in { kind = \"red\", limit = 50 }",
);
const QUEUE_BACK: Key = other(
    "queue_back",
    Form::Queue,
    "what may wait at the end `to`, if that differs; as `queue`, which is then of `from`",
);
const MTU: Key = may(Parameter::size(
    "mtu",
    1500,
    "largest IP packet; larger ones are refused before the run, and the `mss` of TCP follows it; no bound by default",
));
const FRAMING: Key = may(Parameter::choice(
    "framing",
    "none",
    FRAMINGS,
    "frames of the link: ppp adds 2 bytes to a packet, ethernet 18, with short frames padded to 64 bytes and, between \
     frames, 8 bytes of preamble and a gap of 12",
));
/// The names of [`parades_packet::description::Framing`].
pub(crate) const FRAMINGS: &[&str] = &["none", "ppp", "ethernet"];
const IMPAIRMENT: Key = may(Parameter::text("impairment", "", "the name of the link's impairment"));
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
    may(Parameter::integer("ip", 4, 4..=6, "version of IP: 4 or 6, whose headers have 20 or 40 bytes")),
    may(Parameter::size(
        "headers",
        30,
        "headers that are added to the payload of a datagram; by default UDP 8, IP 20 or 40, and PPP 2 unless a link has a \
         `framing`; TCP has its own",
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
        MTU,
        IMPAIRMENT,
        other("packet", Form::Packet, "payload of packets; 1000B by default"),
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
