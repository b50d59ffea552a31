//! A pending event set whose windows are executed LP by LP.
//!
//! Inside a window that is at most as wide as the lookahead, the order between LPs is free: only the order of
//! each LP's own events counts. This set uses that freedom. It fetches the record of an LP once per window,
//! and sorts hardly any events.
//!
//! # How it works
//!
//! 1. Time is cut into the windows of a [`Grid`]. A [`WindowRing`] holds the next windows, each as an
//!    unsorted chain. Later events are in one *far* chain.
//! 2. A large window has one chain for each range of LPs, a *lane* ([`Lanes`]). The events of a lane, and the
//!    records of its LPs, fit the cache. `rebuild_lanes_for` adds lanes when windows have become much larger.
//! 3. `open` turns the lanes of the next window into *parts*, and `open_part` makes each part a [`Run`] in
//!    turn. If few LPs have several events in the part, it stays unsorted: [`ReceiverIndex`] finds those LPs,
//!    and only their events are put in order. Otherwise the part is sorted by LP and time. A part that is too
//!    large to sort is split by ranges of LPs.
//! 4. Events that the executing LP sends to itself inside the window go to a small *side list*. If that LP
//!    has further events in an unsorted run, `sort_remaining` sorts the rest of the run LP by LP, this LP
//!    first.
//! 5. When half of the ring has been executed, `advance_ring` moves the horizon. When the ring is empty,
//!    `jump` continues at the far chain. Both make the ring longer if it is too short for the events.
//!
//! # Invariants
//!
//! - L1: no event for another LP is pushed before `until`, the last bound asked for. The width of a window is
//!   at most the lookahead.
//! - L2: the side list holds events of one LP at a time, the one that executed last. The events of that LP in
//!   the run come next, or have been taken.
//! - L3: no event of the ring or the far chain is before `until`. No event of the far chain is before the
//!   horizon of the ring.
//!
//! # Cost
//!
//! An unsorted window costs one look at each event, and one comparison for each event that is not the first
//! of its LP. A window that needs more than one comparison for two events is sorted, and so are the next
//! windows.

mod layout;

use super::Leftover;
use super::grid::Grid;
use super::lanes::Lanes;
use super::receivers::ReceiverIndex;
use super::ring::WindowRing;
use super::run::Run;
use super::side::SideList;
use super::slab::{Chain, Slab};
use super::slot::Slot;
use super::split::{split, split_by};
use super::unordered::Unordered;
use crate::event::{Event, Header, LpId};
use crate::time::Time;

/// The number of windows in a new ring.
const RING_MIN: usize = 64;
/// The number of events that a part should have when it is sorted LP by LP.
const PART: usize = 512;
/// The number of windows that are sorted after a window that could not stay unsorted.
const SORTED_WINDOWS: u32 = 64;

/// A pending event set whose windows are executed LP by LP. The module documentation says how it works.
#[derive(Debug)]
pub struct LpOrderedPending<P> {
    slab: Slab<P>,
    grid: Grid,
    lanes: Lanes,
    run: Run,
    receivers: ReceiverIndex,
    /// True if the run is unsorted, except that the events of each LP are in order.
    is_unsorted: bool,
    /// The number of windows that will be sorted before a window may stay unsorted again.
    sorted_windows: u32,
    side: SideList<P>,
    /// The parts of the open window that are not in the run yet, the next one last.
    parts: Vec<Chain>,
    /// Every event before this time has been taken, or is in the run, the parts or the side list.
    until: Time,
    /// The number of the open window.
    open: u64,
    ring: WindowRing,
    far: Chain,
    /// A lower bound on the times in `far`.
    far_min: Time,
    /// The number of events opened since `far` was scanned.
    opened_since_scan: usize,
    /// The number of events opened since the ring was rebuilt.
    opened_since_rebuild: usize,
    /// The number of events of the open window.
    opened: usize,
    /// The width of time-ordered windows that suited these events, as in [`Unordered`].
    shift: Option<u8>,
}

impl<P> LpOrderedPending<P> {
    /// Makes an empty set for the LPs from `lps.0` to `lps.1`.
    ///
    /// The windows of `grid` must be at most as wide as the shortest delay with which an LP here sends to
    /// another.
    pub fn new(grid: Grid, lps: (LpId, LpId)) -> LpOrderedPending<P> {
        let mut ring = WindowRing::default();
        ring.reset(RING_MIN, 0);
        LpOrderedPending {
            slab: Slab::new(),
            grid,
            lanes: Lanes::one(lps),
            run: Run::default(),
            receivers: ReceiverIndex::default(),
            is_unsorted: false,
            sorted_windows: 0,
            side: SideList::new(),
            parts: Vec::new(),
            until: Time::ZERO,
            open: 0,
            ring,
            far: Chain::default(),
            far_min: Time::MAX,
            opened_since_scan: 0,
            opened_since_rebuild: 0,
            opened: 0,
            shift: None,
        }
    }

