//! `phold`.

use super::{Prepared, Scenario, Visitor, int32};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_models::phold::{DelayKind, Parameters, Phold, Restore};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "phold",
    about: "the classic synthetic workload: each event sends one on, to a random LP or to itself",
    parameters: &[
        Parameter::integer("lps", 1024, 1..=4_000_000_000, "logical processes"),
        Parameter::integer("start_events", 1, 0..=1_000_000, "events that each LP begins with"),
        Parameter::fraction("remote", 0.5, "share of events sent to an LP drawn uniformly, the sender included"),
        Parameter::duration("lookahead", Delay::from_ms(100), "least delay of an event").with_default_unit("s"),
        Parameter::duration("mean_delay", Delay::from_secs(1), "mean delay of an event, lookahead included")
            .with_default_unit("s"),
        Parameter::choice(
            "delay",
            "exponential",
            &["exponential", "uniform", "constant", "quantised"],
            "how delays are drawn: lookahead + exponential, lookahead + uniform, always the mean, or exponential rounded up to whole lookaheads",
        ),
        Parameter::integer("radius", 0, 0..=4_000_000_000, "0: a remote event goes to any LP; k: to (id + k) mod lps"),
        Parameter::integer("payload", 0, 0..=16_777_216, "bytes that each event carries"),
        Parameter::integer("work", 0, 0..=1_000_000_000, "nanoseconds that each event keeps the processor busy"),
        Parameter::fraction(
            "work_share",
            1.0,
            "share of the LPs whose events do so, the first ones: less than 1 is a lopsided load",
        ),
        Parameter::choice(
            "restore",
            "copy",
            &["copy", "reverse", "log"],
            "how state is restored after a rollback: by copy, by reverse handler, by undo log",
        ),
    ],
};

/// How long it runs by default: 100 mean delays of its default.
const UNTIL: Time = Time::from_ps(100_000_000_000_000);

pub(crate) fn accept<V: Visitor>(values: &Values, visitor: V) -> Result<V::Output, ConfigError> {
    let parameters = Parameters {
        lps: int32(values, "lps"),
        start_events: int32(values, "start_events"),
        remote: values.float("remote"),
        lookahead: values.duration("lookahead"),
        mean_delay: values.duration("mean_delay"),
        delay: match values.choice("delay") {
            "uniform" => DelayKind::Uniform,
            "constant" => DelayKind::Constant,
            "quantised" => DelayKind::Quantised,
            _ => DelayKind::Exponential,
        },
        radius: int32(values, "radius"),
        payload: usize::try_from(values.integer("payload")).expect("its range ends below 2^32"),
        work_ns: values.integer("work"),
        work_share: values.float("work_share"),
        restore: match values.choice("restore") {
            "reverse" => Restore::Reverse,
            "log" => Restore::Log,
            _ => Restore::Copy,
        },
    };
    parameters.check().map_err(|(key, what)| {
        let none = parameters.lookahead == Delay::ZERO;
        let help = if none { "raise `lookahead`" } else { "lower `lookahead` or raise `mean_delay`" };
        values.error_at(key, &what, help)
    })?;
    let notes = Vec::new();
    // Events without payload carry nothing at all, not an empty buffer.
    Ok(match parameters.payload {
        0 => visitor.visit(Prepared { model: Phold::<()>::new(parameters), until: UNTIL, notes }),
        _ => visitor.visit(Prepared { model: Phold::<Box<[u8]>>::new(parameters), until: UNTIL, notes }),
    })
}
