//! Dijkstra's algorithm, for every search of shortest paths in this project.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nodes that a search has reached and not yet settled, the nearest first, then the one with the smallest
/// number.
pub type Open<D> = BinaryHeap<Reverse<(D, u32)>>;

/// Settles nodes in the order of their distances from `root`, then of their numbers.
///
/// `distances` holds the distance of `root`, and for each other node a distance that is larger than any
/// path's. `open` must be empty; it is a parameter so that searches can share its memory. `edges` returns the
/// nodes at the far ends of a settled node's edges, with their distances over that edge, or `None` to end the
/// search. `improved` is told of each improvement: the settled node, the position of the edge among its
/// edges, the node at the far end, and the distance of that node before.
///
/// # Examples
///
/// ```
/// use parades_topology::routing::{Open, settle};
/// let edges: [&[(u32, u64)]; 3] = [&[(1, 5), (2, 1)], &[], &[(1, 2)]];
/// let mut distances = [0, u64::MAX, u64::MAX];
/// let mut predecessors = [None; 3];
/// let from = |node: u32, distance: u64| Some(edges[node as usize].iter().map(move |&(to, cost)| (to, distance + cost)));
/// settle(0, &mut distances, &mut Open::new(), from, |node, _, to, _| predecessors[to as usize] = Some(node));
/// assert_eq!((distances, predecessors), ([0, 3, 1], [None, Some(2), Some(0)]));
/// ```
pub fn settle<D: Copy + Ord, E: Iterator<Item = (u32, D)>>(
    root: u32,
    distances: &mut [D],
    open: &mut Open<D>,
    mut edges: impl FnMut(u32, D) -> Option<E>,
    mut improved: impl FnMut(u32, usize, u32, D),
) {
    open.push(Reverse((distances[root as usize], root)));
    while let Some(Reverse((distance, node))) = open.pop() {
        if distance != distances[node as usize] {
            continue; // The search has found a shorter path since.
        }
        let Some(edges) = edges(node, distance) else { return open.clear() };
        for (position, (to, beyond)) in edges.enumerate() {
            let known = &mut distances[to as usize];
            if beyond < *known {
                improved(node, position, to, std::mem::replace(known, beyond));
                open.push(Reverse((beyond, to)));
            }
        }
    }
}
