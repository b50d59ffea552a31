//! The time of a change among access links: one transfer stops, another one starts, and the rates are
//! computed.
//!
//! `cargo run --release -p parades-flow --example cost_of_a_change` prints a row for each number of
//! transfers. Each peer sends to five random peers: of its own swarm of ten, or of all. Down links are twice
//! as fast as up links. *Equal*: all peers have the same links. *Differing*: their speeds are uniform over a
//! factor of four.

#![expect(clippy::print_stdout, reason = "an example prints")]

use parades_core::random::Rng;
use parades_core::time::Time;
use parades_flow::access::{Access, TransferId};
use std::time::Instant;

const SENDS: u32 = 5;
const SWARM: u32 = 10;
const CHANGES: u32 = 2_000;

/// The network of a measurement.
#[derive(Clone, Copy)]
struct Case {
    peers: u32,
    /// Peers send within their own swarm.
    in_swarms: bool,
    /// Peers have links of differing speeds.
    differs: bool,
}

impl Case {
    fn receiver(self, rng: &Rng, from: u32) -> u32 {
        let draw = |count: u32| u32::try_from(rng.below(u64::from(count))).expect("it is below a number of peers");
        if self.in_swarms { from / SWARM * SWARM + draw(SWARM.min(self.peers)) } else { draw(self.peers) }
    }

    /// Returns the microseconds of a change, and the transfers whose end it changes on average.
    #[expect(clippy::disallowed_methods, reason = "an example that measures time")]
    fn measure(self) -> (f64, f64) {
        let rng = Rng::stream(1, 1);
        let speed = || if self.differs { 1e7 * (1.0 + 3.0 * rng.unit()) } else { 1e7 };
        let capacities: Vec<[f64; 2]> = (0..self.peers).map(|_| speed()).map(|up| [up, 2.0 * up]).collect();
        let mut access = Access::new(capacities);
        let senders = (0..self.peers).flat_map(|from| std::iter::repeat_n(from, SENDS as usize));
        let start = |access: &mut Access, from| access.start(Time::ZERO, from, self.receiver(&rng, from), 1e12);
        let mut present: Vec<(u32, TransferId)> = senders.map(|from| (from, start(&mut access, from))).collect();
        access.settle(Time::ZERO);
        let begin = Instant::now();
        let mut changed = 0;
        for change in 0..CHANGES {
            let place = usize::try_from(rng.below(present.len() as u64)).expect("it is a place of the list");
            let (from, id) = present[place];
            let now = Time::from_ms(u64::from(change));
            access.stop(now, id);
            present[place] = (from, access.start(now, from, self.receiver(&rng, from), 1e12));
            changed += access.settle(now);
        }
        let us = begin.elapsed().as_secs_f64() * 1e6;
        (us / f64::from(CHANGES), changed as f64 / f64::from(CHANGES))
    }
}

fn main() {
    println!("transfers   swarms, equal   one, equal   one, differing     (µs a change, ends that it changes)");
    for transfers in [10, 100, 1_000, 10_000, 100_000, 1_000_000] {
        let peers = transfers / SENDS;
        let cases = [(true, false), (false, false), (false, true)];
        let cells = cases.map(|(in_swarms, differs)| Case { peers, in_swarms, differs }.measure());
        let cells = cells.map(|(us, ends)| format!("{us:.1} ({ends:.0})"));
        println!("{transfers:>9} {:>15} {:>12} {:>16}", cells[0], cells[1], cells[2]);
    }
}
