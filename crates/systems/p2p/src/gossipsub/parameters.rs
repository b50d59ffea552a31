//! The parameters of a simulation of GossipSub, and which of them make sense.

use super::Scores;
use crate::{Invalid, NODES_MAX};
use parades_config::{ConfigError, Values, Words};
use parades_core::time::Delay;

/// The greatest number of topics. A node has a bit for each.
pub const TOPICS_MAX: u32 = 64;

/// The topics to which nodes subscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscriptions {
    /// Every node subscribes to all topics.
    All,
    /// Node `i` subscribes to topic `i mod topics` alone. It publishes on the others by fanout.
    Split,
}

impl Words for Subscriptions {
    const WORDS: &'static [(&'static str, Subscriptions)] =
        &[("all", Subscriptions::All), ("split", Subscriptions::Split)];
}

/// The parameters of a simulation of GossipSub. Those with names of the specification have its defaults.
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_p2p::driver::AsModel;
/// use parades_p2p::gossipsub::{GossipSub, Parameters};
///
/// let parameters = Parameters { nodes: 60, connections: 10, messages: 3, ..Parameters::default() };
/// let gossipsub = GossipSub::new(parameters, 1).expect("possible");
/// let end = gossipsub.end();
/// let model = AsModel::new(gossipsub, Constant::new(Delay::from_ms(50)));
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(end))?;
/// let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter());
/// assert_eq!(counter("deliveries"), Some(3 * 59));
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of nodes, 2 at least.
    #[parameter(integer, default = 1000, range = 2..=NODES_MAX, meaning = "number of nodes")]
    pub nodes: u32,
    /// The number of connections that each node has at least. Node by node, random connections are added
    /// until it has them.
    #[parameter(integer, default = 20, range = 1..=1_000_000, meaning = "least number of connections of a node")]
    pub connections: u32,
    /// The number of connections beyond which a node takes no peers from peer exchange.
    #[parameter(skip, default = 100)]
    pub connections_max: u32,
    /// The number of topics, 1 to [`TOPICS_MAX`].
    #[parameter(integer, default = 1, range = 1..=TOPICS_MAX as u64, meaning = "number of topics")]
    pub topics: u32,
    /// The topics to which nodes subscribe.
    #[parameter(
        choice,
        default = "all",
        needs = "topics>1",
        meaning = "every node subscribes to all topics; or node `i` to topic `i mod topics` alone"
    )]
    pub subscriptions: Subscriptions,
    /// The number of published messages.
    #[parameter(
        integer, default = 16, range = 0..=1_000_000,
        meaning = "number of published messages, each by a random node on a random topic"
    )]
    pub messages: u32,
    /// The length of a message's data in bytes.
    #[parameter(integer, default = 1024, range = 0..=1_000_000_000, meaning = "length of a message in bytes")]
    pub message_bytes: u32,
    /// The time of the first publication.
    #[parameter(duration, default = Delay::from_secs(120), needs = "messages", meaning = "time of the first publication")]
    pub warm_up: Delay,
    /// The time between two publications.
    #[parameter(duration, default = Delay::from_secs(12), needs = "messages>1", meaning = "time between two publications")]
    pub spacing: Delay,
    /// The time that a node needs to validate a message.
    #[parameter(duration, changeable, default = Delay::ZERO, meaning = "time that a node needs to validate a message")]
    pub validation: Delay,
    /// The number of nodes, the last ones, that forward nothing and answer no IWANT.
    #[parameter(integer, default = 0, range = 0..=NODES_MAX, meaning = "number of nodes that forward nothing")]
    pub silent: u32,
    /// The number of nodes, those before the silent ones, that send an invalid message to their mesh at each
    /// heartbeat.
    #[parameter(integer, default = 0, range = 0..=NODES_MAX, meaning = "number of nodes that send invalid messages")]
    pub spammers: u32,
    /// `D`: the wanted number of peers in a mesh.
    #[parameter(integer, changeable, default = 6, range = 1..=10_000, meaning = "D, wanted number of peers in a mesh")]
    pub degree: u32,
    /// `D_lo`: with fewer peers, a node grafts.
    #[parameter(integer, changeable, default = 4, range = 0..=10_000, meaning = "D_lo, number of peers below which a node grafts")]
    pub degree_low: u32,
    /// `D_hi`: with more peers, a node prunes.
    #[parameter(integer, changeable, default = 12, range = 1..=10_000, meaning = "D_hi, number of peers above which a node prunes")]
    pub degree_high: u32,
    /// `D_score`: the number of best peers that a node keeps when it prunes.
    #[parameter(
        integer, default = 4, range = 0..=10_000,
        meaning = "D_score, number of best peers that a node keeps when it prunes"
    )]
    pub degree_score: u32,
    /// `D_out`: the least number of peers in a mesh to which the node itself connected.
    #[parameter(
        integer, default = 2, range = 0..=10_000,
        meaning = "D_out, least number of peers in a mesh to which the node connected"
    )]
    pub degree_out: u32,
    /// `D_lazy`: the least number of peers that get gossip.
    #[parameter(integer, changeable, default = 6, range = 0..=10_000, meaning = "D_lazy, least number of peers that get gossip")]
    pub degree_lazy: u32,
    /// The fraction of peers that get gossip.
    #[parameter(fraction, changeable, default = 0.25, meaning = "fraction of peers that get gossip")]
    pub gossip_factor: f64,
    /// The time between heartbeats.
    #[parameter(duration, changeable, default = Delay::from_secs(1), positive, meaning = "time between heartbeats")]
    pub heartbeat: Delay,
    /// The time for which a node keeps its peers for a topic on which it publishes without subscription.
    #[parameter(skip, default = Delay::from_secs(60))]
    pub fanout_ttl: Delay,
    /// `mcache_len`: the number of heartbeats for which a message is cached.
    #[parameter(skip, default = 5)]
    pub history_length: u32,
    /// `mcache_gossip`: the number of heartbeats for which a node gossips a message.
    #[parameter(skip, default = 3)]
    pub history_gossip: u32,
    /// The time for which a node knows that it has seen a message.
    #[parameter(skip, default = Delay::from_secs(120))]
    pub seen_ttl: Delay,
    /// True if a node's own messages go to all its peers in the topic.
    #[parameter(
        boolean,
        changeable,
        default = true,
        meaning = "a node's own messages go to all its peers in the topic"
    )]
    pub flood_publish: bool,
    /// The time for which two nodes do not graft each other after a PRUNE.
    #[parameter(duration, default = Delay::from_secs(60), meaning = "time after a PRUNE without a GRAFT")]
    pub prune_backoff: Delay,
    /// The number of peers that a PRUNE offers; 0: no peer exchange.
    #[parameter(
        integer, default = 16, range = 0..=10_000,
        meaning = "number of peers that a PRUNE offers; 0: no peer exchange"
    )]
    pub prune_peers: u32,
    /// The number of heartbeats between two tries of opportunistic grafting.
    #[parameter(skip, default = 60)]
    pub opportunistic_ticks: u32,
    /// The number of peers of an opportunistic grafting.
    #[parameter(skip, default = 2)]
    pub opportunistic_peers: u32,
    /// The greatest number of message numbers that a node asks a peer for in one heartbeat.
    #[parameter(skip, default = 5000)]
    pub ihave_length: u32,
    /// The greatest number of IHAVE messages that a node takes from a peer in one heartbeat.
    #[parameter(skip, default = 10)]
    pub ihave_messages: u32,
    /// The greatest number of times that a message is sent again to the same peer.
    #[parameter(skip, default = 3)]
    pub retransmissions: u32,
    /// The time within which a message must come after an IWANT.
    #[parameter(skip, default = Delay::from_secs(3))]
    pub iwant_followup: Delay,
    /// The scores of peers; `None`: every score is 0.
    #[parameter(
        boolean, default = true, read = scores,
        meaning = "peers have scores, with the weights of `parades_p2p::gossipsub::Scores`"
    )]
    pub scores: Option<Scores>,
}

