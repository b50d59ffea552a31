//! Static routes of a description, as interfaces of nodes.

use crate::description::{StaticRoute, Via};
use parades_topology::routing::StaticRoutes;
use parades_topology::{Interface, LinkId, NodeId, Topology};

/// The largest number of pairs of a node and a destination of all static routes together.
const PAIRS_MAX: u64 = 1 << 24;

/// Returns the interfaces of static routes. A route from a node to itself is left out.
///
/// # Errors
///
/// If a node of a route has no interface to its next hop, or there are too many routes. The error is a
/// sentence.
pub(crate) fn statics<'a>(
    topology: &Topology,
    routes: &[StaticRoute],
    link_name: impl Fn(u32) -> &'a str,
) -> Result<StaticRoutes, String> {
    let pairs: u64 = routes.iter().map(|route| route.at.len() as u64 * route.to.len() as u64).sum();
    if pairs > PAIRS_MAX {
        return Err(format!("the static routes are of {pairs} pairs of nodes and destinations; 2^24 are the most"));
    }
    let mut statics = StaticRoutes::default();
    for route in routes {
        for &at in &route.at {
            let node = NodeId(at);
            let leads = |end: &Interface| match route.via {
                Via::Link(link) => end.link == LinkId(link),
                Via::Node(neighbour) => end.neighbour == NodeId(neighbour),
            };
            let numbered = (0..).zip(topology.interfaces(node));
            let interfaces: Vec<u32> = numbered.filter(|(_, end)| leads(end)).map(|(number, _)| number).collect();
            if interfaces.is_empty() {
                let name = topology.name(node);
                return Err(match route.via {
                    Via::Link(link) => format!(
                        "a static route at `{name}` is via the link `{}`, by which `{name}` cannot send",
                        link_name(link)
                    ),
                    Via::Node(neighbour) => format!(
                        "a static route at `{name}` is via `{}`, to which no link leads from `{name}`",
                        topology.name(NodeId(neighbour))
                    ),
                });
            }
            for &to in route.to.iter().filter(|&&to| to != at) {
                statics.add(node, NodeId(to), interfaces.clone());
            }
        }
    }
    Ok(statics)
}
