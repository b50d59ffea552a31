//! The elements of a platform file. Each function reads one kind of element into the builder.

use super::attributes::Attributes;
use super::{Element, Reader, RouteKind};
use crate::build::{
    Builder, Cabinet, Cluster, Connection, ConnectionKind, DeclaredPolicy, Direction, NO_EFFECT, NewHost, NewLink,
    Topology, radicals,
};
use crate::platform::{Disk, HostId};
use crate::profile::Profile;
use crate::settings::Settings;
use crate::units::{BANDWIDTH, DURATION, SPEED};
use parades_config::Fault;
use parades_config::{nearest, quoted};
use quick_xml::events::BytesStart;
use std::sync::Arc;

/// The elements that may lie in a platform or a zone.
pub(super) const ELEMENTS: [&str; 27] = [
    "zone",
    "AS",
    "host",
    "router",
    "link",
    "route",
    "zoneRoute",
    "ASroute",
    "bypassRoute",
    "bypassZoneRoute",
    "bypassASroute",
    "cluster",
    "cabinet",
    "peer",
    "host_link",
    "backbone",
    "trace",
    "trace_connect",
    "prop",
    "config",
    "random",
    "process",
    "actor",
    "storage_type",
    "storage",
    "mount",
    "mstorage",
];

/// The sharing policies of links. `None`: known, but not supported.
const POLICIES: [(&str, Option<DeclaredPolicy>); 5] = [
    ("SHARED", Some(DeclaredPolicy::Shared)),
    ("FATPIPE", Some(DeclaredPolicy::FatPipe)),
    ("SPLITDUPLEX", Some(DeclaredPolicy::SplitDuplex)),
    ("FULLDUPLEX", Some(DeclaredPolicy::SplitDuplex)),
    ("WIFI", None),
];

/// Reads the root element: checks its name and its version. `is_second` says that another came before.
pub(super) fn root(builder: &mut Builder, name: &str, tag: &BytesStart<'_>, is_second: bool) -> Result<(), Fault> {
    if is_second {
        return Err(builder.wrong("a second root element follows the first", "keep one <platform> in the file"));
    }
    if name != "platform" {
        let message = format!("the root element is {}, not <platform>", quoted(name));
        return Err(builder.wrong(message, "give a platform file"));
    }
    let attributes = Attributes::of(builder, tag, &["version"])?;
    let version = attributes.required("version")?;
    match version.parse::<f64>() {
        Ok(version) if (3.0..4.15).contains(&version) => {
            builder.is_version_3 = version < 4.0;
            Ok(())
        }
        _ => {
            let message = format!("the file is of version {}", quoted(version));
            Err(builder.wrong(message, "3, 4 and 4.1 can be read; simgrid_update_xml brings older files up to date"))
        }
    }
}

impl Reader {
    /// Handles the start of an element inside a platform or a zone.
    pub(super) fn element(&mut self, name: &str, tag: &BytesStart<'_>) -> Result<Element, Fault> {
        let builder = &mut self.builder;
        let route = |builder: &Builder, kind, known: &[&str]| {
            Ok(Element::Route(kind, Attributes::of(builder, tag, known)?, Vec::new()))
        };
        const ENDS: [&str; 5] = ["src", "dst", "gw_src", "gw_dst", "symmetrical"];
        match name {
            "zone" | "AS" => {
                let attributes = Attributes::of(builder, tag, &["id", "routing"])?;
                builder.begin_zone(attributes.required("id")?, attributes.required("routing")?)?;
                return Ok(Element::Zone);
            }
            "route" => return route(builder, RouteKind::Hosts, &["src", "dst", "symmetrical"]),
            "zoneRoute" | "ASroute" => return route(builder, RouteKind::Zones, &ENDS),
            "bypassRoute" => return route(builder, RouteKind::BypassHosts, &ENDS[..2]),
            "bypassZoneRoute" | "bypassASroute" => return route(builder, RouteKind::BypassZones, &ENDS[..4]),
            "trace" => {
                let attributes = Attributes::of(builder, tag, &["id", "file", "periodicity"])?;
                return Ok(Element::Trace(attributes, String::new()));
            }
            "host" => return host(builder, tag).map(Element::Host),
            "router" => {
                let attributes = Attributes::of(builder, tag, &["id", "coordinates"])?;
                builder.router(attributes.required("id")?, attributes.coordinates()?)?;
            }
            "link" => {
                let link = link(builder, tag)?;
                builder.link(&link)?;
            }
            "cluster" => cluster(builder, tag)?,
            "cabinet" => cabinet(builder, tag)?,
            "peer" => peer(builder, tag)?,
            "host_link" => {
                let attributes = Attributes::of(builder, tag, &["id", "up", "down"])?;
                builder.host_link(
                    attributes.required("id")?,
                    attributes.required("up")?,
                    attributes.required("down")?,
                )?;
            }
            "backbone" => {
                let link = link(builder, tag)?;
                builder.backbone(&link)?;
            }
            "trace_connect" => {
                let attributes = Attributes::of(builder, tag, &["kind", "trace", "element"])?;
                let kind = attributes.get("kind").unwrap_or("HOST_AVAIL");
                let kind = ConnectionKind::named(kind).ok_or_else(|| {
                    attributes.wrong("kind", "is none of SPEED, HOST_AVAIL, BANDWIDTH, LATENCY, LINK_AVAIL")
                })?;
                let (element, trace) = (attributes.required("element")?.into(), attributes.required("trace")?.into());
                builder.connect(Connection { kind, element, trace });
            }
            "config" => {
                Attributes::of(builder, tag, &["id"])?;
                return Ok(Element::Config);
            }
            "prop" | "random" | "process" | "actor" | "storage_type" | "storage" | "mount" | "mstorage" => {
                builder.ignore(&format!("the element {}", quoted(name)), NO_EFFECT);
                return Ok(Element::Ignored);
            }
            unknown => {
                let help = match nearest(unknown, ELEMENTS) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => "delete it".to_owned(),
                };
                return Err(builder.wrong(format!("there is no element {} in platforms", quoted(unknown)), help));
            }
        }
        Ok(Element::Leaf)
    }
}

