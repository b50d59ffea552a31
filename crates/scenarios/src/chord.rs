//! `chord`.

use crate::{Prepared, Scenario, int32};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::chord::{Chord, Churn, Keys, Parameters};
use parades_process::Processes;

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
        Parameter::integer("nodes", 1000, 1..=4_294_967_294, "nodes"),
        Parameter::integer("bits", 24, 1..=32, "bits of an identifier"),
        Parameter::choice(
            "network",
            "constant",
            &["constant", "precise"],
            "every message takes `latency`; or messages share the bandwidth of links",
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

/// Sets the parameters that a preset changes.
pub(crate) fn apply_presets(values: &mut Values) {
    if values.choice("preset") == "paper" {
        values.preset("nodes", "10000");
        values.preset("bits", "32");
        values.preset("network", "precise");
    }
}

pub(crate) fn prepare(values: &Values, seed: u64) -> Result<Prepared<Processes<Chord>>, ConfigError> {
    if values.choice("network") == "precise" {
        let message = "the network `precise` does not exist yet";
        return Err(values.error_at("network", message, "use `network=constant`, also with `preset=paper`"));
    }
    let session = values.duration("session");
    let churn = (session > Delay::ZERO).then(|| Churn {
        session,
        absence: values.duration("absence"),
        crash: values.float("crash"),
        until: Time::from_ps(values.duration("churn_until").as_ps()),
    });
    let parameters = Parameters {
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
    };
    let refused = |(key, what): (&'static str, String)| values.error_at(key, &what, "choose another value");
    let model = Chord::model(parameters, seed).map_err(refused)?;
    Ok(Prepared { model, until: Time::from_ps(1_000_000_000_000_000), notes: Vec::new() })
}
