//! `phold`.

use super::{Scenario, int32};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::bytes::Bytes;
use parades_core::time::{Delay, Time};
use parades_models::phold::{DelayKind, Parameters, Phold, Restore};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "phold",
    "the classic synthetic workload: each event sends one on, to a random LP or to itself",
    &[
        Parameter::integer("lps", 1024, 1..=4_000_000_000, "logical processes"),
        Parameter::integer("start_events", 1, 0..=1_000_000, "initial events of each LP"),
        Parameter::fraction("remote", 0.5, "share of events sent to an LP drawn uniformly, the sender included"),
        Parameter::duration("lookahead", Delay::from_ms(100), "least delay of an event").with_default_unit("s"),
        Parameter::duration("mean_delay", Delay::from_secs(1), "mean delay of an event, lookahead included")
            .with_default_unit("s"),
        Parameter::choice(
            "delay",
            "exponential",
            &words(&DELAYS),
            "distribution of delays: lookahead + exponential, lookahead + uniform, always the mean, or exponential rounded up to whole lookaheads",
        ),
        Parameter::integer("radius", 0, 0..=4_000_000_000, "0: a remote event goes to any LP; k: to (id + k) mod lps"),
        Parameter::integer("payload", 0, 0..=16_777_216, "bytes that each event carries"),
        Parameter::integer("work", 0, 0..=1_000_000_000, "nanoseconds that each event keeps the processor busy"),
        Parameter::fraction(
            "work_share",
            1.0,
            "share of the LPs whose events keep the processor busy, the first LPs: below 1 the load is uneven",
        ),
        Parameter::choice(
            "restore",
            "copy",
            &words(&RESTORES),
            "how state is restored after a rollback: by copy, by reverse handler, by undo log",
        ),
    ],
    build,
);

/// The end of a run by default: 100 times the default of the mean delay.
const UNTIL: Time = Time::from_ps(100_000_000_000_000);

const DELAYS: Table<DelayKind, 4> = [
    ("exponential", DelayKind::Exponential),
    ("uniform", DelayKind::Uniform),
    ("constant", DelayKind::Constant),
    ("quantised", DelayKind::Quantised),
];
const RESTORES: Table<Restore, 3> = [("copy", Restore::Copy), ("reverse", Restore::Reverse), ("log", Restore::Log)];

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters {
        lps: int32(values, "lps"),
        start_events: int32(values, "start_events"),
        remote: values.float("remote"),
        lookahead: values.duration("lookahead"),
        mean_delay: values.duration("mean_delay"),
        delay: value_of(values, "delay", &DELAYS),
        radius: int32(values, "radius"),
        payload: usize::try_from(values.integer("payload")).expect("its range ends below 2^32"),
        work_ns: values.integer("work"),
        work_share: values.float("work_share"),
        restore: value_of(values, "restore", &RESTORES),
    };
    parameters.check().map_err(|(key, what)| {
        let none = parameters.lookahead == Delay::ZERO;
        let help = if none { "raise `lookahead`" } else { "lower `lookahead` or raise `mean_delay`" };
        values.error_at(key, &what, help)
    })?;
    // Without payload, an event has no buffer, not even an empty one.
    Ok(match parameters.payload {
        0 => Simulation::distributed(Phold::<()>::new(parameters), UNTIL),
        _ => Simulation::distributed(Phold::<Bytes>::new(parameters), UNTIL),
    })
}
