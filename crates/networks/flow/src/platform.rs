//! Platforms: hosts that compute, links that carry, and zones that know the routes between them.
//!
//! A zone holds hosts, routers and other zones, its *members*, and knows routes between its members. A route between zones has *gateways*, the
//! hosts or routers within them where it begins and ends. So a route between any two hosts is found by going up from both to the first zone
//! that holds them, and down again through the gateways: a platform's memory is that of its zones, not of all pairs.
//!
//! A platform is constant. What of it changes over time ([`crate::profile`]) is part of the state of a [`crate::network::Network`].
//!
//! *Read next*: [`crate::xml`], how platforms are written down.
//!
//! *References*: L. Bobelin et al., *Scalable Multi-Purpose Network Representation for Large Scale Distributed System Simulation*, CCGrid,
//! 2012 (zones).

mod dijkstra;
mod dragonfly;
mod fat_tree;
mod floyd;
mod route;
mod star;
mod table;
mod torus;

pub(crate) use dijkstra::Dijkstra;
pub(crate) use dragonfly::{Dragonfly, Parts};
pub(crate) use fat_tree::{FatTree, Wiring};
pub(crate) use floyd::{FLOYD_MEMBERS_MAX, Floyd};
pub(crate) use route::Seat;
pub use route::{NoRoute, Route};
pub(crate) use star::{Branch, Star};
pub(crate) use table::{Gateways, Leg, Table};
pub(crate) use torus::Torus;

use crate::profile::Profile;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A host, by its place in [`Platform::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A link, by its place in [`Platform::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A host, a router or a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PointId(pub(crate) u32);

/// A zone, by its place in [`Platform::zones`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ZoneId(pub(crate) u32);

/// How a link is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSharing {
    /// Flows share its bandwidth.
    Shared,
    /// Each flow has its bandwidth: what is shared is elsewhere (`FATPIPE`).
    Pipe,
}

/// A machine that computes, and sends and receives.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: Box<str>,
    /// Flops per second of one core, for each of the host's states of power, the first of which is the fastest as a rule.
    pub speeds: Vec<f64>,
    /// Which of the speeds it has at the start.
    pub pstate: u32,
    /// How many cores it has.
    pub cores: u32,
    pub(crate) point: PointId,
    pub(crate) speed_profile: Option<Arc<Profile>>,
    pub(crate) state_profile: Option<Arc<Profile>>,
}

impl Host {
    /// Flops per second of one core at the start.
    pub fn speed(&self) -> f64 {
        self.speeds[self.pstate as usize]
    }
}

/// What carries bytes from one place to another.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: Box<str>,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Seconds that it takes to cross.
    pub latency: f64,
    /// How flows share it.
    pub sharing: LinkSharing,
    pub(crate) bandwidth_profile: Option<Arc<Profile>>,
    pub(crate) latency_profile: Option<Arc<Profile>>,
    pub(crate) state_profile: Option<Arc<Profile>>,
}

/// What a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointKind {
    Host,
    Router,
    Zone(ZoneId),
}

/// A host, a router or a zone, as routes know it.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) name: Box<str>,
    pub(crate) kind: PointKind,
    /// The zone that it lies in; none for the outermost.
    pub(crate) zone: Option<ZoneId>,
    /// Its place among that zone's members.
    pub(crate) index: u32,
    /// In the space of latencies, in milliseconds.
    pub(crate) coordinates: Option<[f64; 3]>,
}

/// A part of a platform with its own routes.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) name: Box<str>,
    pub(crate) point: PointId,
    pub(crate) parent: Option<ZoneId>,
    pub(crate) members: Vec<PointId>,
    /// Whether it holds other zones, so that its routes have gateways.
    pub(crate) holds_zones: bool,
    pub(crate) routing: Routing,
    pub(crate) bypasses: BTreeMap<(PointId, PointId), Leg>,
}

/// How a zone finds routes between its members.
#[derive(Clone, Debug)]
pub(crate) enum Routing {
    None,
    Full(Table),
    Floyd(Floyd),
    Dijkstra(Dijkstra),
    /// Members around a centre: clusters, and with `vivaldi` what Vivaldi's coordinates add.
    Star {
        star: Star,
        vivaldi: bool,
    },
    Torus(Torus),
    FatTree(FatTree),
    Dragonfly(Dragonfly),
}

/// Hosts, links, and the routes between them.
///
/// # Examples
///
/// ```
/// use parades_flow::xml;
/// let text = r#"<platform version="4.1"><zone id="world" routing="Full">
///   <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
///   <link id="wire" bandwidth="125MBps" latency="1ms"/>
///   <route src="a" dst="b"><link_ctn id="wire"/></route>
/// </zone></platform>"#;
/// let platform = xml::parse("two.xml".as_ref(), text.as_bytes())?;
/// let (a, b) = (platform.host("a").unwrap(), platform.host("b").unwrap());
/// let route = platform.route(a, b).unwrap();
/// assert_eq!(route.latency_s, 0.001);
/// assert_eq!(&*platform.links()[route.links[0].0 as usize].name, "wire");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Default)]
pub struct Platform {
    pub(crate) hosts: Vec<Host>,
    pub(crate) links: Vec<Link>,
    pub(crate) points: Vec<Point>,
    pub(crate) zones: Vec<Zone>,
    pub(crate) host_names: BTreeMap<Box<str>, HostId>,
    pub(crate) link_names: BTreeMap<Box<str>, LinkId>,
    pub(crate) notes: Vec<String>,
    pub(crate) profile_files: Vec<PathBuf>,
}

/// In short: a platform may have a million hosts.
impl std::fmt::Debug for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Platform { hosts, links, zones, .. } = self;
        write!(f, "Platform({} hosts, {} links, {} zones)", hosts.len(), links.len(), zones.len())
    }
}

/// Platforms are constant, and shared: two networks are on the same one, or on different ones.
impl PartialEq for Platform {
    fn eq(&self, other: &Platform) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Platform {
    /// What of the file was left aside, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The files of profiles that the platform's file names.
    pub fn profile_files(&self) -> &[PathBuf] {
        &self.profile_files
    }

    /// All hosts, in the order in which the file has them.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// All links, those that come of clusters included.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<HostId> {
        self.host_names.get(name).copied()
    }

    /// The link of this name.
    pub fn link(&self, name: &str) -> Option<LinkId> {
        self.link_names.get(name).copied()
    }

    pub(crate) fn point(&self, point: PointId) -> &Point {
        &self.points[point.0 as usize]
    }

    pub(crate) fn zone(&self, zone: ZoneId) -> &Zone {
        &self.zones[zone.0 as usize]
    }
}
