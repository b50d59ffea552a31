//! Platforms in TOML: a form for platforms that are written by hand.
//!
//! ```toml
//! [zone]                      # the outermost zone; inner zones are [[zone.zone]]
//! name = "world"
//! routing = "Full"            # or Floyd, Dijkstra, Cluster, Vivaldi, None
//!
//! [[zone.host]]
//! name = "a"
//! speed = "1Gf"               # several speeds, separated by commas, are power states
//! cores = 4
//! disk = [{ name = "d", read = "100MBps", write = "40MBps" }]
//!
//! [[zone.link]]
//! name = "wire"
//! bandwidth = "125MBps"
//! latency = "50us"
//! sharing = "SPLITDUPLEX"     # or SHARED, FATPIPE
//!
//! [[zone.route]]
//! from = "a"
//! to = "b"
//! links = ["wire:UP"]         # :UP or :DOWN for SPLITDUPLEX links
//!
//! [[zone.cluster]]
//! name = "cluster"
//! hosts = "0-99"
//! prefix = "node-"
//! speed = "1Gf"
//! bandwidth = "125MBps"
//! latency = "50us"
//! backbone_bandwidth = "2.25GBps"
//! backbone_latency = "500us"
//! ```
//!
//! The words have the same meaning as in [`crate::xml`], and both forms describe the same platforms.
//!
//! The elements of a zone are read in this order, whatever their order in the file: hosts, routers, links,
//! zones, clusters, routes and bypasses. Routes are symmetrical unless they have `symmetrical = false`.
//! Bypasses are symmetrical only if they have `symmetrical = true`.

mod tables;

use crate::build::{
    Builder, Cluster, Connection, ConnectionKind, DeclaredPolicy, Direction, NewHost, NewLink, Topology, radicals,
};
use crate::platform::{Disk, Platform};
use crate::profile::{self, Profile};
use crate::units::{BANDWIDTH, DURATION, Quantity, SPEED};
use crate::xml;
use parades_config::{ConfigError, quoted};
use parades_config::{Fault, one_line};
use std::path::Path;
use std::sync::Arc;
use tables::{
    ClusterTable, Coordinates, DiskTable, File, HostLinkTable, HostTable, LinkTable, ProfileTable, RouteTable,
    RouterTable, Text, ZoneTable,
};
use toml::Spanned;

/// Reads the platform file at `path`.
///
/// # Errors
///
/// If the file cannot be read, is not valid TOML, or describes no valid platform.
pub fn read(path: &Path) -> Result<Platform, ConfigError> {
    parse(path, &xml::bytes_of(path, xml::CLUSTERS)?)
}

/// Reads a platform from memory. Errors name the file `file`. Names of profiles are relative to the folder of
/// `file`.
///
/// # Examples
///
/// ```
/// use parades_flow::toml_form;
/// let text = r#"
/// [zone]
/// name = "world"
/// routing = "Full"
/// host = [{ name = "a", speed = "1Gf" }, { name = "b", speed = "1Gf" }]
/// link = [{ name = "wire", bandwidth = "125MBps", latency = "1ms" }]
/// route = [{ from = "a", to = "b", links = ["wire"] }]
/// "#;
/// let platform = toml_form::parse("two.toml".as_ref(), text.as_bytes())?;
/// assert_eq!(platform.route(platform.host("b").unwrap(), platform.host("a").unwrap()).unwrap().latency_s, 0.001);
///
/// let error = toml_form::parse("two.toml".as_ref(), text.replace("125M", "125X").as_bytes()).unwrap_err();
/// assert_eq!(error.to_string(), "two.toml:6:38: `125XBps` has the unit `XBps`, \
///     and a bandwidth is written as `125MBps` or `1Gbps`; correct it");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &Path, bytes: &[u8]) -> Result<Platform, ConfigError> {
    let text = parades_topology::xml::text_of(file, bytes)?;
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    let read = document(text, Builder::new(folder)).map_err(|fault| fault.within(file, text));
    read.map(|platform| platform.write_notes(file, text))
}

