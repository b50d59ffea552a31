//! `bench refcounts`: the cost of counting references to data that logical processes share, scheme by scheme.
//!
//! Each scheme is measured in two ways: by clones and drops in a loop, as in tables 3 and 4 of G. Seguin,
//! *Multi-core parallelism for ns-3 simulator*, INRIA 2009, and by a whole run, as in its tables 5 to 8. Here
//! the run is the campus whose servers multicast. All schemes are measured in each pair, in turn.

use crate::record::Figure;
use crate::refcount::{
    Aggregate, Atomic, BufferedAtBarrier, BufferedByThread, BufferedImmediate, BufferedLockFree, Compare, Counted,
    DATA_MAX, InObject, InPointer, Locked, Raw,
};
use crate::sides::{Spread, progress, timed};
use crate::{Measured, Options};
use parades_core::run::RunOptions;
use parades_core::shared::Shared;
use parades_core::time::{Delay, Time};
use parades_engine::retreat::Retreats;
use parades_engine::{sequential, window};
use parades_packet::campus::Parameters;
use parades_report::drawing::table;
use parades_session::Failure;
use std::hint::black_box;
use std::sync::Barrier;

/// The number of clones, and of drops, of each thread.
const OPERATIONS: u32 = 500_000;
/// The number of them between two barriers.
const BETWEEN_BARRIERS: u32 = 5_000;

/// The limits of a scheme.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limits {
    None,
    /// Counts get lost where threads share objects.
    OneThread,
    /// Nothing is applied without barriers.
    NeedsBarriers,
}

/// The digest of a run and its seconds.
type Run = (Option<u64>, f64);

/// A row of the table.
struct Row {
    name: &'static str,
    /// The published cycles of a clone and a drop, with one and two threads: tables 3 and 4.
    published_cycles: &'static str,
    /// The published seconds of a run, with one and two threads: tables 5 to 8.
    published_s: &'static str,
    limits: Limits,
    clones: fn(threads: usize, is_shared: bool) -> Result<f64, Failure>,
    run: fn(threads: usize) -> Result<Run, Failure>,
}

impl Row {
    const fn of<P: Counted>(name: &'static str, published_cycles: &'static str, published_s: &'static str) -> Row {
        Row { name, published_cycles, published_s, limits: Limits::None, clones: clones::<P>, run: run::<P> }
    }

    fn can_be_shared(&self) -> bool {
        self.limits != Limits::OneThread
    }

    /// True if a whole run can use the scheme. The threads of a run have no barriers that the scheme knows.
    fn can_run(&self, threads: usize) -> bool {
        self.limits != Limits::NeedsBarriers && (threads == 1 || self.can_be_shared())
    }
}

/// All schemes. The first is the yardstick.
const ROWS: &[Row] = &[
    Row { limits: Limits::OneThread, ..Row::of::<Raw>("raw", "13 / –", "21.3 / –") },
    Row::of::<Locked>("locked", "208 / 1353", "–"),
    Row::of::<Atomic>("atomic addition", "55 / 208", "35.8 / 36.7"),
    Row::of::<Shared<Box<[u8]>>>("the same, Arc and malloc", "–", "–"),
    Row::of::<Compare>("compare and exchange", "71 / 323", "–"),
    Row::of::<InObject>("by thread, in the object", "44 / 44", "–"),
    Row::of::<InPointer>("by thread, in the pointer", "–", "36.2 / 38.1"),
    Row::of::<BufferedImmediate<1_000>>("buffers of 1,000, applied at once", "–", "28.6 / 30.9"),
    Row::of::<BufferedImmediate<10_000>>("buffers of 10,000, applied at once", "–", "27.4 / 26.6"),
    Row::of::<BufferedImmediate<100_000>>("buffers of 100,000, applied at once", "–", "28.2 / 27.7"),
    Row::of::<BufferedByThread<1_000>>("buffers of 1,000, by a thread, locked", "–", "54.8 / 50.5"),
    Row::of::<BufferedByThread<10_000>>("buffers of 10,000, by a thread, locked", "–", "30.8 / 29.6"),
    Row::of::<BufferedByThread<100_000>>("buffers of 100,000, by a thread, locked", "–", "32.9 / 30.7"),
    Row::of::<BufferedLockFree<10_000>>("buffers of 10,000, by a thread, lock-free", "–", "–"),
    Row {
        limits: Limits::NeedsBarriers,
        ..Row::of::<BufferedAtBarrier<10_000>>("buffers of 10,000, first at the barrier", "–", "–")
    },
    Row::of::<Aggregate>("one counter for eight objects", "–", "34.2 / 36.2"),
];

