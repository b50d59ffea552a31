//! The destination of the events that executions send.
//!
//! Most engines let [`Outbox::push`] write each event straight into the pending set of its receiver, so that
//! an event is written once. Engines that compare the events of two executions collect them in a buffer
//! instead.
//!
//! *Read next*: [`crate::pending`], the sets that the events go to.

use crate::event::{Body, Event, EventKey, LpId, TimerId};
use crate::optimistic::OptimisticSet;
use crate::pending::{Leftover, LpOrderedPending, PendingSet, WindowedPending};
use crate::placement::Placement;
use crate::time::Time;
use parades_raw::message::Taggable;

/// The events that executions send, on the way to their receivers.
#[derive(Debug)]
pub struct Outbox<P: Taggable> {
    /// The pending set of the LPs that are executed here, if events go straight into it.
    pub pending: Pending<P>,
    /// Events that the engine must still deliver: all events, if the pending set is elsewhere.
    pub buffer: Vec<Event<P>>,
    /// Events for other partitions, by partition. Empty unless there are several partitions.
    pub parcels: Vec<Vec<Event<P>>>,
    /// A lower bound on the times of the events in `parcels`. `window` resets it when it delivers the
    /// parcels.
    pub parcels_min: Time,
    /// The partition of each LP, and the partition that is sending. `None` unless there are several
    /// partitions.
    home: Option<(Placement, u32)>,
}

/// The pending set of the LPs that are executed here.
///
/// These are the kinds of pending sets of this crate. An engine uses the kinds that suit it. An enum, because
/// a virtual call for each event sent costs 3 to 8 % of a run (docs/measurements.md).
#[derive(Debug)]
pub enum Pending<P: Taggable> {
    /// The set is elsewhere: events are buffered.
    Elsewhere,
    /// Events are executed in the order of time.
    ByTime(WindowedPending<P>),
    /// The events of a window are executed LP by LP.
    ByLp(LpOrderedPending<P>),
    /// Events may be rolled back.
    Optimistic(Box<OptimisticSet<P>>),
}

impl<P: Taggable> Pending<P> {
    /// True if the events of a window are executed LP by LP.
    pub fn is_by_lp(&self) -> bool {
        matches!(self, Pending::ByLp(_))
    }

    /// Returns the time of the earliest event, or [`Time::MAX`].
    pub fn next_time(&mut self) -> Time {
        match self {
            Pending::Elsewhere => Time::MAX,
            Pending::ByTime(set) => set.next_time().unwrap_or(Time::MAX),
            Pending::ByLp(set) => set.next_time(),
            Pending::Optimistic(set) => set.next_instant().time,
        }
    }

    /// Returns the number of pending events; in an optimistic set, [`OptimisticSet::len_from_frontier`].
    pub fn len(&self) -> usize {
        match self {
            Pending::Elsewhere => 0,
            Pending::ByTime(set) => set.len(),
            Pending::ByLp(set) => set.len(),
            Pending::Optimistic(set) => set.len_from_frontier(),
        }
    }

    /// True if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of memory that the set holds, not counting memory that payloads own.
    pub fn allocated_bytes(&self) -> usize {
        match self {
            Pending::Elsewhere => 0,
            Pending::ByTime(set) => set.allocated_bytes(),
            Pending::ByLp(set) => set.allocated_bytes(),
            Pending::Optimistic(set) => set.allocated_bytes(),
        }
    }

    /// Removes all events, in no order. Their memory is freed when the iterator is dropped.
    pub fn take_all<'l>(&mut self) -> Leftover<'l, P>
    where
        P: 'l,
    {
        match self {
            Pending::Elsewhere => Box::new(std::iter::empty()),
            Pending::ByTime(set) => set.take_all(),
            Pending::ByLp(set) => set.take_all(),
            Pending::Optimistic(set) => set.take_all(),
        }
    }

    /// Moves all events into as little memory as possible, if this kind of set can do so.
    pub fn compact(&mut self) {
        match self {
            Pending::Elsewhere | Pending::ByLp(_) => {}
            Pending::ByTime(set) => set.compact(),
            Pending::Optimistic(set) => set.compact(),
        }
    }
}

impl<P: Taggable> Outbox<P> {
    /// Makes an outbox that keeps all events in its buffer.
    pub fn buffered() -> Outbox<P> {
        Outbox {
            pending: Pending::Elsewhere,
            buffer: Vec::new(),
            parcels: Vec::new(),
            parcels_min: Time::MAX,
            home: None,
        }
    }

    /// Makes an outbox that writes all events into one [`WindowedPending`].
    pub fn direct() -> Outbox<P> {
        Outbox { pending: Pending::ByTime(WindowedPending::default()), ..Outbox::buffered() }
    }

