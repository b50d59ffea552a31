//! `kademlia`.

use super::{Scenario, Split, check_memory, churn, joined, length, split_at, underlay};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::driver::{AsModel, AsProgram};
use parades_p2p::kademlia::{Kademlia, Parameters};

pub(crate) const SCENARIO: Scenario = Scenario { is_restorable, ..BASE };

const BASE: Scenario = Scenario::new(
    "kademlia",
    "a distributed hash table: nodes look up identifiers by XOR distance, and store values at the closest nodes",
    &joined::<{ length(PARAMETERS) }>(PARAMETERS),
    build,
);

const SPLIT: Split = split_at(Parameters::PARAMETERS, "k");
const PARAMETERS: &[&[Parameter]] = &[
    SPLIT.before,
    &[FORM, underlay::latency(Delay::from_ms(50))],
    SPLIT.from,
    churn::PARAMETERS,
    underlay::PARAMETERS,
];

const FORM: Parameter = Parameter::choice(
    "form",
    "machine",
    &words(&FORMS),
    "each node is an LP with a state machine, for all engines; or a process with the same state machine",
);

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Machine,
    Program,
}

const FORMS: Table<Form, 2> = [("machine", Form::Machine), ("program", Form::Program)];

/// Returns true if the model of these values can be restored: the state of a process cannot.
fn is_restorable(values: &Values) -> bool {
    value_of(values, "form", &FORMS) == Form::Machine
}

/// The memory that a value takes at its publisher, in bytes.
const VALUE_BYTES: u64 = 48;

/// The end of a run by default.
const UNTIL: Time = Time::from_secs(1000);

/// The memory that a node takes while the model is built, in bytes: its identifier and its number.
const NODE_BYTES: u64 = 16;

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let mut parameters = Parameters::from_values(values)?;
    let nodes = parameters.nodes;
    parameters.churn = churn::build(values, ("nodes", nodes), seed)?;
    check_memory(values, "nodes", u64::from(nodes) * NODE_BYTES)?;
    check_memory(values, "values", u64::from(parameters.values) * VALUE_BYTES)?;
    let (carrier, mut notes) = underlay::build(values, ("nodes", nodes), seed)?;
    if values.is_changed("crash") {
        notes.push("`crash` has no effect: nodes of Kademlia take leave without a message".to_owned());
    }
    let kademlia = Kademlia::new(parameters, seed)
        .map_err(|(key, what)| values.error_at(scenario_key(key), &what, "choose another value"))?;
    let simulation = match value_of(values, "form", &FORMS) {
        Form::Machine => Simulation::saved(AsModel::new(kademlia, carrier), UNTIL),
        Form::Program => Simulation::distributed_unrestorable(AsProgram::model(kademlia, carrier), UNTIL),
    };
    Ok(simulation.with_notes(notes))
}

/// Returns the scenario's name for a parameter of the protocol.
fn scenario_key(key: &'static str) -> &'static str {
    if key == "value_bytes" { "value_size" } else { key }
}
