//! `phold`.

use super::Scenario;
use crate::simulation::Simulation;
use parades_config::{ConfigError, FromValues, Values};
use parades_core::bytes::Bytes;
use parades_core::time::{Delay, Time};
use parades_models::phold::{Parameters, Phold};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "phold",
    "the classic synthetic workload: each event sends one on, to a random LP or to itself",
    Parameters::PARAMETERS,
    build,
);

/// The end of a run by default: 100 times the default of the mean delay.
const UNTIL: Time = Time::from_ps(100_000_000_000_000);

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters::from_values(values)?;
    parameters.check().map_err(|(key, what)| {
        let none = parameters.lookahead == Delay::ZERO;
        let help = if none { "raise `lookahead`" } else { "lower `lookahead` or raise `mean_delay`" };
        values.error_at(key, &what, help)
    })?;
    // Without payload, an event has no buffer, not even an empty one.
    Ok(match parameters.payload {
        0 => Simulation::saved(Phold::<()>::new(parameters), UNTIL),
        _ => Simulation::saved(Phold::<Bytes>::new(parameters), UNTIL),
    })
}
