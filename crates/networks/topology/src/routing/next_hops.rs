//! Tables of next hops: where each node sends packets, by their destination.
//!
//! *Size.* A leaf needs no table: it sends everything by its one link. A packet for a leaf goes to its
//! neighbour first. So a table has an entry of two bytes for each inner node and each inner node that
//! destinations are at or behind. A destination of static routes has entries of its own.
//!
//! *Equal paths.* An entry is a place in the list of its node's different sets of next hops. A node has few
//! of those. A set of one interface is that interface. A larger set is kept once for all nodes.

use super::fixed::{StaticRoutes, Toward};
use super::inner::Inner;
use super::search::Search;
use super::{Metric, Paths, RoutingError, choose};
use crate::{LinkId, NodeId, Topology};
use std::collections::BTreeMap;

/// The row of a leaf, which needs none.
const NO_ROW: u32 = u32::MAX;
/// The entry of a node that has no path.
const NO_PATH: u16 = u16::MAX;
/// The anchor of a destination of static routes: all nodes look up their entries, its neighbours too.
const NO_ANCHOR: NodeId = NodeId(u32::MAX);
/// The bit of a set that has several interfaces. The other bits are the place of its list.
const SEVERAL: u32 = 1 << 31;

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

/// The rules by which next hops are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The measure of a path's length.
    pub metric: Metric,
    /// The paths that flows may take.
    pub paths: Paths,
    /// Next hops that replace the shortest paths.
    pub statics: &'a StaticRoutes,
}

/// The rows and columns of tables: one row for each node that sends on, one column for each anchor of a
/// destination.
#[derive(Debug)]
pub struct NextHops {
    rows: Box<[u32]>,
    row_count: u32,
    /// For each column, a destination in it.
    columns: Vec<NodeId>,
    destinations: BTreeMap<NodeId, Destination>,
}

/// The next hops of all nodes while links do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    entries: Box<[u16]>,
    /// The place of each row's first set.
    first_set: Box<[u32]>,
    /// Interfaces, or places of lists.
    sets: Box<[u32]>,
    /// The lists of sets of several interfaces, each after its length.
    lists: Box<[u32]>,
}

impl NextHops {
    /// Lays out tables for these destinations. A node may occur several times.
    pub fn new(topology: &Topology, nodes: impl IntoIterator<Item = NodeId>, statics: &StaticRoutes) -> NextHops {
        let mut row_count = 0;
        let mut row = |node: NodeId| {
            let is_leaf = topology.is_leaf(node);
            row_count += u32::from(!is_leaf);
            if is_leaf { NO_ROW } else { row_count - 1 }
        };
        let rows = topology.node_ids().map(&mut row).collect();
        let mut column_of = BTreeMap::new();
        let mut columns = Vec::new();
        let mut destinations = BTreeMap::new();
        for node in nodes {
            destinations.entry(node).or_insert_with(|| {
                let (anchor, last) = match topology.is_leaf(node) {
                    true => (topology.interfaces(node)[0].neighbour, topology.interface_to_leaf(node)),
                    false => (node, 0),
                };
                let is_static = statics.to(node).is_some();
                let mut new = || {
                    columns.push(node);
                    u32::try_from(columns.len() - 1).expect("fewer than 2^32 nodes")
                };
                match is_static {
                    true => Destination { node, anchor: NO_ANCHOR, column: new(), last },
                    false => Destination { node, anchor, column: *column_of.entry(anchor).or_insert_with(new), last },
                }
            });
        }
        NextHops { rows, row_count, columns, destinations }
    }

