//! The access links of peers: parameters that peer-to-peer scenarios with bulk data share, and the carrier
//! that these make.

use crate::words::{Table, value_of, words};
use parades_carriers::{Both, Capacity, Underlay, Which};
use parades_config::{Parameter, Values};
use parades_core::time::Delay;

/// The parts of a network that a message meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// The underlay.
    Latency,
    /// The access links.
    Capacity,
    /// The underlay, and with data the access links.
    Both,
}

const NETWORKS: Table<Network, 3> =
    [("both", Network::Both), ("latency", Network::Latency), ("capacity", Network::Capacity)];

/// The carrier of control messages by latency, and of data by capacity.
pub(crate) type Links<M> = Both<Underlay, Capacity<M>, M>;

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::choice(
        "network",
        "both",
        &words(&NETWORKS),
        "messages take the latency of the underlay; or data takes capacity of the access links and nothing else takes time; or both",
    ),
    Parameter::rate("up", 10_000, "capacity of a peer's link to the network").positive(),
    Parameter::rate("down", 20_000, "capacity of the network's link to a peer").positive(),
    Parameter::boolean(
        "control_takes_bandwidth",
        false,
        "control messages take capacity too, by their length; false: latency alone",
    ),
];

/// Returns the parts of the network.
pub(crate) fn network(values: &Values) -> Network {
    value_of(values, "network", &NETWORKS)
}

/// The functions of a protocol's messages.
#[derive(Clone, Copy)]
pub(crate) struct Lengths<M> {
    /// Returns the bits of data of a message; 0 for control messages.
    pub(crate) data: fn(&M) -> f64,
    /// Returns the bits of a message, with its headers.
    pub(crate) whole: fn(&M) -> f64,
    /// Names the carrier of a message where control messages take latency alone: data takes the second.
    pub(crate) which: fn(&M) -> Which,
}

/// Makes the carrier of `nodes` nodes with links.
pub(crate) fn links<M>(values: &Values, underlay: Underlay, nodes: u32, lengths: Lengths<M>) -> Links<M> {
    let underlay = if network(values) == Network::Capacity { Underlay::constant(Delay::ZERO) } else { underlay };
    let capacities = [values.rate("up"), values.rate("down")].map(|rate| rate as f64);
    let capacities = vec![capacities; nodes as usize];
    let (bits, which): (_, fn(&M) -> Which) = match values.boolean("control_takes_bandwidth") {
        true => (lengths.whole, |_| Which::Second),
        false => (lengths.data, lengths.which),
    };
    Both::new(underlay.clone(), Capacity::new(underlay, capacities, bits), which)
}
