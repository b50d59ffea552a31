//! Where each LP lives: its partition, and its place there.

use crate::event::LpId;
use std::sync::Arc;

/// The partition of each LP, and its index among the LPs of that partition, which are in the order of ids.
///
/// ```
/// use parades_core::{event::LpId, placement::Placement};
/// let halves = Placement::ranges(10, 8); // 0..8 and 8..10: ranges are as long as a power of two
/// assert_eq!((halves.partitions(), halves.partition(LpId(9)), halves.index(LpId(9))), (2, 1, 1));
/// assert_eq!(halves.index_mask(), Some(7));
/// let odd_and_even = Placement::table(&[0, 1, 0, 1, 0]);
/// assert_eq!((odd_and_even.partition(LpId(3)), odd_and_even.index(LpId(3))), (1, 1));
/// assert_eq!((odd_and_even.len(0), odd_and_even.bounds(0)), (3, (LpId(0), LpId(4))));
/// ```
#[derive(Clone, Debug)]
pub struct Placement {
    /// Partition and index of each LP in one number, where they do not follow from the id.
    table: Option<Arc<[u32]>>,
    /// How many of the low bits of that number, or of the id, are the index.
    bits: u32,
    /// Those bits.
    mask: u32,
    /// What is known of each partition.
    all: Arc<[Members]>,
}

/// The LPs of a partition: how many, the least and the greatest.
#[derive(Clone, Copy, Debug)]
struct Members {
    count: u32,
    first: LpId,
    last: LpId,
}

impl Members {
    /// The LPs from `first` on, so many.
    fn range(first: u32, count: u32) -> Members {
        Members { count, first: LpId(first), last: LpId((first + count).saturating_sub(1)) }
    }
}

impl Placement {
    /// All `lps` LPs in one partition.
    pub fn one(lps: u32) -> Placement {
        Placement::new(None, u32::BITS, Arc::new([Members::range(0, lps)]))
    }

    /// Ranges of `size` ids each, rounded up to a power of two.
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

    /// Each LP, by id, in the partition named, the partitions being numbered from 0. If the partitions are so uneven that place and partition do not fit
    /// one number, which takes more than a thousand million LPs, all LPs are in one.
    pub fn table(partitions: &[u32]) -> Placement {
        let count = partitions.iter().max().map_or(0, |most| *most as usize + 1);
        let mut all = vec![Members::range(0, 0); count];
        for (id, &partition) in (0..).map(LpId).zip(partitions) {
            let Members { count, first, last } = &mut all[partition as usize];
            *first = if *count == 0 { id } else { *first };
            (*count, *last) = (*count + 1, id);
        }
        let bits = all.iter().map(|of| u64::from(of.count).next_power_of_two().ilog2()).max().unwrap_or(0);
        if (count as u64) << bits > 1 << 32 {
            #[expect(clippy::cast_possible_truncation, reason = "ids are u32")]
            return Placement::one(partitions.len() as u32);
        }
        let mut next = vec![0_u32; count];
        let table = partitions.iter().map(|&partition| {
            let index = next[partition as usize];
            next[partition as usize] += 1;
            // A shift by 32 is of the only partition, 0.
            partition.checked_shl(bits).unwrap_or(0) | index
        });
        Placement::new(Some(table.collect()), bits, all.into())
    }

    fn new(table: Option<Arc<[u32]>>, bits: u32, all: Arc<[Members]>) -> Placement {
        let mask = 1_u32.checked_shl(bits).map_or(u32::MAX, |next| next - 1);
        Placement { table, bits, mask, all }
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "there are at most as many as LPs")]
        let partitions = self.all.len() as u32;
        partitions
    }

    /// How many LPs `partition` has.
    pub fn len(&self, partition: u32) -> u32 {
        self.all[partition as usize].count
    }

    /// The least and the greatest id in `partition`, which must have LPs.
    pub fn bounds(&self, partition: u32) -> (LpId, LpId) {
        let Members { first, last, .. } = self.all[partition as usize];
        (first, last)
    }

    /// Whether `partition` has no LPs.
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

    /// The partition of `lp`.
    #[inline]
    pub fn partition(&self, lp: LpId) -> u32 {
        // A shift by 32 is of the only partition.
        self.place(lp).checked_shr(self.bits).unwrap_or(0)
    }

    /// The index of `lp` in its partition.
    #[inline]
    pub fn index(&self, lp: LpId) -> usize {
        (self.place(lp) & self.mask) as usize
    }

    /// The bits of an id that are the LP's index in its partition, where it follows from the id. For loops that look up an index at each event.
    #[inline]
    pub fn index_mask(&self) -> Option<u32> {
        self.table.is_none().then_some(self.mask)
    }

    /// The LPs of each partition, in the order of ids.
    pub fn members(&self, lps: u32) -> Vec<Vec<LpId>> {
        let mut members: Vec<Vec<LpId>> = self.all.iter().map(|of| Vec::with_capacity(of.count as usize)).collect();
        (0..lps).map(LpId).for_each(|lp| members[self.partition(lp) as usize].push(lp));
        members
    }
}
