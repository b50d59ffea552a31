//! `wan`.

use super::campus::{SAMPLE, bytes};
use super::{Prepared, Scenario, about_file, int32};
use parades_config::units::MBPS;
use parades_config::{ConfigError, Parameter, Place, Values};
use parades_core::time::{Delay, Time};
use parades_packet::network::Network;
use parades_packet::queue::QueueLimit;
use parades_packet::traffic::Sizes;
use parades_packet::wan::{Arrivals, Parameters, Weights};
use parades_topology::generators::backbone;
use parades_topology::graphml::{self, Options};
use parades_topology::routing::Metric;

/// What a file is taken to say where it says nothing, unless the user says otherwise.
const OF_FILES: Options = Options { rate_bps: 100 * MBPS, delay: Delay::from_ms(1), delay_min: Delay::from_us(5) };

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "wan",
    about: "a wide-area network from a GraphML file (or a built-in one) under gravity traffic",
    parameters: &[
        Parameter::path(
            "topology",
            "GraphML file, as the Internet Topology Zoo writes them; without one, a built-in backbone",
        ),
        Parameter::rate("default_rate", OF_FILES.rate_bps, "rate of links for which the file gives none").positive(),
        Parameter::duration("default_delay", OF_FILES.delay, "delay of links with an end whose place cannot be told"),
        Parameter::duration("least_delay", OF_FILES.delay_min, "least delay of a link, however close its ends"),
        Parameter::integer("flows", 1000, 1..=100_000_000, "flows; their ends are drawn by the nodes' weights"),
        Parameter::float("load", 0.95, 0.0..=1000.0, "offered to the most loaded link, as a share of its rate")
            .positive(),
        Parameter::float(
            "packets_per_s",
            200_000.0,
            0.0..=1e12,
            "most packets that all flows send in a second, on average",
        )
        .positive(),
        Parameter::choice(
            "weights",
            "rate",
            &["rate", "degree", "equal"],
            "weight of a node: its links' rates, their number, or 1",
        ),
        Parameter::choice("arrivals", "poisson", &["constant", "poisson", "on-off"], "how flows send"),
        Parameter::duration(
            "period",
            Delay::from_ms(100),
            "mean of the on periods, and of the off periods, of on-off flows",
        )
        .positive(),
        Parameter::size(
            "packet",
            0,
            "payload of packets; 0: the Internet mix of 40, 576 and 1500 bytes at 7 : 4 : 1, headers included",
        ),
        Parameter::choice("routing", "delay", &["delay", "hops"], "what makes a path short"),
        Parameter::integer("queue", 100, 0..=1_000_000_000, "packets that may wait at an interface"),
        Parameter::size("headers", 30, "headers of a packet: UDP 8, IP 20, PPP 2"),
        SAMPLE,
    ],
};

pub(crate) fn prepare(values: &Values, seed: u64) -> Result<Prepared<Network>, ConfigError> {
    let options = Options {
        rate_bps: values.rate("default_rate"),
        delay: values.duration("default_delay"),
        delay_min: values.duration("least_delay"),
    };
    let (topology, mut notes) = match values.path("topology") {
        Some(path) => {
            let read = graphml::read(&path, &options).map_err(|error| about_file(values, "topology", error))?;
            (read.topology, read.notes)
        }
        None => {
            let wishes = [
                ("default_rate", options.rate_bps != OF_FILES.rate_bps),
                ("default_delay", options.delay != OF_FILES.delay),
                ("least_delay", options.delay_min != OF_FILES.delay_min),
            ];
            if let Some((key, _)) = wishes.into_iter().find(|(_, is_wish)| *is_wish) {
                let message = format!("`{key}` is of the links of a file, and the built-in backbone has its own");
                return Err(values.error_at(key, &message, "name a `topology`, or leave it out"));
            }
            (backbone(), Vec::new())
        }
    };
    let parameters = Parameters {
        flows: int32(values, "flows"),
        load: values.float("load"),
        packets_per_s: values.float("packets_per_s"),
        weights: match values.choice("weights") {
            "degree" => Weights::Degree,
            "equal" => Weights::Equal,
            _ => Weights::Rate,
        },
        arrivals: match values.choice("arrivals") {
            "constant" => Arrivals::Constant,
            "on-off" => Arrivals::OnOff(values.duration("period")),
            _ => Arrivals::Poisson,
        },
        sizes: match bytes(values, "packet")? {
            0 => Sizes::internet_mix(),
            payload => Sizes::Constant(payload),
        },
        metric: if values.choice("routing") == "hops" { Metric::Hops } else { Metric::Delay },
        queue: QueueLimit::Packets(int32(values, "queue")),
        headers: bytes(values, "headers")?,
        sample: values.duration("sample"),
    };
    let wan = parameters.build(topology, seed).map_err(|error| {
        let error = ConfigError::new(error.to_string());
        match values.path("topology") {
            Some(path) => error.at(Place::File(path)),
            None => error,
        }
    })?;
    if wan.load < parameters.load {
        notes.push(format!(
            "the most loaded link is offered {:.4} of its rate, because all flows together send {} packets a second at most (`packets_per_s`)",
            wan.load, parameters.packets_per_s
        ));
    }
    Ok(Prepared { model: wan.network, until: Time::from_ps(10_000_000_000_000), notes })
}
