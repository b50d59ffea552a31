//! Nodes placed at random, linked to those nearby.

use parades_core::random::Rng;

/// The number of links beyond which [`scatter`] counts no further: more than a network can have.
const LINKS_COUNTED_MAX: usize = (1 << 24) + 1;

/// Scatters nodes over the unit square, and links every two whose distance is at most `radius`: E. N.
/// Gilbert, "Random plane networks", SIAM Journal 9, 1961 (B. M. Waxman's plane without his probabilities).
/// If that leaves the network in pieces, the shortest possible links join them.
///
/// Returns pairs of nodes, the smaller first, with the length of their link. Takes time with the square of
/// `size`. Before it makes any link, it asks `fits` whether their number is acceptable: counting takes no
/// memory. It counts to 2^24 + 1 at most.
///
/// # Errors
///
/// The error of `fits`.
pub fn scatter<E>(
    size: u32,
    radius: f64,
    rng: &Rng,
    fits: impl FnOnce(u64) -> Result<(), E>,
) -> Result<Vec<(u32, u32, f64)>, E> {
    let places: Vec<(f64, f64)> = (0..size).map(|_| (rng.unit(), rng.unit())).collect();
    let distance = |a: usize, b: usize| libm::hypot(places[a].0 - places[b].0, places[a].1 - places[b].1);
    let near =
        || (0..places.len()).flat_map(|b| (0..b).map(move |a| (a, b))).filter(|&(a, b)| distance(a, b) <= radius);
    fits(near().take(LINKS_COUNTED_MAX).count() as u64)?;
    let mut pieces: Vec<usize> = (0..places.len()).collect();
    let mut links: Vec<(usize, usize)> = near().collect();
    links.iter().for_each(|&(a, b)| unite(&mut pieces, a, b));
    join_pieces(&mut pieces, &mut links, distance);
    let number = |node: usize| u32::try_from(node).expect("`size` has 32 bits");
    Ok(links.into_iter().map(|(a, b)| (number(a), number(b), distance(a, b))).collect())
}

/// Returns the node that stands for the piece of a node.
fn root(pieces: &mut [usize], mut node: usize) -> usize {
    while pieces[node] != node {
        pieces[node] = pieces[pieces[node]];
        node = pieces[node];
    }
    node
}

fn unite(pieces: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(pieces, a), root(pieces, b));
    pieces[a.max(b)] = a.min(b);
}

/// Joins all pieces: repeatedly adds the shortest link from the piece of node 0 to another one (Prim's
/// algorithm on pieces).
fn join_pieces(pieces: &mut [usize], links: &mut Vec<(usize, usize)>, distance: impl Fn(usize, usize) -> f64) {
    let count = pieces.len();
    let mut inside: Vec<bool> = (0..count).map(|node| root(pieces, node) == 0).collect();
    // For each node outside: the distance of the nearest node inside, and that node.
    let mut nearest: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); count];
    let mut new: Vec<usize> = (0..count).filter(|&node| inside[node]).collect();
    while inside.iter().any(|inside| !inside) {
        for outside in (0..count).filter(|&node| !inside[node]) {
            for &node in &new {
                let length = distance(outside, node);
                if length < nearest[outside].0 {
                    nearest[outside] = (length, node);
                }
            }
        }
        let outside = (0..count).filter(|&node| !inside[node]);
        let next = outside.min_by(|&a, &b| nearest[a].0.total_cmp(&nearest[b].0)).expect("one is outside");
        links.push((nearest[next].1.min(next), nearest[next].1.max(next)));
        let joined = root(pieces, next);
        new = (0..count).filter(|&node| !inside[node] && root(pieces, node) == joined).collect();
        new.iter().for_each(|&node| inside[node] = true);
    }
}
