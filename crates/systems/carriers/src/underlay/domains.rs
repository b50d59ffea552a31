//! Least latencies between peers at the stub routers of a transit–stub network, in memory linear in peers.
//!
//! A stub domain touches the rest of the network only at the links from its routers to transit routers, its
//! *gates*. So a shortest path between two stub domains leaves the first by a gate, goes on among transit
//! routers, and enters the second by a gate. Three tables are enough:
//!
//! - the least latency from each peer, inside its domain, to each of its domain's gates and over it;
//! - the least latency between each two transit routers, in the whole network: a path may lead through a
//!   stub domain of several gates, which stands as a link between their transit routers in that search;
//! - the least latency between each two peers of one domain, by paths inside it or through its gates.
//!
//! The latency between two peers is then a minimum over pairs of gates. A domain has one and a half gates on
//! the mean.

use super::error::{UnderlayError, check_memory};
use super::graph::{Graph, links};
use crate::near::Least;
use parades_core::time::Delay;
use parades_topology::generators::Domains;
use parades_topology::routing::Open;
use parades_topology::{NodeId, Topology};
use std::ops::Range;

/// Least latencies between peers at stub routers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DomainPaths {
    peers: Box<[Peer]>,
    domains: Box<[Domain]>,
    /// The ways from each peer out of its domain.
    ways: Box<[Way]>,
    /// The latencies between the peers of each domain.
    inside: Box<[Delay]>,
    transit_routers: u32,
    /// The latencies between all transit routers.
    transit: Box<[Delay]>,
}

/// The place of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peer {
    domain: u32,
    /// The peer's place among the peers of its domain.
    row: u32,
    /// Its part of [`DomainPaths::ways`].
    ways: u32,
    ways_end: u32,
}

/// A way from a peer over one of its domain's gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    /// The transit router to which the gate leads.
    transit: u32,
    /// The latency to that router.
    delay: Delay,
}

/// A stub domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Domain {
    /// The number of its peers.
    peers: u32,
    /// The place of its table in [`DomainPaths::inside`].
    inside: usize,
}

impl DomainPaths {
    /// Finds the latencies between peers at these places.
    ///
    /// # Errors
    ///
    /// If a place is no stub router, or the tables take too much memory.
    pub(super) fn new(domains: &Domains, places: &[NodeId]) -> Result<DomainPaths, UnderlayError> {
        let at = PeersOfRouters::new(domains, places)?;
        let entries = at.entries(domains);
        check_memory("the tables of latencies in a transit-stub network", table_bytes(domains, entries))?;
        let mut growing = Growing {
            topology: domains.topology(),
            contracted: links(domains.topology(), 0..domains.transit_routers())
                .filter(|&(_, to, _)| to < domains.transit_routers())
                .collect(),
            peers: vec![Peer { domain: 0, row: 0, ways: 0, ways_end: 0 }; places.len()],
            domains: Vec::with_capacity(domains.stubs().len()),
            ways: Vec::with_capacity(places.len()),
            inside: Vec::with_capacity(usize::try_from(entries).expect("the memory was checked")),
            detours: Vec::new(),
            table: Vec::new(),
            open: Open::new(),
        };
        let mut peers = Vec::new();
        for routers in domains.stubs() {
            peers.clear();
            peers.extend(at.inside(&routers));
            growing.add(&routers, &peers);
        }
        Ok(growing.finish(domains.transit_routers()))
    }

    /// Returns the latency between two different peers.
    #[inline]
    pub(super) fn between(&self, from: u32, to: u32) -> Delay {
        let (a, b) = (self.peers[from as usize], self.peers[to as usize]);
        if a.domain == b.domain {
            let domain = self.domains[a.domain as usize];
            return self.inside[domain.inside + a.row as usize * domain.peers as usize + b.row as usize];
        }
        self.over_transit(a, b)
    }

