//! Where the events go that executions send: straight to where they wait.
//!
//! An event is then written once. So it is where an execution may be taken back, as what it sent is then annihilated. Engines that compare what two
//! executions sent have it buffered instead.

use crate::ahead::Ahead;
use crate::event::{Body, Event, EventKey, LpId};
use crate::pending::{LpOrderedPending, WindowedPending};
use crate::placement::Placement;
use crate::time::Time;

/// What executions sent, on its way to its receivers.
#[derive(Debug)]
pub struct Outbox<P> {
    /// The events that wait at the LPs executed here, where they go straight on.
    pub pending: Pending<P>,
    /// What is not handed on yet: all that was sent, unless it goes straight on. Global events always leave here what they send.
    pub buffer: Vec<Event<P>>,
    /// What goes to other partitions, by partition; only where there are any.
    pub parcels: Vec<Vec<Event<P>>>,
    /// No event has been put into a parcel that is earlier, since `window` last handed them over and began anew.
    pub parcels_min: Time,
    /// Where each LP lives, and the partition whose LPs are sending; where there are several.
    home: Option<(Placement, u32)>,
}

/// The events that wait at the LPs of a partition.
#[derive(Debug)]
pub enum Pending<P> {
    /// Nothing waits here: events are buffered.
    Elsewhere,
    /// In windows that are executed in the order of time.
    ByTime(WindowedPending<P>),
    /// In windows that are executed LP by LP.
    ByLp(LpOrderedPending<P>),
    /// Where executions may be taken back.
    Ahead(Box<Ahead<P>>),
}

impl<P> Pending<P> {
    /// Whether what waits is executed LP by LP.
    pub fn is_by_lp(&self) -> bool {
        matches!(self, Pending::ByLp(_))
    }
}

impl<P> Outbox<P> {
    /// One that leaves all in its buffer.
    pub fn buffered() -> Outbox<P> {
        Outbox {
            pending: Pending::Elsewhere,
            buffer: Vec::new(),
            parcels: Vec::new(),
            parcels_min: Time::MAX,
            home: None,
        }
    }

    /// One that puts all into a pending set.
    pub fn straight() -> Outbox<P> {
        Outbox { pending: Pending::ByTime(WindowedPending::default()), ..Outbox::buffered() }
    }

    /// One that puts all where it waits to be executed ahead of time, or into a parcel.
    pub fn ahead(ahead: Ahead<P>) -> Outbox<P> {
        Outbox { pending: Pending::Ahead(Box::new(ahead)), ..Outbox::buffered() }
    }

    /// What waits to be executed ahead of time; for an outbox made for it.
    #[inline(always)]
    pub fn ahead_mut(&mut self) -> &mut Ahead<P> {
        let Pending::Ahead(ahead) = &mut self.pending else { unreachable!("this outbox was made for another engine") };
        ahead
    }

    /// As [`Outbox::ahead_mut`].
    #[inline(always)]
    pub fn ahead_ref(&self) -> &Ahead<P> {
        let Pending::Ahead(ahead) = &self.pending else { unreachable!("this outbox was made for another engine") };
        ahead
    }

    /// One that makes parcels of what is for other partitions. What it lends ([`crate::effects::Effects::lend`]) works for those of one partition.
    pub fn sorting(placement: Placement) -> Outbox<P> {
        let parcels = std::iter::repeat_with(Vec::new).take(placement.partitions() as usize).collect();
        let home = (placement.partitions() > 1).then_some((placement, 0));
        Outbox { parcels, home, ..Outbox::buffered() }
    }

    /// One by which the LPs of `partition` send, whose events wait in `pending`, until [`Outbox::takes_back`]: this one is no use meanwhile.
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

    /// Takes back what it has lent, and leaves what waits in `pending`.
    #[inline(always)]
    pub fn takes_back(&mut self, lent: Outbox<P>, pending: &mut Pending<P>) {
        *pending = lent.pending;
        self.buffer = lent.buffer;
        self.parcels = lent.parcels;
        self.parcels_min = lent.parcels_min;
        self.home = lent.home;
    }

    /// Sends. The event is made where it is written: one made before and copied would be read back before it has left the core's store
    /// buffer, which stalls.
    #[inline(always)]
    pub fn push(&mut self, key: EventKey, receiver: LpId, body: Body<P>) {
        if let Some((placement, here)) = &self.home {
            let partition = placement.partition(receiver);
            if partition != *here {
                self.parcels_min = self.parcels_min.min(key.instant.time);
                return self.parcels[partition as usize].push(Event::new(key, receiver, body));
            }
        }
        // One comparison for each engine, most likely first: a jump by a table costs as much as the rest of this.
        if let Pending::ByTime(pending) = &mut self.pending {
            return pending.push_parts(key, receiver, body);
        }
        if let Pending::Ahead(pending) = &mut self.pending {
            return pending.send(key, receiver, body);
        }
        match &mut self.pending {
            Pending::ByLp(pending) => pending.push_parts(key, receiver, body),
            Pending::ByTime(_) | Pending::Ahead(_) | Pending::Elsewhere => {
                self.buffer.push(Event::new(key, receiver, body));
            }
        }
    }
}
