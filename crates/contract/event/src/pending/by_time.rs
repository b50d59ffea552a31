//! The pending event set of most engines: lazy windows.
//!
//! Events of later windows are kept unsorted. A window is sorted when its turn comes, and it then fits the
//! cache. The width of the windows follows from the events: a window should hold a few hundred. So no
//! lookahead is needed.
//!
//! # How it works
//!
//! 1. Time is cut into windows of `2^shift` picoseconds. The *ring* holds the windows `next..horizon`, each
//!    as an unsorted chain. Later events are *far* ([`Far`]): in coarse windows if there are very many
//!    windows, and after those in one chain.
//! 2. `open` sorts the next window into a *run* ([`Run`]). It counts the events into about as many buckets as
//!    there are events, and one insertion pass finishes the sort. A window of more than [`RUN_MAX`] events is
//!    first split into *parts*, by the first level of the order in which the events differ. So a million
//!    events of one instant are split by receiver.
//!    If a window reaches beyond the bound of a pop, only its events before the bound are opened. The others
//!    stay in the ring, so that what the caller pushes before its next bound can join them unsorted.
//! 3. A push into the open window goes to the *side list* ([`SideList`]). `pop_slot_through` merges the side
//!    list with the run.
//! 4. When the side list is full, an event after all others of the window goes to an unsorted chain, *late*.
//!    That chain is later opened like a window. So the rounds of one instant are sorted together.
//! 5. A small population stays in the side list altogether. Then `ring.next` is above every window.
//! 6. The file `layout.rs` adapts the width of the windows.
//!
//! # Invariants
//!
//! - W1: no event of the ring is in a window before `ring.next`, and no far event is in a window before
//!   `ring.horizon`. The window of a time is a shift, so it is exact and monotone. No event of the ring is before
//!   `open_before`.
//! - W2: while `late` has events, they are all after `boundary`. All events of the run, the parts and the
//!   side list are at or before `boundary`.
//! - W3: the parts are in order. A new run is sorted only when the last one is finished.
//! - W4: no event is pushed before the instant of the event popped last.
//!
//! # Cost
//!
//! O(1) amortised for a pop and a push, whatever the times. Only the side list, and windows with many ties,
//! add a logarithm. The example `pending_hold` measures it.
//!
//! # References
//!
//! R. Brown, *Calendar queues*, CACM 1988; W. T. Tang, R. S. M. Goh, I. L.-J. Thng, *Ladder queue*, ACM
//! TOMACS 2005.

mod layout;
mod present;

use super::far::Far;
use super::ring::WindowRing;
use super::run::{RUN_MAX, Run};
use super::side::SideList;
use super::slab::{Chain, Slab};
use super::slot::Slot;
use super::split::split;
use super::unordered::Unordered;
use super::{Leftover, PendingSet};
use crate::event::{Event, Header, LpId};
use crate::time::{Instant, Time};
use layout::Stats;

/// The length of the side list from which later events of the open window go to `late`.
const SIDE_MAX: usize = 256;
/// The largest population for which the side list alone is as fast as windows.
const SMALL_MAX: usize = 32;

/// A pending event set of lazy windows. The module documentation says how it works.
#[derive(Debug)]
pub struct WindowedPending<P> {
    slab: Slab<P>,
    /// The sorted part of the open window.
    run: Run,
    /// Events pushed into the open window or an earlier one.
    side: SideList<P>,
    /// The length of `side` from which a push takes the slow path.
    side_limit: usize,
    /// The parts of the open window that are not sorted yet, the next one last.
    parts: Vec<Chain>,
    /// Events pushed into the open window after `boundary`.
    late: Chain,
    /// No event of `run`, `parts` or `side` is after this instant.
    boundary: Instant,
    /// No event that the open window had at its opening is after this instant.
    opened_to: Instant,
    /// If the first window of the ring is open in part: the time, in picoseconds, before which its events are
    /// open. At most the start of that window otherwise.
    open_before: u64,
    /// A window is `2^shift` picoseconds wide.
    shift: u8,
    /// The value of `shift` for the next rebuild, if the set that held these events before had found a good
    /// value.
    known_shift: Option<u8>,
    /// The number of times that the width was halved since it was last estimated from the density of the
    /// events.
    halvings: u8,
    /// The windows up to the horizon that have not been opened.
    ring: WindowRing,
    /// Pending events from the horizon on.
    far: Far,
    /// The number of pending events.
    len: usize,
    /// The instant of the event popped last.
    last: Instant,
    stats: Stats,
}

