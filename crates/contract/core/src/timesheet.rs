//! Timesheets: how the workers of a run spend their wall time. No result depends on them.
//!
//! A worker always does one thing ([`Spent`]): from the first event of the run until the making of its
//! results begins. So the times of a worker add up to the run time.
//!
//! Times are added up by slices of wall time. A sheet has at most [`SLICES_MAX`] slices. When a run outlasts
//! them, slices become twice as long, so a sheet takes little memory however long the run is.

use crate::profile::Handlers;
use crate::run::Phase;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of slices of a sheet.
pub const SLICES_MAX: usize = 1 << 10;

/// The first length of a slice, in nanoseconds.
const NS_AT_FIRST: u64 = 1 << 10;

/// A use of a worker's wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Executing events: handlers, the pending set, sends, and rolling back.
    Executing,
    /// Waiting for other workers.
    Waiting,
    /// Receiving events from other workers.
    Exchange,
    /// Taking part in GVT, committing older executions, and freeing their history.
    Gvt,
    /// The work of a cut: global events, saves, collected traces, and reviews of the distribution of work.
    Cut,
    /// Executing a part of an event of another worker, such as a part of a flow problem.
    Helping,
    /// Nothing: the worker has no thread, since the run has not needed it yet, or no longer.
    Away,
}

impl Spent {
    /// All of them, each at its own index.
    pub const ALL: [Spent; 7] =
        [Spent::Executing, Spent::Waiting, Spent::Exchange, Spent::Gvt, Spent::Cut, Spent::Helping, Spent::Away];

    /// Returns the name, as timelines and profiles have it.
    pub const fn name(self) -> &'static str {
        match self {
            Spent::Executing => "executing",
            Spent::Waiting => "waiting",
            Spent::Exchange => "receiving",
            Spent::Gvt => "GVT",
            Spent::Cut => "cut",
            Spent::Helping => "helping",
            Spent::Away => "no thread",
        }
    }
}

/// Nanoseconds by what a worker did, in the order of [`Spent::ALL`].
pub type Times = [u64; Spent::ALL.len()];

/// A slice of a worker's wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Its start in nanoseconds, counted from the time at which the run began to execute events.
    pub begin_ns: u64,
    /// The nanoseconds of each use of the time. They add up to the length of the slice.
    pub times: Times,
}

impl Slice {
    /// Returns the length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.times.iter().sum()
    }
}

/// The timesheets of the workers of a process, and at the end of a run those of all its processes.
///
/// ```
/// use parades_core::run::Phase;
/// use parades_core::timesheet::{Spent, Timesheets};
/// use std::time::{Duration, Instant};
/// let (sheets, begin) = (Timesheets::new(3), Instant::now());
/// let at = |ms| begin + Duration::from_millis(ms);
/// sheets.enter(Phase::Executing, at(0));
/// sheets.turn(1, Spent::Executing, at(1)); // Its thread begins.
/// sheets.turn(1, Spent::Waiting, at(3));
/// sheets.enter(Phase::Concluding, at(10));
/// let sum = |worker, spent: Spent| -> u64 {
///     sheets.read(worker).iter().map(|slice| slice.times[spent as usize]).sum()
/// };
/// let of_1 = [Spent::Away, Spent::Executing, Spent::Waiting].map(|spent| sum(1, spent));
/// assert_eq!(of_1, [1_000_000, 2_000_000, 7_000_000]);
/// assert_eq!(sum(0, Spent::Executing), 10_000_000); // The leader always has a thread.
/// assert!(sheets.read(2).is_empty()); // The run had no use for this worker.
/// ```
#[derive(Debug, Default)]
pub struct Timesheets {
    workers: Vec<Mutex<Sheet>>,
    begin: OnceLock<Instant>,
    end: OnceLock<Instant>,
    handlers: OnceLock<Arc<Handlers>>,
    /// The slices of the workers of other ranks, from rank 1. Each rank counts from its own start.
    others: OnceLock<Vec<Vec<Vec<Slice>>>>,
}

