//! `multicast`.

use super::{Scenario, Split, check_memory, joined, length, split_at};
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::shared::Shared;
use parades_core::time::Time;
use parades_models::multicast::{Copied, Multicast, Packet, Parameters};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "multicast",
    "packets multicast down binary trees, their data shared by all copies or copied at each hop",
    &joined::<{ length(PARAMETERS) }>(PARAMETERS),
    build,
);

const SPLIT: Split = split_at(Parameters::PARAMETERS, "delay");
const SHARE: Parameter =
    Parameter::boolean("share", true, "all copies of a packet share its data; false: each copy has its own data");
const PARAMETERS: &[&[Parameter]] = &[SPLIT.before, &[SHARE], SPLIT.from];

/// The end of a run by default: about 70 hops with the default delay.
const UNTIL: Time = Time::from_ps(100_000_000_000);

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters::from_values(values)?;
    let refused = |(key, what): (&'static str, String)| values.error_at(key, &what, "choose another value");
    parameters.check().map_err(refused)?;
    Ok(if values.boolean("share") {
        check_memory(values, "data", parameters.start_bytes::<Shared<Packet>>())?;
        Simulation::saved(Multicast::<Shared<Packet>>::new(parameters).map_err(refused)?, UNTIL)
    } else {
        check_memory(values, "data", parameters.start_bytes::<Copied>())?;
        Simulation::saved(Multicast::<Copied>::new(parameters).map_err(refused)?, UNTIL)
    })
}
