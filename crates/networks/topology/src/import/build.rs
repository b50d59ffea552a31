//! From a document to a network: names, positions, delays, rates, and notes on guesses.

use super::collector::{Document, Edge, Node};
use super::notes::{few, of_names};
use super::pairs::{Joint, joints};
use super::{Network, Options};
use crate::geo::{Position, place_by_neighbours};
use crate::{Link, LinkId, NodeId, Topology};
use parades_config::{Fault, escaped, quoted};
use std::collections::BTreeMap;

/// Makes the network that a document describes. `text` is the file.
pub(super) fn build(mut document: Document, text: &str, options: &Options) -> Result<Network, Fault> {
    let is_measured = !document.edges.is_empty() && document.edges.iter().all(|edge| edge.facts.delay.is_some());
    if let Some(fault) = document.nodes.iter_mut().find_map(|node| node.facts.no_place.take_if(|_| !is_measured)) {
        return Err(fault);
    }
    let names = names(&document.nodes);
    let mut notes = Notes { names: &names, said: Vec::new() };
    let nodes_with = |wanted: fn(&Node) -> bool| {
        document.nodes.iter().enumerate().filter(move |(_, node)| wanted(node)).map(|(index, _)| index)
    };
    let hyperedges = nodes_with(|node| node.facts.is_hyperedge);
    notes.nodes("nodes that stand for a link of several ends (hyperedge), kept", hyperedges);
    let outside = nodes_with(|node| node.facts.is_external);
    notes.nodes("nodes outside the network itself (Internal is 0), kept", outside);
    let loops = document.edges.iter().filter(|edge| edge.source == edge.target);
    notes.nodes("edges from a node to itself, dropped", loops.map(|edge| edge.source as usize));
    document.edges.retain(|edge| edge.source != edge.target);
    let bad = nodes_with(|node| node.facts.has_bad_coordinates);
    notes.nodes("coordinates that are empty, incomplete or no numbers, taken as missing", bad);

    let in_plane = nodes_with(|node| node.facts.no_place.is_some());
    notes.nodes("coordinates of a plane, without use: each link has its own delay or length", in_plane);
    let joints = joints(std::mem::take(&mut document.edges), &mut notes);
    let positions = positions(&document.nodes, &joints, &mut notes);
    let links = links(&joints, &positions, options, &mut notes);
    let mut notes = notes.said;
    notes.extend(of_names(text, &document.names));
    let one_way = (0..).map(LinkId).zip(&joints).filter(|(_, joint)| joint.is_one_way).map(|(id, _)| id).collect();
    let topology = Topology::with_one_way(&names, links, one_way).map_err(|why| {
        Fault::whole(why.to_string(), "correct the default rate, the default delay or the least delay")
    })?;
    if let (Some((_, outside, _)), Err(why)) = (topology.first_pair_apart(), topology.connected()) {
        let offset = document.nodes[outside.index()].offset;
        let help = "join the parts by edges, or delete all but one of them";
        return Err(Fault::new(offset, why.to_string(), help));
    }
    let losses = joints.iter().map(|joint| joint.edge.facts.loss).collect();
    Ok(Network { topology, positions, losses, notes })
}

/// Notes on guesses and on dropped parts.
#[derive(Debug)]
pub(super) struct Notes<'a> {
    pub(super) names: &'a [String],
    pub(super) said: Vec<String>,
}

impl Notes<'_> {
    /// Adds a note on some nodes, the first few by name. No note if there are no nodes.
    fn nodes(&mut self, what: &str, nodes: impl Iterator<Item = usize>) {
        let nodes: Vec<usize> = nodes.collect();
        if !nodes.is_empty() {
            self.said.push(format!("{what}: {}", few(&nodes, |&node| quoted(&self.names[node]))));
        }
    }

    /// Adds a note on some edges, the first few by their ends. No note if there are no edges.
    pub(super) fn edges(&mut self, what: &str, edges: &[&Edge]) {
        if !edges.is_empty() {
            let name = |end: u32| quoted(&self.names[end as usize]);
            let shown = |edge: &&Edge| format!("{} to {}", name(edge.source), name(edge.target));
            self.said.push(format!("{what}: {}", few(edges, shown)));
        }
    }
}

/// Returns the names of nodes: labels, or ids of nodes without labels. Nodes that share a name have their ids
/// in brackets.
fn names(nodes: &[Node]) -> Vec<String> {
    let plain = |node: &Node| node.facts.label.clone().unwrap_or_else(|| escaped(&node.id));
    let mut uses = BTreeMap::new();
    for node in nodes {
        *uses.entry(plain(node)).or_insert(0_u32) += 1;
    }
    let name = |node: &Node| match plain(node) {
        name if uses[&name] == 1 => name,
        name => format!("{name} ({})", escaped(&node.id)),
    };
    nodes.iter().map(name).collect()
}

/// Returns the positions of all nodes, guessed ones included. Adds notes on guesses and on unknown positions,
/// where a delay depends on them.
fn positions(nodes: &[Node], joints: &[Joint], notes: &mut Notes<'_>) -> Vec<Option<Position>> {
    let given: Vec<Option<Position>> = nodes.iter().map(|node| node.facts.position).collect();
    let mut neighbours = vec![Vec::new(); given.len()];
    let mut needs = vec![joints.is_empty(); given.len()];
    for Edge { source, target, facts, .. } in joints.iter().map(|joint| &joint.edge) {
        neighbours[*source as usize].push(*target);
        neighbours[*target as usize].push(*source);
        for end in [*source, *target] {
            needs[end as usize] |= facts.delay.is_none();
        }
    }
    for row in &mut neighbours {
        // A neighbour counts once, however many links lead to it.
        row.sort_unstable();
        row.dedup();
    }
    let mut positions = given.clone();
    place_by_neighbours(&mut positions, &neighbours);
    let nodes = (0..given.len()).filter(|&node| needs[node]);
    let guessed = nodes.clone().filter(|&node| given[node].is_none() && positions[node].is_some());
    notes.nodes("nodes without coordinates, placed in the middle of their neighbours", guessed);
    let unknown = nodes.filter(|&node| positions[node].is_none());
    notes.nodes("nodes without coordinates that no neighbour places, whose links have the default delay", unknown);
    positions
}

/// Returns the links. Adds notes on links whose rate or delay the file does not give.
fn links(joints: &[Joint], positions: &[Option<Position>], options: &Options, notes: &mut Notes<'_>) -> Vec<Link> {
    let (mut slow, mut short) = (0, 0);
    let mut links = Vec::with_capacity(joints.len());
    for Edge { source, target, facts, .. } in joints.iter().map(|joint| &joint.edge) {
        let by_place = match (positions[*source as usize], positions[*target as usize]) {
            (Some(a), Some(b)) => Some(a.fibre_delay(b)),
            _ => None,
        };
        let delay = match (facts.delay, by_place) {
            (Some(delay), _) => delay,
            (None, Some(light)) => {
                short += usize::from(light < options.delay_min);
                light.max(options.delay_min)
            }
            (None, None) => options.delay,
        };
        slow += usize::from(facts.rate_bps.is_none());
        let rate_bps = facts.rate_bps.unwrap_or(options.rate_bps);
        links.push(Link { a: NodeId(*source), b: NodeId(*target), rate_bps, delay });
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
