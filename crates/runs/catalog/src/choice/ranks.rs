//! Runs of several processes.

use super::Choice;
use crate::engine::Engine;
use parades_core::error::{Error, ErrorKind};
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::auto::{self, Suits};
use parades_engine::{WireModel, null_message, time_warp, window};
use parades_transport::Fabric;
use std::fmt::Debug;

/// The result of one rank: the outcome on rank 0, `None` on the other ranks.
pub type OfRank = Result<Option<Outcome>, Error>;

/// Returns the outcome of a rank. Its statistics have the number of events that the rank has sent to other
/// ranks.
fn outcome(of_rank: parades_engine::OfRank) -> OfRank {
    let mut outcome = of_rank.result?;
    if let Some(outcome) = &mut outcome {
        outcome.engine_stats.push(("sent_to_other_processes", of_rank.crossed as f64));
    }
    Ok(outcome)
}

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
            Engine::TimeWarp => outcome(time_warp::run_rank(model, options, &self.time_warp_settings(), fabric)),
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
            Engine::Window => outcome(window::run_rank(model, options, &self.window_settings(), fabric)),
            Engine::NullMessage => {
                outcome(null_message::run_rank(model, options, &self.null_message_settings(), fabric))
            }
            Engine::Sequential | Engine::RollbackCheck | Engine::Rounds | Engine::TimeWarp => {
                let what = format!("the engine `{}` cannot run this model on several processes", self.engine);
                Err(Error::new(ErrorKind::Model(what)))
            }
        }
    }
}
