//! The pending set of an optimistic worker: messages, timer wakes and anti-messages.
//!
//! An optimistic worker executes events before it knows that nothing earlier will arrive. So its pending set
//! must accept stragglers, events that were rolled back, and anti-messages.
//!
//! # How it works
//!
//! 1. [`OptimisticSet::send`] stores an event of this worker, or puts it into the parcel for another worker.
//!    It also logs the event in [`OptimisticSet::sent`], so that an anti-message can follow.
//! 2. [`OptimisticSet::push`] adds an event. Events at or after the *frontier* go to a [`WindowedPending`];
//!    the frontier is the instant of the last event popped from there. Earlier events go to a heap:
//!    stragglers, and events that were rolled back.
//! 3. [`OptimisticSet::pop_before`] pops from the heap first, because all its events are earlier.
//! 4. An anti-message has the key and the receiver of its twin, so both have the same position in the order.
//!    [`OptimisticSet::match_anti_messages`] either annihilates the pair, or finds that the twin has been
//!    executed. In the second case the caller rolls the receiver back, which makes the twin pending again.
//!
//! # Cost
//!
//! The same as for [`WindowedPending`]. Only anti-messages, and events behind the frontier, pay for a binary
//! heap.
//!
//! *Read next*: the `time-warp` engine, which decides when to execute, roll back and commit.

mod sent;
mod tagged;

pub use sent::Sent;
pub use tagged::{ExecutionId, Tagged, TaggedEvent, body_of, execution_of, identity, is_anti_message, tag, untag};

use crate::event::{Body, Event, EventKey, LpId, Sender};
use crate::pending::{Leftover, PendingSet, Slot, WindowedPending};
use crate::placement::Placement;
use crate::ring::{Ring, positions};
use crate::time::{Delay, Instant, Time};
use parades_raw::message::Taggable;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};

/// An instant after every event.
pub const NEVER: Instant = Instant { time: Time::MAX, round: u32::MAX };

/// The tag of events that no rollback can annihilate: those of start-up, of global events, and of committed
/// executions.
pub const COMMITTED: ExecutionId = ExecutionId::MAX;

/// The pending set of an optimistic worker. The module documentation says how it works.
#[derive(Debug)]
pub struct OptimisticSet<P: Taggable> {
    /// Messages and wakes at or after the frontier.
    pending: WindowedPending<Tagged<P>>,
    /// The earliest event of `pending`, if it was popped and then put back.
    held: Option<TaggedEvent<P>>,
    /// Messages and wakes behind the frontier: stragglers, and events that were rolled back.
    behind: BinaryHeap<Reverse<TaggedEvent<P>>>,
    /// Anti-messages that have not met their twins.
    anti_messages: BinaryHeap<Reverse<TaggedEvent<P>>>,
    /// The time of the earliest anti-message; [`Time::MAX`] if there are none.
    next_anti_message_time: Time,
    /// The worker of each LP.
    placement: Placement,
    /// The worker that owns this set.
    worker: u32,
    /// Events for other workers, by worker.
    pub parcels: Vec<Vec<TaggedEvent<P>>>,
    /// Records of the events that executions have sent, in the order of sending.
    pub sent: Ring<Sent>,
    /// The execution in progress: the tag of the events that are sent now.
    pub execution: ExecutionId,
}

/// How an event that was just popped compares with the anti-messages.
#[derive(Debug)]
pub enum Matched<P: Taggable> {
    /// Every anti-message is later: the event may be executed.
    Ready(TaggedEvent<P>),
    /// An anti-message annihilated its twin: the popped event or another event of the same key. The next
    /// event may be popped.
    Annihilated,
    /// The twin of the earliest anti-message is not pending here: it has been executed, or it is kept back
    /// because its receiver has failed.
    TwinExecuted,
}

impl<P: Taggable> OptimisticSet<P> {
    /// Makes an empty set for `worker`.
    pub fn new(placement: Placement, worker: u32) -> OptimisticSet<P> {
        let parcels = std::iter::repeat_with(Vec::new).take(placement.partitions() as usize).collect();
        OptimisticSet {
            pending: WindowedPending::default(),
            held: None,
            behind: BinaryHeap::new(),
            anti_messages: BinaryHeap::new(),
            next_anti_message_time: Time::MAX,
            placement,
            worker,
            parcels,
            sent: Ring::default(),
            execution: COMMITTED,
        }
    }

    // Sending.