/// The timesheet of one worker.
#[derive(Debug)]
struct Sheet {
    length_ns: u64,
    slices: Vec<Times>,
    /// The use of the time now, since `since_ns`. Everything before is in the slices.
    now: Spent,
    since_ns: u64,
    /// True once the worker has had a thread.
    has_begun: bool,
}

impl Sheet {
    fn new(worker: usize) -> Sheet {
        // The leader's thread is the one that runs the engine.
        let (now, has_begun) = if worker == 0 { (Spent::Executing, true) } else { (Spent::Away, false) };
        Sheet { length_ns: NS_AT_FIRST, slices: Vec::new(), now, since_ns: 0, has_begun }
    }

    /// Turns to something else. Returns what the worker did until then.
    fn turn(&mut self, to: Spent, at_ns: u64) -> Spent {
        self.write_until(at_ns);
        self.has_begun = true;
        std::mem::replace(&mut self.now, to)
    }

    /// Adds the time until `to` to the slices.
    fn write_until(&mut self, to: u64) {
        while to / self.length_ns >= SLICES_MAX as u64 {
            self.length_ns *= 2;
            let sum = |pair: &[Times]| std::array::from_fn(|what| pair.iter().map(|times| times[what]).sum());
            self.slices = self.slices.chunks(2).map(sum).collect();
        }
        while self.since_ns < to {
            let index = self.since_ns / self.length_ns;
            let end = to.min((index + 1) * self.length_ns);
            let index = usize::try_from(index).expect("below SLICES_MAX");
            if self.slices.len() <= index {
                self.slices.resize(index + 1, Times::default());
            }
            self.slices[index][self.now as usize] += end - self.since_ns;
            self.since_ns = end;
        }
    }
}

fn lock(sheet: &Mutex<Sheet>) -> MutexGuard<'_, Sheet> {
    sheet.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)
}

impl Timesheets {
    /// Makes timesheets for `workers` workers, of which worker 0 is the leader. Records of other workers are
    /// dropped.
    pub fn new(workers: usize) -> Timesheets {
        let workers = (0..workers).map(|worker| Mutex::new(Sheet::new(worker))).collect();
        Timesheets { workers, ..Timesheets::default() }
    }

    /// Also measures the handlers of each kind of LP ([`crate::profile`]).
    #[must_use]
    pub fn with_handlers(self) -> Timesheets {
        Timesheets { handlers: OnceLock::from(Arc::default()), ..self }
    }

    /// Returns the times of handlers, if they are measured.
    pub fn handlers(&self) -> Option<&Arc<Handlers>> {
        self.handlers.get()
    }

    /// Returns the number of workers that have a timesheet.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Says that the run enters a phase. The times are those from the first time that events are executed to
    /// the time at which results are made.
    pub fn enter(&self, phase: Phase, now: Instant) {
        if phase == Phase::Executing {
            self.begin.get_or_init(|| now);
            return;
        }
        // While all sheets are locked, no worker records a time, and all later records see the end. A worker
        // may have recorded a time after `now`.
        let sheets: Vec<_> = self.workers.iter().map(lock).collect();
        let last = sheets.iter().map(|sheet| Duration::from_nanos(sheet.since_ns)).max().unwrap_or_default();
        self.end.get_or_init(|| self.begin.get().map_or(now, |&begin| now.max(begin + last)));
    }

    /// Returns the time since the begin of the run, which is not after its end.
    fn at(&self, now: Instant) -> u64 {
        let Some(&begin) = self.begin.get() else { return 0 };
        let now = self.end.get().map_or(now, |&end| now.min(end));
        ns(now.saturating_duration_since(begin))
    }

    /// Says that a worker turns to something else. Returns what it did until then.
    pub fn turn(&self, worker: usize, to: Spent, now: Instant) -> Spent {
        self.workers.get(worker).map_or(to, |sheet| lock(sheet).turn(to, self.at(now)))
    }

