//! `chord`.

use super::{Prepared, Scenario, Visitor, about_file, int32};
use parades_carriers::FlowLevel;
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_flow::generators::{STAR_HOSTS_MAX, star};
use parades_flow::network_model::NetworkModel;
use parades_p2p::chord::{Chord, ChordModel, Keys, MESSAGE_BYTES, Parameters};
use parades_p2p::churn::{Churn, Law, Schedule};
use std::sync::Arc;

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "chord",
    about: "a peer-to-peer look-up service: nodes join a ring, keep it right, and look identifiers up",
    parameters: &[
        Parameter::choice(
            "preset",
            "none",
            &["none", "paper"],
            "`paper`: 10,000 nodes, 32 bits, network precise, as in the paper on SimGrid's parallel mode",
        ),
        Parameter::integer("nodes", 1000, 1..=4_294_967_293, "nodes"),
        Parameter::integer("bits", 24, 1..=32, "bits of an identifier"),
        Parameter::choice(
            "form",
            "program",
            &["program", "machine"],
            "each node is a process; or an LP with the same state machine, which engines that roll back can run too",
        ),
        Parameter::choice(
            "network",
            "constant",
            &["constant", "precise"],
            "every message takes `latency`; or each is a flow of 10 bytes, which shares the links of a platform with the others",
        ),
        Parameter::path(
            "platform",
            "platform file, SimGrid's XML or TOML, for the network `precise`; without one, a star of as many hosts as nodes, 125 MB/s and 50us up and \
             down around a backbone of 2.25 GB/s and 500us",
        ),
        Parameter::choice(
            "model",
            "LV08",
            &["CM02", "LV08", "LV08-noct"],
            "what flows wait for and may take, in the network `precise`",
        ),
        Parameter::duration("latency", Delay::from_us(600), "how long a message takes, in the network `constant`")
            .positive(),
        Parameter::duration("spacing", Delay::ZERO, "time between the joins of two nodes; 0s: all join at the start"),
        Parameter::duration("stabilise", Delay::from_secs(20), "period of stabilising").positive(),
        Parameter::duration("fix_fingers", Delay::from_secs(120), "period of fixing a finger").positive(),
        Parameter::duration("check_predecessor", Delay::from_secs(120), "period of checking the predecessor")
            .positive(),
        Parameter::duration("look_up", Delay::from_secs(10), "period of looking an identifier up").positive(),
        Parameter::duration("idle", Delay::from_secs(5), "how long a node sleeps that has nothing to do").positive(),
        Parameter::duration("timeout", Delay::from_secs(50), "how long a node waits for an answer").positive(),
        Parameter::choice(
            "keys",
            "own-fingers",
            &["own-fingers", "uniform"],
            "what is looked up: the identifiers of the node's own fingers, or any; only those need half of log2 nodes hops",
        ),
        Parameter::boolean(
            "fingers_at_once",
            false,
            "whether a node that has joined looks all its fingers up at once, not only one a period",
        ),
        Parameter::duration("session", Delay::ZERO, "mean time for which a node stays; 0s: for ever"),
        Parameter::duration("absence", Delay::from_secs(60), "mean time for which it is away then"),
        Parameter::choice("session_law", "exponential", LAWS, "distribution of the time for which a node stays"),
        Parameter::float("session_shape", 0.5, 0.01..=100.0, SHAPE),
        Parameter::choice("absence_law", "exponential", LAWS, "distribution of the time for which a node is away"),
        Parameter::float("absence_shape", 0.5, 0.01..=100.0, SHAPE),
        Parameter::path(
            "churn_file",
            "file of sessions, a line `node join_s leave_s` each, instead of `session` and `absence`; other nodes stay",
        ),
        Parameter::fraction("crash", 0.5, "probability that it crashes instead of taking leave"),
        Parameter::duration(
            "churn_until",
            Delay::from_secs(500),
            "after this time who is there stays, and who is away is back",
        ),
        Parameter::duration(
            "settle",
            Delay::from_secs(300),
            "how long after the last change the ring must be right; from then on a wrong ring is an error",
        ),
    ],
};

