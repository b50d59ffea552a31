//! A run split into ranks: threads of one process that share nothing but bytes, each with workers of its own.
//!
//! [`Loopback`] or [`SharedMemory`] connects the ranks. [`Slow`] delays their bytes at random, so the bytes
//! of different ranks arrive in any order.

use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::wire::Room;
use parades_engine::OfRank;
use parades_transport::{Bell, Fabric, LaneShape, Loopback, Lost, SegmentFile, SharedMemory};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls `run` once for each rank, on threads that share nothing but bytes. Rank 0 has `options`; each other
/// rank has the same options without a tracer. Returns the result of rank 0. Its statistics have the number
/// of events that crossed ranks. The delays between ranks and the choice of the fabric are drawn from `seed`.
///
/// # Panics
///
/// Panics if a rank panics, or if the ranks disagree on whether the run failed.
pub fn on_ranks(
    ranks: usize,
    seed: u64,
    options: RunOptions<'_>,
    run: impl Fn(RunOptions<'_>, Box<dyn Fabric>) -> OfRank + Sync,
) -> Result<Outcome, Error> {
    let shared = Shared::of(&options);
    let mut ends = connect(ranks, seed).into_iter().map(|end| Box::new(Slow::new(end, seed)));
    let first = ends.next().expect("there is a rank");
    std::thread::scope(|scope| {
        let run = &run;
        let others: Vec<_> = ends.map(|end| scope.spawn(move || run(shared.options(), end))).collect();
        let OfRank { result, mut crossed } = run(options, first);
        let joined: Vec<_> = others.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        for other in joined {
            let other = other.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            crossed += other.crossed;
            let other = other.result;
            assert_eq!(other.is_err(), result.is_err(), "the ranks disagree: {other:?} but {result:?}");
        }
        let mut outcome = result?.expect("rank 0 has the outcome");
        outcome.engine_stats.push(("crossed", crossed as f64));
        Ok(outcome)
    })
}

/// Lanes that are full most of the time: most byte strings take several frames, and many are larger than a
/// lane.
const TINY: LaneShape = LaneShape { bytes: 512 };

/// Connects the ranks, by shared memory if the seed is even.
fn connect(ranks: usize, seed: u64) -> Vec<Box<dyn Fabric>> {
    if seed % 2 == 1 {
        return Loopback::connect(ranks).into_iter().map(|end| Box::new(end) as Box<dyn Fabric>).collect();
    }
    let segments = SharedMemory::create(ranks, TINY).expect("there is memory");
    let open = |file: &SegmentFile| SegmentFile::of_process(std::process::id(), file.raw_fd()).expect("it is open");
    let join = |rank| SharedMemory::join(rank, segments.iter().map(open).collect()).expect("nobody else joins");
    (0..ranks).map(|rank| Box::new(join(rank)) as Box<dyn Fabric>).collect()
}

/// The options that all ranks share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    until: Time,
    seed: u64,
    tie_seed: Option<u64>,
    /// True for a digest, for notes, for a trace of sends, and for one of observations, in this order.
    flags: [bool; 4],
    captures: &'a [LpId],
    control: Option<&'a Control>,
    memory_limit: Option<u64>,
}

impl<'a> Shared<'a> {
    fn of(options: &RunOptions<'a>) -> Shared<'a> {
        let RunOptions { until, seed, tie_seed, digest, notes, sends, samples, captures, .. } = *options;
        let RunOptions { control, memory_limit, .. } = *options;
        Shared { until, seed, tie_seed, flags: [digest, notes, sends, samples], captures, control, memory_limit }
    }

    fn options(self) -> RunOptions<'a> {
        let Shared { until, seed, tie_seed, flags, captures, control, memory_limit } = self;
        let [digest, notes, sends, samples] = flags;
        let (tracer, timesheets, rounds) = (None, None, None);
        RunOptions {
            until,
            seed,
            tie_seed,
            digest,
            notes,
            sends,
            samples,
            captures,
            tracer,
            timesheets,
            rounds,
            control,
            memory_limit,
            cuts: None,
        }
    }
}

/// The content of each of these locks is consistent whenever the lock is free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fabric whose bytes arrive late now and then.
struct Slow {
    fabric: Box<dyn Fabric>,
    /// By sender: the byte strings that have arrived and are not received yet.
    late: Mutex<Vec<VecDeque<Vec<u8>>>>,
    rng: Mutex<Rng>,
    bell: Mutex<Option<Bell>>,
}

impl Slow {
    fn new(fabric: Box<dyn Fabric>, seed: u64) -> Slow {
        let rank = u32::try_from(fabric.rank()).expect("ranks are few");
        let late = Mutex::new(vec![VecDeque::new(); fabric.ranks()]);
        Slow { fabric, late, rng: Mutex::new(Rng::shared(seed, 100 + rank)), bell: Mutex::default() }
    }
}

impl Fabric for Slow {
    fn rank(&self) -> usize {
        self.fabric.rank()
    }

    fn ranks(&self) -> usize {
        self.fabric.ranks()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.fabric.send(to, bytes);
    }

    fn try_write(&self, to: usize, bytes: usize, write: &mut dyn FnMut(&mut Room<'_>)) -> bool {
        self.fabric.try_write(to, bytes, write)
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        let mut late = lock(&self.late);
        self.fabric.receive(&mut |from, bytes| late[from].push_back(bytes.to_vec()));
        for (from, late) in late.iter_mut().enumerate() {
            while !late.is_empty() && lock(&self.rng).chance(0.8) {
                accept(from, &late.pop_front().expect("it is not empty"));
            }
        }
        let is_held_back = late.iter().any(|late| !late.is_empty());
        drop(late);
        if is_held_back {
            // A worker that finds nothing sleeps until the bell rings.
            let bell = lock(&self.bell).clone();
            bell.inspect(|bell| bell());
        }
    }

    fn set_bell(&self, bell: Bell) {
        *lock(&self.bell) = Some(bell.clone());
        self.fabric.set_bell(bell);
    }

    fn request_bell(&self) {
        self.fabric.request_bell();
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        let late = lock(&self.late);
        self.fabric.lost(rank).filter(|_| late[rank].is_empty())
    }
}
