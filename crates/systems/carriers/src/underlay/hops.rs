//! Routing hop by hop: each router on the way is an LP, and each hop an event.

use super::error::{UnderlayError, check_memory};
use parades_core::channel::Port;
use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_program::{Layout, Wiring};
use parades_topology::routing::{Metric, NextHops, Paths, Rules, StaticRoutes};
use parades_topology::{NodeId, Topology};

/// The next hops of all routers.
///
/// Routers are numbered as LPs are: the routers with a peer first, in the order of peers, and then the
/// others, which are LPs of the carrier's own. Ports are the interfaces of the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hops {
    topology: Topology,
    /// The node of the topology that each router is.
    nodes: Box<[NodeId]>,
    /// The router that each node of the topology is.
    routers: Box<[u32]>,
    peers: u32,
    /// The port by which router `r` sends to peer `p`: entry `r * peers + p`.
    ports: Box<[u16]>,
    /// The first link of each router in `delays`.
    first: Box<[u32]>,
    /// The latencies of the links of each router, by port.
    delays: Box<[Delay]>,
}

impl Hops {
    /// Finds the next hops on paths of least latency to all peers. Of equal paths it takes the one with the
    /// fewest hops, and then the first by neighbour and link.
    pub(super) fn new(topology: Topology, places: &[NodeId]) -> Result<Hops, UnderlayError> {
        let mut routers = vec![u32::MAX; topology.nodes()];
        for (peer, place) in (0..).zip(places) {
            routers[place.index()] = peer;
        }
        let others = topology.node_ids().filter(|node| routers[node.index()] == u32::MAX);
        let nodes: Box<[NodeId]> = places.iter().copied().chain(others).collect();
        for (router, node) in (0..).zip(&nodes) {
            routers[node.index()] = router;
        }
        let entries = nodes.len() as u64 * places.len() as u64;
        // The table of next hops and its copy have two bytes each.
        check_memory("the tables of next hops to all peers", entries * 4)?;
        let ports = ports(&topology, &nodes, places)?;
        let mut first = Vec::with_capacity(nodes.len());
        let mut delays = Vec::with_capacity(topology.interface_count());
        for &node in &nodes {
            first.push(u32::try_from(delays.len()).expect("links are counted in 32 bits"));
            delays.extend(topology.interfaces(node).iter().map(|end| topology.link(end.link).delay));
        }
        let peers = u32::try_from(places.len()).expect("peers are counted in 32 bits");
        let (first, delays) = (first.into(), delays.into());
        Ok(Hops { topology, nodes, routers: routers.into(), peers, ports, first, delays })
    }

    /// Returns the number of routers without a peer.
    pub(super) fn others(&self) -> u32 {
        u32::try_from(self.nodes.len()).expect("nodes are counted in 32 bits") - self.peers
    }

    /// Returns the router that an LP is.
    #[inline]
    fn router(&self, lp: LpId, layout: Layout) -> u32 {
        layout.index(lp).map_or(lp.0, |own| self.peers + own)
    }

    /// Returns the LP that a router is.
    fn lp(&self, router: u32, layout: Layout) -> LpId {
        router.checked_sub(self.peers).map_or(LpId(router), |own| layout.own(own))
    }

    /// Returns the port and the latency of the next hop from an LP to a peer.
    #[inline]
    pub(super) fn next(&self, lp: LpId, to: LpId, layout: Layout) -> (Port, Delay) {
        let router = self.router(lp, layout) as usize;
        let port = self.ports[router * self.peers as usize + to.index()];
        (Port(u32::from(port)), self.delays[self.first[router] as usize + usize::from(port)])
    }

    /// Returns the number of links of the router that an LP is.
    pub(super) fn links_of(&self, lp: LpId, layout: Layout) -> u32 {
        let node = self.nodes[self.router(lp, layout) as usize];
        u32::try_from(self.topology.interfaces(node).len()).expect("links are counted in 32 bits")
    }

    /// Returns the name of the router that an LP is.
    pub(super) fn name(&self, lp: LpId, layout: Layout) -> Option<&str> {
        let is_known = lp.0 < self.peers || layout.index(lp).is_some();
        is_known.then(|| self.topology.name(self.nodes[self.router(lp, layout) as usize]))
    }

    /// Declares a channel for each direction of each link.
    pub(super) fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        for (router, &node) in (0..).zip(&self.nodes) {
            for end in self.topology.interfaces(node) {
                let neighbour = self.routers[end.neighbour.index()];
                let delay = self.topology.link(end.link).delay;
                wiring.connect(self.lp(router, layout), self.lp(neighbour, layout), delay);
            }
        }
    }
}

/// Finds the port by which each router sends to each peer. A peer's own entry is without meaning.
fn ports(topology: &Topology, nodes: &[NodeId], places: &[NodeId]) -> Result<Box<[u16]>, UnderlayError> {
    let statics = StaticRoutes::default();
    let next_hops = NextHops::new(topology, places.iter().copied(), &statics);
    let rules = Rules { metric: Metric::Delay, paths: Paths::One, statics: &statics };
    let table = next_hops.table(topology, rules, |link| Some(Metric::Delay.cost(topology.link(link).delay)))?;
    let destinations: Vec<_> =
        places.iter().map(|&place| next_hops.destination(place).expect("all peers are destinations")).collect();
    let mut ports = Vec::with_capacity(nodes.len() * places.len());
    for &node in nodes {
        for (place, destination) in places.iter().zip(&destinations) {
            if node == *place {
                ports.push(u16::MAX);
                continue;
            }
            let name = |node: NodeId| topology.name(node).to_owned();
            match next_hops.interface(&table, node, destination, 0).map(u16::try_from) {
                Some(Ok(port)) => ports.push(port),
                Some(Err(_)) => return Err(UnderlayError::TooManyLinks(name(node))),
                None if places.contains(&node) => {
                    return Err(UnderlayError::Unreachable { from: name(node), to: name(*place) });
                }
                // No message for that peer comes here.
                None => ports.push(u16::MAX),
            }
        }
    }
    Ok(ports.into())
}
