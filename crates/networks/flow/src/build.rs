//! Builds a platform, element by element. Both file forms, XML and TOML, use this builder.
//!
//! Elements come in the order of the file, and refer only to earlier elements. A stack holds the open zones.
//! A zone's routes are computed when the zone ends.

mod cluster;
mod dragonfly;
mod ignored;
mod profiles;
mod radical;
mod routes;
mod zones;

pub(crate) use cluster::{Cluster, Topology};
pub(crate) use ignored::{HAVE_NO_EFFECT, Ignored, NO_EFFECT};
pub(crate) use profiles::{Connection, ConnectionKind};
pub(crate) use radical::{NUMBERS_MAX, radicals};
pub(crate) use zones::Cabinet;

use crate::platform::{
    Disk, DiskId, Host, HostId, Link, LinkId, Platform, Point, PointId, PointKind, SharingPolicy, ZoneId,
};
use crate::profile::Profile;
use crate::units::{BANDWIDTH, DURATION};
use parades_config::Fault;
use parades_config::{nearest, quoted};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The greatest number of hosts and routers of a platform.
pub(crate) const POINTS_MAX: usize = 1 << 22;
/// The greatest number of links of a platform.
pub(crate) const LINKS_MAX: usize = 1 << 23;
/// The greatest number of power states of a host. Each host of a cluster has a list of its own.
pub(crate) const SPEEDS_MAX: usize = 64;
/// The greatest depth of zones.
pub(crate) const ZONE_DEPTH_MAX: usize = 64;

/// A `<link>`, or its equivalent in TOML.
#[derive(Clone, Debug)]
pub(crate) struct NewLink {
    pub(crate) name: String,
    /// In bytes per second.
    pub(crate) bandwidth: f64,
    /// In seconds.
    pub(crate) latency: f64,
    pub(crate) policy: DeclaredPolicy,
    pub(crate) bandwidth_profile: Option<Arc<Profile>>,
    pub(crate) latency_profile: Option<Arc<Profile>>,
    pub(crate) state_profile: Option<Arc<Profile>>,
}

/// The sharing policy that a file declares for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclaredPolicy {
    Shared,
    FatPipe,
    /// Two shared links, one for each direction.
    SplitDuplex,
}

/// A `<host>`, or its equivalent in TOML.
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

/// The direction in which a route uses a link. `None` for a link that is not split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    None,
    Up,
    Down,
}

/// A zone whose end has not been read.
#[derive(Debug)]
struct OpenZone {
    zone: ZoneId,
    /// The offset of its element in the file.
    offset: usize,
    /// In a zone of routing `Cluster`: hosts with their links up and down. The zone's end reads them.
    host_links: Vec<(PointId, [LinkId; 2])>,
    backbone: Option<LinkId>,
}

