//! `chord`.

use super::{
    Scenario, Split, about_file, all_needing, check_memory, churn, joined, length, needing, split_at, underlay,
};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_carriers::FlowLevel;
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_flow::generators::{STAR_HOSTS_MAX, star};
use parades_p2p::chord::{Chord, MESSAGE_BYTES, Message, Parameters};
use parades_p2p::driver::AsModel;
use std::sync::Arc;

pub(crate) const SCENARIO: Scenario = Scenario { set_presets, is_restorable, platform: Some("platform"), ..BASE };

const BASE: Scenario = Scenario::new(
    "chord",
    "a peer-to-peer look-up service: nodes join a ring, keep it right, and look identifiers up",
    &needing(joined::<{ length(PARAMETERS) }>(PARAMETERS), NEEDS),
    build,
);

const SPLIT: Split = split_at(Parameters::PARAMETERS, "latency");
const PARAMETERS: &[&[Parameter]] = &[&[PRESET], SPLIT.before, NETWORK, SPLIT.from, churn::PARAMETERS, UNDERLAY];
const UNDERLAY: &[Parameter] = &all_needing::<{ underlay::PARAMETERS.len() }>(underlay::PARAMETERS, "network=underlay");
/// What parameters need of others.
const NEEDS: &[(&str, &str)] = &[("latency", "network=constant or underlay=constant")];

const PRESET: Parameter = Parameter::choice(
    "preset",
    "none",
    &words(&PRESETS),
    "`paper`: 10,000 nodes, 32 bits, the network `precise`, as in the paper on SimGrid's parallel mode",
);

/// The form of nodes, and the network.
const NETWORK: &[Parameter] = &[
    Parameter::choice(
        "form",
        "program",
        &words(&FORMS),
        "each node is a process; or each node is an LP with the same state machine, for engines that roll back too",
    ),
    Parameter::choice(
        "network",
        "constant",
        &words(&NETWORKS),
        "every message takes `latency`; or the latency of the `underlay`; or every message is a flow of 10 bytes, and flows \
         share the links of a platform",
    ),
    Parameter::path(
        "platform",
        "platform file, SimGrid's XML or TOML, for the network `precise`; without one, a star with one host for each node: \
         links of 125 MB/s and 50us, up and down, and a backbone of 2.25 GB/s and 500us",
    )
    .needs("network=precise"),
    Parameter::choice(
        "model",
        "LV08",
        &["CM02", "LV08", "LV08-noct"],
        "latency and bandwidth of flows, as in SimGrid's models of this name, in the network `precise`",
    )
    .needs("network=precise"),
];

#[derive(Clone, Copy, PartialEq)]
enum Preset {
    None,
    Paper,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Program,
    Machine,
}

#[derive(Clone, Copy)]
enum Network {
    Constant,
    Underlay,
    Precise,
}

const PRESETS: Table<Preset, 2> = [("none", Preset::None), ("paper", Preset::Paper)];
const FORMS: Table<Form, 2> = [("program", Form::Program), ("machine", Form::Machine)];
const NETWORKS: Table<Network, 3> =
    [("constant", Network::Constant), ("underlay", Network::Underlay), ("precise", Network::Precise)];

/// Returns true if the model of these values can be restored: the state of a process cannot.
fn is_restorable(values: &Values) -> bool {
    value_of(values, "form", &FORMS) == Form::Machine
}

/// Sets the parameters that a preset changes.
fn set_presets(values: &mut Values) {
    if value_of(values, "preset", &PRESETS) == Preset::Paper {
        values.preset("nodes", "10000");
        values.preset("bits", "32");
        values.preset("network", "precise");
    }
}

/// The end of a run by default.
const UNTIL: Time = Time::from_ps(1_000_000_000_000_000);

/// The memory that a node takes while the ring is built, in bytes: its identifier and its place.
const NODE_BYTES: u64 = 8;

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = parameters(values, seed)?;
    check_memory(values, "nodes", u64::from(parameters.nodes) * NODE_BYTES)?;
    let refused = |(key, what): (&'static str, String)| values.error_at(key, &what, "choose another value");
    match (value_of(values, "network", &NETWORKS), value_of(values, "form", &FORMS)) {
        (Network::Constant, Form::Machine) => {
            let model = Chord::restorable(parameters, seed).map_err(refused)?;
            Ok(Simulation::saved(model, UNTIL))
        }
        (Network::Constant, Form::Program) => {
            let model = Chord::model(parameters, seed).map_err(refused)?;
            Ok(Simulation::distributed_unrestorable(model, UNTIL))
        }
        (Network::Underlay, form) => {
            let (carrier, notes) = underlay::build(values, ("nodes", parameters.nodes), seed)?;
            let simulation = match form {
                Form::Machine => {
                    let chord = Chord::new(parameters, seed).map_err(refused)?;
                    Simulation::saved(AsModel::new(chord, carrier), UNTIL)
                }
                Form::Program => {
                    let model = Chord::over(carrier, parameters, seed).map_err(refused)?;
                    Simulation::distributed_unrestorable(model, UNTIL)
                }
            };
            Ok(simulation.with_notes(notes))
        }
        (Network::Precise, Form::Machine) => {
            let message = "the form `machine` does not send over the network `precise`";
            Err(values.error_at("form", message, "set `network=constant` or `underlay`, or `form=program`"))
        }
        (Network::Precise, Form::Program) => {
            let (network, notes) = precise(values, parameters.nodes)?;
            let model = Chord::over(network, parameters, seed).map_err(refused)?;
            Ok(Simulation::distributed_unrestorable(model, UNTIL).with_notes(notes))
        }
    }
}

/// Returns the network `precise`, and notes for the user on it.
fn precise(values: &Values, nodes: u32) -> Result<(FlowLevel<Message>, Vec<String>), ConfigError> {
    let platform = match values.path("platform") {
        Some(path) => parades_flow::read(&path).map_err(|error| about_file(values, "platform", error))?,
        None if nodes > STAR_HOSTS_MAX => {
            let message = format!("without a platform, the network `precise` takes {STAR_HOSTS_MAX} nodes at most");
            return Err(values.error_at("nodes", &message, "lower it, or give a `platform`, whose hosts they share"));
        }
        None => star(nodes)?,
    };
    let mut notes = platform.notes().to_vec();
    let hosts = platform.hosts().len();
    if hosts == 0 {
        return Err(values.error_at("platform", "the platform has no host for the nodes", "give one that has"));
    }
    if hosts < nodes as usize {
        notes.push(format!("{nodes} nodes share the platform's {hosts} hosts"));
    }
    let mut settings = platform.settings();
    if platform.model_refusal().is_some() || settings.model.is_some_and(|other| other != values.choice("model")) {
        notes.push("the platform's network/model is set aside for `model`".to_owned());
    }
    settings.set("network/model", values.choice("model")).expect("the choices are names of models");
    let network_model = settings.network_model(Delay::ZERO);
    Ok((FlowLevel::new(Arc::new(platform), network_model, nodes, |_| MESSAGE_BYTES), notes))
}

fn parameters(values: &Values, seed: u64) -> Result<Parameters, ConfigError> {
    if values.float("keep_state") > 0.0 {
        let message = "nodes of Chord keep no state: they join the ring again";
        return Err(values.error_at("keep_state", message, "leave it out"));
    }
    let mut parameters = Parameters::from_values(values)?;
    parameters.churn = churn::build(values, ("nodes", parameters.nodes), seed)?;
    Ok(parameters)
}
