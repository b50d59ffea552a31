//! Tables of next hops: where each node sends packets, by their destination.
//!
//! *Size.* A leaf needs no table: it sends everything by its one link. What is for a leaf goes to its
//! neighbour first. So a table has an entry of two bytes for each inner node and each inner node that
//! destinations are at or behind.

use super::inner::Inner;
use super::search::Search;
use super::{Metric, RoutingError};
use crate::{LinkId, NodeId, Topology};
use std::collections::BTreeMap;

/// The row of a leaf, which needs none.
const NO_ROW: u32 = u32::MAX;
/// The entry of a node that has no path.
const NO_PATH: u16 = u16::MAX;

/// A node that packets are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The node.
    pub node: NodeId,
    /// The node itself, or the neighbour of a leaf.
    anchor: NodeId,
    /// The anchor's column in tables.
    column: u32,
    /// The anchor's interface to the leaf.
    last: u32,
}

/// The rows and columns of tables: one row for each node that sends on, one column for each anchor of a
/// destination.
#[derive(Debug)]
pub struct NextHops {
    rows: Box<[u32]>,
    row_count: u32,
    anchors: Vec<NodeId>,
    destinations: BTreeMap<NodeId, Destination>,
}

/// The next hops of all nodes while links do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table(Box<[u16]>);

impl NextHops {
    /// Lays out tables for these destinations. A node may occur several times.
    pub fn new(topology: &Topology, nodes: impl IntoIterator<Item = NodeId>) -> NextHops {
        let mut row_count = 0;
        let mut row = |node: NodeId| {
            let is_leaf = topology.is_leaf(node);
            row_count += u32::from(!is_leaf);
            if is_leaf { NO_ROW } else { row_count - 1 }
        };
        let rows = topology.node_ids().map(&mut row).collect();
        let mut columns = BTreeMap::new();
        let mut anchors = Vec::new();
        let mut destinations = BTreeMap::new();
        for node in nodes {
            destinations.entry(node).or_insert_with(|| {
                let (anchor, last) = match topology.is_leaf(node) {
                    true => (topology.interfaces(node)[0].neighbour, topology.interface_to_leaf(node)),
                    false => (node, 0),
                };
                let column = *columns.entry(anchor).or_insert_with(|| {
                    anchors.push(anchor);
                    u32::try_from(anchors.len() - 1).expect("fewer than 2^32 nodes")
                });
                Destination { node, anchor, column, last }
            });
        }
        NextHops { rows, row_count, anchors, destinations }
    }

    /// Returns the number of entries of a table, each of two bytes.
    pub fn entries(&self) -> u64 {
        u64::from(self.row_count) * self.anchors.len() as u64
    }

    /// Returns a destination that [`NextHops::new`] was given.
    pub fn destination(&self, node: NodeId) -> Option<Destination> {
        self.destinations.get(&node).copied()
    }

    /// Finds the next hops for one state of the links. `cost` returns the cost of a link in picoseconds,
    /// `None` if the link is down; with [`Metric::Hops`], all costs must be 0.
    ///
    /// # Errors
    ///
    /// If a node has more interfaces than an entry can tell apart.
    pub fn table(
        &self,
        topology: &Topology,
        metric: Metric,
        cost: impl Fn(LinkId) -> Option<u64>,
    ) -> Result<Table, RoutingError> {
        let inner = Inner::of(topology, cost);
        let mut search = Search::new(&inner, metric);
        let columns = self.anchors.len();
        let mut table = vec![NO_PATH; self.row_count as usize * columns];
        for (column, &anchor) in self.anchors.iter().enumerate() {
            let root = inner.anchor(anchor);
            search.run_to_all(root);
            // Rows are numbered as inner nodes are.
            for row in (0..self.row_count).filter(|&row| row != root && search.is_reached(row)) {
                let interface = u16::try_from(search.first_hop_nearer(row).interface);
                let interface = interface.ok().filter(|&interface| interface < NO_PATH);
                table[row as usize * columns + column] = interface.ok_or(RoutingError::TooManyInterfaces)?;
            }
        }
        Ok(Table(table.into()))
    }

    /// Returns the interface by which `node` sends what is for a destination. `None` if no path leads there.
    #[inline]
    pub fn interface(&self, table: &Table, node: NodeId, to: &Destination) -> Option<u32> {
        if node == to.anchor {
            return Some(to.last);
        }
        match self.rows[node.index()] {
            NO_ROW => Some(0),
            row => match table.0[row as usize * self.anchors.len() + to.column as usize] {
                NO_PATH => None,
                interface => Some(u32::from(interface)),
            },
        }
    }

    /// Returns true if a path leads from `node` to a destination.
    pub fn is_reachable(&self, topology: &Topology, table: &Table, node: NodeId, to: &Destination) -> bool {
        let anchor = if topology.is_leaf(node) { topology.interfaces(node)[0].neighbour } else { node };
        self.interface(table, anchor, to).is_some()
    }
}
