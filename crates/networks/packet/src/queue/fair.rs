//! FQ-CoDel (RFC 8290): a queue for each flow, with CoDel in each, and turns by bytes.

use super::codel::{self, Codel};
use super::holding::{Dropped, Held, clear};
use crate::port::Loss;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::Time;
use parades_core::wire::{self, Malformed};
use std::collections::{BTreeMap, VecDeque};

/// The parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FairCodel {
    /// CoDel in each queue. Its limit is that of all queues together.
    pub codel: Codel,
    /// The number of queues, to which flows are assigned by a hash.
    pub queues: u32,
    /// The bytes that a queue may send in its turn.
    pub quantum: u32,
    /// The limit of all queues together in bytes, in addition to CoDel's limit.
    pub memory: u64,
}

impl Default for FairCodel {
    /// 1024 queues, 10,240 packets, 32 MiB (RFC 8290, section 5.2), and a quantum of 1500 bytes.
    fn default() -> FairCodel {
        let codel = Codel { limit: super::QueueLimit::Packets(10_240), ..Codel::default() };
        FairCodel { codel, queues: 1024, quantum: 1500, memory: 32 << 20 }
    }
}

impl FairCodel {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.codel.check()?;
        if self.queues == 0 || self.quantum == 0 || self.memory == 0 {
            return Err("has no queues, a quantum of zero or no memory; give it more of each".into());
        }
        Ok(())
    }
}

/// The most packets that are dropped at once when there is no room.
const DROP_BATCH: usize = 64;

/// The queue of the flows of one hash.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Flow {
    queue: codel::Queue,
    /// The bytes that it may still send in this turn.
    deficit: i64,
    /// True if the queue is in one of the two lists.
    is_listed: bool,
}

/// The state of FQ-CoDel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub(crate) struct Fair {
    /// The queues that have had a packet, by their numbers. They are boxed, as undo records hold them.
    flows: BTreeMap<u32, Box<Flow>>,
    /// The queues that have become active and have not used up a quantum.
    new: VecDeque<u32>,
    /// The other active queues.
    old: VecDeque<u32>,
    /// The bytes of all packets.
    bytes: u64,
}

impl Fair {
    /// Appends the bytes of the state.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        wire::write(&(&self.new, &self.old, self.flows.len() as u64), to);
        for (number, flow) in &self.flows {
            wire::write(&(number, flow.deficit), to);
            flow.queue.write(to);
        }
    }

    /// Reads a state.
    pub(super) fn read(of: &FairCodel, from: &mut &[u8]) -> Result<Fair, Malformed> {
        let (new, old, count): (VecDeque<u32>, VecDeque<u32>, u64) = wire::read(from)?;
        let mut flows = BTreeMap::new();
        for _ in 0..count {
            let (number, deficit): (u32, i64) = wire::read(from)?;
            // A packet makes a deficit of at most its own bytes.
            if number >= of.queues || deficit <= -(1 << 32) || deficit > of.quantum.into() {
                return Err(Malformed::new("FQ-CoDel has no such queue"));
            }
            flows.insert(number, Box::new(Flow { queue: codel::Queue::read(from)?, deficit, is_listed: false }));
        }
        for number in new.iter().chain(&old) {
            let flow = flows.get_mut(number).filter(|flow| !flow.is_listed);
            flow.ok_or_else(|| Malformed::new("FQ-CoDel lists a queue twice, or none"))?.is_listed = true;
        }
        if flows.values().any(|flow| !flow.is_listed && !flow.queue.packets.is_empty()) {
            return Err(Malformed::new("FQ-CoDel does not list a queue with packets"));
        }
        let bytes = flows.values().map(|flow| flow.queue.bytes).sum();
        Ok(Fair { flows, new, old, bytes })
    }

    pub(super) fn packets(&self) -> impl Iterator<Item = Held> {
        self.flows.values().flat_map(|flow| flow.queue.packets.iter().copied())
    }

    /// Returns the number of the queue with the most bytes, among those with packets. A packet may have no bytes.
    fn longest(&self) -> Option<u32> {
        let busy = self.flows.iter().filter(|(_, flow)| !flow.queue.packets.is_empty());
        let longest = busy.max_by_key(|(number, flow)| (flow.queue.bytes, std::cmp::Reverse(**number)));
        longest.map(|(&number, _)| number)
    }
}

