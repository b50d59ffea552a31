//! The parts of a platform: hosts of different parts have no route between them.
//!
//! The link from a host to itself that a platform has by itself is in all parts.
//!
//! Parts follow from the declarations of a platform, without a search for the routes of all pairs of hosts.
//! So they may be larger than necessary: all members of a zone that finds its routes by itself, such as a
//! cluster, are in one part, and so is all that lies in a zone which a route enters.

use super::{Dijkstra, Disk, DiskId, Floyd, HostId, Leg, Link, LinkId, Platform, PointId, Routing, ZoneId};

/// The part of a host, link or disk, and its number there. A link that all parts have has the part
/// [`Seat::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) part: u32,
    pub(crate) index: u32,
}

impl Seat {
    /// All parts.
    const ALL: u32 = u32::MAX;

    /// Returns true if the part has what the seat is of.
    #[inline]
    pub(crate) fn is_in(self, part: u32) -> bool {
        self.part == part || self.part == Seat::ALL
    }
}

/// The hosts, links and disks of a part, in the order of the platform.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(crate) hosts: Vec<HostId>,
    pub(crate) links: Vec<LinkId>,
    pub(crate) disks: Vec<DiskId>,
}

/// The parts of a platform. They are numbered in the order of their first hosts.
#[derive(Clone, Debug)]
pub struct Parts {
    pub(crate) of_hosts: Vec<Seat>,
    pub(crate) of_links: Vec<Seat>,
    pub(crate) of_disks: Vec<Seat>,
    pub(crate) members: Vec<Members>,
}

impl Parts {
    /// Returns the number of parts, at least 1.
    pub fn number(&self) -> u32 {
        u32::try_from(self.members.len()).expect("no more than hosts")
    }

    /// Returns the part of a host.
    pub fn of(&self, HostId(host): HostId) -> u32 {
        self.of_hosts[host as usize].part
    }

    /// Makes the parts, given the part of each host and each link. All parts have the link `shared`, as their
    /// first.
    fn new(hosts: &[u32], links: impl Iterator<Item = u32>, shared: Option<LinkId>) -> Parts {
        let number = hosts.iter().max().map_or(1, |last| *last as usize + 1);
        let mut parts = Parts {
            of_hosts: Vec::new(),
            of_links: Vec::new(),
            of_disks: Vec::new(),
            members: vec![Members { links: shared.into_iter().collect(), ..Members::default() }; number],
        };
        for (id, &part) in (0..).map(HostId).zip(hosts) {
            parts.of_hosts.push(seat(part, &mut parts.members[part as usize].hosts, id));
        }
        for (id, part) in (0..).map(LinkId).zip(links) {
            parts.of_links.push(match Some(id) == shared {
                true => Seat { part: Seat::ALL, index: 0 },
                false => seat(part, &mut parts.members[part as usize].links, id),
            });
        }
        parts
    }

    /// Adds each disk to the part of its host.
    fn add_disks(&mut self, disks: &[Disk]) {
        for (id, disk) in (0..).map(DiskId).zip(disks) {
            let part = self.of(disk.host);
            self.of_disks.push(seat(part, &mut self.members[part as usize].disks, id));
        }
    }
}

/// Gives the next seat of a part to a member.
fn seat<T>(part: u32, members: &mut Vec<T>, member: T) -> Seat {
    members.push(member);
    Seat { part, index: u32::try_from(members.len() - 1).expect("members are counted in 32 bits") }
}

/// Sets of points and links that routes may join (union by size, with path halving).
struct Sets {
    /// By element: an element of the same set that is nearer to the representative.
    parents: Vec<u32>,
    /// By representative: the number of elements.
    sizes: Vec<u32>,
    points: u32,
    /// The link that all parts have. It joins nothing: as a fat pipe, it has its capacity for each flow.
    shared: Option<LinkId>,
}

impl Sets {
    fn of(platform: &Platform) -> Sets {
        let points = u32::try_from(platform.points.len()).expect("points are counted in 32 bits");
        let all = points + u32::try_from(platform.links.len()).expect("links are counted in 32 bits");
        let changes = |link: &Link| {
            link.bandwidth_profile.is_some() || link.latency_profile.is_some() || link.state_profile.is_some()
        };
        let shared = platform.loopback.filter(|id| !changes(&platform.links[id.0 as usize]));
        Sets { parents: (0..all).collect(), sizes: vec![1; all as usize], points, shared }
    }

    /// Returns the representative of an element's set.
    fn find(&mut self, mut element: u32) -> u32 {
        while self.parents[element as usize] != element {
            let next = self.parents[element as usize];
            self.parents[element as usize] = self.parents[next as usize];
            element = next;
        }
        element
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        if one == other {
            return;
        }
        let (small, large) =
            if self.sizes[one as usize] < self.sizes[other as usize] { (one, other) } else { (other, one) };
        self.parents[small as usize] = large;
        self.sizes[large as usize] += self.sizes[small as usize];
    }

