//! `gossip`.

use super::{Scenario, joined, length, underlay};
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::driver::AsModel;
use parades_p2p::gossip::{Gossip, Parameters};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "gossip",
    "rumours that nodes push to, or pull from, random other nodes",
    &joined::<{ length(PARAMETERS) }>(PARAMETERS),
    build,
);

const PARAMETERS: &[&[Parameter]] =
    &[Parameters::PARAMETERS, &[underlay::latency(Delay::from_ms(50))], underlay::PARAMETERS];

/// The number of periods after the beginning of the last rumour at which a run ends by default.
const PERIODS: u64 = 60;

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters::from_values(values)?;
    let nodes = parameters.nodes;
    let gossip = Gossip::new(parameters).map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    let (carrier, notes) = underlay::build(values, ("nodes", nodes), seed)?;
    let Parameters { period, rumours, .. } = gossip.parameters();
    let rest = Delay::from_ps(period.as_ps().saturating_mul(PERIODS));
    let end = gossip.beginning(rumours - 1).saturating_add(rest).min(Time::from_ps(u64::MAX - 1));
    Ok(Simulation::saved(AsModel::new(gossip, carrier), end).with_notes(notes))
}
