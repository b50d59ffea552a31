//! CAKE: a shaper, queues of flows that share fairly by host and by flow, and COBALT in each queue.
//!
//! Høiland-Jørgensen, Täht, Morton: "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", IEEE LANMAN 2018. Where the paper leaves a detail open, it is that of Linux (`sch_cake`):
//!
//! - *Shaper* ([`shaper`]). Packets leave at a rate of the discipline's own, which counts what the link below
//!   adds to them.
//! - *Queues*. A hash of the flow selects a set of eight queues. In it, a flow takes a free queue, and shares
//!   one only if there is none. So collisions are rare.
//! - *Turns* (DRR++). A queue that becomes active is *sparse*, and is served before all others until it has
//!   sent a quantum. Then it is *bulk*, and takes turns with the others. The quantum of a bulk queue is
//!   divided by the number of bulk queues of its host, as [`Isolation`] says. An empty queue stays in the
//!   rotation of
//!   *decaying* queues until COBALT has come to rest.
//! - *Overflow*. Where there is no room, the longest queue loses its first packet.
//!
//! *Deviations*: hosts are told apart exactly, not by a hash. Memory counts the bytes of packets, not those
//! of a kernel's buffers. Quanta are rounded up, not at random. Roots are exact. There is one tin
//! (`besteffort`), since packets have no DSCP, and no filter of acknowledgements.

mod cobalt;
mod save;
mod shaper;

pub use shaper::Cells;

use super::holding::{Dropped, Held};
use super::own::PortView;
use super::{Offered, QueueLimit, flow_hash};
use crate::port::Loss;
use cobalt::{Cobalt, Rules, Verdict};
use parades_core::restore::{MapUndo, Recorder, Tracked, Undoable};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use shaper::Shaper;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// Among whom CAKE shares the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Nobody: one queue for all packets.
    None,
    /// Sources of packets.
    SourceHosts,
    /// Destinations of packets.
    DestinationHosts,
    /// Pairs of a source and a destination.
    Hosts,
    /// Flows.
    Flows,
    /// Sources, and then the flows of each.
    DualSource,
    /// Destinations, and then the flows of each.
    DualDestination,
    /// Flows, whose share is divided by the number of busy flows of their source or of their destination,
    /// whichever is more.
    #[default]
    Triple,
}

impl Isolation {
    /// Returns the number by which packets are told apart.
    fn tag(self, offered: &Offered) -> u32 {
        match self {
            Isolation::None => 0,
            Isolation::SourceHosts => flow_hash(offered.source),
            Isolation::DestinationHosts => flow_hash(offered.destination),
            Isolation::Hosts => flow_hash(flow_hash(offered.source) ^ offered.destination),
            _ => offered.flow,
        }
    }

    fn is_by_source(self) -> bool {
        matches!(self, Isolation::DualSource | Isolation::Triple)
    }

    fn is_by_destination(self) -> bool {
        matches!(self, Isolation::DualDestination | Isolation::Triple)
    }
}

/// The parameters of CAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cake {
    /// The rate at which packets are sent, in bits per second. `None`: as fast as the link takes them.
    pub rate_bps: Option<u64>,
    /// Among whom the link is shared.
    pub isolation: Isolation,
    /// The usual round-trip time. COBALT accepts waits of a twentieth of it.
    pub rtt: Delay,
    /// The bytes that the link below adds to each packet.
    pub overhead: u32,
    /// The least size of a packet on the link below, in bytes, with what it adds.
    pub mpu: u32,
    /// How the link below divides packets.
    pub cells: Cells,
    /// True for a link whose far end has the bottleneck: dropped packets count as sent.
    pub is_ingress: bool,
    /// True if packets whose senders understand marks are marked instead of dropped.
    pub marks: bool,
    /// The size of the largest packets, in bytes.
    pub mtu: u32,
    /// The number of queues: a multiple of [`WAYS`].
    pub queues: u32,
    /// The limit of all queues together.
    pub limit: QueueLimit,
    /// The limit of all queues together in bytes, in addition. `None`: four times the rate times `rtt`, and
    /// at least 4 MiB; without a rate, no such limit.
    pub memory: Option<u64>,
}

/// The number of queues of a set.
pub const WAYS: u32 = 8;

