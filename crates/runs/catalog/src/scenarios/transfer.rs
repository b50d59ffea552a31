//! `transfer`.

use super::{Scenario, bytes, int32};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::units::MBPS;
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_models::transfer::{Parameters, Restore, Transfer};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "transfer",
    "pairs that move data by a sliding window over a lossy, delayed channel, with a retransmission timer",
    &[
        Parameter::integer("pairs", 64, 1..=1_000_000_000, "pairs of a sender and a receiver"),
        Parameter::integer("window", 256, 1..=1_048_576, "greatest number of segments without an acknowledgement"),
        Parameter::integer("segments", 1000, 1..=1_000_000_000, "segments of a transfer"),
        Parameter::size("segment", 1500, "size of a segment").positive(),
        Parameter::size("ack", 40, "size of an acknowledgement").positive(),
        Parameter::fraction("loss", 0.01, "probability that a segment or an acknowledgement is lost; below 1"),
        Parameter::duration("delay", Delay::from_ms(10), "least delay of the channel in either direction"),
        Parameter::duration("jitter", Delay::from_us(200), "greatest additional delay; it is drawn uniformly"),
        Parameter::rate("rate", 100 * MBPS, "rate of the channel in either direction").positive(),
        Parameter::duration("pause", Delay::from_ms(100), "mean pause between transfers"),
        Parameter::duration("min_timeout", Delay::from_ms(200), "least retransmission timeout").positive(),
        Parameter::choice(
            "restore",
            "log",
            &words(&RESTORES),
            "how state is restored after a rollback: by copy, by undo log",
        ),
    ],
    build,
);

const RESTORES: Table<Restore, 2> = [("copy", Restore::Copy), ("log", Restore::Log)];

fn build(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = Parameters {
        pairs: int32(values, "pairs"),
        window: int32(values, "window"),
        segments: values.integer("segments"),
        segment_bytes: bytes(values, "segment")?,
        ack_bytes: bytes(values, "ack")?,
        loss: values.float("loss"),
        delay: values.duration("delay"),
        jitter: values.duration("jitter"),
        rate: values.rate("rate"),
        pause: values.duration("pause"),
        min_timeout: values.duration("min_timeout"),
        restore: value_of(values, "restore", &RESTORES),
    };
    let model = Transfer::new(parameters).map_err(|(key, what)| {
        // The model's name of a size ends in `_bytes`; the parameter's name does not.
        values.error_at(key.trim_end_matches("_bytes"), &what, "choose another value")
    })?;
    Ok(Simulation::distributed(model, Time::from_ps(60_000_000_000_000)))
}
