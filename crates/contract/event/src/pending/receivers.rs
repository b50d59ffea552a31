//! An index of the events of a run by receiver.

use super::slot::Slot;
use crate::event::LpId;

/// The largest number of places for receivers.
const PLACES_MAX: usize = 1 << 16;
/// Places for each event of a run. With more receivers than places, some receivers share a place and are
/// treated as one. That costs a few comparisons.
const PLACES_PER_EVENT: usize = 8;

/// The last event of each receiver in the run, and for each event the event of the same receiver before it.
///
/// Event numbers continue from run to run, so that a number of an earlier run is recognised as such. The
/// table is cleared only when the numbers run out.
#[derive(Debug, Default)]
pub(super) struct ReceiverIndex {
    /// By receiver: the number of its last event. The length is a power of two.
    last: Vec<u16>,
    /// By event of the run: the number of the event of the same receiver before it, in this run or an earlier
    /// one.
    before: Vec<u16>,
    /// The events of the run that are not the first of their receivers.
    repeats: Vec<u16>,
    /// The last number of earlier runs.
    base: u16,
}

impl ReceiverIndex {
    /// The largest number of events in a run.
    pub(super) const RUN_MAX: usize = 1 << 14;

    /// Indexes a run of `events` events, chunk by chunk. The receivers are among `lps` consecutive ids.
    #[inline]
    pub(super) fn build<'a, P: 'a>(&mut self, chunks: impl Iterator<Item = &'a [Slot<P>]>, events: usize, lps: usize) {
        self.reset(events, lps);
        let base = self.base;
        let (last, mut before, repeats) = (&mut self.last[..], &mut self.before[..], &mut self.repeats[..]);
        let mask = last.len() - 1;
        let (mut number, mut repeated) = (base, 0);
        for chunk in chunks {
            let (here, others) = before.split_at_mut(chunk.len());
            for (before, slot) in here.iter_mut().zip(chunk) {
                // The index is always written, because a branch could not be predicted. It stays only if the
                // receiver had an event before.
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
    fn reset(&mut self, events: usize, lps: usize) {
        debug_assert!(events <= ReceiverIndex::RUN_MAX);
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

    /// Returns the events of the run that are not the first of their receivers.
    pub(super) fn repeats(&self) -> impl Iterator<Item = usize> {
        self.repeats.iter().map(|&index| index.into())
    }

    /// Returns the event of the same receiver that comes before event `index`, if there is one.
    #[inline]
    pub(super) fn previous(&self, index: usize) -> Option<usize> {
        self.index(self.before[index])
    }

    /// Returns the last event of this receiver, if there is one.
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
