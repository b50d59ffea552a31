//! A node's knowledge of one of its peers.

use super::GossipSub;
use super::scores::Counters;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// A peer, to which the node has a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) id: u32,
    /// True if the node itself opened the connection.
    pub(super) is_outbound: bool,
    /// The topics to which the peer subscribes, a bit for each.
    pub(super) topics: u64,
    /// P7: misdemeanours.
    pub(super) penalty: f64,
    /// IHAVE messages of the peer since the last heartbeat.
    pub(super) ihaves: u32,
    /// Messages that the node has asked the peer for since the last heartbeat.
    pub(super) asked: u32,
    /// The peer's state in each topic.
    pub(super) in_topic: Vec<InTopic>,
}

/// A peer in a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct InTopic {
    pub(super) counters: Counters,
    /// The time until which the two do not graft each other.
    pub(super) backoff: Time,
}

impl Peer {
    pub(super) fn new(id: u32, is_outbound: bool, topics: u32) -> Peer {
        let in_topic = vec![InTopic::default(); topics as usize];
        Peer { id, is_outbound, topics: 0, penalty: 0.0, ihaves: 0, asked: 0, in_topic }
    }

    /// Returns true if the peer subscribes to the topic.
    #[inline]
    pub(super) fn is_subscribed(&self, topic: u32) -> bool {
        self.topics >> topic & 1 == 1
    }

    /// Returns true if the peer is in the mesh of the topic.
    #[inline]
    pub(super) fn is_in_mesh(&self, topic: u32) -> bool {
        self.in_topic(topic).counters.grafted.is_some()
    }

    #[inline]
    pub(super) fn in_topic(&self, topic: u32) -> &InTopic {
        &self.in_topic[topic as usize]
    }

    #[inline]
    pub(super) fn in_topic_mut(&mut self, topic: u32) -> &mut InTopic {
        &mut self.in_topic[topic as usize]
    }

    /// Lets all counters decay.
    pub(super) fn decay(&mut self, gossipsub: &GossipSub, now: Time) {
        let Some(scores) = gossipsub.scores() else { return };
        self.in_topic.iter_mut().for_each(|topic| topic.counters.decay(scores, now));
        scores.decay(&mut self.penalty, scores.behaviour_penalty_decay);
    }
}

/// Returns the score of the peer with an index in the list of all peers.
pub(super) fn score(gossipsub: &GossipSub, peers: &[Peer], index: usize) -> f64 {
    let Some(scores) = gossipsub.scores() else { return 0.0 };
    let peer = &peers[index];
    let mut score: f64 = peer.in_topic.iter().map(|topic| topic.counters.score(scores)).sum();
    if scores.topic_score_cap > 0.0 {
        score = score.min(scores.topic_score_cap);
    }
    score += scores.app_specific_weight * scores.app_specific.get(peer.id as usize).copied().unwrap_or_default();
    if !scores.addresses.is_empty() {
        let address = scores.address(peer.id);
        let here = peers.iter().filter(|other| scores.address(other.id) == address).count() as u64;
        let surplus = here.saturating_sub(u64::from(scores.ip_colocation_factor_threshold)) as f64;
        score += scores.ip_colocation_factor_weight * surplus * surplus;
    }
    score + scores.behaviour_penalty_weight * peer.penalty * peer.penalty
}