/// Reads a whole document into `builder`.
fn document(text: &str, mut builder: Builder) -> Result<Platform, Fault> {
    let File { zone, profile } = toml::from_str(text).map_err(|why| {
        let offset = why.span().map_or(0, |span| span.start);
        // The parser's message may have several lines.
        let message: Vec<&str> = why.message().lines().map(str::trim).collect();
        Fault::new(offset, one_line(&message.join(", ")), "the fields of a platform are those of its documentation")
    })?;
    self::zone(&mut builder, &zone)?;
    for table in &profile {
        builder.offset = table.span().start;
        self::profile(&mut builder, table.get_ref())?;
    }
    builder.offset = 0;
    builder.finish()
}

/// Returns the fault that a value is wrong. `what` completes the sentence after the value.
fn wrong(text: &Text, what: &str) -> Fault {
    Fault::new(text.span().start, format!("{} {what}", quoted(text.get_ref())), "correct it")
}

fn quantity(text: &Text, quantity: &Quantity) -> Result<f64, Fault> {
    quantity.read(text.get_ref()).map_err(|what| wrong(text, &what))
}

/// Reads a quantity, or returns 0 if it is absent.
fn quantity_or_zero(text: Option<&Text>, of: &Quantity) -> Result<f64, Fault> {
    text.map_or(Ok(0.0), |text| quantity(text, of))
}

fn speeds(text: &Text) -> Result<Vec<f64>, Fault> {
    text.get_ref().split(',').map(|part| SPEED.read(part).map_err(|what| wrong(text, &what))).collect()
}

/// Reads coordinates, which must be finite: TOML also has `nan` and `inf`.
fn coordinates(numbers: Option<&Coordinates>) -> Result<Option<[f64; 3]>, Fault> {
    let Some(numbers) = numbers else { return Ok(None) };
    if numbers.get_ref().iter().all(|number| number.is_finite()) {
        return Ok(Some(*numbers.get_ref()));
    }
    Err(Fault::new(numbers.span().start, "the coordinates are not three finite numbers", "correct them"))
}

/// Reads the period of a profile in seconds, or returns 0 if it is absent.
fn period(number: Option<&Spanned<f64>>) -> Result<f64, Fault> {
    let Some(number) = number else { return Ok(0.0) };
    if number.get_ref().is_finite() {
        return Ok(*number.get_ref());
    }
    Err(Fault::new(number.span().start, "the period is not a finite number", "correct it, or leave it out"))
}

fn policy(text: Option<&Text>, default: DeclaredPolicy) -> Result<DeclaredPolicy, Fault> {
    let Some(text) = text else { return Ok(default) };
    match text.get_ref().to_ascii_uppercase().as_str() {
        "SHARED" => Ok(DeclaredPolicy::Shared),
        "FATPIPE" => Ok(DeclaredPolicy::FatPipe),
        "SPLITDUPLEX" => Ok(DeclaredPolicy::SplitDuplex),
        _ => Err(wrong(text, "is none of SHARED, FATPIPE, SPLITDUPLEX")),
    }
}

