//! From a document to a network: names, positions, delays, rates, and notes on guesses.

use super::document::{Document, Edge, Node};
use super::{Network, Options};
use crate::geo::{Position, place_by_neighbours};
use crate::{Link, NodeId, Topology};
use parades_config::{Fault, quoted};
use std::collections::BTreeMap;

/// Makes the network that a document describes.
pub(super) fn build(mut document: Document, options: &Options) -> Result<Network, Fault> {
    let names = names(&document.nodes);
    let mut notes = Notes { names: &names, said: Vec::new() };
    let nodes_with = |wanted: fn(&Node) -> bool| {
        document.nodes.iter().enumerate().filter(move |(_, node)| wanted(node)).map(|(index, _)| index)
    };
    notes.nodes("nodes that stand for a link of several ends (hyperedge), kept", nodes_with(|node| node.hyperedge));
    notes.nodes("nodes outside the network itself (Internal is 0), kept", nodes_with(|node| node.external));
    let loops = document.edges.iter().filter(|edge| edge.source == edge.target);
    notes.nodes("edges from a node to itself, dropped", loops.map(|edge| edge.source as usize));
    document.edges.retain(|edge| edge.source != edge.target);

    let positions = positions(&document, &mut notes);
    let links = links(&document.edges, &positions, options, &mut notes);
    let notes = notes.said;
    let topology = Topology::new(&names, links).map_err(|why| {
        Fault::whole(why.to_string(), "correct the default rate, the default delay or the least delay")
    })?;
    if let (Some((_, outside, _)), Err(why)) = (topology.first_pair_apart(), topology.connected()) {
        let offset = document.nodes[outside.index()].offset;
        let help = "join the parts by edges, or delete all but one of them";
        return Err(Fault::new(offset, why.to_string(), help));
    }
    Ok(Network { topology, positions, notes })
}

/// Notes on guesses and on dropped parts.
#[derive(Debug)]
struct Notes<'a> {
    names: &'a [String],
    said: Vec<String>,
}

impl Notes<'_> {
    /// Adds a note on some nodes, the first few by name. No note if there are no nodes.
    fn nodes(&mut self, what: &str, nodes: impl Iterator<Item = usize>) {
        const SHOWN_MAX: usize = 3;
        let nodes: Vec<usize> = nodes.collect();
        if nodes.is_empty() {
            return;
        }
        let shown: Vec<String> = nodes.iter().take(SHOWN_MAX).map(|&node| quoted(&self.names[node])).collect();
        let more = match nodes.len().saturating_sub(SHOWN_MAX) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        self.said.push(format!("{what}: {}{more}", shown.join(", ")));
    }
}

/// Returns the names of nodes: labels, or ids of nodes without labels. Nodes that share a name have their ids in
/// brackets.
fn names(nodes: &[Node]) -> Vec<String> {
    let plain = |node: &Node| node.label.clone().unwrap_or_else(|| printable(&node.id));
    let mut uses = BTreeMap::new();
    for node in nodes {
        *uses.entry(plain(node)).or_insert(0_u32) += 1;
    }
    let name = |node: &Node| match plain(node) {
        name if uses[&name] == 1 => name,
        name => format!("{name} ({})", printable(&node.id)),
    };
    nodes.iter().map(name).collect()
}

/// Returns the positions of all nodes, guessed ones included. Adds notes on guesses and on unknown positions.
fn positions(document: &Document, notes: &mut Notes<'_>) -> Vec<Option<Position>> {
    let given: Vec<Option<Position>> = document.nodes.iter().map(|node| node.position).collect();
    let mut neighbours = vec![Vec::new(); given.len()];
    for edge in &document.edges {
        neighbours[edge.source as usize].push(edge.target);
        neighbours[edge.target as usize].push(edge.source);
    }
    for row in &mut neighbours {
        // A neighbour counts once, however many links lead to it.
        row.sort_unstable();
        row.dedup();
    }
    let mut positions = given.clone();
    place_by_neighbours(&mut positions, &neighbours);
    let nodes = 0..given.len();
    let guessed = nodes.clone().filter(|&node| given[node].is_none() && positions[node].is_some());
    notes.nodes("nodes without coordinates, placed in the middle of their neighbours", guessed);
    let unknown = nodes.filter(|&node| positions[node].is_none());
    notes.nodes("nodes without coordinates that no neighbour places, whose links have the default delay", unknown);
    positions
}

/// Returns the links. Adds notes on links whose rate or delay the file does not give.
fn links(edges: &[Edge], positions: &[Option<Position>], options: &Options, notes: &mut Notes<'_>) -> Vec<Link> {
    let (mut slow, mut short) = (0, 0);
    let mut links = Vec::with_capacity(edges.len());
    for edge in edges {
        let delay = match (positions[edge.source as usize], positions[edge.target as usize]) {
            (Some(a), Some(b)) => {
                let light = a.fibre_delay(b);
                short += usize::from(light < options.delay_min);
                light.max(options.delay_min)
            }
            _ => options.delay,
        };
        slow += usize::from(edge.rate_bps.is_none());
        let rate_bps = edge.rate_bps.unwrap_or(options.rate_bps);
        links.push(Link { a: NodeId(edge.source), b: NodeId(edge.target), rate_bps, delay });
    }
    if slow > 0 {
        notes.said.push(format!(
            "{slow} of {} links without a speed, given {} Mbit/s",
            links.len(),
            options.rate_bps as f64 / 1e6
        ));
    }
    if short > 0 {
        notes.said.push(format!(
            "{short} of {} links between places that (nearly) coincide, given the least delay of {}",
            links.len(),
            options.delay_min
        ));
    }
    links
}

/// Returns a word with its control characters written as their numbers.
fn printable(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    for letter in word.chars() {
        if letter.is_control() {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}
