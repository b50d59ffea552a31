//! `clusters`.

use super::{Scenario, check_memory};
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Values};
use parades_core::time::Time;
use parades_models::clusters::{Clusters, Parameters};

/// The memory that a program and its host take, in bytes, estimated low.
const PROGRAM_BYTES: u64 = 2_000;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "clusters",
    "programs on clusters of a platform, in rings that compute and send; no route connects the clusters",
    Parameters::PARAMETERS,
    build,
)
.without_rollback();

fn build(values: &Values, _: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters::from_values(values)?;
    let programs = u64::from(parameters.clusters) * u64::from(parameters.programs);
    check_memory(values, "programs", programs * PROGRAM_BYTES)?;
    let model = Clusters::model(parameters).map_err(|(key, what)| values.error_at(key, &what, "choose fewer"))?;
    Ok(Simulation::distributed_unrestorable(model, Time::MAX))
}
