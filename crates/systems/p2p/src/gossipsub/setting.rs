//! The constants of a simulation of GossipSub, which all its nodes share.

use super::report::Ids;
use super::{Parameters, Scores, Subscriptions};
use crate::Invalid;
use parades_core::metrics::Metrics;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};

/// The random stream of connections.
const CONNECTIONS_STREAM: u32 = 0x6773_0001;
/// The random stream of publications.
const PUBLICATIONS_STREAM: u32 = 0x6773_0002;
/// The time after the last publication for which a run goes on.
const REST: Delay = Delay::from_secs(30);

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The node that publishes.
    pub author: u32,
    /// The topic.
    pub topic: u32,
    /// The time.
    pub time: Time,
}

/// The protocol: parameters that have been checked, and what follows from them and a seed.
#[derive(Debug)]
pub struct GossipSub {
    parameters: Parameters,
    /// The connections of each node by the number of the peer; true for those that the node itself opened.
    connections: Vec<Vec<(u32, bool)>>,
    publications: Vec<Publication>,
    pub(super) ids: Ids,
}

impl GossipSub {
    /// Makes the protocol of these parameters, with the connections and publications that `seed` gives.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn new(parameters: Parameters, seed: u64) -> Result<GossipSub, Invalid> {
        parameters.check()?;
        let connections = connect(&parameters, &Rng::shared(seed, CONNECTIONS_STREAM));
        let publications = publish(&parameters, &Rng::shared(seed, PUBLICATIONS_STREAM));
        Ok(GossipSub { parameters, connections, publications, ids: Ids::declare(&mut Metrics::new()) })
    }

    /// Returns the parameters.
    #[inline]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the parameters of scores, if peers have scores.
    #[inline]
    pub(super) fn scores(&self) -> Option<&Scores> {
        self.parameters.scores.as_ref()
    }

    /// Returns one of the thresholds of scores. Without scores it is below every score.
    #[inline]
    pub(super) fn threshold(&self, which: impl FnOnce(&Scores) -> f64) -> f64 {
        self.scores().map_or(f64::NEG_INFINITY, which)
    }

    /// Returns all publications in the order of their times.
    pub fn publications(&self) -> &[Publication] {
        &self.publications
    }

    /// Returns a time 30 s after the last publication.
    pub fn end(&self) -> Time {
        self.publications.last().map_or(Time::ZERO, |last| last.time).saturating_add(REST)
    }

    /// Returns the connections of a node at the start.
    pub(super) fn connections(&self, node: u32) -> &[(u32, bool)] {
        &self.connections[node as usize]
    }

    /// Returns the topics to which a node subscribes, a bit for each.
    pub(super) fn topics(&self, node: u32) -> u64 {
        let topics = self.parameters.topics;
        match self.parameters.subscriptions {
            Subscriptions::All => u64::MAX >> (64 - topics),
            Subscriptions::Split => 1 << (node % topics),
        }
    }

    /// Returns true if the node forwards nothing.
    pub(super) fn is_silent(&self, node: u32) -> bool {
        node >= self.parameters.nodes - self.parameters.silent
    }

    /// Returns true if the node sends invalid messages.
    pub(super) fn is_spammer(&self, node: u32) -> bool {
        !self.is_silent(node) && node >= honest(&self.parameters)
    }
}

/// Returns the number of nodes that behave well. They are the first ones.
fn honest(parameters: &Parameters) -> u32 {
    parameters.nodes - parameters.silent - parameters.spammers
}

/// Draws a number below `n`.
#[expect(clippy::cast_possible_truncation, reason = "below a number of 32 bits")]
fn below(rng: &Rng, n: u32) -> u32 {
    rng.below(u64::from(n)) as u32
}

/// Draws the connections of all nodes.
fn connect(parameters: &Parameters, rng: &Rng) -> Vec<Vec<(u32, bool)>> {
    let &Parameters { nodes, connections, .. } = parameters;
    let mut all: Vec<Vec<(u32, bool)>> = vec![Vec::new(); nodes as usize];
    for node in 0..nodes {
        // Among few others that are no peers yet, a draw from all nodes would seldom find one.
        let mut others = if connections > nodes / 2 { others(node, &all[node as usize], nodes) } else { Vec::new() };
        while all[node as usize].len() < connections as usize {
            let left = u32::try_from(others.len()).expect("no more than the nodes");
            let other = if left == 0 { below(rng, nodes) } else { others.swap_remove(below(rng, left) as usize) };
            if other == node || all[node as usize].iter().any(|&(peer, _)| peer == other) {
                continue;
            }
            all[node as usize].push((other, true));
            all[other as usize].push((node, false));
        }
    }
    all.iter_mut().for_each(|peers| peers.sort_unstable());
    all
}

/// Returns the nodes that a node has no connection with.
fn others(node: u32, peers: &[(u32, bool)], nodes: u32) -> Vec<u32> {
    let mut is_other = vec![true; nodes as usize];
    is_other[node as usize] = false;
    peers.iter().for_each(|&(peer, _)| is_other[peer as usize] = false);
    (0..nodes).filter(|&other| is_other[other as usize]).collect()
}

/// Draws the publications.
fn publish(parameters: &Parameters, rng: &Rng) -> Vec<Publication> {
    let first = Time::ZERO.saturating_add(parameters.warm_up);
    let publication = |index: u32| {
        let since_first = Delay::from_ps(parameters.spacing.as_ps() * u64::from(index));
        let author = below(rng, honest(parameters));
        Publication { author, topic: below(rng, parameters.topics), time: first.saturating_add(since_first) }
    };
    (0..parameters.messages).map(publication).collect()
}
