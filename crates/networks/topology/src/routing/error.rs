//! The reasons why there are no routes.

/// The reason why there are no routes. Each displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// A flow names a node that does not exist.
    #[error("flow {flow} has an end at node {node}, but the nodes are numbered from 0 to {last}")]
    UnknownNode {
        /// The flow's place in the list.
        flow: usize,
        /// The node it names.
        node: u32,
        /// The number of the last node.
        last: u32,
    },
    /// No path leads from the source of a flow to its destination.
    #[error("there is no path from `{source_name}` to `{destination}`, the ends of flow {flow}")]
    Unreachable {
        /// The flow's place in the list.
        flow: usize,
        /// The name of the node where it starts.
        source_name: String,
        /// The name of the node where it ends.
        destination: String,
    },
    /// There are more flows, or more hops of all routes together, than 32 bits can count.
    #[error("the routes of all flows together have at most 2^32 - 1 hops, and there are at most 2^32 - 1 flows")]
    TooLarge,
    /// The entries of a table cannot tell apart all sets of next hops of a node.
    #[error("a node has more than 65535 different next hops; give static routes to fewer destinations")]
    TooManyNextHops,
    /// Static routes, perhaps with shortest paths between them, lead in a circle.
    #[error("the static routes to `{destination}` lead in a loop: {nodes}")]
    Loop {
        /// The name of the destination.
        destination: String,
        /// The names of the nodes, the first one again at the end.
        nodes: String,
    },
    /// No path leads on from where a static route leads.
    #[error("the static route at `{start}` to `{destination}` leads to `{end}`, from which no path leads on")]
    DeadEnd {
        /// The name of the node of the static route.
        start: String,
        /// The name of the destination.
        destination: String,
        /// The name of the last node.
        end: String,
    },
}
