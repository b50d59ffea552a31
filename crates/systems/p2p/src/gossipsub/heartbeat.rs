//! The heartbeat: upkeep of meshes and fanout, gossip, and the end of what has become old.

use super::machine::{Fanout, HEARTBEAT, Machine, shuffle};
use super::peer::Peer;
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
        self.blame_broken_promises(gossipsub, now);
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
    fn blame_broken_promises(&mut self, gossipsub: &GossipSub, now: Time) {
        let broken = self.promises.extract_if(.., |promise| promise.due <= now).collect::<Vec<_>>();
        self.books.broken_promises += broken.len() as u64;
        for promise in broken {
            if let Some(peer) = self.find(promise.peer) {
                self.peers[peer].blame(gossipsub, 1.0);
            }
        }
    }

    /// Brings the mesh of a topic within its bounds.
    fn keep_mesh(&mut self, gossipsub: &GossipSub, topic: u32, driver: &mut impl Dependencies<Message>) {
        let parameters = gossipsub.parameters();
        for peer in 0..self.peers.len() {
            if self.peers[peer].is_in_mesh(topic) && self.peers[peer].score() < 0.0 {
                self.prune(gossipsub, peer, topic, false, driver);
            }
        }
        let (degree, _) = self.degree(topic);
        if degree < parameters.degree_low as usize {
            let missing = parameters.degree as usize - degree;
            self.graft_some(gossipsub, topic, missing, |peer| peer.score() >= 0.0, driver);
        } else if degree > parameters.degree_high as usize {
            self.prune_surplus(gossipsub, topic, driver);
        }
        let (degree, outbound) = self.degree(topic);
        let missing = (parameters.degree_out as usize).saturating_sub(outbound);
        if degree >= parameters.degree_low as usize && missing > 0 {
            self.graft_some(gossipsub, topic, missing, |peer| peer.is_outbound && peer.score() >= 0.0, driver);
        }
        self.graft_opportunistically(gossipsub, topic, driver);
        if driver.now() >= Time::ZERO.saturating_add(parameters.warm_up) {
            driver.observe(gossipsub.ids.degree, self.degree(topic).0 as u64);
        }
    }

    /// Returns the number of peers in the mesh of a topic, and of those to which the node connected.
    fn degree(&self, topic: u32) -> (usize, usize) {
        self.peers
            .iter()
            .filter(|peer| peer.is_in_mesh(topic))
            .fold((0, 0), |(degree, outbound), peer| (degree + 1, outbound + usize::from(peer.is_outbound)))
    }

    /// Returns the indices of the peers that `is_wanted` takes.
    fn indices(&self, is_wanted: impl Fn(&Peer) -> bool) -> Vec<usize> {
        let peers = self.peers.iter().enumerate();
        peers.filter(|(_, peer)| is_wanted(peer)).map(|(index, _)| index).collect()
    }

    /// Grafts up to `count` random peers of those that `is_wanted` takes.
    fn graft_some(
        &mut self,
        gossipsub: &GossipSub,
        topic: u32,
        count: usize,
        is_wanted: impl Fn(&Peer) -> bool,
        driver: &mut impl Dependencies<Message>,
    ) {
        let slack = Delay::from_ps(gossipsub.parameters().heartbeat.as_ps().saturating_mul(BACKOFF_SLACK));
        let now = driver.now();
        let is_free = |backoff: Time| backoff == Time::ZERO || now >= backoff.saturating_add(slack);
        let mut candidates = self.indices(|peer| {
            peer.is_subscribed(topic) && !peer.is_in_mesh(topic) && is_free(peer.backoff(topic)) && is_wanted(peer)
        });
        shuffle(&mut candidates, driver.rng());
        candidates.into_iter().take(count).for_each(|peer| self.graft(gossipsub, peer, topic, driver));
    }

    /// Prunes the mesh to its wanted size. The best peers stay, others by chance, and enough of those to
    /// which the node connected.
    fn prune_surplus(&mut self, gossipsub: &GossipSub, topic: u32, driver: &mut impl Dependencies<Message>) {
        let parameters = gossipsub.parameters();
        let mut mesh = self.indices(|peer| peer.is_in_mesh(topic));
        shuffle(&mut mesh, driver.rng());
        mesh.sort_by(|&a, &b| self.peers[b].score().total_cmp(&self.peers[a].score()));
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
    fn graft_opportunistically(&mut self, gossipsub: &GossipSub, topic: u32, driver: &mut impl Dependencies<Message>) {
        let parameters = gossipsub.parameters();
        let is_time = parameters.opportunistic_ticks > 0 && self.ticks.is_multiple_of(parameters.opportunistic_ticks);
        if !is_time {
            return;
        }
        let threshold = gossipsub.threshold(|scores| scores.opportunistic_graft_threshold);
        let mut mesh: Vec<f64> = self.peers.iter().filter(|peer| peer.is_in_mesh(topic)).map(Peer::score).collect();
        if mesh.len() < 2 {
            return;
        }
        mesh.sort_by(f64::total_cmp);
        let median = mesh[mesh.len() / 2];
        if median < threshold {
            let count = parameters.opportunistic_peers as usize;
            self.graft_some(gossipsub, topic, count, |peer| peer.score() > median.max(0.0), driver);
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
        let mut targets = self.indices(|peer| {
            let gets_all = peer.is_in_mesh(topic) || fanout.contains(&peer.id);
            peer.is_subscribed(topic) && !gets_all && peer.score() >= threshold
        });
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
