//! From what a file says to a network: names, places, delays, rates, and notes on all that was guessed.

use super::document::{Document, Edge, Node};
use super::error::Fault;
use super::{Network, Options};
use crate::geo::{Position, place_by_neighbours};
use crate::topology::{Link, NodeId, Topology};
use std::collections::BTreeMap;

/// The network that a document describes.
pub(super) fn build(mut document: Document, options: &Options) -> Result<Network, Fault> {
    let mut notes = Vec::new();
    let names = names(&document.nodes);
    let note_nodes = |notes: &mut Vec<String>, what: &str, nodes: Vec<usize>| {
        if !nodes.is_empty() {
            notes.push(format!("{what}: {}", list(nodes.iter().map(|&node| names[node].as_str()))));
        }
    };
    let nodes_with = |wanted: fn(&Node) -> bool| -> Vec<usize> {
        document.nodes.iter().enumerate().filter(|(_, node)| wanted(node)).map(|(index, _)| index).collect()
    };
    note_nodes(&mut notes, "a node for each link of several ends (hyperedge)", nodes_with(|node| node.hyperedge));
    note_nodes(&mut notes, "nodes outside the network itself (Internal 0), kept", nodes_with(|node| node.external));

    let loops: Vec<usize> = document.edges.iter().filter(|e| e.source == e.target).map(|e| e.source as usize).collect();
    note_nodes(&mut notes, "edges from a node to itself, dropped", loops);
    document.edges.retain(|edge| edge.source != edge.target);

    let positions = positions(&document, &mut notes, &note_nodes);
    let links = links(&document.edges, &positions, options, &mut notes);
    let topology = Topology::new(&names, links)
        .map_err(|why| Fault::general(why.to_string(), "correct the default rate, the default delay or the least delay"))?;
    if let (Some((_, outside, _)), Err(why)) = (topology.first_pair_apart(), topology.connected()) {
        let offset = document.nodes[outside.index()].offset;
        return Err(Fault::new(offset, why.to_string(), "join the parts by edges, or delete all but one of them"));
    }
    Ok(Network { topology, positions, notes })
}

/// Labels, or ids where there is no label; names that are shared are told apart by the id in brackets.
fn names(nodes: &[Node]) -> Vec<String> {
    let plain = |node: &Node| node.label.clone().unwrap_or_else(|| node.id.escape_debug().to_string());
    let mut uses = BTreeMap::new();
    for node in nodes {
        *uses.entry(plain(node)).or_insert(0_u32) += 1;
    }
    let name = |node: &Node| match plain(node) {
        name if uses[&name] == 1 => name,
        name => format!("{name} ({})", node.id.escape_debug()),
    };
    nodes.iter().map(name).collect()
}

/// The places of all nodes, those guessed from neighbours included, with notes on the latter and on what stays unknown.
fn positions(
    document: &Document,
    notes: &mut Vec<String>,
    note_nodes: &dyn Fn(&mut Vec<String>, &str, Vec<usize>),
) -> Vec<Option<Position>> {
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
    let guessed = (0..given.len()).filter(|&node| given[node].is_none() && positions[node].is_some()).collect();
    note_nodes(notes, "nodes without coordinates, placed in the middle of their neighbours", guessed);
    let unknown: Vec<usize> = (0..given.len()).filter(|&node| positions[node].is_none()).collect();
    note_nodes(notes, "nodes without coordinates that no neighbour places, whose links have the default delay", unknown);
    positions
}

/// The links, with notes on those whose rate or delay is not their own.
fn links(edges: &[Edge], positions: &[Option<Position>], options: &Options, notes: &mut Vec<String>) -> Vec<Link> {
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
        notes.push(format!("{slow} of {} links without a speed, given {} bit/s", links.len(), options.rate_bps));
    }
    if short > 0 {
        notes.push(format!("{short} of {} links between places that (nearly) coincide, given the least delay of {}", links.len(), options.delay_min));
    }
    links
}

/// The first few of some names, and how many more there are.
fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN_MAX: usize = 3;
    let rest = names.len().saturating_sub(SHOWN_MAX);
    let shown: Vec<String> = names.take(SHOWN_MAX).map(super::error::quote).collect();
    match rest {
        0 => shown.join(", "),
        _ => format!("{} and {rest} more", shown.join(", ")),
    }
}