    /// Returns the least latency of the paths between two peers that leave their domains.
    #[inline]
    fn over_transit(&self, a: Peer, b: Peer) -> Delay {
        let mut least = Delay::MAX;
        for &Way { transit: out, delay: first } in self.ways_of(a) {
            let row = &self.transit[out as usize * self.transit_routers as usize..];
            for &Way { transit: back, delay: last } in self.ways_of(b) {
                least = least.min(first.saturating_add(row[back as usize]).saturating_add(last));
            }
        }
        least
    }

    /// Returns the ways from a peer out of its domain.
    #[inline]
    fn ways_of(&self, peer: Peer) -> &[Way] {
        &self.ways[peer.ways as usize..peer.ways_end as usize]
    }

    /// Lowers the latencies inside domains where a path through gates is shorter. `members` has the peers of
    /// the domains with several gates, domain by domain. Links carry messages both ways.
    fn shorten_inside(&mut self, members: &[Peer]) {
        for members in members.chunk_by(|a, b| a.domain == b.domain) {
            let Domain { peers, inside } = self.domains[members[0].domain as usize];
            let place = |a: Peer, b: Peer| inside + a.row as usize * peers as usize + b.row as usize;
            for (number, &a) in members.iter().enumerate() {
                for &b in &members[number + 1..] {
                    let least = self.over_transit(a, b).min(self.inside[place(a, b)]);
                    (self.inside[place(a, b)], self.inside[place(b, a)]) = (least, least);
                }
            }
        }
    }

    /// Returns the least latencies of each peer.
    pub(super) fn least(&self) -> Vec<Least> {
        let to_gate = |peer: &Peer| self.ways_of(*peer).iter().map(|way| way.delay).min();
        // The two domains whose peers are nearest to their gates: a peer's own domain does not count.
        let mut nearest = [(Delay::MAX, u32::MAX); 2];
        for peer in &self.peers {
            let found = (to_gate(peer).unwrap_or(Delay::MAX), peer.domain);
            if found < nearest[0] {
                if found.1 != nearest[0].1 {
                    nearest[1] = nearest[0];
                }
                nearest[0] = found;
            } else if found.1 != nearest[0].1 && found < nearest[1] {
                nearest[1] = found;
            }
        }
        let bound = |peer: &Peer| {
            let other = nearest.iter().find(|(_, domain)| *domain != peer.domain && *domain != u32::MAX);
            let outside = other.and_then(|(last, _)| to_gate(peer).map(|first| first.saturating_add(*last)));
            let Domain { inside, peers } = self.domains[peer.domain as usize];
            let start = inside + peer.row as usize * peers as usize;
            let row = self.inside[start..start + peers as usize].iter();
            let inside = (0..).zip(row).filter(|&(other, _)| other != peer.row).map(|(_, &delay)| delay).min();
            Least { group: peer.domain, inside, outside }
        };
        self.peers.iter().map(bound).collect()
    }
}

/// The peer at each router.
struct PeersOfRouters(Vec<u32>);

/// The entry of a router without a peer.
const NOBODY: u32 = u32::MAX;

impl PeersOfRouters {
    fn new(domains: &Domains, places: &[NodeId]) -> Result<PeersOfRouters, UnderlayError> {
        let mut at = vec![NOBODY; domains.topology().nodes()];
        for (peer, place) in (0..).zip(places) {
            if place.0 < domains.transit_routers() {
                return Err(UnderlayError::NotStub(domains.topology().name(*place).to_owned()));
            }
            at[place.index()] = peer;
        }
        Ok(PeersOfRouters(at))
    }

    /// Returns the peers at these routers, each with the place of its router among them.
    fn inside(&self, routers: &Range<u32>) -> impl Iterator<Item = (u32, u32)> {
        (0..)
            .zip(&self.0[routers.start as usize..routers.end as usize])
            .filter_map(|(place, &peer)| (peer != NOBODY).then_some((peer, place)))
    }

