//! A fat tree: levels of switches above the members. Routes go up and down by the D-mod-k rule.
//!
//! *References*: E. Zahavi, *D-Mod-K Routing Providing Non-Blocking Traffic for Shift Permutations on Real
//! Life Fat Trees*, 2010.

use super::{LinkId, NoRoute};

/// The parameters of a fat tree. Each list has one number for each level of switches, the lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// The number of children of each switch of the level.
    pub(crate) children: Vec<u32>,
    /// The number of parents that each node of the level below has.
    pub(crate) parents: Vec<u32>,
    /// The number of parallel cables between a parent and a child.
    pub(crate) cables: Vec<u32>,
}

impl Wiring {
    /// Returns the number of levels of switches.
    pub(crate) fn levels(&self) -> usize {
        self.children.len()
    }

    /// Returns the number of nodes of each level; level 0 holds the members. `None` if a number exceeds 32
    /// bits.
    pub(crate) fn nodes(&self) -> Option<Vec<u32>> {
        let product = |level: usize| {
            let factors = self.parents[..level].iter().chain(&self.children[level..]);
            factors.copied().try_fold(1u32, u32::checked_mul)
        };
        (0..=self.levels()).map(product).collect()
    }
}

/// A member or a switch.
#[derive(Clone, Debug)]
struct Node {
    level: usize,
    /// One digit for each level of the tree. A digit below `level` says which of several parents the node is.
    /// The other digits say which members lie below the node: those whose labels have the same digits.
    label: Box<[u32]>,
    /// Indices of the cables upwards, by port.
    up: Vec<u32>,
    /// Indices of the cables downwards, by port.
    down: Vec<u32>,
    /// The link that all traffic through the node crosses.
    limiter: Option<LinkId>,
}

/// A cable between a node and one of its parents: one link for each direction.
#[derive(Clone, Copy, Debug)]
struct Cable {
    parent: u32,
    child: u32,
    up: LinkId,
    down: LinkId,
}

/// A fat tree. Nodes are numbered level by level, members first.
#[derive(Clone, Debug)]
pub(crate) struct FatTree {
    wiring: Wiring,
    nodes: Vec<Node>,
    cables: Vec<Cable>,
    /// By member, the link from the member to itself.
    pub(crate) loopbacks: Option<Vec<LinkId>>,
    /// The position of the first member, which routing depends on. As in SimGrid, positions continue from one
    /// fat tree of a platform to the next.
    first_position: u32,
}

impl FatTree {
    /// Builds a tree. `wire` makes the two links of a cable, up and down, from the numbers of child and
    /// parent. `limiter` makes the limiter of a node from its number.
    pub(crate) fn new<E>(
        wiring: Wiring,
        first_position: u32,
        mut limiter: impl FnMut(u32) -> Result<Option<LinkId>, E>,
        mut wire: impl FnMut(u32, u32) -> Result<(LinkId, LinkId), E>,
    ) -> Result<FatTree, E> {
        let counts = wiring.nodes().expect("counted before the members were made");
        let mut tree = FatTree { wiring, nodes: Vec::new(), cables: Vec::new(), loopbacks: None, first_position };
        let mut starts = Vec::new();
        for (level, &count) in counts.iter().enumerate() {
            starts.push(tree.count());
            for position in 0..count {
                let label = tree.label(level, position);
                let ports = |per: &[u32], level: Option<usize>| {
                    let level = level.filter(|&level| level < per.len());
                    level.map_or(0, |level| per[level] as usize * tree.wiring.cables[level] as usize)
                };
                let up = vec![u32::MAX; ports(&tree.wiring.parents, Some(level))];
                let down = vec![u32::MAX; ports(&tree.wiring.children, level.checked_sub(1))];
                let limiter = limiter(tree.count())?;
                tree.nodes.push(Node { level, label, up, down, limiter });
            }
        }
        for level in 0..tree.wiring.levels() {
            for child in starts[level]..starts[level] + counts[level] {
                tree.connect(child, starts[level + 1], &mut wire)?;
            }
        }
        Ok(tree)
    }

    /// Returns all links of the tree.
    pub(crate) fn all_links(&self) -> impl Iterator<Item = LinkId> {
        let cables = self.cables.iter().flat_map(|cable| [cable.up, cable.down]);
        let limiters = self.nodes.iter().filter_map(|node| node.limiter);
        cables.chain(limiters).chain(self.loopbacks.iter().flatten().copied())
    }

