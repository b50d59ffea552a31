//! Underlays of peer-to-peer networks: what lies between two peers, as the latency and the fate of a message.
//!
//! | source | latency between two peers |
//! |---|---|
//! | [`Underlay::constant`] | the same always |
//! | [`Underlay::table`] | from a table, such as measured latencies or pings between [`Cities`] |
//! | [`Underlay::coordinates`] | the distance of their [`Coordinates`] |
//! | [`Underlay::graph`] | the least of all paths between their routers |
//! | [`Underlay::transit_stub`] | the same, on a network of domains |
//!
//! # Routing
//!
//! End to end, a message is one event, at its receiver. Hop by hop, each router on the way is an LP, and each
//! hop an event ([`Routing`]). Both give the same arrival times to the picosecond: a message takes the path
//! of least latency, and the sum of the latencies of its links is the same number. Hop by hop is for
//! questions about routers; end to end is faster by the length of the paths.
//!
//! # Jitter, loss and partitions
//!
//! [`Jitter`] is added to the latency. A message may be lost by chance, or cut by a [`Partition`]. All this
//! is decided when the message is sent, with random numbers from the sender's stream, and so is the same
//! under both kinds of routing. A sender that awaits a lost message learns of the loss at the time at which
//! the message would have arrived ([`parades_program::Undelivered`]).
//!
//! Jitter and decorations let one message overtake another. With [`Underlay::in_order`], messages between two
//! peers keep their order, as on one connection.
//!
//! A message from a peer to itself takes no time, and is never lost.
//!
//! # Decorations
//!
//! A [`Decoration`] of any crate may delay or lose messages on chosen links, and a record keeps messages as a
//! table ([`Underlay::with_record`]). Peers see neither.
//!
//! # Lookahead
//!
//! It is found, not asked for. End to end, each sender has the least of its latencies, and a longer one to
//! peers of other stub domains or other places; hop by hop, each link has its own. Jitter only adds, so it
//! does not lower the lookahead.
//!
//! # Memory
//!
//! A graph needs a table of all pairs of peers. A transit–stub network needs memory linear in peers, and
//! quadratic in its transit routers only. Hop by hop, there is a table of two bytes for each router and peer.
//!
//! Results: `underlay_hops` counts messages that routers have sent on, `underlay_losses` messages lost by
//! chance, `underlay_drops` messages that decorations have lost, `partition_1_cuts` messages that the first
//! partition has cut.
//!
//! *Read next*: [`Underlay`].

mod carrier;
mod cities;
mod coordinates;
mod decoration;
mod distances;
mod domains;
mod error;
mod graph;
mod hops;
mod jitter;
mod order;
mod packet;
mod pairs;
mod partition;

pub use carrier::Counts;
pub use cities::{Cities, Statistic};
pub use coordinates::Coordinates;
pub use decoration::{Decoration, Effect, Passage, Recorded};
pub use error::UnderlayError;
pub use jitter::Jitter;
pub use packet::{Packet, Plan};
pub use partition::Partition;

use crate::Matrix;
use distances::{Distances, Places};
use domains::DomainPaths;
use hops::Hops;
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_program::{Layout, Wiring};
use parades_topology::generators::Domains;
use parades_topology::{NodeId, Topology};
use std::fmt;
use std::sync::Arc;

/// The way of a message through a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// One event, at the receiver.
    EndToEnd,
    /// An event at each router.
    HopByHop,
}

/// The carrier of a peer-to-peer program whose messages take the latency of an underlay.
///
/// # Examples
///
/// Twenty peers on a transit–stub network. Both kinds of routing agree on all latencies:
///
/// ```
/// use parades_carriers::underlay::{Routing, Underlay, draw_places};
/// use parades_core::prelude::*;
/// use parades_topology::generators::TransitStub;
///
/// let sizes = TransitStub { transit_domains: 2, transit_nodes: 5, stub_domains: 4, stub_nodes: 8 };
/// let domains = sizes.generate(&Rng::shared(1, 0)).expect("possible sizes");
/// let routers: Vec<_> = domains.stub_routers().collect();
/// let places = draw_places(&routers, 20, "stub routers", &Rng::shared(1, 1))?;
/// let underlay = Underlay::transit_stub(&domains, &places, Routing::EndToEnd)?;
/// let hop_by_hop = Underlay::transit_stub(&domains, &places, Routing::HopByHop)?;
/// let latency = underlay.latency(LpId(0), LpId(1)).expect("there are 20 peers");
/// assert_eq!(hop_by_hop.latency(LpId(0), LpId(1)), Some(latency));
/// assert!(latency > Delay::from_ms(2), "{latency}");
///
/// let error = draw_places(&routers, 100, "stub routers", &Rng::shared(1, 1)).unwrap_err();
/// assert!(error.to_string().starts_with("100 peers need a place of their own each, but there are only "));
/// # Ok::<(), parades_carriers::underlay::UnderlayError>(())
/// ```
#[derive(Clone)]
pub struct Underlay {
    distances: Distances,
    hops: Option<Box<Hops>>,
    /// The latency between each peer and its place; empty if there is none.
    access: Arc<[Delay]>,
    jitter: Option<Jitter>,
    /// True if messages between two peers keep their order.
    in_order: bool,
    /// The probability that a message is lost.
    loss: f64,
    partitions: Vec<Partition>,
    decorations: Vec<Arc<dyn Decoration>>,
    recorded: Option<Recorded>,
}

