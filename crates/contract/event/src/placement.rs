//! The placement of LPs: the partition of each LP, and its index there.

use crate::event::LpId;
use std::sync::Arc;

/// The partition of each LP, and its index among the LPs of that partition. Indices follow the order of ids.
///
/// ```
/// use parades_core::{event::LpId, placement::Placement};
/// let halves = Placement::ranges(10, 8); // 0..8 and 8..10: ranges are as long as a power of two
/// assert_eq!((halves.partitions(), halves.partition(LpId(9)), halves.index(LpId(9))), (2, 1, 1));
/// assert_eq!(halves.index_mask(), Some(7));
/// let odd_and_even = Placement::table(&[0, 1, 0, 1, 0]).expect("five LPs fit");
/// assert_eq!((odd_and_even.partition(LpId(3)), odd_and_even.index(LpId(3))), (1, 1));
/// assert_eq!((odd_and_even.len(0), odd_and_even.bounds(0)), (3, (LpId(0), LpId(4))));
/// ```
#[derive(Clone, Debug)]
pub struct Placement {
    /// Partition and index of each LP, packed into one number. `None` if they follow from the id.
    table: Option<Arc<[u32]>>,
    /// The number of low bits, of that number or of the id, that hold the index.
    bits: u32,
    /// Those low bits.
    mask: u32,
    /// The LPs of each partition.
    all: Arc<[Members]>,
}

/// The LPs of a partition: their number, the smallest id and the largest.
#[derive(Clone, Copy, Debug)]
struct Members {
    count: u32,
    first: LpId,
    last: LpId,
}

impl Members {
    /// Makes the range of `count` LPs that starts at `first`.
    fn range(first: u32, count: u32) -> Members {
        Members { count, first: LpId(first), last: LpId((first + count).saturating_sub(1)) }
    }
}

impl Placement {
    /// Places all `lps` LPs in one partition.
    pub fn one(lps: u32) -> Placement {
        Placement::new(None, u32::BITS, Arc::new([Members::range(0, lps)]))
    }

    /// Places ranges of `size` consecutive ids, with `size` rounded up to a power of two.
    ///
    /// # Panics
    ///
    /// If `size` is zero.
    pub fn ranges(lps: u32, size: u32) -> Placement {
        assert!(size > 0, "a partition of no LPs");
        let bits = u64::from(size).next_power_of_two().ilog2();
        let step = 1_u64 << bits;
        let all = u64::from(lps);
        #[expect(clippy::cast_possible_truncation, reason = "at most `lps`")]
        let range = |i| Members::range((i * step) as u32, step.min(all - i * step) as u32);
        Placement::new(None, bits, (0..all.div_ceil(step)).map(range).collect())
    }

    /// Places each LP in the partition that `partitions` gives for its id. Partitions are numbered from 0.
    ///
    /// Returns `None` if partition and index do not fit 32 bits together. With *n* partitions this happens
    /// only if one of them has more than 2^31 / *n* LPs.
    pub fn table(partitions: &[u32]) -> Option<Placement> {
        let count = partitions.iter().max().map_or(0, |most| *most as usize + 1);
        let mut all = vec![Members::range(0, 0); count];
        for (id, &partition) in (0..).map(LpId).zip(partitions) {
            let Members { count, first, last } = &mut all[partition as usize];
            *first = if *count == 0 { id } else { *first };
            (*count, *last) = (*count + 1, id);
        }
        let bits = all.iter().map(|of| u64::from(of.count).next_power_of_two().ilog2()).max().unwrap_or(0);
        if (count as u64) << bits > 1 << 32 {
            return None;
        }
        let mut next = vec![0_u32; count];
        let table = partitions.iter().map(|&partition| {
            let index = next[partition as usize];
            next[partition as usize] += 1;
            // A shift by 32 bits occurs only if there is one partition, number 0.
            partition.checked_shl(bits).unwrap_or(0) | index
        });
        Some(Placement::new(Some(table.collect()), bits, all.into()))
    }

    fn new(table: Option<Arc<[u32]>>, bits: u32, all: Arc<[Members]>) -> Placement {
        let mask = 1_u32.checked_shl(bits).map_or(u32::MAX, |next| next - 1);
        Placement { table, bits, mask, all }
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "there are at most as many as LPs")]
        let partitions = self.all.len() as u32;
        partitions
    }

    /// Returns the number of LPs in `partition`. A partition that does not exist has none.
    pub fn len(&self, partition: u32) -> u32 {
        self.all.get(partition as usize).map_or(0, |range| range.count)
    }

    /// Returns the smallest and the largest id in `partition`, which must not be empty.
    pub fn bounds(&self, partition: u32) -> (LpId, LpId) {
        let Members { first, last, .. } = self.all[partition as usize];
        (first, last)
    }

    /// True if `partition` has no LPs.
    pub fn is_empty(&self, partition: u32) -> bool {
        self.len(partition) == 0
    }

    #[inline]
    fn place(&self, lp: LpId) -> u32 {
        match &self.table {
            None => lp.0,
            Some(table) => table[lp.index()],
        }
    }

    /// Returns the partition of `lp`.
    #[inline]
    pub fn partition(&self, lp: LpId) -> u32 {
        // A shift by 32 bits occurs only if there is one partition.
        self.place(lp).checked_shr(self.bits).unwrap_or(0)
    }

    /// Returns the index of `lp` in its partition.
    #[inline]
    pub fn index(&self, lp: LpId) -> usize {
        (self.place(lp) & self.mask) as usize
    }

    /// Returns the bits of an id that are the LP's index, or `None` if the index does not follow from the id.
    /// Meant for loops that look up an index for every event.
    #[inline]
    pub fn index_mask(&self) -> Option<u32> {
        self.table.is_none().then_some(self.mask)
    }

    /// Returns the LPs of each partition, in id order.
    pub fn members(&self, lps: u32) -> Vec<Vec<LpId>> {
        let mut members: Vec<Vec<LpId>> = self.all.iter().map(|of| Vec::with_capacity(of.count as usize)).collect();
        (0..lps).map(LpId).for_each(|lp| members[self.partition(lp) as usize].push(lp));
        members
    }
}
