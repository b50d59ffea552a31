//! `averaging`.

use super::{Scenario, joined, length, underlay};
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::Delay;
use parades_p2p::averaging::{Averaging, Parameters};
use parades_p2p::driver::AsModel;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "averaging",
    "gossip averaging: pairs of nodes take the mean of their values, until every node has the mean of all",
    &joined::<{ length(PARAMETERS) }>(PARAMETERS),
    build,
);

const PARAMETERS: &[&[Parameter]] =
    &[Parameters::PARAMETERS, &[underlay::latency(Delay::from_ms(50))], underlay::PARAMETERS];

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters::from_values(values)?;
    let nodes = parameters.nodes;
    let averaging =
        Averaging::new(parameters).map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    let (carrier, notes) = underlay::build(values, ("nodes", nodes), seed)?;
    let end = averaging.end();
    Ok(Simulation::saved(AsModel::new(averaging, carrier), end).with_notes(notes))
}
