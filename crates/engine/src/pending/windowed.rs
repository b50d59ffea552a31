//! The fast one: lazy windows.

use super::PendingSet;
use super::run::{RUN_MAX, Run};
use super::slab::{Chain, Slab};
use parades_core::event::{Event, LpId};
use parades_core::time::{Instant, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events in the side heap from which later ones of the open window are set aside unsorted.
pub(super) const CROWDED: usize = 64;
/// Events up to which a heap is as fast as windows are.
pub(super) const SMALL: usize = 32;

/// A pending event set of lazy windows.
#[derive(Debug)]
pub struct WindowedPending<P> {
    pub(super) slab: Slab<P>,
    /// The open window, as far as it is in order.
    pub(super) run: Run,
    /// What was pushed into the open window, or before it.
    pub(super) side: BinaryHeap<Reverse<Event<P>>>,
    /// The size of `side` from which a push must look closer.
    pub(super) side_mark: usize,
    /// Parts of the open window that are not in order yet, the next one last.
    pub(super) parts: Vec<Chain>,
    /// What was pushed into the open window after `boundary`.
    pub(super) late: Chain,
    /// No event of `run`, `parts` or `side` is later.
    pub(super) boundary: Instant,
    /// A window is `2^shift` picoseconds wide.
    pub(super) shift: u32,
    /// The first window that has not been opened.
    pub(super) next: u64,
    /// The first window that lies in `far`.
    pub(super) horizon: u64,
    /// The windows `next..horizon`, window `w` at `w % ring.len()`.
    pub(super) ring: Vec<Chain>,
    /// Which of them are not empty.
    pub(super) occupied: Vec<u64>,
    pub(super) far: Chain,
    /// No event of `far` is earlier.
    pub(super) far_min: Time,
    pub(super) len: usize,
    /// When the event popped last was due.
    pub(super) last: Instant,
    pub(super) laid: super::layout::Laid,
}

impl<P> Default for WindowedPending<P> {
    fn default() -> WindowedPending<P> {
        WindowedPending {
            slab: Slab::new(),
            run: Run::default(),
            side: BinaryHeap::new(),
            side_mark: CROWDED,
            parts: Vec::new(),
            late: Chain::default(),
            boundary: Instant::START,
            shift: 1,
            next: 0,
            // Nothing is known yet of the times to come, so that all events are far.
            horizon: 0,
            ring: Vec::new(),
            occupied: Vec::new(),
            far: Chain::default(),
            far_min: Time::MAX,
            len: 0,
            last: Instant::START,
            laid: super::layout::Laid::default(),
        }
    }
}

impl<P> PendingSet<P> for WindowedPending<P> {
    #[inline]
    fn push(&mut self, event: Event<P>) {
        debug_assert!(event.instant() >= self.last, "an event was pushed before the one popped last");
        self.len += 1;
        let window = event.time().as_ps() >> self.shift;
        if window < self.next {
            if self.side.len() < self.side_mark {
                self.push_aside(event);
            } else {
                self.push_crowded(event);
            }
        } else if window < self.horizon {
            self.slab.append_to_window(&mut self.ring, &mut self.occupied, window, event);
        } else {
            self.far_min = self.far_min.min(event.time());
            self.slab.append(&mut self.far, event);
        }
    }

    #[inline]
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>> {
        let last = bound.as_ps().checked_sub(1)?;
        self.pop_through(Time::from_ps(last))
    }

    #[inline]
    fn pop(&mut self) -> Option<Event<P>> {
        self.pop_through(Time::MAX)
    }

    fn next_instant(&mut self) -> Option<Instant> {
        if !self.refill(Time::MAX) {
            return None;
        }
        let run = self.run.peek(&self.slab, 0).map(Event::instant);
        let side = self.side.peek().map(|Reverse(event)| event.instant());
        match (run, side) {
            (Some(run), Some(side)) => Some(run.min(side)),
            (run, side) => run.or(side),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn upcoming(&self, ahead: usize) -> Option<LpId> {
        let event = if self.run.is_done() {
            self.side.as_slice().get(ahead).map(|Reverse(event)| event)
        } else {
            self.run.peek(&self.slab, ahead)
        };
        event.map(|event| event.receiver)
    }

    fn allocated_bytes(&self) -> usize {
        self.slab.allocated_bytes()
            + self.run.allocated_bytes()
            + self.side.capacity() * size_of::<Event<P>>()
            + (self.parts.capacity() + self.ring.capacity()) * size_of::<Chain>()
            + self.occupied.capacity() * size_of::<u64>()
    }
}

impl<P> WindowedPending<P> {
    /// How many times an event has been written into a chain: at most a small multiple of the pushes, whatever the times. Counted
    /// where assertions are on.
    #[doc(hidden)]
    pub fn written(&self) -> u64 {
        self.slab.written()
    }

    /// Takes the least event if its time is not after `last`.
    #[inline]
    fn pop_through(&mut self, last: Time) -> Option<Event<P>> {
        if !self.refill(last) {
            return None;
        }
        let run = self.run.peek(&self.slab, 0);
        let aside = match (run, self.side.peek()) {
            (Some(run), Some(Reverse(side))) => side < run,
            (run, _) => run.is_none(),
        };
        let event = if aside {
            let Reverse(least) = self.side.peek()?;
            if least.time() > last {
                return None;
            }
            self.side.pop()?.0
        } else {
            if run?.time() > last {
                return None;
            }
            self.run.take(&mut self.slab)
        };
        self.len -= 1;
        self.last = event.instant();
        Some(event)
    }

    /// Sees to it that the least event is in `run` or `side`; false where none is due by `last`.
    #[inline]
    fn refill(&mut self, last: Time) -> bool {
        !self.run.is_done() || self.parts.is_empty() && !self.side.is_empty() || self.open_next(last)
    }

    fn open_next(&mut self, last: Time) -> bool {
        self.run.retire(&mut self.slab);
        loop {
            if let Some(part) = self.parts.pop() {
                if part.len() > RUN_MAX {
                    self.split(part);
                    continue;
                }
                self.run.sort(part, &self.slab);
                return true;
            }
            if !self.side.is_empty() {
                return true;
            }
            if !self.late.is_empty() {
                self.side_mark = CROWDED;
                let late = std::mem::take(&mut self.late);
                self.open(late);
            } else if self.len == 0 {
                return false;
            } else if self.far.len() == self.len {
                self.lay(None);
            } else if !self.roll() {
                let window = self.next_occupied();
                if window << self.shift > last.as_ps() {
                    return false;
                }
                let chain = self.take_window(window);
                self.open(chain);
            }
            if !self.run.is_done() {
                return true;
            }
        }
    }

    /// Makes `chain` what is executed next; everything before it has been.
    fn open(&mut self, chain: Chain) {
        if chain.len() > RUN_MAX {
            self.boundary = self.slab.events(chain).map(Event::instant).max().unwrap_or_default();
            self.parts.push(chain);
        } else {
            self.run.sort(chain, &self.slab);
            self.boundary = self.run.last_instant(&self.slab).unwrap_or_default();
        }
    }

    #[inline]
    fn push_aside(&mut self, event: Event<P>) {
        self.boundary = self.boundary.max(event.instant());
        self.side.push(Reverse(event));
    }

    #[inline(never)]
    fn push_crowded(&mut self, event: Event<P>) {
        if self.is_small() {
            self.push_aside(event);
            self.gather();
            self.lay(None);
        } else if event.instant() > self.boundary {
            self.slab.append(&mut self.late, event);
            // From now on every push has to be compared with the boundary.
            self.side_mark = 0;
        } else {
            self.side.push(Reverse(event));
            self.note_crowding();
        }
    }
}