    /// Makes a set with events.
    pub fn from_unordered(
        grid: Grid,
        lps: (LpId, LpId),
        Unordered { slab, chain, shift }: Unordered<P>,
    ) -> LpOrderedPending<P> {
        let far_min = slab.min_time(chain);
        let mut set = LpOrderedPending { slab, far: chain, far_min, shift, ..LpOrderedPending::new(grid, lps) };
        // All events are far until one is due, because an earlier event may still be pushed.
        set.ring.horizon = set.ring.next;
        set
    }

    /// Removes all events, for a set of another kind. All events before the last bound must have been taken.
    pub fn into_unordered(mut self) -> Unordered<P> {
        debug_assert!(!self.has_open_window());
        self.run.free_chunks(&mut self.slab);
        let LpOrderedPending { mut slab, far: mut all, mut ring, shift, .. } = self;
        for chain in ring.take_all() {
            slab.consume(chain, |slab, event| slab.append(&mut all, event));
        }
        Unordered { slab, chain: all, shift }
    }

    /// Adds an event. Always inlined, so that the event is built at its final place in memory.
    #[inline(always)]
    pub fn push(&mut self, event: Event<P>) {
        let (header, body) = event.into_parts();
        let window = self.grid.window(header.time());
        if header.time() < self.until {
            self.push_open(header.with(body));
        } else if window < self.ring.horizon {
            if self.lanes.is_one() {
                // There is no lane to compute, so the place of the event is known earlier. Computing a lane
                // would delay the push, because no later step hides that time.
                self.ring.append(&mut self.slab, window, header.with(body));
            } else {
                self.ring.append_to(window, self.lanes.of(header.receiver()), &mut self.slab, header.with(body));
            }
        } else {
            self.push_far(header.with(body));
        }
    }

    #[inline(never)]
    fn push_open(&mut self, event: Event<P>) {
        debug_assert!(
            self.side.peek().is_none_or(|other| other.receiver() == event.receiver()),
            "L2: events of two LPs were pushed into the open window"
        );
        if self.is_unsorted && self.receivers.last(event.receiver()).is_some_and(|last| self.run.is_pending(last)) {
            self.sort_remaining(event.receiver());
        }
        self.side.push(event);
    }

    /// Sorts the rest of the open window LP by LP, the executing LP first.
    #[cold]
    fn sort_remaining(&mut self, first: LpId) {
        self.is_unsorted = false;
        self.sorted_windows = SORTED_WINDOWS;
        self.run.sort_remaining_by_lp(first, &self.slab, time_in(self.grid, self.open));
    }

    #[inline(never)]
    fn push_far(&mut self, event: Event<P>) {
        self.far_min = self.far_min.min(event.time());
        self.slab.append(&mut self.far, event);
    }

    /// Removes and returns an event before `bound`. The events of each LP come in order, the LPs in any
    /// order.
    ///
    /// All events before one bound must be taken before another bound is asked for.
    #[inline(always)]
    pub fn pop_before(&mut self, bound: Time) -> Option<Event<P>> {
        let slot = match self.run.place(0) {
            Some(place) if self.side.is_empty() => {
                self.run.advance();
                self.slab.slot(place)
            }
            _ => self.next_slot(bound)?,
        };
        slot.take()
    }

    /// Takes the next event before `bound`, and returns its slot.
    #[inline(never)]
    fn next_slot(&mut self, bound: Time) -> Option<&mut Slot<P>> {
        // The next part may have events of the same LP, which come before those of the side list.
        if self.run.is_done() && (self.side.is_empty() || !self.parts.is_empty()) && !self.open_next(bound) {
            return None;
        }
        let is_aside = match (self.run.peek(&self.slab, 0), self.side.peek()) {
            (Some(run), Some(side)) => side.receiver() != run.receiver() || side < run,
            (run, _) => run.is_none(),
        };
        if !is_aside {
            return Some(self.run.next_slot(&mut self.slab));
        }
        self.side.pop_slot()
    }

    /// Returns true if events before the last bound are left, because whoever takes them has given up.
    pub fn has_open_window(&self) -> bool {
        !(self.run.is_done() && self.side.is_empty() && self.parts.is_empty())
    }

    /// Returns a lower bound on the times of all events, or [`Time::MAX`] if the set is empty.
    pub fn next_time(&self) -> Time {
        if self.has_open_window() {
            return self.grid.start(self.open);
        }
        let Some(window) = self.ring.next_occupied() else { return self.far_min };
        let start = self.grid.start(window);
        if start >= self.until {
            return start;
        }
        // The window has been executed up to `until`, so its start would not let the caller make progress.
        // Several bounds may fall into one window, a picosecond apart.
        self.ring.window(window).map(|chain| self.slab.min_time(chain)).min().unwrap_or(self.until)
    }

    /// Opens the window of the earliest event before `bound`, unless one is open. The next event is then
    /// popped without a look at others.
    pub fn open_window(&mut self, bound: Time) {
        if !self.has_open_window() {
            self.open_next(bound);
        }
    }

