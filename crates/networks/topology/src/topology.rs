//! A network at rest: nodes and full-duplex links, before any model is made of them.
//!
//! A [`Topology`] is validated once, when it is built, and never changes. Beside the list of links it keeps, for each node, its *interfaces*: the
//! outgoing halves of its links, ordered by neighbour and then by link. A node's interface number `i` is the `i`-th of them, and a
//! route is a sequence of such numbers. Everything lies in four flat arrays: 53,800 nodes and as many links take about 3 MB.
//!
//! *Read next*: [`crate::routing`], paths through it; [`crate::graphml`], files that describe one.

use parades_core::time::Delay;

/// A node of a [`Topology`]: `0..nodes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// This id as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link of a [`Topology`]: its place in the list that the topology was built of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    /// This id as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A full-duplex link: each direction has the whole rate and the whole delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Bits per second, in each direction.
    pub rate_bps: u64,
    /// Propagation delay. Zero is allowed: such a link has no lookahead of its own.
    pub delay: Delay,
}

/// The outgoing half of a link, as its node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interface {
    /// The node at the far end.
    pub neighbour: NodeId,
    /// The link.
    pub link: LinkId,
}

/// Why nodes and links make no network; each displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// There is no node.
    #[error("a network needs at least one node")]
    Empty,
    /// More nodes, links or letters of names than 32 bits count.
    #[error("a network has at most 2^31 - 1 links, 2^32 - 2 nodes and 4 GiB of names")]
    TooLarge,
    /// A link ends at a node that does not exist.
    #[error("link {link} ends at node {node}, but the nodes are numbered from 0 to {last}")]
    UnknownNode {
        /// The link's place in the list.
        link: usize,
        /// The node it names.
        node: u32,
        /// The last node there is.
        last: u32,
    },
    /// Both ends of a link are one node.
    #[error("link {link} joins node `{node}` to itself; a link has two different ends")]
    SelfLoop {
        /// The link's place in the list.
        link: usize,
        /// The node's name.
        node: String,
    },
    /// A link carries nothing.
    #[error("link {link}, between `{a}` and `{b}`, has a rate of zero bits per second; a rate must be positive")]
    ZeroRate {
        /// The link's place in the list.
        link: usize,
        /// The name of one end.
        a: String,
        /// The name of the other end.
        b: String,
    },
    /// The sum of all links' delays overflows virtual time, so that a path's delay might.
    #[error(
        "the links' delays add up to more than virtual time holds, 213 days; the longest, between `{a}` and `{b}`, is {delay}"
    )]
    DelaysOverflow {
        /// The name of one end of the longest link.
        a: String,
        /// The name of its other end.
        b: String,
        /// Its delay.
        delay: Delay,
    },
    /// Two nodes have no path between them.
    #[error("`{a}` and `{b}` cannot meet: the network is in {parts} parts that no link joins")]
    Disconnected {
        /// The name of a node of the largest part.
        a: String,
        /// The name of a node outside it.
        b: String,
        /// How many parts there are.
        parts: usize,
    },
}

/// Nodes with names, and full-duplex links between them; two nodes may be joined by several.
///
/// # Examples
///
/// A triangle with one side doubled:
///
/// ```
/// use parades_core::time::Delay;
/// use parades_topology::{Link, NodeId, Topology};
/// let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 1_000_000_000, delay: Delay::from_us(5) };
/// let topology = Topology::new(&["left", "right", "top"], vec![link(0, 2), link(0, 1), link(1, 0), link(1, 2)])?;
/// let seen_from_left: Vec<_> = topology.interfaces(NodeId(0)).iter().map(|i| (i.neighbour.0, i.link.0)).collect();
/// assert_eq!(seen_from_left, [(1, 1), (1, 2), (2, 0)]);
/// assert_eq!(topology.connected(), Ok(()));
/// # Ok::<(), parades_topology::TopologyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    // All names in one string; node `n`'s ends at `name_ends[n]` and begins where the one before it ends.
    names: String,
    name_ends: Vec<u32>,
    links: Vec<Link>,
    // Compressed sparse rows: node `n`'s interfaces are `interfaces[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    interfaces: Vec<Interface>,
}

impl Topology {
    /// The network of these nodes, numbered as listed, and these links. Names are for people and need not differ.
    ///
    /// # Errors
    ///
    /// Where there is no node, or a link is impossible; the first such link is named.
    pub fn new<S: AsRef<str>>(names: &[S], links: Vec<Link>) -> Result<Topology, TopologyError> {
        if names.is_empty() {
            return Err(TopologyError::Empty);
        }
        // One node fewer than ids: an LP's id is below 2^32 - 1 too.
        let nodes = u32::try_from(names.len()).ok().filter(|&n| n < u32::MAX).ok_or(TopologyError::TooLarge)?;
        if links.len() > i32::MAX as usize {
            return Err(TopologyError::TooLarge);
        }
        validate(names, nodes, &links)?;
        let mut joined = String::with_capacity(names.iter().map(|name| name.as_ref().len()).sum());
        let mut name_ends = Vec::with_capacity(names.len());
        for name in names {
            joined.push_str(name.as_ref());
            name_ends.push(u32::try_from(joined.len()).map_err(|_| TopologyError::TooLarge)?);
        }
        let (first, interfaces) = rows(names.len(), &links);
        Ok(Topology { names: joined, name_ends, links, first, interfaces })
    }

