//! The packets that a port holds until its discipline selects one of them.
//!
//! A discipline knows a packet by its place in the node's store, its size and the time of its arrival. So all
//! disciplines are compiled once, whatever packets carry.

use super::cake::Queues;
use super::codel::{self, QueueMut};
use super::fair::Fair;
use super::own::{Departing, PortView};
use super::priority::Classes;
use super::{Discipline, Offered};
use crate::port::Loss;
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A packet that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(crate) struct Held {
    /// Its place in the store of its node, and [`CAPABLE`]. In one word, since undo records hold packets.
    slot: u32,
    /// Its size in bytes, headers included.
    pub(crate) bytes: u32,
    /// The time of its arrival.
    pub(crate) since: Time,
}

/// The bit of a packet whose sender understands congestion marks.
const CAPABLE: u32 = 1 << 31;

impl Held {
    pub(crate) fn new(slot: u32, bytes: u32, since: Time, is_capable: bool) -> Held {
        assert!(slot < CAPABLE, "a node holds fewer than 2^31 packets");
        Held { slot: if is_capable { slot | CAPABLE } else { slot }, bytes, since }
    }

    /// Returns the packet's place in the store of its node.
    pub(crate) fn slot(&self) -> u32 {
        self.slot & !CAPABLE
    }

    /// Returns true if the packet's sender understands congestion marks.
    pub(crate) fn is_capable(&self) -> bool {
        self.slot & CAPABLE != 0
    }
}

/// Returns the bytes of packets.
pub(super) fn bytes_of(packets: &VecDeque<Held>) -> u64 {
    packets.iter().map(|packet| u64::from(packet.bytes)).sum()
}

/// Packets that a discipline drops, with the reason.
pub(crate) type Dropped = Vec<(Held, Loss)>;

/// The packets that a port holds.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Holding {
    packets: u32,
    scheduler: Scheduler,
}

/// The disciplines that decide on departure, with their states.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
enum Scheduler {
    Codel(codel::Queue),
    Fair(Fair),
    Cake(Box<Queues>),
    Priority(Box<Classes>),
    Other(Departing),
}

