//! Identifiers, their distances, and the closest of all nodes.

use parades_core::event::LpId;
use parades_core::random::Rng;
use std::ops::Range;

/// The purpose of the random stream that identifiers follow from.
const PURPOSE: u32 = 0x006b_6164;

/// The space of identifiers of 64 bits.
///
/// A node's identifier is computed from its number, as if drawn at random without repetition. So nodes keep
/// and send numbers of nodes alone, in 4 bytes. Messages count the bytes of the paper's 160 bits. With 64
/// bits, as with 160, no prefix of an identifier but the first log2 n bits or so matters.
///
/// ```
/// use parades_core::event::LpId;
/// use parades_p2p::kademlia::Space;
/// let space = Space::new(1);
/// assert_ne!(space.id(LpId(0)), space.id(LpId(1)));
/// assert_ne!(space.id(LpId(0)), Space::new(2).id(LpId(0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    nodes: u64,
    keys: u64,
}

impl Space {
    /// Makes the space; `seed` decides which node has which identifier.
    pub fn new(seed: u64) -> Space {
        let rng = Rng::shared(seed, PURPOSE);
        Space { nodes: rng.next_u64(), keys: rng.next_u64() }
    }

    /// Returns the identifier of a node. No two nodes have the same.
    #[inline]
    pub fn id(&self, node: LpId) -> u64 {
        mix(self.nodes ^ u64::from(node.0))
    }

    /// Returns the key of a value.
    #[inline]
    pub fn key(&self, value: u32) -> u64 {
        mix(self.keys ^ u64::from(value))
    }
}

/// Mixes bits: a bijection whose every output bit depends on every input bit (the finaliser of SplitMix64:
/// G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of
/// D. Stafford's variant 13).
#[inline]
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The identifiers of all nodes, sorted: a binary trie in an array.
///
/// ```
/// use parades_core::event::LpId;
/// use parades_p2p::kademlia::{Directory, Space};
/// let space = Space::new(1);
/// let directory = Directory::new(&space, 100);
/// let target = space.id(LpId(42)) ^ 1; // the closest node differs in the last bit
/// assert_eq!(directory.closest(target), Some((space.id(LpId(42)), LpId(42))));
/// ```
#[derive(Debug)]
pub struct Directory(Box<[(u64, LpId)]>);

impl Directory {
    /// Makes the directory of the nodes from 0 to `nodes` - 1.
    pub fn new(space: &Space, nodes: u32) -> Directory {
        let mut all: Box<[(u64, LpId)]> = (0..nodes).map(|node| (space.id(LpId(node)), LpId(node))).collect();
        all.sort_unstable();
        Directory(all)
    }

    /// Returns the nodes in the bucket `shared` of the node `own`: those whose first `shared` bits are
    /// those of `own`, and whose next bit is not.
    pub fn bucket(&self, own: u64, shared: u32) -> &[(u64, LpId)] {
        let bit = 1 << 63 >> shared;
        let first = (own ^ bit) & !(bit - 1);
        let begin = self.0.partition_point(|&(id, _)| id < first);
        let length = self.0[begin..].partition_point(|&(id, _)| id <= first | (bit - 1));
        &self.0[begin..begin + length]
    }

    /// Returns the node whose identifier is closest to `target`; `None` if there are no nodes.
    pub fn closest(&self, target: u64) -> Option<(u64, LpId)> {
        self.closest_where(target, |_| true)
    }

    /// Returns the closest node to `target` for which `admits` is true. It is called with nodes in the order
    /// of their distance.
    pub fn closest_where(&self, target: u64, admits: impl Fn(LpId) -> bool) -> Option<(u64, LpId)> {
        // Subtrees by distance, the closest at the end.
        let mut subtrees: Vec<(Range<usize>, u32)> = vec![(0..self.0.len(), 0)];
        while let Some((range, depth)) = subtrees.pop() {
            match &self.0[range.clone()] {
                [] => {}
                &[(id, node)] => {
                    if admits(node) {
                        return Some((id, node));
                    }
                }
                many => {
                    let bit = 1_u64 << 63 >> depth;
                    let middle = range.start + many.partition_point(|&(id, _)| id & bit == 0);
                    let (zeros, ones) = ((range.start..middle, depth + 1), (middle..range.end, depth + 1));
                    let (near, far) = if target & bit == 0 { (zeros, ones) } else { (ones, zeros) };
                    subtrees.push(far);
                    subtrees.push(near);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_closest_node_is_that_of_an_exhaustive_search(
            seed: u64, nodes in 1_u32..200, target: u64, hidden in 0_u32..200,
        ) {
            let space = Space::new(seed);
            let directory = Directory::new(&space, nodes);
            let all = || (0..nodes).map(|node| (space.id(LpId(node)), LpId(node)));
            prop_assert_eq!(directory.closest(target), all().min_by_key(|&(id, _)| id ^ target));
            let found = directory.closest_where(target, |node| node.0 != hidden);
            prop_assert_eq!(found, all().filter(|&(_, node)| node.0 != hidden).min_by_key(|&(id, _)| id ^ target));
        }

        #[test]
        fn a_bucket_has_the_nodes_that_share_a_prefix_of_its_length(seed: u64, nodes in 1_u32..200, shared in 0_u32..64) {
            let space = Space::new(seed);
            let own = space.id(LpId(0));
            let directory = Directory::new(&space, nodes);
            let mut found: Vec<LpId> = directory.bucket(own, shared).iter().map(|&(_, node)| node).collect();
            found.sort_unstable();
            let expected = (0..nodes).map(LpId).filter(|&node| (space.id(node) ^ own).leading_zeros() == shared);
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn keys_and_nodes_have_different_identifiers() {
        let space = Space::new(7);
        let mut all: Vec<u64> = (0..10_000).flat_map(|n| [space.id(LpId(n)), space.key(n)]).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 20_000);
    }
}
