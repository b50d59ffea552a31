//! What the machine itself can do, measured beside the benchmark: latency of memory, streaming, copying, and what a second thread gains.

use crate::sides::{Ran, Side, Spread, timed};
use parades_session::Failure;
use std::hint::black_box;

/// Larger than the caches.
const BYTES: usize = 256 << 20;
const LINE: usize = 64;

/// Nanoseconds of a dependent read of a random cache line, and bytes per second read in order.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) random_ns: Spread,
    pub(crate) stream_bytes_per_s: Spread,
}

pub(crate) fn measure(times: u32) -> Result<Probe, Failure> {
    let lines = BYTES / LINE;
    let words = LINE / size_of::<u64>();
    // Each line holds the next line's number: one cycle through all of them (Sattolo's shuffle).
    let mut memory = vec![0_u64; lines * words];
    let mut order: Vec<u32> = (0..u32::try_from(lines).expect("a few million lines")).collect();
    let mut rng = parades_core::random::Rng::shared(1, 0);
    for last in (1..lines).rev() {
        let other = usize::try_from(rng.below(last as u64)).expect("below a usize");
        order.swap(last, other);
    }
    for pair in order.windows(2) {
        memory[pair[0] as usize * words] = u64::from(pair[1]);
    }
    memory[order[lines - 1] as usize * words] = u64::from(order[0]);
    drop(order);
    let (mut random, mut stream) = (Vec::new(), Vec::new());
    const STEPS: u32 = 2_000_000;
    for _ in 0..times {
        let (_, seconds) = timed(|| {
            let mut line = 0_u64;
            for _ in 0..STEPS {
                line = memory[usize::try_from(line).expect("a line's number") * words];
            }
            Ok(black_box(line))
        })?;
        random.push(seconds * 1e9 / f64::from(STEPS));
        let (_, seconds) = timed(|| Ok(black_box(memory.iter().copied().fold(0, u64::wrapping_add))))?;
        stream.push(BYTES as f64 / seconds);
    }
    Ok(Probe { random_ns: Spread::of(&random), stream_bytes_per_s: Spread::of(&stream) })
}

/// Steps of a loop of arithmetic.
const ARITHMETIC_STEPS: u32 = 1 << 25;

/// A side that does arithmetic and nothing else: on each of `threads` threads, so many chains at once of steps that wait for the one
/// before. One chain leaves most of a core idle; several fill it, which shows where two threads share a core.
pub(crate) fn arithmetic<const CHAINS: usize>(threads: u64) -> Side<'static> {
    Box::new(move || {
        let steps = ARITHMETIC_STEPS / u32::try_from(CHAINS).expect("a few");
        let work = move || {
            let mut chains: [u64; CHAINS] = black_box([1; CHAINS]);
            for _ in 0..steps {
                for x in &mut chains {
                    *x ^= *x << 13;
                    *x ^= *x >> 7;
                    *x ^= *x << 17;
                }
            }
            black_box(chains);
        };
        let ((), seconds) = timed(|| {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(work);
                }
            });
            Ok(())
        })?;
        Ok(Ran { events: threads * u64::from(ARITHMETIC_STEPS), seconds, answer: None })
    })
}

/// A side that copies blocks of so many bytes, rounded up to words, from and to random places in memory of `blocks` of them, or as many as fit
/// the memory of a probe. Its events are copies.
pub(crate) fn copying(block: usize, blocks: u64) -> Side<'static> {
    /// Bytes copied at least, and copies at most.
    const COPIED: usize = 512 << 20;
    const COPIES_MAX: u64 = 1 << 22;
    Box::new(move || {
        let words = block.div_ceil(size_of::<u64>()).max(1);
        let fit = (BYTES / size_of::<u64>() / words) as u64;
        let blocks = blocks.clamp(2, fit.max(2));
        let length = usize::try_from(blocks).expect("they fit the memory") * words;
        // Written, or it would not be there yet.
        let mut memory = vec![1_u64; length];
        let copies = ((COPIED / words / size_of::<u64>()) as u64).clamp(1, COPIES_MAX);
        let mut rng = parades_core::random::Rng::shared(1, 1);
        let ((), seconds) = timed(|| {
            for _ in 0..copies {
                let mut place = || usize::try_from(rng.below(blocks)).expect("below a usize") * words;
                let (from, to) = (place(), place());
                memory.copy_within(from..from + words, to);
            }
            black_box(&memory);
            Ok(())
        })?;
        Ok(Ran { events: copies, seconds, answer: None })
    })
}
