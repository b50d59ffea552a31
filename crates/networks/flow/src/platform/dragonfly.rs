//! A dragonfly: groups of chassis, each with routers, each with members. Routes are minimal.
//!
//! Each two routers of a chassis share a *green* link. Each two routers at the same place in two chassis of a
//! group share a *black* link. Each two groups share a *blue* link: it begins at a router of the first
//! chassis, at the place whose number is that of the other group.
//!
//! *References*: J. Kim et al., *Technology-Driven, Highly-Scalable Dragonfly Topology*, ISCA, 2008; G.
//! Faanes et al., *Cray Cascade: a Scalable HPC System based on a Dragonfly Network*, SC, 2012.

use super::{LinkId, NoRoute};

/// The links between two parts, one for each direction: from the lower number to the higher first.
type Pair = (LinkId, LinkId);

/// The numbers of a dragonfly's parts. For each colour, the number of parallel links that are joined into
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) groups: u32,
    pub(crate) blue: u32,
    /// The number of chassis in a group.
    pub(crate) chassis: u32,
    pub(crate) black: u32,
    /// The number of routers in a chassis.
    pub(crate) routers: u32,
    pub(crate) green: u32,
    /// The number of members at a router.
    pub(crate) nodes: u32,
}

impl Shape {
    /// Returns the number of routers.
    pub(crate) fn router_count(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.chassis) * u64::from(self.routers)
    }
}

/// A dragonfly.
#[derive(Clone, Debug)]
pub(crate) struct Dragonfly {
    pub(crate) shape: Shape,
    /// The links between routers and members, up and down, by router and then its member.
    pub(crate) local: Vec<Pair>,
    /// By chassis, and then pair of routers.
    pub(crate) green: Vec<Pair>,
    /// By group, then pair of chassis, then router.
    pub(crate) black: Vec<Pair>,
    /// By pair of groups.
    pub(crate) blue: Vec<Pair>,
    /// By member, the link from the member to itself.
    pub(crate) loopbacks: Option<Vec<LinkId>>,
    /// By member, the link that all its traffic crosses.
    pub(crate) limiters: Option<Vec<LinkId>>,
    /// By router, the link that all its traffic crosses.
    pub(crate) router_limiters: Option<Vec<LinkId>>,
}

/// Returns the index of the pair `(low, high)` among all pairs of `count` parts, in lexicographic order.
fn pair_index(low: u32, high: u32, count: u32) -> usize {
    let (low, high, count) = (low as usize, high as usize, count as usize);
    low * count - low * (low + 1) / 2 + high - low - 1
}

/// Returns the link from one of `count` parts to another. `links` has a pair of links for each pair of parts.
fn between(links: &[Pair], from: u32, to: u32, count: u32) -> LinkId {
    if from < to { links[pair_index(from, to, count)].0 } else { links[pair_index(to, from, count)].1 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Router {
    group: u32,
    chassis: u32,
    /// The number in the chassis.
    place: u32,
}

impl Dragonfly {
    /// Returns the router of a member, and the member's number at that router.
    fn coordinates(&self, member: u32) -> (Router, u32) {
        let Shape { chassis, routers, nodes, .. } = self.shape;
        let (router, node) = (member / nodes, member % nodes);
        let (group, within) = (router / (chassis * routers), router % (chassis * routers));
        (Router { group, chassis: within / routers, place: within % routers }, node)
    }

    /// Returns all links of the dragonfly.
    pub(crate) fn all_links(&self) -> impl Iterator<Item = LinkId> {
        let pairs = [&self.local, &self.green, &self.black, &self.blue].into_iter().flatten();
        let single = [&self.loopbacks, &self.limiters, &self.router_limiters].into_iter().flatten().flatten().copied();
        pairs.flat_map(|&(up, down)| [up, down]).chain(single)
    }

    /// Returns the number of a router among all routers.
    fn number(&self, router: Router) -> usize {
        let Shape { chassis, routers, .. } = self.shape;
        ((router.group * chassis + router.chassis) * routers + router.place) as usize
    }

    fn limiter(&self, router: Router) -> Option<LinkId> {
        self.router_limiters.as_ref().map(|limiters| limiters[self.number(router)])
    }

    /// Returns the link to another router of the same chassis, at `place`.
    fn green_link(&self, from: Router, place: u32) -> LinkId {
        let Shape { chassis, routers, .. } = self.shape;
        let pairs = pair_index(routers - 1, routers, routers);
        let start = (from.group * chassis + from.chassis) as usize * pairs;
        between(&self.green[start..start + pairs], from.place, place, routers)
    }

    /// Returns the link to the router at the same place in another chassis of the group.
    fn black_link(&self, from: Router, to_chassis: u32) -> LinkId {
        let Shape { chassis, routers, .. } = self.shape;
        let pairs = pair_index(chassis - 1, chassis, chassis);
        let (low, high) = (from.chassis.min(to_chassis), from.chassis.max(to_chassis));
        let pair = pair_index(low, high, chassis);
        let (up, down) = self.black[(from.group as usize * pairs + pair) * routers as usize + from.place as usize];
        if from.chassis < to_chassis { up } else { down }
    }

    /// Adds the links from one member to another.
    pub(crate) fn links(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> Result<(), NoRoute> {
        if let (true, Some(loopbacks)) = (from == to, &self.loopbacks) {
            links.push(loopbacks[from as usize]);
            return Ok(());
        }
        let ((source, source_node), (target, target_node)) = (self.coordinates(from), self.coordinates(to));
        let nodes = self.shape.nodes as usize;
        links.extend(self.limiters.as_ref().map(|limiters| limiters[from as usize]));
        links.push(self.local[self.number(source) * nodes + source_node as usize].0);
        let entry = if source.group == target.group { source } else { self.cross_groups(source, target, links) };
        self.cross_chassis(entry, target, links);
        links.extend(self.limiter(target));
        links.push(self.local[self.number(target) * nodes + target_node as usize].1);
        links.extend(self.limiters.as_ref().map(|limiters| limiters[to as usize]));
        Ok(())
    }

    /// Adds the links from `source` to the target's group. Returns the router of that group where the route
    /// arrives.
    fn cross_groups(&self, source: Router, target: Router, links: &mut Vec<LinkId>) -> Router {
        let mut current = source;
        if current.place != target.group {
            links.extend(self.limiter(current));
            links.push(self.green_link(current, target.group));
            current.place = target.group;
        }
        if current.chassis != 0 {
            links.extend(self.limiter(current));
            links.push(self.black_link(current, 0));
            current.chassis = 0;
        }
        links.push(between(&self.blue, current.group, target.group, self.shape.groups));
        links.extend(self.limiter(current));
        Router { group: target.group, chassis: 0, place: source.group }
    }

    /// Adds the links from a router to the target in the same group.
    fn cross_chassis(&self, from: Router, target: Router, links: &mut Vec<LinkId>) {
        let mut current = from;
        if current.place != target.place {
            links.extend(self.limiter(current));
            links.push(self.green_link(current, target.place));
            // As in SimGrid, the route continues from the first chassis, wherever the green link is.
            current = Router { chassis: 0, place: target.place, ..current };
        }
        if current.chassis != target.chassis {
            links.extend(self.limiter(current));
            links.push(self.black_link(current, target.chassis));
        }
    }
}