/// Reads a zone and its elements.
fn zone(builder: &mut Builder, table: &Spanned<ZoneTable>) -> Result<(), Fault> {
    let start = table.span().start;
    let table = table.get_ref();
    builder.offset = table.routing.span().start;
    builder.begin_zone(table.name.get_ref(), table.routing.get_ref())?;
    for table in &table.host {
        builder.offset = table.span().start;
        host(builder, table.get_ref())?;
    }
    for table in &table.router {
        builder.offset = table.span().start;
        let RouterTable { name, coordinates: numbers } = table.get_ref();
        builder.router(name.get_ref(), coordinates(numbers.as_ref())?)?;
    }
    for table in &table.link {
        builder.offset = table.span().start;
        let link = link(table.get_ref())?;
        builder.link(&link)?;
    }
    if let Some(table) = &table.backbone {
        builder.offset = table.span().start;
        let link = link(table.get_ref())?;
        builder.backbone(&link)?;
    }
    for table in &table.host_link {
        builder.offset = table.span().start;
        let HostLinkTable { host, up, down } = table.get_ref();
        builder.host_link(host.get_ref(), up.get_ref(), down.get_ref())?;
    }
    for table in &table.zone {
        zone(builder, table)?;
    }
    for table in &table.cluster {
        builder.offset = table.span().start;
        let cluster = cluster(table.get_ref())?;
        builder.cluster(&cluster)?;
    }
    for (table, bypass) in
        table.route.iter().map(|table| (table, false)).chain(table.bypass.iter().map(|table| (table, true)))
    {
        builder.offset = table.span().start;
        route(builder, table.get_ref(), bypass)?;
    }
    builder.offset = start;
    builder.end_zone()
}

fn host(builder: &mut Builder, table: &HostTable) -> Result<(), Fault> {
    let host = NewHost {
        name: table.name.get_ref().clone(),
        speeds: speeds(&table.speed)?,
        pstate: table.power_state.unwrap_or(0),
        cores: table.cores.unwrap_or(1),
        coordinates: coordinates(table.coordinates.as_ref())?,
        ..NewHost::default()
    };
    builder.ignore_computing(&host);
    match (&table.bandwidth_in, &table.bandwidth_out) {
        (None, None) => {
            let host = builder.host(host)?;
            for table in &table.disk {
                builder.offset = table.span().start;
                let DiskTable { name, read, write } = table.get_ref();
                let (read_bandwidth, write_bandwidth) = (quantity(read, &BANDWIDTH)?, quantity(write, &BANDWIDTH)?);
                builder.disk(Disk { name: name.get_ref().as_str().into(), host, read_bandwidth, write_bandwidth })?;
            }
            Ok(())
        }
        (Some(incoming), Some(outgoing)) => match table.disk.first() {
            None => builder.peer(host, quantity(incoming, &BANDWIDTH)?, quantity(outgoing, &BANDWIDTH)?),
            Some(disk) => Err(Fault::new(disk.span().start, "a peer has no disk", "delete it")),
        },
        (Some(one), None) | (None, Some(one)) => {
            Err(Fault::new(one.span().start, "the host has a bandwidth one way only", "give both, or neither"))
        }
    }
}

fn link(table: &LinkTable) -> Result<NewLink, Fault> {
    Ok(NewLink {
        name: table.name.get_ref().clone(),
        bandwidth: quantity(&table.bandwidth, &BANDWIDTH)?,
        latency: quantity_or_zero(table.latency.as_ref(), &DURATION)?,
        policy: policy(table.sharing.as_ref(), DeclaredPolicy::Shared)?,
        bandwidth_profile: None,
        latency_profile: None,
        state_profile: None,
    })
}

/// Reads bandwidth and latency of a link that a cluster may have. `None` if both are absent.
fn optional_link(bandwidth: Option<&Text>, latency: Option<&Text>) -> Result<Option<(f64, f64)>, Fault> {
    match (bandwidth, latency) {
        (Some(bandwidth), latency) => {
            let link = (quantity(bandwidth, &BANDWIDTH)?, quantity_or_zero(latency, &DURATION)?);
            if link.0 > 0.0 { Ok(Some(link)) } else { Err(wrong(bandwidth, "is not above zero")) }
        }
        (None, Some(latency)) => Err(wrong(latency, "is the latency of a link without bandwidth")),
        (None, None) => Ok(None),
    }
}