    /// Returns the slices of a worker in order, without a gap: from the begin of the run to its end, or to
    /// the last record of a run that has not ended. A worker that has never had a thread has none.
    pub fn read(&self, worker: usize) -> Vec<Slice> {
        let Some(sheet) = self.workers.get(worker) else { return Vec::new() };
        let mut sheet = lock(sheet);
        if !sheet.has_begun {
            return Vec::new();
        }
        if let Some(&end) = self.end.get() {
            let end = self.at(end);
            sheet.write_until(end);
        }
        let slice = |(index, &times): (u64, &Times)| Slice { begin_ns: index * sheet.length_ns, times };
        (0..).zip(&sheet.slices).map(slice).collect()
    }

    /// Returns the slices of all workers of this process, by worker.
    pub fn read_all(&self) -> Vec<Vec<Slice>> {
        (0..self.workers()).map(|worker| self.read(worker)).collect()
    }

    /// Adds the slices of the other ranks, from rank 1, by worker. Only the first call has an effect.
    pub fn add_others(&self, others: Vec<Vec<Vec<Slice>>>) {
        let _ = self.others.set(others);
    }

    /// Returns the slices of all ranks: by rank, by worker.
    pub fn ranks(&self) -> Vec<Vec<Vec<Slice>>> {
        let others = self.others.get().cloned().unwrap_or_default();
        std::iter::once(self.read_all()).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(slices: &[Slice], spent: Spent) -> u64 {
        slices.iter().map(|slice| slice.times[spent as usize]).sum()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a start to count from")]
    fn a_long_run_has_no_more_slices_and_nothing_is_lost() {
        let (sheets, begin) = (Timesheets::new(2), Instant::now());
        let at = |ms: u64| begin + Duration::from_millis(ms);
        sheets.turn(0, Spent::Waiting, at(0)); // before the run begins
        sheets.enter(Phase::Executing, at(0));
        let mut waited = 0;
        for spell in 0..10_000_u64 {
            let (begin, length) = (spell * 7, spell % 5);
            assert_eq!(
                sheets.turn(0, Spent::Waiting, at(begin)),
                if spell == 0 { Spent::Waiting } else { Spent::Executing }
            );
            assert_eq!(sheets.turn(0, Spent::Gvt, at(begin + length)), Spent::Waiting);
            assert_eq!(sheets.turn(0, Spent::Executing, at(begin + length + 1)), Spent::Gvt);
            waited += length;
        }
        sheets.enter(Phase::Executing, at(9)); // a later span
        sheets.enter(Phase::Concluding, at(70_000));
        sheets.turn(0, Spent::Waiting, at(80_000));
        let slices = sheets.read(0);
        assert!((SLICES_MAX / 4..=SLICES_MAX).contains(&slices.len()), "{}", slices.len());
        assert_eq!(sum(&slices, Spent::Waiting), waited * 1_000_000);
        assert_eq!(sum(&slices, Spent::Gvt), 10_000_000_000);
        assert_eq!(slices.iter().map(Slice::length_ns).sum::<u64>(), 70_000_000_000);
        assert!(slices.windows(2).all(|pair| pair[0].begin_ns + pair[0].length_ns() == pair[1].begin_ns));
        assert!(sheets.read(1).is_empty(), "it has had no thread");
        sheets.turn(7, Spent::Waiting, at(0));
        assert!(sheets.read(7).is_empty());
        assert_eq!(sheets.ranks(), [sheets.read_all()]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a start to count from")]
    fn the_end_is_not_before_a_time_that_a_worker_has_recorded() {
        let (sheets, begin) = (Timesheets::new(2), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        sheets.enter(Phase::Executing, at(0));
        sheets.turn(1, Spent::Waiting, at(12));
        sheets.enter(Phase::Concluding, at(10));
        sheets.turn(1, Spent::Executing, at(15));
        let lengths = [0, 1].map(|worker| sheets.read(worker).iter().map(Slice::length_ns).sum::<u64>());
        assert_eq!(lengths, [12_000_000; 2]);
    }
}
