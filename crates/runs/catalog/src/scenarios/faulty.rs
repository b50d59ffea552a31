//! `faulty`.

use super::{Scenario, int32};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::Time;
use parades_models::faulty::{Fault, Faulty};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "faulty",
    "a model that misbehaves on purpose, to see how errors are reported",
    &[
        Parameter::integer("lps", 8, 3..=1_000_000, "logical processes, in a ring"),
        Parameter::choice(
            "fault",
            "panic",
            &words(&FAULTS),
            "the fault; `tie-order` makes `metrics.order` depend on the order of simultaneous events",
        ),
        Parameter::integer("at_event", 5, 1..=1_000_000_000, "number of the LP's event with the fault, from 1"),
        Parameter::integer("round_limit", 1000, 1..=1_048_576, "bound on rounds of zero-delay events at one time"),
    ],
    build,
);

const FAULTS: Table<Fault, 8> = [
    ("none", Fault::None),
    ("lookahead", Fault::Lookahead),
    ("zero-delay-loop", Fault::ZeroDelayLoop),
    ("time-overflow", Fault::TimeOverflow),
    ("panic", Fault::Panic),
    ("fail", Fault::Fail),
    ("no-channel", Fault::NoChannel),
    ("tie-order", Fault::TieOrder),
];

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let model = Faulty {
        lps: int32(values, "lps"),
        fault: value_of(values, "fault", &FAULTS),
        at_event: values.integer("at_event"),
        round_limit: int32(values, "round_limit"),
    };
    // A delay past the end of virtual time is an error only in a run to that end.
    let until = if model.fault == Fault::TimeOverflow { Time::MAX } else { Time::from_ps(1_000_000_000_000) };
    Ok(Simulation::distributed(model, until))
}
