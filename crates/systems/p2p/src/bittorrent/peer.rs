//! A peer: its connections, and the blocks that it asks for.

use super::block::{Begun, Gain};
use super::message::{Event, Message};
use super::neighbour::Neighbour;
use super::patience::Patience;
use super::rarity::{Rarity, any_of};
use super::{Bits, Block, Swarm, TRACKER};
use crate::driver::{Dependencies, Timers, Wait};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The timers of a peer.
const RECHOKE: usize = 0;
const ANNOUNCE: usize = 1;
const LEAVE: usize = 2;

/// The state of a peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    #[serde(skip)]
    pub(super) id: u32,
    is_gone: bool,
    timers: Timers<3>,
    /// The pieces that the peer has, and their number.
    pub(super) pieces: Bits,
    #[serde(skip)]
    pub(super) count: u32,
    /// The pieces of which it has a part, or has asked for one.
    #[serde(skip)]
    pub(super) begun: Begun,
    #[serde(skip)]
    pub(super) rarity: Rarity,
    /// The neighbours, by id.
    pub(super) neighbours: Vec<Neighbour>,
    /// The ids of the neighbours, side by side: each message looks for one.
    #[serde(skip)]
    pub(super) ids: Vec<u32>,
    /// Handshakes without an answer: the receiver, the time, and the number of pieces that it told of.
    pub(super) attempts: Vec<(u32, Time, u32)>,
    /// Peers to which the peer might connect.
    pub(super) known: Vec<u32>,
    pub(super) rechokes: u32,
    pub(super) optimistic: Option<u32>,
    announced: Time,
    session_end: Time,
    /// The time without a requested block after which a new neighbour snubs.
    patience: Patience,
    pub(super) books: Books,
}

/// The measures of a peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Books {
    pub(super) joined: Option<Time>,
    pub(super) completed: Option<Time>,
    pub(super) bits_up: u64,
    pub(super) bits_down: u64,
    pub(super) control: u64,
    pub(super) data: u64,
    /// The blocks that the peer had when they came, and their bits.
    pub(super) duplicates: u64,
    pub(super) duplicate_bits: u64,
    pub(super) cancels: u64,
    pub(super) unchokes: u64,
    pub(super) connections: u64,
    /// Where the parameters ask for it: the source and the time of each piece.
    pub(super) sources: Vec<(u32, u32, Time)>,
}

/// A peer in an event: the peer, the constants of the swarm, and the driver.
pub(super) struct At<'a, D> {
    pub(super) peer: &'a mut Peer,
    pub(super) swarm: &'a Swarm,
    pub(super) driver: &'a mut D,
}

impl Peer {
    pub(super) fn new(id: u32, swarm: &Swarm) -> Peer {
        let pieces = swarm.parameters().pieces;
        let own = if swarm.is_seed(id) { Bits::all(pieces) } else { Bits::none(pieces) };
        Peer {
            id,
            is_gone: false,
            timers: Timers::new(),
            count: own.count(),
            pieces: own,
            begun: Begun::none(pieces, swarm.blocks_max()),
            rarity: Rarity::new(pieces),
            neighbours: Vec::new(),
            ids: Vec::new(),
            attempts: Vec::new(),
            known: Vec::new(),
            rechokes: 0,
            optimistic: None,
            announced: Time::ZERO,
            session_end: Time::MAX,
            patience: Patience::default(),
            books: Books::default(),
        }
    }

    pub(super) fn wait(&self) -> Wait {
        if self.is_gone { Wait::Gone } else { Wait::Messages(self.timers.next()) }
    }

    /// Clears what is lost when the peer goes. A peer that keeps its state keeps its pieces.
    pub(super) fn forget(&mut self, swarm: &Swarm, keeps_pieces: bool) {
        let gone = std::mem::replace(self, Peer::new(self.id, swarm));
        self.books = gone.books;
        if keeps_pieces {
            (self.pieces, self.count) = (gone.pieces, gone.count);
        }
    }

    /// Returns the bits of the blocks that a peer, which is no seed, has.
    pub(super) fn held_bits(&self, swarm: &Swarm) -> u64 {
        let pieces = (0..swarm.parameters().pieces).filter(|&piece| self.pieces.has(piece));
        let blocks = self.begun.came().map(|block| swarm.block_bits(block));
        pieces.map(|piece| swarm.bits(piece)).chain(blocks).sum()
    }

