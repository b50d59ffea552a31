//! Building a platform, element by element; what both forms of a file have in common.
//!
//! Elements come in the order of the file, and name only what came before them. The zones that are open are on a stack; a zone's routes are
//! found when it ends.

mod cluster;
mod profiles;
mod radical;
mod zones;

pub(crate) use cluster::{Cluster, Topology};
pub(crate) use profiles::{Connection, ConnectionKind};
pub(crate) use radical::{NUMBERS_MAX, radicals};
pub(crate) use zones::Cabinet;

use crate::fault::Fault;
use crate::platform::{
    Gateways, Host, HostId, Leg, Link, LinkId, LinkSharing, Platform, Point, PointId, PointKind, Routing, ZoneId,
};
use crate::profile::Profile;
use parades_config::{nearest, quoted};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// How many hosts and routers a platform may have.
pub(crate) const POINTS_MAX: usize = 1 << 22;
/// How many links a platform may have.
pub(crate) const LINKS_MAX: usize = 1 << 23;
/// How many states of power a host may have: each host of a cluster has its own list.
pub(crate) const SPEEDS_MAX: usize = 64;
/// How deep zones may nest.
pub(crate) const ZONE_DEPTH_MAX: usize = 64;

/// A `<link>`, or what stands for one.
#[derive(Clone, Debug)]
pub(crate) struct NewLink {
    pub(crate) name: String,
    pub(crate) bandwidth: f64,
    pub(crate) latency: f64,
    pub(crate) sharing: NewSharing,
    pub(crate) bandwidth_profile: Option<Arc<Profile>>,
    pub(crate) latency_profile: Option<Arc<Profile>>,
    pub(crate) state_profile: Option<Arc<Profile>>,
}

/// How a link that is declared is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewSharing {
    Shared,
    Pipe,
    /// Two links, one for each direction.
    SplitDuplex,
}

/// A `<host>`.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewHost {
    pub(crate) name: String,
    pub(crate) speeds: Vec<f64>,
    pub(crate) pstate: u32,
    pub(crate) cores: u32,
    pub(crate) coordinates: Option<[f64; 3]>,
    pub(crate) speed_profile: Option<Arc<Profile>>,
    pub(crate) state_profile: Option<Arc<Profile>>,
}

/// Which way a link of two directions is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    None,
    Up,
    Down,
}

/// A route between two members, forth and back.
#[derive(Clone, Debug, Default)]
struct BothWays {
    forth: Box<[LinkId]>,
    /// In reverse order, links of two directions taken the other way.
    back: Box<[LinkId]>,
}

/// A zone whose end has not been read.
#[derive(Debug)]
struct OpenZone {
    zone: ZoneId,
    /// Where it begins in the file.
    at: usize,
    /// What a zone of routing `Cluster` is told of its hosts' links, for when it ends.
    host_links: Vec<(usize, PointId, [LinkId; 2])>,
    backbone: Option<LinkId>,
}

/// A platform on its way.
#[derive(Debug)]
pub(crate) struct Builder {
    platform: Platform,
    /// Points by name: hosts, routers and zones share one name space.
    points: BTreeMap<Box<str>, PointId>,
    /// Links of two directions, up and down.
    duplex: BTreeMap<Box<str>, (LinkId, LinkId)>,
    open: Vec<OpenZone>,
    traces: BTreeMap<String, Arc<Profile>>,
    connections: Vec<(usize, Connection)>,
    /// What a host of a zone with routes of its own reaches itself by.
    loopback: Option<LinkId>,
    /// How many members the fat trees so far have.
    fat_tree_members: u32,
    /// Makes the names of a fat tree's and a dragonfly's links unique.
    unique: [u32; 2],
    /// Where files that are named lie.
    folder: PathBuf,
    /// Where the element begins that is being read.
    pub(crate) at: usize,
}

impl Builder {
    pub(crate) fn new(folder: PathBuf) -> Builder {
        Builder {
            platform: Platform::default(),
            points: BTreeMap::new(),
            duplex: BTreeMap::new(),
            open: Vec::new(),
            traces: BTreeMap::new(),
            connections: Vec::new(),
            loopback: None,
            fat_tree_members: 0,
            unique: [0; 2],
            folder,
            at: 0,
        }
    }

    /// Something wrong with the element that is being read.
    pub(crate) fn wrong(&self, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault::new(self.at, message, help)
    }

