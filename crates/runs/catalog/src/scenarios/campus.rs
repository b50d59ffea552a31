//! `campus`.

mod starts;

use super::{Scenario, Split, about_file, check_memory, check_packet, joined, length, needing, split_at};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::shared::Shared;
use parades_core::time::Time;
use parades_packet::campus::Parameters;
use parades_packet::network::NetworkError;
use parades_packet::packet::PAYLOAD_MAX;
use parades_packet::protocols::tcp::SEGMENT_MAX;
use parades_topology::TopologyError;
use parades_topology::generators::campus::Campus;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "campus",
    "a ring of campus networks of 538 nodes each (DARPA NMS); every host receives data from a server next door",
    &needing(joined::<{ length(PARAMETERS) }>(PARAMETERS), NEEDS),
    build,
);

const SPLIT: Split = split_at(Parameters::PARAMETERS, "congestion");
const PARAMETERS: &[&[Parameter]] = &[SPLIT.before, TRAFFIC_AND_FLOWS, SPLIT.from];

/// What parameters need of the traffic. TCP has headers of its own, and multicast stays within a campus.
const NEEDS: &[(&str, &str)] = &[
    ("congestion", "traffic=tcp"),
    ("start_span", "no flows"),
    ("headers", "traffic=udp|multicast"),
    ("ring_rate", "traffic=udp|tcp"),
    ("ring_delay", "traffic=udp|tcp"),
];

const TRAFFIC_AND_FLOWS: &[Parameter] = &[
    Parameter::choice(
        "traffic",
        "udp",
        &words(&TRAFFIC),
        "udp: each host receives a flow from a server in the next campus; tcp: so it does, over connections; multicast: a server of each campus sends one flow to all of its hosts, down a tree",
    ),
    Parameter::path(
        "flows",
        "for tcp, a file of lines `campus host server start_s` in place of random draws; servers are 2 to 5",
    )
    .needs("traffic=tcp"),
];

/// The kind of a campus's traffic.
#[derive(Clone, Copy)]
enum Traffic {
    Udp,
    Tcp,
    Multicast,
}

const TRAFFIC: Table<Traffic, 3> = [("udp", Traffic::Udp), ("tcp", Traffic::Tcp), ("multicast", Traffic::Multicast)];

/// The LAN routers of a campus, to which hosts are linked.
const LANS: u32 = 12;

/// The end of a run by default.
const UNTIL: Time = Time::from_ps(100_000_000_000_000);

/// The memory that a node takes while the network is built, in bytes, estimated low: its links, and its flow.
const NODE_BYTES: u64 = 200;

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let parameters = parameters(values)?;
    let Parameters { networks, lan_clients, .. } = parameters;
    let nodes = Campus { networks, lan_clients, ..Campus::default() }.nodes();
    check_memory(values, "networks", nodes.saturating_mul(NODE_BYTES))?;
    let refused = |error: NetworkError| match &error {
        NetworkError::Topology(why @ TopologyError::DelaysOverflow { .. }) => {
            let delays = ["inner_delay", "access_delay", "ring_delay"];
            let longest = delays.into_iter().max_by_key(|key| values.duration(key)).expect("there are three");
            values.error_at(longest, &why.to_string(), "lower it")
        }
        _ => ConfigError::new(error.to_string()),
    };
    Ok(match value_of(values, "traffic", &TRAFFIC) {
        Traffic::Udp => Simulation::saved(parameters.network(seed).map_err(refused)?, UNTIL),
        Traffic::Tcp => Simulation::saved(parameters.streams(seed).map_err(refused)?, UNTIL),
        Traffic::Multicast => {
            Simulation::saved(parameters.multicast::<Shared<Box<[u8]>>>(seed).map_err(refused)?, UNTIL)
        }
    })
}

fn parameters(values: &Values) -> Result<Parameters, ConfigError> {
    let parameters = Parameters::from_values(values)?;
    let is_tcp = matches!(value_of(values, "traffic", &TRAFFIC), Traffic::Tcp);
    check_packet(values, if is_tcp { SEGMENT_MAX } else { PAYLOAD_MAX })?;
    let Parameters { networks, lan_clients, .. } = parameters;
    let starts = match values.path("flows") {
        Some(path) => {
            let bounds = starts::Bounds { campuses: networks, hosts: lan_clients.saturating_mul(LANS) };
            starts::read(&path, bounds).map_err(|error| about_file(values, "flows", error))?
        }
        None => Vec::new(),
    };
    Ok(Parameters { starts, ..parameters })
}
