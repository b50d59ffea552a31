//! The width of the windows, and when they are rebuilt.
//!
//! A rebuild moves every pending event once. It happens in four cases:
//!
//! 1. All windows have become empty.
//! 2. The windows held far more or far fewer events than they should, or there were too many pushes into a
//!    full side list.
//! 3. Many events were pushed into an open window, but would have fallen into a later window if windows were
//!    half as wide. Each of these events is sorted by itself, which is slow.
//! 4. Windows reach far beyond the bounds of pops, so that events are moved back into windows more often than they
//!    are executed.
//!
//! In case 1 the new windows cover half of the pending events. For pushes into a full side list, the set
//! waits until the pushes are an eighth as many as the events that were pending at the last rebuild: such a
//! push costs far more than moving an event. In case 4, it waits until events were moved back half as many
//! times as there are pending events. In the other cases, it waits until the events executed since then are
//! half as many as the pending events. Events beyond the windows are scanned only after a quarter as many
//! have been executed, and a coarse window is distributed once. So an event is moved a bounded number of
//! times on average.

use super::{SIDE_MAX, SMALL_MAX, WindowedPending};
use crate::event::Event;
use crate::pending::slab::{Chain, Slab};
use crate::time::Time;

/// The largest number of events that a window should hold. Large populations gain by having fewer windows,
/// whose ends then stay in the cache.
const TARGET: usize = 512;
/// The smallest number of events that a window should hold.
const TARGET_MIN: usize = 16;
/// A window should hold the number of pending events divided by this number, so that most pushes go to later
/// windows.
const SHARE: usize = 8;
/// At the density of the earliest events, the windows could hold this multiple of the pending events. With
/// exponential delays, all but one in fifty events then fall into the windows.
const RING_SPAN: usize = 4;
/// From this number of windows on, there are coarse windows. Below it, all windows are in the ring, and the
/// ends of their chains stay in the cache. The number of windows is then doubled, so that hardly any event is
/// first written beyond the ring.
const RING_CACHED: usize = 1 << 12;
/// The smallest number of windows in the ring.
const RING_MIN: usize = 16;
/// The population at which the set returns to using the side list alone. It is below [`SMALL_MAX`], so that a
/// changing population does not switch at every event.
const SMALL_RETURN: usize = SMALL_MAX / 2;
/// The number of times in the sample from which the width is estimated.
const SAMPLE: usize = 512;
/// The earliest times of the sample give the density of the first events. Their number is that of the sample
/// divided by this number.
const FRONT: usize = 16;
/// The factor by which the events of a window may differ from the target before a rebuild.
const TOLERANCE: u64 = 3;
/// The width is halved if a window has more avoidable pushes ([`Stats::avoidable`]) than this number. Sorting
/// this number of events one by one costs more than opening another window.
const AVOIDABLE_MAX: u64 = 32;
/// The smallest number of pushes into a full side list after which the windows are made narrower. A set that
/// was large at the last rebuild waits for as many pushes as it then had events, divided by
/// [`EVENTS_PER_SIDE_PUSH`].
const SIDE_PUSHES_MIN: usize = 4096;
/// The number of events whose move in a rebuild costs about as much as a push into a full side list.
const EVENTS_PER_SIDE_PUSH: usize = 8;

/// The number of times that an event is moved back at most, on average.
const MOVES_BACK: u64 = 2;

/// Counters since the last rebuild.
#[derive(Debug, Default)]
pub(super) struct Stats {
    /// The number of pending events at the rebuild.
    len: usize,
    /// The number of events that a window should hold.
    target: usize,
    /// The virtual time of the rebuild.
    time: Time,
    /// The number of windows opened.
    windows: u64,
    /// The number of events in those windows when they were opened.
    opened: u64,
    /// The number of events pushed into an open window while the side list was full.
    side_pushes: u64,
    /// The number of events pushed into an open window that would have fallen into a later window if windows
    /// were half as wide.
    avoidable: u64,
    /// The number of times that an event was moved back into a window of which a part was opened.
    moved_back: u64,
    /// The number of events opened since the events beyond the windows were scanned.
    opened_since_scan: u64,
}