    /// Returns the number of entries of a table, each of two bytes.
    pub fn entries(&self) -> u64 {
        u64::from(self.row_count) * self.columns.len() as u64
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
    /// If a static route leads into a loop; if no link is down, also if one leads nowhere.
    pub fn table(
        &self,
        topology: &Topology,
        rules: Rules<'_>,
        cost: impl Fn(LinkId) -> Option<u64>,
    ) -> Result<Table, RoutingError> {
        let inner = Inner::of(topology, cost);
        let mut search = Search::new(&inner, rules.metric);
        let mut growing = Growing::new(self.row_count as usize, self.columns.len());
        let mut choices = Vec::new();
        for (column, &node) in self.columns.iter().enumerate() {
            search.run_to_all(inner.anchor(node));
            let toward = rules.statics.to(node).map(|given| Toward {
                topology,
                inner: &inner,
                search: &search,
                destination: node,
                given,
                paths: rules.paths,
            });
            if let Some(toward) = &toward {
                toward.check(inner.all_up())?;
            }
            // Rows are numbered as inner nodes are.
            for row in 0..self.row_count {
                match &toward {
                    Some(toward) => toward.choices(inner.id(row), &mut choices),
                    None => {
                        choices.clear();
                        let all = if rules.paths == Paths::All { usize::MAX } else { 1 };
                        choices.extend(search.hops_nearer(row).take(all).map(|hop| hop.interface));
                    }
                }
                growing.set((row as usize, column), &choices)?;
            }
        }
        Ok(growing.into_table())
    }

    /// Returns the interface by which `node` sends a packet of `flow` that is for a destination. `None` if no
    /// path leads there.
    #[inline]
    pub fn interface(&self, table: &Table, node: NodeId, to: &Destination, flow: u32) -> Option<u32> {
        if node == to.anchor {
            return Some(to.last);
        }
        let row = self.rows[node.index()];
        if row == NO_ROW {
            return Some(0);
        }
        match table.entries[row as usize * self.columns.len() + to.column as usize] {
            NO_PATH => None,
            entry => {
                let set = table.sets[table.first_set[row as usize] as usize + entry as usize];
                if set & SEVERAL == 0 {
                    return Some(set);
                }
                let place = (set & !SEVERAL) as usize;
                Some(table.lists[place + 1 + choose(flow, node, table.lists[place]) as usize])
            }
        }
    }

    /// Returns true if a path leads from `node` to a destination.
    pub fn is_reachable(&self, topology: &Topology, table: &Table, node: NodeId, to: &Destination) -> bool {
        let anchor = if topology.is_leaf(node) { topology.interfaces(node)[0].neighbour } else { node };
        [node, anchor].contains(&to.node) || self.interface(table, anchor, to, 0).is_some()
    }
}

/// A table while it is filled.
struct Growing {
    entries: Vec<u16>,
    columns: usize,
    sets_of_row: Vec<Vec<u32>>,
    lists: Vec<u32>,
    /// The places of lists.
    known: BTreeMap<Box<[u32]>, u32>,
}

impl Growing {
    fn new(rows: usize, columns: usize) -> Growing {
        Growing {
            entries: vec![NO_PATH; rows * columns],
            columns,
            sets_of_row: vec![Vec::new(); rows],
            lists: Vec::new(),
            known: BTreeMap::new(),
        }
    }

    /// Sets an entry to these interfaces; to no path if there is none.
    fn set(&mut self, (row, column): (usize, usize), interfaces: &[u32]) -> Result<(), RoutingError> {
        let set = match interfaces {
            [] => return Ok(()),
            &[interface] => interface,
            several => SEVERAL | self.list(several),
        };
        let sets = &mut self.sets_of_row[row];
        let place = sets.iter().position(|&known| known == set).unwrap_or_else(|| {
            sets.push(set);
            sets.len() - 1
        });
        let entry = u16::try_from(place).ok().filter(|&entry| entry < NO_PATH);
        self.entries[row * self.columns + column] = entry.ok_or(RoutingError::TooManyNextHops)?;
        Ok(())
    }

    /// Returns the place of a list.
    fn list(&mut self, interfaces: &[u32]) -> u32 {
        if let Some(&place) = self.known.get(interfaces) {
            return place;
        }
        let place = u32::try_from(self.lists.len()).ok().filter(|&place| place < SEVERAL);
        let place = place.expect("lists are fewer than entries");
        self.lists.push(u32::try_from(interfaces.len()).expect("interfaces are counted in 32 bits"));
        self.lists.extend_from_slice(interfaces);
        self.known.insert(interfaces.into(), place);
        place
    }

    fn into_table(self) -> Table {
        let mut sets = Vec::new();
        let mut first_set = Vec::with_capacity(self.sets_of_row.len());
        for of_row in &self.sets_of_row {
            first_set.push(u32::try_from(sets.len()).expect("sets are fewer than entries"));
            sets.extend_from_slice(of_row);
        }
        Table { entries: self.entries.into(), first_set: first_set.into(), sets: sets.into(), lists: self.lists.into() }
    }
}
