//! `wan`.

use super::campus::{PATHS, SAMPLE, paths};
use super::{Scenario, about_file, bytes, check_memory, int32};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::units::MBPS;
use parades_config::{ConfigError, Parameter, Place, Values};
use parades_core::time::{Delay, Time};
use parades_packet::queue::QueueLimit;
use parades_packet::traffic::Sizes;
use parades_packet::wan::{Arrivals, Parameters, Weights};
use parades_topology::Topology;
use parades_topology::generators::backbone;
use parades_topology::import::{self, Options};
use parades_topology::routing::Metric;

/// The values for links without a rate or a delay in the file, unless the user sets other values.
const OF_FILES: Options = Options { rate_bps: 100 * MBPS, delay: Delay::from_ms(1), delay_min: Delay::from_us(5) };

/// The memory that a flow takes while the network is built, in bytes: its ends, its route and its state.
const FLOW_BYTES: u64 = 300;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "wan",
    "a wide-area network from a file (GraphML, GML, JSON) or a built-in one, under gravity traffic",
    &[
        Parameter::path(
            "topology",
            "GraphML, GML or node-link JSON file, as other tools write them; without one, a built-in backbone",
        ),
        Parameter::rate("default_rate", OF_FILES.rate_bps, "rate of links for which the file gives none").positive(),
        Parameter::duration("default_delay", OF_FILES.delay, "delay of links with an end whose place is unknown"),
        Parameter::duration("least_delay", OF_FILES.delay_min, "least delay of a link, however close its ends"),
        Parameter::integer(
            "flows",
            1000,
            1..=100_000_000,
            "number of flows; their ends are drawn by the nodes' weights",
        ),
        Parameter::float("load", 0.95, 0.0..=1000.0, "load offered to the most loaded link, as a share of its rate")
            .positive(),
        Parameter::float(
            "packets_per_s",
            200_000.0,
            0.0..=1e12,
            "greatest mean number of packets that all flows together send in a second",
        )
        .positive(),
        Parameter::choice(
            "weights",
            "rate",
            &words(&WEIGHTS),
            "weight of a node: its links' rates, their number, or 1",
        ),
        Parameter::choice("arrivals", "poisson", &words(&ARRIVALS), "the process by which flows send"),
        Parameter::duration(
            "period",
            Delay::from_ms(100),
            "mean duration of the on periods, and of the off periods, of on-off flows",
        )
        .positive(),
        Parameter::size(
            "packet",
            0,
            "payload of packets; 0: the Internet mix of 40, 576 and 1500 bytes at 7 : 4 : 1, headers included",
        ),
        Parameter::choice("routing", "delay", &words(&METRICS), "measure of the length of a path"),
        PATHS,
        Parameter::integer("queue", 100, 0..=1_000_000_000, "greatest number of packets in the queue of an interface"),
        Parameter::size("headers", 30, "headers of a packet: UDP 8, IP 20, PPP 2"),
        SAMPLE,
    ],
    build,
);

const WEIGHTS: Table<Weights, 3> = [("rate", Weights::Rate), ("degree", Weights::Degree), ("equal", Weights::Equal)];
/// The processes of arrivals. Each function is given the value of `period`.
const ARRIVALS: Table<fn(Delay) -> Arrivals, 3> =
    [("constant", |_| Arrivals::Constant), ("poisson", |_| Arrivals::Poisson), ("on-off", Arrivals::OnOff)];
const METRICS: Table<Metric, 2> = [("delay", Metric::Delay), ("hops", Metric::Hops)];

/// The end of a run by default.
const UNTIL: Time = Time::from_ps(10_000_000_000_000);

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let (topology, losses, mut notes) = topology(values)?;
    let parameters = parameters(values, losses)?;
    // Checked before flows are drawn, which may take more memory than there is.
    check_memory(values, "flows", u64::from(parameters.flows) * FLOW_BYTES)?;
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
    Ok(Simulation::distributed(wan.network, UNTIL).with_notes(notes))
}

/// Returns the topology, the probability of loss of each link, and notes for the user on the file.
fn topology(values: &Values) -> Result<(Topology, Vec<f64>, Vec<String>), ConfigError> {
    let options = Options {
        rate_bps: values.rate("default_rate"),
        delay: values.duration("default_delay"),
        delay_min: values.duration("least_delay"),
    };
    if let Some(path) = values.path("topology") {
        let read = import::read(&path, &options).map_err(|error| about_file(values, "topology", error))?;
        let losses = read.losses.iter().map(|loss| loss.unwrap_or(0.0)).collect();
        return Ok((read.topology, losses, read.notes));
    }
    let for_files = [
        ("default_rate", options.rate_bps != OF_FILES.rate_bps),
        ("default_delay", options.delay != OF_FILES.delay),
        ("least_delay", options.delay_min != OF_FILES.delay_min),
    ];
    if let Some((key, _)) = for_files.into_iter().find(|(_, is_set)| *is_set) {
        let message = format!("`{key}` is of the links of a file, and the built-in backbone has its own");
        return Err(values.error_at(key, &message, "name a `topology`, or leave it out"));
    }
    Ok((backbone(), Vec::new(), Vec::new()))
}

fn parameters(values: &Values, losses: Vec<f64>) -> Result<Parameters, ConfigError> {
    Ok(Parameters {
        flows: int32(values, "flows"),
        load: values.float("load"),
        packets_per_s: values.float("packets_per_s"),
        weights: value_of(values, "weights", &WEIGHTS),
        arrivals: value_of(values, "arrivals", &ARRIVALS)(values.duration("period")),
        sizes: match bytes(values, "packet")? {
            0 => Sizes::internet_mix(),
            payload => Sizes::Constant(payload),
        },
        metric: value_of(values, "routing", &METRICS),
        paths: paths(values),
        queue: QueueLimit::Packets(int32(values, "queue")),
        losses,
        headers: bytes(values, "headers")?,
        sample: values.duration("sample"),
    })
}
