//! The ring of identifiers, and the identifier of each node.

use parades_core::event::LpId;
use parades_core::random::Rng;

/// The identifier of node 0.
const FIRST: u32 = 42;
/// The purpose of the random stream from which identifiers are drawn.
const PURPOSE: u32 = 0x0063_6864;

/// A ring of `2^bits` identifiers. Each node has one, as if drawn at random without repetition. A node's
/// identifier is computed, and so is an identifier's node. So nodes keep and send identifiers alone, and no
/// table is needed.
///
/// The identifiers are a bijection of the node's numbers modulo `2^bits`. It is made of multiplications by
/// odd numbers, and of shifts by half the bits or more that are added without carry. Both can be undone.
///
/// ```
/// use parades_core::event::LpId;
/// use parades_p2p::chord::Ring;
/// let ring = Ring::new(24, 1);
/// assert_eq!(ring.id(LpId(0)), 42);
/// assert_eq!(ring.lp(ring.id(LpId(999))), LpId(999));
/// assert_eq!(ring.distance(10, 4), (1 << 24) - 6); // clockwise
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    bits: u32,
    mask: u32,
    shift: u32,
    factors: [u32; 3],
    inverses: [u32; 3],
    offset: u32,
}

impl Ring {
    /// Makes the ring of `2^bits` identifiers, `bits` from 1 to 32. `seed` decides which node has which
    /// identifier.
    pub fn new(bits: u32, seed: u64) -> Ring {
        let mask = u32::MAX >> (32 - bits);
        let rng = Rng::shared(seed, PURPOSE);
        #[expect(clippy::cast_possible_truncation, reason = "random bits")]
        let factors = [(); 3].map(|()| rng.next_u64() as u32 | 1);
        let mut ring = Ring { bits, mask, shift: bits.div_ceil(2), factors, inverses: factors.map(inverse), offset: 0 };
        ring.offset = FIRST.wrapping_sub(ring.id(LpId(0)));
        ring
    }

    /// Returns the number of bits of an identifier.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the identifier of a node. There may be as many nodes as identifiers.
    #[inline]
    pub fn id(&self, lp: LpId) -> u32 {
        let mixed = self.factors.iter().fold(lp.0, |id, factor| {
            let id = id.wrapping_mul(*factor) & self.mask;
            id ^ id >> self.shift
        });
        mixed.wrapping_add(self.offset) & self.mask
    }

    /// Returns the node of an identifier. For an identifier that no node has, it is a number beyond those of
    /// the nodes.
    #[inline]
    pub fn lp(&self, id: u32) -> LpId {
        let mixed = id.wrapping_sub(self.offset) & self.mask;
        LpId(self.inverses.iter().rev().fold(mixed, |id, inverse| {
            let id = id ^ id >> self.shift;
            id.wrapping_mul(*inverse) & self.mask
        }))
    }

    /// Returns the identifier `distance` after `id`.
    #[inline]
    pub fn after(&self, id: u32, distance: u32) -> u32 {
        id.wrapping_add(distance) & self.mask
    }

    /// Returns the distance from one identifier to another, clockwise.
    #[inline]
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        to.wrapping_sub(from) & self.mask
    }

    /// Returns whether `id` lies after `from` and not after `to`, clockwise. All identifiers do if the two
    /// are the same.
    #[inline]
    pub fn is_in(&self, id: u32, from: u32, to: u32) -> bool {
        // Less by one, so that a distance of zero counts as the whole ring.
        let less = |distance: u32| distance.wrapping_sub(1) & self.mask;
        less(self.distance(from, id)) <= less(self.distance(from, to))
    }

    /// Returns whether `id` lies after `from` and before `to`, clockwise. All but `from` do if the two are
    /// the same.
    #[inline]
    pub fn is_between(&self, id: u32, from: u32, to: u32) -> bool {
        id != to && id != from && self.is_in(id, from, to)
    }
}

/// Returns the inverse of an odd number modulo 2^32, by Newton's iteration, which doubles the number of right
/// bits.
fn inverse(factor: u32) -> u32 {
    (0..5).fold(factor, |x, _| x.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_an_identifier_of_its_own_whatever_the_bits() {
        for bits in 1..=12 {
            for seed in 0..20 {
                let ring = Ring::new(bits, seed);
                let mut ids: Vec<u32> = (0..1 << bits).map(|lp| ring.id(LpId(lp))).collect();
                assert!((0..1 << bits).all(|lp| ring.lp(ring.id(LpId(lp))) == LpId(lp)));
                assert_eq!(ids[0], 42 & ring.mask);
                ids.sort_unstable();
                assert!(ids.into_iter().eq(0..1 << bits));
            }
        }
        for bits in [24, 31, 32] {
            let ring = Ring::new(bits, 7);
            assert!((0..100_000).all(|lp| ring.lp(ring.id(LpId(lp))) == LpId(lp)));
        }
    }

    #[test]
    fn identifiers_lie_as_if_drawn_at_random() {
        // Gaps between random points are exponential: a share of 1 - 1/e is shorter than the mean.
        for (bits, seed) in [(24, 1), (24, 2), (32, 3)] {
            let ring = Ring::new(bits, seed);
            let nodes = 10_000;
            let mut ids: Vec<u32> = (0..nodes).map(|lp| ring.id(LpId(lp))).collect();
            ids.sort_unstable();
            let mean = (u64::from(ring.mask) + 1) / u64::from(nodes);
            let short = ids.windows(2).filter(|pair| u64::from(pair[1] - pair[0]) < mean).count();
            let share = short as f64 / f64::from(nodes);
            assert!((share - 0.632).abs() < 0.02, "{bits} {seed}: {share}");
        }
    }

    #[test]
    fn intervals_go_round_the_ring() {
        let ring = Ring::new(4, 1);
        assert!(ring.is_in(2, 14, 3) && ring.is_in(3, 14, 3) && !ring.is_in(14, 14, 3) && !ring.is_in(4, 14, 3));
        assert!((0..16).all(|id| ring.is_in(id, 5, 5)));
        assert!(!ring.is_between(3, 14, 3) && ring.is_between(15, 14, 3) && !ring.is_between(5, 5, 5));
        assert!(Ring::new(32, 1).is_in(3, u32::MAX, 3));
    }
}
