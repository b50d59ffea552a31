//! Platforms: hosts, links, and zones with the routes between their members.
//!
//! The *members* of a zone are hosts, routers and other zones. The zone has the routes between its members. A
//! route between two zones has *gateways*: the hosts or routers inside these zones where the route begins and
//! ends.
//!
//! To find the route between two hosts, a search goes up from both hosts to the first zone that contains
//! both. From the gateways of that zone's route, it goes down again to the hosts. So the memory of a platform
//! grows with its zones, and not with the number of pairs of hosts.
//!
//! A platform is constant. Changes by profiles ([`crate::profile`]) are part of the state of a
//! [`crate::network::FluidNetwork`].
//!
//! *Read next*: [`crate::xml`], the form of platform files.
//!
//! *References*: L. Bobelin et al., *Scalable Multi-Purpose Network Representation for Large Scale
//! Distributed System Simulation*, CCGrid, 2012 (zones).

mod dijkstra;
mod dragonfly;
mod fat_tree;
mod floyd;
mod parts;
mod route;
mod star;
mod table;
mod torus;

pub use crate::solver::SharingPolicy;
pub(crate) use dijkstra::Dijkstra;
pub(crate) use dragonfly::{Dragonfly, Shape};
pub(crate) use fat_tree::{FatTree, Wiring};
pub(crate) use floyd::{FLOYD_MEMBERS_MAX, Floyd};
pub(crate) use parts::Members;
pub use parts::Parts;
pub(crate) use route::HostPosition;
pub use route::{NoRoute, Route};
pub(crate) use star::{Branch, Star};
pub(crate) use table::{Gateways, Leg, Table};
pub(crate) use torus::Torus;

use crate::build::Ignored;
use crate::profile::Profile;
use crate::settings::Settings;
use parades_config::ConfigError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The index of a host in [`Platform::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct HostId(pub u32);

/// The index of a link in [`Platform::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct LinkId(pub u32);

/// The index of a disk in [`Platform::disks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct DiskId(pub u32);

/// The index of a point in [`Platform::points`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PointId(pub(crate) u32);

/// The index of a zone in [`Platform::zones`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ZoneId(pub(crate) u32);

/// A machine that computes, and sends and receives.
#[derive(Clone, Debug)]
pub struct Host {
    /// The name, unique among hosts, routers and zones.
    pub name: Box<str>,
    /// The speeds of one core in flops per second, one for each power state (pstate). The first is mostly the
    /// fastest.
    pub speeds: Vec<f64>,
    /// The power state at the start: an index into `speeds`.
    pub pstate: u32,
    /// The number of cores.
    pub cores: u32,
    pub(crate) point: PointId,
    pub(crate) speed_profile: Option<Arc<Profile>>,
    pub(crate) state_profile: Option<Arc<Profile>>,
}

impl Host {
    /// Returns the speed of one core at the start, in flops per second.
    pub fn speed(&self) -> f64 {
        self.speeds[self.pstate as usize]
    }
}

/// A disk of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// The name, unique among the disks of its host.
    pub name: Box<str>,
    /// The host.
    pub host: HostId,
    /// The bandwidth that all reads share, in bytes per second.
    pub read_bandwidth: f64,
    /// The bandwidth that all writes share, in bytes per second.
    pub write_bandwidth: f64,
}

/// A link. A split-duplex link of a file is two links, one for each direction.
#[derive(Clone, Debug)]
pub struct Link {
    /// The name.
    pub name: Box<str>,
    /// The bandwidth, in bytes per second.
    pub bandwidth: f64,
    /// The latency, in seconds.
    pub latency: f64,
    /// How flows share the bandwidth.
    pub policy: SharingPolicy,
    pub(crate) bandwidth_profile: Option<Arc<Profile>>,
    pub(crate) latency_profile: Option<Arc<Profile>>,
    pub(crate) state_profile: Option<Arc<Profile>>,
}

/// The kinds of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointKind {
    Host,
    Router,
    Zone(ZoneId),
}

