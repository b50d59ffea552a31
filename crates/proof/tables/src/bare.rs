//! PHOLD as a bare loop over `std::collections::BinaryHeap`: the shortest program that anyone would write,
//! and the yardstick of the engines.
//!
//! The loop draws the same random numbers as the engines, so it executes the same events. It keeps no digest
//! and no metrics, and checks nothing. There are two kinds of entries of the heap. A short one has a time and
//! a receiver, and leaves the order of ties to chance. The other has the full key by which the engines order
//! events.

use crate::sides::{Ran, timed};
use parades_core::random::Rng;
use parades_core::time::Delay;
use parades_session::Failure;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

/// An entry of the heap.
pub(crate) trait Entry: Copy + Ord {
    /// Returns the entry of the event that `sender` sends with the number `sequence`.
    fn new(time_ps: u64, sender: u32, sequence: u64, receiver: u32) -> Self;
    /// Returns the time in picoseconds and the receiver.
    fn arrival(self) -> (u64, u32);
}

/// An entry of time and receiver: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Short {
    time_ps: u64,
    receiver: u32,
}

impl Entry for Short {
    fn new(time_ps: u64, _: u32, _: u64, receiver: u32) -> Short {
        Short { time_ps, receiver }
    }

    fn arrival(self) -> (u64, u32) {
        (self.time_ps, self.receiver)
    }
}

/// An entry with the full key of its event: 24 bytes. The derived `Ord` compares the fields in the order of
/// the key, so ties are ordered as in every engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Keyed {
    time_ps: u64,
    sender: u32,
    sequence: u64,
    receiver: u32,
}

impl Entry for Keyed {
    fn new(time_ps: u64, sender: u32, sequence: u64, receiver: u32) -> Keyed {
        Keyed { time_ps, sender, sequence, receiver }
    }

    fn arrival(self) -> (u64, u32) {
        (self.time_ps, self.receiver)
    }
}

/// A logical process: its random stream, and the counts of PHOLD.
struct Lp {
    rng: Rng,
    events: u64,
    delays_ps: u64,
}

/// The parameters of PHOLD.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bare {
    pub(crate) lps: u32,
    pub(crate) start_events: u32,
    pub(crate) remote: f64,
    pub(crate) lookahead: Delay,
    pub(crate) mean_delay: Delay,
    pub(crate) until_ps: u64,
    pub(crate) seed: u64,
}

impl Bare {
    /// Runs PHOLD. The time is that of the loop alone, without its set-up.
    pub(crate) fn run<E: Entry>(self) -> Result<Ran, Failure> {
        let Bare { lps, start_events, seed, .. } = self;
        let mut pending = BinaryHeap::new();
        let mut all: Vec<Lp> = (0..lps).map(|id| Lp { rng: Rng::stream(seed, id), events: 0, delays_ps: 0 }).collect();
        for (id, lp) in (0..lps).zip(&mut all) {
            for sequence in 0..start_events {
                pending.push(Reverse(E::new(self.draw(&lp.rng), id, sequence.into(), id)));
            }
        }
        let (events, seconds) = timed(|| Ok(self.execute(&mut pending, &mut all)))?;
        // Uses the counts. Otherwise the compiler would not compute them.
        std::hint::black_box(&all);
        std::hint::black_box(all.iter().map(|lp| lp.events ^ lp.delays_ps).fold(0, u64::wrapping_add));
        Ok(Ran { events, seconds, answer: None })
    }

    fn draw(&self, rng: &Rng) -> u64 {
        let beyond = Delay::from_ps(self.mean_delay.as_ps() - self.lookahead.as_ps());
        self.lookahead.as_ps() + rng.exponential_delay(beyond).as_ps()
    }

    /// Executes the events until the end. Returns their number.
    fn execute<E: Entry>(&self, pending: &mut BinaryHeap<Reverse<E>>, all: &mut [Lp]) -> u64 {
        let Bare { lps, start_events, remote, until_ps, .. } = *self;
        let mut events = 0;
        while let Some(&Reverse(first)) = pending.peek() {
            let (time_ps, id) = first.arrival();
            if time_ps >= until_ps {
                break;
            }
            pending.pop();
            events += 1;
            let Lp { rng, events: count, delays_ps } = &mut all[id as usize];
            // A logical process sends once in each event, after its start events.
            let sequence = u64::from(start_events) + *count;
            *count += 1;
            let delay = self.draw(rng);
            *delays_ps = delays_ps.wrapping_add(delay);
            let is_remote = rng.chance(remote);
            #[expect(clippy::cast_possible_truncation, reason = "below `lps`, which is a u32")]
            let other = rng.below(u64::from(lps)) as u32;
            let receiver = select_unpredictable(is_remote, other, id);
            pending.push(Reverse(E::new(time_ps + delay, id, sequence, receiver)));
        }
        events
    }
}
