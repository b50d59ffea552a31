//! Probes of the machine, measured beside the benchmarks: latency of memory, streaming, copying, and the gain
//! of a second thread.

use crate::sides::{Ran, Side, Spread, timed};
use parades_session::Failure;
use std::hint::black_box;

/// The bytes of a probe's memory: more than the caches hold.
const BYTES: usize = 256 << 20;
const LINE: usize = 64;

/// The nanoseconds of a dependent read of a random cache line, and the bytes that are read in order in a
/// second.
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
    let rng = parades_core::random::Rng::shared(1, 0);
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

/// The steps of a loop of arithmetic: about a tenth of a second.
const ARITHMETIC_STEPS: u32 = 1 << 25;

/// Returns a side that does arithmetic and nothing else. Each of `threads` threads works on `CHAINS` chains,
/// in which each step needs the result of the step before. One chain leaves most of a core idle. Several fill
/// the core, which shows where two threads share a core.
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

/// Returns a side that copies blocks of `block` bytes, rounded up to words, between random places. The memory
/// has `blocks` blocks, but at most the bytes of a probe. Its events are copies.
pub(crate) fn copying(block: usize, blocks: u64) -> Side<'static> {
    /// The least number of bytes to copy: twice the memory of a probe.
    const COPIED: usize = 512 << 20;
    /// The greatest number of copies. With small blocks, more copies would take long.
    const COPIES_MAX: u64 = 1 << 22;
    Box::new(move || {
        let words = block.div_ceil(size_of::<u64>()).max(1);
        let fit = (BYTES / size_of::<u64>() / words) as u64;
        let blocks = blocks.clamp(2, fit.max(2));
        let length = usize::try_from(blocks).expect("they fit the memory") * words;
        // The memory is written here. Otherwise the system would provide it only during the measurement.
        let mut memory = vec![1_u64; length];
        let copies = ((COPIED / words / size_of::<u64>()) as u64).clamp(1, COPIES_MAX);
        let rng = parades_core::random::Rng::shared(1, 1);
        let ((), seconds) = timed(|| {
            for _ in 0..copies {
                let place = || usize::try_from(rng.below(blocks)).expect("below a usize") * words;
                let (from, to) = (place(), place());
                memory.copy_within(from..from + words, to);
            }
            black_box(&memory);
            Ok(())
        })?;
        Ok(Ran { events: copies, seconds, answer: None })
    })
}
