//! Splitting a long chain of events into parts that are small enough to be sorted.

use super::order::{LEVELS, bucket, level_of};
use super::slab::{Chain, Slab};
use crate::event::Header;

/// The largest number of parts that one step makes.
const PARTS_MAX: usize = 1 << 13;
/// The number of events that a part should have.
const PART: usize = 128;

/// Splits a chain into smaller parts, by the first level of the order at which the events differ. The parts
/// are pushed in reverse order.
pub(super) fn split<P>(slab: &mut Slab<P>, chain: Chain, parts: &mut Vec<Chain>) {
    if LEVELS.into_iter().any(|level| split_by(slab, chain, parts, PART, |event| level_of(event, level))) {
        return;
    }
    // All events are equal, which never happens in a simulation. Equal events may have any order.
    let mut part = Chain::default();
    slab.consume(chain, |slab, event| {
        if part.len() == PART {
            parts.push(std::mem::take(&mut part));
        }
        slab.append(&mut part, event);
    });
    parts.push(part);
}

/// Splits a chain into parts of about `size` events, by ranges of a key. The parts are pushed in reverse
/// order. Returns false, and does nothing, if all keys are equal.
pub(super) fn split_by<P>(
    slab: &mut Slab<P>,
    chain: Chain,
    parts: &mut Vec<Chain>,
    size: usize,
    key_of: impl Fn(&Header) -> u64,
) -> bool {
    let keys = slab.events(chain).map(&key_of);
    let (min, max) = keys.fold((u64::MAX, 0), |(min, max), key| (min.min(key), max.max(key)));
    if min == max {
        return false;
    }
    split_within(slab, chain, parts, size, min, max, key_of);
    true
}

/// As [`split_by`], for keys that are known to lie from `min` to `max`.
fn split_within<P>(
    slab: &mut Slab<P>,
    chain: Chain,
    parts: &mut Vec<Chain>,
    size: usize,
    min: u64,
    max: u64,
    key_of: impl Fn(&Header) -> u64,
) {
    let parts_wanted = (chain.len() / size).next_power_of_two().min(PARTS_MAX);
    let bits = u64::BITS - (max - min).leading_zeros();
    let shift = bits.saturating_sub(parts_wanted.ilog2());
    let mut into = vec![Chain::default(); bucket(max - min, shift) + 1];
    slab.consume(chain, |slab, event| {
        let into = &mut into[bucket(key_of(&event.header()) - min, shift)];
        slab.append(into, event);
    });
    parts.extend(into.into_iter().rev().filter(|chain| !chain.is_empty()));
}
