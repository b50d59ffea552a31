//! From edges to links: two directed edges between the same nodes, one each way, are one link.

use super::build::Notes;
use super::collector::Edge;
use std::collections::{BTreeMap, VecDeque};

/// An edge that becomes a link.
#[derive(Debug)]
pub(super) struct Joint {
    pub(super) edge: Edge,
    /// True if another joint is its other direction.
    pub(super) is_one_way: bool,
}

/// Returns the links of all edges, in the order of their first edges.
///
/// A directed edge and its opposite are one link if they have the same quality, else a link for each
/// direction. An edge without an opposite is a link that carries both directions: yEd writes directed edges
/// for lines.
pub(super) fn joints(edges: Vec<Edge>, notes: &mut Notes<'_>) -> Vec<Joint> {
    let mut waiting: BTreeMap<(u32, u32), VecDeque<usize>> = BTreeMap::new();
    let mut joints: Vec<Joint> = Vec::with_capacity(edges.len());
    let mut unlike = Vec::new();
    for edge in edges {
        let number = joints.len();
        let ends = (edge.source, edge.target);
        let partner =
            if edge.is_directed { waiting.get_mut(&(ends.1, ends.0)).and_then(VecDeque::pop_front) } else { None };
        match partner.and_then(|partner| joints.get_mut(partner)) {
            Some(partner) if partner.edge.facts == edge.facts => {}
            Some(partner) => {
                partner.is_one_way = true;
                unlike.push(number);
                joints.push(Joint { edge, is_one_way: true });
            }
            None => {
                if edge.is_directed {
                    waiting.entry(ends).or_default().push_back(number);
                }
                joints.push(Joint { edge, is_one_way: false });
            }
        }
    }
    let edge_of = |number: &usize| &joints[*number].edge;
    let mut alone: Vec<usize> = waiting.values().flatten().copied().collect();
    alone.sort_unstable();
    let alone: Vec<&Edge> = alone.iter().map(edge_of).collect();
    let unlike: Vec<&Edge> = unlike.iter().map(edge_of).collect();
    notes.edges("directed edges without an opposite, taken as links that carry both directions", &alone);
    notes.edges("links whose directions differ", &unlike);
    joints
}