    /// Sends a message or a wake, tagged with the execution in progress, and logs it.
    ///
    /// Always inlined, so that the event is built at its final place in memory.
    #[inline(always)]
    pub fn send(&mut self, key: EventKey, receiver: LpId, body: Body<P>) {
        self.sent.push(Sent::of(&key, receiver));
        let body = Body::Message(Tagged::new(self.execution, body));
        let is_ahead = key.instant.time > self.frontier().time && self.held.is_none();
        match self.parcel_of(receiver) {
            None if is_ahead => self.pending.push(Event::new(key, receiver, body)),
            None => self.push_slow(Event::new(key, receiver, body)),
            Some(parcel) => parcel.push(Event::new(key, receiver, body)),
        }
    }

    /// Returns the parcel for the worker of `receiver`, or `None` if that is this worker.
    #[inline(always)]
    fn parcel_of(&mut self, receiver: LpId) -> Option<&mut Vec<TaggedEvent<P>>> {
        if self.parcels.len() == 1 {
            return None;
        }
        let to = self.placement.partition(receiver);
        if to == self.worker { None } else { Some(&mut self.parcels[to as usize]) }
    }

    /// Sends anti-messages for the events that an execution of `sender` sent, and returns their number.
    ///
    /// The log has those events from position `from` up to `to`, exclusive.
    pub fn send_anti_messages(&mut self, sender: Sender, execution: ExecutionId, from: u32, to: u32) -> u64 {
        let mut count = 0;
        for position in positions(from, to) {
            let Some(sent) = self.sent.take(position) else { continue };
            let anti = Event::new(sent.key(sender), sent.receiver(), Body::Message(Tagged::Anti(execution)));
            match self.parcel_of(anti.receiver()) {
                None => self.insert_anti_message(anti),
                Some(parcel) => parcel.push(anti),
            }
            count += 1;
        }
        count
    }

    // Pending events.

    /// Adds an event of this worker's LPs: a message, a wake or an anti-message, early or late.
    #[inline(always)]
    pub fn push(&mut self, event: TaggedEvent<P>) {
        let (header, body) = event.into_parts();
        let is_behind = header.instant() < self.frontier() || self.held.is_some();
        if is_behind || matches!(body, Body::Message(Tagged::Anti(_))) {
            self.push_slow(header.with(body));
        } else {
            self.pending.push(header.with(body));
        }
    }

    #[cold]
    #[inline(never)]
    fn push_slow(&mut self, event: TaggedEvent<P>) {
        if is_anti_message(&event) {
            return self.insert_anti_message(event);
        }
        if event.instant() < self.frontier() {
            return self.behind.push(Reverse(event));
        }
        // The held event must stay the earliest event at or after the frontier. If an anti-message met a
        // later event first, `match_anti_messages` would conclude that the twin has been executed.
        if let Some(held) = self.held.take_if(|held| event <= *held) {
            self.pending.push(held);
        }
        self.pending.push(event);
    }

    /// Returns the instant of the earliest event or anti-message, or [`NEVER`] if the set is empty.
    pub fn next_instant(&mut self) -> Instant {
        let anti = self.anti_messages.peek().map_or(NEVER, |Reverse(anti)| anti.instant());
        if let Some(Reverse(event)) = self.behind.peek() {
            return event.instant().min(anti);
        }
        let held = self.held.as_ref().map_or(NEVER, Event::instant);
        held.min(self.pending.next_instant().unwrap_or(NEVER)).min(anti)
    }

