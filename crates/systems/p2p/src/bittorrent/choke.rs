//! The choice of the neighbours that a peer uploads to, and the uploads.

use super::Block;
use super::message::Message;
use super::neighbour::Neighbour;
use super::peer::At;
use super::rarity::any_of;
use crate::driver::Dependencies;

impl<D: Dependencies<Message>> At<'_, D> {
    /// Chooses the neighbours that get data: those with the greatest rates over the last two periods, and
    /// an optimistic one. A rate is that of the bits received; where the peer has all pieces, of the bits
    /// sent.
    pub(super) fn rechoke(&mut self) {
        if self.swarm.rides_free(self.peer.id) {
            return;
        }
        let best = self.best();
        let turn = self.swarm.parameters().optimistic_turns;
        let is_wanted = |id: &u32| {
            let neighbour = self.peer.place(*id).map(|place| &self.peer.neighbours[place]);
            neighbour.is_some_and(|neighbour| neighbour.is_interested) && !best.contains(id)
        };
        let stays = self.peer.optimistic.filter(is_wanted).filter(|_| !self.peer.rechokes.is_multiple_of(turn));
        let optimistic = stays.or_else(|| {
            let others = self.peer.neighbours.iter().filter(|neighbour| neighbour.is_interested);
            let others = others.map(|neighbour| neighbour.id).filter(|id| !best.contains(id));
            any_of(others, self.driver.rng())
        });
        self.peer.optimistic = optimistic;
        self.peer.rechokes = self.peer.rechokes.wrapping_add(1);
        for place in 0..self.peer.neighbours.len() {
            let neighbour = &mut self.peer.neighbours[place];
            neighbour.received.roll();
            neighbour.sent.roll();
            let id = neighbour.id;
            self.set_choked(id, !best.contains(&id) && optimistic != Some(id));
        }
    }

    /// Returns the neighbours with the greatest rates, as many as tit-for-tat unchokes.
    fn best(&mut self) -> Vec<u32> {
        let is_complete = self.is_complete();
        let mut best = self.by_rate(|neighbour| is_complete || !neighbour.is_snubbing);
        best.truncate(self.swarm.parameters().unchokes as usize);
        best
    }

    /// Returns the interested neighbours for which `may_be` holds, the greatest rate first; equal rates are
    /// in random order.
    fn by_rate(&mut self, may_be: impl Fn(&Neighbour) -> bool) -> Vec<u32> {
        let is_complete = self.is_complete();
        let candidates = self.peer.neighbours.iter().filter(|neighbour| neighbour.is_interested && may_be(neighbour));
        let rng = self.driver.rng();
        let rated = candidates.map(|neighbour| {
            let amount = if is_complete { neighbour.sent } else { neighbour.received };
            (amount.total(), rng.next_u64(), neighbour.id)
        });
        let mut rated: Vec<(u64, u64, u32)> = rated.collect();
        rated.sort_unstable_by(|one, other| other.cmp(one));
        rated.into_iter().map(|(_, _, id)| id).collect()
    }

    /// Gives free slots to neighbours that want one, those with the greatest rates first.
    pub(super) fn fill_slots(&mut self) {
        if !self.swarm.parameters().fills_slots || self.swarm.rides_free(self.peer.id) {
            return;
        }
        let slots = self.swarm.parameters().unchokes as usize + 1;
        let used = self.peer.neighbours.iter().filter(|neighbour| !neighbour.is_choked).count();
        if used >= slots {
            return;
        }
        for id in self.by_rate(|neighbour| neighbour.is_choked).into_iter().take(slots - used) {
            self.set_choked(id, false);
        }
    }

    fn set_choked(&mut self, id: u32, is_choked: bool) {
        let Some(place) = self.peer.place(id) else { return };
        let neighbour = &mut self.peer.neighbours[place];
        if std::mem::replace(&mut neighbour.is_choked, is_choked) == is_choked {
            return;
        }
        if is_choked {
            neighbour.queue.clear();
            let coming = neighbour.on_way.long_blocks();
            self.send(id, Message::Choke { coming });
        } else {
            self.peer.books.unchokes += 1;
            self.send(id, Message::Unchoke);
        }
    }

    pub(super) fn on_interest(&mut self, from: u32, is_interested: bool) {
        let Some(place) = self.peer.place(from) else { return };
        self.peer.neighbours[place].is_interested = is_interested;
        if !is_interested {
            self.set_choked(from, true);
        }
        self.fill_slots();
    }

    /// A neighbour chokes. Its requests are taken back, except those for blocks that are coming.
    pub(super) fn on_choke(&mut self, from: u32, coming: &[Block]) {
        let Some(place) = self.peer.place(from) else { return };
        self.peer.neighbours[place].chokes = true;
        self.return_requests(place, |block| coming.contains(&block));
        self.request_all();
    }

    pub(super) fn on_unchoke(&mut self, from: u32) {
        let Some(place) = self.peer.place(from) else { return };
        self.peer.neighbours[place].chokes = false;
        self.request(place);
    }

    pub(super) fn on_request(&mut self, from: u32, block: Block) {
        let Some(place) = self.peer.place(from) else { return };
        let has = self.peer.pieces.has(block.piece);
        let neighbour = &mut self.peer.neighbours[place];
        if has && !neighbour.is_choked && !neighbour.queue.contains(&block) {
            neighbour.queue.push_back(block);
            self.serve(from);
        }
    }

    pub(super) fn on_cancel(&mut self, from: u32, block: Block) {
        if let Some(place) = self.peer.place(from) {
            self.peer.neighbours[place].queue.retain(|&queued| queued != block);
        }
    }

    /// Sends blocks to a neighbour, as many as may be on their way.
    pub(super) fn serve(&mut self, to: u32) {
        let Some(place) = self.peer.place(to) else { return };
        let now = self.driver.now();
        let blocks_max = self.swarm.parameters().on_way as usize;
        loop {
            let neighbour = &mut self.peer.neighbours[place];
            if neighbour.on_way.len() >= blocks_max || !neighbour.on_way.has_room() {
                return;
            }
            let Some(block) = neighbour.queue.pop_front() else { return };
            let bits = self.swarm.block_bits(block);
            neighbour.on_way.send(block, bits, now);
            neighbour.sent.add(bits);
            self.peer.books.bits_up += bits;
            self.send(to, Message::Piece { block, bits });
        }
    }
}
