//! A sweep from its first run to its last: workers are kept busy, and what comes back is kept in the journal.
//!
//! *Read next*: [`crate::results`].

use crate::journal::{Journal, Record};
use crate::outcome::{Outcome, Run};
use crate::pool::{Answer, Pool};
use crate::schedule::Schedule;
use std::io;
use std::time::Duration;

/// How often it is looked at whether the sweep shall stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// How a sweep is driven.
pub struct Drive<'a> {
    /// The line that asks a worker for a run.
    pub request: &'a dyn Fn(&Schedule, Run) -> String,
    /// A run as the journal has it.
    pub record: &'a dyn Fn(&Schedule, Run, &Outcome) -> Record,
    /// Called now and then.
    pub progress: &'a mut dyn FnMut(&Schedule),
    /// Whether to stop.
    pub stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Drive<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Drive").finish_non_exhaustive()
    }
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All runs are over.
    Finished,
    /// It was asked to stop. Runs under way are lost.
    Stopped,
}

/// Executes the runs of `schedule` that are not over. When it returns, they are in the journal, which is closed.
///
/// # Errors
///
/// Where the journal cannot be written. What is in it stays of use.
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

fn execute(
    schedule: &mut Schedule,
    pool: &Pool,
    mut journal: Option<&mut Journal>,
    how: &mut Drive<'_>,
) -> io::Result<End> {
    let mut under_way: Vec<Option<Run>> = vec![None; pool.workers()];
    loop {
        (how.progress)(schedule);
        if (how.stopped)() {
            return Ok(End::Stopped);
        }
        for (worker, doing) in under_way.iter_mut().enumerate().filter(|(_, doing)| doing.is_none()) {
            *doing = schedule.begin();
            if let Some(run) = *doing {
                pool.ask(worker, (how.request)(schedule, run));
            }
        }
        if under_way.iter().all(Option::is_none) {
            return Ok(End::Finished);
        }
        let Some(first) = pool.answer(PATIENCE) else { continue };
        for Answer { worker, said } in std::iter::once(first).chain(std::iter::from_fn(|| pool.answer_at_hand())) {
            let run = under_way[worker].take().expect("only who was asked answers");
            let outcome = said.map_or_else(|end| Outcome::failed(end, true), |line| Outcome::read(&line));
            if let (Some(journal), true) = (&mut journal, outcome.is_final()) {
                journal.append((how.record)(schedule, run, &outcome))?;
            }
            schedule.finish(run, outcome);
            under_way[worker] = schedule.begin();
            if let Some(run) = under_way[worker] {
                pool.ask(worker, (how.request)(schedule, run));
            }
        }
    }
}