impl<R: Recorder<FairUndo>> FairMut<'_, R> {
    /// Adds a packet of a flow. `held` is the number of packets with it.
    pub(super) fn enqueue(&mut self, packet: Held, of: &FairCodel, flow: u32, held: u32, dropped: &mut Dropped) {
        let number = flow % of.queues;
        let inactive = || Box::new(Flow { queue: codel::Queue::new(), deficit: 0, is_listed: false });
        let mut flows = self.flows();
        let mut flow = flows.at_or_insert_with(number, inactive);
        flow.queue().enqueue(packet);
        if !flow.is_listed {
            *flow.is_listed() = true;
            *flow.deficit() = i64::from(of.quantum);
            self.new().push_back(number);
        }
        *self.bytes() += u64::from(packet.bytes);
        if !of.codel.limit.allows(held as usize, self.bytes) || self.bytes > of.memory {
            self.make_room(dropped);
        }
    }

    /// Drops packets from the head of the longest queue: up to half its bytes, and at most a batch (RFC 8290,
    /// section 4.1).
    fn make_room(&mut self, dropped: &mut Dropped) {
        let Some(longest) = self.longest() else { return };
        let mut flow = self.flows().into_at(longest);
        let half = flow.queue.bytes / 2;
        let mut freed = 0;
        for _ in 0..DROP_BATCH {
            let Some(packet) = flow.queue().pop() else { break };
            freed += u64::from(packet.bytes);
            dropped.push((packet, Loss::Queue));
            if freed >= half {
                break;
            }
        }
        *self.bytes() -= freed;
    }

    /// Takes out the next packet (RFC 8290, section 4.2).
    pub(super) fn dequeue(&mut self, of: &FairCodel, now: Time, dropped: &mut Dropped) -> Option<(Held, bool)> {
        let before = dropped.len();
        let next = self.select(of, now, dropped);
        let sent = next.iter().map(|(packet, _)| packet);
        let gone: u64 =
            dropped[before..].iter().map(|(packet, _)| packet).chain(sent).map(|p| u64::from(p.bytes)).sum();
        if gone > 0 {
            *self.bytes() -= gone;
        }
        next
    }

    fn select(&mut self, of: &FairCodel, now: Time, dropped: &mut Dropped) -> Option<(Held, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let number = *if is_new { self.new.front() } else { self.old.front() }?;
            let mut flow = self.flows().into_at(number);
            let mut next = None;
            let is_spent = flow.deficit <= 0;
            if is_spent {
                *flow.deficit() += i64::from(of.quantum);
            } else {
                next = flow.queue().dequeue(&of.codel, now, dropped);
            }
            if let Some((packet, _)) = next {
                *flow.deficit() -= i64::from(packet.bytes);
                return next;
            }
            // A new queue that is empty stays active for a round, so that it cannot be new again at once.
            let stays = is_spent || is_new;
            if !stays {
                *flow.is_listed() = false;
            }
            _ = if is_new { self.new().pop_front() } else { self.old().pop_front() };
            if stays {
                self.old().push_back(number);
            }
        }
    }

    /// Takes out all packets.
    pub(super) fn clear(&mut self, lose: &mut impl FnMut(Held)) {
        let numbers: Vec<u32> = self.flows.keys().copied().collect();
        for number in numbers {
            let mut flow = self.flows().into_at(number);
            clear(&mut flow.queue(), lose);
        }
        if self.bytes > 0 {
            *self.bytes() = 0;
        }
    }
}
