//! The state machine of a node: connections, and the paths of messages.

use super::cache::Cache;
use super::peer::Peer;
use super::{GossipSub, Message, Parameters};
use crate::driver::{Dependencies, Timers};
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

pub(super) const HEARTBEAT: usize = 0;
pub(super) const DECAY: usize = 1;
pub(super) const VALIDATE: usize = 2;
pub(super) const PUBLISH: usize = 3;

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    #[serde(skip)]
    pub(super) id: u32,
    /// The topics to which the node subscribes, a bit for each.
    #[serde(skip)]
    pub(super) topics: u64,
    /// All peers by number.
    pub(super) peers: Vec<Peer>,
    /// The peers for topics on which the node publishes without subscription.
    pub(super) fanout: BTreeMap<u32, Fanout>,
    pub(super) cache: Cache,
    pub(super) seen: BTreeMap<u32, Seen>,
    validating: VecDeque<Validating>,
    pub(super) promises: Vec<Promise>,
    /// The number of heartbeats.
    pub(super) ticks: u32,
    /// The node's next publication.
    next: usize,
    /// The published messages that the node has delivered, a bit for each.
    pub(super) delivered: Vec<u64>,
    pub(super) timers: Timers<4>,
    pub(super) books: Books,
}

/// The peers for a topic to which the node does not subscribe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fanout {
    pub(super) peers: Vec<u32>,
    /// The time of the last publication.
    pub(super) last: Time,
}

/// A message that the node has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) at: Time,
    validated: Option<Time>,
    /// The peers that sent it, in their order.
    by: Vec<u32>,
}

/// A message under validation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Validating {
    until: Time,
    id: u32,
    topic: u32,
    author: u32,
    is_valid: bool,
}

/// A message that a peer should send before a time, because it was asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Promise {
    pub(super) id: u32,
    pub(super) peer: u32,
    pub(super) due: Time,
}

/// A node's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Books {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Bytes of messages that carry a publication.
    pub(super) data_bytes: u64,
    pub(super) deliveries: u64,
    /// Deliveries of messages that had been delivered before.
    pub(super) repeated: u64,
    pub(super) duplicates: u64,
    /// Messages that validation rejected.
    pub(super) rejected: u64,
    /// Messages of graylisted peers.
    pub(super) ignored: u64,
    pub(super) grafts: u64,
    pub(super) prunes: u64,
    pub(super) early_grafts: u64,
    pub(super) ihaves: u64,
    pub(super) iwants: u64,
    pub(super) broken_promises: u64,
    /// Connections made by peer exchange.
    pub(super) exchanged: u64,
}

