//! PHOLD as a bare loop over `std::collections::BinaryHeap`: the least that anyone would write, and the yardstick of the engines.
//!
//! It draws the same random numbers, so it executes the same events; it keeps no digest, no metrics, no order of ties, and checks nothing.

use parades_core::random::Rng;
use parades_core::time::Delay;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An LP: its random stream, and what PHOLD counts.
struct Lp {
    rng: Rng,
    events: u64,
    delays_ps: u64,
}

/// What PHOLD is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare {
    pub(super) lps: u32,
    pub(super) start_events: u32,
    pub(super) remote: f64,
    pub(super) lookahead: Delay,
    pub(super) mean_delay: Delay,
    pub(super) until_ps: u64,
    pub(super) seed: u64,
}

impl Bare {
    /// Runs it; the number of events executed.
    pub(super) fn run(self) -> u64 {
        let Bare { lps, start_events, remote, lookahead, mean_delay, until_ps, seed } = self;
        let beyond = Delay::from_ps(mean_delay.as_ps() - lookahead.as_ps());
        let draw = |rng: &mut Rng| lookahead.as_ps() + rng.exponential_delay(beyond).as_ps();
        let mut pending = BinaryHeap::new();
        let mut all: Vec<Lp> = (0..lps).map(|id| Lp { rng: Rng::stream(seed, id), events: 0, delays_ps: 0 }).collect();
        for (id, lp) in (0..lps).zip(&mut all) {
            for _ in 0..start_events {
                pending.push(Reverse((draw(&mut lp.rng), id)));
            }
        }
        let mut events = 0;
        while let Some(&Reverse((time, id))) = pending.peek() {
            if time >= until_ps {
                break;
            }
            pending.pop();
            events += 1;
            let Lp { rng, events: count, delays_ps } = &mut all[id as usize];
            *count += 1;
            let delay = draw(rng);
            *delays_ps = delays_ps.wrapping_add(delay);
            #[expect(clippy::cast_possible_truncation, reason = "below `lps`, which is a u32")]
            let receiver = if rng.chance(remote) { rng.below(u64::from(lps)) as u32 } else { id };
            pending.push(Reverse((time + delay, receiver)));
        }
        // What the LPs counted must be computed.
        std::hint::black_box(&all);
        std::hint::black_box(all.iter().map(|lp| lp.events ^ lp.delays_ps).fold(0, u64::wrapping_add));
        events
    }
}