/// A platform under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    platform: Platform,
    /// Points by name. Hosts, routers and zones share one name space.
    points: BTreeMap<Box<str>, PointId>,
    /// The two links of each split-duplex link, up and down.
    duplex: BTreeMap<Box<str>, (LinkId, LinkId)>,
    open: Vec<OpenZone>,
    /// Profiles by name, with the offsets of their elements in the file.
    traces: BTreeMap<String, (Arc<Profile>, usize)>,
    /// The connections between profiles and elements, each with its offset in the file.
    connections: Vec<(usize, Connection)>,
    /// Bandwidth (bytes per second) and latency (seconds) of [`Platform::loopback`].
    loopback_quality: (f64, f64),
    /// The number of members of the fat trees up to now.
    fat_tree_members: u32,
    /// The number of cables of fat trees up to now. It makes their names unique.
    fat_tree_cables: u32,
    /// The number of links of dragonflies up to now. It makes their names unique.
    dragonfly_links: u32,
    /// True for a file of version 3, whose elements have other attributes.
    pub(crate) is_version_3: bool,
    /// The folder that names of files are relative to.
    folder: PathBuf,
    /// The offset of the current element in the file.
    pub(crate) offset: usize,
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
            loopback_quality: (10e9, 0.0),
            fat_tree_members: 0,
            fat_tree_cables: 0,
            dragonfly_links: 0,
            is_version_3: false,
            folder,
            offset: 0,
        }
    }

    /// Returns a fault of the current element.
    pub(crate) fn wrong(&self, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault::new(self.offset, message, help)
    }

    /// Returns the platform. The caller has added the last element.
    pub(crate) fn finish(mut self) -> Result<Platform, Fault> {
        self.connect_profiles()?;
        match self.platform.zones.is_empty() {
            true => Err(self.wrong("the file has no zone", "put hosts and links into a <zone> or a <cluster>")),
            false => Ok(self.platform),
        }
    }

    /// Records a setting of the network model. Returns false if nothing in this crate has this name.
    ///
    /// # Errors
    ///
    /// The second half of a sentence that begins with the value.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match &*name.to_ascii_lowercase().replace('_', "-") {
            "network/loopback-bw" => self.loopback_quality.0 = BANDWIDTH.read(value)?,
            "network/loopback-lat" => self.loopback_quality.1 = DURATION.read(value)?,
            _ => return self.platform.settings.set(name, value),
        }
        Ok(true)
    }

    /// Records that the file sets a network model that is not supported.
    pub(crate) fn refuse_model(&mut self, message: String) {
        self.platform.unknown_model.get_or_insert((self.offset, message));
    }

    /// Returns the innermost open zone.
    fn zone(&self) -> Result<ZoneId, Fault> {
        let zone = self.open.last().map(|open| open.zone);
        zone.ok_or_else(|| self.wrong("this lies outside every zone", "move it into a <zone>"))
    }

    /// Adds a point to the innermost open zone.
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
        if coordinates.is_some() && !zone.is_some_and(|zone| self.platform.zone(zone).is_vivaldi()) {
            self.ignore("coordinates in a zone whose routing is not Vivaldi", HAVE_NO_EFFECT);
        }
        let id = PointId(index(self.platform.points.len()));
        let member_index = match zone {
            Some(zone) => {
                let members = &mut self.platform.zones[zone.0 as usize].members;
                members.push(id);
                index(members.len() - 1)
            }
            None => 0,
        };
        self.platform.points.push(Point { name: name.into(), kind, zone, index: member_index, coordinates });
        self.points.insert(name.into(), id);
        Ok(id)
    }

    /// Adds a host to the innermost open zone.
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

    /// Adds a disk to a host.
    pub(crate) fn disk(&mut self, disk: Disk) -> Result<(), Fault> {
        if self.platform.disks.len() >= POINTS_MAX {
            return Err(self.wrong(format!("there are more than {POINTS_MAX} disks"), "use fewer"));
        }
        let id = DiskId(index(self.platform.disks.len()));
        if self.platform.disk_names.insert((disk.host, disk.name.clone()), id).is_some() {
            let message = format!("the host has another disk {} before this one", quoted(&disk.name));
            return Err(self.wrong(message, "give each disk of a host a name of its own"));
        }
        self.ignore("a disk of a host", NO_EFFECT);
        self.platform.disks.push(disk);
        Ok(())
    }

    /// Adds a router to the innermost open zone.
    pub(crate) fn router(&mut self, name: &str, coordinates: Option<[f64; 3]>) -> Result<PointId, Fault> {
        self.zone()?;
        self.point(name, PointKind::Router, coordinates)
    }

    /// Adds a link that the file declares. Returns its two links, up and down, or the same link twice.
    pub(crate) fn link(&mut self, link: &NewLink) -> Result<(LinkId, LinkId), Fault> {
        self.zone()?;
        if link.policy == DeclaredPolicy::SplitDuplex {
            if self.duplex.contains_key(&*link.name) {
                return Err(self.name_taken(&link.name));
            }
            let pair = (self.push_link(link, "_UP", true)?, self.push_link(link, "_DOWN", true)?);
            self.duplex.insert(link.name.as_str().into(), pair);
            return Ok(pair);
        }
        let id = self.push_link(link, "", true)?;
        Ok((id, id))
    }

    fn name_taken(&self, name: &str) -> Fault {
        self.wrong(
            format!("there is another link {} before this one", quoted(name)),
            "give each link a name of its own",
        )
    }

    /// Adds one link, named as in the declaration plus `suffix`. The name of a declared link must be new.
    fn push_link(&mut self, link: &NewLink, suffix: &str, declared: bool) -> Result<LinkId, Fault> {
        let name: Box<str> = format!("{}{suffix}", link.name).into();
        if declared && self.platform.link_names.contains_key(&name) {
            return Err(self.name_taken(&name));
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
            policy: match link.policy {
                DeclaredPolicy::FatPipe => SharingPolicy::FatPipe,
                DeclaredPolicy::Shared | DeclaredPolicy::SplitDuplex => SharingPolicy::Shared,
            },
            bandwidth_profile: link.bandwidth_profile.clone(),
            latency_profile: link.latency_profile.clone(),
            state_profile: link.state_profile.clone(),
        });
        Ok(id)
    }

    /// Adds a link that another element generates. Returns its two links, up and down, or the same link
    /// twice.
    fn generate_link(
        &mut self,
        name: String,
        (bandwidth, latency): (f64, f64),
        policy: DeclaredPolicy,
    ) -> Result<(LinkId, LinkId), Fault> {
        let (bandwidth_profile, latency_profile, state_profile) = (None, None, None);
        let link = NewLink { name, bandwidth, latency, policy, bandwidth_profile, latency_profile, state_profile };
        if policy == DeclaredPolicy::SplitDuplex {
            let pair = (self.push_link(&link, "_UP", false)?, self.push_link(&link, "_DOWN", false)?);
            self.duplex.insert(link.name.into(), pair);
            return Ok(pair);
        }
        let id = self.push_link(&link, "", false)?;
        Ok((id, id))
    }

    /// Returns the link from a host to itself: for each flow 10 GB/s without latency, unless the file says
    /// otherwise.
    fn loopback(&mut self) -> Result<LinkId, Fault> {
        if let Some(id) = self.platform.loopback {
            return Ok(id);
        }
        let (id, _) = self.generate_link("__loopback__".to_owned(), self.loopback_quality, DeclaredPolicy::FatPipe)?;
        self.platform.loopback = Some(id);
        Ok(id)
    }

    /// Returns the point of this name.
    pub(crate) fn named(&self, name: &str) -> Result<PointId, Fault> {
        self.points.get(name).copied().ok_or_else(|| {
            let help = match nearest(name, self.points.keys().map(|name| &**name)) {
                Some(near) => format!("did you mean {}?", quoted(near)),
                None => "declare it before the routes that name it".to_owned(),
            };
            self.wrong(format!("there is no host, router or zone {} before this", quoted(name)), help)
        })
    }

    /// Returns the link of this name, which may be one direction of a split-duplex link.
    pub(crate) fn single_link(&self, name: &str) -> Result<LinkId, Fault> {
        if let Some(&id) = self.platform.link_names.get(name) {
            return Ok(id);
        }
        if self.duplex.contains_key(name) {
            let message = format!("the link {} is two, one for each direction", quoted(name));
            return Err(self.wrong(message, "say which: UP or DOWN"));
        }
        let help = match nearest(name, self.platform.link_names.keys().map(|name| &**name)) {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => "declare it before the routes that use it".to_owned(),
        };
        Err(self.wrong(format!("there is no link {} before this", quoted(name)), help))
    }
}

/// Converts an index to 32 bits.
fn index(count: usize) -> u32 {
    u32::try_from(count).expect("hosts, routers, zones and links are bounded")
}
