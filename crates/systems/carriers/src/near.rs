//! The lookahead of senders that are near some receivers and far from all others.

use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_program::Wiring;

/// The least latencies from a node to others. Nodes are in groups, each near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Least {
    /// The number of the node's group.
    pub(crate) group: u32,
    /// The least latency to another node of the group; `None` if there is none.
    pub(crate) inside: Option<Delay>,
    /// A bound on the latencies to nodes of other groups; `None` if there is none.
    pub(crate) outside: Option<Delay>,
}

/// Declares that nodes may send to anyone, with these least latencies in the order of the nodes. There are
/// groups only if they are further from each other than nodes of one group.
pub(crate) fn wire(all: Vec<Least>, wiring: &mut Wiring) {
    let least = |of: fn(&Least) -> Option<Delay>| all.iter().filter_map(of).min();
    let are_apart = least(|least| least.inside) < least(|least| least.outside);
    for (node, Least { group, inside, outside }) in (0..).map(LpId).zip(all) {
        match (inside, outside) {
            (Some(inside), Some(outside)) if are_apart => wiring.to_groups(node, group, inside, outside),
            _ => inside.into_iter().chain(outside).min().into_iter().for_each(|least| wiring.to_anyone(node, least)),
        }
    }
}
