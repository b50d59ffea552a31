//! Blocks, and the pieces that a peer has begun.

use super::Bits;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A block of a piece: what one request asks for (BEP 3, "request").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The number of the piece.
    pub piece: u32,
    /// The number of the block among those of the piece, from 0.
    pub index: u32,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.piece, self.index)
    }
}

/// The data of a packet, in bits: 1460 bytes, as TCP has them over Ethernet.
const PACKET_BITS: u64 = 1460 * 8;

/// Returns whether a block of `bits` needs more than one packet.
pub(super) fn is_long(bits: u64) -> bool {
    bits > PACKET_BITS
}

/// The mark of a block that has come, in place of the number of neighbours that were asked for it.
const CAME: u16 = u16::MAX;

/// The number of blocks above which pieces are completed before others begin.
const BLOCKS_BEGUN: usize = 2048;

/// The pieces of which a peer has asked for a block or got one, but not all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Begun {
    /// The pieces as a set.
    set: Bits,
    /// The pieces by number.
    pieces: Vec<Piece>,
    /// For each of `pieces` in turn, `blocks_max` blocks: the number of neighbours that the peer has asked
    /// for the block, or [`CAME`]. The places after the last block of a shorter piece are not used.
    blocks: Vec<u16>,
    blocks_max: u32,
    /// The number of free blocks in all `pieces`.
    free: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    number: u32,
    /// The number of free blocks: they have not come, and no neighbour is asked for them.
    free: u32,
    /// The number of blocks that have not come.
    missing: u32,
    /// The number of blocks.
    len: u32,
}

/// The effect of a block that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gain {
    /// The peer had the block.
    Nothing,
    Block,
    /// The block was the last one that its piece lacked.
    Piece,
}

impl Begun {
    /// Returns no pieces, of `pieces` that may begin; each has `blocks_max` blocks at most.
    pub(super) fn none(pieces: u32, blocks_max: u32) -> Begun {
        Begun { set: Bits::none(pieces), pieces: Vec::new(), blocks: Vec::new(), blocks_max, free: 0 }
    }

    /// Returns whether a block may be asked for: it has not come.
    pub(super) fn lacks(&self, block: Block) -> bool {
        self.place(block.piece).is_none_or(|place| self.of(place).get(block.index as usize) != Some(&CAME))
    }

    /// Returns the pieces as a set.
    pub(super) fn set(&self) -> &Bits {
        &self.set
    }

