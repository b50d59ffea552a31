//! Lazy windows: the pending event set of the engines.
//!
//! # Idea
//!
//! Events of later windows are kept unsorted; a window is put in order when it is its turn, and by then fits the cache. Windows are as
//! wide as makes them hold a few hundred events, so no lookahead is needed.
//!
//! # Structure
//!
//! - Virtual time is cut into windows of `2^shift` picoseconds. The *ring* holds the windows `next..horizon`, each an unsorted chain;
//!   what lies beyond is *far*: in coarse windows, where the windows are many, and beyond these in one chain, which is looked through whenever half
//!   of all windows has been executed.
//! - The *open* window is sorted into a *run*: its events' places are counted into about as many buckets as there are events, and one
//!   insertion pass finishes. Above [`RUN_MAX`] events it is first split into *parts* by the first level of the order at which
//!   they differ, so that a million events of one instant are split by receiver.
//! - What is pushed into the open window goes to a small sorted *side* list, with groups by instant behind it, and is merged by the full order. Where that
//!   is crowded, events after all others of the window are kept unsorted (*late*) and opened as a window of their own: the rounds of
//!   an instant under zero delay.
//! - A population of few events is in the side list altogether, and `next` is above every window.
//!
//! # Invariants
//!
//! - W1: no event of the ring is in a window before `ring.next`, none that is far in one before `ring.horizon`. The window of a time is a shift, exact and
//!   monotone.
//! - W2: no event of the run, the parts or the side list is later than `boundary` while `late` holds events, and all of these are.
//! - W3: the parts are in order, and a new run is sorted only when the last one is done.
//! - W4: no event is pushed before the instant of the one popped last.
//!
//! # Cost
//!
//! O(1) amortised a hold, whatever the times, with a logarithm only for the side list and for windows with many ties. In the hold
//! model (`cargo run --release -p parades-event --example pending_hold`), with exponential delays, at 1,024 / 16,384 / 262,144 / 1,048,576 events, 2.9 / 4.5 /
//! 8.3 / 19.9 times as fast as a bare binary heap of (time, LP), in 64 / 52 / 48 / 43 bytes an event of 40.
//!
//! Rejected, each by measurement in the hold model with exponential delays (best of three, nanoseconds a hold):
//!
//! - Chunks longer than a quarter of what a chain has on average, with PHOLD (`parades run phold --engine sequential --set lps=262144 --until 40s`, two
//!   versions in turn): twice as long, 4 % slower at 262,144 LPs, four times, 23 %; at 16,384 up to 2 % faster, in a quarter more memory. Chunks of 8 however
//!   many events there are: 2 % slower at 16,384, 17 % at a million, whose chains then lie on so many pages that the processor has to look up where most of
//!   these are.
//! - Windows of 8 instead of 16 with 64 events: 77 % slower.
//! - With PHOLD under `sequential` at 1,024 and 16,384: a branch where a chunk is full, 6 % slower, as it is guessed wrongly and comes to light last; another
//!   where two neighbours of a run are in the wrong order, 2 %.
//! - All windows in the ring, however many, with PHOLD under `sequential` (`parades run phold --engine sequential --set lps=1048576`, and with
//!   `start_events=8`): a million events 1.2 times, 8 million twice as slow, as the windows' ends are not in the cache. Coarse windows for 2,048 windows, those
//!   of 262,144 events: no faster with 1 MiB of cache beside the core, 7 % slower with 2 MiB. With coarse ones, windows of 256 events instead of 512: 20 %
//!   slower at 262,144, within the noise at a million.
//! - Half as many windows: 10 to 16 % slower, since more events are written beyond them first. Twice as many: 5 to 10 % faster where there are fewer
//!   than 4,096, and so it is there.
//! - `sort_unstable` on the packed keys instead of counting: 1.4 times as slow at 1,024, 1.6 times at 16,384.
//! - A binary heap instead of the sorted list with a heap behind it: 2.4 times as slow with 2 events, 1.4 times with 1,024 of very
//!   different delays, 3 % faster with 1,024 of exponential ones. Where many events have one instant, as in networks of one latency, groups by
//!   instant behind the sorted list take a third fewer instructions than the heap, and 2 branches guessed wrongly an event less.
//! - Groups of one instant put in order where they lie, as chains with a run of their own: Chord (`parades run chord --engine sequential --set nodes=1000`, two
//!   versions in turn) takes 0.97 of the time, PHOLD 1.02, and 1.04 under `time-warp` on one thread: there is one more place to look for the least event.
//! - No prefetch of the window after the open one: 2 to 19 % slower at a million, within the noise below.
//! - The place after that of an event, and the chunk that is taken next, asked for to be written: with PHOLD under `sequential` and `window` 4 to 6 % slower up
//!   to 262,144 events, 1 to 5 % at a million.
//! - No windows up to 64 events, instead of 32: 1.7 times as slow at 28.
//!
//! # References
//!
//! R. Brown, *Calendar queues*, CACM 1988; W. T. Tang, R. S. M. Goh, I. L.-J. Thng, *Ladder queue*, ACM TOMACS 2005.

