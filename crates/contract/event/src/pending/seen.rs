//! Which events of a run have the same receiver.

use super::slab::Slot;
use crate::event::LpId;

/// Receivers that are told apart, at most,
const PLACES_MAX: usize = 1 << 16;
/// and for each event of a run. Where there are more, some share a place and are taken for one, which costs a few comparisons.
const PLACES_PER_EVENT: usize = 8;

/// For each receiver the last of its events in the run so far, and for each of these the one before.
///
/// Events are numbered on from run to run: what is left of earlier runs is known by its number, and has to be cleared only when the numbers run out.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// By receiver, the number of its last event; a power of two of them.
    last: Vec<u16>,
    /// By event of the run, the number of the one before it, of this run or an earlier one.
    before: Vec<u16>,
    /// The events of the run whose receivers had one before.
    repeats: Vec<u16>,
    /// The number of the last event of earlier runs.
    base: u16,
}

impl Seen {
    /// The most events of a run.
    pub(super) const RUN_MAX: usize = 1 << 14;

    /// Takes note of a run, chunk by chunk, of so many events, whose receivers lie among `lps` that follow each other.
    #[inline]
    pub(super) fn note<'a, P: 'a>(&mut self, chunks: impl Iterator<Item = &'a [Slot<P>]>, events: usize, lps: usize) {
        self.begin(events, lps);
        let base = self.base;
        let (last, mut before, repeats) = (&mut self.last[..], &mut self.before[..], &mut self.repeats[..]);
        let mask = last.len() - 1;
        let (mut number, mut repeated) = (base, 0);
        for chunk in chunks {
            let (here, others) = before.split_at_mut(chunk.len());
            for (before, slot) in here.iter_mut().zip(chunk) {
                // Which it is cannot be guessed, and is not branched upon.
                repeats[repeated] = number - base;
                number += 1;
                let earlier = std::mem::replace(&mut last[slot.header().receiver().index() & mask], number);
                *before = earlier;
                repeated += usize::from(earlier > base);
            }
            before = others;
        }
        self.repeats.truncate(repeated);
    }

    #[inline(never)]
    fn begin(&mut self, events: usize, lps: usize) {
        debug_assert!(events <= Seen::RUN_MAX);
        let places = lps.min(PLACES_PER_EVENT * events).next_power_of_two().min(PLACES_MAX);
        if self.last.len() < places {
            self.last.resize(places, 0);
        }
        let earlier = usize::from(self.base) + self.before.len();
        self.base = u16::try_from(earlier).expect("the numbers of a run fit");
        if earlier + events > u16::MAX.into() {
            self.last.fill(0);
            self.base = 0;
        }
        self.before.resize(events, 0);
        self.repeats.resize(events, 0);
    }

    /// The events of the run whose receivers had one before.
    pub(super) fn repeats(&self) -> impl Iterator<Item = usize> {
        self.repeats.iter().map(|&index| index.into())
    }

    /// The event of the same receiver that was noted last before event `index`, if there is one.
    #[inline]
    pub(super) fn before(&self, index: usize) -> Option<usize> {
        self.index(self.before[index])
    }

    /// The event of this receiver that was noted last, if there is one.
    pub(super) fn last(&self, receiver: LpId) -> Option<usize> {
        self.index(self.last[receiver.index() & (self.last.len() - 1)])
    }

    fn index(&self, number: u16) -> Option<usize> {
        number.checked_sub(self.base + 1).map(usize::from)
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        (self.last.capacity() + self.before.capacity() + self.repeats.capacity()) * size_of::<u16>()
    }
}
