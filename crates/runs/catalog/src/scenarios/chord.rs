//! `chord`.

use super::{Scenario, about_file, check_memory, churn, int32, underlay};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_carriers::FlowLevel;
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_flow::generators::{STAR_HOSTS_MAX, star};
use parades_p2p::chord::{Chord, Keys, MESSAGE_BYTES, Message, Parameters};
use parades_p2p::driver::AsModel;
use std::sync::Arc;

pub(crate) const SCENARIO: Scenario = Scenario { set_presets, is_restorable, platform: Some("platform"), ..BASE };

const BASE: Scenario = Scenario::new(
    "chord",
    "a peer-to-peer look-up service: nodes join a ring, keep it right, and look identifiers up",
    &underlay::join::<{ PEERS.len() + underlay::PARAMETERS.len() }>(PEERS, underlay::PARAMETERS),
    build,
);

const PEERS: &[Parameter] = &underlay::join::<{ OWN.len() + churn::PARAMETERS.len() }>(OWN, churn::PARAMETERS);

const OWN: &[Parameter] = &[
    Parameter::choice(
        "preset",
        "none",
        &words(&PRESETS),
        "`paper`: 10,000 nodes, 32 bits, the network `precise`, as in the paper on SimGrid's parallel mode",
    ),
    Parameter::integer("nodes", 1000, 1..=4_294_967_293, "number of nodes"),
    Parameter::integer("bits", 24, 1..=32, "bits of an identifier"),
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
    ),
    Parameter::choice(
        "model",
        "LV08",
        &["CM02", "LV08", "LV08-noct"],
        "latency and bandwidth of flows, as in SimGrid's models of this name, in the network `precise`",
    ),
    underlay::latency(Delay::from_us(600)),
    Parameter::duration("spacing", Delay::ZERO, "time between the joins of two nodes; 0s: all join at the start"),
    Parameter::duration("stabilise", Delay::from_secs(20), "period of stabilising").positive(),
    Parameter::duration("fix_fingers", Delay::from_secs(120), "period of fixing a finger").positive(),
    Parameter::duration("check_predecessor", Delay::from_secs(120), "period of checking the predecessor").positive(),
    Parameter::duration("look_up", Delay::from_secs(10), "period of look-ups").positive(),
    Parameter::duration(
        "idle",
        Delay::from_secs(5),
        "sleep of a node that has nothing to do, in which it serves no messages; 0s: it never sleeps",
    ),
    Parameter::duration("timeout", Delay::from_secs(50), "greatest time for which a node waits for an answer")
        .positive(),
    Parameter::choice(
        "keys",
        "own-fingers",
        &words(&KEYS),
        "identifiers that a node looks up: those of its own fingers, or any; only own fingers need half of log2(nodes) hops",
    ),
    Parameter::boolean(
        "fingers_at_once",
        false,
        "a node that has joined looks up all its fingers at once; false: one a period",
    ),
    Parameter::duration(
        "settle",
        Delay::from_secs(300),
        "time after the last change from which on a wrong ring is an error",
    ),
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
const KEYS: Table<Keys, 2> = [("own-fingers", Keys::OwnFingers), ("uniform", Keys::Uniform)];
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
        (Network::Constant | Network::Underlay, _) if values.path("platform").is_some() => {
            let message = format!("the network `{}` knows no platform", values.choice("network"));
            Err(values.error_at("platform", &message, "set `network=precise`, or leave it out"))
        }
        (Network::Constant, Form::Machine) => {
            let model = Chord::restorable(parameters, seed).map_err(refused)?;
            Ok(Simulation::distributed(model, UNTIL))
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
                    Simulation::distributed(AsModel::new(chord, carrier), UNTIL)
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
    let churn = churn::build(values, ("nodes", int32(values, "nodes")), seed)?;
    Ok(Parameters {
        nodes: int32(values, "nodes"),
        bits: int32(values, "bits"),
        latency: values.duration("latency"),
        spacing: values.duration("spacing"),
        stabilise: values.duration("stabilise"),
        fix_fingers: values.duration("fix_fingers"),
        check_predecessor: values.duration("check_predecessor"),
        look_up: values.duration("look_up"),
        idle: values.duration("idle"),
        timeout: values.duration("timeout"),
        keys: value_of(values, "keys", &KEYS),
        fingers_at_once: values.boolean("fingers_at_once"),
        churn,
        settle: values.duration("settle"),
        keeps_look_ups: false,
    })
}
