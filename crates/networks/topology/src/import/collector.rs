//! Nodes and edges as a reader finds them, in any format. Values are understood at once; the names of values
//! are counted.

use super::facts::{self, EdgeFacts, NodeFacts, Units};
use super::ids::Ids;
use super::names::{self, Known, Meaning, Of};
use super::{EDGES_MAX, NAMES_MAX};
use parades_config::{Fault, quoted};
use std::collections::BTreeMap;

/// A `node`.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) facts: NodeFacts,
    pub(super) offset: usize,
}

/// An edge, between nodes by their place in [`Document::nodes`].
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) is_directed: bool,
    pub(super) facts: EdgeFacts,
    pub(super) offset: usize,
}

/// The contents of a file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    pub(super) names: Vec<Name>,
}

/// A name of values: its meaning, and what became of its values.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) of: Of,
    pub(super) name: String,
    pub(super) known: Option<Known>,
    /// The number of values that were read in the unit of a tool.
    pub(super) assumed: u64,
    /// The number of values without use.
    pub(super) unused: u64,
    /// The first of those: its text, its place in the file, and why it has no use.
    pub(super) first: Option<(String, usize, Unused)>,
}

/// The reason why a value has no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unused {
    /// Its name is unknown, or a description.
    Name,
    /// It has no unit, and its tool no rule.
    Unit,
    /// A value of another name says the same.
    Superseded,
}

impl Name {
    /// Counts a value that has no use.
    pub(super) fn skip(&mut self, why: Unused, text: &str, offset: usize) {
        self.unused += 1;
        self.first.get_or_insert_with(|| (text.trim().chars().take(100).collect(), offset, why));
    }
}

/// A value of a node or edge: the number of its name, its text, and its first byte.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) name: usize,
    pub(super) text: String,
    pub(super) offset: usize,
}

/// The nodes and edges so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    ids: Ids,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    names: Vec<Name>,
    numbers: BTreeMap<(Of, String), usize>,
    units: Units,
}

impl Collector {
    /// Returns the number of a name.
    pub(super) fn name(&mut self, of: Of, name: &str, offset: usize) -> Result<usize, Fault> {
        if let Some(&number) = self.numbers.get(&(of, name.to_owned())) {
            return Ok(number);
        }
        if self.names.len() == NAMES_MAX {
            let message = format!("the file has values of more than {NAMES_MAX} names");
            return Err(Fault::new(offset, message, "delete those without use"));
        }
        let number = self.names.len();
        let known = names::meaning(of, name);
        self.names.push(Name { of, name: name.to_owned(), known, assumed: 0, unused: 0, first: None });
        self.numbers.insert((of, name.to_owned()), number);
        Ok(number)
    }

    /// Takes a value of the whole graph.
    pub(super) fn graph_value(&mut self, name: &str, text: &str, offset: usize) -> Result<(), Fault> {
        let number = self.name(Of::Graph, name, offset)?;
        match self.names[number].known.map(|known| known.meaning) {
            Some(Meaning::RateUnit) => self.units.rate_bps = Some(facts::rate_unit(text, offset)?),
            Some(Meaning::DelayUnit) => self.units.delay_s = Some(facts::delay_unit(text, offset)?),
            _ => self.names[number].skip(Unused::Name, text, offset),
        }
        Ok(())
    }

    /// Adds a node.
    pub(super) fn node(&mut self, id: String, values: &[Value], offset: usize) -> Result<(), Fault> {
        let number = self.ids.number(&id, offset)?;
        let declared = &mut self.ids.nodes[number as usize];
        if declared.is_some() {
            let message = format!("the node {} is declared a second time", quoted(&id));
            return Err(Fault::new(offset, message, "give each node an id of its own"));
        }
        // Fewer nodes than ids, of which there are at most `NODES_MAX`.
        *declared = Some(u32::try_from(self.nodes.len()).expect("nodes are bounded"));
        let facts = NodeFacts::of(values, &mut self.names)?;
        self.nodes.push(Node { id, facts, offset });
        Ok(())
    }

    /// Adds an edge between the nodes of two ids.
    pub(super) fn edge(
        &mut self,
        source: &str,
        target: &str,
        is_directed: bool,
        values: &[Value],
        offset: usize,
    ) -> Result<(), Fault> {
        if self.edges.len() == EDGES_MAX {
            return Err(Fault::new(offset, format!("the file has more than {EDGES_MAX} edges"), "split it"));
        }
        let (source, target) = (self.ids.number(source, offset)?, self.ids.number(target, offset)?);
        let facts = EdgeFacts::of(values, &mut self.names, self.units)?;
        self.edges.push(Edge { source, target, is_directed, facts, offset });
        Ok(())
    }

    /// Ends the file, whose graph begins at the byte `graph`. The ends of all edges must be nodes.
    pub(super) fn finish(mut self, graph: usize) -> Result<Document, Fault> {
        if self.nodes.is_empty() {
            return Err(Fault::new(graph, "the graph has no nodes", "add at least one node"));
        }
        // Edges may come before their nodes, so ids are replaced by nodes at the end.
        for edge in &mut self.edges {
            for end in [&mut edge.source, &mut edge.target] {
                *end = self.ids.nodes[*end as usize].ok_or_else(|| self.ids.unknown(*end, edge.offset))?;
            }
        }
        Ok(Document { nodes: self.nodes, edges: self.edges, names: self.names })
    }
}