    fn count(&self) -> u32 {
        u32::try_from(self.nodes.len()).expect("counted before they were made")
    }

    /// Returns the number of values of each digit in the labels of a level.
    fn bases(&self, level: usize) -> impl Iterator<Item = u32> {
        self.wiring.parents[..level].iter().chain(&self.wiring.children[level..]).copied()
    }

    /// Returns the label of the node at `position` of a level: the digits of `position`, the lowest first.
    fn label(&self, level: usize, mut position: u32) -> Box<[u32]> {
        let digit = |base: u32| {
            let digit = position % base;
            position /= base;
            digit
        };
        self.bases(level).map(digit).collect()
    }

    /// Connects a node to its parents. The label of a parent is that of the node, except for the digit of the
    /// node's level.
    fn connect<E>(
        &mut self,
        child: u32,
        parents_start: u32,
        wire: &mut impl FnMut(u32, u32) -> Result<(LinkId, LinkId), E>,
    ) -> Result<(), E> {
        let Node { level, label, .. } = self.nodes[child as usize].clone();
        let (children, parents) = (self.wiring.children[level], self.wiring.parents[level]);
        for which_parent in 0..parents {
            let mut position = 0;
            for (index, base) in self.bases(level + 1).enumerate().collect::<Vec<_>>().into_iter().rev() {
                position = position * base + if index == level { which_parent } else { label[index] };
            }
            let parent = parents_start + position;
            for cable in 0..self.wiring.cables[level] {
                let number = u32::try_from(self.cables.len()).expect("bounded like links");
                let (up, down) = wire(child, parent)?;
                self.cables.push(Cable { parent, child, up, down });
                self.nodes[parent as usize].down[(label[level] + cable * children) as usize] = number;
                self.nodes[child as usize].up[(which_parent + cable * parents) as usize] = number;
            }
        }
        Ok(())
    }

    /// Adds the links from one member to another.
    pub(crate) fn links(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> Result<(), NoRoute> {
        if let (true, Some(loopbacks)) = (from == to, &self.loopbacks) {
            links.push(loopbacks[from as usize]);
            return Ok(());
        }
        let top = self.climb(from, to, links);
        self.descend(top, from, to, links);
        links.extend(self.nodes[to as usize].limiter);
        Ok(())
    }

    /// Returns true if the member `lower` can be reached downwards from `upper`.
    fn is_above(&self, upper: &Node, lower: &Node) -> bool {
        upper.level > lower.level
            && upper.label[..lower.level] == lower.label[..lower.level]
            && upper.label[upper.level..] == lower.label[upper.level..]
    }

    /// Adds the links upwards from `from` to the first switch above `to`. Returns that switch.
    ///
    /// The position of the destination selects the parent and the cable (D-mod-k).
    fn climb(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> u32 {
        let destination = &self.nodes[to as usize];
        let mut current = from;
        while !self.is_above(&self.nodes[current as usize], destination) {
            let node = &self.nodes[current as usize];
            let position = self.first_position + to;
            let position = self.wiring.parents[..node.level].iter().fold(position, |rest, parents| rest / parents);
            let cable = self.cables[node.up[position as usize % node.up.len()] as usize];
            links.extend(node.limiter);
            links.push(cable.up);
            current = cable.parent;
        }
        current
    }

    /// Adds the links downwards from the switch `top` to `to`.
    ///
    /// The position of the source selects one of several parallel cables. As in SimGrid, `port` is not reset
    /// when the inner loop has moved to a child: the search continues among the child's ports from the next
    /// number on.
    fn descend(&self, top: u32, from: u32, to: u32, links: &mut Vec<LinkId>) {
        let destination = &self.nodes[to as usize];
        let mut current = top;
        while current != to {
            let level = self.nodes[current as usize].level;
            let cable = (self.first_position + from) % self.wiring.cables[level - 1];
            let mut port = cable * self.wiring.children[level - 1];
            while (port as usize) < self.nodes[current as usize].down.len() {
                let node = &self.nodes[current as usize];
                if port % self.wiring.children[node.level - 1] == destination.label[node.level - 1] {
                    let cable = self.cables[node.down[port as usize] as usize];
                    links.push(cable.down);
                    links.extend(node.limiter);
                    current = cable.child;
                }
                port += 1;
            }
        }
    }
}
