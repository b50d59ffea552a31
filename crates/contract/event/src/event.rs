//! Events and their total order.
//!
//! The order of an LP's events is a type, [`EventKey`]. None of its fields depends on the engine, the worker,
//! an address or an insertion count.
//!
//! [`Event`] is ordered by instant, then receiver, then the remaining fields of its key. For one receiver
//! this is the order of the key. Across receivers it is the order of traces, and it defines the first error
//! of a run.
//!
//! *Read next*: [`crate::pending`], the sets in which events wait.

mod plain;

use crate::time::{Instant, Time};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// The id of a logical process: `0..n`, fixed at start-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LpId(pub u32);

impl LpId {
    /// Returns the id as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the id of the LP at `index`.
    ///
    /// # Panics
    ///
    /// If `index` is `2^32 - 1` or more.
    #[inline]
    pub fn from_index(index: usize) -> LpId {
        LpId(u32::try_from(index).ok().filter(|&id| id < u32::MAX).expect("an LP's id is below 2^32 - 1"))
    }
}

impl fmt::Display for LpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LP {}", self.0)
    }
}

/// The sender of an event: an LP, or one of two reserved senders. [`Sender::GLOBAL`] sorts before all LPs,
/// [`Sender::OUTSIDE`] after them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sender(u32);

impl Sender {
    /// The sender of the events that a global event sends.
    pub const GLOBAL: Sender = Sender(0);
    /// The sender of events that enter a run from outside, at a cut. No LP has this place, since a model has
    /// at most 2^32 - 2 of them.
    pub const OUTSIDE: Sender = Sender(u32::MAX);

    /// Returns the LP `id` as a sender.
    #[inline]
    pub const fn lp(id: LpId) -> Sender {
        Sender(id.0 + 1)
    }

    /// Returns the LP, or `None` for the reserved senders.
    pub const fn as_lp(self) -> Option<LpId> {
        match self {
            Sender::GLOBAL | Sender::OUTSIDE => None,
            Sender(rank) => Some(LpId(rank - 1)),
        }
    }

    /// Returns the position of the sender in the order of senders: 0 for [`Sender::GLOBAL`], the id plus one
    /// for an LP, 2^32 - 1 for [`Sender::OUTSIDE`].
    #[inline]
    pub const fn rank(self) -> u32 {
        self.0
    }

    /// Returns the sender of this [`Sender::rank`].
    pub const fn from_rank(rank: u32) -> Sender {
        Sender(rank)
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_lp() {
            Some(id) => write!(f, "{id}"),
            None if *self == Sender::OUTSIDE => f.write_str("OUTSIDE"),
            None => f.write_str("GLOBAL"),
        }
    }
}
impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The position of an event in the order of its receiver. The derived order is the contract.
///
/// `tie` is 0 in ordinary runs. Under a tie seed it is a hash of (tie seed, time, round, receiver, sender).
/// Then simultaneous events of different senders are shuffled, in the same way on every engine, and the
/// events of one sender keep their order.
///
/// ```
/// use parades_core::{event::{EventKey, LpId, Sender}, time::{Instant, Time}};
/// let key = |time, round, lp, sequence| EventKey {
///     instant: Instant { time: Time::from_ps(time), round }, tie: 0, sender: Sender::lp(LpId(lp)), sequence,
/// };
/// assert!(key(1, 7, 9, 9) < key(2, 0, 0, 0)); // time first,
/// assert!(key(2, 0, 9, 9) < key(2, 1, 0, 0)); // then the round,
/// assert!(key(2, 1, 3, 9) < key(2, 1, 4, 0)); // then the sender,
/// assert!(key(2, 1, 4, 0) < key(2, 1, 4, 1)); // then the sender's own count.
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventKey {
    /// The instant at which the event is executed.
    pub instant: Instant,
    /// 0, or a hash under a tie seed.
    pub tie: u32,
    /// The sender.
    pub sender: Sender,
    /// The sender's own count of sends, timer settings and requests for global events.
    pub sequence: u64,
}

impl fmt::Display for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} #{}", self.instant, self.sender, self.sequence)
    }
}

/// A timer of an LP, by the number that the model gave it. Use small numbers: an LP has a slot for each
/// number up to its largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimerId(pub u32);

impl TimerId {
    /// The largest number of a timer. A million timers take 64 MB in each LP that has them.
    pub const MAX: TimerId = TimerId((1 << 20) - 1);
}

/// The content of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body<P> {
    /// A message from an LP or a global event.
    Message(P),
    /// A timer of the receiver is due.
    Timer(TimerId),
}

impl<P> Body<P> {
    /// Returns the body with the message by reference, as a handler gets it.
    #[inline(always)]
    pub fn as_ref(&self) -> Body<&P> {
        match self {
            Body::Message(message) => Body::Message(message),
            Body::Timer(id) => Body::Timer(*id),
        }
    }

    /// Returns the body with what `change` makes of the message.
    #[inline(always)]
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Body<Q> {
        match self {
            Body::Message(message) => Body::Message(change(message)),
            Body::Timer(id) => Body::Timer(id),
        }
    }
}

