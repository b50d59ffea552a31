//! `bench refcounts`: the cost of counting references to data that logical processes share, scheme by scheme.
//!
//! Each scheme is measured in two ways: by clones and drops in a loop, as in tables 3 and 4 of G. Seguin,
//! *Multi-core parallelism for ns-3 simulator*, INRIA 2009, and by a whole run, as in its tables 5 to 8. Here
//! the run is the campus whose servers multicast. All schemes are measured in each pair, in turn.

use super::phold::until;
use crate::record::Figure;
use crate::refcount::buffered::{AtBarrier, Buffered, ByThread, Immediate, LockFree};
use crate::refcount::{
    Aggregate, Atomic, BufferedAtBarrier, BufferedByThread, BufferedImmediate, BufferedLockFree, Compare, Counted,
    DATA_MAX, InObject, InPointer, Locked, Raw,
};
use crate::sides::{Ran, Spread, choice, progress, simulation, timed};
use crate::{Measured, Options};
use parades_core::error::Error;
use parades_core::run::{Outcome, RunOptions};
use parades_core::shared::Shared;
use parades_engine::retreat::Retreats;
use parades_engine::{sequential, window};
use parades_packet::campus::Parameters;
use parades_packet::network::Network as Campus;
use parades_report::drawing::table;
use parades_session::Failure;
use std::hint::black_box;
use std::sync::Barrier;

/// The number of clones, and of drops, of each thread.
const OPERATIONS: u32 = 500_000;
/// The number of clones, and of drops, between two barriers.
const BETWEEN_BARRIERS: u32 = 5_000;

/// Executes a whole run. Returns its digest and its seconds.
type Run = fn() -> Result<(Option<u64>, f64), Failure>;

/// A row of the table.
struct Row {
    name: &'static str,
    /// The published cycles of a clone and a drop, with one and two threads: tables 3 and 4.
    published_cycles: &'static str,
    /// The published seconds of a run, with one and two threads: tables 5 to 8.
    published_s: &'static str,
    /// Sets the size of the scheme's buffers. Does nothing for schemes without buffers.
    prepare: fn(),
    /// False where counts get lost when threads share objects.
    can_be_shared: bool,
    clones: fn(threads: usize, is_shared: bool) -> Result<f64, Failure>,
    /// A whole run on one thread, and on two; `None` if a whole run cannot use the scheme.
    runs: [Option<Run>; 2],
}

impl Row {
    /// Returns the row of a scheme in a loop alone.
    const fn in_a_loop<P: Counted>(name: &'static str, cycles: &'static str, seconds: &'static str) -> Row {
        Row {
            name,
            published_cycles: cycles,
            published_s: seconds,
            prepare: || {},
            can_be_shared: true,
            clones: clones::<P>,
            runs: [None, None],
        }
    }

    /// Returns the row of a scheme in a loop and in whole runs.
    const fn of<P: Counted>(name: &'static str, cycles: &'static str, seconds: &'static str) -> Row {
        Row { runs: [Some(run_alone::<P>), Some(run_shared::<P>)], ..Row::in_a_loop::<P>(name, cycles, seconds) }
    }
}

/// All schemes. The first is the yardstick.
const ROWS: &[Row] = &[
    Row {
        can_be_shared: false,
        runs: [Some(run_alone::<Raw>), None],
        ..Row::in_a_loop::<Raw>("raw", "13 / –", "21.3 / –")
    },
    Row::of::<Locked>("locked", "208 / 1353", "–"),
    Row::of::<Atomic>("atomic addition", "55 / 208", "35.8 / 36.7"),
    Row {
        runs: [Some(|| run_arc("sequential", 1, &[])), Some(|| run_arc("window", 2, &["retreat=false"]))],
        ..Row::in_a_loop::<Shared<Box<[u8]>>>("the same, Arc and malloc", "–", "–")
    },
    Row::of::<Compare>("compare and exchange", "71 / 323", "–"),
    Row::of::<InObject>("by thread, in the object", "44 / 44", "–"),
    Row::of::<InPointer>("by thread, in the pointer", "–", "36.2 / 38.1"),
    applied_at_once(|| Buffered::<Immediate>::set_size(1_000), "buffers of 1,000, applied at once", "28.6 / 30.9"),
    applied_at_once(|| Buffered::<Immediate>::set_size(10_000), "buffers of 10,000, applied at once", "27.4 / 26.6"),
    applied_at_once(|| Buffered::<Immediate>::set_size(100_000), "buffers of 100,000, applied at once", "28.2 / 27.7"),
    by_a_thread(|| Buffered::<ByThread>::set_size(1_000), "buffers of 1,000, by a thread, locked", "54.8 / 50.5"),
    by_a_thread(|| Buffered::<ByThread>::set_size(10_000), "buffers of 10,000, by a thread, locked", "30.8 / 29.6"),
    by_a_thread(|| Buffered::<ByThread>::set_size(100_000), "buffers of 100,000, by a thread, locked", "32.9 / 30.7"),
    Row {
        prepare: || Buffered::<LockFree>::set_size(10_000),
        ..Row::of::<BufferedLockFree>("buffers of 10,000, by a thread, lock-free", "–", "–")
    },
    // The threads of a run meet at barriers of the engine, which the scheme does not see.
    Row {
        prepare: || Buffered::<AtBarrier>::set_size(10_000),
        ..Row::in_a_loop::<BufferedAtBarrier>("buffers of 10,000, first at the barrier", "–", "–")
    },
    Row::of::<Aggregate>("one counter for eight objects", "–", "34.2 / 36.2"),
];