    fn join_points(&mut self, PointId(one): PointId, PointId(other): PointId) {
        self.join(one, other);
    }

    fn join_link(&mut self, PointId(point): PointId, LinkId(link): LinkId) {
        if Some(LinkId(link)) != self.shared {
            self.join(point, self.points + link);
        }
    }

    /// Joins the ends, the gateways and the links of a declared route.
    fn join_leg(&mut self, from: PointId, to: PointId, leg: &Leg) {
        self.join_points(from, to);
        leg.links.iter().for_each(|&link| self.join_link(from, link));
        for gateway in leg.gateways.into_iter().flat_map(|(exit, entry)| [exit, entry]) {
            self.join_points(from, gateway);
        }
    }

    /// True if a route joins the point with anything else.
    fn is_joined(&mut self, PointId(point): PointId) -> bool {
        let set = self.find(point);
        self.sizes[set as usize] > 1
    }
}

impl Platform {
    /// Returns the parts of the platform.
    ///
    /// ```
    /// use parades_flow::xml;
    /// let text = r#"<platform version="4.1"><zone id="world" routing="Full">
    ///   <cluster id="one" prefix="one-" suffix="" radical="0-2" speed="1Gf" bw="1GBps" lat="1us"/>
    ///   <cluster id="two" prefix="two-" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
    /// </zone></platform>"#;
    /// let parts = xml::parse("two.xml".as_ref(), text.as_bytes())?.parts();
    /// assert_eq!(parts.number(), 2);
    /// # Ok::<(), parades_config::ConfigError>(())
    /// ```
    pub fn parts(&self) -> Parts {
        let mut sets = Sets::of(self);
        for zone in &self.zones {
            let member = |index: u32| zone.members[index as usize];
            let mut links = Vec::new();
            match &zone.routing {
                Routing::None => {}
                Routing::Full(table)
                | Routing::Floyd(Floyd { table, .. })
                | Routing::Dijkstra(Dijkstra { table, .. }) => {
                    table.legs.iter().for_each(|(&(from, to), leg)| sets.join_leg(member(from), member(to), leg));
                }
                Routing::Star { star, .. } => links.extend(star.all_links()),
                Routing::Torus(torus) => links.extend(torus.all_links()),
                Routing::FatTree(tree) => links.extend(tree.all_links()),
                Routing::Dragonfly(dragonfly) => links.extend(dragonfly.all_links()),
            }
            if !matches!(zone.routing, Routing::None | Routing::Full(_) | Routing::Floyd(_) | Routing::Dijkstra(_)) {
                zone.members.iter().for_each(|&member| sets.join_points(zone.point, member));
            }
            links.into_iter().for_each(|link| sets.join_link(zone.point, link));
            zone.bypasses.iter().for_each(|(&(from, to), leg)| sets.join_leg(from, to, leg));
        }
        self.join_entered_zones(&mut sets);
        self.parts_of(&mut sets)
    }

    /// Joins all that lies in a zone which a route enters: the way from a gateway to a member may take no
    /// link.
    fn join_entered_zones(&self, sets: &mut Sets) {
        let depth = |zone: ZoneId| std::iter::successors(Some(zone), |&zone| self.zone(zone).parent).count();
        let mut by_depth: Vec<ZoneId> = (0..).map(ZoneId).take(self.zones.len()).collect();
        by_depth.sort_by_cached_key(|&zone| depth(zone));
        for zone in by_depth.into_iter().map(|zone| self.zone(zone)) {
            if sets.is_joined(zone.point) {
                zone.members.iter().for_each(|&member| sets.join_points(zone.point, member));
            }
        }
    }