/// The quantum without a shaper, and the greatest one, in bytes.
const QUANTUM_MAX: u64 = 1514;
/// The least quantum, in bytes.
const QUANTUM_MIN: u64 = 300;
/// The least default of the memory, in bytes.
const MEMORY_MIN: u64 = 4 << 20;

impl Default for Cake {
    /// No shaper, triple isolation, 100 ms, marks, 1514 bytes, 1024 queues, 10,240 packets.
    fn default() -> Cake {
        Cake {
            rate_bps: None,
            isolation: Isolation::default(),
            rtt: Delay::from_ms(100),
            overhead: 0,
            mpu: 0,
            cells: Cells::default(),
            is_ingress: false,
            marks: true,
            mtu: 1514,
            queues: 1024,
            limit: QueueLimit::Packets(10_240),
            memory: None,
        }
    }
}

impl Cake {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.limit.check_positive()?;
        if self.rate_bps == Some(0) || self.memory == Some(0) {
            return Err("has a rate of zero or no memory; give it more, or leave that out".into());
        }
        if self.queues == 0 || !self.queues.is_multiple_of(WAYS) {
            return Err(format!("has {} queues; give it a multiple of {WAYS}", self.queues));
        }
        if self.rtt < Delay::from_us(20) {
            return Err(format!("has a round-trip time of {}; give it at least 20us", self.rtt));
        }
        Ok(())
    }

    /// Returns the constants of COBALT. Where the rate is low, waits of one and a half packets are accepted.
    fn rules(&self) -> Rules {
        let mtu_time = self.rate_bps.map_or(Delay::ZERO, |rate| Delay::serialisation(self.mtu.into(), rate));
        let usual = self.rtt.as_ps() / 20;
        let target = usual.max(mtu_time.as_ps().saturating_mul(3) / 2);
        let interval = self.rtt.as_ps().saturating_add(target - usual).max(target.saturating_mul(2));
        Rules { target: Delay::from_ps(target), interval: Delay::from_ps(interval), mtu_time }
    }

    /// Returns the bytes of a turn of a queue.
    fn quantum(&self) -> u64 {
        self.rate_bps.map_or(QUANTUM_MAX, |rate| ((rate / 8) >> 12).clamp(QUANTUM_MIN, QUANTUM_MAX))
    }

    /// Returns the limit of all queues together in bytes.
    fn memory(&self) -> u64 {
        self.memory.unwrap_or_else(|| match self.rate_bps {
            None => u64::MAX,
            Some(rate) => {
                let product = u128::from(rate) * u128::from(self.rtt.as_ps()) * 4 / (8 * 1_000_000_000_000);
                u64::try_from(product).unwrap_or(u64::MAX).max(MEMORY_MIN)
            }
        })
    }
}

/// The rotation in which a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Turn {
    /// It has become active a moment ago, and is in the list of new queues.
    Sparse,
    /// It was sparse and ran empty, with its quantum used up. It is in the list of old queues.
    Waiting,
    /// It is in the list of old queues, and counts as one of its hosts' busy flows.
    Bulk,
    /// It is empty, and its COBALT comes to rest. The ticket is its place among the decaying queues.
    Decaying(u64),
}

/// The part of a queue's state that is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Account {
    /// The number by which its packets were selected.
    tag: u32,
    /// The hosts of the flow.
    source: u32,
    destination: u32,
    /// The bytes that it may still send in its turn.
    deficit: i64,
    turn: Turn,
}

/// A queue that is in use.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub(crate) struct Flow {
    packets: VecDeque<Held>,
    bytes: u64,
    #[undoable(boxed)]
    account: Account,
    #[undoable(boxed)]
    cobalt: Cobalt,
}

/// The packets and bytes of all queues, and the number of bulk queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Sums {
    packets: u32,
    bytes: u64,
    bulk: u32,
    /// The last ticket that was given to a decaying queue.
    ticket: u64,
}

/// The state of CAKE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub(crate) struct Queues {
    /// The queues in use, by their numbers. They are boxed, as undo records hold them.
    flows: BTreeMap<u32, Box<Flow>>,
    /// The sparse queues.
    new: VecDeque<u32>,
    /// The other queues that are not decaying.
    old: VecDeque<u32>,
    /// The decaying queues, by their tickets.
    decaying: BTreeMap<u64, u32>,
    /// The number of bulk queues of each source and of each destination that has any.
    sources: BTreeMap<u32, u32>,
    destinations: BTreeMap<u32, u32>,
    #[undoable(boxed)]
    sums: Sums,
    #[undoable(boxed)]
    shaper: Shaper,
}