impl Stats {
    /// Counts a push at `time` into the open window of width `2^shift`, during the execution of an event at
    /// `now`.
    #[inline(always)]
    pub(super) fn count_open_push(&mut self, now: Time, time: Time, shift: u8) {
        self.avoidable += (now.as_ps() ^ time.as_ps()) >> (shift - 1) & 1;
    }

    /// True if any window has been opened.
    pub(super) fn has_windows(&self) -> bool {
        self.windows > 0
    }
}

impl<P> WindowedPending<P> {
    /// True if the population is so small that the side list holds all of it.
    #[inline]
    pub(super) fn is_small(&self) -> bool {
        self.ring.next == u64::MAX
    }

    /// Rebuilds the windows. All pending events must be beyond the ring. `rate_width` is the width that would
    /// have suited the recently executed events, if the windows should follow those.
    pub(super) fn rebuild(&mut self, rate_width: Option<u64>) {
        debug_assert!(self.far.len() == self.len && self.side.is_empty());
        self.far.remove_coarse(&mut self.slab);
        self.stats = Stats { len: self.len, time: self.last.time, ..Stats::default() };
        if self.len <= SMALL_RETURN {
            self.ring.next = u64::MAX;
            self.ring.horizon = u64::MAX;
            self.side_limit = SMALL_MAX;
            let far = self.far.take_beyond();
            self.slab.consume(far, |_, event| self.side.push(event));
            return;
        }
        self.stats.target = ((self.len / SHARE).clamp(TARGET_MIN, TARGET) >> self.halvings).max(TARGET_MIN);
        let windows = (2 * RING_SPAN * self.len / self.stats.target).next_power_of_two() / 2;
        let is_cached = windows < RING_CACHED;
        let windows = if is_cached { 2 * windows } else { windows }.max(RING_MIN);
        let width = rate_width.unwrap_or(u64::MAX).min(self.sampled_width(windows));
        // The width is rounded to a power of two, and is at least 2 ps. So the number of a window plus one
        // always fits.
        let width = width.clamp(2, 1 << 62);
        let shift = ((width + width / 2) | 1).ilog2().clamp(1, 62);
        self.shift = self.known_shift.take().unwrap_or_else(|| u8::try_from(shift).expect("at most 62"));
        // The ring has about as many windows as there are coarse ones.
        let half = 1 << (windows.ilog2() / 2);
        self.slab.resize_chunks_for(&mut self.far.beyond, if is_cached { windows } else { half + windows / half });
        let first = self.far.beyond_min.as_ps() >> self.shift;
        if is_cached {
            self.ring.reset(windows, first);
        } else {
            self.ring.reset(2 * half, first);
            self.ring.horizon = self.far.add_coarse(windows / half, half.ilog2(), first + half as u64);
        }
        self.side_limit = SIDE_MAX;
        self.boundary = self.last;
        self.opened_to = self.last;
        self.open_before = 0;
        self.scan_beyond();
    }

    /// Returns the width at which the first windows hold the target number of events, and `windows` of them
    /// hold at least half of all events.
    fn sampled_width(&self, windows: usize) -> u64 {
        let step = (self.len / SAMPLE).max(1);
        let mut skip = 0;
        let mut sample = Vec::with_capacity(2 * SAMPLE);
        for (chunk, fill) in self.slab.chunks(self.far.beyond) {
            let slots = self.slab.slots(chunk);
            while skip < fill {
                sample.push(slots[skip].header().time().as_ps());
                skip += step;
            }
            skip -= fill;
        }
        sample.sort_unstable();
        let min = self.far.beyond_min.as_ps();
        let front = sample.len() / FRONT;
        let per_sample = self.len as f64 / sample.len() as f64;
        let front_events = (front as f64 + 0.5) * per_sample;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and `as` saturates")]
        let front_width = ((sample[front] - min) as f64 * self.stats.target as f64 / front_events) as u64;
        let cover_width = (sample[sample.len() / 2] - min) / windows as u64 + 1;
        front_width.max(cover_width)
    }

