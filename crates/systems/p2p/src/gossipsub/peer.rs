//! A node's knowledge of one of its peers.

use super::GossipSub;
use super::scores::{Counters, Scores};
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
    penalty: f64,
    /// IHAVE messages of the peer since the last heartbeat.
    pub(super) ihaves: u32,
    /// Messages that the node has asked the peer for since the last heartbeat.
    pub(super) asked: u32,
    /// The peer's state in each topic.
    in_topic: Vec<InTopic>,
    /// The topics in whose meshes the peer is, a bit for each. It follows from `in_topic`.
    #[serde(skip)]
    mesh: u64,
    /// The peers at the address of this one, itself included; 0 without a list of addresses.
    #[serde(skip)]
    pub(super) at_address: u32,
    /// The score as of the last change of what it is computed from.
    #[serde(skip)]
    score: f64,
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
        Peer {
            id,
            is_outbound,
            topics: 0,
            penalty: 0.0,
            ihaves: 0,
            asked: 0,
            in_topic,
            mesh: 0,
            at_address: 0,
            score: 0.0,
        }
    }

    /// Returns true if the peer subscribes to the topic.
    #[inline]
    pub(super) fn is_subscribed(&self, topic: u32) -> bool {
        self.topics >> topic & 1 == 1
    }

    /// Returns true if the peer is in the mesh of the topic.
    #[inline]
    pub(super) fn is_in_mesh(&self, topic: u32) -> bool {
        self.mesh >> topic & 1 == 1
    }

    /// Returns the score, which is 0 if peers have none.
    #[inline]
    pub(super) fn score(&self) -> f64 {
        self.score
    }

    pub(super) fn penalty(&self) -> f64 {
        self.penalty
    }

    pub(super) fn in_topics(&self) -> &[InTopic] {
        &self.in_topic
    }

    #[inline]
    pub(super) fn backoff(&self, topic: u32) -> Time {
        self.in_topic[topic as usize].backoff
    }

    /// Takes the peer into the mesh of a topic.
    pub(super) fn graft(&mut self, gossipsub: &GossipSub, topic: u32, now: Time) {
        self.mesh |= 1 << topic;
        self.count(gossipsub, topic, |counters, _| counters.graft(now));
    }

    /// Takes the peer out of the mesh of a topic. The two do not graft each other until `backoff`.
    pub(super) fn prune(&mut self, gossipsub: &GossipSub, topic: u32, backoff: Time) {
        self.mesh &= !(1 << topic);
        self.count(gossipsub, topic, |counters, scores| counters.prune(scores));
        self.in_topic[topic as usize].backoff = backoff;
    }

    /// Counts a misdemeanour, `times` times.
    pub(super) fn blame(&mut self, gossipsub: &GossipSub, times: f64) {
        self.penalty += times;
        self.rescore(gossipsub);
    }

    /// Changes the counters of a topic.
    pub(super) fn count(
        &mut self,
        gossipsub: &GossipSub,
        topic: u32,
        change: impl FnOnce(&mut Counters, Option<&Scores>),
    ) {
        change(&mut self.in_topic[topic as usize].counters, gossipsub.scores());
        self.rescore(gossipsub);
    }

    /// Lets all counters decay.
    pub(super) fn decay(&mut self, gossipsub: &GossipSub, now: Time) {
        let Some(scores) = gossipsub.scores() else { return };
        self.in_topic.iter_mut().for_each(|topic| topic.counters.decay(scores, now));
        scores.decay(&mut self.penalty, scores.behaviour_penalty_decay);
        self.rescore(gossipsub);
    }

    /// Computes the score from what the node knows.
    pub(super) fn rescore(&mut self, gossipsub: &GossipSub) {
        let Some(scores) = gossipsub.scores() else { return };
        let mut score: f64 = self.in_topic.iter().map(|topic| topic.counters.score(scores)).sum();
        if scores.topic_score_cap > 0.0 {
            score = score.min(scores.topic_score_cap);
        }
        score += scores.app_specific_weight * scores.app_specific.get(self.id as usize).copied().unwrap_or_default();
        if self.at_address > 0 {
            let surplus = f64::from(self.at_address.saturating_sub(scores.ip_colocation_factor_threshold));
            score += scores.ip_colocation_factor_weight * surplus * surplus;
        }
        self.score = score + scores.behaviour_penalty_weight * self.penalty * self.penalty;
    }

    /// Computes what follows from the other fields, but for the number of peers at the address.
    pub(super) fn restore(&mut self) {
        let topics = self.in_topic.iter().enumerate();
        self.mesh = topics.fold(0, |mesh, (topic, of)| mesh | u64::from(of.counters.grafted.is_some()) << topic);
    }
}
