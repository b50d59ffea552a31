//! The tables of a platform file in TOML, as they are parsed.

use serde::Deserialize;
use toml::Spanned;

/// A text with its place in the file.
pub(super) type Text = Spanned<String>;
/// Three numbers with their place in the file.
pub(super) type Coordinates = Spanned<[f64; 3]>;

/// A platform file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) zone: Spanned<ZoneTable>,
    #[serde(default)]
    pub(super) profile: Vec<Spanned<ProfileTable>>,
}

/// A zone and its elements.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ZoneTable {
    pub(super) name: Text,
    pub(super) routing: Text,
    #[serde(default)]
    pub(super) host: Vec<Spanned<HostTable>>,
    #[serde(default)]
    pub(super) router: Vec<Spanned<RouterTable>>,
    #[serde(default)]
    pub(super) link: Vec<Spanned<LinkTable>>,
    #[serde(default)]
    pub(super) host_link: Vec<Spanned<HostLinkTable>>,
    pub(super) backbone: Option<Spanned<LinkTable>>,
    #[serde(default)]
    pub(super) zone: Vec<Spanned<ZoneTable>>,
    #[serde(default)]
    pub(super) cluster: Vec<Spanned<ClusterTable>>,
    #[serde(default)]
    pub(super) route: Vec<Spanned<RouteTable>>,
    #[serde(default)]
    pub(super) bypass: Vec<Spanned<RouteTable>>,
}

/// A host or peer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostTable {
    pub(super) name: Text,
    pub(super) speed: Text,
    pub(super) cores: Option<u32>,
    pub(super) power_state: Option<u32>,
    pub(super) coordinates: Option<Coordinates>,
    /// The bandwidths of the links down and up, for a peer in a zone of routing `Vivaldi`.
    pub(super) bandwidth_in: Option<Text>,
    pub(super) bandwidth_out: Option<Text>,
    #[serde(default)]
    pub(super) disk: Vec<Spanned<DiskTable>>,
}

/// A disk of a host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiskTable {
    pub(super) name: Text,
    pub(super) read: Text,
    pub(super) write: Text,
}

/// A router.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouterTable {
    pub(super) name: Text,
    pub(super) coordinates: Option<Coordinates>,
}

/// A link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkTable {
    pub(super) name: Text,
    pub(super) bandwidth: Text,
    pub(super) latency: Option<Text>,
    pub(super) sharing: Option<Text>,
}

/// The links of a host in a zone of routing `Cluster`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostLinkTable {
    pub(super) host: Text,
    pub(super) up: Text,
    pub(super) down: Text,
}

/// A route or bypass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteTable {
    pub(super) from: Text,
    pub(super) to: Text,
    pub(super) from_gateway: Option<Text>,
    pub(super) to_gateway: Option<Text>,
    pub(super) links: Vec<Text>,
    pub(super) symmetrical: Option<bool>,
}

/// A cluster.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterTable {
    pub(super) name: Text,
    pub(super) hosts: Text,
    #[serde(default)]
    pub(super) prefix: String,
    #[serde(default)]
    pub(super) suffix: String,
    pub(super) speed: Text,
    pub(super) cores: Option<u32>,
    pub(super) bandwidth: Text,
    pub(super) latency: Text,
    pub(super) sharing: Option<Text>,
    pub(super) backbone_bandwidth: Option<Text>,
    pub(super) backbone_latency: Option<Text>,
    pub(super) backbone_sharing: Option<Text>,
    pub(super) loopback_bandwidth: Option<Text>,
    pub(super) loopback_latency: Option<Text>,
    pub(super) limiter: Option<Text>,
    pub(super) router: Option<String>,
    pub(super) topology: Option<Text>,
    pub(super) parameters: Option<String>,
}

/// A profile of one property of a host or link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileTable {
    /// SPEED, HOST_AVAIL, BANDWIDTH, LATENCY or LINK_AVAIL.
    pub(super) kind: Text,
    /// The name of the host or link.
    pub(super) of: Text,
    /// Lines with a date in seconds and a value. Either `points` or `file` is present.
    pub(super) points: Option<Text>,
    pub(super) file: Option<Text>,
    pub(super) period: Option<Spanned<f64>>,
}
