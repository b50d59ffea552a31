//! BitTorrent: swarms of peers that exchange the pieces of a file.
//!
//! Node 0 is the tracker. The other nodes are peers, divided into one or several swarms. A swarm has
//! consecutive peers and a file of its own; the first of its peers are seeds, which have all pieces. Peers of
//! different swarms exchange no message.
//!
//! | part | what is modelled |
//! |---|---|
//! | tracker | random peers of a swarm for each announce; started, completed, stopped; again after a period |
//! | connections | handshake with bitfield, limits, keep-alive; failed neighbours are forgotten and replaced |
//! | pieces | random first, then rarest first with random ties |
//! | blocks | begun pieces before others as rare; a pipeline to each neighbour; endgame with cancel |
//! | choking | tit-for-tat by the amounts of two periods, one optimistic neighbour, snubbing |
//! | leaving | a peer with all pieces stays as a seed, for ever or for a time |
//!
//! # Limits
//!
//! Hashes are never wrong. `cancel` and `choke` act on blocks that have not set out. As many blocks are on
//! their way on one connection as the buffer of a socket and the path hold (`on_way.rs`). An uploader learns
//! that a block has arrived from a message that stands for the acknowledgements of TCP
//! ([`Message::Arrived`]), or from `have`. Control messages may overtake blocks, where the carrier lets them:
//! a choke lists those on their way, if they are long, and a block that comes after a choke counts. The
//! pipeline is a number of blocks, and not sized by the rate: so the blocks that a peer asks for are a
//! function of the protocol alone.
//!
//! *References*: B. Cohen, "Incentives Build Robustness in BitTorrent", P2PEcon 2003. BEP 3, "The BitTorrent
//! Protocol Specification". BEP 47, "Padding files and extended file attributes".
//!
//! *Read next*: [`Parameters`], then `peer`.

mod bits;
mod block;
mod choke;
mod message;
mod neighbour;
mod on_way;
mod patience;
mod peer;
mod protocol;
mod rarity;
mod report;
mod save;
mod torrent;
mod tracker;

pub use bits::Bits;
pub use block::Block;
pub use message::{Event, Message};
pub use neighbour::Neighbour;
pub use peer::Peer;
pub use protocol::Machine;
pub use torrent::Torrent;
pub use tracker::Tracker;

use crate::Invalid;
use crate::churn::Churn;
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::random::Rng;
use parades_core::time::Delay;
use report::Ids;
use std::fmt;
use std::ops::Range;

/// The node of the tracker.
pub const TRACKER: u32 = 0;

/// The first peer.
const FIRST_PEER: u32 = TRACKER + 1;

/// The greatest number of peers.
pub const PEERS_MAX: u32 = u32::MAX - 4;

/// The length of a piece by default, in bits.
const PIECE_BITS: u64 = 196;

/// The length of a block by default, in bits: 16 KiB (BEP 3, "request").
const BLOCK_BITS: u64 = 16 * 1024 * 8;

/// The greatest number of blocks in a piece.
const BLOCKS_MAX: u64 = 1 << 24;

/// In the endgame, a neighbour may have requests for one in this many blocks of the file, if they are short.
const REPEATS_SHARE: u64 = 100;

/// The random stream of the times of joins.
const JOINS_STREAM: u32 = 0x6274_0001;

/// Returns the distance of two nodes, in any unit.
pub type Distance = Box<dyn Fn(LpId, LpId) -> u64 + Send + Sync>;