    /// The platform, when all has been read.
    pub(crate) fn finish(mut self) -> Result<Platform, Fault> {
        self.connect_profiles()?;
        match self.platform.zones.is_empty() {
            true => Err(self.wrong("the file has no zone", "put hosts and links into a <zone> or a <cluster>")),
            false => Ok(self.platform),
        }
    }

    /// Notes something that is left aside, once.
    pub(crate) fn note(&mut self, note: &str) {
        if self.platform.notes.iter().all(|known| known != note) {
            self.platform.notes.push(note.to_owned());
        }
    }

    /// The zone that is open.
    fn zone(&self) -> Result<ZoneId, Fault> {
        let zone = self.open.last().map(|open| open.zone);
        zone.ok_or_else(|| self.wrong("this lies outside every zone", "move it into a <zone>"))
    }

    /// Adds a point to the zone that is open.
    fn point(&mut self, name: &str, kind: PointKind, coordinates: Option<[f64; 3]>) -> Result<PointId, Fault> {
        if name.is_empty() {
            return Err(self.wrong("its name is empty", "give it a name"));
        }
        if self.points.contains_key(name) {
            let message = format!("the name {} is taken by an earlier host, router or zone", quoted(name));
            return Err(self.wrong(message, "give each a name of its own"));
        }
        if self.platform.points.len() >= POINTS_MAX {
            return Err(self.wrong(format!("there are more than {POINTS_MAX} hosts and routers"), "use fewer"));
        }
        let zone = self.open.last().map(|open| open.zone);
        let id = PointId(index(self.platform.points.len()));
        let place = match zone {
            Some(zone) => {
                let members = &mut self.platform.zones[zone.0 as usize].members;
                members.push(id);
                index(members.len() - 1)
            }
            None => 0,
        };
        self.platform.points.push(Point { name: name.into(), kind, zone, index: place, coordinates });
        self.points.insert(name.into(), id);
        Ok(id)
    }

    /// Adds a host to the zone that is open.
    pub(crate) fn host(&mut self, host: NewHost) -> Result<HostId, Fault> {
        self.zone()?;
        let NewHost { name, speeds, pstate, cores, coordinates, speed_profile, state_profile } = host;
        if speeds.len() > SPEEDS_MAX {
            let message =
                format!("the host {} has {} states of power, more than {SPEEDS_MAX}", quoted(&name), speeds.len());
            return Err(self.wrong(message, "give it fewer"));
        }
        if pstate as usize >= speeds.len() {
            let message = format!("the host {} has no state of power {pstate}", quoted(&name));
            return Err(self.wrong(message, format!("it has {}, counted from 0", speeds.len())));
        }
        if cores == 0 {
            return Err(self.wrong(format!("the host {} has no core", quoted(&name)), "give it at least one"));
        }
        let point = self.point(&name, PointKind::Host, coordinates)?;
        let id = HostId(index(self.platform.hosts.len()));
        let name: Box<str> = name.into();
        self.platform.host_names.insert(name.clone(), id);
        self.platform.hosts.push(Host { name, speeds, pstate, cores, point, speed_profile, state_profile });
        Ok(id)
    }

    /// Adds a router to the zone that is open.
    pub(crate) fn router(&mut self, name: &str, coordinates: Option<[f64; 3]>) -> Result<PointId, Fault> {
        self.zone()?;
        self.point(name, PointKind::Router, coordinates)
    }

    /// Adds a link that the file declares.
    pub(crate) fn link(&mut self, link: &NewLink) -> Result<(LinkId, LinkId), Fault> {
        self.zone()?;
        if link.sharing == NewSharing::SplitDuplex {
            if self.duplex.contains_key(&*link.name) {
                return Err(self.taken(&link.name));
            }
            let pair = (self.one_link(link, "_UP", true)?, self.one_link(link, "_DOWN", true)?);
            self.duplex.insert(link.name.as_str().into(), pair);
            return Ok(pair);
        }
        let id = self.one_link(link, "", true)?;
        Ok((id, id))
    }

    fn taken(&self, name: &str) -> Fault {
        self.wrong(
            format!("there is another link {} before this one", quoted(name)),
            "give each link a name of its own",
        )
    }

