//! Windows that are executed LP by LP: the pending event set where lookahead allows it.
//!
//! # Idea
//!
//! Where no LP sends to another within a window, the order between LPs inside the window is free: each LP's own order is all that counts. So where few LPs have
//! several events in a window, it is taken *as it lies*: nothing is put in order but the events of those, which are exchanged. A large window is executed so a
//! range of LPs at a time. A window of LPs that have many events is put in order LP by LP, by counting: an LP's record is fetched once a window, and records
//! are gone through in the order in which they lie.
//!
//! # Structure
//!
//! The ring holds the next windows of a [`Grid`], each an unsorted chain, or where windows are large one for each range of LPs, a *lane* ([`Lanes`]): few
//! enough events to stay in the cache, as do the records of their LPs. What lies beyond is in one far chain, which is looked through whenever half of the ring
//! has been executed, or the ring is empty; a ring that most events lie beyond, or that is often empty, is made longer. Lanes are laid anew for windows that
//! have become much larger. The lanes of the *open* window are its *parts*; when it is its turn, a part becomes a *run* as it lies, [`Seen`] telling whose
//! events to exchange, or is sorted by LP and time. One that is too large even so is split by ranges of LPs. What the LP at work sends itself within the window
//! goes to a small *side* list. Should that LP have more to come in a run that is as it lies, what is left of the run is put in order LP by LP, this one first.
//!
//! # Invariants
//!
//! - L1: an event of another LP is never pushed before `until`, the bound that was last asked for: the window's width is at most the lookahead.
//! - L2: the side list holds events of one LP at a time, the one that executed last; what the run has of it comes next, or is already taken.
//! - L3: no event of the ring or the far chain is before `until`, and none of the far chain before the horizon of the ring.
//!
//! # Cost
//!
//! Taken as it lies, a window costs one look at each event and a comparison for each that is not its LP's first; with more comparisons than one for two events
//! it is sorted after all, and so are the next windows. PHOLD of 16,384 LPs (`valgrind --tool=callgrind parades run phold --engine window --threads 1 --set
//! lps=16384 --tune order=lp`, the difference of two lengths) takes 400 instructions an event so, and 560 sorted LP by LP.
//!
//! Lanes, each of them as it lies, instead of one chain a window that is split into parts of 512 events which are sorted: PHOLD of 262,144 LPs 0.77 of the
//! time, of 1,048,576 LPs 0.79 (`parades run phold --engine window --threads 1 --tune order=lp --set lps=262144 --until 40s`, two versions in turn); of 1,024
//! LPs, which have one lane, 1.04. Lanes of 4,096 events: 1.06 of the time at both sizes; of 2,048: 1.2; of 16,384: 1.03 and 0.93. A lane of 8,192 events of
//! LPs that have many, split instead of sorted at once: 1.14 (`start_events=8`, 16,384 to a million LPs); sorted instead of taken as it lies, with more
//! comparisons than one for four events: 1.06 to 1.17. Nothing fetched ahead in a lane: 1.05.

use super::Leftover;
use super::grid::Grid;
use super::lanes::Lanes;
use super::ring::Ring;
use super::run::Run;
use super::seen::Seen;
use super::side::Side;
use super::slab::{Chain, Slab, Slot};
use super::split::{split, split_by};
use super::unordered::Unordered;
use crate::event::{Body, Event, EventKey, Header, LpId};
use crate::time::Time;

/// Windows in the ring at first.
const RING_MIN: usize = 64;
/// Windows in the ring at most: eight bytes each.
const RING_MAX: usize = 1 << 15;
/// A ring is long enough if so many times as many events are executed between two jumps as the second looks through.
const BURSTS: usize = 4;
/// Events meant for a part that is put in order LP by LP.
const PART: usize = 512;
/// Windows that are put in order after one that had too many events of one LP, or more to come of one that sent itself another.
const IN_ORDER: u32 = 64;

