//! `campus`.

mod starts;

use super::{Scenario, about_file, bytes, check_memory, int32};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::units::{GBPS, KBPS, MBPS};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::shared::Shared;
use parades_core::time::{Delay, Time};
use parades_packet::campus::{LinkKind, Parameters};
use parades_packet::network::NetworkError;
use parades_packet::queue::QueueLimit;
use parades_tcp::control::Algorithm;
use parades_tcp::settings::Settings;
use parades_topology::generators::campus::Campus;
use parades_topology::routing::Paths;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "campus",
    "a ring of campus networks of 538 nodes each (DARPA NMS); every host receives data from a server next door",
    &[
        Parameter::integer("networks", 2, 1..=1_000_000, "campuses; 1: no ring, a campus's hosts use its own servers"),
        Parameter::integer("lan_clients", 42, 1..=1_000_000, "hosts at each of the twelve LAN routers of a campus"),
        Parameter::choice(
            "traffic",
            "udp",
            &words(&TRAFFIC),
            "udp: each host receives a flow from a server in the next campus; tcp: so it does, over connections; multicast: a server of each campus sends one flow to all of its hosts, down a tree",
        ),
        Parameter::path(
            "flows",
            "for tcp, a file of lines `campus host server start_s` in place of random draws; servers are 2 to 5",
        ),
        Parameter::choice(
            "congestion",
            CONGESTION,
            &["newreno", "cubic", "dctcp", "bbr", "vegas"],
            "congestion control of tcp, in the profile of ns-3",
        ),
        Parameter::rate("flow_rate", 500 * KBPS, "payload of a flow in a second").positive(),
        Parameter::size("packet", 512, "payload of a packet").positive(),
        Parameter::size("flow", 500_224, "payload that a host receives, in total").positive(),
        Parameter::duration("start_span", Delay::from_secs(10), "flows start at a random time between 0 and this"),
        Parameter::size("headers", 30, "headers of a packet: UDP 8, IP 20, PPP 2"),
        Parameter::integer("queue", 100, 0..=1_000_000_000, "greatest number of packets in the queue of an interface"),
        Parameter::rate("inner_rate", GBPS, "rate of links inside a campus").positive(),
        Parameter::duration("inner_delay", Delay::from_ms(5), "delay of links inside a campus"),
        Parameter::rate("access_rate", 100 * MBPS, "rate of links to hosts").positive(),
        Parameter::duration("access_delay", Delay::from_ms(1), "delay of links to hosts"),
        Parameter::rate("ring_rate", 2 * GBPS, "rate of links between campuses").positive(),
        Parameter::duration("ring_delay", Delay::from_ms(200), "delay of links between campuses"),
        PATHS,
        SAMPLE,
    ],
    build,
);

/// The parameter for samples, which the scenarios of packet networks have in common.
pub(crate) const SAMPLE: Parameter = Parameter::duration(
    "sample",
    Delay::ZERO,
    "time between two samples of goodput, drops and queues, as series; 0: no samples",
);

/// The parameter for equal paths, which the scenarios of packet networks have in common.
pub(crate) const PATHS: Parameter = Parameter::choice(
    "paths",
    "ecmp",
    &words(&EQUAL_PATHS),
    "ecmp: flows spread over equally short paths, by a hash of the flow and the node; single: all take the first of them",
);

const EQUAL_PATHS: Table<Paths, 2> = [("ecmp", Paths::All), ("single", Paths::One)];

/// Returns the value of [`PATHS`].
pub(crate) fn paths(values: &Values) -> Paths {
    value_of(values, PATHS.key(), &EQUAL_PATHS)
}

/// The kind of a campus's traffic.
#[derive(Clone, Copy)]
enum Traffic {
    Udp,
    Tcp,
    Multicast,
}

const TRAFFIC: Table<Traffic, 3> = [("udp", Traffic::Udp), ("tcp", Traffic::Tcp), ("multicast", Traffic::Multicast)];

/// The congestion control of TCP by default.
const CONGESTION: &str = "cubic";

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
    let refused = |error: NetworkError| ConfigError::new(error.to_string());
    Ok(match value_of(values, "traffic", &TRAFFIC) {
        Traffic::Udp => Simulation::distributed(parameters.network(seed).map_err(refused)?, UNTIL),
        Traffic::Tcp => Simulation::distributed(parameters.streams(seed).map_err(refused)?, UNTIL),
        Traffic::Multicast => {
            Simulation::distributed(parameters.multicast::<Shared<Box<[u8]>>>(seed).map_err(refused)?, UNTIL)
        }
    })
}

fn parameters(values: &Values) -> Result<Parameters, ConfigError> {
    let link = |rate, delay| LinkKind { rate_bps: values.rate(rate), delay: values.duration(delay) };
    let traffic = value_of(values, "traffic", &TRAFFIC);
    // The default is not refused: `parades show campus` prints it, whatever the traffic is.
    let of_tcp = ["flows", "congestion"]
        .into_iter()
        .find(|key| values.is_set(key) && (*key != "congestion" || values.choice(key) != CONGESTION));
    if let (Some(key), Traffic::Udp | Traffic::Multicast) = (of_tcp, traffic) {
        let message = format!("`{key}` is for `traffic=tcp`");
        return Err(values.error_at(key, &message, &format!("set `traffic=tcp`, or leave `{key}` out")));
    }
    let (networks, lan_clients) = (int32(values, "networks"), int32(values, "lan_clients"));
    let starts = match values.path("flows") {
        Some(path) => {
            let bounds = starts::Bounds { campuses: networks, hosts: lan_clients.saturating_mul(LANS) };
            starts::read(&path, bounds).map_err(|error| about_file(values, "flows", error))?
        }
        None => Vec::new(),
    };
    let algorithm: Algorithm = values.choice("congestion").parse().expect("the parameter lists the algorithms");
    Ok(Parameters {
        tcp: Settings { algorithm: algorithm.as_in_ns3(), ..Settings::ns3() },
        starts,
        networks,
        lan_clients,
        inner: link("inner_rate", "inner_delay"),
        access: link("access_rate", "access_delay"),
        ring: link("ring_rate", "ring_delay"),
        queue: QueueLimit::Packets(int32(values, "queue")),
        headers: bytes(values, "headers")?,
        flow_rate_bps: values.rate("flow_rate"),
        packet_size: bytes(values, "packet")?,
        flow_bytes: values.size("flow"),
        start_span: values.duration("start_span"),
        sample: values.duration("sample"),
        paths: paths(values),
    })
}
