//! Transit–stub networks: a model of the Internet as domains that carry traffic, and domains that do not.
//!
//! Source: E. W. Zegura, K. L. Calvert, S. Bhattacharjee, *How to model an internetwork*, INFOCOM 1996, with
//! the numbers and latencies of Speer's generator, which [`TransitStub`] lists.

use crate::{Interface, Link, NodeId, Topology, TopologyError};
use parades_core::budget::{self, Exceeded};
use parades_core::random::Rng;
use parades_core::time::Delay;
use std::ops::Range;

/// The shortest and longest latency of a link between domains.
const BETWEEN: [Delay; 2] = [Delay::from_ms(98), Delay::from_ms(102)];
/// The shortest and longest latency of a link inside a domain.
const INSIDE: [Delay; 2] = [Delay::from_ms(2), Delay::from_ms(10)];
/// The greatest difference between a domain's number of routers and the number asked for.
const SPREAD: u32 = 2;
/// Additional links from stub domains to transit domains, for every 100 stub domains.
const MORE_LINKS_PERCENT: u64 = 50;
/// Bytes that a router takes: its name while names are made, its place, and its part of the ties of its
/// domain.
const ROUTER_BYTES: u64 = 64;
/// Bytes that a link takes: itself, and an interface at each end.
const LINK_BYTES: u64 = (size_of::<Link>() + 2 * size_of::<Interface>()) as u64;
/// The rate of each link in bits per second. The model says nothing about rates.
const RATE_BPS: u64 = 1_000_000_000;

/// The sizes of a transit–stub network.
///
/// - The transit domains are joined by ⌊log₂ T⌋ + 1 random links for each of the T domains, of 98 to 102 ms.
///   The first T − 1 of those links join all domains.
/// - Each domain has the number of routers asked for, plus or minus two, and at least one. A domain of `n`
///   routers is a random connected graph of mean degree ⌊log₂ n⌋ + 1, or a complete graph if that is less.
///   Its links have 2 to 10 ms.
/// - A random router of each stub domain is tied to a random transit router by a link of 98 to 102 ms. Half
///   as many further links, from a random stub router to a random transit router each, are added.
///
/// All latencies are uniform, and drawn to the picosecond, so that two routes are hardly ever equally long.
///
/// # Examples
///
/// ```
/// use parades_core::random::Rng;
/// use parades_topology::generators::TransitStub;
///
/// let sizes = TransitStub { transit_domains: 3, transit_nodes: 8, stub_domains: 6, stub_nodes: 10 };
/// let domains = sizes.generate(&Rng::shared(1, 0))?;
/// assert_eq!(domains.transit().count() + domains.stubs().count(), 3 + 6);
/// assert_eq!(domains.topology().connected(), Ok(()));
/// assert_eq!(domains, sizes.generate(&Rng::shared(1, 0))?, "the seed decides alone");
/// # Ok::<(), parades_topology::generators::TransitStubError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitStub {
    /// The number T of transit domains, at least one.
    pub transit_domains: u32,
    /// The mean number of routers of a transit domain, at least one.
    pub transit_nodes: u32,
    /// The number of stub domains.
    pub stub_domains: u32,
    /// The mean number of routers of a stub domain, at least one.
    pub stub_nodes: u32,
}

/// The reason why sizes make no transit–stub network. Each displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransitStubError {
    /// There is no transit domain.
    #[error("a transit-stub network needs at least one transit domain")]
    NoTransitDomain,
    /// Domains have no router.
    #[error("each domain of a transit-stub network needs at least one router")]
    NoRouter,
    /// The network has more routers or links than can be numbered.
    #[error("the transit-stub network is too large: {0}")]
    TooLarge(TopologyError),
    /// The network needs more memory than it may take.
    #[error("the transit-stub network is too large: {0}")]
    Memory(Exceeded),
}