/// A pending event set of windows that are executed LP by LP: the module's doc says how.
#[derive(Debug)]
pub struct LpOrderedPending<P> {
    slab: Slab<P>,
    grid: Grid,
    lanes: Lanes,
    run: Run,
    seen: Seen,
    /// The run is in no order but that of each LP's own events.
    as_it_lies: bool,
    /// So many of the next windows are put in order LP by LP.
    in_order: u32,
    side: Side<P>,
    /// Where the event lies that was taken out of the side list.
    aside: Slot<P>,
    /// Parts of the open window that are not in order yet, the next one last.
    parts: Vec<Chain>,
    /// Everything before it has been taken, or is in the run, the parts or the side list.
    until: Time,
    /// The window that is open.
    open: u64,
    ring: Ring,
    far: Chain,
    /// No event of `far` is earlier.
    far_min: Time,
    /// Events taken out of the ring since `far` was looked through,
    opened_since_scan: usize,
    /// and since the lanes were laid;
    opened_since_laid: usize,
    /// those of the open window.
    opened: usize,
    /// As [`Unordered`] had it.
    shift: Option<u8>,
}

impl<P> LpOrderedPending<P> {
    /// An empty set whose windows are those of `grid`, whose width must be at most any delay with which an LP here sends to another. `lps` are the least and
    /// the greatest LP here.
    pub fn new(grid: Grid, lps: (LpId, LpId)) -> LpOrderedPending<P> {
        let mut ring = Ring::default();
        ring.lay(RING_MIN, 0);
        LpOrderedPending {
            slab: Slab::new(),
            grid,
            lanes: Lanes::one(lps),
            run: Run::default(),
            seen: Seen::default(),
            as_it_lies: false,
            in_order: 0,
            side: Side::new(),
            aside: Slot::empty(),
            parts: Vec::new(),
            until: Time::ZERO,
            open: 0,
            ring,
            far: Chain::default(),
            far_min: Time::MAX,
            opened_since_scan: 0,
            opened_since_laid: 0,
            opened: 0,
            shift: None,
        }
    }

    /// As [`LpOrderedPending::new`], with events.
    pub fn from_unordered(
        grid: Grid,
        lps: (LpId, LpId),
        Unordered { slab, chain, shift }: Unordered<P>,
    ) -> LpOrderedPending<P> {
        let far_min = slab.least_time(chain);
        let mut set = LpOrderedPending { slab, far: chain, far_min, shift, ..LpOrderedPending::new(grid, lps) };
        // All is far until something is due: what is pushed meanwhile may come before it.
        set.ring.horizon = set.ring.next;
        set
    }

    /// All that is left, for a set of another kind; asked for when nothing is left before the last bound.
    pub fn into_unordered(mut self) -> Unordered<P> {
        debug_assert!(self.run.is_done() && self.side.is_empty() && self.parts.is_empty());
        self.run.retire(&mut self.slab);
        let LpOrderedPending { mut slab, far: mut all, mut ring, shift, .. } = self;
        for chain in ring.take_all() {
            slab.consume(chain, |slab, event| slab.append(&mut all, event));
        }
        Unordered { slab, chain: all, shift }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: Event<P>) {
        let (key, receiver) = (event.key(), event.receiver);
        self.push_parts(key, receiver, event.body);
    }

    /// Adds the event of these parts.
    #[inline(always)]
    pub fn push_parts(&mut self, key: EventKey, receiver: LpId, body: Body<P>) {
        let time = key.instant.time;
        let window = self.grid.window(time);
        if time < self.until {
            self.push_now(Event::new(key, receiver, body));
        } else if window < self.ring.horizon {
            if self.lanes.is_one() {
                // What is computed last has nothing more to wait for.
                self.ring.append(&mut self.slab, window, Event::new(key, receiver, body));
            } else {
                self.ring.append_to((window, self.lanes.of(receiver)), &mut self.slab, Event::new(key, receiver, body));
            }
        } else {
            self.push_far(Event::new(key, receiver, body));
        }
    }

    #[inline(never)]
    fn push_now(&mut self, event: Event<P>) {
        debug_assert!(
            self.side.peek().is_none_or(|other| other.receiver == event.receiver),
            "L2: events of two LPs were pushed into the open window"
        );
        if self.as_it_lies && self.seen.last(event.receiver).is_some_and(|last| self.run.is_to_come(last)) {
            self.put_in_order(event.receiver);
        }
        self.side.push(event);
    }

    /// Puts what is left of the open window in order LP by LP, beginning with the one at work.
    #[cold]
    fn put_in_order(&mut self, first: LpId) {
        self.as_it_lies = false;
        self.in_order = IN_ORDER;
        self.run.sort_rest_by_lp(first, &self.slab, time_in(self.grid, self.open));
    }

