//! Crowds of events taken apart, until each part is small enough to be put in order.

use super::order::{LEVELS, bucket, level_of};
use super::slab::{Chain, Slab};
use crate::event::Header;

/// Parts that a crowd of events is split into at most, and the events meant for each.
const PARTS_MAX: usize = 1 << 13;
const PART: usize = 128;

/// Splits a crowd of events into smaller parts, pushed in reverse order, by the first level of the order at which they differ.
pub(super) fn split<P>(slab: &mut Slab<P>, crowd: Chain, parts: &mut Vec<Chain>) {
    if LEVELS.into_iter().any(|level| split_by(slab, crowd, parts, PART, |event| level_of(event, level))) {
        return;
    }
    // All are equal, which two events of one run never are; equals may go in any order.
    let mut part = Chain::default();
    slab.consume(crowd, |slab, event| {
        if part.len() == PART {
            parts.push(std::mem::take(&mut part));
        }
        slab.append(&mut part, event);
    });
    parts.push(part);
}

/// Splits a crowd of events into parts of about `size`, pushed in reverse order, by ranges of a key; false, and nothing done, if all have
/// the same.
pub(super) fn split_by<P>(
    slab: &mut Slab<P>,
    crowd: Chain,
    parts: &mut Vec<Chain>,
    size: usize,
    key_of: impl Fn(&Header) -> u64,
) -> bool {
    let keys = slab.events(crowd).map(&key_of);
    let (min, max) = keys.fold((u64::MAX, 0), |(min, max), key| (min.min(key), max.max(key)));
    if min == max {
        return false;
    }
    split_within(slab, crowd, parts, size, (min, max), key_of);
    true
}

/// As [`split_by`], for keys that are known to lie from `min` to `max`.
fn split_within<P>(
    slab: &mut Slab<P>,
    crowd: Chain,
    parts: &mut Vec<Chain>,
    size: usize,
    (min, max): (u64, u64),
    key_of: impl Fn(&Header) -> u64,
) {
    let most = (crowd.len() / size).next_power_of_two().min(PARTS_MAX);
    let bits = u64::BITS - (max - min).leading_zeros();
    let shift = bits.saturating_sub(most.ilog2());
    let mut into = vec![Chain::default(); bucket(max - min, shift) + 1];
    slab.consume(crowd, |slab, event| {
        let into = &mut into[bucket(key_of(&event.header()) - min, shift)];
        slab.append(into, event);
    });
    parts.extend(into.into_iter().rev().filter(|chain| !chain.is_empty()));
}
