//! `wan`.

use super::{Scenario, about_file, check_memory, check_packet, joined, length, needing};
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Parameter, Place, Values, look_alikes};
use parades_core::time::Time;
use parades_packet::packet::PAYLOAD_MAX;
use parades_packet::wan::Parameters;
use parades_topology::generators::backbone;
use parades_topology::import::{self, Options};
use parades_topology::{NodeId, Topology};

/// The memory that a flow takes while the network is built, in bytes: its ends, its route and its state.
const FLOW_BYTES: u64 = 300;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "wan",
    "a wide-area network from a file (GraphML, GML, JSON, edges) or a built-in one, under gravity traffic",
    &needing(joined::<{ length(PARAMETERS) }>(PARAMETERS), NEEDS),
    build,
);

const PARAMETERS: &[&[Parameter]] = &[&[TOPOLOGY], Options::PARAMETERS, Parameters::PARAMETERS];

/// The built-in backbone has rates and delays of its own.
const NEEDS: &[(&str, &str)] =
    &[("default_rate", "topology"), ("default_delay", "topology"), ("least_delay", "topology")];

const TOPOLOGY: Parameter = Parameter::path(
    "topology",
    "GraphML, GML, JSON, list of edges, or topology of BRITE or HPCC; without one, a built-in backbone",
);

/// The end of a run by default.
const UNTIL: Time = Time::from_ps(10_000_000_000_000);

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let (topology, losses, mut notes) = topology(values)?;
    notes.extend(look_alikes("nodes", (0..).take(topology.nodes()).map(|node| topology.name(NodeId(node)))));
    check_packet(values, PAYLOAD_MAX)?;
    let parameters = Parameters { losses, ..Parameters::from_values(values)? };
    // Checked before flows are drawn, which may take more memory than there is.
    check_memory(values, "flows", u64::from(parameters.flows) * FLOW_BYTES)?;
    let wan = parameters.build(topology, seed).map_err(|error| {
        let error = ConfigError::new(error.to_string());
        match values.path("topology") {
            Some(path) => error.at(Place::File(path)),
            None => error,
        }
    })?;
    if wan.load < parameters.load {
        notes.push(format!(
            "the most loaded link is offered {:.4} of its rate, because all flows together send {} packets a second at most (`packets_per_s`)",
            wan.load, parameters.packets_per_s
        ));
    }
    Ok(Simulation::saved(wan.network, UNTIL).with_notes(notes))
}

/// Returns the topology, the probability of loss of each link, and notes for the user on the file.
fn topology(values: &Values) -> Result<(Topology, Vec<f64>, Vec<String>), ConfigError> {
    if let Some(path) = values.path("topology") {
        let options = Options::from_values(values)?;
        let read = import::read(&path, &options).map_err(|error| about_file(values, "topology", error))?;
        let losses = read.losses.iter().map(|loss| loss.unwrap_or(0.0)).collect();
        return Ok((read.topology, losses, read.notes));
    }
    Ok((backbone(), Vec::new(), Vec::new()))
}