impl<P: Copy> Body<&P> {
    /// Returns the body with the message by value.
    #[inline]
    pub fn copied(self) -> Body<P> {
        self.map(|message| *message)
    }
}

/// Everything of an event except the body.
///
/// Pending sets store header and body side by side, and read and write the header field by field. The
/// compiler would copy a whole event in pieces that cross the borders of fields. A field that is read just
/// after such a copy would wait until the pieces have left the core's store buffer.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    // The fields of `EventKey`, in an order that leaves no padding between them and the receiver.
    time: Time,
    sequence: u64,
    round: u32,
    tie: u32,
    sender: Sender,
    receiver: LpId,
}

impl Header {
    /// Makes the header of an event.
    #[inline(always)]
    pub fn new(key: EventKey, receiver: LpId) -> Header {
        let EventKey { instant: Instant { time, round }, tie, sender, sequence } = key;
        Header { time, sequence, round, tie, sender, receiver }
    }

    /// Makes the event with this body.
    #[inline(always)]
    pub fn with<P>(self, body: Body<P>) -> Event<P> {
        Event { header: self, body }
    }

    /// Returns the event's position in the order of its receiver.
    #[inline(always)]
    pub fn key(&self) -> EventKey {
        EventKey { instant: self.instant(), tie: self.tie, sender: self.sender, sequence: self.sequence }
    }

    /// Returns the instant at which the event is executed.
    #[inline(always)]
    pub fn instant(&self) -> Instant {
        Instant { time: self.time, round: self.round }
    }

    /// Returns the time at which the event is executed.
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// Returns the LP whose handler executes the event.
    #[inline]
    pub fn receiver(&self) -> LpId {
        self.receiver
    }

    /// Returns the sender.
    #[inline]
    pub fn sender(&self) -> Sender {
        self.sender
    }
}

impl Ord for Header {
    /// Compares by instant, then receiver, then the remaining fields of the key. Two different events of one
    /// run are never equal.
    #[inline]
    fn cmp(&self, other: &Header) -> Ordering {
        self.time.cmp(&other.time).then_with(|| {
            pair(self.round, self.receiver.0)
                .cmp(&pair(other.round, other.receiver.0))
                .then_with(|| pair(self.tie, self.sender.0).cmp(&pair(other.tie, other.sender.0)))
                .then_with(|| self.sequence.cmp(&other.sequence))
        })
    }
}
impl PartialOrd for Header {
    #[inline]
    fn partial_cmp(&self, other: &Header) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Header {
    #[inline]
    fn eq(&self, other: &Header) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Header {}

/// An event: a header of 32 bytes, and the body.
///
/// Events are ordered by their headers. The body does not count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event<P> {
    header: Header,
    /// The content.
    pub body: Body<P>,
}

impl<P> Event<P> {
    /// Makes an event.
    #[inline]
    pub fn new(key: EventKey, receiver: LpId, body: Body<P>) -> Event<P> {
        Header::new(key, receiver).with(body)
    }

    /// Returns the header, and the body by reference: the form in which an LP executes an event.
    #[inline(always)]
    pub fn parts(&self) -> (Header, Body<&P>) {
        (self.header, self.body.as_ref())
    }

    /// Returns the header and the body.
    ///
    /// A function that passes an event on in several branches first takes it apart. Each branch then builds
    /// the event at its final place, and the compiler keeps no copy on the stack.
    #[inline(always)]
    pub fn into_parts(self) -> (Header, Body<P>) {
        (self.header, self.body)
    }

    /// Returns everything except the body.
    #[inline(always)]
    pub fn header(&self) -> Header {
        self.header
    }

    /// Returns everything except the body, where it lies in memory.
    #[inline(always)]
    pub fn header_ref(&self) -> &Header {
        &self.header
    }

    /// See [`Header::key`].
    #[inline]
    pub fn key(&self) -> EventKey {
        self.header.key()
    }

    /// See [`Header::instant`].
    #[inline]
    pub fn instant(&self) -> Instant {
        self.header.instant()
    }

    /// See [`Header::time`].
    #[inline]
    pub fn time(&self) -> Time {
        self.header.time
    }

    /// See [`Header::receiver`].
    #[inline]
    pub fn receiver(&self) -> LpId {
        self.header.receiver
    }

    /// See [`Header::sender`].
    #[inline]
    pub fn sender(&self) -> Sender {
        self.header.sender
    }
}

/// Combines two 32-bit fields into one number that orders like the pair.
#[inline]
pub fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl<P> Ord for Event<P> {
    #[inline]
    fn cmp(&self, other: &Event<P>) -> Ordering {
        self.header.cmp(&other.header)
    }
}
impl<P> PartialOrd for Event<P> {
    #[inline]
    fn partial_cmp(&self, other: &Event<P>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> PartialEq for Event<P> {
    #[inline]
    fn eq(&self, other: &Event<P>) -> bool {
        self.header == other.header
    }
}
impl<P> Eq for Event<P> {}
