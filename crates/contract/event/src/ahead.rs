//! What waits at the LPs of a worker that executes ahead of time: messages and wakes, late or not, and anti-messages.
//!
//! Messages are taken in the order of time as far as they are there. One that comes late, or whose execution was taken back, waits in a heap beside,
//! and comes before all that is not late. So the set never has to know what became of what it gave out.
//!
//! An anti-message is an event of the same key as its twin, so the two come together when it is their turn: either they annihilate each other here, or
//! the twin has been executed, and whoever did that must take it back.
//!
//! What is executed sends straight to here ([`crate::outbox`]), and what it sent is logged, so that it can be sent anti-messages.
//!
//! *Read next*: the `time-warp` engine, which decides what is executed, taken back and committed.

mod marked;
mod sent;

pub use marked::{Mark, Marked, MarkedEvent, body_of, identity, is_anti, mark_of, with_mark, without_mark};
pub use sent::Sent;

use crate::event::{Body, Event, EventKey, Header, LpId, Sender};
use crate::pending::{Leftover, PendingSet, Slot, WindowedPending};
use crate::placement::Placement;
use crate::ring::{Ring, positions};
use crate::time::{Delay, Instant, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};

/// After every instant at which something happens.
pub const NEVER: Instant = Instant { time: Time::MAX, round: u32::MAX };

/// The mark of what no execution sent that could be taken back.
pub const UNMARKED: Mark = u32::MAX;

/// The module's doc says what.
#[derive(Debug)]
pub struct Ahead<P> {
    /// What waits, from the frontier on: when what was taken of it last was due.
    pending: WindowedPending<Marked<P>>,
    /// The least of it, where it had to be looked at.
    held: Option<MarkedEvent<P>>,
    /// What waits before that: what came late, and what has been taken back.
    past: BinaryHeap<Reverse<MarkedEvent<P>>>,
    /// Anti-messages that wait for their twins' turn.
    antis: BinaryHeap<Reverse<MarkedEvent<P>>>,
    /// The time of the first of them.
    antis_from: Time,
    /// Where each LP lives, and the worker whose LPs send.
    placement: Placement,
    number: u32,
    /// What goes to other workers, by their numbers.
    pub parcels: Vec<Vec<MarkedEvent<P>>>,
    /// What executions have sent, in their order.
    pub sent: Ring<Sent>,
    /// The mark of what is sent now.
    pub mark: Mark,
}

/// What the turn of an event comes to where anti-messages wait.
#[derive(Debug)]
pub enum Turn<P> {
    /// No anti-message comes before it.
    Its(MarkedEvent<P>),
    /// It was annihilated, or another of its key was: the next may be taken.
    Annihilated,
    /// The twin of the first anti-message, [`Ahead::take_anti`], does not wait here.
    Chase,
}

impl<P> Ahead<P> {
    /// For the worker of this number.
    pub fn new(placement: Placement, number: u32) -> Ahead<P> {
        let parcels = std::iter::repeat_with(Vec::new).take(placement.partitions() as usize).collect();
        Ahead {
            pending: WindowedPending::default(),
            held: None,
            past: BinaryHeap::new(),
            antis: BinaryHeap::new(),
            antis_from: Time::MAX,
            placement,
            number,
            parcels,
            sent: Ring::default(),
            mark: UNMARKED,
        }
    }

    // Sending.

    /// Sends a message or a wake with the mark of now, and logs it. Always inlined, so that it is made where it waits.
    #[inline(always)]
    pub fn send(&mut self, key: EventKey, receiver: LpId, body: Body<P>) {
        self.sent.push(Sent::of(&key, receiver));
        let body = Body::Message(Marked::new(self.mark, body));
        let is_ahead = key.instant.time > self.frontier().time && self.held.is_none();
        match self.parcel_of(receiver) {
            None if is_ahead => self.pending.push_parts(key, receiver, body),
            None => self.push_seldom(Event::new(key, receiver, body)),
            Some(parcel) => parcel.push(Event::new(key, receiver, body)),
        }
    }

