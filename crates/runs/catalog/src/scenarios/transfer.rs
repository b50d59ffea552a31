//! `transfer`.

use super::Scenario;
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Values};
use parades_core::time::Time;
use parades_models::transfer::{Parameters, Transfer};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "transfer",
    "pairs that move data by a sliding window over a lossy, delayed channel, with a retransmission timer",
    Parameters::PARAMETERS,
    build,
);

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let model = Transfer::new(Parameters::from_values(values)?).map_err(|(key, what)| {
        // The model's name of a size ends in `_bytes`; the parameter's name does not.
        values.error_at(key.trim_end_matches("_bytes"), &what, "choose another value")
    })?;
    Ok(Simulation::saved(model, Time::from_ps(60_000_000_000_000)))
}