/// A transit–stub network: a topology, and its division into domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domains {
    topology: Topology,
    /// The routers of each domain, transit domains first.
    routers: Vec<Range<u32>>,
    transit_domains: usize,
}

impl Domains {
    /// Returns the routers and links. Routers are numbered domain by domain, those of transit domains first.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns the routers and links, without the domains.
    pub fn into_topology(self) -> Topology {
        self.topology
    }

    /// Returns the numbers of the routers of each transit domain.
    pub fn transit(&self) -> impl ExactSizeIterator<Item = Range<u32>> {
        self.routers[..self.transit_domains].iter().cloned()
    }

    /// Returns the numbers of the routers of each stub domain.
    pub fn stubs(&self) -> impl ExactSizeIterator<Item = Range<u32>> {
        self.routers[self.transit_domains..].iter().cloned()
    }

    /// Returns the number of routers of all transit domains. They have the least numbers.
    pub fn transit_routers(&self) -> u32 {
        self.routers[self.transit_domains - 1].end
    }

    /// Returns the stub routers, in their order.
    pub fn stub_routers(&self) -> impl ExactSizeIterator<Item = NodeId> {
        let end = self.routers.last().map_or(0, |domain| domain.end);
        (self.transit_routers()..end).map(NodeId)
    }
}

impl TransitStub {
    /// Generates the network of these sizes. `rng` decides alone.
    ///
    /// # Errors
    ///
    /// If a size is impossible.
    pub fn generate(&self, rng: &Rng) -> Result<Domains, TransitStubError> {
        let &TransitStub { transit_domains, transit_nodes, stub_domains, stub_nodes } = self;
        if transit_domains == 0 {
            return Err(TransitStubError::NoTransitDomain);
        }
        if transit_nodes == 0 || (stub_nodes == 0 && stub_domains > 0) {
            return Err(TransitStubError::NoRouter);
        }
        let most = |domains, nodes| u64::from(domains) * (u64::from(nodes) + u64::from(SPREAD));
        let nodes_max = most(transit_domains, transit_nodes).saturating_add(most(stub_domains, stub_nodes));
        if nodes_max >= u64::from(u32::MAX) {
            return Err(TransitStubError::TooLarge(TopologyError::TooLarge));
        }
        let degree_max = degree(transit_nodes.max(stub_nodes).saturating_add(SPREAD));
        let router_bytes = ROUTER_BYTES + degree_max.div_ceil(2) * LINK_BYTES;
        budget::check(nodes_max.saturating_mul(router_bytes)).map_err(TransitStubError::Memory)?;
        let sizes = std::iter::repeat_n(transit_nodes, transit_domains as usize)
            .chain(std::iter::repeat_n(stub_nodes, stub_domains as usize));
        let mut end = 0;
        let routers: Vec<Range<u32>> = sizes
            .map(|nodes| {
                let begin = end;
                end += spread(nodes, rng);
                begin..end
            })
            .collect();
        let (transit, stubs) = routers.split_at(transit_domains as usize);
        let (mut links, mut rows) = (Vec::new(), Vec::new());
        routers.iter().for_each(|domain| link_inside(domain, rng, &mut rows, &mut links));
        join_transit(transit, rng, &mut links);
        tie_stubs(transit, stubs, rng, &mut links);
        let names = names(transit, 't').chain(names(stubs, 's'));
        let topology = Topology::new(&names.collect::<Vec<_>>(), links).map_err(TransitStubError::TooLarge)?;
        Ok(Domains { topology, routers, transit_domains: transit_domains as usize })
    }
}

/// Returns the names of the routers of domains: a letter, the domain's number, and the router's number in it.
fn names(domains: &[Range<u32>], letter: char) -> impl Iterator<Item = String> {
    let of_domain = move |(number, domain): (usize, &Range<u32>)| {
        (0..domain.len()).map(move |router| format!("{letter}{number}.{router}"))
    };
    domains.iter().enumerate().flat_map(of_domain)
}

