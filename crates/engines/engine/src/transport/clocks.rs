//! The clocks of channels between partitions: what their senders have promised.

use super::Apart;
use crate::partition::Between;
use parades_core::time::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where the clock of a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockId {
    /// The partition that receives on the channel.
    pub to: u32,
    /// Its number among the channels of that partition.
    pub number: u32,
}

/// A clock for each channel between two partitions. Nothing arrives on a channel before the time on its clock, but what was sent before the clock was set to
/// it, and whoever sees that time also sees what was sent.
///
/// ```
/// use parades_core::time::{Delay, Time};
/// use parades_engine::partition::Between;
/// use parades_engine::transport::Clocks;
/// let (from, lookahead) = (0, Delay::from_ms(1));
/// let (clocks, ids) = Clocks::new(3, &[Between { from, to: 1, lookahead }, Between { from, to: 2, lookahead }]);
/// clocks.set(ids[1], Time::from_ps(7));
/// assert_eq!((clocks.least(1), clocks.least(2)), (Time::ZERO, Time::from_ps(7)));
/// assert_eq!(clocks.least(0), Time::MAX); // where nothing can arrive
/// ```
#[derive(Debug)]
pub struct Clocks {
    /// By receiving partition.
    incoming: Vec<Incoming>,
}

/// The clocks of one receiving partition, on cache lines that no other's are on.
#[derive(Debug, Default)]
struct Incoming {
    lines: Vec<Apart<[Clock; PER_LINE]>>,
    len: u32,
}

const PER_LINE: usize = 8;

#[derive(Debug, Default)]
struct Clock {
    time: AtomicU64,
    asked: AtomicBool,
}

impl Incoming {
    fn at(&self, number: u32) -> &Clock {
        &self.lines[number as usize / PER_LINE].0[number as usize % PER_LINE]
    }
}

impl Clocks {
    /// Clocks at the beginning of time for the channels between `partitions`, and where each channel's is.
    pub fn new(partitions: u32, channels: &[Between]) -> (Clocks, Vec<ClockId>) {
        let mut incoming: Vec<Incoming> = (0..partitions).map(|_| Incoming::default()).collect();
        let ids = channels.iter().map(|&Between { to, .. }| {
            let Incoming { lines, len } = &mut incoming[to as usize];
            if *len as usize == PER_LINE * lines.len() {
                lines.push(Apart::default());
            }
            *len += 1;
            ClockId { to, number: *len - 1 }
        });
        let ids = ids.collect();
        (Clocks { incoming }, ids)
    }

    /// Sets a clock. Only the sender of the channel does, and all while they rest.
    pub fn set(&self, id: ClockId, time: Time) {
        // Ordering: Release; pairs with the Acquire in `least`: who sees the time sees what was sent before.
        self.incoming[id.to as usize].at(id.number).time.store(time.as_ps(), Ordering::Release);
    }

    /// The least clock of those whose channels lead to a partition.
    pub fn least(&self, to: u32) -> Time {
        let incoming = &self.incoming[to as usize];
        let clocks = incoming.lines.iter().flat_map(|line| &line.0).take(incoming.len as usize);
        // Ordering: Acquire; pairs with the Release in `set`.
        clocks.map(|clock| Time::from_ps(clock.time.load(Ordering::Acquire))).min().unwrap_or(Time::MAX)
    }

    /// Asks for a promise wherever the clock is at most `time`, and gives the numbers of the channels to `asked` that were not asked before.
    pub fn ask(&self, to: u32, time: Time, asked: &mut dyn FnMut(u32)) {
        let incoming = &self.incoming[to as usize];
        for number in 0..incoming.len {
            let clock = incoming.at(number);
            // Ordering: Acquire for the time, as in `least`, so that the sender's withdrawal of an older wish comes before this one. Relaxed for the
            // wish itself, which publishes nothing; the notification that follows makes it visible.
            if clock.time.load(Ordering::Acquire) <= time.as_ps() && !clock.asked.swap(true, Ordering::Relaxed) {
                asked(number);
            }
        }
    }

    /// Whether a promise was asked for and not yet made.
    pub fn is_asked(&self, id: ClockId) -> bool {
        // Ordering: Relaxed; as in `ask`.
        self.incoming[id.to as usize].at(id.number).asked.load(Ordering::Relaxed)
    }

    /// The promise asked for is about to be made.
    pub fn answers(&self, id: ClockId) {
        // Ordering: Relaxed; the Release of the promise that follows comes after it, so who asks for more than that is not overlooked.
        self.incoming[id.to as usize].at(id.number).asked.store(false, Ordering::Relaxed);
    }
}
