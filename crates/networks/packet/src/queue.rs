//! Queue disciplines: the packets that may wait while a port transmits, and the order in which they leave.
//!
//! A [`Discipline`] is the constant part, chosen for each link. The state is in each port.
//!
//! # Disciplines that decide on arrival
//!
//! Drop-tail, [`Red`], [`Pie`], [`Threshold`] and [`TokenBucket`] accept, mark or drop a packet when it
//! arrives, and transmit in the order of arrival. So the departure of a packet is known when it arrives.
//! There is one event for each packet and hop. The [`Backlog`] lists the start times of transmissions, and a
//! packet leaves it without an event.
//!
//! # Disciplines that decide on departure
//!
//! [`Codel`], [`FairCodel`], [`Cake`] and [`Priority`] hold packets until the transmitter is free. An event
//! of the port is due when the next transmission *starts*. A send at the end of the transmission would come
//! too late for the lookahead of the link. So a packet that waits needs two events, and one that does not
//! wait needs one.
//! [`Cake`] may also wait for its shaper while the transmitter is free.
//! Packets that are held are not pending events. The report counts them as packets in flight.
//!
//! # Disciplines of other crates
//!
//! Another crate adds a discipline of either kind, without a change of this crate: [`own`].
//!
//! # Waiting packets
//!
//! The packet in transmission does not wait, as in ns-3's drop-tail queue. A packet whose transmission starts
//! at the very time of an arrival does not wait either. The device below a discipline may hold some packets
//! too (`Link::device`), which the discipline does not see: they count as waiting, but no limit, length or
//! sojourn time of the discipline includes them.

mod backlog;
pub(crate) mod bucket;
pub(crate) mod cake;
pub(crate) mod codel;
pub(crate) mod fair;
pub(crate) mod holding;
pub mod own;
pub(crate) mod pie;
pub(crate) mod priority;
pub(crate) mod red;

pub use backlog::{Backlog, BacklogMut, BacklogUndo, Waiting, WaitingTotals};
pub use bucket::TokenBucket;
pub use cake::{Cake, Cells, Isolation, WAYS};
pub use codel::Codel;
pub use fair::FairCodel;
pub use own::{ArrivalQueue, Departure, DepartureQueue, Drops, HeldPacket, OtherDiscipline, PortView};
pub use pie::Pie;
pub use priority::Priority;
pub use red::Red;

use parades_config::{ConfigError, FromValue, Values};
use serde::{Deserialize, Serialize};

/// The limit of a drop-tail queue. A limit of zero lets no packet wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueLimit {
    /// In packets.
    Packets(u32),
    /// In bytes, headers included.
    Bytes(u64),
}

impl FromValue for QueueLimit {
    /// Returns a limit in packets.
    fn from_value(values: &Values, key: &str) -> Result<QueueLimit, ConfigError> {
        u32::from_value(values, key).map(QueueLimit::Packets)
    }
}

impl QueueLimit {
    /// A limit that no queue reaches.
    pub const UNBOUNDED: QueueLimit = QueueLimit::Bytes(u64::MAX);

    /// Returns true if a queue that would hold `packets` and `bytes` is within the limit.
    #[inline]
    #[must_use]
    pub fn allows(self, packets: usize, bytes: u64) -> bool {
        match self {
            QueueLimit::Packets(most) => packets <= most as usize,
            QueueLimit::Bytes(most) => bytes <= most,
        }
    }

    /// Checks the limit of a queue that would be of no use without room for a packet.
    pub(crate) fn check_positive(self) -> Result<(), String> {
        match self {
            QueueLimit::Packets(0) => Err("has a limit of zero packets; give it at least 1".into()),
            QueueLimit::Bytes(0) => Err("has a limit of zero bytes; give it room for at least one packet".into()),
            _ => Ok(()),
        }
    }
}

/// A queue that marks by its length, as DCTCP needs it (RFC 8257, section 3.1): a packet that finds
/// `mark_at` packets or more waiting is marked, if its sender understands marks. The length is that at the
/// moment, not an average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Threshold {
    /// The number of waiting packets from which on packets are marked. At least 1.
    pub mark_at: u32,
    /// The limit of the queue.
    pub limit: QueueLimit,
}

