//! `faulty`.

use super::Scenario;
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Values};
use parades_core::time::Time;
use parades_models::faulty::Faulty;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "faulty",
    "a model that misbehaves on purpose, to see how errors are reported",
    Faulty::PARAMETERS,
    build,
);

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let model = Faulty::from_values(values)?;
    Ok(Simulation::saved(model, Time::from_ps(1_000_000_000_000)))
}