/// The parameters of a swarm. The defaults are the workload published with Speer.
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_p2p::bittorrent::{Parameters, Swarm};
/// use parades_p2p::driver::AsModel;
///
/// let parameters = Parameters { peers: 20, pieces: 50, ..Parameters::default() };
/// let swarm = Swarm::new(parameters, 1).expect("possible");
/// let model = AsModel::new(swarm, Constant::new(Delay::from_ms(50)));
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_secs(60)))?;
/// let completed = outcome.metrics.get("completed").and_then(|metric| metric.counter());
/// assert_eq!(completed, Some(19)); // all but the seed
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of peers, seeds among them.
    #[parameter(integer, default = 50, range = 1..=PEERS_MAX as u64, meaning = "number of peers, beside the tracker")]
    pub peers: u32,
    /// The number of swarms. Their numbers of peers differ by one at most.
    #[parameter(
        integer, default = 1, range = 1..=PEERS_MAX as u64,
        meaning = "number of swarms of peers, each with a file of its own"
    )]
    pub swarms: u32,
    /// The number of peers in each swarm that have all pieces at the start. They join at time 0, unless they
    /// come in a flash crowd ([`Parameters::crowd_seeds`]).
    #[parameter(
        integer, default = 1, range = 0..=1_000_000,
        meaning = "number of peers in each swarm that have all pieces from the start"
    )]
    pub seeds: u32,
    /// The number of peers in each swarm that never upload, the last of the swarm.
    #[parameter(
        integer, default = 0, range = 0..=1_000_000_000,
        meaning = "number of peers in each swarm that never upload"
    )]
    pub free_riders: u32,
    /// The number of pieces.
    #[parameter(integer, default = 1000, range = 1..=10_000_000, meaning = "number of pieces")]
    pub pieces: u32,
    /// The length of a piece in bits.
    #[parameter(integer, default = PIECE_BITS, range = 1..=1_000_000_000_000, meaning = "length of a piece in bits")]
    pub piece_bits: u64,
    /// The pieces that are shorter than the others, by number, with their lengths in bits: the last piece of
    /// most files, and pieces that are partly padding.
    #[parameter(skip, default = Vec::new())]
    pub shorter: Vec<(u32, u64)>,
    /// The length of a block in bits. A piece that is not longer is one block.
    #[parameter(
        integer, default = BLOCK_BITS, range = 1..=1_000_000_000_000,
        meaning = "length of a block in bits, for which a request asks"
    )]
    pub block_bits: u64,
    /// Mean time between two joins of a swarm, which are a Poisson process; zero: all join at the start.
    #[parameter(
        duration, default = Delay::from_ms(2),
        meaning = "mean time between two joins of a swarm, which are a Poisson process"
    )]
    pub spacing: Delay,
    /// Greatest number of connections that a peer opens.
    #[parameter(integer, default = 7, range = 1..=60_000, meaning = "greatest number of connections that a peer opens")]
    pub outgoing: u32,
    /// Greatest number of connections of a peer.
    #[parameter(integer, default = 55, range = 1..=60_000, meaning = "greatest number of connections of a peer")]
    pub connections: u32,
    /// Number of neighbours that tit-for-tat unchokes.
    #[parameter(integer, changeable, default = 4, range = 0..=60_000, meaning = "number of neighbours that tit-for-tat unchokes")]
    pub unchokes: u32,
    /// Period of the choice of unchoked neighbours. Amounts are those of the last two periods.
    #[parameter(
        duration, changeable, default = Delay::from_secs(10), positive,
        meaning = "period of the choice of unchoked neighbours"
    )]
    pub rechoke: Delay,
    /// True if a peer gives a free slot to the next neighbour at once; false if the neighbour waits for the
    /// end of the period.
    #[parameter(
        boolean,
        default = true,
        meaning = "a peer gives a free slot to the next neighbour at once; false: at the end of the period"
    )]
    pub fills_slots: bool,
    /// Number of periods after which another neighbour is the optimistic one.
    #[parameter(
        integer, default = 3, range = 1..=1_000_000,
        meaning = "periods after which another neighbour is the optimistic one"
    )]
    pub optimistic_turns: u32,
    /// Least time without a requested block after which a neighbour snubs. Where blocks take long, the time
    /// is longer.
    #[parameter(
        duration, default = Delay::from_secs(60),
        meaning = "least time without a requested block after which a neighbour snubs; longer where blocks take long"
    )]
    pub snub: Delay,
    /// Greatest number of requests to a neighbour that it has not answered, each for a block.
    #[parameter(
        integer, default = 10, range = 1..=1_000_000,
        meaning = "greatest number of requests, each for a block, to a neighbour without an answer"
    )]
    pub pipeline: u32,
    /// Greatest number of blocks on their way to a neighbour. Fewer are on their way while they hold half a
    /// second of data, besides that of a round trip.
    #[parameter(
        integer, default = 10, range = 1..=1_000_000,
        meaning = "greatest number of blocks on their way to a neighbour"
    )]
    pub on_way: u32,
    /// Number of pieces that a peer picks at random, before it picks the rarest.
    #[parameter(
        integer, default = 4, range = 0..=1_000_000,
        meaning = "number of pieces that a peer picks at random, before the rarest"
    )]
    pub random_first: u32,
    /// Number of peers in an answer of the tracker.
    #[parameter(integer, default = 50, range = 1..=1_000_000, meaning = "number of peers in an answer of the tracker")]
    pub answer: u32,
    /// Period of announces.
    #[parameter(duration, changeable, default = Delay::from_secs(1800), positive, meaning = "period of announces to the tracker")]
    pub announce: Delay,
    /// Least time between two announces of a peer that lacks neighbours.
    #[parameter(skip, default = Delay::from_secs(10))]
    pub announce_least: Delay,
    /// Time after which a handshake without an answer has failed.
    #[parameter(skip, default = Delay::from_secs(20))]
    pub handshake: Delay,
    /// Time of silence after which a peer sends a keep-alive. A neighbour silent for twice as long has
    /// failed, or for the time that a block may take, if that is longer.
    #[parameter(skip, default = Delay::from_secs(60))]
    pub keep_alive: Delay,
    /// Probability that a peer connects to the nearest known peer instead of to a random one, where the swarm
    /// has a distance.
    #[parameter(
        fraction,
        default = 0.0,
        meaning = "probability that a peer connects to the peer of the least latency among those that it \
                   knows; otherwise to any"
    )]
    pub locality: f64,
    /// Time for which a peer stays once it has all pieces; `None`: for ever.
    #[parameter(
        duration, changeable, default = Delay::ZERO,
        meaning = "time for which a peer stays once it has all pieces; 0s: for ever"
    )]
    pub seeding: Option<Delay>,
    /// True if seeds come in a flash crowd as other peers do; false if they are there from the start.
    #[parameter(
        boolean,
        default = false,
        meaning = "seeds come in the flash crowd too; false: they are there from the start"
    )]
    pub crowd_seeds: bool,
    /// True if each peer keeps the source of the last block of each piece, for the table `pieces` of the
    /// metrics.
    #[parameter(skip, default = false)]
    pub keeps_sources: bool,
    /// The coming and going of nodes, if there is any. It holds for the tracker too, unless that is stable
    /// ([`Churn::with_stable`]). A peer that comes back with its state has the pieces that it had.
    #[parameter(skip, default = None)]
    pub churn: Option<Churn>,
}

