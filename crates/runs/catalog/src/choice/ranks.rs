//! Runs of several processes.

use super::Choice;
use crate::engine::Engine;
use parades_core::error::{Error, ErrorKind};
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::timesheet::Timesheets;
use parades_core::wire::Wire;
use parades_engine::auto::{self, Suits};
use parades_engine::time_warp::Tagged;
use parades_engine::{WireModel, null_message, time_warp, window};
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{Fabric, Group, Ranked, Threads, gather_to_first};
use std::fmt::Debug;
use std::sync::Arc;

/// The result of one rank: the outcome on rank 0, `None` on the other ranks.
pub type OfRank = Result<Option<Outcome>, Error>;

impl Choice {
    /// Returns the choice of `auto` for a model on several processes: `time-warp` if the model suits no
    /// conservative engine, else `window`.
    pub(super) fn for_model_on_ranks<M: Model>(&self, model: &M, copies: bool) -> Choice {
        let workers = self.worker_threads().saturating_mul(usize::try_from(self.processes).unwrap_or(usize::MAX));
        let advice = auto::advise(model, workers, copies);
        let (engine, why) = match advice.engine {
            Suits::TimeWarp { .. } => (Engine::TimeWarp, advice.why),
            Suits::Window { .. } => (Engine::Window, advice.why),
            Suits::Sequential => (Engine::Window, format!("for several processes; for one, {}", advice.why)),
        };
        let (threads, processes) = (self.threads, self.processes);
        Choice { threads, processes, why: Some(why), ..Choice::with_defaults(engine, 1) }
    }

    /// Runs a model as one of several ranks, which `fabric` connects.
    ///
    /// # Errors
    ///
    /// Those of the engine, and a lost rank.
    pub fn run_rank<M>(&self, model: &M, options: RunOptions<'_>, fabric: Box<dyn Fabric>) -> OfRank
    where
        M: Restorable<State: Clone + PartialEq + Debug> + WireModel,
    {
        match self.engine {
            Engine::Auto => self.for_model(model, model.copies()).run_rank(model, options, fabric),
            Engine::TimeWarp => {
                let partitions = u32::try_from(self.worker_threads() * fabric.ranks()).unwrap_or(u32::MAX);
                let sheets = options.timesheets.clone();
                let run = |ranked: &Ranked<Tagged<M::Message>>| {
                    time_warp::run_rank(model, options, &self.time_warp_settings(), ranked, ranked)
                };
                self.with_transport((fabric, sheets), (partitions, BarrierKind::default()), run)
            }
            _ => self.run_rank_unrestorable(model, options, fabric),
        }
    }

    /// Runs a model whose state cannot be restored, as one of several ranks.
    ///
    /// # Errors
    ///
    /// Those of [`Choice::run_rank`], and an error if the engine rolls back ([`Engine::rolls_back`]).
    pub fn run_rank_unrestorable<M>(&self, model: &M, options: RunOptions<'_>, fabric: Box<dyn Fabric>) -> OfRank
    where
        M: WireModel,
    {
        match self.engine {
            Engine::Auto => self.for_model(model, false).run_rank_unrestorable(model, options, fabric),
            Engine::Window => {
                let settings = self.window_settings();
                let threads = settings.threads * fabric.ranks();
                let partitions = window::partitions_max(&window::Settings { threads, ..settings });
                let sheets = options.timesheets.clone();
                let run = |ranked: &Ranked<M::Message>| window::run_rank(model, options, &settings, ranked, ranked);
                self.with_transport((fabric, sheets), (partitions, settings.barrier), run)
            }
            Engine::NullMessage => {
                let settings = self.null_message_settings();
                let threads = settings.threads * fabric.ranks();
                let partitions = null_message::partitions_max(&null_message::Settings { threads, ..settings });
                let sheets = options.timesheets.clone();
                let run =
                    |ranked: &Ranked<M::Message>| null_message::run_rank(model, options, &settings, ranked, ranked);
                self.with_transport((fabric, sheets), (partitions, BarrierKind::default()), run)
            }
            Engine::Sequential | Engine::RollbackCheck | Engine::Rounds | Engine::TimeWarp => {
                let what = format!("the engine `{}` cannot run this model on several processes", self.engine);
                Err(Error::new(ErrorKind::Model(what)))
            }
        }
    }

    /// Calls `run` with the transport over a fabric. Adds the number of events that this rank has sent to
    /// other ranks to the statistics. Rank 0 collects the timesheets of all ranks.
    fn with_transport<P: Wire + Send + 'static>(
        &self,
        (fabric, timesheets): (Box<dyn Fabric>, Option<Arc<Timesheets>>),
        (partitions, barrier): (u32, BarrierKind),
        run: impl FnOnce(&Ranked<P>) -> OfRank,
    ) -> OfRank {
        let workers = self.worker_threads();
        let threads = Threads::new(workers, partitions, barrier).timed(timesheets.clone());
        let ranked = Ranked::new(fabric, threads, workers);
        let mut outcome = run(&ranked)?;
        if let Some(outcome) = &mut outcome {
            outcome.engine_stats.push(("sent_to_other_processes", ranked.crossed() as f64));
        }
        if let Some(timesheets) = timesheets {
            collect_timesheets(&timesheets, &ranked)?;
        }
        Ok(outcome)
    }
}

/// Adds the timesheets of the other ranks to those of rank 0.
fn collect_timesheets(timesheets: &Timesheets, group: &dyn Group) -> Result<(), Error> {
    match gather_to_first(group, timesheets.read_all()) {
        Ok(Some(mut all)) => {
            timesheets.add_others(all.split_off(1));
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(Broken) => Err(Error::new(ErrorKind::Ranks("a rank ended before it sent its timesheets".into()))),
    }
}
