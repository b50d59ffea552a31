//! `campus`.

use super::{Prepared, Scenario, Visitor, int32};
use parades_config::units::{GBPS, KBPS, MBPS};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::shared::Shared;
use parades_core::time::{Delay, Time};
use parades_packet::campus::{LinkKind, Parameters};
use parades_packet::network::NetworkError;
use parades_packet::queue::QueueLimit;

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "campus",
    about: "a ring of campus networks of 538 nodes each (DARPA NMS); every host receives data from a server next door",
    parameters: &[
        Parameter::integer("networks", 2, 1..=1_000_000, "campuses; 1: no ring, a campus's hosts use its own servers"),
        Parameter::integer("lan_clients", 42, 1..=1_000_000, "hosts at each of the twelve LAN routers of a campus"),
        Parameter::choice(
            "traffic",
            "udp",
            &["udp", "multicast"],
            "udp: to each host a flow from a server next door; multicast: to all hosts of a campus one, down a tree from a server of their own",
        ),
        Parameter::rate(
            "flow_rate",
            500 * KBPS,
            "payload that a server sends to one host in a second, or to all of them alike",
        )
        .positive(),
        Parameter::size("packet", 512, "payload of a packet").positive(),
        Parameter::size("flow", 500_224, "payload that a host receives in all").positive(),
        Parameter::duration("start_span", Delay::from_secs(10), "flows start at a random time between 0 and this"),
        Parameter::size("headers", 30, "headers of a packet: UDP 8, IP 20, PPP 2"),
        Parameter::integer("queue", 100, 0..=1_000_000_000, "packets that may wait at an interface"),
        Parameter::rate("inner_rate", GBPS, "rate of links inside a campus").positive(),
        Parameter::duration("inner_delay", Delay::from_ms(5), "delay of links inside a campus"),
        Parameter::rate("access_rate", 100 * MBPS, "rate of links to hosts").positive(),
        Parameter::duration("access_delay", Delay::from_ms(1), "delay of links to hosts"),
        Parameter::rate("ring_rate", 2 * GBPS, "rate of links between campuses").positive(),
        Parameter::duration("ring_delay", Delay::from_ms(200), "delay of links between campuses"),
        SAMPLE,
    ],
};

/// For every network.
pub(crate) const SAMPLE: Parameter = Parameter::duration(
    "sample",
    Delay::ZERO,
    "time between two samples of goodput, drops and queues, as series; 0: no samples",
);

/// Makes the model that `traffic` asks for, and gives it to the visitor.
pub(crate) fn accept<V: Visitor>(values: &Values, seed: u64, visitor: V) -> Result<V::Output, ConfigError> {
    let parameters = parameters(values)?;
    match values.choice("traffic") {
        "udp" => prepared(parameters.network(seed)).map(|udp| visitor.visit(udp)),
        "multicast" => prepared(parameters.multicast::<Shared<Box<[u8]>>>(seed)).map(|tree| visitor.visit(tree)),
        traffic => unreachable!("`{traffic}` is a choice and not in this match"),
    }
}

fn prepared<M>(model: Result<M, NetworkError>) -> Result<Prepared<M>, ConfigError> {
    let model = model.map_err(|error| ConfigError::new(error.to_string()))?;
    Ok(Prepared { model, until: Time::from_ps(100_000_000_000_000), notes: Vec::new() })
}

fn parameters(values: &Values) -> Result<Parameters, ConfigError> {
    let link = |rate, delay| LinkKind { rate_bps: values.rate(rate), delay: values.duration(delay) };
    Ok(Parameters {
        networks: int32(values, "networks"),
        lan_clients: int32(values, "lan_clients"),
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
    })
}

/// The value of a size that must fit into 32 bits.
pub(crate) fn bytes(values: &Values, key: &str) -> Result<u32, ConfigError> {
    u32::try_from(values.size(key))
        .map_err(|_| values.error_at(key, &format!("`{key}` must be below 4 GiB"), "lower it"))
}