/// The protocol of one or several swarms: parameters that have been checked, and the times of joins.
pub struct Swarm {
    parameters: Parameters,
    /// The time at which each node joins.
    joins: Vec<Delay>,
    distance: Option<Distance>,
    ids: Ids,
}

impl fmt::Debug for Swarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Swarm({:?})", self.parameters)
    }
}

impl Swarm {
    /// Makes the protocol. `seed` gives the times of joins.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn new(parameters: Parameters, seed: u64) -> Result<Swarm, Invalid> {
        check(&parameters)?;
        let rng = Rng::shared(seed, JOINS_STREAM);
        let ids = Ids::declare(&mut Metrics::new(), parameters.keeps_sources);
        let mut swarm = Swarm { parameters, joins: vec![Delay::ZERO], distance: None, ids };
        for number in 0..swarm.parameters.swarms {
            let mut last = Delay::ZERO;
            for node in swarm.members(number) {
                if !swarm.is_seed(node) && swarm.parameters.spacing > Delay::ZERO {
                    last = last.saturating_add(rng.exponential_delay(swarm.parameters.spacing));
                }
                swarm.joins.push(last);
            }
        }
        Ok(swarm)
    }

    /// Gives the swarm a distance, for [`Parameters::locality`].
    #[must_use]
    pub fn with_distance(self, distance: Distance) -> Swarm {
        Swarm { distance: Some(distance), ..self }
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the swarm of a peer, counted from 0; `None` for a node that is no peer.
    pub fn swarm_of(&self, node: u32) -> Option<u32> {
        let Parameters { peers, swarms, .. } = self.parameters;
        let number = |index| u64::from(index) * u64::from(swarms) / u64::from(peers);
        let index = node.checked_sub(FIRST_PEER).filter(|&index| index < peers)?;
        Some(u32::try_from(number(index)).expect("fewer than the swarms"))
    }

    /// Returns the peers of a swarm, counted from 0.
    pub fn members(&self, swarm: u32) -> Range<u32> {
        let Parameters { peers, swarms, .. } = self.parameters;
        // The index of the first peer that `swarm_of` puts into the swarm.
        let first = |swarm| (u64::from(swarm) * u64::from(peers)).div_ceil(u64::from(swarms));
        let node = |swarm| FIRST_PEER + u32::try_from(first(swarm)).expect("no more than the peers");
        node(swarm)..node(swarm + 1)
    }

    /// Returns whether a node is a seed from the start.
    pub fn is_seed(&self, node: u32) -> bool {
        self.swarm_of(node).is_some_and(|swarm| node - self.members(swarm).start < self.parameters.seeds)
    }

    fn rides_free(&self, node: u32) -> bool {
        self.swarm_of(node).is_some_and(|swarm| self.members(swarm).end - node <= self.parameters.free_riders)
    }

    fn outgoing(&self) -> usize {
        self.parameters.outgoing as usize
    }

    /// Returns the length of a piece in bits.
    fn bits(&self, piece: u32) -> u64 {
        let Parameters { shorter, piece_bits, .. } = &self.parameters;
        shorter.binary_search_by_key(&piece, |shorter| shorter.0).map_or(*piece_bits, |place| shorter[place].1)
    }

    /// Returns the number of blocks of a piece.
    fn blocks(&self, piece: u32) -> u32 {
        blocks(self.bits(piece), self.parameters.block_bits)
    }

    /// Returns the greatest number of blocks of a piece.
    fn blocks_max(&self) -> u32 {
        blocks(self.parameters.piece_bits, self.parameters.block_bits)
    }

    /// Returns two limits of the endgame, which are equal: the most requests of a neighbour that gets another
    /// one, and the most neighbours that were asked for a block for which another one is asked. They are 1,
    /// as in libtorrent, if blocks need several packets, or if the file is short.
    fn repeats_max(&self) -> u16 {
        let Parameters { pieces, piece_bits, block_bits, .. } = self.parameters;
        let share = u64::from(pieces) * u64::from(self.blocks_max()) / REPEATS_SHARE;
        let is_long = block::is_long(piece_bits.min(block_bits));
        if is_long { 1 } else { u16::try_from(share).unwrap_or(u16::MAX).max(1) }
    }

    /// Returns the length of a block in bits.
    fn block_bits(&self, block: Block) -> u64 {
        let Parameters { block_bits, .. } = self.parameters;
        block_bits.min(self.bits(block.piece) - u64::from(block.index) * block_bits)
    }

    /// Returns the time at which a node joins; `None` at the start.
    fn join(&self, node: u32) -> Option<Delay> {
        self.joins.get(node as usize).copied().filter(|&join| join > Delay::ZERO)
    }

    /// Returns the index of the peer, among those that `own` knows, to which it connects.
    fn choose(&self, own: u32, known: &[u32], rng: &Rng) -> usize {
        match &self.distance {
            Some(distance) if rng.chance(self.parameters.locality) => {
                let by_distance = |index: &usize| (distance(LpId(own), LpId(known[*index])), known[*index]);
                (0..known.len()).min_by_key(by_distance).unwrap_or_default()
            }
            _ => rarity::any_below(known.len(), rng),
        }
    }

    fn declare_metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        Ids::declare(&mut metrics, self.parameters.keeps_sources);
        metrics
    }
}

