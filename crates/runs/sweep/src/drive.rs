//! Executes a sweep from its first run to its last: keeps the workers busy, and writes outcomes to the
//! journal.
//!
//! *Read next*: [`crate::results`].

use crate::journal::{Journal, Record};
use crate::outcome::{Outcome, Run};
use crate::pool::{Answer, Pool};
use crate::schedule::Schedule;
use std::io;
use std::time::Duration;

/// The period at which the sweep checks whether it should stop.
const CHECK_PERIOD: Duration = Duration::from_millis(100);

/// The callbacks of a sweep.
pub struct Drive<'a> {
    /// Returns the request of a run: the line for a worker.
    pub request: &'a dyn Fn(&Schedule, Run) -> String,
    /// Returns the journal's record of a finished run.
    pub record: &'a dyn Fn(&Schedule, Run, &Outcome) -> Record,
    /// Reports progress. It is called at least every `CHECK_PERIOD`.
    pub progress: &'a mut dyn FnMut(&Schedule),
    /// Returns true if the sweep should stop.
    pub stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Drive<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Drive").finish_non_exhaustive()
    }
}

/// The end of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All runs have finished.
    Finished,
    /// The sweep was asked to stop. Active runs are lost.
    Stopped,
}

/// Executes the runs of `schedule` that have not finished. Then it closes the journal, which has all finished
/// runs.
///
/// # Errors
///
/// If the journal cannot be written. The runs that it contains remain valid.
pub fn drive(
    schedule: &mut Schedule,
    pool: &Pool,
    mut journal: Option<&mut Journal>,
    how: &mut Drive<'_>,
) -> io::Result<End> {
    let end = execute(schedule, pool, journal.as_deref_mut(), how)?;
    journal.map_or(Ok(()), Journal::finish)?;
    Ok(end)
}

/// Executes the runs until all have finished or the sweep is stopped.
fn execute(
    schedule: &mut Schedule,
    pool: &Pool,
    mut journal: Option<&mut Journal>,
    how: &mut Drive<'_>,
) -> io::Result<End> {
    let mut active: Vec<Option<Run>> = vec![None; pool.workers()];
    loop {
        (how.progress)(schedule);
        if (how.stopped)() {
            return Ok(End::Stopped);
        }
        for (worker, slot) in active.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
            *slot = schedule.begin();
            if let Some(run) = *slot {
                pool.ask(worker, (how.request)(schedule, run));
            }
        }
        if active.iter().all(Option::is_none) {
            return Ok(End::Finished);
        }
        let Some(first) = pool.answer(CHECK_PERIOD) else { continue };
        for Answer { worker, reply } in std::iter::once(first).chain(std::iter::from_fn(|| pool.try_answer())) {
            let run = active[worker].take().expect("a worker answers only requests");
            let outcome = reply.map_or_else(|end| Outcome::failed(end, true), |line| Outcome::read(&line));
            if let (Some(journal), true) = (&mut journal, outcome.is_final()) {
                journal.append((how.record)(schedule, run, &outcome))?;
            }
            schedule.finish(run, outcome);
            active[worker] = schedule.begin();
            if let Some(run) = active[worker] {
                pool.ask(worker, (how.request)(schedule, run));
            }
        }
    }
}
