//! Ranks that a launcher such as `mpirun` has started, for all runs of one command.
//!
//! Rank 0 executes the command. For each run of several processes it sends an order to the other ranks,
//! which then take part in the run, and wait for the next order. So other ranks read no files and write
//! nothing.

use super::talk::Talk;
use super::{Order, follow, report_of};
use crate::Failure;
use crate::machine::forget_peak_rss;
use parades_processes::Report;
use parades_transport::Fabric;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The other ranks of this process, if it is rank 0.
static LAUNCHED: Mutex<Option<Arc<Talk>>> = Mutex::new(None);

/// The number of ranks on this machine, if a launcher has started this process.
static RANKS_HERE: OnceLock<u64> = OnceLock::new();

/// Returns the number of ranks on this machine that a launcher has started; `None` if no launcher has started
/// this process.
pub(crate) fn ranks_here() -> Option<u64> {
    RANKS_HERE.get().copied()
}

fn launched() -> std::sync::MutexGuard<'static, Option<Arc<Talk>>> {
    LAUNCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The other ranks of this process, for all its runs. They end when this value is dropped.
#[derive(Debug)]
#[must_use = "the other ranks end when this is dropped"]
pub struct Launched(());

/// Leads ranks that a launcher has started, as rank 0. From now on, the runs of this process that have as
/// many processes as `fabric` has ranks are runs on these ranks. `ranks_here` of them share the cores and the
/// memory of this machine.
pub fn lead(fabric: Box<dyn Fabric>, ranks_here: usize) -> Launched {
    RANKS_HERE.get_or_init(|| ranks_here as u64);
    *launched() = Some(Arc::new(Talk::new(fabric)));
    Launched(())
}

impl Drop for Launched {
    fn drop(&mut self) {
        let talk = launched().take();
        let end: Option<Order> = None;
        talk.iter().for_each(|talk| talk.others().for_each(|rank| talk.tell(rank, &end)));
    }
}

/// Takes part in the runs of rank 0, as another rank that a launcher has started. Returns when rank 0 has no
/// more runs.
///
/// # Errors
///
/// If rank 0 has ended, or another rank in the middle of a run. An error of a run is for rank 0 to say.
pub fn serve(fabric: Box<dyn Fabric>, ranks_here: usize) -> Result<(), Failure> {
    RANKS_HERE.get_or_init(|| ranks_here as u64);
    let talk = Arc::new(Talk::new(fabric));
    while let Some(order) = talk.hear::<Option<Order>>(0)? {
        forget_peak_rss();
        let result = follow(order, &talk);
        talk.end_run(&report_of(&result))?;
    }
    Ok(())
}

/// The other ranks in one run.
#[derive(Debug)]
pub(crate) struct Run {
    /// `None` once the run has ended.
    talk: Option<Arc<Talk>>,
}

impl Run {
    /// Begins a run on the ranks that [`lead`] was given, if they are as many as the run has processes.
    pub(super) fn begin(order: &Order) -> Option<Run> {
        let talk = Arc::clone(launched().as_ref()?);
        if order.request.processes != Some(talk.ranks() as u64) {
            return None;
        }
        talk.others().for_each(|rank| talk.tell(rank, &Some(order)));
        Some(Run { talk: Some(talk) })
    }

    pub(super) fn talk(&self) -> Arc<Talk> {
        Arc::clone(self.talk.as_ref().expect("the run goes on"))
    }

    /// Waits until all ranks have ended the run. Returns the reports of the others.
    pub(super) fn finish(mut self) -> Result<Vec<Report>, Failure> {
        let talk = self.talk.take().expect("the run goes on");
        talk.end_run(&Report::default())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(talk) = self.talk.take() {
            // The error that ended the run is on its way to the user.
            let _ = talk.end_run(&Report { error: Some("rank 0 has failed".into()), ..Report::default() });
        }
    }
}