    /// Returns the set of [`Outbox::direct`], from which the outbox must come.
    #[inline(always)]
    pub fn direct_mut(&mut self) -> &mut WindowedPending<P> {
        let Pending::ByTime(set) = &mut self.pending else { unreachable!("{NOT_DIRECT}") };
        set
    }

    /// Returns the set of [`Outbox::direct`], from which the outbox must come.
    #[inline(always)]
    pub fn direct_ref(&self) -> &WindowedPending<P> {
        let Pending::ByTime(set) = &self.pending else { unreachable!("{NOT_DIRECT}") };
        set
    }

    /// Makes an outbox that writes all events into an optimistic set, which has parcels of its own.
    pub fn optimistic(set: OptimisticSet<P>) -> Outbox<P> {
        Outbox { pending: Pending::Optimistic(Box::new(set)), ..Outbox::buffered() }
    }

    /// Returns the optimistic set. The outbox must come from [`Outbox::optimistic`].
    #[inline(always)]
    pub fn optimistic_mut(&mut self) -> &mut OptimisticSet<P> {
        let Pending::Optimistic(set) = &mut self.pending else { unreachable!("{NOT_OPTIMISTIC}") };
        set
    }

    /// Returns the optimistic set. The outbox must come from [`Outbox::optimistic`].
    #[inline(always)]
    pub fn optimistic_ref(&self) -> &OptimisticSet<P> {
        let Pending::Optimistic(set) = &self.pending else { unreachable!("{NOT_OPTIMISTIC}") };
        set
    }

    /// Makes an outbox that collects events for other partitions in parcels.
    ///
    /// It serves one partition at a time: [`Outbox::lend`] names the partition and brings its pending set.
    pub fn partitioned(placement: Placement) -> Outbox<P> {
        let parcels = std::iter::repeat_with(Vec::new).take(placement.partitions() as usize).collect();
        let home = (placement.partitions() > 1).then_some((placement, 0));
        Outbox { parcels, home, ..Outbox::buffered() }
    }

    /// Lends this outbox to the LPs of `partition`, whose pending set is `pending`. This outbox must not be
    /// used until [`Outbox::reclaim`].
    #[inline(always)]
    pub fn lend(&mut self, partition: u32, pending: &mut Pending<P>) -> Outbox<P> {
        Outbox {
            pending: std::mem::replace(pending, Pending::Elsewhere),
            buffer: std::mem::take(&mut self.buffer),
            parcels: std::mem::take(&mut self.parcels),
            parcels_min: self.parcels_min,
            home: self.home.take().map(|(placement, _)| (placement, partition)),
        }
    }

    /// Ends [`Outbox::lend`], and returns the pending set to `pending`.
    #[inline(always)]
    pub fn reclaim(&mut self, lent: Outbox<P>, pending: &mut Pending<P>) {
        *pending = lent.pending;
        self.buffer = lent.buffer;
        self.parcels = lent.parcels;
        self.parcels_min = lent.parcels_min;
        self.home = lent.home;
    }

    /// Sends the wake of a timer. Most settings of timers send none, so this is not inlined.
    #[inline(never)]
    pub fn push_wake(&mut self, key: EventKey, lp: LpId, timer: TimerId) {
        self.push(key, lp, Body::Timer(timer));
    }

    /// Sends an event.
    ///
    /// The event is built at its final place in memory. An event that is built elsewhere and copied would be
    /// read back before it has left the core's store buffer, and the read would stall.
    #[inline(always)]
    pub fn push(&mut self, key: EventKey, receiver: LpId, body: Body<P>) {
        if let Some((placement, here)) = &self.home {
            let partition = placement.partition(receiver);
            if partition != *here {
                self.parcels_min = self.parcels_min.min(key.instant.time);
                return self.parcels[partition as usize].push(Event::new(key, receiver, body));
            }
        }
        // One comparison for each engine, the most likely engine first. A jump table costs as much as the
        // rest of this function.
        if let Pending::ByTime(pending) = &mut self.pending {
            return pending.push(Event::new(key, receiver, body));
        }
        if let Pending::Optimistic(set) = &mut self.pending {
            return set.send(key, receiver, body);
        }
        match &mut self.pending {
            Pending::ByLp(pending) => pending.push(Event::new(key, receiver, body)),
            Pending::ByTime(_) | Pending::Optimistic(_) | Pending::Elsewhere => {
                self.buffer.push(Event::new(key, receiver, body));
            }
        }
    }
}

const NOT_DIRECT: &str = "only a direct outbox has one pending set in the order of time";
const NOT_OPTIMISTIC: &str = "only an outbox of an optimistic engine has an optimistic set";