impl<P> Default for WindowedPending<P> {
    fn default() -> WindowedPending<P> {
        WindowedPending {
            slab: Slab::new(),
            run: Run::default(),
            side: SideList::new(),
            side_limit: SIDE_MAX,
            parts: Vec::new(),
            late: Chain::default(),
            boundary: Instant::START,
            opened_to: Instant::START,
            open_before: 0,
            shift: 1,
            known_shift: None,
            halvings: 0,
            // Nothing is known of the times to come, so all events are far.
            ring: WindowRing::default(),
            far: Far::default(),
            len: 0,
            last: Instant::START,
            stats: Stats::default(),
        }
    }
}

impl<P> PendingSet<P> for WindowedPending<P> {
    /// Adds an event. Always inlined, so that the event is built at its final place in memory.
    #[inline(always)]
    fn push(&mut self, event: Event<P>) {
        debug_assert!(event.instant() >= self.last, "W4: an event was pushed before the one popped last");
        self.len += 1;
        let (header, body) = event.into_parts();
        let window = header.time().as_ps() >> self.shift;
        if window < self.ring.next {
            self.push_open(header.with(body));
        } else if window < self.ring.horizon {
            if header.time().as_ps() < self.open_before {
                self.push_open(header.with(body));
            } else {
                self.ring.append(&mut self.slab, window, header.with(body));
            }
        } else {
            self.far.push(&mut self.slab, window, header.with(body));
        }
    }

    #[inline(always)]
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
        let run = self.run.peek(&self.slab, 0).map(Header::instant);
        let side = self.side.peek().map(Header::instant);
        match (run, side) {
            (Some(run), Some(side)) => Some(run.min(side)),
            (run, side) => run.or(side),
        }
    }

    /// Opens no window of the ring, unless all events are far. The caller may push into it before it pops.
    fn next_time(&mut self) -> Option<Time> {
        let is_open = !(self.run.is_done() && self.parts.is_empty() && self.side.is_empty() && self.late.is_empty());
        if is_open || self.far.len() == self.len {
            return self.next_instant().map(|instant| instant.time);
        }
        let window = self.ring.next_occupied()?;
        self.ring.window(window).map(|chain| self.slab.min_time(chain)).min()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn upcoming(&self, ahead: usize) -> Option<LpId> {
        if self.run.is_done() {
            return self.side.upcoming(ahead);
        }
        self.run.peek(&self.slab, ahead).map(Header::receiver)
    }

    fn take_all<'l>(&mut self) -> Leftover<'l, P>
    where
        P: 'l,
    {
        let last = self.last;
        let mut old = std::mem::replace(self, WindowedPending { last, ..WindowedPending::default() });
        Box::new(old.side.take_all().chain(old.slab.into_events()))
    }

    fn allocated_bytes(&self) -> usize {
        self.slab.allocated_bytes()
            + self.run.allocated_bytes()
            + self.side.allocated_bytes()
            + self.ring.allocated_bytes()
            + self.far.allocated_bytes()
            + self.parts.capacity() * size_of::<Chain>()
    }
}

impl<P> From<Unordered<P>> for WindowedPending<P> {
    fn from(Unordered { slab, chain, shift }: Unordered<P>) -> WindowedPending<P> {
        let far = Far::of(&slab, chain);
        WindowedPending { slab, far, len: chain.len(), known_shift: shift, ..WindowedPending::default() }
    }
}

impl<P> WindowedPending<P> {
    /// Removes all events, for a set of another kind.
    pub fn into_unordered(mut self) -> Unordered<P> {
        self.move_all_beyond();
        self.far.remove_coarse(&mut self.slab);
        let shift = self.known_shift.or(Some(self.shift).filter(|_| self.stats.has_windows()));
        Unordered { chain: self.far.take_beyond(), slab: self.slab, shift }
    }

    /// Moves all events into as little memory as possible, and frees the rest. The move needs no memory of
    /// its own.
    pub fn compact(&mut self) {
        let last = self.last;
        let Unordered { mut slab, mut chain, shift } = std::mem::take(self).into_unordered();
        slab.pack(&mut chain);
        *self = WindowedPending { last, ..Unordered { slab, chain, shift }.into() };
    }

    /// Returns the number of times that an event has been written into a chain: at most a small multiple of
    /// the pushes.
    #[cfg(feature = "test-hooks")]
    pub fn written(&self) -> u64 {
        self.slab.written()
    }

    /// Removes and returns the earliest event if its time is at most `last`.
    #[inline(always)]
    fn pop_through(&mut self, last: Time) -> Option<Event<P>> {
        self.pop_slot_through(last)?.take()
    }

    /// Pops the earliest event if its time is at most `last`, but leaves it in its slot. The caller takes it
    /// from there, so that the event is moved once.
    #[inline(always)]
    pub fn pop_slot_through(&mut self, last: Time) -> Option<&mut Slot<P>> {
        if !self.refill(last) {
            return None;
        }
        let slot = match (self.run.place(0), self.side.peek()) {
            (Some(place), side) if side.is_none_or(|side| self.slab.get(place) < side) => {
                let slot = self.slab.slot_through(place, last)?;
                self.run.advance();
                slot
            }
            (_, side) => {
                if side?.time() > last {
                    return None;
                }
                self.side.pop_slot()?
            }
        };
        let instant = slot.header().instant();
        self.len -= 1;
        debug_assert!(instant >= self.last, "W4: an event was popped after a later one");
        self.last = instant;
        Some(slot)
    }

