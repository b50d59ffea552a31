//! Zones: their beginning, the special elements of the routings `Cluster` and `Vivaldi`, and their end.

use super::{Builder, DeclaredPolicy, NewHost, NewLink, OpenZone, ZONE_DEPTH_MAX, index};
use crate::platform::{
    Branch, Dijkstra, FLOYD_MEMBERS_MAX, Floyd, Leg, LinkId, PointId, PointKind, Routing, Star, Table, Zone, ZoneId,
};
use parades_config::Fault;
use parades_config::{nearest, quoted};
use std::collections::BTreeMap;

/// The routings of zones, by their names in files.
const ROUTINGS: [&str; 7] = ["Full", "Floyd", "Dijkstra", "DijkstraCache", "Cluster", "Vivaldi", "None"];

/// A `<cabinet>`: hosts of a zone of routing `Cluster`, each with a link up and one down.
#[derive(Clone, Debug)]
pub(crate) struct Cabinet {
    pub(crate) prefix: String,
    pub(crate) suffix: String,
    pub(crate) numbers: Vec<u32>,
    /// In flops per second.
    pub(crate) speed: f64,
    /// In bytes per second.
    pub(crate) bandwidth: f64,
    /// In seconds.
    pub(crate) latency: f64,
}

impl Builder {
    /// Begins a zone, whose routing is given by name.
    pub(crate) fn begin_zone(&mut self, name: &str, routing: &str) -> Result<(), Fault> {
        let star = |vivaldi| Routing::Star { star: Star::default(), vivaldi };
        let routing = match ROUTINGS.into_iter().find(|known| known.eq_ignore_ascii_case(routing)) {
            Some("Full") => Routing::Full(Table::default()),
            Some("Floyd") => Routing::Floyd(Floyd::default()),
            Some("Dijkstra" | "DijkstraCache") => Routing::Dijkstra(Dijkstra::default()),
            Some("Cluster") => star(false),
            Some("Vivaldi") => star(true),
            Some(_) => Routing::None,
            None if routing.eq_ignore_ascii_case("Wifi") => {
                return Err(self.wrong(format!("the routing {} is not supported", quoted(routing)), "use wired links"));
            }
            None => {
                let help = match nearest(routing, ROUTINGS) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => format!("choose one of {}", ROUTINGS.join(", ")),
                };
                return Err(self.wrong(format!("there is no routing {}", quoted(routing)), help));
            }
        };
        self.open_zone(name, routing)
    }

    /// Begins a zone, whose routing is given.
    pub(super) fn open_zone(&mut self, name: &str, routing: Routing) -> Result<(), Fault> {
        if self.open.len() == ZONE_DEPTH_MAX {
            return Err(self.wrong(format!("zones nest more than {ZONE_DEPTH_MAX} deep"), "nest them less"));
        }
        if self.open.is_empty() && !self.platform.zones.is_empty() {
            return Err(self.wrong("a second zone lies beside the outermost", "put all zones into one"));
        }
        let zone = ZoneId(index(self.platform.zones.len()));
        let point = self.point(name, PointKind::Zone(zone), None)?;
        let parent = self.open.last().map(|open| open.zone);
        if let Some(parent) = parent {
            self.platform.zones[parent.0 as usize].holds_zones = true;
        }
        let (members, bypasses) = (Vec::new(), BTreeMap::new());
        self.platform.zones.push(Zone {
            name: name.into(),
            point,
            parent,
            members,
            holds_zones: false,
            routing,
            bypasses,
        });
        self.open.push(OpenZone { zone, offset: self.offset, host_links: Vec::new(), backbone: None });
        Ok(())
    }

    /// Ends the innermost open zone, and computes its routes.
    pub(crate) fn end_zone(&mut self) -> Result<(), Fault> {
        let OpenZone { zone, offset, host_links, backbone } = self.open.pop().expect("an end has a beginning");
        self.offset = offset;
        self.add_loopbacks(zone)?;
        let zone = &mut self.platform.zones[zone.0 as usize];
        let members = zone.members.len();
        match &mut zone.routing {
            Routing::Floyd(_) if members > FLOYD_MEMBERS_MAX => {
                let message = format!(
                    "the zone {} has {members} members, and routing Floyd takes {FLOYD_MEMBERS_MAX} at most",
                    quoted(&zone.name)
                );
                return Err(self.wrong(message, "use routing Dijkstra"));
            }
            Routing::Floyd(floyd) => floyd.compute(members),
            Routing::Star { star, .. } => {
                for (member, [up, down]) in host_links {
                    let branch = star.branch_mut(self.platform.points[member.0 as usize].index);
                    branch.up = [up].into_iter().chain(backbone).collect();
                    branch.down = backbone.into_iter().chain([down]).collect();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a loopback to each member that has no declared route to itself, if the zone has no inner zones.
    ///
    /// With routing Dijkstra, only members with a declared route get one.
    fn add_loopbacks(&mut self, zone: ZoneId) -> Result<(), Fault> {
        let number = zone.0 as usize;
        let zone = &self.platform.zones[number];
        let members: Vec<u32> = match &zone.routing {
            _ if zone.holds_zones => return Ok(()),
            Routing::Full(_) | Routing::Floyd(_) => (0..index(zone.members.len())).collect(),
            Routing::Dijkstra(dijkstra) => dijkstra.members().to_vec(),
            _ => return Ok(()),
        };
        if members.is_empty() {
            return Ok(());
        }
        let loopback = self.loopback()?;
        let table = match &mut self.platform.zones[number].routing {
            Routing::Full(table) => table,
            Routing::Floyd(floyd) => &mut floyd.table,
            Routing::Dijkstra(dijkstra) => &mut dijkstra.table,
            _ => unreachable!("other routings have returned"),
        };
        for member in members {
            table.add(member, member, Leg { links: [loopback].into(), gateways: None });
        }
        Ok(())
    }

    /// Returns the innermost open zone, whose routing must be `Cluster` or, for `vivaldi`, `Vivaldi`. `what`
    /// is the element that needs it, for the error.
    fn open_star(&mut self, what: &str, vivaldi: bool) -> Result<&mut OpenZone, Fault> {
        let zone = self.zone()?;
        match &self.platform.zone(zone).routing {
            Routing::Star { vivaldi: known, .. } if *known == vivaldi => Ok(self.open.last_mut().expect("one is open")),
            _ => {
                let routing = if vivaldi { "Vivaldi" } else { "Cluster" };
                Err(self.wrong(
                    format!("{what} lies in a zone whose routing is not {routing}"),
                    "move it into one that has it",
                ))
            }
        }
    }

    /// Gives a host of a zone of routing `Cluster` its links.
    pub(crate) fn host_link(&mut self, host: &str, up: &str, down: &str) -> Result<(), Fault> {
        let (member, links) = (self.named(host)?, [self.single_link(up)?, self.single_link(down)?]);
        let zone = self.zone()?;
        if self.platform.point(member).zone != Some(zone) {
            let message = format!("{} lies in another zone than this", quoted(host));
            return Err(self.wrong(message, "give links to a zone's own hosts"));
        }
        self.add_host_link(member, links)
    }

    fn add_host_link(&mut self, member: PointId, links: [LinkId; 2]) -> Result<(), Fault> {
        self.open_star("this", false)?.host_links.push((member, links));
        Ok(())
    }

    /// Gives a zone of routing `Cluster` its backbone.
    pub(crate) fn backbone(&mut self, link: &NewLink) -> Result<(), Fault> {
        if self.open_star("<backbone>", false)?.backbone.is_some() {
            return Err(self.wrong("the zone has a second backbone", "keep one"));
        }
        let (backbone, _) = self.link(link)?;
        self.open_star("<backbone>", false)?.backbone = Some(backbone);
        Ok(())
    }

    /// Adds the hosts of a cabinet.
    pub(crate) fn cabinet(&mut self, cabinet: &Cabinet) -> Result<(), Fault> {
        self.open_star("<cabinet>", false)?;
        let Cabinet { prefix, suffix, numbers, speed, bandwidth, latency } = cabinet;
        for number in numbers {
            let name = format!("{prefix}{number}{suffix}");
            let host = NewHost { name: name.clone(), speeds: vec![*speed], cores: 1, ..NewHost::default() };
            let host = self.host(host)?;
            let mut link =
                |end| self.generate_link(format!("link_{name}_{end}"), (*bandwidth, *latency), DeclaredPolicy::Shared);
            let links = [link("UP")?.0, link("DOWN")?.0];
            self.add_host_link(self.platform.hosts[host.0 as usize].point, links)?;
        }
        Ok(())
    }

    /// Adds a host with its links to a zone of routing `Vivaldi`. Bandwidths are in bytes per second.
    pub(crate) fn peer(&mut self, host: NewHost, incoming: f64, outgoing: f64) -> Result<(), Fault> {
        self.open_star("<peer>", true)?;
        if host.coordinates.is_none() {
            return Err(self.wrong("the peer has no coordinates", "give three numbers: two of the plane, and a height"));
        }
        let name = host.name.clone();
        let host = self.host(host)?;
        let (up, _) = self.generate_link(format!("link_{name}_UP"), (outgoing, 0.0), DeclaredPolicy::Shared)?;
        let (down, _) = self.generate_link(format!("link_{name}_DOWN"), (incoming, 0.0), DeclaredPolicy::Shared)?;
        let point = self.platform.point(self.platform.hosts[host.0 as usize].point);
        let (zone, member) = (point.zone.expect("a host lies in a zone"), point.index);
        let branch = Branch { up: [up].into_iter().collect(), down: [down].into_iter().collect(), loopback: None };
        if let Routing::Star { star, .. } = &mut self.platform.zones[zone.0 as usize].routing {
            *star.branch_mut(member) = branch;
        }
        Ok(())
    }
}
