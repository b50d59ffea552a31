//! The states of a swarm as bytes.
//!
//! A peer writes its pieces, and of the pieces that have begun the blocks that have come. The number of
//! neighbours that are asked for a block follows from the requests to them, and the number of neighbours that
//! have a piece from their pieces. The order of pieces by rarity is written, since equally rare ones are
//! drawn from it.

use super::block::{Begun, Gain};
use super::neighbour::Neighbour;
use super::peer::Peer;
use super::protocol::Machine;
use super::rarity::Rarity;
use super::tracker::Tracker;
use super::{Bits, Block, FIRST_PEER, Parameters, Swarm, TRACKER};
use crate::driver::SaveProtocol;
use parades_core::event::LpId;
use parades_core::wire::{self, Malformed};

impl SaveProtocol for Swarm {
    fn write_machine(&self, machine: &Machine, to: &mut Vec<u8>) {
        match machine {
            Machine::Tracker(tracker) => tracker.write(to),
            Machine::Peer(peer) => {
                wire::write(&(&**peer, peer.begun.came().collect::<Vec<Block>>(), peer.rarity.order()), to);
            }
        }
    }

    fn read_machine(&self, node: LpId, from: &mut &[u8]) -> Result<Machine, Malformed> {
        if node.0 == TRACKER {
            return Tracker::read(self, from).map(Machine::Tracker);
        }
        let (mut peer, came, order): (Box<Peer>, Vec<Block>, Box<[u32]>) = wire::read(from)?;
        peer.id = node.0;
        match self.complete(&mut peer, &came, order) {
            Ok(()) => Ok(Machine::Peer(peer)),
            Err(why) => Err(Malformed::new(why)),
        }
    }
}

impl Swarm {
    /// Returns true if a set has room for the pieces, and no others.
    fn is_set(&self, set: &Bits) -> bool {
        let pieces = self.parameters().pieces;
        set.words().len() == pieces.div_ceil(64) as usize && set.iter().all(|piece| piece < pieces)
    }

    /// Returns the bits of a block; `None` if there is no such block.
    fn bits_of(&self, block: Block) -> Option<u64> {
        let exists = block.piece < self.parameters().pieces && block.index < self.blocks(block.piece);
        exists.then(|| self.block_bits(block))
    }

    /// Completes a peer that has been read, with the blocks that have `come`, and all pieces in the `order`
    /// of their rarity. The error is a sentence on what is impossible.
    fn complete(&self, peer: &mut Peer, come: &[Block], order: Box<[u32]>) -> Result<(), &'static str> {
        let &Parameters { pieces, peers, connections, .. } = self.parameters();
        let is_peer = |id: u32| (FIRST_PEER..=peers).contains(&id);
        if !peer.known.iter().copied().chain(peer.attempts.iter().map(|attempt| attempt.0)).all(is_peer) {
            return Err("a peer knows a peer that does not exist");
        }
        if !self.is_set(&peer.pieces) {
            return Err("a peer has pieces that do not exist");
        }
        peer.count = peer.pieces.count();
        peer.begun = Begun::none(pieces, self.blocks_max());
        for &block in come {
            let is_possible = self.bits_of(block).is_some() && !peer.pieces.has(block.piece);
            if !is_possible || peer.begun.come(block, self.blocks(block.piece)) != Gain::Block {
                return Err("a peer has an impossible block");
            }
        }
        peer.ids = peer.neighbours.iter().map(|neighbour| neighbour.id).collect();
        let are_peers = peer.ids.iter().all(|&id| is_peer(id) && id != peer.id);
        if !are_peers || peer.ids.len() > connections as usize || !peer.ids.is_sorted_by(|one, next| one < next) {
            return Err("a peer has too many neighbours, or one that is none");
        }
        let mut classes: Box<[u16]> = vec![0; pieces as usize].into();
        for neighbour in &mut peer.neighbours {
            if !self.complete_neighbour(neighbour, &peer.pieces, &mut peer.begun) {
                return Err("a peer has an impossible neighbour");
            }
            neighbour.pieces.without(&[&peer.pieces]).for_each(|piece| classes[piece as usize] += 1);
        }
        peer.rarity = Rarity::of_order(order, classes).ok_or("pieces are not in the order of their rarity")?;
        let held = if self.is_seed(peer.id) { 0 } else { peer.held_bits(self) };
        match peer.books.bits_down.checked_sub(peer.books.duplicate_bits) {
            Some(got) if got >= held => Ok(()),
            _ => Err("a peer has more data than it has got"),
        }
    }

    /// Completes a neighbour of a peer that has the pieces `own`, and notes the requests to it. Returns false
    /// if it is impossible.
    fn complete_neighbour(&self, neighbour: &mut Neighbour, own: &Bits, begun: &mut Begun) -> bool {
        for (place, &block) in neighbour.requests.iter().enumerate() {
            let is_possible = self.bits_of(block).is_some() && !own.has(block.piece) && begun.lacks(block);
            if !is_possible || neighbour.requests[..place].contains(&block) {
                return false;
            }
            begun.ask(block, self.blocks(block.piece));
        }
        if !self.is_set(&neighbour.pieces) {
            return false;
        }
        neighbour.count = neighbour.pieces.count();
        neighbour.wanted =
            u32::try_from(neighbour.pieces.without(&[own]).count()).expect("pieces are counted in 32 bits");
        let Neighbour { queue, on_way, received, sent, .. } = neighbour;
        queue.iter().all(|&block| self.bits_of(block).is_some())
            && on_way.complete(|block| self.bits_of(block))
            && received.is_possible()
            && sent.is_possible()
    }
}