/// The distributions of sessions and absences.
const LAWS: &[&str] = &["exponential", "weibull", "pareto", "log-normal"];
const SHAPE: &str = "shape of that distribution; with `log-normal`, the standard deviation of the logarithm";

/// Returns whether the model of these values can be restored: a machine can, a process cannot.
pub(crate) fn is_restorable(values: &Values) -> bool {
    values.choice("form") == "machine"
}

/// Sets the parameters that a preset changes.
pub(crate) fn apply_presets(values: &mut Values) {
    if values.choice("preset") == "paper" {
        values.preset("nodes", "10000");
        values.preset("bits", "32");
        values.preset("network", "precise");
    }
}

/// Makes the model, in its form and over its network, and gives it to the visitor.
pub(crate) fn accept<V: Visitor>(values: &Values, seed: u64, visitor: V) -> Result<V::Output, ConfigError> {
    let parameters = parameters(values)?;
    let until = Time::from_ps(1_000_000_000_000_000);
    let refused = |(key, what): (&'static str, String)| values.error_at(key, &what, "choose another value");
    if values.choice("network") == "constant" {
        if values.path("platform").is_some() {
            let message = "the network `constant` knows no platform";
            return Err(values.error_at("platform", message, "set `network=precise`, or leave it out"));
        }
        if is_restorable(values) {
            let model = ChordModel::new(parameters, seed).map_err(refused)?;
            return Ok(visitor.visit(Prepared { model, until, notes: Vec::new() }));
        }
        let model = Chord::model(parameters, seed).map_err(refused)?;
        return Ok(visitor.visit_unrestorable(Prepared { model, until, notes: Vec::new() }));
    }
    if is_restorable(values) {
        let message = "the form `machine` sends over the network `constant` alone";
        return Err(values.error_at("form", message, "set `network=constant`, or `form=program`"));
    }
    let nodes = parameters.nodes;
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
    let network_model =
        NetworkModel::named(values.choice("model"), Delay::ZERO).expect("the choices are among the names");
    let network = FlowLevel::new(Arc::new(platform), network_model, nodes, |_| MESSAGE_BYTES);
    let model = Chord::over(network, parameters, seed).map_err(refused)?;
    Ok(visitor.visit_unrestorable(Prepared { model, until, notes }))
}

fn parameters(values: &Values) -> Result<Parameters, ConfigError> {
    let churn = churn(values)?;
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
        keys: if values.choice("keys") == "uniform" { Keys::Uniform } else { Keys::OwnFingers },
        fingers_at_once: values.boolean("fingers_at_once"),
        churn,
        settle: values.duration("settle"),
        keeps_look_ups: false,
    })
}

/// Returns when nodes come and go, if they do.
fn churn(values: &Values) -> Result<Option<Churn>, ConfigError> {
    let until = Time::from_ps(values.duration("churn_until").as_ps());
    let churn = if let Some(path) = values.path("churn_file") {
        let schedule = Schedule::read(&path).map_err(|error| about_file(values, "churn_file", error))?;
        if let Some(node) = schedule.last_node().filter(|node| u64::from(node.0) >= values.integer("nodes")) {
            let message = format!("the file has sessions of node {}, but nodes are numbered from 0 on", node.0);
            return Err(values.error_at("churn_file", &message, "set more `nodes`, or leave its lines out"));
        }
        Churn::scheduled(schedule, until)
    } else if values.duration("session") > Delay::ZERO {
        Churn::random(law(values, "session")?, law(values, "absence")?, until)
    } else {
        return Ok(None);
    };
    Ok(Some(churn.with_crash(values.float("crash"))))
}