    /// Returns the instant of the event popped last.
    #[inline(always)]
    pub fn last_popped(&self) -> Instant {
        self.last
    }

    /// Brings the earliest event into `run` or `side`. Returns false if no event is due by `last`.
    #[inline]
    fn refill(&mut self, last: Time) -> bool {
        !self.run.is_done() || self.parts.is_empty() && !self.side.is_empty() || self.open_next(last)
    }

    /// Sorts the next events, when the run is finished. The next part of the open window comes first, then
    /// the late events, then the next window. Returns false if no event is due by `last`.
    fn open_next(&mut self, last: Time) -> bool {
        self.run.free_chunks(&mut self.slab);
        while self.run.is_done() {
            if let Some(part) = self.parts.pop() {
                if part.len() > RUN_MAX {
                    split(&mut self.slab, part, &mut self.parts);
                    continue;
                }
                self.run.sort(part, &self.slab);
                continue;
            }
            if !self.side.is_empty() {
                return true;
            }
            if !self.late.is_empty() {
                self.side_limit = SIDE_MAX;
                let late = std::mem::take(&mut self.late);
                self.open(late, None);
            } else if self.len == 0 {
                return false;
            } else if self.far.len() == self.len {
                match self.far.next_occupied() {
                    Some(window) if window << self.shift > last.as_ps() => return false,
                    Some(window) => self.jump(window),
                    None => self.rebuild(None),
                }
            } else if !self.advance_ring() {
                let window = self.ring.next_occupied().expect("an event that is not far is in a window");
                let start = (window << self.shift).max(self.open_before);
                let end = (window << self.shift) + ((1 << self.shift) - 1);
                if start > last.as_ps() {
                    return false;
                }
                if end > last.as_ps() && self.narrow() {
                    continue;
                }
                let in_part = end > last.as_ps() && self.may_move_back();
                let chain = if in_part { self.take_window_through(window, last) } else { self.take_window(window) };
                if chain.is_empty() {
                    return false;
                }
                self.open(chain, Some((start, if in_part { last.as_ps() } else { end })));
                self.prefetch_next();
            }
        }
        true
    }

    /// Makes `chain` the open window. All earlier events must have been executed. `within` has the smallest
    /// and the largest time possible in the chain, if these times are known.
    fn open(&mut self, chain: Chain, within: Option<(u64, u64)>) {
        if chain.len() > RUN_MAX {
            self.boundary = self.slab.events(chain).map(Header::instant).max().unwrap_or_default();
            self.parts.push(chain);
        } else {
            match within {
                Some(within) => self.run.sort_within(chain, &self.slab, within),
                None => self.run.sort(chain, &self.slab),
            }
            self.boundary = self.run.last_instant(&self.slab).unwrap_or_default();
        }
        self.opened_to = self.boundary;
    }

    #[inline(never)]
    fn push_open(&mut self, event: Event<P>) {
        self.stats.count_open_push(self.last.time, event.time(), self.shift);
        if self.side.len() < self.side_limit {
            self.push_side(event);
        } else {
            self.push_side_full(event);
        }
    }

    /// Adds an event to the side list.
    #[inline]
    fn push_side(&mut self, event: Event<P>) {
        self.boundary = self.boundary.max(event.instant());
        self.side.push(event);
    }

    /// Moves the events of the side list that are after the window's own events and after the present into
    /// `late`.
    ///
    /// LPs that wake together and send with one delay push many events of one instant. Sorting those together
    /// costs less than inserting them one by one.
    #[inline(never)]
    fn split_off_late(&mut self) {
        let boundary = self.opened_to.max(self.last);
        if self.boundary > boundary {
            let WindowedPending { side, slab, late, .. } = self;
            side.take_after(boundary, |event| slab.append(late, event));
            self.boundary = boundary;
            self.side_limit = 0;
        }
    }

    /// Pushes into the open window while the side list is full, or while there are late events.
    #[inline(never)]
    fn push_side_full(&mut self, event: Event<P>) {
        if self.is_small() {
            self.push_side(event);
            self.move_all_beyond();
            self.rebuild(None);
            return;
        }
        if self.late.is_empty() {
            self.split_off_late();
        }
        if event.instant() > self.boundary {
            // W2: the event is after all events of the window except the late ones.
            self.slab.append(&mut self.late, event);
            // From now on every push must be compared with the boundary.
            self.side_limit = 0;
        } else {
            self.side.push(event);
            self.count_side_push();
        }
    }
}