use super::far::Far;
use super::layout::Laid;
use super::ring::Ring;
use super::run::{RUN_MAX, Run};
use super::side::Side;
use super::slab::{Chain, Slab, Slot};
use super::split::split;
use super::unordered::Unordered;
use super::{Leftover, PendingSet};
use crate::event::{Body, Event, EventKey, Header, LpId};
use crate::time::{Instant, Time};

/// Events in the side list from which later ones of the open window are set aside unsorted.
pub(super) const CROWDED: usize = 256;
/// Events up to which the side list is as fast as windows are.
pub(super) const SMALL: usize = 32;

/// A pending event set of lazy windows: the module's doc says how.
#[derive(Debug)]
pub struct WindowedPending<P> {
    pub(super) slab: Slab<P>,
    /// The open window, as far as it is in order.
    pub(super) run: Run,
    /// What was pushed into the open window, or before it.
    pub(super) side: Side<P>,
    /// The event that was just popped from it.
    aside: Slot<P>,
    /// The size of `side` from which a push must look closer.
    pub(super) side_mark: usize,
    /// Parts of the open window that are not in order yet, the next one last.
    pub(super) parts: Vec<Chain>,
    /// What was pushed into the open window after `boundary`.
    pub(super) late: Chain,
    /// No event of `run`, `parts` or `side` is later.
    pub(super) boundary: Instant,
    /// No event that the open window held from the beginning is later.
    pub(super) opened_to: Instant,
    /// A window is `2^shift` picoseconds wide.
    pub(super) shift: u8,
    /// The width with which windows are to be laid the next time, where one has proved good.
    pub(super) proved: Option<u8>,
    /// How often the windows have been halved since their width was last found from how densely events lie.
    pub(super) halved: u8,
    /// The windows that have not been opened, up to the first that lies in `far`.
    pub(super) ring: Ring,
    /// What is pending from the horizon on.
    pub(super) far: Far,
    /// How many events are pending, wherever they are.
    pub(super) len: usize,
    /// When the event popped last was due.
    pub(super) last: Instant,
    pub(super) laid: Laid,
}

impl<P> Default for WindowedPending<P> {
    fn default() -> WindowedPending<P> {
        WindowedPending {
            slab: Slab::new(),
            run: Run::default(),
            side: Side::new(),
            aside: Slot::empty(),
            side_mark: CROWDED,
            parts: Vec::new(),
            late: Chain::default(),
            boundary: Instant::START,
            opened_to: Instant::START,
            shift: 1,
            proved: None,
            halved: 0,
            // Nothing is known yet of the times to come, so that all events are far.
            ring: Ring::default(),
            far: Far::default(),
            len: 0,
            last: Instant::START,
            laid: Laid::default(),
        }
    }
}

impl<P> PendingSet<P> for WindowedPending<P> {
    #[inline]
    fn push(&mut self, event: Event<P>) {
        let (key, receiver) = (event.key(), event.receiver);
        self.push_parts(key, receiver, event.body);
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
        let side = self.side.peek().map(Event::instant);
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
        if self.run.is_done() {
            return self.side.upcoming(ahead);
        }
        self.run.peek(&self.slab, ahead).map(Header::receiver)
    }