    /// What goes to the worker of an LP; none for this one.
    #[inline(always)]
    fn parcel_of(&mut self, receiver: LpId) -> Option<&mut Vec<MarkedEvent<P>>> {
        if self.parcels.len() == 1 {
            return None;
        }
        let to = self.placement.partition(receiver);
        if to == self.number { None } else { Some(&mut self.parcels[to as usize]) }
    }

    /// Sends anti-messages after what `sender` sent with a mark, which is logged from one position to another; how many.
    pub fn send_antis(&mut self, sender: Sender, mark: Mark, from: u32, to: u32) -> u64 {
        let mut antis = 0;
        for position in positions(from, to) {
            let Some(sent) = self.sent.take(position) else { continue };
            let anti = Event::new(sent.key(sender), sent.receiver(), Body::Message(Marked::Anti(mark)));
            match self.parcel_of(anti.receiver) {
                None => self.put_anti(anti),
                Some(parcel) => parcel.push(anti),
            }
            antis += 1;
        }
        antis
    }

    // Waiting.

    /// Adds what waits here, late or not.
    #[inline]
    pub fn push(&mut self, event: MarkedEvent<P>) {
        let (header, body) = event.into_parts();
        self.push_parts(header, body);
    }

    /// As [`Ahead::push`], of the parts of an event, which is made only where it waits.
    #[inline(always)]
    pub fn push_parts(&mut self, header: Header, body: Body<Marked<P>>) {
        let is_late = header.instant() < self.frontier() || self.held.is_some();
        if is_late || matches!(body, Body::Message(Marked::Anti(_))) {
            self.push_seldom(header.with(body));
        } else {
            self.pending.push_parts(header.key(), header.receiver(), body);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_seldom(&mut self, event: MarkedEvent<P>) {
        if is_anti(&event) {
            return self.put_anti(event);
        }
        if event.instant() < self.frontier() {
            return self.past.push(Reverse(event));
        }
        // What is held stays the least: an anti-message that finds something later believes that its twin has been executed.
        if let Some(held) = self.held.take_if(|held| event <= *held) {
            self.pending.push(held);
        }
        self.pending.push(event);
    }

    /// The instant of the least event; [`NEVER`] where there is none.
    pub fn next_instant(&mut self) -> Instant {
        let anti = self.antis.peek().map_or(NEVER, |Reverse(anti)| anti.instant());
        if let Some(Reverse(event)) = self.past.peek() {
            return event.instant().min(anti);
        }
        let held = self.held.as_ref().map_or(NEVER, Event::instant);
        held.min(self.pending.next_instant().unwrap_or(NEVER)).min(anti)
    }

    /// The receiver of the event that will probably be taken `ahead` events after the next.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<LpId> {
        self.pending.upcoming(ahead)
    }

    /// Takes the least message or wake before `bound`. All that is late comes before all that is not.
    #[inline(always)]
    pub fn take_before(&mut self, bound: Time) -> Option<MarkedEvent<P>> {
        if self.past.is_empty() && self.held.is_none() {
            self.pending.pop_before(bound)
        } else {
            self.take_seldom(bound)
        }
    }

    /// As [`Ahead::take_before`], where it lies for the caller to take; `None` also where it must be looked for in a place that is seldom used.
    #[inline(always)]
    pub fn slot_before(&mut self, bound: Time) -> Option<&mut Slot<Marked<P>>> {
        if !self.past.is_empty() || self.held.is_some() {
            return None;
        }
        self.pending.slot_through(Time::from_ps(bound.as_ps().checked_sub(1)?))
    }

    #[cold]
    #[inline(never)]
    fn take_seldom(&mut self, bound: Time) -> Option<MarkedEvent<P>> {
        match self.past.peek() {
            Some(Reverse(event)) if event.time() < bound => self.past.pop().map(|Reverse(event)| event),
            Some(_) => None,
            None => self.held.take_if(|event| event.time() < bound),
        }
    }

    /// How many messages and wakes wait, but for the few that are late.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Nothing later has been taken.
    #[inline(always)]
    pub fn frontier(&self) -> Instant {
        self.pending.reached()
    }

    /// Puts back what was just taken.
    fn put_back(&mut self, event: MarkedEvent<P>) {
        if event.instant() < self.frontier() {
            self.past.push(Reverse(event));
        } else {
            self.held = Some(event);
        }
    }

    // Annihilation.

    /// The time of the first anti-message.
    #[inline]
    pub fn antis_from(&self) -> Time {
        self.antis_from
    }

    /// Sees whether it is the turn of `event`, which was just taken, or that of an anti-message.
    #[cold]
    #[inline(never)]
    pub fn turn_of(&mut self, event: MarkedEvent<P>) -> Turn<P> {
        let Some(Reverse(anti)) = self.antis.peek() else { return Turn::Its(event) };
        match event.cmp(anti) {
            Ordering::Less => Turn::Its(event),
            Ordering::Equal => self.annihilate(event),
            Ordering::Greater => {
                self.put_back(event);
                Turn::Chase
            }
        }
    }

    /// Lets the first anti-messages annihilate their twins among the events of their key, of which `first` was just taken. An event that was sent again may
    /// be there while the first one of its key is not.
    fn annihilate(&mut self, first: MarkedEvent<P>) -> Turn<P> {
        // Nothing later is taken than what was asked for: who commits by what has been reached relies on it.
        let bound = first.time().checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX);
        let mut events = vec![first];
        while let Some(next) = self.take_before(bound) {
            if next != events[0] {
                self.put_back(next);
                break;
            }
            events.push(next);
        }
        let mut antis = Vec::new();
        while self.antis.peek().is_some_and(|Reverse(anti)| *anti == events[0]) {
            antis.extend(self.take_anti());
        }
        antis.retain(|anti| match events.iter().position(|event| mark_of(event) == mark_of(anti)) {
            Some(twin) => {
                events.swap_remove(twin);
                false
            }
            None => true,
        });
        events.into_iter().for_each(|event| self.push(event));
        if antis.is_empty() {
            return Turn::Annihilated;
        }
        antis.into_iter().for_each(|anti| self.put_anti(anti));
        Turn::Chase
    }

