//! Sets of pieces, one bit for each.

use serde::{Deserialize, Serialize};

/// A set of pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bits(Box<[u64]>);

impl Bits {
    /// Returns the empty set, with room for the pieces `0..pieces`.
    pub fn none(pieces: u32) -> Bits {
        Bits(vec![0; pieces.div_ceil(64) as usize].into())
    }

    /// Returns the set of the pieces `0..pieces`.
    pub fn all(pieces: u32) -> Bits {
        let mut bits = Bits::none(pieces);
        (0..pieces).for_each(|piece| {
            bits.insert(piece);
        });
        bits
    }

    /// Returns whether the set has a piece.
    #[inline]
    pub fn has(&self, piece: u32) -> bool {
        self.0[piece as usize / 64] >> (piece % 64) & 1 == 1
    }

    /// Adds a piece. Returns false if the set had it.
    #[inline]
    pub fn insert(&mut self, piece: u32) -> bool {
        let is_new = !self.has(piece);
        self.0[piece as usize / 64] |= 1 << (piece % 64);
        is_new
    }

    /// Removes a piece. Returns false if the set did not have it.
    #[inline]
    pub fn remove(&mut self, piece: u32) -> bool {
        let had = self.has(piece);
        self.0[piece as usize / 64] &= !(1 << (piece % 64));
        had
    }

    /// Returns the number of pieces in the set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the pieces in the set, in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.without(&[])
    }

    /// Returns the pieces that are in this set and in none of the others, in their order.
    pub fn without<'a>(&'a self, others: &'a [&'a Bits]) -> impl Iterator<Item = u32> + 'a {
        (0_u32..).step_by(64).zip(self.0.iter()).enumerate().flat_map(move |(index, (base, &word))| {
            let mut left = others.iter().fold(word, |word, other| word & !other.0[index]);
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(base + bit)
            })
        })
    }

    /// Returns the words of the set.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}