/// Reads a property of a `<config>`: a setting of the network model, or one that has no effect.
pub(super) fn setting(builder: &mut Builder, name: &str, tag: &BytesStart<'_>) -> Result<(), Fault> {
    if name != "prop" {
        builder.ignore(&format!("the element {} of <config>", quoted(name)), NO_EFFECT);
        return Ok(());
    }
    let attributes = Attributes::of(builder, tag, &["id", "value"])?;
    let (id, value) = (attributes.required("id")?, attributes.get("value").unwrap_or_default());
    match builder.set(id, value) {
        Ok(true) => {}
        Ok(false) => builder.ignore(&format!("the setting {} of <config>", quoted(id)), NO_EFFECT),
        Err(why) => {
            let message = format!("the value {} of the setting {} {why}", quoted(value), quoted(id));
            if Settings::is_model(id) {
                builder.refuse_model(message);
                return Ok(());
            }
            return Err(builder.wrong(message, "correct it"));
        }
    }
    Ok(())
}

/// Returns the profile of something that `state="OFF"` switches off, as version 3 writes it.
fn state(attributes: &Attributes) -> Result<Option<Arc<Profile>>, Fault> {
    match attributes.choice("state", &[("ON", true), ("OFF", false)], true)? {
        true => Ok(None),
        false => Ok(Some(Arc::new(Profile::parse("0 0").expect("a profile of one point")))),
    }
}

/// Reads the profile whose file is the value of the first present attribute among `names`.
fn profile(builder: &mut Builder, attributes: &Attributes, names: &[&str]) -> Result<Option<Arc<Profile>>, Fault> {
    let name = names.iter().find_map(|name| attributes.get(name));
    name.map(|name| builder.profile_from_file(name)).transpose()
}

/// Reads the speeds of a host in flops per second, one for each pstate.
fn speeds(attributes: &Attributes) -> Result<Vec<f64>, Fault> {
    let parts = attributes.required("speed")?.split(',');
    parts.map(|part| SPEED.read(part).map_err(|what| attributes.wrong("speed", &what))).collect()
}

fn host(builder: &mut Builder, tag: &BytesStart<'_>) -> Result<HostId, Fault> {
    const KNOWN: [&str; 8] =
        ["id", "speed", "core", "pstate", "coordinates", "speed_file", "availability_file", "state_file"];
    let attributes = Attributes::of(builder, tag, &KNOWN)?;
    let host = NewHost {
        name: attributes.required("id")?.to_owned(),
        speeds: speeds(&attributes)?,
        pstate: attributes.whole("pstate")?.unwrap_or(0),
        cores: attributes.whole("core")?.unwrap_or(1),
        coordinates: attributes.coordinates()?,
        speed_profile: profile(builder, &attributes, &["speed_file", "availability_file"])?,
        state_profile: profile(builder, &attributes, &["state_file"])?.or(state(&attributes)?),
    };
    builder.ignore_computing(&host);
    if attributes.get("availability").is_some() {
        builder.ignore("the availability of a host", NO_EFFECT);
    }
    builder.host(host)
}

