//! The table of impairments.

use super::{Shape, may, must};
use parades_config::Parameter;
use parades_core::time::Delay;

pub(crate) const IMPAIRMENTS: Shape = Shape {
    noun: "an impairment",
    name: "impairment",
    several: true,
    meaning: "impairments that links name with their key `impairment`; they only add delay",
    keys: &[
        must(Parameter::text("name", "", "its name")),
        may(Parameter::duration(
            "jitter",
            Delay::from_ms(1),
            "further delay of each packet: the longest, the mean, or the scale",
        )
        .positive()),
        may(Parameter::choice(
            "distribution",
            "uniform",
            &["uniform", "normal", "pareto"],
            "how the jitter is distributed",
        )
        .needs("jitter")),
        may(Parameter::duration("deviation", Delay::ZERO, "standard deviation of normal jitter")
            .needs("distribution=normal")),
        may(Parameter::float("shape", 3.0, 1.001..=100.0, "shape of Pareto jitter; its mean is jitter / (shape - 1)")
            .needs("distribution=pareto")),
        may(Parameter::boolean("keep_order", false, "whether no packet overtakes another one").needs("jitter")),
        may(Parameter::fraction("reorder", 0.0, "probability that a packet skips the jitter and may overtake others")),
        may(Parameter::fraction("duplicate", 0.0, "probability that a packet arrives twice")),
        may(Parameter::fraction(
            "to_bad",
            0.0,
            "losses in bursts (Gilbert-Elliott): probability that a bad spell begins with the next packet",
        )),
        may(Parameter::fraction("to_good", 1.0, "probability that a bad spell ends with the next packet")),
        may(Parameter::fraction("loss_good", 0.0, "probability of a loss in good spells")),
        may(Parameter::fraction("loss_bad", 1.0, "probability of a loss in bad spells")),
    ],
    kinds: &[],
};
