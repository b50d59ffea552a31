//! The reasons why there is no such underlay.

use parades_core::budget::Exceeded;
use parades_topology::routing::RoutingError;

/// The reason why there is no such underlay. Each displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnderlayError {
    /// There are more peers than places for them.
    #[error("{peers} peers need a place of their own each, but there are only {places} {what}")]
    TooManyPeers {
        /// The number of peers.
        peers: u32,
        /// The number of places.
        places: usize,
        /// The places, as a plural noun.
        what: &'static str,
    },
    /// Two peers would be at one place.
    #[error("two peers are at `{0}`; give each a place of its own")]
    Shared(String),
    /// A peer of a transit–stub network is not at a stub router.
    #[error("a peer is at `{0}`, which is no stub router")]
    NotStub(String),
    /// No path leads from one peer to another.
    #[error("no path leads from `{from}` to `{to}`, and both have a peer")]
    Unreachable {
        /// The place of one peer.
        from: String,
        /// The place of the other peer.
        to: String,
    },
    /// A router has more links than ports can be numbered.
    #[error("`{0}` has more than 65,535 links, too many for routing hop by hop; route end to end")]
    TooManyLinks(String),
    /// There are no routes.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// The tables need more memory than they may take.
    #[error("{what}: {exceeded}")]
    Memory {
        /// The tables.
        what: &'static str,
        /// The memory that they need.
        exceeded: Exceeded,
    },
    /// A parameter of a distribution makes no sense.
    #[error("{0}")]
    Parameter(String),
}

/// Checks that tables of `bytes` bytes fit.
pub(super) fn check_memory(what: &'static str, bytes: u64) -> Result<(), UnderlayError> {
    parades_core::budget::check(bytes).map_err(|exceeded| UnderlayError::Memory { what, exceeded })
}
