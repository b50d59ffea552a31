//! `gossipsub`.

use super::{Scenario, check_memory, int32, underlay};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::Delay;
use parades_p2p::driver::AsModel;
use parades_p2p::gossipsub::{GossipSub, Parameters, Scores, Subscriptions, TOPICS_MAX};

pub(crate) const SCENARIO: Scenario = Scenario { set_presets, ..BASE };

const BASE: Scenario = Scenario::new(
    "gossipsub",
    "GossipSub v1.1: publish and subscribe over meshes of peers, which have scores",
    &underlay::join::<{ OWN.len() + underlay::PARAMETERS.len() }>(OWN, underlay::PARAMETERS),
    build,
);

const OWN: &[Parameter] = &[
    Parameter::choice(
        "preset",
        "none",
        &words(&PRESETS),
        "`interop`: 700 nodes, messages of 96 KiB, validation of 5ms, no scores, as in libp2p's scenario `subnet-blob-msg`",
    ),
    Parameter::integer("nodes", 1000, 2..=4_294_967_293, "number of nodes"),
    Parameter::integer("connections", 20, 1..=1_000_000, "least number of connections of a node"),
    Parameter::integer("topics", 1, 1..=TOPICS_MAX as u64, "number of topics"),
    Parameter::choice(
        "subscriptions",
        "all",
        &words(&SUBSCRIPTIONS),
        "every node subscribes to all topics; or node `i` to topic `i mod topics` alone",
    ),
    Parameter::integer(
        "messages",
        16,
        0..=1_000_000,
        "number of published messages, each by a random node on a random topic",
    ),
    Parameter::integer("message_bytes", 1024, 0..=1_000_000_000, "length of a message in bytes"),
    Parameter::duration("warm_up", Delay::from_secs(120), "time of the first publication"),
    Parameter::duration("spacing", Delay::from_secs(12), "time between two publications"),
    Parameter::duration("validation", Delay::ZERO, "time that a node needs to validate a message"),
    Parameter::integer("silent", 0, 0..=4_294_967_293, "number of nodes that forward nothing"),
    Parameter::integer("spammers", 0, 0..=4_294_967_293, "number of nodes that send invalid messages"),
    Parameter::integer("degree", 6, 1..=10_000, "D, wanted number of peers in a mesh"),
    Parameter::integer("degree_low", 4, 0..=10_000, "D_lo, number of peers below which a node grafts"),
    Parameter::integer("degree_high", 12, 1..=10_000, "D_hi, number of peers above which a node prunes"),
    Parameter::integer("degree_score", 4, 0..=10_000, "D_score, number of best peers that a node keeps when it prunes"),
    Parameter::integer(
        "degree_out",
        2,
        0..=10_000,
        "D_out, least number of peers in a mesh to which the node connected",
    ),
    Parameter::integer("degree_lazy", 6, 0..=10_000, "D_lazy, least number of peers that get gossip"),
    Parameter::fraction("gossip_factor", 0.25, "fraction of peers that get gossip"),
    Parameter::duration("heartbeat", Delay::from_secs(1), "time between heartbeats").positive(),
    Parameter::boolean("flood_publish", true, "a node's own messages go to all its peers in the topic"),
    Parameter::duration("prune_backoff", Delay::from_secs(60), "time after a PRUNE without a GRAFT"),
    Parameter::integer("prune_peers", 16, 0..=10_000, "number of peers that a PRUNE offers; 0: no peer exchange"),
    Parameter::boolean("scores", true, "peers have scores, with the weights of `parades_p2p::gossipsub::Scores`"),
    underlay::latency(Delay::from_ms(50)),
];

#[derive(Clone, Copy, PartialEq)]
enum Preset {
    None,
    Interop,
}

const PRESETS: Table<Preset, 2> = [("none", Preset::None), ("interop", Preset::Interop)];
const SUBSCRIPTIONS: Table<Subscriptions, 2> = [("all", Subscriptions::All), ("split", Subscriptions::Split)];

/// The memory that a connection takes at each of its two ends while the network is built, in bytes.
const CONNECTION_BYTES: u64 = 8;

/// Sets the parameters that a preset changes.
fn set_presets(values: &mut Values) {
    if value_of(values, "preset", &PRESETS) == Preset::Interop {
        values.preset("nodes", "700");
        values.preset("message_bytes", "98304");
        values.preset("validation", "5ms");
        values.preset("scores", "false");
    }
}

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = parameters(values);
    let connections = u64::from(parameters.nodes) * u64::from(parameters.connections);
    check_memory(values, "nodes", connections * 2 * CONNECTION_BYTES)?;
    let nodes = parameters.nodes;
    let gossipsub =
        GossipSub::new(parameters, seed).map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    let (underlay, notes) = underlay::build(values, ("nodes", nodes), seed)?;
    let carrier = underlay.in_order();
    let end = gossipsub.end();
    Ok(Simulation::distributed(AsModel::new(gossipsub, carrier), end).with_notes(notes))
}

fn parameters(values: &Values) -> Parameters {
    let int = |key| int32(values, key);
    Parameters {
        nodes: int("nodes"),
        connections: int("connections"),
        topics: int("topics"),
        subscriptions: value_of(values, "subscriptions", &SUBSCRIPTIONS),
        messages: int("messages"),
        message_bytes: int("message_bytes"),
        warm_up: values.duration("warm_up"),
        spacing: values.duration("spacing"),
        validation: values.duration("validation"),
        silent: int("silent"),
        spammers: int("spammers"),
        degree: int("degree"),
        degree_low: int("degree_low"),
        degree_high: int("degree_high"),
        degree_score: int("degree_score"),
        degree_out: int("degree_out"),
        degree_lazy: int("degree_lazy"),
        gossip_factor: values.float("gossip_factor"),
        heartbeat: values.duration("heartbeat"),
        flood_publish: values.boolean("flood_publish"),
        prune_backoff: values.duration("prune_backoff"),
        prune_peers: int("prune_peers"),
        scores: values.boolean("scores").then(Scores::default),
        ..Parameters::default()
    }
}