/// Returns the scores of peers, if a parameter says that there are any.
fn scores(values: &Values, key: &str) -> Result<Option<Scores>, ConfigError> {
    Ok(values.boolean(key).then(Scores::default))
}

impl Parameters {
    /// Checks the parameters.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let refuse = |name, what: String| Err((name, what));
        if self.nodes < 2 {
            return refuse("nodes", format!("GossipSub takes 2 nodes at least, not {}", self.nodes));
        }
        let most = self.nodes - 1;
        if !(1..=most).contains(&self.connections) {
            return refuse("connections", format!("each node has 1 to {most} connections, not {}", self.connections));
        }
        if !(1..=TOPICS_MAX).contains(&self.topics) {
            return refuse("topics", format!("there are 1 to {TOPICS_MAX} topics, not {}", self.topics));
        }
        if u64::from(self.silent) + u64::from(self.spammers) >= u64::from(self.nodes) {
            return refuse("silent", "one node at least must behave well: lower `silent` or `spammers`".into());
        }
        for (name, delay) in [("heartbeat", self.heartbeat), ("iwant_followup", self.iwant_followup)] {
            if delay == Delay::ZERO {
                return refuse(name, format!("`{name}` must be above zero"));
            }
        }
        let last = self.spacing.as_ps().checked_mul(u64::from(self.messages));
        if last.and_then(|last| last.checked_add(self.warm_up.as_ps())).is_none_or(|last| last > u64::MAX / 2) {
            return refuse("spacing", "the last message would be published after the end of virtual time".into());
        }
        self.check_degrees()?;
        self.scores.as_ref().map_or(Ok(()), Scores::check)
    }

    fn check_degrees(&self) -> Result<(), Invalid> {
        let &Parameters { degree, degree_low, degree_high, degree_score, degree_out, .. } = self;
        let refuse = |name, what: String| Err((name, what));
        if !(degree_low <= degree && degree <= degree_high) || degree == 0 {
            let given = format!("{degree_low}, {degree} and {degree_high}");
            return refuse("degree", format!("D_lo <= D <= D_hi must hold with D above 0, but they are {given}"));
        }
        if degree_score > degree {
            return refuse("degree_score", format!("D_score must be at most D, {degree}, and is {degree_score}"));
        }
        if degree_out >= degree_low.max(1) || degree_out > degree / 2 {
            let least = format!("below D_lo, {degree_low}, and at most D/2");
            return refuse("degree_out", format!("D_out must be {least}, and is {degree_out}"));
        }
        if !(0.0..=1.0).contains(&self.gossip_factor) {
            return refuse("gossip_factor", format!("a fraction is 0 to 1, not {}", self.gossip_factor));
        }
        if self.history_length == 0 || self.history_gossip > self.history_length {
            return refuse(
                "history_gossip",
                "a node gossips messages of its cache alone: `history_length` is less".into(),
            );
        }
        Ok(())
    }
}