impl fmt::Debug for Underlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.distances {
            Distances::Constant(latency) => format!("{latency}"),
            Distances::Places { places, .. } => format!("{} places", places.count()),
            Distances::Pairs(matrix) => format!("{} peers on a graph", matrix.places()),
            Distances::Domains(_, peers) => format!("{peers} peers on a transit-stub network"),
        };
        let routing = if self.hops.is_some() { "hop by hop" } else { "end to end" };
        let Underlay { jitter, loss, partitions, .. } = self;
        write!(f, "Underlay({source}, {routing}, {jitter:?}, loss {loss}, {} partitions)", partitions.len())
    }
}

impl Underlay {
    fn new(distances: Distances, hops: Option<Box<Hops>>) -> Underlay {
        Underlay {
            distances,
            hops,
            access: Arc::default(),
            jitter: None,
            in_order: false,
            loss: 0.0,
            partitions: Vec::new(),
            decorations: Vec::new(),
            recorded: None,
        }
    }

    /// Every message takes `latency`.
    pub fn constant(latency: Delay) -> Underlay {
        Underlay::new(Distances::Constant(latency), None)
    }

    /// Messages take the latencies of a table. Peers are at its places in their order. Where there are more
    /// peers than places, several share a place, and a message between two of them takes `local`. Entries
    /// below `least` between different places are raised to it: measurements that were rounded to zero would
    /// leave no lookahead.
    pub fn table(matrix: Matrix, least: Delay, local: Delay) -> Underlay {
        Underlay::new(Distances::Places { places: Places::Table(matrix), least, local }, None)
    }

    /// Messages take the latencies of coordinates. Otherwise as [`Underlay::table`].
    pub fn coordinates(coordinates: Coordinates, least: Delay, local: Delay) -> Underlay {
        Underlay::new(Distances::Places { places: Places::Coordinates(coordinates), least, local }, None)
    }

    /// Messages take the path of least latency through a graph. `places` has the router of each peer.
    ///
    /// # Errors
    ///
    /// If two peers share a router, if no path joins two peers, or if the tables take too much memory.
    pub fn graph(topology: Topology, places: &[NodeId], routing: Routing) -> Result<Underlay, UnderlayError> {
        check_distinct(&topology, places)?;
        let pairs = pairs::least_latencies(&topology, places)?;
        let hops = match routing {
            Routing::EndToEnd => None,
            Routing::HopByHop => Some(Box::new(Hops::new(topology, places)?)),
        };
        Ok(Underlay::new(Distances::Pairs(pairs), hops))
    }

    /// As [`Underlay::graph`], on a transit–stub network with peers at stub routers.
    ///
    /// # Errors
    ///
    /// As [`Underlay::graph`]; also if a peer is at a transit router.
    pub fn transit_stub(domains: &Domains, places: &[NodeId], routing: Routing) -> Result<Underlay, UnderlayError> {
        check_distinct(domains.topology(), places)?;
        let paths = DomainPaths::new(domains, places)?;
        let hops = match routing {
            Routing::EndToEnd => None,
            Routing::HopByHop => Some(Box::new(Hops::new(domains.topology().clone(), places)?)),
        };
        let peers = u32::try_from(places.len()).expect("places are among the nodes");
        Ok(Underlay::new(Distances::Domains(paths, peers), hops))
    }

    /// Adds the latencies between each peer and its place, which a message takes at either end.
    ///
    /// Peers without an entry have none. Without these latencies, a peer may lie on the path of least latency
    /// between two others. An answer that it sends at once then arrives together with the message that caused
    /// it.
    #[must_use]
    pub fn with_access(self, latencies: Vec<Delay>) -> Underlay {
        Underlay { access: latencies.into(), ..self }
    }