    /// Adds a link whose name is that of the declaration, and this ending.
    fn one_link(&mut self, link: &NewLink, ending: &str, declared: bool) -> Result<LinkId, Fault> {
        let name: Box<str> = format!("{}{ending}", link.name).into();
        if declared && self.platform.link_names.contains_key(&name) {
            return Err(self.taken(&name));
        }
        if self.platform.links.len() >= LINKS_MAX {
            return Err(self.wrong(format!("there are more than {LINKS_MAX} links"), "make the platform smaller"));
        }
        let id = LinkId(index(self.platform.links.len()));
        self.platform.link_names.insert(name.clone(), id);
        self.platform.links.push(Link {
            name,
            bandwidth: link.bandwidth,
            latency: link.latency,
            sharing: if link.sharing == NewSharing::Pipe { LinkSharing::Pipe } else { LinkSharing::Shared },
            bandwidth_profile: link.bandwidth_profile.clone(),
            latency_profile: link.latency_profile.clone(),
            state_profile: link.state_profile.clone(),
        });
        Ok(id)
    }

    /// Adds a link that comes of something else: up and down, or the same twice.
    fn made_link(
        &mut self,
        name: String,
        (bandwidth, latency): (f64, f64),
        sharing: NewSharing,
    ) -> Result<(LinkId, LinkId), Fault> {
        let (bandwidth_profile, latency_profile, state_profile) = (None, None, None);
        let link = NewLink { name, bandwidth, latency, sharing, bandwidth_profile, latency_profile, state_profile };
        if sharing == NewSharing::SplitDuplex {
            let pair = (self.one_link(&link, "_UP", false)?, self.one_link(&link, "_DOWN", false)?);
            self.duplex.insert(link.name.into(), pair);
            return Ok(pair);
        }
        let id = self.one_link(&link, "", false)?;
        Ok((id, id))
    }

    /// The link by which a host reaches itself: 10 GB/s for each flow, and no latency.
    fn loopback(&mut self) -> Result<LinkId, Fault> {
        if let Some(id) = self.loopback {
            return Ok(id);
        }
        let (id, _) = self.made_link("__loopback__".to_owned(), (10e9, 0.0), NewSharing::Pipe)?;
        self.loopback = Some(id);
        Ok(id)
    }

