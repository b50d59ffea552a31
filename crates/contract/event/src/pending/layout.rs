//! How wide the windows are, and when that is decided anew.
//!
//! Laying windows moves every pending event once. It happens when all windows have run empty, and then covers half of what is pending; or
//! when the windows prove too wide or too narrow, and then only after about as many events have been executed. They are too wide also where many pushes fall
//! into the open window that a later one of half the width would have taken: each of these is put in order by itself. What is beyond the windows is
//! looked through only after a quarter as many have been, and a coarse window is distributed once. So an event is moved a bounded number of
//! times on average.

use super::slab::{Chain, Slab};
use super::windowed::{CROWDED, SMALL, WindowedPending};
use crate::event::Event;
use crate::time::Time;

/// Events that a window should hold, at most; larger populations gain by fewer windows, whose ends then stay in the cache.
const TARGET: usize = 512;
/// Events that a window should hold, at least.
const TARGET_MIN: usize = 16;
/// A window should hold one pending event in so many, so that most pushes fall into later windows.
const SHARE: usize = 8;
/// Windows for as many as would hold all pending events at the density of the first; of exponential delays, all but one in fifty then fall
/// into them.
const RING_SPAN: usize = 4;
/// Windows up to which all are in the ring, and are twice as many, as the ends of all then stay in the cache: hardly anything is written elsewhere first.
/// Where there are more, they are in coarse windows at first.
const RING_CACHED: usize = 1 << 12;
/// Windows in the ring, at least.
const RING_MIN: usize = 16;
/// Population from which downwards the side list serves; below [`SMALL`], so that a population that wavers does not switch at every
/// event.
const SMALL_AGAIN: usize = SMALL / 2;
/// Times looked at before windows are laid.
const SAMPLE: usize = 512;
/// The share of the sample, one in so many, that tells how densely the first events lie.
const FRONT: usize = 16;
/// How many times more, or fewer, events than meant a window may hold before windows are laid anew.
const TOLERANCE: u64 = 3;
/// Pushes into an open window that would have gone to a later one of half the width, for each window: that many cost more to put in order one by one than
/// opening another window does.
const SAVED: u64 = 32;
/// Events pushed into crowded windows before these are given up, at least.
const CROWDED_MIN: usize = 4096;

/// What has happened since the windows were laid.
#[derive(Debug, Default)]
pub(super) struct Laid {
    /// Events that were pending then.
    len: usize,
    /// Events that a window should hold.
    target: usize,
    /// Where virtual time was.
    time: Time,
    /// Windows opened.
    windows: u64,
    /// Events that were in them.
    opened: u64,
    /// Events pushed into an open window while its side list was crowded.
    crowded: u64,
    /// Pushes into an open window that windows of half the width would have had in a later one.
    saved: u64,
    /// Events opened since what is beyond the windows was looked through.
    opened_since_scan: u64,
}

impl Laid {
    /// An event is pushed into the open window of width `2^shift`, at the time of another.
    #[inline(always)]
    pub(super) fn note_aside(&mut self, now: Time, time: Time, shift: u8) {
        self.saved += (now.as_ps() ^ time.as_ps()) >> (shift - 1) & 1;
    }

    /// Whether there have been windows.
    pub(super) fn has_windows(&self) -> bool {
        self.windows > 0
    }
}

impl<P> WindowedPending<P> {
    /// Whether the population is so small that all of it is in the side list.
    #[inline]
    pub(super) fn is_small(&self) -> bool {
        self.ring.next == u64::MAX
    }

    /// Lays windows over all that is pending, which must be beyond the ring. `rate_width` is the width that the events executed lately
    /// would have needed, if they should be the measure.
    pub(super) fn lay(&mut self, rate_width: Option<u64>) {
        debug_assert!(self.far.len() == self.len && self.side.is_empty());
        self.far.flatten(&mut self.slab);
        self.laid = Laid { len: self.len, time: self.last.time, ..Laid::default() };
        if self.len <= SMALL_AGAIN {
            self.ring.next = u64::MAX;
            self.ring.horizon = u64::MAX;
            self.side_mark = SMALL;
            let far = self.far.take_beyond();
            self.slab.consume(far, |_, event| self.side.push(event));
            return;
        }
        self.laid.target = ((self.len / SHARE).clamp(TARGET_MIN, TARGET) >> self.halved).max(TARGET_MIN);
        let windows = (2 * RING_SPAN * self.len / self.laid.target).next_power_of_two() / 2;
        let is_cached = windows < RING_CACHED;
        let windows = if is_cached { 2 * windows } else { windows }.max(RING_MIN);
        let width = rate_width.unwrap_or(u64::MAX).min(self.sampled_width(windows));
        // Rounded to a power of two; at least 2 ps, so that the number of a window and one more always fit.
        let width = width.clamp(2, 1 << 62);
        let shift = ((width + width / 2) | 1).ilog2().clamp(1, 62);
        self.shift = self.proved.take().unwrap_or_else(|| u8::try_from(shift).expect("at most 62"));
        // As many to be distributed over as are distributed.
        let half = 1 << (windows.ilog2() / 2);
        self.slab.suit(&mut self.far.beyond, if is_cached { windows } else { half + windows / half });
        let first = self.far.beyond_min.as_ps() >> self.shift;
        if is_cached {
            self.ring.lay(windows, first);
        } else {
            self.ring.lay(2 * half, first);
            self.ring.horizon = self.far.lay((windows / half, half.ilog2()), first + half as u64);
        }
        self.side_mark = CROWDED;
        self.boundary = self.last;
        self.opened_to = self.last;
        self.scan_beyond();
    }