    #[inline(never)]
    fn push_far(&mut self, event: Event<P>) {
        self.far_min = self.far_min.min(event.time());
        self.slab.append(&mut self.far, event);
    }

    /// Takes an event before `bound`: of each LP the least first, the LPs in any order. What is asked for with one bound must be taken to
    /// the end before another is asked for.
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

    /// Where the next event before `bound` lies. It counts as taken.
    #[inline(never)]
    fn next_slot(&mut self, bound: Time) -> Option<&mut Slot<P>> {
        // The next part may be of the same LP, and hold what comes before the side list.
        if self.run.is_done() && (self.side.is_empty() || !self.parts.is_empty()) && !self.open_next(bound) {
            return None;
        }
        let is_aside = match (self.run.peek(&self.slab, 0), self.side.peek()) {
            (Some(run), Some(side)) => side.receiver != run.receiver() || side.header() < *run,
            (run, _) => run.is_none(),
        };
        if !is_aside {
            return Some(self.run.next_slot(&mut self.slab));
        }
        self.aside = Slot::of(self.side.pop()?);
        Some(&mut self.aside)
    }

    /// A time that no event is before, [`Time::MAX`] where there is none; asked for when nothing is left before the last bound.
    pub fn next_time(&self) -> Time {
        debug_assert!(self.run.is_done() && self.side.is_empty() && self.parts.is_empty());
        let Some(window) = self.ring.next_occupied() else { return self.far_min };
        let start = self.grid.start(window);
        if start >= self.until {
            return start;
        }
        // Who asks for one bound after another in one window must get ahead by more than the bounds do, which may be a picosecond.
        self.ring.window(window).map(|chain| self.slab.least_time(chain)).min().unwrap_or(self.until)
    }

    /// How many events wait: counted, by windows.
    pub fn len(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.len()).sum();
        self.run.len() + self.side.len() + parts + self.ring.count() + self.far.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The receiver of the event that will probably be taken `ahead` after the next.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<LpId> {
        self.run.peek(&self.slab, ahead).map(Header::receiver)
    }

    /// Bytes of memory that it holds, beside what the payloads own.
    pub fn allocated_bytes(&self) -> usize {
        self.slab.allocated_bytes()
            + self.run.allocated_bytes()
            + self.seen.allocated_bytes()
            + self.side.allocated_bytes()
            + self.ring.allocated_bytes()
            + self.parts.capacity() * size_of::<Chain>()
    }

    /// Takes all that is left, in no order; asked for when nothing is left before the last bound.
    pub fn take_all(&mut self) -> Leftover<P>
    where
        P: 'static,
    {
        debug_assert!(self.run.is_done() && self.side.is_empty() && self.parts.is_empty());
        let next = self.ring.next;
        drop(self.ring.take_all());
        self.far = Chain::default();
        let slab = std::mem::replace(&mut self.slab, Slab::new());
        self.ring.lay_lanes(self.lanes.count(), RING_MIN, next);
        self.far_min = Time::MAX;
        Box::new(slab.into_events())
    }