    /// The point of this name.
    pub(crate) fn named(&self, name: &str) -> Result<PointId, Fault> {
        self.points.get(name).copied().ok_or_else(|| {
            let help = match nearest(name, self.points.keys().map(|name| &**name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it before the routes that name it".to_owned(),
            };
            self.wrong(format!("there is no host, router or zone {} before this", quoted(name)), help)
        })
    }

    /// The link of this name, one of two directions.
    pub(crate) fn single_link(&self, name: &str) -> Result<LinkId, Fault> {
        if let Some(&id) = self.platform.link_names.get(name) {
            return Ok(id);
        }
        if self.duplex.contains_key(name) {
            let message = format!("the link {} is two, one for each direction", quoted(name));
            return Err(self.wrong(message, "say which: UP or DOWN"));
        }
        let help = match nearest(name, self.platform.link_names.keys().map(|name| &**name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare it before the routes that use it".to_owned(),
        };
        Err(self.wrong(format!("there is no link {} before this", quoted(name)), help))
    }

    /// The links of a route, forth and back.
    fn both_ways(&self, links: &[(String, Direction)]) -> Result<BothWays, Fault> {
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        for (name, direction) in links {
            let (there, otherwise) = match direction {
                Direction::None => {
                    let id = self.single_link(name)?;
                    (id, id)
                }
                direction => {
                    let &(up, down) = self.duplex.get(name.as_str()).ok_or_else(|| {
                        let message = format!("there is no link {} of two directions before this", quoted(name));
                        self.wrong(message, "leave the direction out, or declare the link as SPLITDUPLEX")
                    })?;
                    if *direction == Direction::Up { (up, down) } else { (down, up) }
                }
            };
            forth.push(there);
            back.push(otherwise);
        }
        back.reverse();
        Ok(BothWays { forth: forth.into(), back: back.into() })
    }

    /// Adds a route to the zone that is open, between hosts and routers, or with gateways between zones.
    pub(crate) fn route(
        &mut self,
        (source, destination): (&str, &str),
        gateways: Option<(&str, &str)>,
        links: &[(String, Direction)],
        symmetrical: bool,
    ) -> Result<(), Fault> {
        let zone = self.zone()?;
        let (source, destination) = (self.named(source)?, self.named(destination)?);
        let gateways = self.gateways((source, destination), gateways)?;
        let ways = self.both_ways(links)?;
        for member in [source, destination] {
            if self.platform.point(member).zone != Some(zone) {
                let name = quoted(&self.platform.point(member).name);
                let message = format!("{name} lies in another zone than this route");
                return Err(self.wrong(message, "a zone's routes are between its own members"));
            }
        }
        if ways.forth.is_empty() {
            return Err(self.wrong("the route has no link", "give it at least one"));
        }
        let (from, to) = (self.platform.point(source).index, self.platform.point(destination).index);
        let twisted = gateways.map(|(leaves, enters)| (enters, leaves));
        self.leg(zone, (from, to), Leg { links: ways.forth, gateways })?;
        if symmetrical && from != to {
            self.leg(zone, (to, from), Leg { links: ways.back, gateways: twisted })?;
        }
        Ok(())
    }

    /// The gateways of a route between zones; `None` for one between hosts and routers.
    fn gateways(&self, ends: (PointId, PointId), names: Option<(&str, &str)>) -> Result<Gateways, Fault> {
        let is_zone = |point: PointId| matches!(self.platform.point(point).kind, PointKind::Zone(_));
        let Some((leaves, enters)) = names else {
            if let Some(zone) = [ends.0, ends.1].into_iter().find(|&end| is_zone(end)) {
                let message =
                    format!("{} is a zone, which a route cannot end in", quoted(&self.platform.point(zone).name));
                return Err(self.wrong(message, "use <zoneRoute>, with gateways"));
            }
            return Ok(None);
        };
        let gateways = (self.named(leaves)?, self.named(enters)?);
        for (end, gateway) in [(ends.0, gateways.0), (ends.1, gateways.1)] {
            let PointKind::Zone(zone) = self.platform.point(end).kind else {
                let message = format!("{} is no zone", quoted(&self.platform.point(end).name));
                return Err(self.wrong(message, "use <route>, without gateways"));
            };
            let gate = self.platform.point(gateway);
            let within =
                std::iter::successors(gate.zone, |&zone| self.platform.zone(zone).parent).any(|outer| outer == zone);
            if is_zone(gateway) || !within {
                let (gateway, zone) = (quoted(&gate.name), quoted(&self.platform.point(end).name));
                let message = format!("the gateway {gateway} is not a host or router within the zone {zone}");
                return Err(self.wrong(message, "name one that lies in it"));
            }
        }
        Ok(Some(gateways))
    }

    /// Enters a leg into the table of a zone.
    fn leg(&mut self, zone: ZoneId, (from, to): (u32, u32), leg: Leg) -> Result<(), Fault> {
        let links = leg.links.len();
        let zone = &mut self.platform.zones[zone.0 as usize];
        let added = match &mut zone.routing {
            Routing::Full(table) => table.add(from, to, leg),
            Routing::Floyd(floyd) => floyd.table.add(from, to, leg),
            Routing::Dijkstra(dijkstra) => {
                let added = dijkstra.table.add(from, to, leg);
                if added {
                    dijkstra.connect(from, to, links);
                }
                added
            }
            _ => {
                let message = format!("the zone {} takes no routes", quoted(&zone.name));
                return Err(self.wrong(message, "only those with routing Full, Floyd or Dijkstra do"));
            }
        };
        match added {
            true => Ok(()),
            false => Err(self.wrong(
                "there is a route between these two before this one",
                "delete one; routes are symmetrical unless they say otherwise",
            )),
        }
    }

    /// Adds a route that goes before those which the zone that is open would find.
    pub(crate) fn bypass(
        &mut self,
        (source, destination): (&str, &str),
        gateways: Option<(&str, &str)>,
        links: &[(String, Direction)],
        symmetrical: bool,
    ) -> Result<(), Fault> {
        let zone = self.zone()?;
        let (source, destination) = (self.named(source)?, self.named(destination)?);
        let gateways = self.gateways((source, destination), gateways)?;
        let BothWays { forth, back } = self.both_ways(links)?;
        if forth.is_empty() {
            return Err(self.wrong("the route has no link", "give it at least one"));
        }
        let twisted = gateways.map(|(leaves, enters)| (enters, leaves));
        let ways = [
            ((source, destination), Leg { links: forth, gateways }),
            ((destination, source), Leg { links: back, gateways: twisted }),
        ];
        let count = if symmetrical && source != destination { 2 } else { 1 };
        let bypasses = &mut self.platform.zones[zone.0 as usize].bypasses;
        for (ends, leg) in ways.into_iter().take(count) {
            if bypasses.insert(ends, leg).is_some() {
                return Err(self.wrong("there is a bypass between these two before this one", "delete one"));
            }
        }
        Ok(())
    }
}

/// A count as an index.
fn index(count: usize) -> u32 {
    u32::try_from(count).expect("hosts, routers, zones and links are bounded")
}