    fn take_all(&mut self) -> Leftover<P>
    where
        P: 'static,
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
        WindowedPending { slab, far, len: chain.len(), proved: shift, ..WindowedPending::default() }
    }
}

impl<P> WindowedPending<P> {
    /// All that waits, for a set of another kind.
    pub fn into_unordered(mut self) -> Unordered<P> {
        self.gather();
        self.far.flatten(&mut self.slab);
        let shift = self.proved.or(Some(self.shift).filter(|_| self.laid.has_windows()));
        Unordered { chain: self.far.take_beyond(), slab: self.slab, shift }
    }

    /// Puts all that waits into as little memory as will do, where it lies, and gives back the rest.
    pub fn compact(&mut self) {
        let last = self.last;
        let Unordered { mut slab, mut chain, shift } = std::mem::take(self).into_unordered();
        slab.pack(&mut chain);
        *self = WindowedPending { last, ..Unordered { slab, chain, shift }.into() };
    }

    /// How many times an event has been written into a chain: at most a small multiple of the pushes, whatever the times. Counted
    /// where assertions are on.
    #[doc(hidden)]
    pub fn written(&self) -> u64 {
        self.slab.written()
    }

    /// Adds the event of these parts, which is made where it waits.
    #[inline(always)]
    pub fn push_parts(&mut self, key: EventKey, receiver: LpId, body: Body<P>) {
        debug_assert!(key.instant >= self.last, "W4: an event was pushed before the one popped last");
        self.len += 1;
        let window = key.instant.time.as_ps() >> self.shift;
        if window < self.ring.next {
            self.push_now(Event::new(key, receiver, body));
        } else if window < self.ring.horizon {
            self.ring.append(&mut self.slab, window, Event::new(key, receiver, body));
        } else {
            self.far.push(&mut self.slab, window, Event::new(key, receiver, body));
        }
    }

    /// Takes the least event if its time is not after `last`.
    #[inline(always)]
    fn pop_through(&mut self, last: Time) -> Option<Event<P>> {
        self.pop_slot_through(last)?.take()
    }

    /// Where the least event lies, if its time is not after `last`. It counts as popped: the caller takes it, and so moves it once.
    #[inline(always)]
    pub fn pop_slot_through(&mut self, last: Time) -> Option<&mut Slot<P>> {
        if !self.refill(last) {
            return None;
        }
        let slot = match (self.run.place(0), self.side.peek()) {
            (Some(place), side) if side.is_none_or(|side| *self.slab.get(place) < side.header()) => {
                let slot = self.slab.slot_through(place, last)?;
                self.run.advance();
                slot
            }
            (_, side) => {
                if side?.time() > last {
                    return None;
                }
                self.aside = Slot::of(self.side.pop()?);
                &mut self.aside
            }
        };
        let instant = slot.header().instant();
        self.len -= 1;
        debug_assert!(instant >= self.last, "W4: an event was popped after a later one");
        self.last = instant;
        Some(slot)
    }

    /// Whether another event probably waits at the instant of the event popped last.
    #[inline(always)]
    pub fn has_more_now(&self) -> bool {
        let is_now = |instant: Option<Instant>| instant == Some(self.last);
        is_now(self.run.peek(&self.slab, 0).map(Header::instant)) || is_now(self.side.peek().map(Event::instant))
    }

    /// How many events still wait at the instant of the event popped last, if there are so many: at least, as far as that is known at once.
    #[inline(never)]
    pub fn count_now(&self, wanted: usize) -> Option<usize> {
        let aside = self.side.count_now(self.last);
        let is_now = |ahead| self.run.peek(&self.slab, ahead).is_some_and(|event| event.instant() == self.last);
        // Mostly there are few, which one look tells.
        let last_wanted = wanted.saturating_sub(aside + 1);
        if aside < wanted && last_wanted < self.run.len() && !is_now(last_wanted) {
            return None;
        }
        let all = aside + self.crowd_of_run(is_now);
        (all >= wanted).then_some(all)
    }

