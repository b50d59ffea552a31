//! The access links of peers: parameters that peer-to-peer scenarios with bulk data share, and the carrier
//! that these make.

use crate::words::{Table, value_of, words};
use parades_carriers::{Both, Capacity, Underlay, Which};
use parades_config::{ConfigError, Parameter, Values, quoted, units};
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

/// The condition of links.
const HAS_LINKS: &str = "network=capacity|both";

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::choice(
        "network",
        "both",
        &words(&NETWORKS),
        "messages take the latency of the underlay; or data takes capacity of the access links and nothing else takes time; or both",
    ),
    Parameter::rate("up", 10_000, "capacity of a peer's link to the network").positive().needs(HAS_LINKS),
    Parameter::rate("down", 20_000, "capacity of the network's link to a peer").positive().needs(HAS_LINKS),
    Parameter::text(
        "link_classes",
        "",
        "links of the first peers, in their order, where these differ: `20x128kbps/1Mbps, 5x1Mbps/10Mbps` are 20 peers \
         with `up` and `down` of 128 kbit/s and 1 Mbit/s, and then 5 others",
    )
    .needs(HAS_LINKS),
    Parameter::boolean(
        "control_takes_bandwidth",
        false,
        "control messages take capacity too, by their length; false: latency alone",
    )
    .needs(HAS_LINKS),
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

/// Makes the carrier of nodes with links: a node that has no class, and then a peer for each entry of
/// `groups`, which is its group. Peers of different groups exchange no data. Each group gets a solver, unless
/// control messages take bandwidth: those connect all groups.
pub(crate) fn links<M>(
    values: &Values,
    underlay: Underlay,
    groups: &[u32],
    lengths: Lengths<M>,
) -> Result<Links<M>, ConfigError> {
    let underlay = if network(values) == Network::Capacity { Underlay::constant(Delay::ZERO) } else { underlay };
    let capacities = capacities(values, groups.len())?;
    if values.boolean("control_takes_bandwidth") {
        let capacity = Capacity::new(underlay.clone(), capacities, lengths.whole);
        return Ok(Both::new(underlay, capacity, |_| Which::Second));
    }
    // The first node sends no data, and may be in any group.
    let of_nodes: Vec<u32> = [0].into_iter().chain(groups.iter().copied()).collect();
    let capacity = Capacity::new(underlay.clone(), capacities, lengths.data).with_groups(&of_nodes);
    Ok(Both::new(underlay, capacity, lengths.which))
}

/// Returns the capacities of the links of all nodes, up and down.
fn capacities(values: &Values, peers: usize) -> Result<Vec<[f64; 2]>, ConfigError> {
    let common = [values.rate("up"), values.rate("down")].map(|rate| rate as f64);
    let mut capacities = vec![common; peers + 1];
    let mut free = &mut capacities[1..];
    for class in values.text("link_classes").split(',').map(str::trim).filter(|class| !class.is_empty()) {
        let Some((number, capacity)) = class_of(class) else {
            let message = format!("{} is not a class of links", quoted(class));
            return Err(values.error_at("link_classes", &message, "write NUMBERxUP/DOWN, as in `20x128kbps/1Mbps`"));
        };
        if number > free.len() {
            let message = format!("the classes have more links than the {peers} peers");
            return Err(values.error_at("link_classes", &message, "lower their numbers, or raise `peers`"));
        }
        let (of_class, rest) = free.split_at_mut(number);
        of_class.fill(capacity);
        free = rest;
    }
    Ok(capacities)
}

/// Reads a class of links: the number of peers, and their capacities.
fn class_of(class: &str) -> Option<(usize, [f64; 2])> {
    let (number, capacity) = class.split_once('x')?;
    let (up, down) = capacity.split_once('/')?;
    let rate = |text: &str| units::parse_rate(text.trim()).ok().filter(|&rate| rate > 0).map(|rate| rate as f64);
    Some((number.trim().parse().ok()?, [rate(up)?, rate(down)?]))
}