/// Draws a domain's number of routers.
fn spread(nodes: u32, rng: &Rng) -> u32 {
    let size = u64::from(nodes) + rng.below(u64::from(2 * SPREAD + 1));
    let size = size.saturating_sub(u64::from(SPREAD)).max(1);
    u32::try_from(size).expect("the sum of all sizes has 32 bits")
}

/// Draws one of the numbers of a range.
fn one_of(range: &Range<u32>, rng: &Rng) -> u32 {
    range.start + below(range.end - range.start, rng)
}

/// Draws a number below `n`.
fn below(n: u32, rng: &Rng) -> u32 {
    u32::try_from(rng.below(u64::from(n))).expect("the draw is below 2^32")
}

/// Returns ⌊log₂ n⌋ + 1.
fn degree(n: u32) -> u64 {
    u64::from(n.ilog2()) + 1
}

fn link(a: u32, b: u32, [shortest, longest]: [Delay; 2], rng: &Rng) -> Link {
    Link { a: NodeId(a), b: NodeId(b), rate_bps: RATE_BPS, delay: rng.uniform_delay(shortest, longest) }
}

/// Links the routers of a domain: first a random tree, and then random pairs until the mean degree is right.
/// `rows` is memory that domains share.
fn link_inside(domain: &Range<u32>, rng: &Rng, rows: &mut Vec<Vec<u32>>, links: &mut Vec<Link>) {
    let size = domain.end - domain.start;
    let pairs_max = u64::from(size) * u64::from(size - 1) / 2;
    let wanted = (u64::from(size) * degree(size)).div_ceil(2).clamp(u64::from(size) - 1, pairs_max);
    rows.resize_with(rows.len().max(domain.len()), Vec::new);
    // By router: those of its neighbours that have greater numbers. A router has few.
    let rows = &mut rows[..domain.len()];
    for router in 1..size {
        rows[below(router, rng) as usize].push(router);
    }
    let mut pairs = u64::from(size - 1);
    while pairs < wanted {
        let (a, b) = (below(size, rng), below(size, rng));
        let row = &mut rows[a.min(b) as usize];
        if a != b && !row.contains(&a.max(b)) {
            row.push(a.max(b));
            pairs += 1;
        }
    }
    for (a, row) in (domain.start..).zip(rows) {
        row.sort_unstable();
        links.extend(row.drain(..).map(|b| link(a, domain.start + b, INSIDE, rng)));
    }
}

/// Joins the transit domains.
fn join_transit(transit: &[Range<u32>], rng: &Rng, links: &mut Vec<Link>) {
    let domains = u32::try_from(transit.len()).expect("domains are counted in 32 bits");
    if domains == 1 {
        return;
    }
    let mut join = |a: u32, b: u32| {
        let [a, b] = [a, b].map(|domain| one_of(&transit[domain as usize], rng));
        links.push(link(a, b, BETWEEN, rng));
    };
    (1..domains).for_each(|domain| join(below(domain, rng), domain));
    for _ in u64::from(domains - 1)..degree(domains) * u64::from(domains) {
        let a = below(domains, rng);
        // Any domain but the first one.
        let b = below(domains - 1, rng);
        join(a, b + u32::from(b >= a));
    }
}

/// Ties the stub domains to transit routers.
fn tie_stubs(transit: &[Range<u32>], stubs: &[Range<u32>], rng: &Rng, links: &mut Vec<Link>) {
    let routers = transit[0].start..transit[transit.len() - 1].end;
    let mut tie = |stub: &Range<u32>| links.push(link(one_of(stub, rng), one_of(&routers, rng), BETWEEN, rng));
    stubs.iter().for_each(&mut tie);
    let count = u32::try_from(stubs.len()).expect("domains are counted in 32 bits");
    for _ in 0..u64::from(count) * MORE_LINKS_PERCENT / 100 {
        tie(&stubs[below(count, rng) as usize]);
    }
}