    /// Adds jitter to each message.
    #[must_use]
    pub fn with_jitter(self, jitter: Jitter) -> Underlay {
        Underlay { jitter: Some(jitter), ..self }
    }

    /// Messages between two peers keep their order, as on one connection. A message that would overtake
    /// another one arrives a picosecond after it.
    #[must_use]
    pub fn in_order(self) -> Underlay {
        Underlay { in_order: true, ..self }
    }

    /// Loses each message with this probability.
    ///
    /// # Errors
    ///
    /// If it is not a number from 0 to 1.
    pub fn with_loss(self, loss: f64) -> Result<Underlay, UnderlayError> {
        if !(0.0..=1.0).contains(&loss) {
            let message = format!("the probability of loss must be from 0 to 1, not {loss}");
            return Err(UnderlayError::Parameter(message));
        }
        Ok(Underlay { loss, ..self })
    }

    /// Adds a partition. Each message is cut by one at most, the first that was added.
    #[must_use]
    pub fn with_partition(mut self, partition: Partition) -> Underlay {
        self.partitions.push(partition);
        self
    }

    /// Adds a decoration behind those that were added before. It sees each message with its jitter, before
    /// losses and partitions.
    #[must_use]
    pub fn with_decoration(mut self, decoration: impl Decoration) -> Underlay {
        self.decorations.push(Arc::new(decoration));
        self
    }

    /// Keeps a record of messages, in the table `underlay_record`: sender, receiver, time of departure, time
    /// taken, and whether the message arrives.
    #[must_use]
    pub fn with_record(self, recorded: Recorded) -> Underlay {
        Underlay { recorded: Some(recorded), ..self }
    }

    /// Returns the latency from a peer to another one, without jitter; `None` if there is no such peer.
    #[inline]
    pub fn latency(&self, from: LpId, to: LpId) -> Option<Delay> {
        if self.distances.peers().is_some_and(|peers| from.0.max(to.0) >= peers) {
            return None;
        }
        if from == to {
            return Some(Delay::ZERO);
        }
        Some(self.distances.between(from.0, to.0).saturating_add(self.access_of(from, to)))
    }

    /// Returns the latencies between two peers and their places.
    #[inline]
    fn access_of(&self, from: LpId, to: LpId) -> Delay {
        let of = |peer: LpId| self.access.get(peer.index()).copied().unwrap_or(Delay::ZERO);
        of(from).saturating_add(of(to))
    }

    /// Returns a lower bound on the latencies between `peers` peers, without jitter; `None` if there is one
    /// peer.
    pub fn least_latency(&self, peers: u32) -> Option<Delay> {
        let mut wiring = Wiring::new(peers, peers);
        self.distances.wire(Layout::new(peers, peers, 0), &mut wiring);
        let channels = wiring.into_channels();
        (0..peers).filter_map(|peer| channels.lookahead_to_anyone(LpId(peer))).min()
    }

    /// Returns true if a partition cuts a message between two peers that departs and arrives at these times.
    #[inline]
    pub fn is_cut(&self, from: LpId, to: LpId, departs: Time, arrives: Time) -> bool {
        self.partitions.iter().any(|partition| partition.cuts(from, to, departs, arrives))
    }
}

/// Draws a router of its own for each peer. `what` names the routers in the error, in the plural.
///
/// # Errors
///
/// If there are fewer routers than peers.
pub fn draw_places(
    routers: &[NodeId],
    peers: u32,
    what: &'static str,
    rng: &Rng,
) -> Result<Vec<NodeId>, UnderlayError> {
    if routers.len() < peers as usize {
        return Err(UnderlayError::TooManyPeers { peers, places: routers.len(), what });
    }
    // The first steps of a shuffle.
    let mut routers = routers.to_vec();
    for peer in 0..peers as usize {
        let drawn = rng.below((routers.len() - peer) as u64);
        routers.swap(peer, peer + usize::try_from(drawn).expect("it is below the number of routers"));
    }
    routers.truncate(peers as usize);
    Ok(routers)
}

/// Checks that each peer has a router of its own.
fn check_distinct(topology: &Topology, places: &[NodeId]) -> Result<(), UnderlayError> {
    let mut seen = vec![false; topology.nodes()];
    match places.iter().find(|place| std::mem::replace(&mut seen[place.index()], true)) {
        Some(&twice) => Err(UnderlayError::Shared(topology.name(twice).to_owned())),
        None => Ok(()),
    }
}
