//! The sockets of a node: the state behind the handles of its processes.

mod connection;
mod streams;
mod timers;
mod udp;

pub(crate) use streams::Listener;
pub(crate) use udp::Mailbox;

use crate::address::Address;
use crate::error::Error;
use crate::packet::{Kind, Packet};
use connection::Tcb;
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::Time;
use parades_tcp::settings::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Waker};
use timers::Timers;

/// The first port for sockets that ask for none (RFC 6335, section 6).
const FIRST_FREE: u16 = 49_152;

/// The counts of a node's sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Datagrams that arrived and were dropped: no socket had the port, or its buffer was full.
    pub datagrams_dropped: u64,
    /// Segments that arrived and belonged to no connection. All but resets were answered with a reset.
    pub segments_refused: u64,
    /// SYN segments that were dropped, as too many connections waited to be accepted.
    pub connections_dropped: u64,
}

/// The name of a connection at its node.
pub(crate) type Name = u32;

/// The ends of a connection, as segments name them: the local port, and the address of the other end.
type Ends = (u16, Address);

/// The sockets of a node.
#[derive(Debug)]
pub(crate) struct SocketTable {
    pub(crate) node: LpId,
    pub(crate) nodes: u32,
    /// The settings of connections that are given no others.
    pub(crate) settings: Arc<Settings>,
    pub(crate) counts: Counts,
    rng: Rng,
    /// The port with which the search for a free one begins.
    next_port: u16,
    mailboxes: BTreeMap<u16, Mailbox>,
    listeners: BTreeMap<u16, Listener>,
    tcbs: Vec<Option<Box<Tcb>>>,
    free: Vec<Name>,
    /// The connections that segments may belong to.
    by_ends: BTreeMap<Ends, Name>,
    timers: Timers,
    out: Vec<(LpId, Packet)>,
    /// Connections whose handles were dropped since the daemon last acted.
    dropped: Vec<Name>,
    /// The waker of the process that sends packets and waits for timers.
    daemon: Option<Waker>,
    /// The time at which that process acts without being woken.
    daemon_due: Time,
    /// The wakers of processes that can go on.
    woken: Vec<Waker>,
}

impl SocketTable {
    /// Makes the table of a node. `seed` begins the random stream for ports and sequence numbers.
    pub(crate) fn new(node: LpId, nodes: u32, settings: Settings, seed: u64) -> SocketTable {
        let mut rng = Rng::stream(seed, node.0);
        let next_port = random_port(&mut rng);
        SocketTable {
            node,
            nodes,
            settings: Arc::new(settings),
            counts: Counts::default(),
            rng,
            next_port,
            mailboxes: BTreeMap::new(),
            listeners: BTreeMap::new(),
            tcbs: Vec::new(),
            free: Vec::new(),
            by_ends: BTreeMap::new(),
            timers: Timers::default(),
            out: Vec::new(),
            dropped: Vec::new(),
            daemon: None,
            daemon_due: Time::MAX,
            woken: Vec::new(),
        }
    }

    /// Handles a packet that has arrived.
    pub(crate) fn on_packet(&mut self, now: Time, from: LpId, packet: &Packet) {
        self.counts.received += 1;
        match &packet.0 {
            Kind::Datagram(datagram) => self.on_datagram(from, datagram),
            Kind::Segment { segment, ecn } => self.on_segment(now, from, segment, *ecn),
        }
    }

    /// Closes the connections whose handles were dropped. It comes before everything else that happens at
    /// this time, since a connection without a handle may be freed.
    pub(crate) fn close_dropped(&mut self, now: Time) {
        for name in std::mem::take(&mut self.dropped) {
            self.close_orphan(name, now);
        }
    }

    /// Handles the timers that are due by now.
    pub(crate) fn on_time(&mut self, now: Time) {
        for (name, timer) in self.timers.due(now) {
            self.on_timer(name, timer, now);
        }
    }

    /// Returns the time at which a timer is next due; [`Time::MAX`] without a timer.
    pub(crate) fn due(&self) -> Time {
        self.timers.next()
    }

    /// Takes the packets that leave, in order.
    pub(crate) fn take_out(&mut self) -> Vec<(LpId, Packet)> {
        self.counts.sent += self.out.len() as u64;
        std::mem::take(&mut self.out)
    }

    /// Returns the list of packets, so that its memory is used again.
    pub(crate) fn give_back(&mut self, mut list: Vec<(LpId, Packet)>) {
        if self.out.is_empty() {
            list.clear();
            self.out = list;
        }
    }

    /// Keeps the waker of the daemon, which acts at `due` without being woken.
    pub(crate) fn set_daemon(&mut self, waker: &Waker, due: Time) {
        self.daemon_due = due;
        if self.daemon.as_ref().is_none_or(|known| !known.will_wake(waker)) {
            self.daemon = Some(waker.clone());
        }
    }

    /// Takes the wakers of processes that can go on, and that of the daemon if it has to act.
    pub(crate) fn take_woken(&mut self) -> Vec<Waker> {
        if !self.out.is_empty() || !self.dropped.is_empty() || self.timers.next() != self.daemon_due {
            self.woken.extend(self.daemon.clone());
        }
        std::mem::take(&mut self.woken)
    }

    /// Returns an error if there is no such node.
    pub(crate) fn check_node(&self, address: Address) -> Result<(), Error> {
        if address.node.0 < self.nodes { Ok(()) } else { Err(Error::Unreachable(address.node.0)) }
    }

    /// Returns a port that `is_free`, and begins the next search behind it.
    fn free_port(&mut self, is_free: impl Fn(&SocketTable, u16) -> bool) -> Result<u16, Error> {
        let first = self.next_port;
        loop {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_FREE);
            if is_free(self, port) {
                return Ok(port);
            }
            if self.next_port == first {
                return Err(Error::NoPort);
            }
        }
    }
}

/// Adds the waker of a wait to a list, unless it is there.
fn note_waiter(waiters: &mut Vec<Waker>, context: &Context<'_>) {
    if !waiters.iter().any(|waiter| waiter.will_wake(context.waker())) {
        waiters.push(context.waker().clone());
    }
}

fn random_port(rng: &mut Rng) -> u16 {
    let offset = u16::try_from(rng.below(u64::from(u16::MAX - FIRST_FREE) + 1)).expect("there are 2^14 of them");
    FIRST_FREE + offset
}
