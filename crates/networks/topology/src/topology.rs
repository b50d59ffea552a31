//! Nodes and links, before any model is made of them.
//!
//! A [`Topology`] is validated once, when it is built, and never changes. For each node it lists the node's
//! *interfaces*: the outgoing halves of the node's links. A route is a sequence of interface numbers.
//!
//! *Order of interfaces*: leaves come last, then by neighbour, then by link. A leaf has one link only, and no
//! path leads through it. So tables of next hops hold small numbers, however many leaves a node has.
//!
//! *Memory*: five flat arrays. 53,800 nodes and as many links take about 3 MB.
//!
//! *Read next*: [`crate::routing`], paths through it; [`crate::import`], files that describe one.

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

/// A link. Each direction has the whole rate and the whole delay.
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

/// The reason why nodes and links make no network. Each displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// There is no node.
    #[error("a network needs at least one node")]
    Empty,
    /// There are more nodes, links or bytes of names than 32 bits can count.
    #[error("a network has at most 2^31 - 1 links, 2^32 - 2 nodes and 4 GiB of names")]
    TooLarge,
    /// A link ends at a node that does not exist.
    #[error("link {link} ends at node {node}, but the nodes are numbered from 0 to {last}")]
    UnknownNode {
        /// The link's place in the list.
        link: usize,
        /// The node it names.
        node: u32,
        /// The number of the last node.
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
    /// A link has a rate of zero.
    #[error("link {link}, between `{a}` and `{b}`, has a rate of zero bits per second; a rate must be positive")]
    ZeroRate {
        /// The link's place in the list.
        link: usize,
        /// The name of one end.
        a: String,
        /// The name of the other end.
        b: String,
    },
    /// The sum of all links' delays overflows virtual time. So a path's delay may overflow too.
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
    /// No path joins two nodes.
    #[error("`{a}` and `{b}` cannot meet: the network is in {parts} parts that no link joins")]
    Disconnected {
        /// The name of a node of the largest part.
        a: String,
        /// The name of a node outside it.
        b: String,
        /// The number of parts.
        parts: usize,
    },
}

/// Nodes with names, and links between them. Several links may join two nodes.
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
    // Links that carry packets from `a` to `b` only, ascending.
    one_way: Vec<LinkId>,
    // By node: true if the node has one link, to a node that has several.
    leaves: Vec<bool>,
    // Compressed sparse rows: node `n`'s interfaces are `interfaces[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    interfaces: Vec<Interface>,
}

impl Topology {
    /// Creates a network of these nodes, numbered as listed, and these links. Names may repeat.
    ///
    /// # Errors
    ///
    /// If there is no node, or a link is impossible. The error names the first such link.
    pub fn new<S: AsRef<str>>(names: &[S], links: Vec<Link>) -> Result<Topology, TopologyError> {
        Topology::with_one_way(names, links, Vec::new())
    }

    /// Creates a network in which the links `one_way` carry packets from `a` to `b` only.
    ///
    /// # Errors
    ///
    /// As [`Topology::new`].
    pub fn with_one_way<S: AsRef<str>>(
        names: &[S],
        mut links: Vec<Link>,
        mut one_way: Vec<LinkId>,
    ) -> Result<Topology, TopologyError> {
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
        links.shrink_to_fit();
        one_way.sort_unstable();
        one_way.dedup();
        let leaves = leaves(names.len(), &links, &one_way);
        let (first, interfaces) = rows(&links, &one_way, &leaves);
        Ok(Topology { names: joined, name_ends, links, one_way, leaves, first, interfaces })
    }