    /// Puts the next part of the open window in order, or opens the next window; false where nothing is due before `bound`.
    #[inline(never)]
    fn open_next(&mut self, bound: Time) -> bool {
        self.run.retire(&mut self.slab);
        while self.run.is_done() && !self.open_part() {
            if self.ring.is_half_done() {
                self.roll();
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
            // Laying moves every event, which must have been earned by as many taken.
            if self.lanes.are_few_for(self.opened) && self.opened_since_laid >= self.len() {
                self.lay_for(self.opened, window);
                continue;
            }
            self.open = window;
            self.in_order = self.in_order.saturating_sub(1);
            if window == self.grid.window(bound) {
                self.open_before(bound);
                return self.open_part();
            }
            self.until = self.grid.start(window + 1);
            self.open();
        }
        true
    }

    /// Opens a window.
    fn open(&mut self) {
        let lanes = self.ring.take_lanes(self.open).filter(|chain| !chain.is_empty());
        self.parts.extend(lanes.rev());
        self.opened = self.parts.iter().map(|part| part.len()).sum();
        self.opened_since_scan += self.opened;
        self.opened_since_laid += self.opened;
        if let Some(next) = self.ring.next_occupied() {
            self.ring.window(next).take(1).for_each(|chain| self.slab.prefetch(chain));
        }
    }

    /// Makes the next part, if there is one, a run.
    fn open_part(&mut self) -> bool {
        while let Some(part) = self.parts.pop() {
            if let Some(&next) = self.parts.last() {
                self.slab.prefetch(next);
            }
            self.as_it_lies = self.in_order == 0 && part.len() <= Seen::RUN_MAX;
            if self.as_it_lies {
                if self.run.line_up(part, &self.slab, &mut self.seen, self.lanes.lps()) {
                    return true;
                }
                self.as_it_lies = false;
                self.in_order = IN_ORDER;
            }
            if part.len() <= Seen::RUN_MAX {
                self.run.sort_by_lp(part, &self.slab, time_in(self.grid, self.open));
                return true;
            }
            if !split_by(&mut self.slab, part, &mut self.parts, PART, |event| event.receiver().0.into()) {
                split(&mut self.slab, part, &mut self.parts);
            }
        }
        false
    }

    /// Opens what of the open window lies before `bound`, and leaves the rest where it was.
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
                    ring.append_to((*open, lane), slab, event);
                }
            });
            if !before.is_empty() {
                self.parts.push(before);
            }
        }
    }

    /// Lets the ring, half of which has been executed, reach further. Looking through the far chain must have been earned by as many events
    /// executed as a quarter of it; a ring that leaves most events beyond it is made longer.
    fn roll(&mut self) {
        let horizon = self.ring.next + self.ring.len() as u64;
        if self.far.is_empty() || self.grid.window(self.far_min) >= horizon {
            self.ring.horizon = horizon;
        } else if self.opened_since_scan * 4 >= self.far.len() {
            if self.far.len() > self.len() / 4 && self.ring.len() < RING_MAX {
                self.lay(2 * self.ring.len(), self.ring.next);
            } else {
                self.ring.horizon = horizon;
                self.scan_far();
            }
        }
    }

    /// Goes on with the far chain, all before which has been executed.
    #[cold]
    fn jump(&mut self) {
        let first = self.grid.window(self.far_min);
        let events = self.slab.events(self.far).filter(|event| self.grid.window(event.time()) == first).count();
        self.lanes = self.lanes.for_window_of(events);
        // Where it jumps again and again, bursts are further apart than the ring reaches.
        let longer = 2 * self.ring.len();
        let is_short = self.opened_since_scan < BURSTS * self.far.len() && longer * self.lanes.count() <= RING_MAX;
        self.lay(if is_short { longer } else { self.ring.len() }, first);
    }

    /// Lays lanes that suit windows of so many events, from the window `next` on.
    #[cold]
    fn lay_for(&mut self, events: usize, next: u64) {
        self.lanes = self.lanes.for_window_of(events);
        self.lay(self.ring.len(), next);
    }

    /// Lays a ring of so many windows, from `next` on, and takes into it what is no longer far.
    fn lay(&mut self, windows: usize, next: u64) {
        for chain in self.ring.take_all() {
            self.slab.consume(chain, |slab, event| slab.append(&mut self.far, event));
        }
        self.slab.suit(&mut self.far, self.lanes.count() * windows);
        self.ring.lay_lanes(self.lanes.count(), windows, next);
        self.opened_since_laid = 0;
        self.scan_far();
    }

    /// Takes into the ring what is no longer far.
    fn scan_far(&mut self) {
        self.opened_since_scan = 0;
        self.far_min = Time::MAX;
        let far = std::mem::take(&mut self.far);
        let LpOrderedPending { slab, ring, grid, lanes, far: still_far, far_min, .. } = self;
        slab.consume(far, |slab, event| {
            let window = grid.window(event.time());
            if window < ring.horizon {
                ring.append_to((window, lanes.of(event.receiver)), slab, event);
            } else {
                *far_min = (*far_min).min(event.time());
                slab.append(still_far, event);
            }
        });
    }
}

/// How far in a window a time of it is, as a number that fits 32 bits.
fn time_in(grid: Grid, window: u64) -> impl Fn(Time) -> u32 {
    let (start, shift) = (grid.start(window), grid.shift());
    #[expect(clippy::cast_possible_truncation, reason = "shifted so that it fits")]
    move |time| (time.since(start).as_ps() >> shift) as u32
}
