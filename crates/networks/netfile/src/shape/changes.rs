//! The tables of changes and of measurements.

use super::{Form, Shape, may, must, other};
use parades_config::Parameter;
use parades_config::units::MBPS;
use parades_core::time::Delay;

pub(crate) const EVENT: Shape = Shape {
    noun: "an event",
    name: "event",
    several: true,
    meaning: "failures, repairs and changes of links or nodes, each at a time",
    keys: &[
        must(Parameter::duration("at", Delay::from_secs(1), "when").positive()),
        other("link", Form::Select, "the links"),
        other("node", Form::Select, "or the nodes"),
        may(Parameter::choice("state", "down", &["down", "up"], "what becomes of them")),
        may(Parameter::rate(
            "rate",
            MBPS,
            "the links' rate from now on; of a link with a `rate_back`, from `from` to `to`",
        )
        .positive()),
        may(Parameter::rate("rate_back", MBPS, "their `rate_back` from now on").positive()),
        may(Parameter::duration("delay", Delay::ZERO, "their delay from now on")),
        may(Parameter::fraction("loss", 0.0, "their probability of loss from now on")),
        may(Parameter::duration("for", Delay::from_secs(1), "time after which everything is again as at the start")
            .positive()),
    ],
    kinds: &[],
};

pub(crate) const MEASURE: Shape = Shape {
    noun: "the table `measure`",
    name: "measure",
    several: false,
    meaning: "what is measured beside what always is",
    keys: &[
        may(Parameter::duration("every", Delay::ZERO, "time between two samples; 0s: none")),
        other("links", Form::Select, "links whose utilisation and queue are sampled one by one"),
        other("apps", Form::Select, "apps whose throughput is sampled one by one"),
        other(
            "flows",
            Form::Select,
            "flows whose goodput is sampled one by one, and of TCP its window, round trip and rate: `video#3` is flow 3 \
             of the table of flows, an app's name all of its flows",
        ),
        may(Parameter::boolean(
            "percentiles",
            true,
            "whether each flow has percentiles of its delay, some kilobytes each",
        )),
        may(Parameter::choice(
            "unfinished",
            "left-out",
            &["left-out", "so-far"],
            "flows and requests that are unfinished at the end: left out of completion times, response times and slowdowns, \
             or counted with their time so far, a lower bound",
        )),
    ],
    kinds: &[],
};
