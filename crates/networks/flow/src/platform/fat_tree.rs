//! A fat tree: levels of switches over the members, routed up and down by the D-mod-k rule.
//!
//! *References*: E. Zahavi, *D-Mod-K Routing Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees*, 2010.

use super::{LinkId, NoRoute};

/// The parameters of a fat tree: for each level from the bottom, children of each switch, parents of each node below, and cables between each two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    pub(crate) children: Vec<u32>,
    pub(crate) parents: Vec<u32>,
    pub(crate) cables: Vec<u32>,
}

impl Wiring {
    pub(crate) fn levels(&self) -> usize {
        self.children.len()
    }

    /// How many nodes each level has, members being level 0; `None` where that is too much to count.
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
    /// Its digits: those below the level tell which of the parents it is, those from it on where among the members.
    label: Box<[u32]>,
    /// The cables upwards, by port.
    up: Vec<u32>,
    /// The cables downwards, by port.
    down: Vec<u32>,
    limiter: Option<LinkId>,
}

/// Two links between a node and one of its parents.
#[derive(Clone, Copy, Debug)]
struct Cable {
    parent: u32,
    child: u32,
    up: LinkId,
    down: LinkId,
}

/// A fat tree.
#[derive(Clone, Debug)]
pub(crate) struct FatTree {
    wiring: Wiring,
    nodes: Vec<Node>,
    cables: Vec<Cable>,
    pub(crate) loopbacks: Option<Vec<LinkId>>,
    /// What the position of the first member counts from: positions count on from one fat tree of a platform to the next, as in SimGrid.
    first: u32,
}

impl FatTree {
    /// A tree whose cables `wire` makes, given the two nodes' numbers, and whose limiters `limiter`, given the node's.
    pub(crate) fn new<E>(
        wiring: Wiring,
        first: u32,
        mut limiter: impl FnMut(u32) -> Result<Option<LinkId>, E>,
        mut wire: impl FnMut(u32, u32) -> Result<(LinkId, LinkId), E>,
    ) -> Result<FatTree, E> {
        let counts = wiring.nodes().expect("counted before the members were made");
        let mut tree = FatTree { wiring, nodes: Vec::new(), cables: Vec::new(), loopbacks: None, first };
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

    fn count(&self) -> u32 {
        u32::try_from(self.nodes.len()).expect("counted before they were made")
    }

    /// What each digit of the labels of a level counts up to.
    fn bases(&self, level: usize) -> impl Iterator<Item = u32> {
        self.wiring.parents[..level].iter().chain(&self.wiring.children[level..]).copied()
    }

    fn label(&self, level: usize, mut position: u32) -> Box<[u32]> {
        let digit = |base: u32| {
            let digit = position % base;
            position /= base;
            digit
        };
        self.bases(level).map(digit).collect()
    }

    /// Joins a node to its parents: those whose label differs from its own at most in the digit of its level.
    fn connect<E>(
        &mut self,
        child: u32,
        parents_start: u32,
        wire: &mut impl FnMut(u32, u32) -> Result<(LinkId, LinkId), E>,
    ) -> Result<(), E> {
        let Node { level, label, .. } = self.nodes[child as usize].clone();
        let (children, parents) = (self.wiring.children[level], self.wiring.parents[level]);
        for which in 0..parents {
            let mut position = 0;
            for (index, base) in self.bases(level + 1).enumerate().collect::<Vec<_>>().into_iter().rev() {
                position = position * base + if index == level { which } else { label[index] };
            }
            let parent = parents_start + position;
            for cable in 0..self.wiring.cables[level] {
                let number = u32::try_from(self.cables.len()).expect("bounded like links");
                let (up, down) = wire(child, parent)?;
                self.cables.push(Cable { parent, child, up, down });
                self.nodes[parent as usize].down[(label[level] + cable * children) as usize] = number;
                self.nodes[child as usize].up[(which + cable * parents) as usize] = number;
            }
        }
        Ok(())
    }

    /// Whether the second node lies below the first.
    fn is_above(&self, upper: &Node, lower: &Node) -> bool {
        upper.level > lower.level
            && upper.label[..lower.level] == lower.label[..lower.level]
            && upper.label[upper.level..] == lower.label[upper.level..]
    }

    /// Adds the links from one member to another.
    pub(crate) fn links(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> Result<(), NoRoute> {
        if let (true, Some(loopbacks)) = (from == to, &self.loopbacks) {
            links.push(loopbacks[from as usize]);
            return Ok(());
        }
        let destination = &self.nodes[to as usize];
        let mut current = from;
        // Up, to the first switch that the destination lies below. Which parent, the destination's position tells.
        while !self.is_above(&self.nodes[current as usize], destination) {
            let node = &self.nodes[current as usize];
            let position =
                self.wiring.parents[..node.level].iter().fold(self.first + to, |rest, parents| rest / parents);
            let cable = self.cables[node.up[position as usize % node.up.len()] as usize];
            links.extend(node.limiter);
            links.push(cable.up);
            current = cable.parent;
        }
        // Down. Which of parallel cables, the source's position tells; below the first switch, the search for the port goes on from there.
        while current != to {
            let level = self.nodes[current as usize].level;
            let cable = (self.first + from) % self.wiring.cables[level - 1];
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
        links.extend(destination.limiter);
        Ok(())
    }
}
