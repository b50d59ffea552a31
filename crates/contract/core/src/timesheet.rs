//! Timesheets: how the workers of a run spend their wall time. No result depends on them.
//!
//! An engine records only activities other than work; the remaining time is work. Times are added up by
//! slices of wall time. A sheet has at most [`SLICES_MAX`] slices. When a run outlasts them, slices become
//! twice as long, so a sheet takes little memory however long the run is.

use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of slices of a sheet.
pub const SLICES_MAX: usize = 1 << 10;

/// The first length of a slice, in nanoseconds.
const NS_AT_FIRST: u64 = 1 << 20;

/// An activity of a worker other than executing events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Waiting for other workers.
    Waiting,
    /// Receiving events from other workers.
    Exchange,
    /// Taking part in GVT, committing older executions, and freeing their history.
    Gvt,
}

/// A slice of a worker's wall time. The time that is not listed was work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Its start in nanoseconds, counted from the start of the run.
    pub begin_ns: u64,
    /// Its length in nanoseconds.
    pub length_ns: u64,
    /// Nanoseconds of waiting.
    pub waiting_ns: u64,
    /// Nanoseconds of receiving events.
    pub exchange_ns: u64,
    /// Nanoseconds of GVT.
    pub gvt_ns: u64,
}

/// The timesheets of the workers of a process, and at the end of a run those of all its processes.
///
/// ```
/// use parades_core::timesheet::{Spent, Timesheets};
/// use std::time::Duration;
/// let sheets = Timesheets::new(2);
/// let ms = Duration::from_millis;
/// sheets.write(1, Spent::Waiting, ms(1)..ms(3));
/// sheets.write(1, Spent::Gvt, ms(3)..ms(4));
/// let slices = sheets.read(1);
/// assert_eq!(slices.iter().map(|slice| slice.length_ns).sum::<u64>(), 4_000_000);
/// assert_eq!(slices.iter().map(|slice| slice.waiting_ns).sum::<u64>(), 2_000_000);
/// assert!(sheets.read(0).is_empty()); // It has recorded nothing.
/// ```
#[derive(Debug, Default)]
pub struct Timesheets {
    workers: Vec<Mutex<Sheet>>,
    begin: OnceLock<Instant>,
    /// The slices of the workers of other ranks, from rank 1. Each rank counts from its own start.
    others: OnceLock<Vec<Vec<Vec<Slice>>>>,
}

/// The timesheet of one worker.
#[derive(Debug)]
struct Sheet {
    length_ns: u64,
    /// Nanoseconds by slice: waiting, exchange, GVT.
    slices: Vec<[u64; 3]>,
    end_ns: u64,
}

impl Default for Sheet {
    fn default() -> Sheet {
        Sheet { length_ns: NS_AT_FIRST, slices: Vec::new(), end_ns: 0 }
    }
}

impl Sheet {
    fn write(&mut self, spent: Spent, from: u64, to: u64) {
        self.end_ns = self.end_ns.max(to);
        while to / self.length_ns >= SLICES_MAX as u64 {
            self.length_ns *= 2;
            self.slices = self
                .slices
                .chunks(2)
                .map(|pair| std::array::from_fn(|what| pair.iter().map(|slice| slice[what]).sum()))
                .collect();
        }
        let mut begin = from;
        while begin < to {
            let index = begin / self.length_ns;
            let end = to.min((index + 1) * self.length_ns);
            let index = usize::try_from(index).expect("below SLICES_MAX");
            if self.slices.len() <= index {
                self.slices.resize(index + 1, [0; 3]);
            }
            self.slices[index][spent as usize] += end - begin;
            begin = end;
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
    /// Makes timesheets for `workers` workers. Records of other workers are dropped.
    pub fn new(workers: usize) -> Timesheets {
        let workers = std::iter::repeat_with(Mutex::default).take(workers).collect();
        Timesheets { workers, ..Timesheets::default() }
    }

    /// Returns the number of workers that have a timesheet.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Returns the start of the run. The first call sets it to `now`.
    pub fn begin(&self, now: Instant) -> Instant {
        *self.begin.get_or_init(|| now)
    }

    /// Records an activity of a worker. `during` is counted from the start of the run.
    pub fn write(&self, worker: usize, spent: Spent, during: std::ops::Range<Duration>) {
        if let Some(sheet) = self.workers.get(worker) {
            lock(sheet).write(spent, ns(during.start), ns(during.end));
        }
    }

    /// Returns the slices of a worker in order, without a gap, from the start of the run to its last record.
    pub fn read(&self, worker: usize) -> Vec<Slice> {
        let Some(sheet) = self.workers.get(worker) else { return Vec::new() };
        let sheet = lock(sheet);
        let slice = |(index, spent): (u64, &[u64; 3])| {
            let begin_ns = index * sheet.length_ns;
            let [waiting_ns, exchange_ns, gvt_ns] = *spent;
            let length_ns = sheet.length_ns.min(sheet.end_ns - begin_ns);
            Slice { begin_ns, length_ns, waiting_ns, exchange_ns, gvt_ns }
        };
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

    #[test]
    fn a_long_run_has_no_more_slices_and_nothing_is_lost() {
        let sheets = Timesheets::new(1);
        let at = |ms: u64| Duration::from_millis(ms);
        let mut waited = 0;
        for spell in 0..10_000_u64 {
            let (begin, length) = (spell * 7, spell % 5);
            sheets.write(0, Spent::Waiting, at(begin)..at(begin + length));
            sheets.write(0, Spent::Gvt, at(begin + length)..at(begin + length + 1));
            waited += length;
        }
        let slices = sheets.read(0);
        assert!((SLICES_MAX / 4..=SLICES_MAX).contains(&slices.len()), "{}", slices.len());
        assert_eq!(slices.iter().map(|slice| slice.waiting_ns).sum::<u64>(), waited * 1_000_000);
        assert_eq!(slices.iter().map(|slice| slice.gvt_ns).sum::<u64>(), 10_000_000_000);
        assert!(slices.iter().all(|slice| slice.waiting_ns + slice.exchange_ns + slice.gvt_ns <= slice.length_ns));
        assert!(slices.windows(2).all(|pair| pair[0].begin_ns + pair[0].length_ns == pair[1].begin_ns));
        sheets.write(7, Spent::Waiting, at(0)..at(1));
        assert!(sheets.read(7).is_empty());
        assert_eq!(sheets.ranks(), [sheets.read_all()]);
    }
}
