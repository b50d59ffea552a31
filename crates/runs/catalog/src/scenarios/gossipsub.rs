//! `gossipsub`.

use super::{Scenario, check_memory, joined, length, underlay};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::Delay;
use parades_p2p::driver::AsModel;
use parades_p2p::gossipsub::{GossipSub, Parameters};

pub(crate) const SCENARIO: Scenario = Scenario { set_presets, ..BASE };

const BASE: Scenario = Scenario::new(
    "gossipsub",
    "GossipSub v1.1: publish and subscribe over meshes of peers, which have scores",
    &joined::<{ length(PARAMETERS) }>(PARAMETERS),
    build,
);

const PARAMETERS: &[&[Parameter]] =
    &[&[PRESET], Parameters::PARAMETERS, &[underlay::latency(Delay::from_ms(50))], underlay::PARAMETERS];

const PRESET: Parameter = Parameter::choice(
    "preset",
    "none",
    &words(&PRESETS),
    "`interop`: 700 nodes, messages of 96 KiB, validation of 5ms, no scores, as in libp2p's scenario `subnet-blob-msg`",
);

#[derive(Clone, Copy, PartialEq)]
enum Preset {
    None,
    Interop,
}

const PRESETS: Table<Preset, 2> = [("none", Preset::None), ("interop", Preset::Interop)];

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
    let parameters = Parameters::from_values(values)?;
    let connections = u64::from(parameters.nodes) * u64::from(parameters.connections);
    check_memory(values, "nodes", connections * 2 * CONNECTION_BYTES)?;
    let nodes = parameters.nodes;
    let gossipsub =
        GossipSub::new(parameters, seed).map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    let (underlay, notes) = underlay::build(values, ("nodes", nodes), seed)?;
    let carrier = underlay.in_order();
    let end = gossipsub.end();
    Ok(Simulation::saved(AsModel::new(gossipsub, carrier), end).with_notes(notes))
}