    /// Adds an anti-message.
    pub fn put_anti(&mut self, anti: MarkedEvent<P>) {
        self.antis_from = self.antis_from.min(anti.time());
        self.antis.push(Reverse(anti));
    }

    /// Takes the first anti-message.
    pub fn take_anti(&mut self) -> Option<MarkedEvent<P>> {
        let first = self.antis.pop().map(|Reverse(anti)| anti);
        self.antis_from = self.antis.peek().map_or(Time::MAX, |Reverse(anti)| anti.time());
        first
    }

    // While all rest.

    /// Takes all messages and wakes that wait here, in no order. No anti-message is on its way any more.
    pub fn take_all(&mut self) -> Leftover<P>
    where
        P: 'static,
    {
        let past = std::mem::take(&mut self.past).into_iter().map(|Reverse(event)| event);
        let all = self.pending.take_all().chain(self.held.take()).chain(past);
        let annihilated: BTreeSet<_> =
            std::mem::take(&mut self.antis).iter().map(|Reverse(anti)| identity(anti)).collect();
        self.antis_from = Time::MAX;
        Box::new(all.filter(move |event| !annihilated.contains(&identity(event))).filter_map(without_mark))
    }

    /// Gives back memory that is not needed now.
    pub fn shrink(&mut self) {
        self.past.shrink_to_fit();
        self.antis.shrink_to_fit();
        self.sent.shrink();
        self.parcels.iter_mut().for_each(Vec::shrink_to_fit);
    }

    /// As [`Ahead::shrink`], and puts what waits anew: it has the room that it needed when most waited.
    pub fn compact(&mut self) {
        self.shrink();
        self.pending.compact();
    }

    /// Bytes of memory that it holds, beside what the events own.
    pub fn allocated_bytes(&self) -> usize {
        let of_parcels: usize = self.parcels.iter().map(Vec::capacity).sum();
        self.pending.allocated_bytes()
            + (self.past.capacity() + self.antis.capacity() + of_parcels) * size_of::<MarkedEvent<P>>()
            + self.sent.allocated_bytes()
    }
}