    /// Moves the events of `beyond` that the windows now reach into the windows.
    fn scan_beyond(&mut self) {
        self.stats.opened_since_scan = 0;
        let beyond = self.far.take_beyond();
        let WindowedPending { slab, ring, shift, far, .. } = self;
        slab.consume(beyond, |slab, event| {
            let window = event.time().as_ps() >> *shift;
            if window < ring.horizon {
                ring.append(slab, window, event);
            } else {
                far.push(slab, window, event);
            }
        });
    }

    /// Continues with the coarse window that begins with `window`. All earlier events must have been
    /// executed.
    #[cold]
    pub(super) fn jump(&mut self, window: u64) {
        self.ring.next = window;
        self.distribute(window);
    }

    /// Distributes the coarse window that begins with `window` over the ring, and moves the horizon to its
    /// end.
    fn distribute(&mut self, window: u64) {
        let (chain, horizon) = self.far.take(window);
        self.ring.horizon = horizon;
        let WindowedPending { slab, ring, shift, .. } = self;
        slab.consume(chain, |slab, event| ring.append(slab, event.time().as_ps() >> *shift, event));
    }

    /// If half of the ring has been executed, extends the ring, or rebuilds the windows because their width
    /// does not suit. Returns true if it rebuilt them.
    #[inline]
    pub(super) fn advance_ring(&mut self) -> bool {
        self.ring.is_half_done() && self.advance_or_rebuild()
    }

    fn advance_or_rebuild(&mut self) -> bool {
        let load = (self.stats.opened + self.stats.side_pushes) / self.stats.windows.max(1);
        // A rebuild moves every event once, so it must be paid for by executed events.
        let is_paid_for = self.stats.opened + self.stats.side_pushes > self.len as u64 / 2;
        let target = self.stats.target as u64;
        if is_paid_for && (load > TOLERANCE * target || load < target / TOLERANCE) || self.len < SMALL_RETURN {
            let width = (load > TOLERANCE * target).then(|| self.executed_width());
            self.halvings = 0;
            self.move_all_beyond();
            self.rebuild(width);
            return true;
        }
        if is_paid_for
            && self.stats.avoidable > AVOIDABLE_MAX * self.stats.windows
            && self.stats.target >= 2 * TARGET_MIN
            && self.shift > 1
        {
            self.halvings += 1;
            let width = 1 << (self.shift - 1);
            self.move_all_beyond();
            self.rebuild(Some(width));
            return true;
        }
        let far = &mut self.far;
        let outer = if far.has_coarse() { &mut far.coarse } else { &mut self.ring };
        if outer.is_half_done() {
            let horizon = outer.next + outer.len() as u64;
            let reaches_beyond = far.beyond_min.as_ps() >> self.shift >> far.bits < horizon;
            // A scan must be paid for too. Otherwise the windows run to their end, and are rebuilt there.
            if !reaches_beyond || self.stats.opened_since_scan * 4 >= far.beyond.len() as u64 {
                outer.horizon = horizon;
                if reaches_beyond {
                    self.scan_beyond();
                }
            }
        }
        if self.far.coarse.next < self.far.coarse.horizon {
            self.distribute(self.ring.horizon);
        }
        false
    }

    /// Returns true if a window may be opened in part. Where windows cannot be narrow enough, the moves would
    /// cost more than sorting by themselves the events that are pushed into an open window.
    pub(super) fn may_move_back(&self) -> bool {
        self.stats.moved_back <= MOVES_BACK * self.stats.opened + self.len as u64
    }