    /// How many nodes there are.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.name_ends.len()
    }

    /// All node ids, in order.
    pub fn node_ids(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        // The constructor holds the count below 2^32.
        #[expect(clippy::cast_possible_truncation, reason = "the constructor bounds the count of nodes")]
        (0..self.nodes() as u32).map(NodeId)
    }

    /// The name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        let start = node.index().checked_sub(1).map_or(0, |before| self.name_ends[before]);
        &self.names[start as usize..self.name_ends[node.index()] as usize]
    }

    /// All links, in the order in which they were given.
    #[inline]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The link `id`.
    #[inline]
    pub fn link(&self, id: LinkId) -> Link {
        self.links[id.index()]
    }

    /// The interfaces of `node`, ordered by neighbour, then by link.
    #[inline]
    pub fn interfaces(&self, node: NodeId) -> &[Interface] {
        &self.interfaces[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }

    /// Where the interfaces of `node` begin when those of all nodes are counted through, in the order of nodes: interface `i` of `node` has
    /// the number `first_interface(node) + i`, below [`Topology::interface_count`].
    #[inline]
    pub fn first_interface(&self, node: NodeId) -> usize {
        self.first[node.index()] as usize
    }

    /// How many interfaces all nodes have together: twice the number of links.
    #[inline]
    pub fn interface_count(&self) -> usize {
        self.interfaces.len()
    }

    /// The interfaces that a packet leaves by when it starts at `from` and follows `route`, a sequence of interface numbers.
    ///
    /// # Panics
    ///
    /// While iterating, where a node on the way has no interface of the number given.
    pub fn follow<'a>(&'a self, from: NodeId, route: &'a [u32]) -> impl Iterator<Item = Interface> + 'a {
        let mut at = from;
        route.iter().map(move |&number| {
            let interface = self.interfaces(at)[number as usize];
            at = interface.neighbour;
            interface
        })
    }

    /// For each node the number of its part of the network, from 0; parts are numbered by their least node.
    pub fn parts(&self) -> Vec<u32> {
        const UNSEEN: u32 = u32::MAX;
        let mut parts = vec![UNSEEN; self.nodes()];
        let mut next = 0;
        let mut to_visit = Vec::new();
        for root in self.node_ids() {
            if parts[root.index()] != UNSEEN {
                continue;
            }
            parts[root.index()] = next;
            to_visit.push(root);
            while let Some(node) = to_visit.pop() {
                for interface in self.interfaces(node) {
                    let part = &mut parts[interface.neighbour.index()];
                    if *part == UNSEEN {
                        *part = next;
                        to_visit.push(interface.neighbour);
                    }
                }
            }
            next += 1;
        }
        parts
    }

    /// Whether every two nodes can meet.
    ///
    /// # Errors
    ///
    /// Names the first node outside the largest part, and the first node of that part.
    pub fn connected(&self) -> Result<(), TopologyError> {
        match self.first_pair_apart() {
            None => Ok(()),
            Some((a, b, parts)) => {
                Err(TopologyError::Disconnected { a: self.name(a).to_owned(), b: self.name(b).to_owned(), parts })
            }
        }
    }

    /// The first node of the largest part, the first node outside it, and the number of parts; `None` where there is one part.
    pub fn first_pair_apart(&self) -> Option<(NodeId, NodeId, usize)> {
        let parts = self.parts();
        let mut sizes = vec![0_usize; parts.iter().max().map_or(0, |&last| last as usize + 1)];
        for &part in &parts {
            sizes[part as usize] += 1;
        }
        // Of parts that are equally large, the one with the least node.
        let largest = (0..sizes.len()).rev().max_by_key(|&part| sizes[part])?;
        let inside = self.node_ids().find(|node| parts[node.index()] as usize == largest)?;
        let outside = self.node_ids().find(|node| parts[node.index()] as usize != largest)?;
        Some((inside, outside, sizes.len()))
    }
}

/// Refuses the first impossible link.
fn validate<S: AsRef<str>>(names: &[S], nodes: u32, links: &[Link]) -> Result<(), TopologyError> {
    let name = |node: NodeId| names[node.index()].as_ref().to_owned();
    let mut delay_sum = Some(0_u64);
    for (index, link) in links.iter().enumerate() {
        for end in [link.a, link.b] {
            if end.0 >= nodes {
                return Err(TopologyError::UnknownNode { link: index, node: end.0, last: nodes - 1 });
            }
        }
        if link.a == link.b {
            return Err(TopologyError::SelfLoop { link: index, node: name(link.a) });
        }
        if link.rate_bps == 0 {
            return Err(TopologyError::ZeroRate { link: index, a: name(link.a), b: name(link.b) });
        }
        delay_sum = delay_sum.and_then(|sum| sum.checked_add(link.delay.as_ps()));
    }
    match links.iter().max_by_key(|link| link.delay) {
        Some(longest) if delay_sum.is_none() => {
            Err(TopologyError::DelaysOverflow { a: name(longest.a), b: name(longest.b), delay: longest.delay })
        }
        _ => Ok(()),
    }
}

/// The interfaces of all nodes, and where each node's begin. A counting sort by node, then a sort of each node's few.
fn rows(nodes: usize, links: &[Link]) -> (Vec<u32>, Vec<Interface>) {
    let mut first = vec![0_u32; nodes + 1];
    for link in links {
        first[link.a.index() + 1] += 1;
        first[link.b.index() + 1] += 1;
    }
    for node in 0..nodes {
        first[node + 1] += first[node];
    }
    let mut free = first.clone();
    let mut interfaces = vec![Interface { neighbour: NodeId(0), link: LinkId(0) }; links.len() * 2];
    for (id, link) in (0..).map(LinkId).zip(links) {
        for (end, neighbour) in [(link.a, link.b), (link.b, link.a)] {
            let place = &mut free[end.index()];
            interfaces[*place as usize] = Interface { neighbour, link: id };
            *place += 1;
        }
    }
    for node in 0..nodes {
        interfaces[first[node] as usize..first[node + 1] as usize].sort_unstable();
    }
    (first, interfaces)
}
