//! Spinning without mercy: on one word, or on a tree of them, after the paper's section 3.2.

use super::{Barrier, Broken, Line};
use crate::shim::{AtomicU32, spin_loop};
use std::sync::atomic::Ordering;

/// All parties spin on one word.
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

/// Party `p` has the children `p * fan_in + 1 ..= p * fan_in + fan_in`, where there are so many. A party with children forms a group with them. Whoever comes
/// last to a group stands for it in the group above, before the group is released.
#[derive(Debug)]
pub(super) struct Tree {
    fan_in: usize,
    /// By the party that is the parent in the group. A tree of one party is a group of one.
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
    arrived: Line<AtomicU32>,
    /// The sense, and whether it is broken: what waiters watch, in one word.
    phase: Line<AtomicU32>,
}

/// Flips at every crossing.
const SENSE: u32 = 1;
const BROKEN: u32 = 2;

impl Group {
    fn new(size: usize) -> Group {
        let size = u32::try_from(size).expect("fewer than PARTIES_MAX");
        Group { size, arrived: Line(AtomicU32::new(0)), phase: Line(AtomicU32::new(0)) }
    }

    /// Waits for all of the group. The last to come does `before_release`.
    fn cross(&self, before_release: impl FnOnce() -> Result<(), Broken>) -> Result<(), Broken> {
        // Ordering: Acquire; pairs with `break_up`. The sense cannot flip before this party has come, so no copy of its own is needed.
        let before = self.phase.load(Ordering::Acquire);
        if before & BROKEN != 0 {
            return Err(Broken);
        }
        // Ordering: AcqRel; releases what this party wrote, and acquires, for the last, what all wrote.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            // Ordering: Relaxed; nobody comes again before the sense flips, which releases this store too.
            self.arrived.store(0, Ordering::Relaxed);
            before_release()?;
            // Ordering: Release; pairs with the Acquire of the waiters. Flipping one bit keeps a break that came meanwhile.
            self.phase.fetch_xor(SENSE, Ordering::Release);
            return Ok(());
        }
        loop {
            // Ordering: Acquire; pairs with the flip, and with `break_up`.
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
        // Ordering: Release; what was written before the break is visible to those who see it.
        self.phase.fetch_or(BROKEN, Ordering::Release);
    }
}
