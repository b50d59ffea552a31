//! Events and the one total order on them.
//!
//! The order is a type: [`EventKey`] derives it, and no field of it depends on an engine, a worker, an address or an insertion
//! count. [`Event`] is ordered by instant, then receiver, then the rest of its key: inside one receiver that is the key's order, and across
//! receivers it is the order in which traces come out and in which the first error of a run is the least one.
//!
//! *Read next*: [`crate::model`], what a handler may do.

use crate::time::{Instant, Time};
use std::cmp::Ordering;
use std::fmt;

/// The name of a logical process: `0..n`, fixed at start-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LpId(pub u32);

impl LpId {
    /// This id as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The id of the LP at `index`.
    ///
    /// # Panics
    ///
    /// Where there can be no such LP: from `2^32 - 1` on.
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

/// Who sent an event: an LP, or the reserved [`Sender::GLOBAL`], which sorts first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sender(u32);

impl Sender {
    /// The sender of what a global event sends.
    pub const GLOBAL: Sender = Sender(0);

    /// The LP `id` as a sender.
    #[inline]
    pub const fn lp(id: LpId) -> Sender {
        Sender(id.0 + 1)
    }

    /// The LP that sent it, unless a global event did.
    pub const fn as_lp(self) -> Option<LpId> {
        match self.0.checked_sub(1) {
            Some(id) => Some(LpId(id)),
            None => None,
        }
    }

    /// One number for each sender, 0 for [`Sender::GLOBAL`], in the order of senders.
    #[inline]
    pub const fn rank(self) -> u32 {
        self.0
    }

    /// The sender of this [`Sender::rank`].
    pub const fn from_rank(rank: u32) -> Sender {
        Sender(rank)
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_lp() {
            Some(id) => write!(f, "{id}"),
            None => f.write_str("GLOBAL"),
        }
    }
}
impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The order in which an LP executes its events; the derived order is the contract.
///
/// `tie` is 0 in ordinary runs. Under a tie seed it is a hash of (tie seed, time, round, receiver, sender), so that simultaneous events of
/// different senders are shuffled, alike on every engine, while one sender's keep their order.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey {
    /// When it is executed.
    pub instant: Instant,
    /// 0, or the shuffle of a tie seed.
    pub tie: u32,
    /// Who sent it.
    pub sender: Sender,
    /// The sender's own count of sends, timer settings and requests for global events.
    pub sequence: u64,
}

impl fmt::Display for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} #{}", self.instant, self.sender, self.sequence)
    }
}

/// One of an LP's timers, by the number that the model gave it. Small numbers: an LP keeps a slot for each up to its largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub u32);

impl TimerId {
    /// The greatest number that a timer may have: a million timers take 64 MB in each LP that has them.
    pub const MAX: TimerId = TimerId((1 << 20) - 1);
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<P> {
    /// A message that an LP, or a global event, sent.
    Message(P),
    /// A timer of the receiver's own is due.
    Timer(TimerId),
}

impl<P> Body<P> {
    /// The body, with its message by reference: what a handler is given.
    #[inline(always)]
    pub fn as_ref(&self) -> Body<&P> {
        match self {
            Body::Message(message) => Body::Message(message),
            Body::Timer(id) => Body::Timer(*id),
        }
    }
}

impl<P: Copy> Body<&P> {
    /// The body, with its message by value.
    #[inline]
    pub fn copied(self) -> Body<P> {
        match self {
            Body::Message(message) => Body::Message(*message),
            Body::Timer(id) => Body::Timer(id),
        }
    }
}

/// An event on its way to its receiver. 32 bytes beside the body.
#[derive(Clone, Debug)]
pub struct Event<P> {
    // The fields of `EventKey`, laid out so that no padding comes between them and the receiver.
    time: Time,
    sequence: u64,
    round: u32,
    tie: u32,
    sender: Sender,
    /// Whose handler executes it.
    pub receiver: LpId,
    /// What it says.
    pub body: Body<P>,
}

impl<P> Event<P> {
    /// The event of this key, for `receiver`.
    #[inline]
    pub fn new(key: EventKey, receiver: LpId, body: Body<P>) -> Event<P> {
        let EventKey { instant: Instant { time, round }, tie, sender, sequence } = key;
        Event { time, sequence, round, tie, sender, receiver, body }
    }

    /// It in two parts, the body by reference: what an LP executes.
    #[inline(always)]
    pub fn parts(&self) -> (Header, Body<&P>) {
        (self.header(), self.body.as_ref())
    }

    /// It in two parts.
    #[inline(always)]
    pub fn into_parts(self) -> (Header, Body<P>) {
        (self.header(), self.body)
    }

    /// All of it but the body.
    #[inline(always)]
    pub fn header(&self) -> Header {
        let Event { time, sequence, round, tie, sender, receiver, .. } = *self;
        Header { time, sequence, round, tie, sender, receiver }
    }

    /// Its place in the order of its receiver.
    #[inline]
    pub fn key(&self) -> EventKey {
        EventKey { instant: self.instant(), tie: self.tie, sender: self.sender, sequence: self.sequence }
    }

    /// When it is executed.
    #[inline]
    pub fn instant(&self) -> Instant {
        Instant { time: self.time, round: self.round }
    }

    /// The time when it is executed.
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// Who sent it.
    #[inline]
    pub fn sender(&self) -> Sender {
        self.sender
    }
}

/// All of an event but its body. Where events wait it lies beside the body, so that its fields are read and written one by one: an event that is
/// copied whole is copied in pieces which its fields lie across, and who then reads such a field waits until both have left the core's store buffer.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    time: Time,
    sequence: u64,
    round: u32,
    tie: u32,
    sender: Sender,
    receiver: LpId,
}

impl Header {
    /// Of the event of this key, for `receiver`.
    #[inline(always)]
    pub fn new(key: EventKey, receiver: LpId) -> Header {
        let EventKey { instant: Instant { time, round }, tie, sender, sequence } = key;
        Header { time, sequence, round, tie, sender, receiver }
    }

    /// The event with this body.
    #[inline(always)]
    pub fn with<P>(self, body: Body<P>) -> Event<P> {
        let Header { time, sequence, round, tie, sender, receiver } = self;
        Event { time, sequence, round, tie, sender, receiver, body }
    }

    /// As [`Event::key`].
    #[inline(always)]
    pub fn key(&self) -> EventKey {
        EventKey { instant: self.instant(), tie: self.tie, sender: self.sender, sequence: self.sequence }
    }

    /// As [`Event::instant`].
    #[inline(always)]
    pub fn instant(&self) -> Instant {
        Instant { time: self.time, round: self.round }
    }

    /// As [`Event::time`].
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// Whose handler executes it.
    #[inline]
    pub fn receiver(&self) -> LpId {
        self.receiver
    }

    /// As [`Event::sender`].
    #[inline]
    pub fn sender(&self) -> Sender {
        self.sender
    }
}

impl Ord for Header {
    /// By instant, then receiver, then the rest of the key. Two different events of one run never compare equal.
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

/// Two 32-bit fields as one number that orders like the pair.
#[inline]
pub fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl<P> Ord for Event<P> {
    /// As [`Header`]s are ordered.
    #[inline]
    fn cmp(&self, other: &Event<P>) -> Ordering {
        self.header().cmp(&other.header())
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
        self.cmp(other) == Ordering::Equal
    }
}
impl<P> Eq for Event<P> {}
