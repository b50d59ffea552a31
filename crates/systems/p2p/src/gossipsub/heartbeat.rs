//! The heartbeat: upkeep of meshes and fanout, gossip, and the end of what has become old.

use super::machine::{Fanout, HEARTBEAT, Machine, shuffle};
use super::{GossipSub, Message};
use crate::driver::Dependencies;
use parades_core::time::{Delay, Time};

/// The number of heartbeats beyond the end of a backoff that a node waits before it grafts.
const BACKOFF_SLACK: u64 = 2;
/// Numbers of invalid messages have this bit.
const INVALID: u32 = 1 << 31;

impl Machine {
    pub(super) fn heartbeat(&mut self, gossipsub: &GossipSub, driver: &mut impl Dependencies<Message>) {
        let (now, parameters) = (driver.now(), gossipsub.parameters());
        self.ticks = self.ticks.wrapping_add(1);
        self.blame_broken_promises(now);
        self.peers.iter_mut().for_each(|peer| (peer.ihaves, peer.asked) = (0, 0));
        let topics = self.topics;
        for topic in (0..parameters.topics).filter(|topic| topics >> topic & 1 == 1) {
            self.keep_mesh(gossipsub, topic, driver);
            self.emit_gossip(gossipsub, topic, driver);
        }
        self.keep_fanout(gossipsub, driver);
        if gossipsub.is_spammer(self.id) {
            self.spam(gossipsub, driver);
        }
        self.cache.shift(parameters.history_length);
        self.seen.retain(|_, seen| now.since(seen.at) < parameters.seen_ttl);
        self.timers.set(HEARTBEAT, now.saturating_add(parameters.heartbeat));
    }

    /// Counts a misdemeanour for each peer that has not sent a message which it should have sent by now.
    fn blame_broken_promises(&mut self, now: Time) {
        let broken = self.promises.extract_if(.., |promise| promise.due <= now).collect::<Vec<_>>();
        self.books.broken_promises += broken.len() as u64;
        for promise in broken {
            if let Some(peer) = self.find(promise.peer) {
                self.peers[peer].penalty += 1.0;
            }
        }
    }

    /// Brings the mesh of a topic within its bounds.
    fn keep_mesh(&mut self, gossipsub: &GossipSub, topic: u32, driver: &mut impl Dependencies<Message>) {
        let parameters = gossipsub.parameters();
        let scores: Vec<f64> = (0..self.peers.len()).map(|peer| self.score(gossipsub, peer)).collect();
        for peer in self.mesh_indices(topic) {
            if scores[peer] < 0.0 {
                self.prune(gossipsub, peer, topic, false, driver);
            }
        }
        let mesh = self.mesh_indices(topic);
        if mesh.len() < parameters.degree_low as usize {
            let missing = parameters.degree as usize - mesh.len();
            self.graft_some(gossipsub, topic, missing, |peer, _| scores[peer] >= 0.0, driver);
        } else if mesh.len() > parameters.degree_high as usize {
            self.prune_surplus(gossipsub, topic, mesh, &scores, driver);
        }
        let mesh = self.mesh_indices(topic);
        let outbound = mesh.iter().filter(|&&peer| self.peers[peer].is_outbound).count();
        let missing = (parameters.degree_out as usize).saturating_sub(outbound);
        if mesh.len() >= parameters.degree_low as usize && missing > 0 {
            let is_wanted = |peer: usize, is_outbound| is_outbound && scores[peer] >= 0.0;
            self.graft_some(gossipsub, topic, missing, is_wanted, driver);
        }
        self.graft_opportunistically(gossipsub, topic, &scores, driver);
        if driver.now() >= Time::ZERO.saturating_add(parameters.warm_up) {
            driver.observe(gossipsub.ids.degree, self.mesh(topic).count() as u64);
        }
    }

    fn mesh_indices(&self, topic: u32) -> Vec<usize> {
        (0..self.peers.len()).filter(|&peer| self.peers[peer].is_in_mesh(topic)).collect()
    }

    /// Grafts up to `count` random peers of those that `is_wanted` takes, by index and by whether the node
    /// connected to them.
    fn graft_some(
        &mut self,
        gossipsub: &GossipSub,
        topic: u32,
        count: usize,
        is_wanted: impl Fn(usize, bool) -> bool,
        driver: &mut impl Dependencies<Message>,
    ) {
        let slack = Delay::from_ps(gossipsub.parameters().heartbeat.as_ps().saturating_mul(BACKOFF_SLACK));
        let now = driver.now();
        let is_candidate = |&index: &usize| {
            let peer = &self.peers[index];
            let backoff = peer.in_topic(topic).backoff;
            let is_free = backoff == Time::ZERO || now >= backoff.saturating_add(slack);
            is_free && peer.is_subscribed(topic) && !peer.is_in_mesh(topic) && is_wanted(index, peer.is_outbound)
        };
        let mut candidates: Vec<usize> = (0..self.peers.len()).filter(is_candidate).collect();
        shuffle(&mut candidates, driver.rng());
        candidates.into_iter().take(count).for_each(|peer| self.graft(peer, topic, driver));
    }

