//! `averaging`.

use super::{Scenario, int32, underlay};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::Delay;
use parades_p2p::averaging::Values as Start;
use parades_p2p::averaging::{Averaging, CYCLES_MAX, Parameters};
use parades_p2p::driver::AsModel;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "averaging",
    "gossip averaging: pairs of nodes take the mean of their values, until every node has the mean of all",
    &underlay::join::<{ OWN.len() + underlay::PARAMETERS.len() }>(OWN, underlay::PARAMETERS),
    build,
);

const OWN: &[Parameter] = &[
    Parameter::integer("nodes", 1000, 2..=4_294_967_293, "number of nodes"),
    Parameter::integer(
        "cycles",
        20,
        1..=CYCLES_MAX as u64,
        "number of cycles; in each, every node begins one exchange",
    ),
    Parameter::duration("cycle", Delay::from_secs(100), "length of a cycle; latencies should be far below it")
        .positive(),
    Parameter::duration(
        "timeout",
        Delay::from_secs(1000),
        "time after which an exchange without an answer is given up; only loss and partitions need it",
    )
    .positive(),
    Parameter::choice(
        "values",
        "uniform",
        &words(&STARTS),
        "values at the start: drawn from 0 to 1; or 1 at one node and 0 elsewhere, from which nodes learn their number",
    ),
    underlay::latency(Delay::from_ms(50)),
];

const STARTS: Table<Start, 2> = [("uniform", Start::Uniform), ("peak", Start::Peak)];

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let nodes = int32(values, "nodes");
    let parameters = Parameters {
        nodes,
        cycles: int32(values, "cycles"),
        cycle: values.duration("cycle"),
        timeout: values.duration("timeout"),
        values: value_of(values, "values", &STARTS),
    };
    let averaging =
        Averaging::new(parameters).map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    let (carrier, notes) = underlay::build(values, ("nodes", nodes), seed)?;
    let end = averaging.end();
    Ok(Simulation::distributed(AsModel::new(averaging, carrier), end).with_notes(notes))
}
