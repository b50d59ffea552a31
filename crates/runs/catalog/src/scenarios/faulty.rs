//! `faulty`.

use super::{Prepared, Scenario, int32};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::Time;
use parades_models::faulty::{Fault, Faulty};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "faulty",
    about: "a model that misbehaves on purpose, to see how errors are reported",
    parameters: &[
        Parameter::integer("lps", 8, 3..=1_000_000, "logical processes, in a ring"),
        Parameter::choice(
            "fault",
            "panic",
            &["none", "lookahead", "zero-delay-loop", "time-overflow", "panic", "fail", "no-channel", "tie-order"],
            "what goes wrong; `tie-order` makes `metrics.order` depend on the order of simultaneous events",
        ),
        Parameter::integer("at_event", 5, 1..=1_000_000_000, "at which of an LP's events it goes wrong, from 1"),
        Parameter::integer("round_limit", 1000, 1..=1_048_576, "bound on rounds of zero-delay events at one time"),
    ],
};

pub(crate) fn prepare(values: &Values) -> Result<Prepared<Faulty>, ConfigError> {
    let fault = match values.choice("fault") {
        "lookahead" => Fault::Lookahead,
        "zero-delay-loop" => Fault::ZeroDelayLoop,
        "time-overflow" => Fault::TimeOverflow,
        "panic" => Fault::Panic,
        "fail" => Fault::Fail,
        "no-channel" => Fault::NoChannel,
        "tie-order" => Fault::TieOrder,
        _ => Fault::None,
    };
    let model = Faulty {
        lps: int32(values, "lps"),
        fault,
        at_event: values.integer("at_event"),
        round_limit: int32(values, "round_limit"),
    };
    Ok(Prepared { model, until: Time::from_ps(1_000_000_000_000), notes: Vec::new() })
}