    /// Prunes the mesh to its wanted size. The best peers stay, others by chance, and enough of those to
    /// which the node connected.
    fn prune_surplus(
        &mut self,
        gossipsub: &GossipSub,
        topic: u32,
        mut mesh: Vec<usize>,
        scores: &[f64],
        driver: &mut impl Dependencies<Message>,
    ) {
        let parameters = gossipsub.parameters();
        shuffle(&mut mesh, driver.rng());
        mesh.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        shuffle(&mut mesh[parameters.degree_score as usize..], driver.rng());
        let (kept, pruned) = mesh.split_at_mut(parameters.degree as usize);
        let is_outbound = |peer: &usize| self.peers[*peer].is_outbound;
        let missing = (parameters.degree_out as usize).saturating_sub(kept.iter().filter(|&p| is_outbound(p)).count());
        let replaced = kept.iter_mut().rev().filter(|peer| !is_outbound(peer));
        let replacing = pruned.iter_mut().filter(|peer| is_outbound(peer));
        replaced.zip(replacing).take(missing).for_each(|(out, into)| std::mem::swap(out, into));
        for &mut peer in pruned {
            self.prune(gossipsub, peer, topic, true, driver);
        }
    }

    /// Grafts peers that are better than the median of a poor mesh, now and then.
    fn graft_opportunistically(
        &mut self,
        gossipsub: &GossipSub,
        topic: u32,
        scores: &[f64],
        driver: &mut impl Dependencies<Message>,
    ) {
        let parameters = gossipsub.parameters();
        let threshold = gossipsub.threshold(|scores| scores.opportunistic_graft_threshold);
        let mut mesh: Vec<f64> = self.mesh_indices(topic).into_iter().map(|peer| scores[peer]).collect();
        let is_time = parameters.opportunistic_ticks > 0 && self.ticks.is_multiple_of(parameters.opportunistic_ticks);
        if !is_time || mesh.len() < 2 {
            return;
        }
        mesh.sort_by(f64::total_cmp);
        let median = mesh[mesh.len() / 2];
        if median < threshold {
            let count = parameters.opportunistic_peers as usize;
            self.graft_some(gossipsub, topic, count, |peer, _| scores[peer] > median.max(0.0), driver);
        }
    }

    /// Tells random peers outside of the mesh which messages have come lately.
    fn emit_gossip(&mut self, gossipsub: &GossipSub, topic: u32, driver: &mut impl Dependencies<Message>) {
        let parameters = gossipsub.parameters();
        let ids = self.cache.recent(topic, parameters.history_gossip);
        if ids.is_empty() {
            return;
        }
        let threshold = gossipsub.threshold(|scores| scores.gossip_threshold);
        let fanout = self.fanout.get(&topic).map_or(&[][..], |fanout| &fanout.peers);
        let is_target = |&index: &usize| {
            let peer = &self.peers[index];
            let gets_all = peer.is_in_mesh(topic) || fanout.contains(&peer.id);
            peer.is_subscribed(topic) && !gets_all && self.score(gossipsub, index) >= threshold
        };
        let mut targets: Vec<usize> = (0..self.peers.len()).filter(is_target).collect();
        shuffle(&mut targets, driver.rng());
        #[expect(clippy::cast_possible_truncation, reason = "at most the number of targets")]
        let share = (targets.len() as f64 * parameters.gossip_factor) as usize;
        targets.truncate(share.max(parameters.degree_lazy as usize));
        for peer in targets {
            let mut ids = ids.clone();
            if ids.len() > parameters.ihave_length as usize {
                shuffle(&mut ids, driver.rng());
                ids.truncate(parameters.ihave_length as usize);
            }
            self.books.ihaves += 1;
            self.send(self.peers[peer].id, Message::IHave { topic, ids: ids.into() }, driver);
        }
    }

    /// Forgets fanout that has not been used, and keeps the other in order.
    fn keep_fanout(&mut self, gossipsub: &GossipSub, driver: &mut impl Dependencies<Message>) {
        let (now, ttl) = (driver.now(), gossipsub.parameters().fanout_ttl);
        self.fanout.retain(|_, fanout| now.since(fanout.last) < ttl);
        for topic in self.fanout.keys().copied().collect::<Vec<_>>() {
            self.fill_fanout(gossipsub, topic, driver);
            self.emit_gossip(gossipsub, topic, driver);
        }
    }

    /// Fills the fanout of a topic up to the wanted size, without peers of low score.
    pub(super) fn fill_fanout(&mut self, gossipsub: &GossipSub, topic: u32, driver: &mut impl Dependencies<Message>) {
        let all: Vec<u32> = self.fanout_peers(gossipsub, topic).collect();
        let last = driver.now();
        let fanout = self.fanout.entry(topic).or_insert(Fanout { peers: Vec::new(), last });
        fanout.peers.retain(|peer| all.contains(peer));
        let mut others: Vec<u32> = all.into_iter().filter(|peer| !fanout.peers.contains(peer)).collect();
        shuffle(&mut others, driver.rng());
        let missing = (gossipsub.parameters().degree as usize).saturating_sub(fanout.peers.len());
        fanout.peers.extend(others.into_iter().take(missing));
    }

    /// Sends an invalid message to the mesh of each topic.
    fn spam(&mut self, gossipsub: &GossipSub, driver: &mut impl Dependencies<Message>) {
        let parameters = gossipsub.parameters();
        let bytes = parameters.message_bytes;
        let id = INVALID | self.ticks.wrapping_mul(parameters.nodes).wrapping_add(self.id);
        for topic in 0..parameters.topics {
            for peer in self.mesh(topic).collect::<Vec<_>>() {
                let message = Message::Publish { id, topic, author: self.id, bytes, is_valid: false };
                self.send(peer, message, driver);
            }
        }
    }
}
