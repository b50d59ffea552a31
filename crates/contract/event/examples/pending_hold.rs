//! The hold model on the pending event sets: pop the earliest event, push one at its time plus a random
//! delay.
//!
//! Prints nanoseconds per hold for `WindowedPending`, for `HeapPending` of the same events, and for a bare
//! binary heap of (time, LP). Also prints the median ratios over several alternations, and the bytes per
//! pending event. Arguments: the populations to measure, names of delays, and `windows` to measure only the
//! first set.
#![expect(clippy::print_stdout, reason = "printing is its purpose")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the wall clock")]

use parades_core::event::{Body, Event, EventKey, LpId, Sender};
use parades_core::pending::{HeapPending, PendingSet, WindowedPending};
use parades_core::time::{Instant, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

/// The mean delay, in picoseconds.
const MEAN_PS: f64 = 1e9;

/// Random delays, from a table of quantiles with linear interpolation. Drawing one costs next to nothing.
struct Delays {
    state: u64,
    quantiles: Vec<u64>,
}

impl Delays {
    fn new(name: &str) -> Delays {
        const STEPS: usize = 1024;
        let exponential = |u: f64| -libm::log(1.0 - u.min(0.99999));
        let quantile = |step: usize| {
            let u = step as f64 / STEPS as f64;
            let mean_1 = match name {
                "exponential" => exponential(u),
                "lookahead" => 0.1 + 0.9 * exponential(u),
                "constant" => 1.0,
                "bimodal" if u < 0.5 => 1e-3 * exponential(2.0 * u),
                "bimodal" => 1e3 * exponential(2.0 * u - 1.0),
                _ => panic!("no delays are called {name}"),
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
            let ps = (mean_1 * MEAN_PS) as u64;
            ps
        };
        Delays { state: 0x9E37_79B9_7F4A_7C15, quantiles: (0..=STEPS).map(quantile).collect() }
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let step = (self.state >> 54) as usize;
        let (low, high) = (self.quantiles[step], self.quantiles[step + 1]);
        low + (((high.max(low) - low) * (self.state & 0xFFFF)) >> 16)
    }
}

/// A set under measurement.
trait Hold {
    fn add(&mut self, time: u64, lp: u32, sequence: u64);
    fn take(&mut self) -> (u64, u32);
    fn bytes(&self) -> usize;
}

fn event(time: u64, lp: u32, sequence: u64) -> Event<()> {
    let instant = Instant::at(Time::from_ps(time));
    let lp = LpId(lp);
    Event::new(EventKey { instant, tie: 0, sender: Sender::lp(lp), sequence }, lp, Body::Message(()))
}

struct Set<S>(S);
impl<S: PendingSet<()>> Hold for Set<S> {
    #[inline]
    fn add(&mut self, time: u64, lp: u32, sequence: u64) {
        self.0.push(event(time, lp, sequence));
    }
    #[inline]
    fn take(&mut self) -> (u64, u32) {
        let event = self.0.pop_before(Time::MAX).expect("the population is constant");
        (event.time().as_ps(), event.receiver().0)
    }
    fn bytes(&self) -> usize {
        self.0.allocated_bytes()
    }
}

struct Bare(BinaryHeap<Reverse<(u64, u32)>>);
impl Hold for Bare {
    #[inline]
    fn add(&mut self, time: u64, lp: u32, _: u64) {
        self.0.push(Reverse((time, lp)));
    }
    #[inline]
    fn take(&mut self) -> (u64, u32) {
        self.0.pop().expect("the population is constant").0
    }
    fn bytes(&self) -> usize {
        self.0.capacity() * 16
    }
}

/// Returns nanoseconds per hold, and the largest number of bytes per event seen at sixteen points of the run.
fn measure(mut set: impl Hold, delays_name: &str, population: u32, holds: u64) -> (f64, f64) {
    let mut delays = Delays::new(delays_name);
    // The first times are exponential, except for bimodal delays.
    let mut first = Delays::new(if delays_name == "bimodal" { "bimodal" } else { "exponential" });
    for lp in 0..population {
        set.add(first.draw(), lp, 0);
    }
    let mut sequence = 0;
    for _ in 0..u64::from(population) * 3 / 2 {
        hold(&mut set, &mut delays, &mut sequence);
    }
    let mut most = set.bytes();
    let mut spent = std::time::Duration::ZERO;
    for _ in 0..16 {
        let begin = std::time::Instant::now();
        for _ in 0..holds / 16 {
            hold(&mut set, &mut delays, &mut sequence);
        }
        spent += begin.elapsed();
        most = most.max(set.bytes());
    }
    (spent.as_nanos() as f64 / holds as f64, most as f64 / f64::from(population))
}

#[inline]
fn hold(set: &mut impl Hold, delays: &mut Delays, sequence: &mut u64) {
    let (time, lp) = set.take();
    *sequence += 1;
    set.add(time + delays.draw(), black_box(lp), *sequence);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut populations: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    if populations.is_empty() {
        populations = vec![1024, 16_384, 262_144, 1_048_576];
    }
    let only_windows = std::env::args().any(|word| word == "windows");
    println!("delays       population  windowed  events  bare ns/hold   vs events  vs bare   bytes/event");
    let all = ["exponential", "lookahead", "constant", "bimodal"];
    let mut named: Vec<&str> = all.into_iter().filter(|&name| std::env::args().any(|word| word == name)).collect();
    if named.is_empty() {
        named.extend(all);
    }
    for delays in named {
        for &population in &populations {
            let holds = u64::from(population).clamp(1 << 19, 1 << 20);
            let mut times = [const { Vec::new() }; 3];
            let mut ratios = [const { Vec::new() }; 2];
            let mut bytes = 0.0;
            for _ in 0..if population > 500_000 { 3 } else { 5 } {
                let (windowed, windowed_bytes) = measure(Set(WindowedPending::default()), delays, population, holds);
                bytes = windowed_bytes;
                times[0].push(windowed);
                if !only_windows {
                    let (heap, _) = measure(Set(HeapPending::default()), delays, population, holds);
                    let (bare, _) = measure(Bare(BinaryHeap::new()), delays, population, holds);
                    times[1].push(heap);
                    times[2].push(bare);
                    ratios[0].push(heap / windowed);
                    ratios[1].push(bare / windowed);
                }
            }
            let [windowed, heap, bare] = times.map(|times| if times.is_empty() { 0.0 } else { median(times) });
            let [events, bare_ratio] = ratios.map(|ratios| if ratios.is_empty() { 0.0 } else { median(ratios) });
            println!(
                "{delays:12} {population:10}  {windowed:8.1}  {heap:6.1}  {bare:6.1}       {events:8.2} {bare_ratio:8.2}      {bytes:8.1}"
            );
        }
    }
}