    /// Returns the number of nodes.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.name_ends.len()
    }

    /// Returns all node ids, in order.
    pub fn node_ids(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        // The constructor holds the count below 2^32.
        #[expect(clippy::cast_possible_truncation, reason = "the constructor bounds the count of nodes")]
        (0..self.nodes() as u32).map(NodeId)
    }

    /// Returns the name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        let start = node.index().checked_sub(1).map_or(0, |before| self.name_ends[before]);
        &self.names[start as usize..self.name_ends[node.index()] as usize]
    }

    /// Returns all links, in the order in which they were given.
    #[inline]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the link `id`.
    #[inline]
    pub fn link(&self, id: LinkId) -> Link {
        self.links[id.index()]
    }

    /// Returns true if the link `id` carries packets from `a` to `b` only.
    pub fn is_one_way(&self, id: LinkId) -> bool {
        self.one_way.binary_search(&id).is_ok()
    }

    /// Returns true if no link is one-way.
    pub fn is_symmetric(&self) -> bool {
        self.one_way.is_empty()
    }

    /// Returns true if `node` has one link, which carries packets both ways, to a node that has several
    /// links. No path leads through a leaf.
    #[inline]
    pub fn is_leaf(&self, node: NodeId) -> bool {
        self.leaves[node.index()]
    }

    /// Returns the number of the interface by which the neighbour of `leaf` sends to `leaf`.
    ///
    /// # Panics
    ///
    /// If `leaf` is not a leaf.
    pub fn interface_to_leaf(&self, leaf: NodeId) -> u32 {
        assert!(self.is_leaf(leaf), "node {} is not a leaf", leaf.0);
        let neighbour = self.interfaces(leaf)[0].neighbour;
        let interfaces = self.interfaces(neighbour);
        let order = |node: NodeId| (self.is_leaf(node), node);
        let number = interfaces.partition_point(|interface| order(interface.neighbour) < order(leaf));
        u32::try_from(number).expect("the constructor bounds the number of links")
    }

    /// Returns the interfaces of `node`: those to leaves last, then by neighbour, then by link.
    #[inline]
    pub fn interfaces(&self, node: NodeId) -> &[Interface] {
        &self.interfaces[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }

    /// Returns the place of the first interface of `node` in the list of all interfaces, which is in the
    /// order of nodes. Interface `i` of `node` has the place `first_interface(node) + i`.
    #[inline]
    pub fn first_interface(&self, node: NodeId) -> usize {
        self.first[node.index()] as usize
    }

    /// Returns the number of interfaces of all nodes: two for each link, one for a one-way link.
    #[inline]
    pub fn interface_count(&self) -> usize {
        self.interfaces.len()
    }

    /// Returns the interfaces by which a packet leaves each node, if it starts at `from` and follows `route`.
    ///
    /// # Panics
    ///
    /// While iterating, if a node on the route has no interface of the given number.
    pub fn follow<'a>(&'a self, from: NodeId, route: &'a [u32]) -> impl Iterator<Item = Interface> + 'a {
        let mut at = from;
        route.iter().map(move |&number| {
            let interface = self.interfaces(at)[number as usize];
            at = interface.neighbour;
            interface
        })
    }

    /// Returns for each node the number of its part of the network. Links join parts whatever their
    /// direction. Parts are numbered from 0, in the order of their smallest nodes.
    pub fn parts(&self) -> Vec<u32> {
        // Disjoint sets: each node points towards the smallest node of its part.
        let mut parts: Vec<u32> = self.node_ids().map(|node| node.0).collect();
        let root = |parts: &mut [u32], mut node: u32| {
            while parts[node as usize] != node {
                parts[node as usize] = parts[parts[node as usize] as usize];
                node = parts[node as usize];
            }
            node
        };
        for link in &self.links {
            let (a, b) = (root(&mut parts, link.a.0), root(&mut parts, link.b.0));
            parts[a.max(b) as usize] = a.min(b);
        }
        let mut next = 0;
        for node in 0..parts.len() {
            // A root has the smallest number of its part, so the nodes before it have their part already.
            let towards = parts[node] as usize;
            parts[node] = if towards == node { next } else { parts[towards] };
            next += u32::from(towards == node);
        }
        parts
    }

    /// Checks that links join all nodes.
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

    /// Returns the first node of the largest part, the first node outside it, and the number of parts. `None`
    /// if there is one part.
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

/// Checks all links. The error names the first impossible link.
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

/// Returns for each node true if it is a leaf ([`Topology::is_leaf`]).
fn leaves(nodes: usize, links: &[Link], one_way: &[LinkId]) -> Vec<bool> {
    let mut degrees = vec![0_u32; nodes];
    for link in links {
        degrees[link.a.index()] += 1;
        degrees[link.b.index()] += 1;
    }
    let mut leaves = vec![false; nodes];
    for (id, link) in (0..).map(LinkId).zip(links) {
        if one_way.binary_search(&id).is_err() {
            for (end, other) in [(link.a, link.b), (link.b, link.a)] {
                leaves[end.index()] |= degrees[end.index()] == 1 && degrees[other.index()] > 1;
            }
        }
    }
    leaves
}

/// Returns the place of each node's first interface, and all interfaces.
fn rows(links: &[Link], one_way: &[LinkId], leaves: &[bool]) -> (Vec<u32>, Vec<Interface>) {
    let nodes = leaves.len();
    let halves = || {
        let of_link = |(id, link): (LinkId, &Link)| {
            let back = one_way.binary_search(&id).is_err().then_some((link.b, link.a, id));
            std::iter::once((link.a, link.b, id)).chain(back)
        };
        (0..).map(LinkId).zip(links).flat_map(of_link)
    };
    let mut first = vec![0_u32; nodes + 1];
    halves().for_each(|(from, ..)| first[from.index() + 1] += 1);
    for node in 0..nodes {
        first[node + 1] += first[node];
    }
    // A counting sort by node, then a sort of each node's few interfaces.
    let mut free = first.clone();
    let mut interfaces = vec![Interface { neighbour: NodeId(0), link: LinkId(0) }; first[nodes] as usize];
    for (from, neighbour, link) in halves() {
        let place = &mut free[from.index()];
        interfaces[*place as usize] = Interface { neighbour, link };
        *place += 1;
    }
    for node in 0..nodes {
        let of_node = &mut interfaces[first[node] as usize..first[node + 1] as usize];
        of_node.sort_unstable_by_key(|interface| (leaves[interface.neighbour.index()], *interface));
    }
    (first, interfaces)
}