/// Returns the nanoseconds of a clone and its drop, until all are applied. Each of `threads` threads does
/// nothing else, with one object for all or one for each.
fn clones<P: Counted>(threads: usize, is_shared: bool) -> Result<f64, Failure> {
    let gate = &Barrier::new(threads);
    let shared: Option<P> = is_shared.then(|| P::write(&[7; DATA_MAX]));
    let given: Vec<_> = (0..threads).map(|_| shared.clone()).collect();
    // From here on, this thread counts nothing.
    P::settle();
    let worker = |given: Option<P>| {
        // Each thread has an object of its own, or a reference of its own: schemes by thread count where a
        // reference was made.
        let own = given.clone().unwrap_or_else(|| P::write(&[7; DATA_MAX]));
        gate.wait();
        let taken = timed(|| {
            for _ in 0..OPERATIONS / BETWEEN_BARRIERS {
                for _ in 0..BETWEEN_BARRIERS {
                    drop(black_box(own.clone()));
                }
                P::at_barrier();
            }
            P::settle();
            Ok(())
        });
        drop(own);
        P::settle();
        // The reference that was given is dropped by the thread that made it.
        taken.map(|((), seconds)| (seconds, given))
    };
    let slowest = std::thread::scope(|scope| {
        let workers: Vec<_> = given.into_iter().map(|given| scope.spawn(|| worker(given))).collect();
        workers.into_iter().try_fold(0.0_f64, |slowest, thread| {
            let (seconds, _) = thread.join().expect("a loop of clones does not panic")?;
            Ok::<_, Failure>(slowest.max(seconds))
        })
    });
    drop(shared);
    P::settle();
    Ok(slowest? * 1e9 / f64::from(OPERATIONS))
}

/// Runs the published campus with multicast, its data counted by `P`: under `sequential`, or on several
/// threads under `window`.
fn run<P: Counted>(threads: usize) -> Result<Run, Failure> {
    let campus = Parameters::default().multicast::<P>(1);
    let campus = campus.map_err(|error| Failure::simulation(error.to_string()))?;
    let until = Time::ZERO.checked_add(Delay::from_secs(100)).expect("a short time");
    timed(|| {
        let options = RunOptions::until(until);
        let outcome = match threads {
            1 => sequential::run(&campus, options),
            _ => {
                let settings = window::Settings { retreats: Retreats::Never, ..window::Settings::of_threads(threads) };
                window::run(&campus, options, &settings)
            }
        };
        P::settle();
        outcome.map(|outcome| outcome.digest).map_err(|error| Failure::simulation(error.to_string()))
    })
}

/// The measurements of a row in each pair; empty where there are none.
#[derive(Default)]
struct Samples {
    alone_ns: Vec<f64>,
    apart_ns: Vec<f64>,
    shared_ns: Vec<f64>,
    /// The time of a run over that of the yardstick on one thread, with one thread and with two.
    ratios: [Vec<f64>; 2],
}

impl Samples {
    fn measure_clones(&mut self, row: &Row) -> Result<(), Failure> {
        self.alone_ns.push((row.clones)(1, false)?);
        self.apart_ns.push((row.clones)(2, false)?);
        if row.can_be_shared() {
            self.shared_ns.push((row.clones)(2, true)?);
        }
        Ok(())
    }

    /// Runs the scheme and the yardstick; the scheme is first in every other pair.
    fn measure_runs(&mut self, row: &Row, pair: u32) -> Result<(), Failure> {
        for (ratios, threads) in self.ratios.iter_mut().zip(1..) {
            if !row.can_run(threads) {
                continue;
            }
            let ((digest, seconds), (expected, yardstick_s)) = if pair.is_multiple_of(2) {
                let run = (row.run)(threads)?;
                (run, (ROWS[0].run)(1)?)
            } else {
                let yardstick = (ROWS[0].run)(1)?;
                ((row.run)(threads)?, yardstick)
            };
            if digest != expected {
                return Err(Failure::simulation(format!("the run counted by `{}` has another digest", row.name)));
            }
            ratios.push(seconds / yardstick_s);
        }
        Ok(())
    }
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let mut samples: Vec<Samples> = ROWS.iter().map(|_| Samples::default()).collect();
    let progress = progress(pairs, "schemes of counting references");
    for pair in 0..pairs {
        progress.inc(1);
        for (row, samples) in ROWS.iter().zip(&mut samples) {
            samples.measure_clones(row)?;
            samples.measure_runs(row, pair)?;
        }
    }
    progress.finish_and_clear();
    Ok(draw(&samples))
}

fn draw(samples: &[Samples]) -> Measured {
    let mut drawn = table(&[
        "scheme",
        "published\ncycles",
        "published\nseconds",
        "ns\n1 thread",
        "ns, 2 threads,\neach its object",
        "ns, 2 threads,\none object",
        "run, over raw\nsequential",
        "run on 2 threads,\nover raw sequential",
    ]);
    let mut figures = Vec::new();
    for (row, Samples { alone_ns, apart_ns, shared_ns, ratios }) in ROWS.iter().zip(samples) {
        let mut cells = vec![row.name.to_owned(), row.published_cycles.into(), row.published_s.into()];
        let mut add = |values: &[f64], digits, what: String| {
            if values.is_empty() {
                return cells.push("–".into());
            }
            let spread = Spread::of(values);
            cells.push(spread.show(digits));
            figures.push(Figure { name: format!("{}, {what}", row.name), spread });
        };
        add(alone_ns, 1, "ns with 1 thread".into());
        add(apart_ns, 1, "ns with 2 threads apart".into());
        add(shared_ns, 1, "ns with 2 threads and one object".into());
        for (ratios, engine) in ratios.iter().zip(["sequential", "window on 2 threads"]) {
            add(ratios, 2, format!("run under {engine} over raw under sequential"));
        }
        drawn.add_row(cells);
    }
    let text = format!(
        "a clone and a drop of a reference, in a loop; and the campus of 2 networks whose servers multicast, digest on\n{drawn}\n\
         published, with 1 / 2 threads: cycles of the loop on one object, and seconds of a run; – where there is no figure, or the scheme\n\
         cannot be used\n"
    );
    Measured { text, figures }
}