    /// The width at which the windows that come first hold about as many events as they should, and `windows` of them at least half of all.
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
        let front_width = ((sample[front] - min) as f64 * self.laid.target as f64 / front_events) as u64;
        let cover_width = (sample[sample.len() / 2] - min) / windows as u64 + 1;
        front_width.max(cover_width)
    }

    /// Moves what the windows reach by now from `beyond` into them.
    fn scan_beyond(&mut self) {
        self.laid.opened_since_scan = 0;
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

    /// Goes on with the coarse window that begins with `window`, all before having been executed.
    #[cold]
    pub(super) fn jump(&mut self, window: u64) {
        self.ring.next = window;
        self.distribute(window);
    }

    /// Distributes the coarse window that begins with `window` over the ring, which reaches so much further then.
    fn distribute(&mut self, window: u64) {
        let (chain, horizon) = self.far.take(window);
        self.ring.horizon = horizon;
        let WindowedPending { slab, ring, shift, .. } = self;
        slab.consume(chain, |slab, event| ring.append(slab, event.time().as_ps() >> *shift, event));
    }

    /// Once half of the ring has been executed, lets it reach further, or lays windows of another width if these held too many or too
    /// few. True if windows were laid.
    #[inline]
    pub(super) fn roll(&mut self) -> bool {
        self.ring.is_half_done() && self.roll_now()
    }

    fn roll_now(&mut self) -> bool {
        let load = (self.laid.opened + self.laid.crowded) / self.laid.windows.max(1);
        // Laying moves every event once, which must have been earned by as many executed.
        let earned = self.laid.opened + self.laid.crowded > self.len as u64 / 2;
        let target = self.laid.target as u64;
        if earned && (load > TOLERANCE * target || load < target / TOLERANCE) || self.len < SMALL_AGAIN {
            let width = (load > TOLERANCE * target).then(|| self.executed_width());
            self.halved = 0;
            self.gather();
            self.lay(width);
            return true;
        }
        if earned && self.laid.saved > SAVED * self.laid.windows && self.laid.target >= 2 * TARGET_MIN && self.shift > 1
        {
            self.halved += 1;
            let width = 1 << (self.shift - 1);
            self.gather();
            self.lay(Some(width));
            return true;
        }
        let far = &mut self.far;
        let outer = if far.has_coarse() { &mut far.coarse } else { &mut self.ring };
        if outer.is_half_done() {
            let horizon = outer.next + outer.len() as u64;
            let is_touched = far.beyond_min.as_ps() >> self.shift >> far.bits < horizon;
            // Looking through what is beyond must have been earned too; unearned, the windows run to their end, and are laid anew there.
            if !is_touched || self.laid.opened_since_scan * 4 >= far.beyond.len() as u64 {
                outer.horizon = horizon;
                if is_touched {
                    self.scan_beyond();
                }
            }
        }
        if self.far.coarse.next < self.far.coarse.horizon {
            self.distribute(self.ring.horizon);
        }
        false
    }

    /// The width at which windows would have held as many as they should of the events executed since these were laid.
    fn executed_width(&self) -> u64 {
        let span = self.last.time.since(self.laid.time).as_ps();
        let executed = self.laid.opened + self.laid.crowded;
        let width = u128::from(span) * self.laid.target as u128 / u128::from(executed.max(1));
        u64::try_from(width).unwrap_or(u64::MAX)
    }

    /// Counts a push into a crowded side list, and lays narrower windows if there have been too many.
    pub(super) fn note_crowding(&mut self) {
        self.laid.crowded += 1;
        if self.laid.crowded > self.laid.len.max(CROWDED_MIN) as u64 {
            let width = self.executed_width();
            self.gather();
            self.lay(Some(width));
        }
    }

    /// Moves every pending event beyond the ring.
    pub(super) fn gather(&mut self) {
        let far = &mut self.far;
        let mut accept = |slab: &mut Slab<P>, event: Event<P>| far.push_beyond(slab, event);
        for event in self.side.take_all() {
            accept(&mut self.slab, event);
        }
        while !self.run.is_done() {
            let event = self.run.next_slot(&mut self.slab).take().expect("an event that waits is in its slot");
            accept(&mut self.slab, event);
        }
        self.run.retire(&mut self.slab);
        let chains = self.parts.drain(..).chain([std::mem::take(&mut self.late)]).chain(self.ring.take_all());
        for chain in chains {
            self.slab.consume(chain, &mut accept);
        }
    }

    /// Asks the processor for the events of the window after this one, which arrive while this one is executed.
    pub(super) fn prefetch_next(&self) {
        if let Some(window) = self.ring.next_occupied() {
            self.ring.window(window).for_each(|chain| self.slab.prefetch(chain));
        }
    }

    /// Takes `window` out of the ring.
    pub(super) fn take_window(&mut self, window: u64) -> Chain {
        let chain = self.ring.take(window);
        self.laid.windows += 1;
        self.laid.opened += chain.len() as u64;
        self.laid.opened_since_scan += chain.len() as u64;
        chain
    }
}
