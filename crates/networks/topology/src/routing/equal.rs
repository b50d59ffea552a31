//! The choice among equally short paths.
//!
//! Routers spread flows over equal paths by a hash of each packet's flow (equal-cost multi-path, RFC 2992).
//! So the packets of a flow stay on one path, and in order. Here the hash is of the flow and of the node. If
//! it were of the flow alone, all switches of a fat tree would split their flows alike, and most links
//! further up would stay idle.

use crate::NodeId;
use parades_config::Words;

/// The paths that flows may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paths {
    /// All shortest paths: each flow takes at each node the next hop that a hash selects.
    #[default]
    All,
    /// One path: the first of the shortest paths, by neighbour and link.
    One,
}

impl Words for Paths {
    const WORDS: &'static [(&'static str, Paths)] = &[("ecmp", Paths::All), ("single", Paths::One)];
}

/// Returns the place of the next hop that `flow` takes at `node`, among `choices` next hops. `flow` is any
/// number that names the flow and its direction.
///
/// The hash is SplitMix64's finaliser: it maps the 64 bits of flow and node one to one, and each bit of the
/// result depends on all of them. Its upper half selects the place by a multiplication, which is uniform to
/// within `choices / 2^32`. Source: G. Steele, D. Lea, C. Flood, *Fast Splittable Pseudorandom Number
/// Generators*, OOPSLA 2014, with the constants of D. Stafford's variant 13.
///
/// # Examples
///
/// ```
/// use parades_topology::NodeId;
/// use parades_topology::routing::choose;
/// let of_a_thousand = |node| (0..1000).filter(|&flow| choose(flow, NodeId(node), 2) == 0).count();
/// assert!((450..550).contains(&of_a_thousand(0)) && (450..550).contains(&of_a_thousand(1)));
/// assert_eq!(choose(7, NodeId(3), 1), 0);
/// ```
#[inline]
pub fn choose(flow: u32, node: NodeId, choices: u32) -> u32 {
    let mut hash = (u64::from(flow) << 32 | u64::from(node.0)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    (((hash >> 32) * u64::from(choices)) >> 32) as u32
}