/// Puts items into a random order.
pub(super) fn shuffle<T>(items: &mut [T], rng: &Rng) {
    for last in (1..items.len()).rev() {
        #[expect(clippy::cast_possible_truncation, reason = "an index")]
        items.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

impl Machine {
    pub(super) fn new(gossipsub: &GossipSub, LpId(id): LpId) -> Machine {
        let parameters = gossipsub.parameters();
        let peer = |&(peer, is_outbound): &(u32, bool)| Peer::new(peer, is_outbound, parameters.topics);
        let mut machine = Machine {
            id,
            topics: gossipsub.topics(id),
            peers: gossipsub.connections(id).iter().map(peer).collect(),
            fanout: BTreeMap::new(),
            cache: Cache::new(),
            seen: BTreeMap::new(),
            validating: VecDeque::new(),
            promises: Vec::new(),
            ticks: 0,
            next: 0,
            delivered: vec![0; parameters.messages.div_ceil(64) as usize],
            timers: Timers::new(),
            books: Books::default(),
        };
        machine.rescore(gossipsub);
        machine
    }

    /// Returns a machine that has been read, of the node `id`.
    pub(super) fn checked(mut self, gossipsub: &GossipSub, LpId(id): LpId) -> Result<Machine, Malformed> {
        (self.id, self.topics) = (id, gossipsub.topics(id));
        let &Parameters { nodes, topics, messages, .. } = gossipsub.parameters();
        let are_nodes = |ids: &[u32]| ids.iter().all(|&id| id < nodes);
        let is_peer = |peer: &Peer| peer.id < nodes && peer.id != id && peer.in_topics().len() == topics as usize;
        if !self.peers.iter().all(is_peer) || !self.peers.is_sorted_by(|one, next| one.id < next.id) {
            return Err(Malformed::new("a node has an impossible peer"));
        }
        let mut fanout = self.fanout.iter();
        if !fanout.all(|(&topic, fanout)| topic < topics && are_nodes(&fanout.peers)) {
            return Err(Malformed::new("a node publishes on an impossible topic"));
        }
        // Only a message of another node is validated, so one has sent it.
        let has_sender = |id| self.seen.get(&id).is_none_or(|seen| !seen.by.is_empty());
        let mut validating = self.validating.iter();
        let all_possible = validating.all(|message| message.topic < topics && has_sender(message.id))
            && self.cache.topics().all(|topic| topic < topics);
        if !all_possible || self.delivered.len() != messages.div_ceil(64) as usize {
            return Err(Malformed::new("a node has an impossible message"));
        }
        if self.next != usize::MAX && self.next >= gossipsub.publications().len() {
            return Err(Malformed::new("a node publishes a message that does not exist"));
        }
        if self.next == usize::MAX {
            self.timers.set(PUBLISH, Time::MAX);
        }
        self.peers.iter_mut().for_each(Peer::restore);
        self.rescore(gossipsub);
        Ok(self)
    }

    /// Returns the peers in the mesh of a topic, by number.
    pub fn mesh(&self, topic: u32) -> impl Iterator<Item = u32> {
        self.peers.iter().filter(move |peer| peer.is_in_mesh(topic)).map(|peer| peer.id)
    }

    pub(super) fn is_subscribed(&self, topic: u32) -> bool {
        self.topics >> topic & 1 == 1
    }

    /// Computes the scores of all peers, after the set of peers has changed.
    fn rescore(&mut self, gossipsub: &GossipSub) {
        if let Some(scores) = gossipsub.scores().filter(|scores| !scores.addresses.is_empty()) {
            let addresses: Vec<u64> = self.peers.iter().map(|peer| scores.address(peer.id)).collect();
            for (peer, address) in self.peers.iter_mut().zip(&addresses) {
                let here = addresses.iter().filter(|&other| other == address).count();
                peer.at_address = u32::try_from(here).expect("peers are counted with 32 bits");
            }
        }
        self.peers.iter_mut().for_each(|peer| peer.rescore(gossipsub));
    }

    /// Returns the index of a peer.
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        self.peers.binary_search_by_key(&id, |peer| peer.id).ok()
    }

    pub(super) fn send(&mut self, to: u32, message: Message, driver: &mut impl Dependencies<Message>) {
        let bytes = message.bytes();
        self.books.messages += 1;
        self.books.bytes += bytes;
        if matches!(message, Message::Publish { .. }) {
            self.books.data_bytes += bytes;
        }
        driver.send(LpId(to), message);
    }

    /// Greets all peers, and sets the first timers. Heartbeats begin at a random time.
    pub(super) fn begin(&mut self, gossipsub: &GossipSub, driver: &mut impl Dependencies<Message>) {
        let topics = self.topics;
        for index in 0..self.peers.len() {
            self.send(self.peers[index].id, Message::Hello { topics }, driver);
        }
        let now = driver.now();
        let phase = Delay::from_ps(driver.rng().below(gossipsub.parameters().heartbeat.as_ps()));
        self.timers.set(HEARTBEAT, now.saturating_add(phase));
        if let Some(scores) = gossipsub.scores() {
            self.timers.set(DECAY, now.saturating_add(scores.decay_interval));
        }
        self.set_publication(gossipsub);
    }

    /// Sets the timer of the node's next publication.
    fn set_publication(&mut self, gossipsub: &GossipSub) {
        let rest = gossipsub.publications().iter().enumerate().skip(self.next);
        let next = rest.into_iter().find(|(_, publication)| publication.author == self.id);
        (self.next, _) = next.map_or((usize::MAX, ()), |(index, _)| (index, ()));
        self.timers.set(PUBLISH, next.map_or(Time::MAX, |(_, publication)| publication.time));
    }

    pub(super) fn on_timer(&mut self, gossipsub: &GossipSub, driver: &mut impl Dependencies<Message>) {
        let now = driver.now();
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                HEARTBEAT => self.heartbeat(gossipsub, driver),
                DECAY => {
                    self.peers.iter_mut().for_each(|peer| peer.decay(gossipsub, now));
                    let interval = gossipsub.scores().map_or(Delay::ZERO, |scores| scores.decay_interval);
                    self.timers.set(DECAY, now.saturating_add(interval));
                }
                VALIDATE => self.validate(gossipsub, driver),
                _ => self.publish(gossipsub, driver),
            }
        }
    }

    /// Handles a message.
    pub(super) fn on_message(
        &mut self,
        gossipsub: &GossipSub,
        LpId(from): LpId,
        message: Message,
        driver: &mut impl Dependencies<Message>,
    ) {
        let Some(peer) = self.find(from) else {
            if let Message::Hello { topics } = message {
                self.add_peer(gossipsub, from, false, topics);
                self.send(from, Message::Hello { topics: self.topics }, driver);
            }
            return;
        };
        if self.peers[peer].score() < gossipsub.threshold(|scores| scores.graylist_threshold) {
            self.books.ignored += 1;
            return;
        }
        match message {
            Message::Hello { topics } => self.peers[peer].topics = topics,
            Message::Publish { id, topic, author, is_valid, .. } => {
                let message = Validating { until: Time::MAX, id, topic, author, is_valid };
                self.on_publish(gossipsub, peer, message, driver);
            }
            Message::IHave { topic, ids } => self.on_ihave(gossipsub, peer, topic, &ids, driver),
            Message::IWant { ids } => self.on_iwant(gossipsub, peer, &ids, driver),
            Message::Graft { topic } => self.on_graft(gossipsub, peer, topic, driver),
            Message::Prune { topic, backoff, peers } => {
                self.on_prune(gossipsub, peer, topic, backoff, &peers, driver);
            }
        }
    }

    /// Adds a peer with these topics.
    pub(super) fn add_peer(&mut self, gossipsub: &GossipSub, id: u32, is_outbound: bool, topics: u64) {
        let place = self.peers.partition_point(|peer| peer.id < id);
        let mut peer = Peer::new(id, is_outbound, gossipsub.parameters().topics);
        peer.topics = topics;
        self.peers.insert(place, peer);
        self.rescore(gossipsub);
    }

    /// Handles a copy of a published message.
    fn on_publish(
        &mut self,
        gossipsub: &GossipSub,
        peer: usize,
        message: Validating,
        driver: &mut impl Dependencies<Message>,
    ) {
        let (now, from) = (driver.now(), self.peers[peer].id);
        self.promises.retain(|promise| promise.id != message.id);
        if let Some(seen) = self.seen.get_mut(&message.id) {
            self.books.duplicates += 1;
            let (is_new, validated) = (!seen.by.contains(&from), seen.validated);
            if is_new {
                seen.by.push(from);
            }
            // Before validation has ended, validation itself will count the copy.
            if let (true, Some(validated), Some(scores)) = (is_new, validated, gossipsub.scores()) {
                let is_near = now <= validated.saturating_add(scores.mesh_message_deliveries_window);
                self.peers[peer].count(gossipsub, message.topic, |counters, _| match message.is_valid {
                    false => counters.invalid += 1.0,
                    true if is_near => counters.delivers(scores),
                    true => {}
                });
            }
            return;
        }
        self.seen.insert(message.id, Seen { at: now, validated: None, by: vec![from] });
        let until = now.saturating_add(gossipsub.parameters().validation);
        self.validating.push_back(Validating { until, ..message });
        self.validate(gossipsub, driver);
    }

    /// Ends the validation of messages whose time has come. All take equally long, so they end in the order
    /// in which they came.
    fn validate(&mut self, gossipsub: &GossipSub, driver: &mut impl Dependencies<Message>) {
        let now = driver.now();
        while let Some(message) = self.validating.pop_front_if(|message| message.until <= now) {
            self.end_validation(gossipsub, message, driver);
        }
        self.timers.set(VALIDATE, self.validating.front().map_or(Time::MAX, |message| message.until));
    }

    /// Delivers a message and forwards it to the mesh, if it is valid. Otherwise all its senders are blamed.
    fn end_validation(&mut self, gossipsub: &GossipSub, message: Validating, driver: &mut impl Dependencies<Message>) {
        let Validating { id, topic, author, is_valid, .. } = message;
        // A message may be forgotten while it is validated.
        let Some(seen) = self.seen.get_mut(&id) else { return };
        seen.validated = Some(driver.now());
        let by = seen.by.clone();
        for (place, &sender) in by.iter().enumerate() {
            let Some(scores) = gossipsub.scores() else { break };
            let Some(peer) = self.find(sender) else { continue };
            self.peers[peer].count(gossipsub, topic, |counters, _| match (is_valid, place) {
                (false, _) => counters.invalid += 1.0,
                (true, 0) => counters.delivers_first(scores),
                (true, _) => counters.delivers(scores),
            });
        }
        if !is_valid {
            self.books.rejected += 1;
            return;
        }
        self.deliver(gossipsub, id, topic, driver);
        self.cache.put(id, topic, author);
        if gossipsub.is_silent(self.id) {
            return;
        }
        let to: Vec<u32> = self.mesh(topic).filter(|&peer| peer != by[0] && peer != author).collect();
        self.send_copies(gossipsub, id, topic, author, &to, driver);
    }

    /// Delivers a message to the application, if the node subscribes to its topic.
    fn deliver(&mut self, gossipsub: &GossipSub, id: u32, topic: u32, driver: &mut impl Dependencies<Message>) {
        let Some(publication) = gossipsub.publications().get(id as usize) else { return };
        if !self.is_subscribed(topic) {
            return;
        }
        let (word, bit) = (&mut self.delivered[(id / 64) as usize], 1 << (id % 64));
        if *word & bit != 0 {
            self.books.repeated += 1;
            return;
        }
        *word |= bit;
        self.books.deliveries += 1;
        driver.observe(gossipsub.ids.latency, driver.now().since(publication.time).as_ps());
    }

    pub(super) fn send_copies(
        &mut self,
        gossipsub: &GossipSub,
        id: u32,
        topic: u32,
        author: u32,
        to: &[u32],
        driver: &mut impl Dependencies<Message>,
    ) {
        let bytes = gossipsub.parameters().message_bytes;
        to.iter().for_each(|&peer| {
            self.send(peer, Message::Publish { id, topic, author, bytes, is_valid: true }, driver);
        });
    }

    /// Publishes the node's next message.
    fn publish(&mut self, gossipsub: &GossipSub, driver: &mut impl Dependencies<Message>) {
        let id = u32::try_from(self.next).expect("publications are counted with 32 bits");
        let topic = gossipsub.publications()[self.next].topic;
        self.next += 1;
        self.set_publication(gossipsub);
        let now = driver.now();
        self.seen.insert(id, Seen { at: now, validated: Some(now), by: Vec::new() });
        self.cache.put(id, topic, self.id);
        let to = if gossipsub.parameters().flood_publish {
            self.fanout_peers(gossipsub, topic).collect()
        } else if self.is_subscribed(topic) {
            self.mesh(topic).collect()
        } else {
            self.fill_fanout(gossipsub, topic, driver);
            let fanout = self.fanout.entry(topic).or_insert(Fanout { peers: Vec::new(), last: now });
            fanout.last = now;
            fanout.peers.clone()
        };
        self.send_copies(gossipsub, id, topic, self.id, &to, driver);
    }

    /// Returns the peers in a topic that may get messages which the node publishes.
    pub(super) fn fanout_peers(&self, gossipsub: &GossipSub, topic: u32) -> impl Iterator<Item = u32> {
        let threshold = gossipsub.threshold(|scores| scores.publish_threshold);
        let peers = self.peers.iter();
        peers.filter(move |peer| peer.is_subscribed(topic) && peer.score() >= threshold).map(|peer| peer.id)
    }
}
