//! A dragonfly: groups of chassis of routers, each with its members, routed the least way.
//!
//! Routers of a chassis are all joined (*green*), so are those in the same place of a group's chassis
//! (*black*), and each two groups by one link (*blue*), which begins at the router of the first chassis whose
//! place is the other group's number.
//!
//! *References*: J. Kim et al., *Technology-Driven, Highly-Scalable Dragonfly Topology*, ISCA, 2008; G.
//! Faanes et al., *Cray Cascade: a Scalable HPC System based on a Dragonfly Network*, SC, 2012.

use super::{LinkId, NoRoute};

/// Two links, one for each direction, from the lower number to the higher.
type Pair = (LinkId, LinkId);

/// The parts of a dragonfly: how many, and how many links between each two are taken together as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) groups: u32,
    pub(crate) blue: u32,
    pub(crate) chassis: u32,
    pub(crate) black: u32,
    pub(crate) routers: u32,
    pub(crate) green: u32,
    pub(crate) nodes: u32,
}

/// A dragonfly.
#[derive(Clone, Debug)]
pub(crate) struct Dragonfly {
    pub(crate) parts: Parts,
    /// By router, and its member: up and down.
    pub(crate) local: Vec<Pair>,
    /// By chassis, and the pair of routers.
    pub(crate) green: Vec<Pair>,
    /// By group, the pair of chassis, and the router.
    pub(crate) black: Vec<Pair>,
    /// By the pair of groups.
    pub(crate) blue: Vec<Pair>,
    pub(crate) loopbacks: Option<Vec<LinkId>>,
    pub(crate) limiters: Option<Vec<LinkId>>,
    /// Those of routers.
    pub(crate) router_limiters: Option<Vec<LinkId>>,
}

/// Where the pair `(low, high)` stands among all pairs of `count` in order.
fn pair_index(low: u32, high: u32, count: u32) -> usize {
    let (low, high, count) = (low as usize, high as usize, count as usize);
    low * count - low * (low + 1) / 2 + high - low - 1
}

/// The link from one of `count` to another, the pairs' links beginning at `links`.
fn between(links: &[Pair], from: u32, to: u32, count: u32) -> LinkId {
    if from < to { links[pair_index(from, to, count)].0 } else { links[pair_index(to, from, count)].1 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Router {
    group: u32,
    chassis: u32,
    place: u32,
}

impl Dragonfly {
    /// The router of a member, and the member's place there.
    fn coordinates(&self, member: u32) -> (Router, u32) {
        let Parts { chassis, routers, nodes, .. } = self.parts;
        let (router, node) = (member / nodes, member % nodes);
        let (group, within) = (router / (chassis * routers), router % (chassis * routers));
        (Router { group, chassis: within / routers, place: within % routers }, node)
    }

    fn number(&self, router: Router) -> usize {
        let Parts { chassis, routers, .. } = self.parts;
        ((router.group * chassis + router.chassis) * routers + router.place) as usize
    }

    fn limiter(&self, router: Router) -> Option<LinkId> {
        self.router_limiters.as_ref().map(|limiters| limiters[self.number(router)])
    }

    /// To the router of this place in the same chassis.
    fn green_link(&self, from: Router, place: u32) -> LinkId {
        let Parts { chassis, routers, .. } = self.parts;
        let pairs = pair_index(routers - 1, routers, routers);
        let start = (from.group * chassis + from.chassis) as usize * pairs;
        between(&self.green[start..start + pairs], from.place, place, routers)
    }

    /// To the router of the same place in another chassis of the group.
    fn black_link(&self, from: Router, to: u32) -> LinkId {
        let Parts { chassis, routers, .. } = self.parts;
        let pairs = pair_index(chassis - 1, chassis, chassis);
        let (low, high) = (from.chassis.min(to), from.chassis.max(to));
        let pair = pair_index(low, high, chassis);
        let (up, down) = self.black[(from.group as usize * pairs + pair) * routers as usize + from.place as usize];
        if from.chassis < to { up } else { down }
    }

    /// Adds the links from one member to another.
    pub(crate) fn links(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> Result<(), NoRoute> {
        if let (true, Some(loopbacks)) = (from == to, &self.loopbacks) {
            links.push(loopbacks[from as usize]);
            return Ok(());
        }
        let ((source, source_node), (target, target_node)) = (self.coordinates(from), self.coordinates(to));
        let nodes = self.parts.nodes as usize;
        links.extend(self.limiters.as_ref().map(|limiters| limiters[from as usize]));
        links.push(self.local[self.number(source) * nodes + source_node as usize].0);
        let mut current = source;
        if current.group != target.group {
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
            links.push(between(&self.blue, current.group, target.group, self.parts.groups));
            links.extend(self.limiter(current));
            current = Router { group: target.group, chassis: 0, place: source.group };
        }
        if current.place != target.place {
            links.extend(self.limiter(current));
            links.push(self.green_link(current, target.place));
            // The way goes on from the first chassis, wherever it came from: SimGrid's does.
            current = Router { chassis: 0, place: target.place, ..current };
        }
        if current.chassis != target.chassis {
            links.extend(self.limiter(current));
            links.push(self.black_link(current, target.chassis));
        }
        links.extend(self.limiter(target));
        links.push(self.local[self.number(target) * nodes + target_node as usize].1);
        links.extend(self.limiters.as_ref().map(|limiters| limiters[to as usize]));
        Ok(())
    }
}