    /// Rebuilds narrower windows if events were moved back more often than they were opened. Returns true if
    /// it did.
    pub(super) fn narrow(&mut self) -> bool {
        let Stats { moved_back, opened, target, .. } = self.stats;
        // With k bounds in a window, an event is moved back (k - 1) / 2 times on average.
        let halvings = (moved_back / opened.max(1)).checked_ilog2().map_or(0, |power| power + 1);
        let room = (target / TARGET_MIN).ilog2().min(u32::from(self.shift) - 1);
        #[expect(clippy::cast_possible_truncation, reason = "at most the shift")]
        let halvings = halvings.min(room) as u8;
        if halvings == 0 || moved_back <= self.len as u64 / 2 {
            return false;
        }
        self.halvings += halvings;
        let width = 1 << (self.shift - halvings);
        self.move_all_beyond();
        self.rebuild(Some(width));
        true
    }

    /// Returns the width at which windows would have held the target number of the events executed since the
    /// last rebuild.
    fn executed_width(&self) -> u64 {
        let span = self.last.time.since(self.stats.time).as_ps();
        let executed = self.stats.opened + self.stats.side_pushes;
        let width = u128::from(span) * self.stats.target as u128 / u128::from(executed.max(1));
        u64::try_from(width).unwrap_or(u64::MAX)
    }

    /// Counts a push into a full side list, and rebuilds narrower windows if there have been too many.
    pub(super) fn count_side_push(&mut self) {
        self.stats.side_pushes += 1;
        let patience = (self.stats.len / EVENTS_PER_SIDE_PUSH).max(SIDE_PUSHES_MIN);
        if self.stats.side_pushes > patience as u64 {
            let width = self.executed_width();
            self.move_all_beyond();
            self.rebuild(Some(width));
        }
    }

    /// Moves every pending event beyond the ring.
    pub(super) fn move_all_beyond(&mut self) {
        let far = &mut self.far;
        let mut accept = |slab: &mut Slab<P>, event: Event<P>| far.push_beyond(slab, event);
        for event in self.side.take_all() {
            accept(&mut self.slab, event);
        }
        while !self.run.is_done() {
            let event = self.run.next_slot(&mut self.slab).take().expect("an event that waits is in its slot");
            accept(&mut self.slab, event);
        }
        self.run.free_chunks(&mut self.slab);
        let chains = self.parts.drain(..).chain([std::mem::take(&mut self.late)]).chain(self.ring.take_all());
        for chain in chains {
            self.slab.consume(chain, &mut accept);
        }
    }

    /// Prefetches the events of the next window, so that they arrive while the open window is executed.
    pub(super) fn prefetch_next(&self) {
        if let Some(window) = self.ring.next_occupied() {
            self.ring.window(window).for_each(|chain| self.slab.prefetch(chain));
        }
    }

    /// Takes `window` out of the ring.
    pub(super) fn take_window(&mut self, window: u64) -> Chain {
        let is_new = !self.is_open_in_part(window);
        let chain = self.ring.take(window);
        self.count_opened(is_new, chain.len());
        chain
    }

    /// Takes the events of `window` up to `last` out of the ring. The window reaches beyond that.
    pub(super) fn take_window_through(&mut self, window: u64, last: Time) -> Chain {
        let is_new = !self.is_open_in_part(window);
        let all = self.ring.take(window);
        self.ring.next = window;
        self.open_before = last.as_ps() + 1;
        let mut due = Chain::default();
        let WindowedPending { slab, ring, stats, .. } = self;
        slab.consume(all, |slab, event| {
            if event.time() <= last {
                slab.append(&mut due, event);
            } else {
                ring.append(slab, window, event);
                stats.moved_back += 1;
            }
        });
        self.count_opened(is_new, due.len());
        due
    }

    fn is_open_in_part(&self, window: u64) -> bool {
        window << self.shift < self.open_before
    }

    fn count_opened(&mut self, is_new: bool, events: usize) {
        self.stats.windows += u64::from(is_new);
        self.stats.opened += events as u64;
        self.stats.opened_since_scan += events as u64;
    }
}