/// Reads a disk of a host.
pub(super) fn disk(builder: &mut Builder, host: HostId, tag: &BytesStart<'_>) -> Result<(), Fault> {
    let attributes = Attributes::of(builder, tag, &["id", "read_bw", "write_bw"])?;
    builder.disk(Disk {
        name: attributes.required("id")?.into(),
        host,
        read_bandwidth: attributes.required_quantity("read_bw", &BANDWIDTH)?,
        write_bandwidth: attributes.required_quantity("write_bw", &BANDWIDTH)?,
    })
}

/// Reads a sharing policy.
fn policy(attributes: &Attributes, name: &str, default: DeclaredPolicy) -> Result<DeclaredPolicy, Fault> {
    let policy = attributes.choice(name, &POLICIES, Some(default))?;
    policy.ok_or_else(|| attributes.wrong(name, "is not supported: links of a Wi-Fi cell need rates for each host"))
}

fn link(builder: &mut Builder, tag: &BytesStart<'_>) -> Result<NewLink, Fault> {
    const KNOWN: [&str; 7] =
        ["id", "bandwidth", "latency", "sharing_policy", "bandwidth_file", "latency_file", "state_file"];
    let attributes = Attributes::of(builder, tag, &KNOWN)?;
    Ok(NewLink {
        name: attributes.required("id")?.to_owned(),
        policy: policy(&attributes, "sharing_policy", DeclaredPolicy::Shared)?,
        bandwidth: attributes.required_quantity("bandwidth", &BANDWIDTH)?,
        latency: attributes.quantity("latency", &DURATION)?.unwrap_or(0.0),
        bandwidth_profile: profile(builder, &attributes, &["bandwidth_file"])?,
        latency_profile: profile(builder, &attributes, &["latency_file"])?,
        state_profile: profile(builder, &attributes, &["state_file"])?.or(state(&attributes)?),
    })
}

/// Reads the radical: the numbers of a cluster's or cabinet's hosts.
fn numbers(attributes: &Attributes) -> Result<Vec<u32>, Fault> {
    radicals(attributes.required("radical")?).map_err(|what| attributes.wrong("radical", &format!("is wrong: {what}")))
}

/// Reads bandwidth (bytes per second) and latency (seconds) of a link that a cluster may have. `None` if both
/// are zero or absent.
fn optional_link(attributes: &Attributes, bandwidth: &str, latency: &str) -> Result<Option<(f64, f64)>, Fault> {
    let link = (
        attributes.quantity(bandwidth, &BANDWIDTH)?.unwrap_or(0.0),
        attributes.quantity(latency, &DURATION)?.unwrap_or(0.0),
    );
    match link {
        (none, also_none) if none <= 0.0 && also_none <= 0.0 => Ok(None),
        (none, _) if none <= 0.0 => Err(attributes.wrong(latency, &format!("comes without {bandwidth}"))),
        link => Ok(Some(link)),
    }
}

fn cluster(builder: &mut Builder, tag: &BytesStart<'_>) -> Result<(), Fault> {
    const KNOWN: [&str; 18] = [
        "id",
        "prefix",
        "suffix",
        "radical",
        "speed",
        "core",
        "bw",
        "lat",
        "sharing_policy",
        "topology",
        "topo_parameters",
        "bb_bw",
        "bb_lat",
        "bb_sharing_policy",
        "router_id",
        "limiter_link",
        "loopback_bw",
        "loopback_lat",
    ];
    const TOPOLOGIES: [(&str, Topology); 4] = [
        ("FLAT", Topology::Flat),
        ("TORUS", Topology::Torus),
        ("FAT_TREE", Topology::FatTree),
        ("DRAGONFLY", Topology::Dragonfly),
    ];
    let attributes = Attributes::of(builder, tag, &KNOWN)?;
    let text = |name: &str| attributes.get(name).unwrap_or_default().to_owned();
    let cluster = Cluster {
        name: attributes.required("id")?.to_owned(),
        prefix: text("prefix"),
        suffix: text("suffix"),
        numbers: numbers(&attributes)?,
        speeds: speeds(&attributes)?,
        cores: attributes.whole("core")?.unwrap_or(1),
        link: (attributes.required_quantity("bw", &BANDWIDTH)?, attributes.required_quantity("lat", &DURATION)?),
        policy: policy(&attributes, "sharing_policy", DeclaredPolicy::SplitDuplex)?,
        backbone: optional_link(&attributes, "bb_bw", "bb_lat")?,
        backbone_policy: policy(&attributes, "bb_sharing_policy", DeclaredPolicy::Shared)?,
        loopback: optional_link(&attributes, "loopback_bw", "loopback_lat")?,
        limiter: attributes.quantity("limiter_link", &BANDWIDTH)?.filter(|&bandwidth| bandwidth > 0.0),
        router: attributes.get("router_id").map(str::to_owned),
        topology: attributes.choice("topology", &TOPOLOGIES, Topology::Flat)?,
        parameters: text("topo_parameters"),
    };
    if cluster.backbone_policy == DeclaredPolicy::SplitDuplex {
        return Err(attributes.wrong("bb_sharing_policy", "is neither SHARED nor FATPIPE"));
    }
    builder.cluster(&cluster)
}