const fn applied_at_once(prepare: fn(), name: &'static str, seconds: &'static str) -> Row {
    Row { prepare, ..Row::of::<BufferedImmediate>(name, "–", seconds) }
}

const fn by_a_thread(prepare: fn(), name: &'static str, seconds: &'static str) -> Row {
    Row { prepare, ..Row::of::<BufferedByThread>(name, "–", seconds) }
}

/// Returns the nanoseconds of a clone and its drop, including the time until their changes of the count are
/// applied. If `is_shared`, all `threads` threads clone and drop one object, else each has an object of its
/// own.
fn clones<P: Counted>(threads: usize, is_shared: bool) -> Result<f64, Failure> {
    let gate = &Barrier::new(threads);
    let shared: Option<P> = is_shared.then(|| P::write(&[7; DATA_MAX]));
    let given: Vec<_> = (0..threads).map(|_| shared.clone()).collect();
    // From here on, this thread counts nothing.
    P::settle();
    let worker = |given: Option<P>| {
        // Each thread has an object of its own, or a reference of its own. A scheme with a count for each
        // thread counts at the thread that made the reference.
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

/// Returns the end of a whole run.
fn end() -> RunOptions<'static> {
    RunOptions::until(until(100))
}

/// Makes the published campus with multicast, its data counted by `P`.
fn campus<P: Counted>() -> Result<Campus<P>, Failure> {
    Parameters::default().multicast::<P>(1).map_err(|error| Failure::simulation(error.to_string()))
}

/// Runs the campus under `sequential`.
fn run_alone<P: Counted>() -> Result<(Option<u64>, f64), Failure> {
    let campus = campus::<P>()?;
    timed_run(|| {
        let outcome = sequential::run(&campus, end());
        P::settle();
        outcome
    })
}

/// Runs the campus under `window` on two threads.
fn run_shared<P: Counted>() -> Result<(Option<u64>, f64), Failure> {
    let campus = campus::<P>()?;
    timed_run(|| {
        let settings = window::Settings { retreats: Retreats::Never, ..window::Settings::of_threads(2) };
        let outcome = window::run(&campus, end(), &settings);
        P::settle();
        outcome
    })
}

/// Runs the campus with data in the standard library's `Arc`, as models have them. The catalog has this very
/// model.
fn run_arc(engine: &str, threads: u64, tune: &[&str]) -> Result<(Option<u64>, f64), Failure> {
    let (campus, choice) = (simulation("campus", &["traffic=multicast"])?, choice(engine, threads, tune)?);
    timed_run(|| campus.run(&choice, end()))
}

fn timed_run(run: impl FnOnce() -> Result<Outcome, Error>) -> Result<(Option<u64>, f64), Failure> {
    let (ran, outcome) = Ran::engine(run)?;
    Ok((outcome.digest, ran.seconds))
}

/// The measurements of a row in each pair; empty where there are none.
#[derive(Default)]
struct Samples {
    alone_ns: Vec<f64>,
    apart_ns: Vec<f64>,
    shared_ns: Vec<f64>,
    /// The ratio of a run's time to that of the yardstick on one thread: with one thread, and with two.
    ratios: [Vec<f64>; 2],
}

impl Samples {
    fn measure_clones(&mut self, row: &Row) -> Result<(), Failure> {
        self.alone_ns.push((row.clones)(1, false)?);
        self.apart_ns.push((row.clones)(2, false)?);
        if row.can_be_shared {
            self.shared_ns.push((row.clones)(2, true)?);
        }
        Ok(())
    }

    /// Runs the scheme and the yardstick; the scheme is first in every other pair.
    fn measure_runs(&mut self, row: &Row, pair: u32) -> Result<(), Failure> {
        let yardstick = ROWS[0].runs[0].expect("the yardstick runs on one thread");
        for (ratios, run) in self.ratios.iter_mut().zip(row.runs) {
            let Some(run) = run else { continue };
            let ((digest, seconds), (expected, yardstick_s)) = if pair.is_multiple_of(2) {
                let ours = run()?;
                (ours, yardstick()?)
            } else {
                let theirs = yardstick()?;
                (run()?, theirs)
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
            (row.prepare)();
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
