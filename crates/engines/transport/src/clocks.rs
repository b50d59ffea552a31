//! The clocks of channels between partitions: the promises of their senders.

use parades_core::time::{Delay, Time};
use parades_sync::padded::CachePadded;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A channel between two partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// The partition of the senders.
    pub from: u32,
    /// The partition of the receivers, which is another partition.
    pub to: u32,
    /// The least delay of an event on this channel.
    pub lookahead: Delay,
}

/// The place of a channel's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockId {
    /// The partition that receives on the channel.
    pub to: u32,
    /// The number of the channel among the incoming channels of that partition.
    pub number: u32,
}

/// A clock for each channel between two partitions. Once a clock shows time *t*, nothing more is sent on
/// its channel that arrives before *t*. A thread that reads *t* from the clock also sees all events that
/// were sent before the clock was set.
///
/// ```
/// use parades_core::time::{Delay, Time};
/// use parades_transport::{Between, Clocks};
/// let (from, lookahead) = (0, Delay::from_ms(1));
/// let (clocks, ids) = Clocks::new(3, &[Between { from, to: 1, lookahead }, Between { from, to: 2, lookahead }]);
/// clocks.set(ids[1], Time::from_ps(7));
/// assert_eq!((clocks.earliest(1), clocks.earliest(2)), (Time::ZERO, Time::from_ps(7)));
/// assert_eq!(clocks.earliest(0), Time::MAX); // no channel leads to partition 0
/// ```
#[derive(Debug)]
pub struct Clocks {
    /// By receiving partition.
    incoming: Vec<Incoming>,
}

/// The clocks of one receiving partition, on cache lines of their own.
#[derive(Debug, Default)]
struct Incoming {
    lines: Vec<CachePadded<[Clock; PER_LINE]>>,
    len: u32,
}

/// Clocks in one padded block of cache lines.
const PER_LINE: usize = 8;

#[derive(Debug, Default)]
struct Clock {
    time: AtomicU64,
    /// True while a promise is requested and not yet made.
    requested: AtomicBool,
}

impl Incoming {
    fn at(&self, number: u32) -> &Clock {
        &self.lines[number as usize / PER_LINE].0[number as usize % PER_LINE]
    }
}

impl Clocks {
    /// Makes a clock, which shows time zero, for each of `channels`. Returns the place of each clock too.
    pub fn new(partitions: u32, channels: &[Between]) -> (Clocks, Vec<ClockId>) {
        let mut incoming: Vec<Incoming> = (0..partitions).map(|_| Incoming::default()).collect();
        let ids = channels.iter().map(|&Between { to, .. }| {
            let Incoming { lines, len } = &mut incoming[to as usize];
            if *len as usize == PER_LINE * lines.len() {
                lines.push(CachePadded::default());
            }
            *len += 1;
            ClockId { to, number: *len - 1 }
        });
        let ids = ids.collect();
        (Clocks { incoming }, ids)
    }

    /// Sets a clock. Only the sender of the channel may do so, or the leader at a cut.
    pub fn set(&self, id: ClockId, time: Time) {
        // Ordering: Release; pairs with the Acquire in `earliest`, which makes the events sent before
        // visible.
        self.incoming[id.to as usize].at(id.number).time.store(time.as_ps(), Ordering::Release);
    }

    /// Returns the earliest time shown by the clocks of the channels that lead to partition `to`.
    pub fn earliest(&self, to: u32) -> Time {
        let incoming = &self.incoming[to as usize];
        let clocks = incoming.lines.iter().flat_map(|line| &line.0).take(incoming.len as usize);
        // Ordering: Acquire; pairs with the Release in `set`.
        clocks.map(|clock| Time::from_ps(clock.time.load(Ordering::Acquire))).min().unwrap_or(Time::MAX)
    }

    /// Requests a promise on each channel to partition `to` whose clock is at most `time`.
    /// Calls `requested` with the number of each channel on which no promise was requested before.
    pub fn request(&self, to: u32, time: Time, requested: &mut dyn FnMut(u32)) {
        let incoming = &self.incoming[to as usize];
        for number in 0..incoming.len {
            let clock = incoming.at(number);
            // Ordering: Acquire for the time, as in `earliest`, so that the sender clears an older request
            // before this one. Relaxed for the request, which publishes nothing. The notification that
            // follows makes it visible.
            if clock.time.load(Ordering::Acquire) <= time.as_ps() && !clock.requested.swap(true, Ordering::Relaxed) {
                requested(number);
            }
        }
    }

    /// Notes a request that another process has made.
    pub fn note_request(&self, id: ClockId) {
        // Ordering: Relaxed; as in `request`.
        self.incoming[id.to as usize].at(id.number).requested.store(true, Ordering::Relaxed);
    }

    /// Returns true if a promise is requested and not yet made.
    pub fn is_requested(&self, id: ClockId) -> bool {
        // Ordering: Relaxed; as in `request`.
        self.incoming[id.to as usize].at(id.number).requested.load(Ordering::Relaxed)
    }

    /// Clears a request, just before the promise is made.
    pub fn clear_request(&self, id: ClockId) {
        // Ordering: Relaxed. The Release store of the promise comes after this store. So a later request,
        // by a receiver that has read the promise, is not cleared.
        self.incoming[id.to as usize].at(id.number).requested.store(false, Ordering::Relaxed);
    }
}