fn cluster(table: &ClusterTable) -> Result<Cluster, Fault> {
    let topology = match table.topology.as_ref().map(|text| text.get_ref().to_ascii_uppercase()).as_deref() {
        None | Some("FLAT") => Topology::Flat,
        Some("TORUS") => Topology::Torus,
        Some("FAT_TREE") => Topology::FatTree,
        Some("DRAGONFLY") => Topology::Dragonfly,
        Some(_) => {
            let text = table.topology.as_ref().expect("matched above");
            return Err(wrong(text, "is none of FLAT, TORUS, FAT_TREE, DRAGONFLY"));
        }
    };
    let backbone_policy = policy(table.backbone_sharing.as_ref(), DeclaredPolicy::Shared)?;
    if let (DeclaredPolicy::SplitDuplex, Some(text)) = (backbone_policy, &table.backbone_sharing) {
        return Err(wrong(text, "is neither SHARED nor FATPIPE"));
    }
    Ok(Cluster {
        name: table.name.get_ref().clone(),
        prefix: table.prefix.clone(),
        suffix: table.suffix.clone(),
        numbers: radicals(table.hosts.get_ref()).map_err(|what| wrong(&table.hosts, &format!("is wrong: {what}")))?,
        speeds: speeds(&table.speed)?,
        cores: table.cores.unwrap_or(1),
        link: (quantity(&table.bandwidth, &BANDWIDTH)?, quantity(&table.latency, &DURATION)?),
        policy: policy(table.sharing.as_ref(), DeclaredPolicy::SplitDuplex)?,
        backbone: optional_link(table.backbone_bandwidth.as_ref(), table.backbone_latency.as_ref())?,
        backbone_policy,
        loopback: optional_link(table.loopback_bandwidth.as_ref(), table.loopback_latency.as_ref())?,
        limiter: optional_link(table.limiter.as_ref(), None)?.map(|(bandwidth, _)| bandwidth),
        router: table.router.clone(),
        topology,
        parameters: table.parameters.clone().unwrap_or_default(),
    })
}

fn route(builder: &mut Builder, table: &RouteTable, bypass: bool) -> Result<(), Fault> {
    let ends = (table.from.get_ref().as_str(), table.to.get_ref().as_str());
    let gateways = match (&table.from_gateway, &table.to_gateway) {
        (Some(exit), Some(entry)) => Some((exit.get_ref().as_str(), entry.get_ref().as_str())),
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => {
            return Err(Fault::new(one.span().start, "the route has one gateway", "give both, or neither"));
        }
    };
    let direction = |text: &Text| match text.get_ref().rsplit_once(':') {
        Some((name, "UP")) => (name.to_owned(), Direction::Up),
        Some((name, "DOWN")) => (name.to_owned(), Direction::Down),
        _ => (text.get_ref().clone(), Direction::None),
    };
    let links: Vec<(String, Direction)> = table.links.iter().map(direction).collect();
    match bypass {
        true => builder.bypass(ends, gateways, &links, table.symmetrical.unwrap_or(false)),
        false => builder.route(ends, gateways, &links, table.symmetrical.unwrap_or(true)),
    }
}

fn profile(builder: &mut Builder, table: &ProfileTable) -> Result<(), Fault> {
    let kind = ConnectionKind::named(table.kind.get_ref())
        .ok_or_else(|| wrong(&table.kind, "is none of SPEED, HOST_AVAIL, BANDWIDTH, LATENCY, LINK_AVAIL"))?;
    let period = period(table.period.as_ref())?;
    let profile = match (&table.points, &table.file) {
        (Some(points), None) => {
            let read = Profile::read(points.get_ref(), period);
            Arc::new(read.map_err(|(_, message)| profile::fault(points.span().start, message))?)
        }
        (None, Some(file)) => builder.profile_from_file(file.get_ref())?,
        _ => return Err(builder.wrong("the profile has not one of `points` and `file`", "give one of them")),
    };
    let trace = format!("profile at byte {}", builder.offset);
    builder.trace(&trace, profile)?;
    builder.connect(Connection { kind, element: table.of.get_ref().clone(), trace });
    Ok(())
}