    /// Returns the number of pairs of peers in one domain, each peer with itself included.
    fn entries(&self, domains: &Domains) -> u64 {
        domains.stubs().map(|routers| (self.inside(&routers).count() as u64).pow(2)).sum()
    }
}

/// Returns the bytes of the large tables, of which that of latencies inside domains has this number of
/// entries.
fn table_bytes(domains: &Domains, entries: u64) -> u64 {
    let square = |n: u64| n * n;
    let largest = domains.stubs().map(|domain| square(domain.len() as u64)).max().unwrap_or(0);
    (entries + largest + square(u64::from(domains.transit_routers()))) * size_of::<Delay>() as u64
}

/// The tables as domains are added.
struct Growing<'a> {
    topology: &'a Topology,
    /// The links between transit routers, and those that stand for stub domains.
    contracted: Vec<(u32, u32, Delay)>,
    peers: Vec<Peer>,
    domains: Vec<Domain>,
    ways: Vec<Way>,
    inside: Vec<Delay>,
    /// The peers of domains with several gates, domain by domain and row by row.
    detours: Vec<Peer>,
    /// The latencies between all routers of the last domain.
    table: Vec<Delay>,
    open: Open<Delay>,
}

/// A link from a stub router to a transit router.
struct Gate {
    /// The stub router's place in its domain.
    router: u32,
    transit: u32,
    delay: Delay,
}

impl Growing<'_> {
    /// Adds a stub domain and its peers, each with the place of its router in the domain.
    fn add(&mut self, routers: &Range<u32>, peers: &[(u32, u32)]) {
        let size = routers.len();
        Graph::of(self.topology, routers.clone()).search_all(&mut self.table, &mut self.open);
        let row_of = |router: u32| &self.table[router as usize * size..][..size];
        let leaving = links(self.topology, routers.clone()).filter(|(_, to, _)| !routers.contains(to));
        let gates: Vec<Gate> =
            leaving.map(|(from, transit, delay)| Gate { router: from - routers.start, transit, delay }).collect();
        for a in &gates {
            for b in gates.iter().filter(|b| b.transit != a.transit) {
                let inside = row_of(a.router)[b.router as usize];
                let through = a.delay.saturating_add(inside).saturating_add(b.delay);
                self.contracted.push((a.transit, b.transit, through));
            }
        }
        let number = u32::try_from(self.domains.len()).expect("domains are counted in 32 bits");
        self.domains.push(Domain {
            peers: u32::try_from(peers.len()).expect("peers are counted in 32 bits"),
            inside: self.inside.len(),
        });
        for (row, &(peer, router)) in (0..).zip(peers) {
            let distances = row_of(router);
            let begin = self.ways.len();
            self.ways.extend(gates.iter().map(|gate| {
                let delay = distances[gate.router as usize].saturating_add(gate.delay);
                Way { transit: gate.transit, delay }
            }));
            let [ways, ways_end] =
                [begin, self.ways.len()].map(|place| u32::try_from(place).expect("gates are counted in 32 bits"));
            self.inside.extend(peers.iter().map(|&(_, other)| distances[other as usize]));
            let record = Peer { domain: number, row, ways, ways_end };
            self.peers[peer as usize] = record;
            // Over a single gate, a path leads back to the router that it has left by.
            if gates.len() > 1 {
                self.detours.push(record);
            }
        }
    }

    /// Finds the latencies between transit routers, and so those between peers of a domain.
    fn finish(mut self, transit_routers: u32) -> DomainPaths {
        Graph::new(transit_routers as usize, &self.contracted).search_all(&mut self.table, &mut self.open);
        let Growing { peers, domains, ways, inside, detours, table, .. } = self;
        let mut paths = DomainPaths {
            peers: peers.into(),
            domains: domains.into(),
            ways: ways.into(),
            inside: inside.into(),
            transit_routers,
            transit: table.into(),
        };
        paths.shorten_inside(&detours);
        paths
    }
}