/// A queue discipline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Discipline {
    /// First in, first out. A packet that exceeds the limit is dropped.
    DropTail(QueueLimit),
    /// Random early detection.
    Red(Red),
    /// Drops packets with a probability that follows the queueing delay.
    Pie(Pie),
    /// Marks packets when the queue is long.
    Threshold(Threshold),
    /// Shapes the traffic to a rate.
    TokenBucket(TokenBucket),
    /// Drops packets that have waited too long.
    Codel(Codel),
    /// A queue for each flow, with CoDel in each.
    FairCodel(FairCodel),
    /// A shaper, and queues that share fairly by host and by flow.
    Cake(Cake),
    /// A queue for each class of packets. The highest class goes first.
    Priority(Priority),
    /// A discipline of another crate.
    Other(OtherDiscipline),
}

impl Default for Discipline {
    /// Drop-tail with 100 packets.
    fn default() -> Discipline {
        QueueLimit::Packets(100).into()
    }
}

impl From<QueueLimit> for Discipline {
    fn from(limit: QueueLimit) -> Discipline {
        Discipline::DropTail(limit)
    }
}

impl Discipline {
    /// Returns true if packets are held until the discipline selects one of them.
    #[inline]
    pub(crate) fn decides_on_departure(&self) -> bool {
        match self {
            Discipline::Codel(_) | Discipline::FairCodel(_) | Discipline::Cake(_) | Discipline::Priority(_) => true,
            Discipline::Other(other) => other.decides_on_departure(),
            Discipline::DropTail(_)
            | Discipline::Red(_)
            | Discipline::Pie(_)
            | Discipline::Threshold(_)
            | Discipline::TokenBucket(_) => false,
        }
    }

    /// Returns true if a transmitter may pause between two packets that wait.
    pub(crate) fn shapes(&self) -> bool {
        match self {
            Discipline::TokenBucket(_) => true,
            Discipline::Other(other) => !other.decides_on_departure(),
            _ => false,
        }
    }

    /// Returns true if the discipline may look at the hosts of a packet.
    #[inline]
    pub(crate) fn looks_at_hosts(&self) -> bool {
        matches!(self, Discipline::Cake(_) | Discipline::Other(_))
    }

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// The end of a sentence that begins with the queue's name.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Discipline::DropTail(_) => Ok(()),
            Discipline::Red(red) => red.check(),
            Discipline::Pie(pie) => pie.check(),
            Discipline::Threshold(Threshold { mark_at: 0, .. }) => {
                Err("marks packets from 0 waiting on, which is every packet; give it at least 1".into())
            }
            Discipline::Threshold(threshold) => threshold.limit.check_positive(),
            Discipline::TokenBucket(bucket) => bucket.check(),
            Discipline::Codel(codel) => codel.check(),
            Discipline::FairCodel(fair) => fair.check(),
            Discipline::Cake(cake) => cake.check(),
            Discipline::Priority(priority) => priority.limit.check_positive(),
            Discipline::Other(other) => other.check(),
        }
    }
}

/// Returns a hash of the flow and direction of a packet (the finaliser of MurmurHash3).
pub(crate) fn flow_hash(direction: u32) -> u32 {
    let word = (direction ^ direction >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// A packet, as a discipline sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Its size in bytes, headers included.
    pub bytes: u32,
    /// A hash of its flow and direction.
    pub flow: u32,
    /// The number of the node that sends it.
    pub source: u32,
    /// The number of the node that gets it. Of a packet of a group, a number that names the group.
    pub destination: u32,
    /// Its class, below [`crate::packet::CLASSES`]. The highest one is the most urgent.
    pub class: u8,
    /// True if its sender understands congestion marks (ECN).
    pub is_capable: bool,
}

/// The answer of a discipline that decides on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The packet is accepted.
    Pass,
    /// It is accepted, and marked as one that met congestion.
    Mark,
    /// It is dropped, as the queue is full.
    Full,
    /// It is dropped early, before the queue is full.
    Early,
}

impl Admission {
    /// Marks a packet, if its sender understands marks, or else drops it early.
    pub(crate) fn mark_or_drop(is_markable: bool) -> Admission {
        if is_markable { Admission::Mark } else { Admission::Early }
    }
}
