//! `multicast`.

use super::{Scenario, check_memory, int32};
use crate::simulation::Simulation;
use parades_config::{ConfigError, Parameter, Values};
use parades_core::shared::Shared;
use parades_core::time::{Delay, Time};
use parades_models::multicast::{Copied, Multicast, Packet, Parameters};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "multicast",
    "packets multicast down binary trees, their data shared by all copies or copied at each hop",
    &[
        Parameter::integer("trees", 8, 1..=1_000_000_000, "binary trees, without links between them"),
        Parameter::integer("levels", 10, 2..=31, "levels of each tree: 2^levels - 1 nodes"),
        Parameter::integer("start_events", 8, 0..=1_000_000, "initial events of each LP"),
        Parameter::integer("data", 256, 0..=16_777_216, "32-bit integers of data that a packet carries"),
        Parameter::boolean("share", true, "all copies of a packet share its data; false: each copy has its own data"),
        Parameter::duration("delay", Delay::from_ms(1), "least delay of a hop: the lookahead").positive(),
        Parameter::duration("jitter", Delay::from_ms(1), "greatest additional delay of a hop; it is drawn uniformly"),
    ],
    build,
);

/// The end of a run by default: about 70 hops with the default delay.
const UNTIL: Time = Time::from_ps(100_000_000_000);

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters {
        trees: int32(values, "trees"),
        levels: int32(values, "levels"),
        start_events: int32(values, "start_events"),
        data: int32(values, "data"),
        delay: values.duration("delay"),
        jitter: values.duration("jitter"),
    };
    let refused = |(key, what): (&'static str, String)| values.error_at(key, &what, "choose another value");
    parameters.check().map_err(refused)?;
    Ok(if values.boolean("share") {
        check_memory(values, "data", parameters.start_bytes::<Shared<Packet>>())?;
        Simulation::distributed(Multicast::<Shared<Packet>>::new(parameters).map_err(refused)?, UNTIL)
    } else {
        check_memory(values, "data", parameters.start_bytes::<Copied>())?;
        Simulation::distributed(Multicast::<Copied>::new(parameters).map_err(refused)?, UNTIL)
    })
}