fn cabinet(builder: &mut Builder, tag: &BytesStart<'_>) -> Result<(), Fault> {
    let attributes = Attributes::of(builder, tag, &["id", "prefix", "suffix", "radical", "speed", "bw", "lat"])?;
    attributes.required("id")?;
    builder.cabinet(&Cabinet {
        prefix: attributes.get("prefix").unwrap_or_default().to_owned(),
        suffix: attributes.get("suffix").unwrap_or_default().to_owned(),
        numbers: numbers(&attributes)?,
        speed: attributes.required_quantity("speed", &SPEED)?,
        bandwidth: attributes.required_quantity("bw", &BANDWIDTH)?,
        latency: attributes.required_quantity("lat", &DURATION)?,
    })
}

fn peer(builder: &mut Builder, tag: &BytesStart<'_>) -> Result<(), Fault> {
    const KNOWN: [&str; 9] =
        ["id", "speed", "bw_in", "bw_out", "lat", "coordinates", "speed_file", "availability_file", "state_file"];
    let attributes = Attributes::of(builder, tag, &KNOWN)?;
    if attributes.get("lat").is_some_and(|latency| DURATION.read(latency) != Ok(0.0)) {
        builder.ignore("lat of <peer>", NO_EFFECT);
    }
    let host = NewHost {
        name: attributes.required("id")?.to_owned(),
        speeds: speeds(&attributes)?,
        pstate: 0,
        cores: 1,
        coordinates: attributes.coordinates()?,
        speed_profile: profile(builder, &attributes, &["speed_file", "availability_file"])?,
        state_profile: profile(builder, &attributes, &["state_file"])?.or(state(&attributes)?),
    };
    builder.ignore_computing(&host);
    let incoming = attributes.required_quantity("bw_in", &BANDWIDTH)?;
    let outgoing = attributes.required_quantity("bw_out", &BANDWIDTH)?;
    builder.peer(host, incoming, outgoing)
}

/// Reads a `<link_ctn>`: the name of a link on a route, and its direction.
pub(super) fn link_of_route(builder: &Builder, tag: &BytesStart<'_>) -> Result<(String, Direction), Fault> {
    const DIRECTIONS: [(&str, Direction); 3] =
        [("UP", Direction::Up), ("DOWN", Direction::Down), ("NONE", Direction::None)];
    let attributes = Attributes::of(builder, tag, &["id", "direction"])?;
    let direction = attributes.choice("direction", &DIRECTIONS, Direction::None)?;
    Ok((attributes.required("id")?.to_owned(), direction))
}

/// Adds a route whose end has been read.
pub(super) fn route(
    builder: &mut Builder,
    kind: RouteKind,
    attributes: &Attributes,
    links: &[(String, Direction)],
) -> Result<(), Fault> {
    let ends = (attributes.required("src")?, attributes.required("dst")?);
    let gateways = match kind {
        RouteKind::Hosts | RouteKind::BypassHosts => None,
        RouteKind::Zones | RouteKind::BypassZones => {
            Some((attributes.required("gw_src")?, attributes.required("gw_dst")?))
        }
    };
    match kind {
        RouteKind::Hosts | RouteKind::Zones => {
            let symmetrical = attributes.choice("symmetrical", &[("YES", true), ("NO", false)], true)?;
            builder.route(ends, gateways, links, symmetrical)
        }
        RouteKind::BypassHosts | RouteKind::BypassZones => builder.bypass(ends, gateways, links, false),
    }
}
