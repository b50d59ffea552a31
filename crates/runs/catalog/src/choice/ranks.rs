//! Runs of several processes.

use super::Choice;
use crate::engine::Engine;
use parades_core::error::{Error, ErrorKind};
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::wire::Wire;
use parades_engine::auto::{self, Suits};
use parades_engine::time_warp::Tagged;
use parades_engine::{WireModel, null_message, time_warp, window};
use parades_sync::barrier::BarrierKind;
use parades_transport::{Fabric, Ranked, Threads};
use std::fmt::Debug;

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
                let ranked = self.ranked::<Tagged<M::Message>>(fabric, partitions, BarrierKind::default());
                with_crossed(&ranked, time_warp::run_rank(model, options, &self.time_warp_settings(), &ranked, &ranked))
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
                let ranked = self.ranked::<M::Message>(fabric, partitions, settings.barrier);
                with_crossed(&ranked, window::run_rank(model, options, &settings, &ranked, &ranked))
            }
            Engine::NullMessage => {
                let settings = self.null_message_settings();
                let threads = settings.threads * fabric.ranks();
                let partitions = null_message::partitions_max(&null_message::Settings { threads, ..settings });
                let ranked = self.ranked::<M::Message>(fabric, partitions, BarrierKind::default());
                with_crossed(&ranked, null_message::run_rank(model, options, &settings, &ranked, &ranked))
            }
            Engine::Sequential | Engine::RollbackCheck | Engine::Rounds | Engine::TimeWarp => {
                let what = format!("the engine `{}` cannot run this model on several processes", self.engine);
                Err(Error::new(ErrorKind::Model(what)))
            }
        }
    }

    fn ranked<P>(&self, fabric: Box<dyn Fabric>, partitions: u32, barrier: BarrierKind) -> Ranked<P>
    where
        P: Wire + Send + 'static,
    {
        let workers = self.worker_threads();
        Ranked::new(fabric, Threads::new(workers, partitions, barrier), workers)
    }
}

/// Adds the number of events that this rank has sent to other ranks to the statistics.
fn with_crossed<P: Wire + Send + 'static>(ranked: &Ranked<P>, result: OfRank) -> OfRank {
    result.map(|outcome| {
        outcome.map(|mut outcome| {
            outcome.engine_stats.push(("sent_to_other_processes", ranked.crossed() as f64));
            outcome
        })
    })
}