    /// Returns the receiver of the event that will probably be popped after the next `ahead` events.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<LpId> {
        self.pending.upcoming(ahead)
    }

    /// Pops the earliest message or wake before `bound`. Anti-messages are not considered.
    #[inline(always)]
    pub fn pop_before(&mut self, bound: Time) -> Option<TaggedEvent<P>> {
        if self.behind.is_empty() && self.held.is_none() {
            self.pending.pop_before(bound)
        } else {
            self.pop_slow(bound)
        }
    }

    /// Pops the earliest message or wake before `bound`, but leaves it in its slot, from which the caller
    /// takes it.
    ///
    /// Returns `None` also if the earliest event may be held or behind the frontier: then use
    /// [`OptimisticSet::pop_before`].
    #[inline(always)]
    pub fn pop_slot_before(&mut self, bound: Time) -> Option<&mut Slot<Tagged<P>>> {
        if !self.behind.is_empty() || self.held.is_some() {
            return None;
        }
        self.pending.pop_slot_through(Time::from_ps(bound.as_ps().checked_sub(1)?))
    }

    #[cold]
    #[inline(never)]
    fn pop_slow(&mut self, bound: Time) -> Option<TaggedEvent<P>> {
        match self.behind.peek() {
            Some(Reverse(event)) if event.time() < bound => self.behind.pop().map(|Reverse(event)| event),
            Some(_) => None,
            None => self.held.take_if(|event| event.time() < bound),
        }
    }

    /// Returns the number of pending messages and wakes at or after the frontier. Few events are behind the
    /// frontier.
    #[inline]
    pub fn len_from_frontier(&self) -> usize {
        self.pending.len()
    }

    /// Returns the frontier: the latest instant at which an event has been popped.
    #[inline(always)]
    pub fn frontier(&self) -> Instant {
        self.pending.last_popped()
    }

    /// Puts back an event that was just popped.
    fn put_back(&mut self, event: TaggedEvent<P>) {
        if event.instant() < self.frontier() {
            self.behind.push(Reverse(event));
        } else {
            self.held = Some(event);
        }
    }

    // Annihilation.

    /// Returns the time of the earliest anti-message, or [`Time::MAX`] if there are none.
    #[inline]
    pub fn next_anti_message_time(&self) -> Time {
        self.next_anti_message_time
    }

    /// Compares `event`, which was just popped, with the anti-messages, and annihilates the pairs at its key.
    #[cold]
    #[inline(never)]
    pub fn match_anti_messages(&mut self, event: TaggedEvent<P>) -> Matched<P> {
        let Some(Reverse(anti)) = self.anti_messages.peek() else { return Matched::Ready(event) };
        match event.cmp(anti) {
            Ordering::Less => Matched::Ready(event),
            Ordering::Equal => self.annihilate(event),
            Ordering::Greater => {
                self.put_back(event);
                Matched::TwinExecuted
            }
        }
    }

    /// Annihilates the earliest anti-messages with their twins among the events of their key. `first` is one
    /// of those events, and was just popped.
    ///
    /// A key may have several events: an event that was sent again can be pending, while the event that was
    /// sent first has been executed.
    fn annihilate(&mut self, first: TaggedEvent<P>) -> Matched<P> {
        // Nothing later than this time may be popped: the caller commits by the frontier.
        let bound = first.time().checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX);
        let mut events = vec![first];
        while let Some(next) = self.pop_before(bound) {
            if next != events[0] {
                self.put_back(next);
                break;
            }
            events.push(next);
        }
        let mut antis = Vec::new();
        while self.anti_messages.peek().is_some_and(|Reverse(anti)| *anti == events[0]) {
            antis.extend(self.pop_anti_message());
        }
        antis.retain(|anti| match events.iter().position(|event| execution_of(event) == execution_of(anti)) {
            Some(twin) => {
                events.swap_remove(twin);
                false
            }
            None => true,
        });
        events.into_iter().for_each(|event| self.push(event));
        if antis.is_empty() {
            return Matched::Annihilated;
        }
        antis.into_iter().for_each(|anti| self.insert_anti_message(anti));
        Matched::TwinExecuted
    }

    /// Adds an anti-message.
    pub fn insert_anti_message(&mut self, anti: TaggedEvent<P>) {
        self.next_anti_message_time = self.next_anti_message_time.min(anti.time());
        self.anti_messages.push(Reverse(anti));
    }

    /// Pops the earliest anti-message.
    pub fn pop_anti_message(&mut self) -> Option<TaggedEvent<P>> {
        let first = self.anti_messages.pop().map(|Reverse(anti)| anti);
        self.next_anti_message_time = self.anti_messages.peek().map_or(Time::MAX, |Reverse(anti)| anti.time());
        first
    }

    // At a cut, with all workers stopped.

    /// Removes all pending messages and wakes, in no order. No anti-message may be in transit.
    pub fn take_all<'l>(&mut self) -> Leftover<'l, P>
    where
        P: 'l,
    {
        let behind = std::mem::take(&mut self.behind).into_iter().map(|Reverse(event)| event);
        let all = self.pending.take_all().chain(self.held.take()).chain(behind);
        let annihilated: BTreeSet<_> =
            std::mem::take(&mut self.anti_messages).iter().map(|Reverse(anti)| identity(anti)).collect();
        self.next_anti_message_time = Time::MAX;
        Box::new(all.filter(move |event| !annihilated.contains(&identity(event))).filter_map(untag))
    }

    /// Frees unused memory, except that of the pending events.
    pub fn shrink(&mut self) {
        self.behind.shrink_to_fit();
        self.anti_messages.shrink_to_fit();
        self.sent.shrink();
        self.parcels.iter_mut().for_each(Vec::shrink_to_fit);
    }

    /// Frees unused memory, and moves the pending events into as little memory as possible.
    pub fn compact(&mut self) {
        self.shrink();
        self.pending.compact();
    }

    /// Returns the bytes of memory that the set holds, not counting memory that messages own.
    pub fn allocated_bytes(&self) -> usize {
        let parcels: usize = self.parcels.iter().map(Vec::capacity).sum();
        self.pending.allocated_bytes()
            + (self.behind.capacity() + self.anti_messages.capacity() + parcels) * size_of::<TaggedEvent<P>>()
            + self.sent.allocated_bytes()
    }
}
