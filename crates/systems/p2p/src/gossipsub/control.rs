//! The handlers of control messages: IHAVE, IWANT, GRAFT and PRUNE.

use super::machine::{Machine, Promise, shuffle};
use super::{GossipSub, Message};
use crate::driver::Dependencies;
use parades_core::time::Delay;

/// The time after a PRUNE within which a GRAFT is a flood, and counts twice.
const GRAFT_FLOOD: Delay = Delay::from_secs(10);

impl Machine {
    /// Asks for the messages that are new to the node, within the limits.
    pub(super) fn on_ihave(
        &mut self,
        gossipsub: &GossipSub,
        peer: usize,
        topic: u32,
        ids: &[u32],
        driver: &mut impl Dependencies<Message>,
    ) {
        let parameters = gossipsub.parameters();
        if self.peers[peer].score() < gossipsub.threshold(|scores| scores.gossip_threshold) {
            return;
        }
        let room = {
            let peer = &mut self.peers[peer];
            peer.ihaves += 1;
            let is_within = peer.ihaves <= parameters.ihave_messages;
            if is_within { parameters.ihave_length.saturating_sub(peer.asked) } else { 0 }
        };
        if room == 0 || !self.is_subscribed(topic) {
            return;
        }
        let mut wanted: Vec<u32> = ids.iter().copied().filter(|id| !self.seen.contains_key(id)).collect();
        if wanted.is_empty() {
            return;
        }
        shuffle(&mut wanted, driver.rng());
        wanted.truncate(room as usize);
        self.peers[peer].asked += u32::try_from(wanted.len()).unwrap_or(u32::MAX);
        // The order is random, so the first is a random one.
        let from = self.peers[peer].id;
        let due = driver.now().saturating_add(parameters.iwant_followup);
        self.promises.push(Promise { id: wanted[0], peer: from, due });
        self.books.iwants += 1;
        self.send(from, Message::IWant { ids: wanted.into() }, driver);
    }

    /// Sends the messages of the cache that a peer asks for.
    pub(super) fn on_iwant(
        &mut self,
        gossipsub: &GossipSub,
        peer: usize,
        ids: &[u32],
        driver: &mut impl Dependencies<Message>,
    ) {
        let is_low = self.peers[peer].score() < gossipsub.threshold(|scores| scores.gossip_threshold);
        if is_low || gossipsub.is_silent(self.id) {
            return;
        }
        let to = self.peers[peer].id;
        for &id in ids {
            if let Some((topic, author)) = self.cache.ask(id, to, gossipsub.parameters().retransmissions) {
                self.send_copies(gossipsub, id, topic, author, &[to], driver);
            }
        }
    }

    /// Takes a peer into the mesh, or refuses it with a PRUNE. A GRAFT for an unknown topic is ignored.
    pub(super) fn on_graft(
        &mut self,
        gossipsub: &GossipSub,
        peer: usize,
        topic: u32,
        driver: &mut impl Dependencies<Message>,
    ) {
        if !self.is_subscribed(topic) || self.peers[peer].is_in_mesh(topic) {
            return;
        }
        let (now, parameters) = (driver.now(), gossipsub.parameters());
        let backoff = self.peers[peer].backoff(topic);
        if now < backoff {
            self.books.early_grafts += 1;
            // The backoff began with the PRUNE.
            let since_prune = parameters.prune_backoff.as_ps().saturating_sub(backoff.since(now).as_ps());
            let is_flood = since_prune < GRAFT_FLOOD.as_ps();
            self.peers[peer].blame(gossipsub, if is_flood { 2.0 } else { 1.0 });
            return self.prune(gossipsub, peer, topic, false, driver);
        }
        if self.peers[peer].score() < 0.0 {
            return self.prune(gossipsub, peer, topic, false, driver);
        }
        let degree = self.mesh(topic).count();
        if degree >= parameters.degree_high as usize && !self.peers[peer].is_outbound {
            return self.prune(gossipsub, peer, topic, true, driver);
        }
        self.peers[peer].graft(gossipsub, topic, now);
    }

    /// Takes a peer out of the mesh, and connects to the peers that it offers.
    pub(super) fn on_prune(
        &mut self,
        gossipsub: &GossipSub,
        peer: usize,
        topic: u32,
        backoff: Delay,
        offered: &[u32],
        driver: &mut impl Dependencies<Message>,
    ) {
        let until = driver.now().saturating_add(backoff);
        let until = until.max(self.peers[peer].backoff(topic));
        self.peers[peer].prune(gossipsub, topic, until);
        let parameters = gossipsub.parameters();
        if self.peers[peer].score() < gossipsub.threshold(|scores| scores.accept_px_threshold) {
            return;
        }
        for &id in offered.iter().take(parameters.prune_peers as usize) {
            let has_room = self.peers.len() < parameters.connections_max as usize;
            if has_room && id != self.id && id < parameters.nodes && self.find(id).is_none() {
                self.add_peer(gossipsub, id, true, 0);
                self.books.exchanged += 1;
                self.send(id, Message::Hello { topics: self.topics }, driver);
            }
        }
    }

    /// Takes a peer out of the mesh or refuses it, and tells it so. With `exchanges`, it is offered other
    /// peers.
    pub(super) fn prune(
        &mut self,
        gossipsub: &GossipSub,
        peer: usize,
        topic: u32,
        exchanges: bool,
        driver: &mut impl Dependencies<Message>,
    ) {
        let backoff = gossipsub.parameters().prune_backoff;
        let mut offered = Vec::new();
        if exchanges && self.peers[peer].score() >= 0.0 {
            let others = self
                .peers
                .iter()
                .enumerate()
                .filter(|(index, other)| *index != peer && other.is_subscribed(topic) && other.score() >= 0.0);
            offered = others.map(|(_, other)| other.id).collect();
            shuffle(&mut offered, driver.rng());
            offered.truncate(gossipsub.parameters().prune_peers as usize);
        }
        self.peers[peer].prune(gossipsub, topic, driver.now().saturating_add(backoff));
        self.books.prunes += 1;
        self.send(self.peers[peer].id, Message::Prune { topic, backoff, peers: offered.into() }, driver);
    }

    /// Takes a peer into the mesh, and tells it so.
    pub(super) fn graft(
        &mut self,
        gossipsub: &GossipSub,
        peer: usize,
        topic: u32,
        driver: &mut impl Dependencies<Message>,
    ) {
        self.peers[peer].graft(gossipsub, topic, driver.now());
        self.books.grafts += 1;
        self.send(self.peers[peer].id, Message::Graft { topic }, driver);
    }
}