    /// Returns the number of pieces.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.pieces.len()).expect("pieces are counted in 32 bits")
    }

    /// Returns whether any block of these pieces is free: it has not come, and no neighbour is asked for it.
    pub(super) fn has_free(&self) -> bool {
        self.free > 0
    }

    /// Returns the first free block of a rarest piece, and the rarity. Of equally rare pieces, that with the
    /// fewest free blocks is first. `rarity` returns `None` for a piece that does not come into question.
    pub(super) fn free_block(&self, rarity: impl Fn(u32) -> Option<u16>) -> Option<(u16, Block)> {
        if self.free == 0 {
            return None;
        }
        let pieces = self.pieces.iter().enumerate().filter(|(_, piece)| piece.free > 0);
        let rated = pieces.filter_map(|(place, piece)| Some((rarity(piece.number)?, piece.free, place)));
        let (rarity, _, place) = rated.min()?;
        let index = (0..).zip(self.of(place)).find(|&(_, &asked)| asked == 0)?.0;
        Some((rarity, Block { piece: self.pieces[place].number, index }))
    }

    /// Returns whether so many pieces have begun that they are to be completed before others begin: more than
    /// three for two neighbours, or more than 2048 blocks, which are 32 MiB. This is libtorrent's rule.
    pub(super) fn are_many(&self, neighbours: usize) -> bool {
        let (pieces, blocks_max) = (self.pieces.len(), self.blocks_max as usize);
        pieces > neighbours * 3 / 2 || pieces * blocks_max > BLOCKS_BEGUN
    }

    /// Returns the blocks of a piece that have not come, and that at most `asked_max` neighbours are asked
    /// for, in their order.
    pub(super) fn missing(&self, piece: u32, asked_max: u16) -> impl Iterator<Item = Block> + '_ {
        let blocks = self.place(piece).map_or(&[][..], |place| self.of(place));
        let is_wanted = move |asked: u16| asked <= asked_max && asked != CAME;
        (0..).zip(blocks).filter(move |&(_, &asked)| is_wanted(asked)).map(move |(index, _)| Block { piece, index })
    }

    /// Returns the blocks that have come.
    pub(super) fn came(&self) -> impl Iterator<Item = Block> + '_ {
        let of = |place: usize| {
            let piece = self.pieces[place].number;
            (0..).zip(self.of(place)).filter(|&(_, &asked)| asked == CAME).map(move |(index, _)| Block { piece, index })
        };
        (0..self.pieces.len()).flat_map(of)
    }

    /// One more neighbour is asked for a block of a piece with `len` blocks.
    pub(super) fn ask(&mut self, block: Block, len: u32) {
        let place = self.begin(block.piece, len);
        let asked = &mut self.blocks[place * self.blocks_max as usize + block.index as usize];
        debug_assert!(*asked < CAME - 1, "the block has not come, and there are fewer neighbours");
        *asked += 1;
        if *asked == 1 {
            self.pieces[place].free -= 1;
            self.free -= 1;
        }
    }

    /// One neighbour fewer is asked for a block. A piece is no longer begun if none of its blocks has come or
    /// is asked for.
    pub(super) fn take_back(&mut self, block: Block) {
        let Some(place) = self.place(block.piece) else { return };
        let asked = &mut self.blocks[place * self.blocks_max as usize + block.index as usize];
        if *asked == CAME {
            return;
        }
        *asked -= 1;
        if *asked == 0 {
            self.pieces[place].free += 1;
            self.free += 1;
        }
        if self.pieces[place].free == self.pieces[place].len {
            self.end(place);
        }
    }

    /// A block has come of a piece with `len` blocks, which the peer lacks.
    pub(super) fn come(&mut self, block: Block, len: u32) -> Gain {
        let place = self.begin(block.piece, len);
        let asked = &mut self.blocks[place * self.blocks_max as usize + block.index as usize];
        let before = std::mem::replace(asked, CAME);
        if before == CAME {
            return Gain::Nothing;
        }
        let piece = &mut self.pieces[place];
        piece.missing -= 1;
        piece.free -= u32::from(before == 0);
        self.free -= u32::from(before == 0);
        if piece.missing > 0 {
            return Gain::Block;
        }
        self.end(place);
        Gain::Piece
    }

    /// Returns the place of a piece in `pieces`.
    fn place(&self, piece: u32) -> Option<usize> {
        self.pieces.binary_search_by_key(&piece, |piece| piece.number).ok()
    }

    /// Returns the blocks of the piece at a place.
    fn of(&self, place: usize) -> &[u16] {
        let begin = place * self.blocks_max as usize;
        &self.blocks[begin..begin + self.pieces[place].len as usize]
    }

    /// Returns the place of a piece, which begins now if it has not begun.
    fn begin(&mut self, number: u32, len: u32) -> usize {
        let place = match self.pieces.binary_search_by_key(&number, |piece| piece.number) {
            Ok(place) => return place,
            Err(place) => place,
        };
        self.set.insert(number);
        self.pieces.insert(place, Piece { number, free: len, missing: len, len });
        let (first, blocks_max) = (place * self.blocks_max as usize, self.blocks_max as usize);
        self.blocks.splice(first..first, std::iter::repeat_n(0, blocks_max));
        self.free += len;
        place
    }

    fn end(&mut self, place: usize) {
        let Piece { number, free, .. } = self.pieces.remove(place);
        self.set.remove(number);
        self.free -= free;
        let (first, blocks_max) = (place * self.blocks_max as usize, self.blocks_max as usize);
        self.blocks.drain(first..first + blocks_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::random::Rng;
    use std::collections::BTreeMap;

    /// The blocks of begun pieces, the plain way: the number of neighbours asked, `None` once it has come.
    type Plain = BTreeMap<u32, Vec<Option<u32>>>;

    #[test]
    fn the_counts_are_those_of_plain_lists() {
        const LENS: [u32; 5] = [3, 1, 4, 4, 2];
        let rng = Rng::shared(1, 1);
        let (mut begun, mut plain, mut done) = (Begun::none(5, 4), Plain::new(), 0);
        for _ in 0..20_000 {
            let piece = u32::try_from(rng.below(5)).expect("it is small");
            let len = LENS[piece as usize];
            let index = u32::try_from(rng.below(u64::from(len))).expect("it is small");
            let block = Block { piece, index };
            let state = plain.get(&piece).map(|blocks| blocks[index as usize]);
            let blocks = plain.entry(piece).or_insert_with(|| vec![Some(0); len as usize]);
            let asked = &mut blocks[index as usize];
            match (rng.below(3), state) {
                (0, Some(Some(1..))) => {
                    begun.take_back(block);
                    *asked = asked.map(|asked| asked - 1);
                }
                (1, _) => {
                    let gain = begun.come(block, len);
                    *asked = None;
                    let is_last = blocks.iter().all(Option::is_none);
                    let expected = if is_last { Gain::Piece } else { Gain::Block };
                    assert_eq!(gain, if state == Some(None) { Gain::Nothing } else { expected });
                    done += u32::from(is_last);
                }
                (2, state) if state != Some(None) => {
                    begun.ask(block, len);
                    *asked = asked.map(|asked| asked + 1);
                }
                _ => {}
            }
            plain
                .retain(|_, blocks| blocks.iter().any(|&asked| asked != Some(0)) && blocks.iter().any(Option::is_some));
            assert!(begun.set().iter().eq(plain.keys().copied()));
            let free = |blocks: &[Option<u32>]| blocks.iter().filter(|&&asked| asked == Some(0)).count();
            let fewest = plain.values().map(|blocks| free(blocks)).filter(|&free| free > 0).min();
            let block = begun.free_block(|_| Some(1)).map(|(_, block)| block);
            assert_eq!(block.map(|block| free(&plain[&block.piece])), fewest);
            assert!(block.is_none_or(|block| plain[&block.piece][block.index as usize] == Some(0)));
            assert_eq!(begun.has_free(), fewest.is_some());
            for (&piece, blocks) in &plain {
                for limit in [1, u16::MAX] {
                    let missing = begun.missing(piece, limit).map(|block| block.index as usize);
                    let is_wanted = |asked: Option<u32>| asked.is_some_and(|asked| asked <= u32::from(limit));
                    assert!(missing.eq((0..blocks.len()).filter(|&index| is_wanted(blocks[index]))));
                }
            }
        }
        assert!(done > 100, "{done} pieces were completed");
    }
}