/// Returns the distribution of sessions or of absences.
fn law(values: &Values, what: &str) -> Result<Law, ConfigError> {
    let (name, shape) = (format!("{what}_law"), format!("{what}_shape"));
    let (mean, shape_value) = (values.duration(what), values.float(&shape));
    let law = match values.choice(&name) {
        "weibull" => Law::weibull(mean, shape_value),
        "pareto" => Law::pareto(mean, shape_value),
        "log-normal" => Law::log_normal(mean, shape_value),
        _ => Law::exponential(mean),
    };
    law.map_err(|why| {
        let key = if mean == Delay::ZERO { what } else { &shape };
        values.error_at(key, &why, "choose another value")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_config::ScenarioFile;
    use parades_core::model::Model;
    use parades_core::restore::Restorable;
    use std::fmt::Debug;

    struct Nothing;

    impl Visitor for Nothing {
        type Output = ();
        fn visit<M: Restorable<State: Clone + PartialEq + Debug> + 'static>(self, _: Prepared<M>) {}
        fn visit_unrestorable<M: Model + 'static>(self, _: Prepared<M>) {}
    }

    fn error(values: &Values) -> String {
        accept(values, 1, Nothing).expect_err("it is refused").to_string()
    }

    fn with(assignments: &[&str]) -> Result<Values, ConfigError> {
        let mut values = SCENARIO.values();
        assignments.iter().try_for_each(|assignment| values.set_argument("--set", assignment))?;
        Ok(values)
    }

    #[test]
    fn the_machine_can_be_restored_and_sends_over_the_constant_network_alone() {
        let values = with(&["form=machine"]).expect("it is possible");
        assert!(is_restorable(&values) && !is_restorable(&with(&[]).expect("it is possible")));
        accept(&values, 1, Nothing).expect("it is possible");
        let wanted = "--set form=machine: the form `machine` sends over the network `constant` alone; \
                      set `network=constant`, or `form=program`";
        assert_eq!(error(&with(&["form=machine", "network=precise"]).expect("each is possible")), wanted);
    }

    #[test]
    fn laws_of_churn_that_are_impossible_are_refused_by_their_parameter() {
        let values = with(&["session=60s", "session_law=pareto", "session_shape=1"]).expect("each is possible");
        let wanted = "--set session_shape=1: the shape of a Pareto distribution must be above 1 for it to have a mean, not 1; \
                      choose another value";
        assert_eq!(error(&values), wanted);
        let values = with(&["session=60s", "absence=0s"]).expect("each is possible");
        assert_eq!(error(&values), "--set absence=0s: a mean length of zero leaves no time; choose another value");
        let said = error(&with(&["churn_file=/nowhere/at-all.txt"]).expect("each is possible"));
        assert!(said.contains("/nowhere/at-all.txt: the file cannot be read"), "{said}");
    }

    #[test]
    fn nodes_that_cannot_be_are_refused_with_their_bound() {
        let said = with(&["bits=32", "nodes=4294967294"]).expect_err("it is refused").to_string();
        assert_eq!(said, "--set nodes=4294967294: `nodes` must be between 1 and 4294967293, not 4294967294");
        let values = with(&["bits=4", "nodes=17"]).expect("each is possible");
        let wanted = "--set nodes=17: 17 nodes are more than the 16 identifiers of 4 bits; choose another value";
        assert_eq!(error(&values), wanted);
        let values = with(&["network=precise", "nodes=3000000"]).expect("each is possible");
        let wanted = "--set nodes=3000000: without a platform, the network `precise` takes 2097152 nodes at most; \
                      lower it, or give a `platform`, whose hosts they share";
        assert_eq!(error(&values), wanted);
    }

    #[test]
    fn a_platform_that_is_missing_is_told_of_where_a_scenario_file_names_it() {
        let text = "scenario = \"chord\"\n[parameters]\nnetwork = \"precise\"\nplatform = \"/nowhere/at-all.xml\"\n";
        let file = ScenarioFile::parse("run.toml".as_ref(), text.into()).expect("it is right");
        let mut values = SCENARIO.values();
        file.apply(&mut values).expect("it is right");
        let said = error(&values);
        assert!(said.starts_with("run.toml:4:12: /nowhere/at-all.xml cannot be read"), "{said}");
    }
}