impl Queues {
    pub(super) fn packets(&self) -> impl Iterator<Item = Held> {
        self.flows.values().flat_map(|flow| flow.packets.iter().copied())
    }

    /// Returns the time from which on the shaper lets a packet pass.
    pub(super) fn ready_at(&self, of: &Cake) -> Time {
        if of.rate_bps.is_some() { self.shaper.ready_at() } else { Time::ZERO }
    }

    /// Returns the queue for packets of a tag: that which has them, or a free one of the set, or one that
    /// they share.
    fn select(&self, tag: u32, of: &Cake) -> u32 {
        let hash = tag % of.queues;
        let first = hash - hash % WAYS;
        let ways = || (0..WAYS).map(|way| first + (hash + way) % WAYS);
        let has_tag = |number: &u32| self.flows.get(number).is_some_and(|flow| flow.account.tag == tag);
        ways().find(has_tag).or_else(|| ways().find(|number| !self.flows.contains_key(number))).unwrap_or(hash)
    }

    /// Returns the bytes of a turn of a queue of these hosts.
    fn quantum(&self, of: &Cake, account: &Account) -> i64 {
        let load = |counts: &BTreeMap<u32, u32>, host, counts_so| if counts_so { bulk_of(counts, host) } else { 0 };
        let by_source = load(&self.sources, account.source, of.isolation.is_by_source());
        let by_destination = load(&self.destinations, account.destination, of.isolation.is_by_destination());
        let quantum = of.quantum().div_ceil(u64::from(by_source.max(by_destination).max(1)));
        i64::try_from(quantum).expect("a quantum is below 2 KiB")
    }

    /// Returns the number of the queue with the most bytes, among those with packets. A packet may have no bytes.
    fn longest(&self) -> Option<u32> {
        let busy = self.flows.iter().filter(|(_, flow)| !flow.packets.is_empty());
        let longest = busy.max_by_key(|(number, flow)| (flow.bytes, Reverse(**number)));
        longest.map(|(&number, _)| number)
    }

    /// Returns the queue whose turn it is. The first look of a turn is at a decaying queue.
    fn next(&self, looks_at_decaying: bool) -> Option<u32> {
        let decaying = || self.decaying.first_key_value().map(|(_, &number)| number);
        let others = || self.new.front().or(self.old.front()).copied();
        if looks_at_decaying { decaying().or_else(others) } else { others().or_else(decaying) }
    }
}

/// Returns the number of bulk queues of a host.
fn bulk_of(counts: &BTreeMap<u32, u32>, host: u32) -> u32 {
    counts.get(&host).copied().unwrap_or(0)
}