    /// How many of the run and the parts after it are of now.
    fn crowd_of_run(&self, is_now: impl Fn(usize) -> bool) -> usize {
        if !is_now(0) {
            return 0;
        }
        // All before `least` are of now, the one after `most` is not.
        let mut least = 1;
        while is_now(2 * least - 1) {
            least *= 2;
        }
        let mut most = 2 * least - 1;
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if is_now(middle - 1) { least = middle } else { most = middle - 1 }
        }
        if self.run.last_instant(&self.slab) != Some(self.last) {
            return least;
        }
        let is_all_now =
            |part: &&Chain| self.slab.events(**part).next().is_some_and(|event| event.instant() == self.last);
        least + self.parts.iter().rev().take_while(is_all_now).map(|part| part.len()).sum::<usize>()
    }

    /// The instant of the event popped last.
    #[inline(always)]
    pub fn last_popped(&self) -> Instant {
        self.last
    }

    /// Sees to it that the least event is in `run` or `side`; false where none is due by `last`.
    #[inline]
    fn refill(&mut self, last: Time) -> bool {
        !self.run.is_done() || self.parts.is_empty() && !self.side.is_empty() || self.open_next(last)
    }

    /// Puts the next events in order: the next part of the open window, then what is late, then the next window, each when what came
    /// before is done. False where none is due by `last`.
    fn open_next(&mut self, last: Time) -> bool {
        self.run.retire(&mut self.slab);
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
                self.side_mark = CROWDED;
                let late = std::mem::take(&mut self.late);
                self.open(late, None);
            } else if self.len == 0 {
                return false;
            } else if self.far.len() == self.len {
                match self.far.next_occupied() {
                    Some(window) if window << self.shift > last.as_ps() => return false,
                    Some(window) => self.jump(window),
                    None => self.lay(None),
                }
            } else if !self.roll() {
                let window = self.ring.next_occupied().expect("what is not far is in a window here");
                if window << self.shift > last.as_ps() {
                    return false;
                }
                let chain = self.take_window(window);
                let start = window << self.shift;
                self.open(chain, Some((start, start + ((1 << self.shift) - 1))));
                self.prefetch_next();
            }
        }
        true
    }

    /// Makes `chain` what is executed next; everything before it has been. `within` are the least and the greatest time that it may hold,
    /// where they are known.
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
    fn push_now(&mut self, event: Event<P>) {
        self.laid.note_aside(self.last.time, event.time(), self.shift);
        if self.side.len() < self.side_mark {
            self.push_aside(event);
        } else {
            self.push_crowded(event);
        }
    }

    /// Pushes into the open window.
    #[inline]
    fn push_aside(&mut self, event: Event<P>) {
        self.boundary = self.boundary.max(event.instant());
        self.side.push(event);
    }

    /// Makes late what waits in the side list beyond the window's own events and the present: who wakes at once and sends with one
    /// delay pushes many events of one instant, which are put in order together more cheaply than one by one.
    #[inline(never)]
    fn set_aside(&mut self) {
        let boundary = self.opened_to.max(self.last);
        if self.boundary > boundary {
            let WindowedPending { side, slab, late, .. } = self;
            side.take_after(boundary, |event| slab.append(late, event));
            self.boundary = boundary;
            self.side_mark = 0;
        }
    }

    /// Pushes into the open window while the side list is crowded or events are late.
    #[inline(never)]
    fn push_crowded(&mut self, event: Event<P>) {
        if self.is_small() {
            self.push_aside(event);
            self.gather();
            self.lay(None);
            return;
        }
        if self.late.is_empty() {
            self.set_aside();
        }
        if event.instant() > self.boundary {
            // W2: it comes after all that the window holds but the late ones.
            self.slab.append(&mut self.late, event);
            // From now on every push has to be compared with the boundary.
            self.side_mark = 0;
        } else {
            self.side.push(event);
            self.note_crowding();
        }
    }
}