    #[inline]
    pub(super) fn place(&self, id: u32) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }
}

impl<D: Dependencies<Message>> At<'_, D> {
    pub(super) fn is_complete(&self) -> bool {
        self.peer.count == self.swarm.parameters().pieces
    }

    /// Sends a message to a peer or to the tracker.
    pub(super) fn send(&mut self, to: u32, message: Message) {
        match message {
            Message::Piece { .. } => self.peer.books.data += 1,
            Message::Arrived(_) => {}
            _ => self.peer.books.control += 1,
        }
        if let Some(place) = self.peer.place(to) {
            self.peer.neighbours[place].last_sent = self.driver.now();
        }
        self.driver.send(LpId(to), message);
    }

    pub(super) fn begin(&mut self, end: Time) {
        let now = self.driver.now();
        let rechoke = self.swarm.parameters().rechoke;
        self.peer.is_gone = false;
        self.peer.books.joined.get_or_insert(now);
        // Peers that join together do not choke together.
        let phase = self.driver.rng().below(rechoke.as_ps()) + 1;
        self.peer.timers.set(RECHOKE, now.saturating_add(Delay::from_ps(phase)));
        // A peer that comes back complete leaves as one that completes.
        let stay = self.swarm.parameters().seeding.filter(|_| self.is_complete() && !self.swarm.is_seed(self.peer.id));
        let end = stay.map_or(end, |stay| end.min(now.saturating_add(stay)));
        self.peer.session_end = end;
        self.peer.timers.set(LEAVE, end);
        self.announce(Event::Started);
    }

    pub(super) fn on_timer(&mut self) {
        while let Some(timer) = self.peer.timers.pop_due(self.driver.now()) {
            match timer {
                RECHOKE => {
                    let next = self.driver.now().saturating_add(self.swarm.parameters().rechoke);
                    self.peer.timers.set(RECHOKE, next);
                    self.maintain();
                    self.rechoke();
                }
                ANNOUNCE => self.announce(Event::Regular),
                _ => return self.leave(),
            }
        }
    }

    fn announce(&mut self, event: Event) {
        let now = self.driver.now();
        self.peer.announced = now;
        self.peer.timers.set(ANNOUNCE, now.saturating_add(self.swarm.parameters().announce));
        self.send(TRACKER, Message::Announce(event));
    }

    fn leave(&mut self) {
        self.send(TRACKER, Message::Announce(Event::Stopped));
        let ids = self.peer.ids.clone();
        ids.into_iter().for_each(|id| self.send(id, Message::Close));
        self.peer.is_gone = true;
    }

    /// Forgets connections that have failed, and replaces them.
    fn maintain(&mut self) {
        let now = self.driver.now();
        let &super::Parameters { keep_alive, snub, handshake, announce_least, .. } = self.swarm.parameters();
        let is_past = |since: Time, delay| since.saturating_add(delay) <= now;
        self.peer.attempts.retain(|&(_, since, _)| !is_past(since, handshake));
        let ids = self.peer.ids.clone();
        for id in ids {
            let Some(place) = self.peer.place(id) else { continue };
            let neighbour = &mut self.peer.neighbours[place];
            let silence = neighbour.patience.time(keep_alive.saturating_add(keep_alive));
            if is_past(neighbour.last_heard, silence) {
                self.remove(id);
                continue;
            }
            neighbour.on_way.forget(snub, now);
            let says_nothing = is_past(neighbour.last_sent, keep_alive);
            let patience = neighbour.patience.max(self.peer.patience).time(snub);
            if !neighbour.requests.is_empty() && is_past(neighbour.progress, patience) {
                self.on_snub(id, place);
            }
            if says_nothing {
                self.send(id, Message::KeepAlive);
            }
            self.serve(id);
        }
        self.connect();
        let lacks_peers = !self.is_complete() && self.peer.known.is_empty() && self.outgoing() < self.swarm.outgoing();
        if lacks_peers && is_past(self.peer.announced, announce_least) {
            self.announce(Event::Regular);
        }
    }

    /// A neighbour has sent no requested block for long. Its requests are taken back, and it gets one request
    /// at a time. At first the oldest request stays, since its block may be on its way over a slow link.
    fn on_snub(&mut self, id: u32, place: usize) {
        let (now, snub) = (self.driver.now(), self.swarm.parameters().snub);
        let neighbour = &mut self.peer.neighbours[place];
        neighbour.patience.run_out(snub);
        self.peer.patience = self.peer.patience.max(neighbour.patience);
        neighbour.progress = now;
        let oldest = neighbour.requests.first().copied().filter(|_| !neighbour.is_snubbing);
        neighbour.is_snubbing = true;
        for block in self.return_requests(place, |block| Some(block) == oldest) {
            self.peer.books.cancels += 1;
            self.send(id, Message::Cancel(block));
        }
        self.request_all();
    }

    fn outgoing(&self) -> usize {
        self.peer.neighbours.iter().filter(|neighbour| neighbour.is_outgoing).count() + self.peer.attempts.len()
    }

    pub(super) fn on_peers(&mut self, peers: &[u32]) {
        let is_new = |&id: &u32| id != self.peer.id && self.peer.place(id).is_none();
        self.peer.known = peers.iter().copied().filter(is_new).collect();
        self.connect();
    }

    /// Opens connections up to the limits. A peer with all pieces waits for others to connect.
    fn connect(&mut self) {
        if self.is_complete() {
            return;
        }
        let limit = self.swarm.parameters().connections as usize;
        while self.outgoing() < self.swarm.outgoing()
            && self.peer.neighbours.len() + self.peer.attempts.len() < limit
            && !self.peer.known.is_empty()
        {
            let index = self.swarm.choose(self.peer.id, &self.peer.known, self.driver.rng());
            let id = self.peer.known.swap_remove(index);
            if self.peer.place(id).is_none() && self.peer.attempts.iter().all(|attempt| attempt.0 != id) {
                self.peer.attempts.push((id, self.driver.now(), self.peer.count));
                self.send(id, Message::Handshake { is_answer: false, pieces: self.peer.pieces.clone() });
            }
        }
    }

    pub(super) fn on_handshake(&mut self, from: u32, is_answer: bool, pieces: &Bits) {
        let attempt = self.peer.attempts.iter().position(|attempt| attempt.0 == from);
        let attempt = attempt.map(|index| self.peer.attempts.remove(index));
        if is_answer && self.peer.place(from).is_some() {
            return self.on_bitfield(from, pieces);
        }
        if self.peer.place(from).is_some() {
            // The neighbour crashed and came back.
            self.remove(from);
        }
        let is_full = self.peer.neighbours.len() >= self.swarm.parameters().connections as usize;
        let is_useless = self.is_complete() && pieces.count() == self.peer.count;
        if (is_answer && attempt.is_none()) || is_full || is_useless {
            return self.send(from, Message::Close);
        }
        if !is_answer {
            self.send(from, Message::Handshake { is_answer: true, pieces: self.peer.pieces.clone() });
        } else if attempt.is_some_and(|attempt| attempt.2 != self.peer.count) {
            self.send(from, Message::Bitfield(self.peer.pieces.clone()));
        }
        let place = self.peer.ids.partition_point(|&id| id < from);
        let neighbour = Neighbour::new(from, attempt.is_some(), self.swarm.parameters().pieces, self.driver.now());
        self.peer.neighbours.insert(place, neighbour);
        self.peer.ids.insert(place, from);
        self.peer.books.connections += 1;
        self.on_bitfield(from, pieces);
    }

    pub(super) fn on_bitfield(&mut self, from: u32, pieces: &Bits) {
        let Some(place) = self.peer.place(from) else { return };
        let neighbour = &mut self.peer.neighbours[place];
        for piece in pieces.iter() {
            if neighbour.pieces.insert(piece) {
                neighbour.count += 1;
                if !self.peer.pieces.has(piece) {
                    neighbour.wanted += 1;
                    self.peer.rarity.add(piece);
                }
            }
        }
        if neighbour.wanted > 0 {
            self.send(from, Message::Interested);
        }
    }

    /// Forgets a neighbour. Its place is open for another.
    pub(super) fn remove(&mut self, id: u32) {
        self.peer.attempts.retain(|attempt| attempt.0 != id);
        let Some(place) = self.peer.place(id) else { return };
        self.return_requests(place, |_| false);
        let neighbour = self.peer.neighbours.remove(place);
        self.peer.ids.remove(place);
        let peer = &mut *self.peer;
        neighbour.pieces.without(&[&peer.pieces]).for_each(|piece| peer.rarity.subtract(piece));
        self.request_all();
    }

    pub(super) fn on_close(&mut self, from: u32) {
        self.remove(from);
        self.fill_slots();
        self.connect();
    }

    /// Takes requests to a neighbour back, so that others can be asked, except those that stay. Returns their
    /// blocks.
    pub(super) fn return_requests(&mut self, place: usize, stays: impl Fn(Block) -> bool) -> Vec<Block> {
        let requests = &mut self.peer.neighbours[place].requests;
        let blocks: Vec<Block> = requests.extract_if(.., |block| !stays(*block)).collect();
        blocks.iter().for_each(|&block| self.peer.begun.take_back(block));
        blocks
    }

    /// Fills the pipelines of requests to all neighbours.
    pub(super) fn request_all(&mut self) {
        (0..self.peer.neighbours.len()).for_each(|place| self.request(place));
    }

    /// Fills the pipeline of requests to a neighbour.
    pub(super) fn request(&mut self, place: usize) {
        let neighbour = &self.peer.neighbours[place];
        let limit = if neighbour.is_snubbing { 1 } else { self.swarm.parameters().pipeline as usize };
        if neighbour.chokes || neighbour.wanted == 0 {
            return;
        }
        while self.peer.neighbours[place].requests.len() < limit {
            let Some(block) = self.pick(place) else { return };
            self.peer.begun.ask(block, self.swarm.blocks(block.piece));
            let now = self.driver.now();
            let neighbour = &mut self.peer.neighbours[place];
            if neighbour.requests.is_empty() {
                neighbour.progress = now;
            }
            neighbour.requests.push(block);
            let id = neighbour.id;
            self.send(id, Message::Request(block));
        }
    }

    /// Returns the next block to ask a neighbour for. It is of a rarest piece, of one that has begun rather
    /// than of another that is as rare. While the peer has few pieces, it is of a piece that has begun, else
    /// of a random one. In the endgame, when each missing block has been asked for, it is one that others
    /// have been asked for, but not too many.
    fn pick(&mut self, place: usize) -> Option<Block> {
        let (peer, rng) = (&*self.peer, self.driver.rng());
        let neighbour = &peer.neighbours[place];
        let is_first = peer.count < self.swarm.parameters().random_first;
        let free = peer.begun.free_block(|piece| neighbour.pieces.has(piece).then(|| peer.rarity.of(piece)));
        if let Some((_, block)) = free
            && (is_first || peer.begun.are_many(peer.neighbours.len()))
        {
            return Some(block);
        }
        let begun = peer.begun.set();
        let piece = if is_first {
            any_of(neighbour.pieces.without(&[&peer.pieces, begun]), rng)
        } else {
            let below = free.map_or(u16::MAX, |(rarity, _)| rarity);
            peer.rarity.rarest(below, |piece| neighbour.pieces.has(piece) && !begun.has(piece), rng)
        };
        let block = piece.map(|piece| Block { piece, index: 0 }).or(free.map(|(_, block)| block));
        if block.is_some() {
            return block;
        }
        let is_endgame = peer.count + peer.begun.len() == self.swarm.parameters().pieces && !peer.begun.has_free();
        let repeats = self.swarm.repeats_max();
        if !is_endgame || neighbour.requests.len() >= repeats as usize {
            return None;
        }
        let own = [&peer.pieces];
        let missing = neighbour.pieces.without(&own).flat_map(|piece| peer.begun.missing(piece, repeats));
        any_of(missing.filter(|block| !neighbour.requests.contains(block)), rng)
    }

    pub(super) fn on_have(&mut self, from: u32, piece: u32) {
        let Some(place) = self.peer.place(from) else { return };
        let now = self.driver.now();
        let peer = &mut *self.peer;
        let neighbour = &mut peer.neighbours[place];
        neighbour.on_way.arrive(|block| block.piece == piece, now);
        neighbour.queue.retain(|queued| queued.piece != piece);
        if neighbour.pieces.insert(piece) {
            neighbour.count += 1;
            if !peer.pieces.has(piece) {
                peer.rarity.add(piece);
                neighbour.wanted += 1;
                if neighbour.wanted == 1 {
                    self.send(from, Message::Interested);
                }
                self.request(place);
            }
        }
        if self.is_complete() && self.peer.neighbours[place].count == self.peer.count {
            self.send(from, Message::Close);
            return self.on_close(from);
        }
        self.serve(from);
    }

    pub(super) fn on_arrived(&mut self, from: u32, arrived: Block) {
        let Some(place) = self.peer.place(from) else { return };
        self.peer.neighbours[place].on_way.arrive(|block| block == arrived, self.driver.now());
        self.serve(from);
    }

    pub(super) fn on_block(&mut self, from: u32, block: Block, bits: u64) {
        let now = self.driver.now();
        self.peer.books.bits_down += bits;
        if let Some(place) = self.peer.place(from) {
            let neighbour = &mut self.peer.neighbours[place];
            neighbour.received.add(bits);
            if !neighbour.requests.is_empty() {
                let time = now.since(neighbour.progress);
                neighbour.patience.took(time);
                self.peer.patience.took(time);
            }
            neighbour.progress = now;
            neighbour.is_snubbing = false;
            neighbour.requests.retain(|&requested| requested != block);
        }
        let had_piece = self.peer.pieces.has(block.piece);
        let gain = if had_piece { Gain::Nothing } else { self.peer.begun.come(block, self.swarm.blocks(block.piece)) };
        match gain {
            Gain::Nothing => {
                self.peer.books.duplicates += 1;
                self.peer.books.duplicate_bits += bits;
            }
            Gain::Block => self.tell(block, false),
            Gain::Piece => {
                if self.swarm.parameters().keeps_sources {
                    self.peer.books.sources.push((block.piece, from, now));
                }
                self.peer.pieces.insert(block.piece);
                self.peer.count += 1;
                self.peer.rarity.remove(block.piece);
                self.tell(block, true);
                if self.is_complete() {
                    self.complete();
                }
            }
        }
        if let Some(place) = self.peer.place(from) {
            if !self.peer.pieces.has(block.piece) {
                self.send(from, Message::Arrived(block));
            }
            self.request(place);
        }
    }

    /// Tells the neighbours of a block that has come: other requests for it are taken back. If its piece is
    /// complete with it, they hear that too.
    fn tell(&mut self, block: Block, is_complete: bool) {
        for place in 0..self.peer.neighbours.len() {
            let neighbour = &mut self.peer.neighbours[place];
            let (id, requests) = (neighbour.id, neighbour.requests.len());
            neighbour.requests.retain(|&requested| requested != block);
            let is_cancelled = neighbour.requests.len() < requests;
            let has = is_complete && neighbour.pieces.has(block.piece);
            neighbour.wanted -= u32::from(has);
            let loses_interest = has && neighbour.wanted == 0;
            if is_complete {
                self.send(id, Message::Have(block.piece));
            }
            if is_cancelled {
                self.peer.books.cancels += 1;
                self.send(id, Message::Cancel(block));
                self.request(place);
            }
            if loses_interest {
                self.send(id, Message::NotInterested);
            }
        }
    }

    fn complete(&mut self) {
        let now = self.driver.now();
        if let (Some(joined), None) = (self.peer.books.joined, self.peer.books.completed) {
            self.peer.books.completed = Some(now);
            self.driver.observe(self.swarm.ids.download_time, now.since(joined).as_ps());
        }
        self.announce(Event::Completed);
        let all = self.peer.count;
        let done = self.peer.neighbours.iter().filter(|neighbour| neighbour.count == all);
        let done: Vec<u32> = done.map(|neighbour| neighbour.id).collect();
        for id in done {
            self.send(id, Message::Close);
            self.remove(id);
        }
        if let Some(stay) = self.swarm.parameters().seeding {
            let planned = now.saturating_add(stay);
            self.peer.session_end = self.peer.session_end.min(planned);
            self.peer.timers.set(LEAVE, self.peer.session_end);
        }
    }
}