    /// Returns the number of pending events. It adds up all windows.
    pub fn len(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.len()).sum();
        self.run.len() + self.side.len() + parts + self.ring.count() + self.far.len()
    }

    /// True if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the receiver of the event that will probably be taken after the next `ahead` events.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<LpId> {
        self.run.peek(&self.slab, ahead).map(Header::receiver)
    }

    /// Returns the bytes of memory that the set holds, not counting memory that payloads own.
    pub fn allocated_bytes(&self) -> usize {
        self.slab.allocated_bytes()
            + self.run.allocated_bytes()
            + self.receivers.allocated_bytes()
            + self.side.allocated_bytes()
            + self.ring.allocated_bytes()
            + self.parts.capacity() * size_of::<Chain>()
    }

    /// Removes all events, in no order.
    pub fn take_all<'l>(&mut self) -> Leftover<'l, P>
    where
        P: 'l,
    {
        self.run = Run::default();
        self.parts.clear();
        let next = self.ring.next;
        drop(self.ring.take_all());
        self.far = Chain::default();
        let slab = std::mem::replace(&mut self.slab, Slab::new());
        self.ring.reset_lanes(self.lanes.count(), RING_MIN, next);
        self.far_min = Time::MAX;
        Box::new(self.side.take_all().chain(slab.into_events()))
    }

    /// Makes the next part of the open window the run, or opens the next window. Returns false if no event is
    /// due before `bound`.
    #[inline(never)]
    fn open_next(&mut self, bound: Time) -> bool {
        self.run.free_chunks(&mut self.slab);
        while self.run.is_done() && !self.open_part() {
            if self.ring.is_half_done() {
                self.advance_ring();
            }
            let Some(window) = self.ring.next_occupied() else {
                if self.far_min >= bound {
                    self.until = self.until.max(bound);
                    return false;
                }
                self.jump();
                continue;
            };
            if self.grid.start(window) >= bound {
                self.until = self.until.max(bound);
                return false;
            }
            // A rebuild moves every event, so it must be paid for by as many executed events.
            if self.lanes.are_few_for(self.opened) && self.opened_since_rebuild >= self.len() {
                self.rebuild_lanes_for(self.opened, window);
                continue;
            }
            self.open = window;
            self.sorted_windows = self.sorted_windows.saturating_sub(1);
            if window == self.grid.window(bound) {
                self.open_before(bound);
                return self.open_part();
            }
            self.until = self.grid.start(window + 1);
            self.open();
        }
        true
    }

    /// Opens a window: its lanes become parts.
    fn open(&mut self) {
        let lanes = self.ring.take_lanes(self.open).filter(|chain| !chain.is_empty());
        self.parts.extend(lanes.rev());
        self.opened = self.parts.iter().map(|part| part.len()).sum();
        self.opened_since_scan += self.opened;
        self.opened_since_rebuild += self.opened;
        if let Some(next) = self.ring.next_occupied() {
            self.ring.window(next).take(1).for_each(|chain| self.slab.prefetch(chain));
        }
    }

    /// Makes the next part the run. Returns false if there is none.
    fn open_part(&mut self) -> bool {
        while let Some(part) = self.parts.pop() {
            if let Some(&next) = self.parts.last() {
                self.slab.prefetch(next);
            }
            self.is_unsorted = self.sorted_windows == 0 && part.len() <= ReceiverIndex::RUN_MAX;
            if self.is_unsorted {
                if self.run.order_within_lps(part, &self.slab, &mut self.receivers, self.lanes.lps()) {
                    return true;
                }
                self.is_unsorted = false;
                self.sorted_windows = SORTED_WINDOWS;
            }
            if part.len() <= ReceiverIndex::RUN_MAX {
                self.run.sort_by_lp(part, &self.slab, time_in(self.grid, self.open));
                return true;
            }
            if !split_by(&mut self.slab, part, &mut self.parts, PART, |event| event.receiver().0.into()) {
                split(&mut self.slab, part, &mut self.parts);
            }
        }
        false
    }

    /// Opens only the events before `bound`, and leaves the others in the window.
    #[cold]
    fn open_before(&mut self, bound: Time) {
        self.until = bound;
        let chains: Vec<Chain> = self.ring.take_lanes(self.open).collect();
        self.ring.next = self.open;
        for (lane, chain) in chains.into_iter().enumerate() {
            let mut before = Chain::default();
            let LpOrderedPending { slab, ring, open, .. } = self;
            slab.consume(chain, |slab, event| {
                if event.time() < bound {
                    slab.append(&mut before, event);
                } else {
                    ring.append_to(*open, lane, slab, event);
                }
            });
            if !before.is_empty() {
                self.parts.push(before);
            }
        }
    }
}

/// Returns a function that gives the position of a time in `window`, scaled to fit 32 bits.
fn time_in(grid: Grid, window: u64) -> impl Fn(Time) -> u32 {
    let (start, shift) = (grid.start(window), grid.shift());
    #[expect(clippy::cast_possible_truncation, reason = "shifted so that it fits")]
    move |time| (time.since(start).as_ps() >> shift) as u32
}