impl<R: Recorder<QueuesUndo>> QueuesMut<'_, R> {
    /// Adds a packet. Packets that find no room are added to `dropped`.
    pub(super) fn enqueue(&mut self, packet: Held, offered: &Offered, of: &Cake, now: Time, dropped: &mut Dropped) {
        if of.rate_bps.is_some() && self.sums.packets == 0 && self.shaper.is_behind(now) {
            *self.shaper() = Shaper::at(now);
        }
        let tag = of.isolation.tag(offered);
        let number = self.select(tag, of);
        let (source, destination) = (offered.source, offered.destination);
        self.admit(number, Account { tag, source, destination, deficit: 0, turn: Turn::Sparse }, of);
        let mut flows = self.flows();
        let mut flow = flows.at(number);
        flow.packets().push_back(packet);
        *flow.bytes() += u64::from(packet.bytes);
        let sums = self.sums().into_mut();
        sums.packets += 1;
        sums.bytes += u64::from(packet.bytes);
        while self.sums.bytes > of.memory() || !of.limit.allows(self.sums.packets as usize, self.sums.bytes) {
            self.drop_from_longest(of, now, dropped);
        }
    }

    /// Brings a queue into the rotation that a queue with packets has. `account` has the tag and the hosts of
    /// a packet that comes.
    fn admit(&mut self, number: u32, account: Account, of: &Cake) {
        let known = self.flows.get(&number).map(|flow| flow.account);
        if let Some(before) = known.filter(|before| before.tag != account.tag) {
            // A collision: the queue counts for the hosts of its last packet.
            if before.turn == Turn::Bulk {
                self.count_bulk(&before, of, false);
                self.count_bulk(&account, of, true);
            }
            let Account { tag, source, destination, .. } = account;
            *self.flows().at(number).account() = Account { tag, source, destination, ..before };
        }
        match known.map(|before| before.turn) {
            None => {
                let deficit = self.quantum(of, &account);
                let account = Account { deficit, ..account };
                let flow = Flow { packets: VecDeque::new(), bytes: 0, account, cobalt: Cobalt::default() };
                self.flows().insert(number, Box::new(flow));
                self.new().push_back(number);
            }
            Some(Turn::Decaying(ticket)) => {
                self.decaying().remove(ticket);
                let deficit = self.quantum(of, &account);
                *self.flows().at(number).account() = Account { deficit, ..account };
                self.new().push_back(number);
            }
            Some(Turn::Waiting) => self.become_bulk(number, of),
            Some(Turn::Sparse | Turn::Bulk) => {}
        }
    }

    fn become_bulk(&mut self, number: u32, of: &Cake) {
        let account = Account { turn: Turn::Bulk, ..self.flows[&number].account };
        *self.flows().at(number).account() = account;
        self.count_bulk(&account, of, true);
    }

    /// Counts a queue that becomes bulk, or ceases to be.
    fn count_bulk(&mut self, account: &Account, of: &Cake, becomes: bool) {
        let change = |count: u32| if becomes { count + 1 } else { count - 1 };
        if of.isolation.is_by_source() {
            let count = change(bulk_of(&self.sources, account.source));
            set_count(&mut self.sources(), account.source, count);
        }
        if of.isolation.is_by_destination() {
            let count = change(bulk_of(&self.destinations, account.destination));
            set_count(&mut self.destinations(), account.destination, count);
        }
        self.sums().into_mut().bulk = change(self.sums.bulk);
    }

    /// Drops the first packet of the longest queue.
    fn drop_from_longest(&mut self, of: &Cake, now: Time, dropped: &mut Dropped) {
        let number = self.longest().expect("there are packets");
        let packet = self.pop(number).expect("the longest queue has packets");
        self.flows().at(number).cobalt().into_mut().on_overflow(&of.rules(), now);
        if of.is_ingress {
            self.charge(of, packet.bytes, true);
        }
        dropped.push((packet, Loss::Queue));
    }

    /// Takes the first packet out of a queue.
    fn pop(&mut self, number: u32) -> Option<Held> {
        let mut flows = self.flows();
        let mut flow = flows.at(number);
        let packet = flow.packets().pop_front()?;
        *flow.bytes() -= u64::from(packet.bytes);
        let sums = self.sums().into_mut();
        sums.packets -= 1;
        sums.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Charges a packet to the shaper. Returns its bytes on the link below.
    fn charge(&mut self, of: &Cake, bytes: u32, is_dropped: bool) -> i64 {
        let bytes = of.cells.bytes_of(u64::from(bytes) + u64::from(of.overhead), of.mpu.into());
        if let Some(rate) = of.rate_bps {
            let shaper = self.shaper.after(Delay::serialisation(bytes, rate), is_dropped);
            *self.shaper() = shaper;
        }
        i64::try_from(bytes).expect("a packet has fewer than 2^32 bytes")
    }

    /// Charges a packet to a queue and to the shaper.
    fn charge_flow(&mut self, number: u32, of: &Cake, bytes: u32, is_dropped: bool) {
        let bytes = self.charge(of, bytes, is_dropped);
        self.flows().at(number).account().into_mut().deficit -= bytes;
    }

    /// Takes out the next packet, if the shaper lets one pass. Returns it, with true if it must be marked.
    pub(super) fn dequeue(&mut self, of: &Cake, port: &PortView<'_>, dropped: &mut Dropped) -> Option<(Held, bool)> {
        let (now, rules) = (port.now, of.rules());
        let mut looks_at_decaying = true;
        while self.sums.packets > 0 && self.ready_at(of) <= now {
            let number = self.next(looks_at_decaying)?;
            looks_at_decaying = false;
            if self.flows[&number].account.deficit <= 0 {
                self.end_turn(number, of);
                continue;
            }
            let Some(packet) = self.pop(number) else {
                self.leave(number, of, &rules, now);
                continue;
            };
            if let Some(is_marked) = self.judge(number, of, &rules, port, packet) {
                self.charge_flow(number, of, packet.bytes, false);
                return Some((packet, is_marked));
            }
            dropped.push((packet, Loss::Early));
            if of.is_ingress {
                self.charge_flow(number, of, packet.bytes, true);
            }
        }
        None
    }

    /// Asks COBALT about a packet. Returns true if it must be marked; `None` if it is dropped.
    fn judge(&mut self, number: u32, of: &Cake, rules: &Rules, port: &PortView<'_>, packet: Held) -> Option<bool> {
        let shares = if of.is_ingress { self.sums.bulk } else { 0 };
        let waited = port.now.since(packet.since);
        let is_markable = of.marks && packet.is_capable();
        let flow = &self.flows[&number];
        let (is_last, before) = (flow.packets.is_empty(), flow.cobalt);
        let mut cobalt = before;
        let Verdict { drops, marks } = cobalt.judge(rules, port.now, waited, shares, is_markable, port.rng);
        if cobalt != before {
            *self.flows().at(number).cobalt() = cobalt;
        }
        (is_last || !drops).then_some(marks)
    }

    /// Ends the turn of a queue that has used up its quantum. It goes to the end of the old queues, with a
    /// new quantum.
    fn end_turn(&mut self, number: u32, of: &Cake) {
        let flow = &self.flows[&number];
        let (turn, is_empty) = (flow.account.turn, flow.packets.is_empty());
        _ = if turn == Turn::Sparse { self.new().pop_front() } else { self.old().pop_front() };
        match turn {
            Turn::Sparse if is_empty => self.flows().at(number).account().into_mut().turn = Turn::Waiting,
            Turn::Sparse => self.become_bulk(number, of),
            Turn::Waiting | Turn::Bulk => {}
            Turn::Decaying(_) => unreachable!("a decaying queue has sent nothing of its quantum"),
        }
        let quantum = self.quantum(of, &self.flows[&number].account);
        self.flows().at(number).account().into_mut().deficit += quantum;
        self.old().push_back(number);
    }

    /// Takes a queue that is found empty out of its rotation. It decays, or is free again.
    fn leave(&mut self, number: u32, of: &Cake, rules: &Rules, now: Time) {
        let Flow { account, cobalt: before, .. } = *self.flows[&number];
        match account.turn {
            Turn::Sparse => _ = self.new().pop_front(),
            Turn::Waiting | Turn::Bulk => _ = self.old().pop_front(),
            Turn::Decaying(ticket) => _ = self.decaying().remove(ticket),
        }
        if account.turn == Turn::Bulk {
            self.count_bulk(&account, of, false);
        }
        let mut cobalt = before;
        cobalt.on_empty(rules, now);
        if cobalt.is_at_rest(now) {
            self.flows().remove(number);
            return;
        }
        let ticket = self.sums.ticket + 1;
        self.sums().into_mut().ticket = ticket;
        self.decaying().insert(ticket, number);
        let mut flows = self.flows();
        let mut flow = flows.at(number);
        *flow.account() = Account { turn: Turn::Decaying(ticket), ..account };
        if cobalt != before {
            *flow.cobalt() = cobalt;
        }
    }

    /// Takes out all packets, and begins again.
    pub(super) fn clear(&mut self, lose: &mut impl FnMut(Held)) {
        while let Some((_, flow)) = self.flows().pop_first() {
            flow.packets.into_iter().for_each(&mut *lose);
        }
        self.new().clear();
        self.old().clear();
        self.decaying().clear();
        self.sources().clear();
        self.destinations().clear();
        *self.sums() = Sums { ticket: self.sums.ticket, ..Sums::default() };
    }
}

/// Sets the number of bulk queues of a host. Hosts without any are left out.
fn set_count<R: Recorder<MapUndo<u32, u32>>>(counts: &mut Tracked<'_, BTreeMap<u32, u32>, R>, host: u32, count: u32) {
    if count == 0 {
        counts.remove(host);
    } else {
        counts.insert(host, count);
    }
}

#[cfg(test)]
mod tests;