    /// Numbers the sets that have hosts. A link that no host uses goes to the first part.
    fn parts_of(&self, sets: &mut Sets) -> Parts {
        let mut numbers = vec![None; sets.parents.len()];
        let mut next = 0..;
        let mut of_hosts = Vec::new();
        for host in &self.hosts {
            let set = sets.find(host.point.0) as usize;
            of_hosts.push(*numbers[set].get_or_insert_with(|| next.next().expect("no more than hosts")));
        }
        let links = sets.points..sets.points + u32::try_from(self.links.len()).expect("links are counted in 32 bits");
        let of_links: Vec<u32> = links.map(|link| numbers[sets.find(link) as usize].unwrap_or(0)).collect();
        let mut parts = Parts::new(&of_hosts, of_links.into_iter(), sets.shared);
        parts.add_disks(&self.disks);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml;

    /// Checks that routes join hosts of one part alone, and cross its links alone. Returns the parts.
    fn parts(zones: &str) -> Parts {
        let text = format!("<platform version=\"4.1\">{zones}</platform>");
        let platform = xml::parse("p.xml".as_ref(), text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let parts = platform.parts();
        let hosts = || (0..).map(HostId).take(platform.hosts().len());
        for (from, to) in hosts().flat_map(|from| hosts().map(move |to| (from, to))) {
            let Ok(route) = platform.route(from, to) else { continue };
            let part = parts.of(from);
            assert_eq!(parts.of(to), part, "{from:?} and {to:?} have a route");
            assert!(route.links.iter().all(|link| parts.of_links[link.0 as usize].is_in(part)), "{from:?} to {to:?}");
        }
        parts
    }

    fn of_hosts(parts: &Parts) -> Vec<u32> {
        parts.of_hosts.iter().map(|seat| seat.part).collect()
    }

    fn cluster(name: &str, more: &str) -> String {
        format!(
            r#"<cluster id="{name}" prefix="{name}-" suffix="" radical="0-3" speed="1f" bw="1Bps" lat="1s" {more}/>"#
        )
    }

    #[test]
    fn clusters_of_every_topology_are_parts() {
        let topologies = [
            "",
            r#"bb_bw="1Bps" bb_lat="1s""#,
            r#"topology="TORUS" topo_parameters="2,2""#,
            r#"topology="FAT_TREE" topo_parameters="2;2,2;1,2;1,1""#,
            r#"topology="DRAGONFLY" topo_parameters="1,1;2,1;1,1;2" loopback_bw="1Bps" loopback_lat="1s""#,
        ];
        let all: String =
            topologies.iter().zip(0..).map(|(more, number)| cluster(&format!("c{number}"), more)).collect();
        let parts = parts(&format!(r#"<zone id="w" routing="Full">{all}</zone>"#));
        assert_eq!(of_hosts(&parts), (0..5).flat_map(|part| [part; 4]).collect::<Vec<_>>());
    }

    #[test]
    fn routes_of_zones_join_all_that_lies_in_them() {
        let (one, two, three) =
            (cluster("one", r#"router_id="r1""#), cluster("two", r#"router_id="r2""#), cluster("three", ""));
        let route = r#"<link id="wire" bandwidth="1Bps" latency="1s"/>
            <zoneRoute src="outer" dst="two" gw_src="r1" gw_dst="r2"><link_ctn id="wire"/></zoneRoute>"#;
        // A host beside a gateway reaches it without a declared route.
        let outer = format!(r#"<zone id="outer" routing="Full">{one} <host id="beside" speed="1f"/></zone>"#);
        let parts = parts(&format!(r#"<zone id="w" routing="Full">{outer} {two} {three} {route}</zone>"#));
        // Hosts come in the order of the file: `beside` after the four of `one`.
        assert_eq!(of_hosts(&parts), [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!((parts.number(), parts.members[1].hosts.len()), (2, 4));
    }

    #[test]
    fn declared_routes_join_their_ends_alone() {
        let hosts: String = (0..6).map(|host| format!(r#"<host id="h{host}" speed="1f"/>"#)).collect();
        let links: String = (0..3)
            .map(|link| format!(r#"<link id="l{link}" bandwidth="1Bps" latency="1s" sharing_policy="SHARED"/>"#))
            .collect();
        for routing in ["Full", "Floyd", "Dijkstra"] {
            let route =
                |from, to, link| format!(r#"<route src="h{from}" dst="h{to}"><link_ctn id="l{link}"/></route>"#);
            // Hosts 0, 2 and 4 in a row; 1 and 3 apart, but over the link of 2 and 4; 5 alone.
            let routes = [route(0, 2, 0), route(2, 4, 1), route(1, 3, 1)].concat();
            let parts = parts(&format!(r#"<zone id="w" routing="{routing}">{hosts}{links}{routes}</zone>"#));
            assert_eq!(of_hosts(&parts), [0, 0, 0, 0, 0, 1], "{routing}");
            let routes = [route(0, 2, 0), route(2, 4, 1), route(1, 3, 2)].concat();
            let parts =
                super::tests::parts(&format!(r#"<zone id="w" routing="{routing}">{hosts}{links}{routes}</zone>"#));
            assert_eq!(of_hosts(&parts), [0, 1, 0, 1, 0, 2], "{routing}");
            let seats = parts.of_links.iter().map(|seat| (seat.part, seat.index)).collect::<Vec<_>>();
            // All parts have the link from a host to itself, as their first.
            assert_eq!(seats, [(0, 1), (0, 2), (1, 1), (Seat::ALL, 0)], "{routing}");
        }
    }
}