/// Returns the number of blocks of a piece with these lengths.
fn blocks(piece_bits: u64, block_bits: u64) -> u32 {
    u32::try_from(piece_bits.div_ceil(block_bits)).expect("a piece has no more than `BLOCKS_MAX` blocks")
}

fn check(parameters: &Parameters) -> Result<(), Invalid> {
    let zero = |name, what: &str| Err((name, format!("{what} must be above zero")));
    // The number of peers of the smallest swarm.
    let least = parameters.peers / parameters.swarms.max(1);
    let in_swarm = if parameters.swarms > 1 { " in a swarm" } else { "" };
    match parameters {
        Parameters { peers, .. } if !(1..=PEERS_MAX).contains(peers) => {
            Err(("peers", format!("the number of peers must be from 1 to {PEERS_MAX}")))
        }
        Parameters { swarms, peers, .. } if !(1..=*peers).contains(swarms) => {
            Err(("swarms", format!("the number of swarms must be from 1 to the number of peers, {peers}")))
        }
        Parameters { seeds, .. } if *seeds > least => {
            Err(("seeds", format!("{seeds} seeds are more than {least} peers{in_swarm}")))
        }
        Parameters { seeds, free_riders, .. } if *free_riders > least - seeds => Err((
            "free_riders",
            format!("{free_riders} free riders are more than the {} peers that download{in_swarm}", least - seeds),
        )),
        Parameters { pieces: 0, .. } => zero("pieces", "the number of pieces"),
        Parameters { piece_bits: 0, .. } => zero("piece_bits", "the length of a piece"),
        Parameters { block_bits: 0, .. } => zero("block_bits", "the length of a block"),
        Parameters { block_bits, piece_bits, .. } if piece_bits.div_ceil(*block_bits) > BLOCKS_MAX => {
            Err(("block_bits", format!("a piece of {piece_bits} bits would have more than {BLOCKS_MAX} blocks")))
        }
        Parameters { shorter, pieces, piece_bits, .. } if !are_shorter(shorter, *pieces, *piece_bits) => {
            Err(("shorter", "shorter pieces must be in order, not empty, and not longer than the others".into()))
        }
        Parameters { rechoke: Delay::ZERO, .. } => zero("rechoke", "the period of choking"),
        Parameters { announce: Delay::ZERO, .. } => zero("announce", "the period of announces"),
        Parameters { optimistic_turns: 0, .. } => zero("optimistic_turns", "the number of periods"),
        Parameters { pipeline: 0, .. } => zero("pipeline", "the number of requests"),
        Parameters { on_way: 0, .. } => zero("on_way", "the number of blocks on their way"),
        Parameters { connections, .. } if !(1..=60_000).contains(connections) => {
            Err(("connections", "the number of connections must be from 1 to 60000".into()))
        }
        Parameters { locality, .. } if !(0.0..=1.0).contains(locality) => {
            Err(("locality", "the probability must be from 0 to 1".into()))
        }
        _ => Ok(()),
    }
}

/// Returns whether a list of shorter pieces is in order, and each of them has bits, but no more than the
/// others.
fn are_shorter(shorter: &[(u32, u64)], pieces: u32, piece_bits: u64) -> bool {
    shorter.is_sorted_by(|one, next| one.0 < next.0)
        && shorter.iter().all(|&(piece, bits)| piece < pieces && (1..=piece_bits).contains(&bits))
}