/// An end of routes: a host, a router or a zone (SimGrid's `NetPoint`).
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) name: Box<str>,
    pub(crate) kind: PointKind,
    /// The zone of which the point is a member. `None` for the outermost zone.
    pub(crate) zone: Option<ZoneId>,
    /// The index among that zone's members.
    pub(crate) index: u32,
    /// Vivaldi's coordinates: two in the plane and a height, in milliseconds of latency.
    pub(crate) coordinates: Option<[f64; 3]>,
}

/// A part of a platform with its own routes.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) name: Box<str>,
    pub(crate) point: PointId,
    pub(crate) parent: Option<ZoneId>,
    pub(crate) members: Vec<PointId>,
    /// True if a member is a zone. Then the zone's routes have gateways.
    pub(crate) holds_zones: bool,
    pub(crate) routing: Routing,
    /// Declared routes that replace those of the zone's routing.
    pub(crate) bypasses: BTreeMap<(PointId, PointId), Leg>,
}

impl Zone {
    /// Returns true if coordinates count in this zone.
    pub(crate) fn is_vivaldi(&self) -> bool {
        matches!(self.routing, Routing::Star { vivaldi: true, .. })
    }
}

/// How a zone finds routes between its members.
#[derive(Clone, Debug)]
pub(crate) enum Routing {
    None,
    Full(Table),
    Floyd(Floyd),
    Dijkstra(Dijkstra),
    /// Members around a centre: clusters. With `vivaldi`, routes have the latency of Vivaldi's coordinates,
    /// too.
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
    pub(crate) disks: Vec<Disk>,
    pub(crate) disk_names: BTreeMap<(HostId, Box<str>), DiskId>,
    pub(crate) points: Vec<Point>,
    pub(crate) zones: Vec<Zone>,
    pub(crate) host_names: BTreeMap<Box<str>, HostId>,
    pub(crate) link_names: BTreeMap<Box<str>, LinkId>,
    /// The link from a host to itself that all zones of declared routes share.
    pub(crate) loopback: Option<LinkId>,
    pub(crate) notes: Vec<String>,
    pub(crate) notes_of_programs: Vec<String>,
    pub(crate) ignored: Vec<Ignored>,
    pub(crate) settings: Settings,
    /// The offset in the file, and the sentence, about a network model that is not supported.
    pub(crate) unknown_model: Option<(usize, String)>,
    pub(crate) model_refusal: Option<ConfigError>,
    pub(crate) profile_files: Vec<PathBuf>,
}

/// Prints the sizes only, since a platform may have a million hosts.
impl std::fmt::Debug for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Platform { hosts, links, zones, .. } = self;
        write!(f, "Platform({} hosts, {} links, {} zones)", hosts.len(), links.len(), zones.len())
    }
}

/// Compares by address: a platform is constant and shared by its networks.
impl PartialEq for Platform {
    fn eq(&self, other: &Platform) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Platform {
    /// Returns a sentence for each kind of thing in the file that has no effect on flows.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns a sentence for each kind of thing in the file that has no effect on flows and computations.
    pub fn notes_of_programs(&self) -> &[String] {
        &self.notes_of_programs
    }

    /// Returns the settings of the network model in the file's `<config>`.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Returns the error of the network model in the file's `<config>`, if that model is not supported. Then
    /// the user must choose another one.
    pub fn model_refusal(&self) -> Option<&ConfigError> {
        self.model_refusal.as_ref()
    }

    /// Returns the paths of the profiles that the platform's file names.
    pub fn profile_files(&self) -> &[PathBuf] {
        &self.profile_files
    }

    /// Returns all hosts, in the order of the file.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Returns all links, including those that clusters generate.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns all disks, in the order of the file.
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// Returns the disk of a host by its name.
    pub fn disk(&self, host: HostId, name: &str) -> Option<DiskId> {
        self.disk_names.get(&(host, name.into())).copied()
    }

    /// Returns the host of this name.
    pub fn host(&self, name: &str) -> Option<HostId> {
        self.host_names.get(name).copied()
    }

    /// Returns the link of this name.
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
