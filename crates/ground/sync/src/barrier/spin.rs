//! Barriers that only spin: on one word, or on a tree of words, as in the paper's section 3.2.

use super::{Barrier, Broken};
use crate::padded::CachePadded;
use crate::shim::{AtomicU32, spin_loop};
use std::sync::atomic::Ordering;

/// A barrier whose parties all spin on one word.
#[derive(Debug)]
pub(super) struct Spin {
    group: Group,
}

impl Spin {
    pub(super) fn new(parties: usize) -> Spin {
        Spin { group: Group::new(parties) }
    }
}

impl Barrier for Spin {
    fn wait(&self, _party: usize) -> Result<(), Broken> {
        self.group.cross(|| Ok(()))
    }

    fn break_up(&self) {
        self.group.break_up();
    }
}

/// A barrier whose parties form a tree of groups.
///
/// The children of party `p` are `p * fan_in + 1 ..= p * fan_in + fan_in`, as far as these exist. A party
/// with children forms a group with them. The last party to arrive at a group acts for the whole group: it
/// arrives at the group above, and then releases its own group.
#[derive(Debug)]
pub(super) struct Tree {
    fan_in: usize,
    /// The groups, by the party that is the parent in each. A tree of one party is a group of one.
    groups: Box<[Group]>,
}

impl Tree {
    pub(super) fn new(parties: usize, fan_in: usize) -> Tree {
        assert!(fan_in > 0, "a tree of barriers needs a fan-in of at least 1");
        let children = |parent: usize| (parties - 1).saturating_sub(parent * fan_in).min(fan_in);
        let parents = (parties - 1).div_ceil(fan_in).max(1);
        Tree { fan_in, groups: (0..parents).map(|parent| Group::new(1 + children(parent))).collect() }
    }

    fn cross(&self, group: usize) -> Result<(), Broken> {
        self.groups[group].cross(|| if group == 0 { Ok(()) } else { self.cross((group - 1) / self.fan_in) })
    }
}

impl Barrier for Tree {
    fn wait(&self, party: usize) -> Result<(), Broken> {
        let leaf = party >= self.groups.len();
        self.cross(if leaf { (party - 1) / self.fan_in } else { party })
    }

    fn break_up(&self) {
        self.groups.iter().for_each(Group::break_up);
    }
}

/// Some parties that spin on one word, with sense reversal.
#[derive(Debug)]
struct Group {
    size: u32,
    arrived: CachePadded<AtomicU32>,
    /// The sense and the broken bit, in the one word that waiting parties watch.
    phase: CachePadded<AtomicU32>,
}

/// The bit that flips at every crossing.
const SENSE: u32 = 1;
const BROKEN: u32 = 2;

impl Group {
    fn new(size: usize) -> Group {
        let size = u32::try_from(size).expect("fewer than PARTIES_MAX");
        Group { size, arrived: CachePadded(AtomicU32::new(0)), phase: CachePadded(AtomicU32::new(0)) }
    }

    /// Waits for all parties of the group. The last one to arrive calls `before_release`.
    fn cross(&self, before_release: impl FnOnce() -> Result<(), Broken>) -> Result<(), Broken> {
        // Ordering: Acquire. It pairs with `break_up`. The sense cannot flip before this party has arrived,
        // so the party needs no copy of the sense.
        let before = self.phase.load(Ordering::Acquire);
        if before & BROKEN != 0 {
            return Err(Broken);
        }
        // Ordering: AcqRel. It publishes what this party wrote. It makes visible to the last party what all
        // parties wrote.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            // Ordering: Relaxed. No party arrives again before the sense flips, and the flip publishes this
            // store too.
            self.arrived.store(0, Ordering::Relaxed);
            before_release()?;
            // Ordering: Release. It pairs with the Acquire of the waiting parties. Flipping one bit keeps a
            // break that happened meanwhile.
            self.phase.fetch_xor(SENSE, Ordering::Release);
            return Ok(());
        }
        loop {
            // Ordering: Acquire. It pairs with the flip and with `break_up`.
            let now = self.phase.load(Ordering::Acquire);
            if now & BROKEN != 0 {
                return Err(Broken);
            }
            if now != before {
                return Ok(());
            }
            spin_loop();
        }
    }

    fn break_up(&self) {
        // Ordering: Release. Parties that see the break also see what was written before it.
        self.phase.fetch_or(BROKEN, Ordering::Release);
    }
}