impl Holding {
    /// Makes the state of a discipline. `None` for a discipline that decides on arrival.
    pub(crate) fn new(discipline: &Discipline) -> Option<Holding> {
        let scheduler = match discipline {
            Discipline::Codel(_) => Scheduler::Codel(codel::Queue::new()),
            Discipline::FairCodel(_) => Scheduler::Fair(Fair::default()),
            Discipline::Cake(_) => Scheduler::Cake(Box::default()),
            Discipline::Priority(_) => Scheduler::Priority(Box::default()),
            Discipline::Other(other) => Scheduler::Other(other.departing()?),
            _ => return None,
        };
        Some(Holding { packets: 0, scheduler })
    }

    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match &self.scheduler {
            Scheduler::Codel(queue) => queue.write(to),
            Scheduler::Fair(fair) => fair.write(to),
            Scheduler::Cake(queues) => queues.write(to),
            Scheduler::Priority(classes) => classes.write(to),
            Scheduler::Other(queue) => queue.write(to),
        }
    }

    /// Reads a state of a discipline. `None` if the discipline holds no packets.
    pub(crate) fn read(of: &Discipline, from: &mut &[u8]) -> Result<Option<Holding>, Malformed> {
        let scheduler = match of {
            Discipline::Codel(_) => Scheduler::Codel(codel::Queue::read(from)?),
            Discipline::FairCodel(of) => Scheduler::Fair(Fair::read(of, from)?),
            Discipline::Cake(of) => Scheduler::Cake(Box::new(Queues::read(of, from)?)),
            Discipline::Priority(_) => Scheduler::Priority(Box::new(Classes::read(from)?)),
            Discipline::Other(other) => match other.departing() {
                Some(queue) => Scheduler::Other(queue.read(from)?),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let mut holding = Holding { packets: 0, scheduler };
        holding.packets =
            u32::try_from(holding.packets().len()).map_err(|_| Malformed::new("a port holds too much"))?;
        Ok(Some(holding))
    }

    /// Returns the number of packets that are held.
    pub(crate) fn len(&self) -> u32 {
        self.packets
    }

    /// Returns the packets that are held, queue by queue.
    pub(crate) fn packets(&self) -> Vec<Held> {
        match &self.scheduler {
            Scheduler::Codel(queue) => queue.packets.iter().copied().collect(),
            Scheduler::Fair(fair) => fair.packets().collect(),
            Scheduler::Cake(queues) => queues.packets().collect(),
            Scheduler::Priority(classes) => classes.packets().collect(),
            Scheduler::Other(queue) => queue.packets(),
        }
    }

    /// Returns the time from which on the discipline lets a packet go: later than now only if it shapes the
    /// traffic.
    pub(crate) fn ready_at(&self, discipline: &Discipline) -> Time {
        match (&self.scheduler, discipline) {
            (Scheduler::Cake(queues), Discipline::Cake(cake)) => queues.ready_at(cake),
            _ => Time::ZERO,
        }
    }

    /// Folds the state of a discipline of another crate.
    pub(crate) fn fold(&self, digest: &mut Digest) {
        if let Scheduler::Other(queue) = &self.scheduler {
            queue.fold(digest);
        }
    }

    /// Returns the sum of the times that the packets have waited.
    pub(crate) fn waited_at(&self, now: Time) -> Delay {
        let waited = |sum: Delay, packet: Held| sum.saturating_add(now.since(packet.since));
        self.packets().into_iter().fold(Delay::ZERO, waited)
    }
}

impl<R: Recorder<HoldingUndo>> HoldingMut<'_, R> {
    /// Adds a packet. Packets that find no room are added to `dropped`; that may be the packet itself.
    pub(crate) fn enqueue(
        &mut self,
        packet: Held,
        offered: &Offered,
        discipline: &Discipline,
        port: &PortView<'_>,
        dropped: &mut Dropped,
    ) {
        let (before, packets) = (dropped.len(), self.packets);
        match (self.scheduler(), discipline) {
            (SchedulerMut::Codel(mut queue), Discipline::Codel(codel)) => {
                if codel.limit.allows(packets as usize + 1, queue.bytes + u64::from(packet.bytes)) {
                    queue.enqueue(packet);
                } else {
                    dropped.push((packet, Loss::Queue));
                }
            }
            (SchedulerMut::Fair(mut fair), Discipline::FairCodel(parameters)) => {
                fair.enqueue(packet, parameters, offered.flow, packets + 1, dropped);
            }
            (SchedulerMut::Cake(mut queues), Discipline::Cake(cake)) => {
                queues.enqueue(packet, offered, cake, port.now, dropped);
            }
            (SchedulerMut::Priority(mut classes), Discipline::Priority(priority)) => {
                classes.enqueue(packet, priority, offered.class, dropped);
            }
            (SchedulerMut::Other(queue), Discipline::Other(_)) => {
                queue.into_mut().enqueue(packet, offered, packets, port, dropped);
            }
            _ => unreachable!("a port keeps its discipline"),
        }
        self.count(1, dropped.len() - before);
    }

    /// Removes the next packet. Returns it, with true if it must be marked. Packets that are dropped
    /// before it are added to `dropped`.
    pub(crate) fn dequeue(
        &mut self,
        discipline: &Discipline,
        port: &PortView<'_>,
        dropped: &mut Dropped,
    ) -> Option<(Held, bool)> {
        let (before, packets, now) = (dropped.len(), self.packets, port.now);
        let next = match (self.scheduler(), discipline) {
            (SchedulerMut::Codel(mut queue), Discipline::Codel(codel)) => queue.dequeue(codel, now, dropped),
            (SchedulerMut::Fair(mut fair), Discipline::FairCodel(parameters)) => fair.dequeue(parameters, now, dropped),
            (SchedulerMut::Cake(mut queues), Discipline::Cake(cake)) => queues.dequeue(cake, port, dropped),
            (SchedulerMut::Priority(mut classes), _) => classes.dequeue().map(|packet| (packet, false)),
            // A state that holds nothing is not copied.
            (SchedulerMut::Other(_), Discipline::Other(_)) if packets == 0 => None,
            (SchedulerMut::Other(queue), Discipline::Other(of)) => {
                let next = queue.into_mut().dequeue(packets, port, dropped);
                let gone = dropped.len() - before + usize::from(next.is_some());
                let is_right = next.is_some() || gone == packets as usize;
                assert!(is_right, "the queue `{}` holds packets, but selects none of them", of.name());
                next
            }
            _ => unreachable!("a port keeps its discipline"),
        };
        self.count(0, dropped.len() - before + usize::from(next.is_some()));
        next
    }

    /// Takes out all packets: the link goes down.
    pub(crate) fn clear(&mut self, discipline: &Discipline, dropped: &mut Dropped) {
        let before = dropped.len();
        let mut lose = |packet| dropped.push((packet, Loss::Down));
        match (self.scheduler(), discipline) {
            (SchedulerMut::Codel(mut queue), _) => clear(&mut queue, &mut lose),
            (SchedulerMut::Fair(mut fair), _) => fair.clear(&mut lose),
            (SchedulerMut::Cake(mut queues), _) => queues.clear(&mut lose),
            (SchedulerMut::Priority(mut classes), _) => {
                while let Some(packet) = classes.dequeue() {
                    lose(packet);
                }
            }
            (SchedulerMut::Other(mut queue), Discipline::Other(of)) => {
                queue.packets().into_iter().for_each(lose);
                queue.set(of.departing().expect("a port keeps its discipline"));
            }
            (SchedulerMut::Other(_), _) => unreachable!("a port keeps its discipline"),
        }
        self.count(0, dropped.len() - before);
    }

    /// Counts packets that come and go.
    fn count(&mut self, come: u32, gone: usize) {
        let gone = u32::try_from(gone).expect("packets are counted in 32 bits");
        if come != gone {
            *self.packets() = self.packets + come - gone;
        }
    }
}

/// Takes all packets out of a queue.
pub(super) fn clear<R: Recorder<codel::QueueUndo>>(queue: &mut QueueMut<'_, R>, lose: &mut impl FnMut(Held)) {
    while let Some(packet) = queue.pop() {
        lose(packet);
    }
}
