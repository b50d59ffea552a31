//! `kademlia`.

use super::{Scenario, check_memory, churn, int32, underlay};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::driver::{AsModel, AsProgram};
use parades_p2p::kademlia::{Kademlia, Parameters, Tables};

pub(crate) const SCENARIO: Scenario = Scenario { is_restorable, ..BASE };

const BASE: Scenario = Scenario::new(
    "kademlia",
    "a distributed hash table: nodes look up identifiers by XOR distance, and store values at the closest nodes",
    &underlay::join::<{ PEERS.len() + underlay::PARAMETERS.len() }>(PEERS, underlay::PARAMETERS),
    build,
);

const PEERS: &[Parameter] = &underlay::join::<{ OWN.len() + churn::PARAMETERS.len() }>(OWN, churn::PARAMETERS);

const OWN: &[Parameter] = &[
    Parameter::integer("nodes", 1000, 1..=4_294_967_293, "number of nodes"),
    Parameter::choice(
        "form",
        "machine",
        &words(&FORMS),
        "each node is an LP with a state machine, for all engines; or a process with the same state machine",
    ),
    underlay::latency(Delay::from_ms(50)),
    Parameter::integer("k", 20, 1..=128, "contacts of a bucket, contacts of an answer, and nodes that store a value"),
    Parameter::integer("alpha", 3, 1..=128, "requests that a look-up has in flight; at most `k`"),
    Parameter::integer(
        "resiliency",
        0,
        0..=128,
        "closest nodes that must have answered before a look-up ends; 0: `k`, as in the paper; libp2p has 3",
    ),
    Parameter::duration("timeout", Delay::from_secs(2), "time after which a request has failed").positive(),
    Parameter::duration(
        "questionable",
        Delay::from_secs(900),
        "time without news of a full bucket's oldest contact, after which it is pinged when a newcomer appears",
    ),
    Parameter::duration("refresh", Delay::from_secs(3600), "time without a look-up after which a bucket is refreshed")
        .positive(),
    Parameter::choice(
        "tables",
        "joined",
        &words(&TABLES),
        "nodes know one other node and join by looking themselves up; or they start with full tables",
    ),
    Parameter::duration("spacing", Delay::from_ms(10), "time between the joins of two nodes, with `tables=joined`"),
    Parameter::duration("look_up", Delay::from_secs(10), "period of a node's look-ups").positive(),
    Parameter::duration("warm_up", Delay::ZERO, "time at which look-ups begin"),
    Parameter::duration(
        "settle",
        Delay::from_secs(60),
        "time after the last join from which on look-ups are judged, without churn",
    ),
    Parameter::integer("values", 0, 0..=1_000_000_000, "number of values that nodes publish"),
    Parameter::size("value_size", 1000, "length of a value"),
    Parameter::fraction("find_values", 0.0, "share of the look-ups that ask for a value"),
    Parameter::duration("republish", Delay::from_secs(3600), "time after which nodes store their values again")
        .positive(),
    Parameter::duration("expire", Delay::from_secs(86_400), "time after which a value expires").positive(),
];

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Machine,
    Program,
}

const FORMS: Table<Form, 2> = [("machine", Form::Machine), ("program", Form::Program)];
const TABLES: Table<Tables, 2> = [("joined", Tables::Joined), ("ideal", Tables::Ideal)];

/// Returns true if the model of these values can be restored: the state of a process cannot.
fn is_restorable(values: &Values) -> bool {
    value_of(values, "form", &FORMS) == Form::Machine
}

/// The end of a run by default.
const UNTIL: Time = Time::from_secs(1000);

/// The memory that a node takes while the model is built, in bytes: its identifier and its number.
const NODE_BYTES: u64 = 16;

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = parameters(values, seed)?;
    let nodes = parameters.nodes;
    check_memory(values, "nodes", u64::from(nodes) * NODE_BYTES)?;
    let (carrier, notes) = underlay::build(values, ("nodes", nodes), seed)?;
    let kademlia = Kademlia::new(parameters, seed)
        .map_err(|(key, what)| values.error_at(scenario_key(key), &what, "choose another value"))?;
    let simulation = match value_of(values, "form", &FORMS) {
        Form::Machine => Simulation::distributed(AsModel::new(kademlia, carrier), UNTIL),
        Form::Program => Simulation::distributed_unrestorable(AsProgram::model(kademlia, carrier), UNTIL),
    };
    Ok(simulation.with_notes(notes))
}

/// Returns the scenario's name for a parameter of the protocol.
fn scenario_key(key: &'static str) -> &'static str {
    if key == "value_bytes" { "value_size" } else { key }
}

fn parameters(values: &Values, seed: u64) -> Result<Parameters, ConfigError> {
    let nodes = int32(values, "nodes");
    let small = |key| u8::try_from(values.integer(key)).expect("the parameter's range ends at 128");
    let k = small("k");
    Ok(Parameters {
        nodes,
        k,
        alpha: small("alpha"),
        resiliency: if values.integer("resiliency") == 0 { k } else { small("resiliency") },
        timeout: values.duration("timeout"),
        questionable: values.duration("questionable"),
        refresh: values.duration("refresh"),
        tables: value_of(values, "tables", &TABLES),
        spacing: values.duration("spacing"),
        look_up: values.duration("look_up"),
        warm_up: values.duration("warm_up"),
        settle: values.duration("settle"),
        values: int32(values, "values"),
        value_bytes: super::bytes(values, "value_size")?,
        find_values: values.float("find_values"),
        republish: values.duration("republish"),
        expire: values.duration("expire"),
        churn: churn::build(values, ("nodes", nodes), seed)?,
    })
}
