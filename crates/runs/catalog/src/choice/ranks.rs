//! Runs of several processes.

use super::Choice;
use super::tables::{ModelTables, UndoTables};
use crate::engine::Engine;
use parades_core::cut::Span;
use parades_core::error::{Error, ErrorKind};
use parades_core::run::{Outcome, RunOptions};
use parades_engine::auto::{self, Suits};
use parades_engine::{null_message, time_warp, window};
use parades_transport::Fabric;

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
    /// conservative engine, else `window`. The ranks keep it: no rank has the whole run at a cut.
    pub(super) fn for_model_on_ranks(&self, tables: &ModelTables<'_>, options: &RunOptions<'_>) -> Choice {
        let workers = self.worker_threads().saturating_mul(usize::try_from(self.processes).unwrap_or(usize::MAX));
        let advice = auto::advise_any(tables.model, options, workers, tables.copies());
        let (engine, why) = match advice.engine {
            Suits::TimeWarp { .. } => (Engine::TimeWarp, advice.why),
            Suits::Window { .. } | Suits::NullMessage { .. } => (Engine::Window, advice.why),
            Suits::Sequential => (Engine::Window, format!("for several processes; for one, {}", advice.why)),
        };
        let (threads, processes) = (self.threads, self.processes);
        Choice { threads, processes, why: Some(why), ..Choice::with_defaults(engine, 1) }
    }

    /// Runs a model as one of several ranks, which `fabric` connects, from its start or from a cut.
    ///
    /// # Errors
    ///
    /// Those of the engine, and a lost rank. Also an error if the messages of the model cannot cross
    /// processes, or if the engine rolls back and the state of the model cannot be restored.
    pub(crate) fn run_rank_any<'k>(&self, tables: ModelTables<'k>, span: Span<'k>, fabric: Box<dyn Fabric>) -> OfRank {
        let ModelTables { undo, wire, .. } = tables;
        let Some(wire) = wire else {
            let what = "the messages of this model cannot cross processes; use one process";
            return Err(Error::new(ErrorKind::Model(what.into())));
        };
        match (self.engine, undo) {
            (Engine::Auto, _) => self.for_model(&tables, &span.options).run_rank_any(tables, span, fabric),
            (Engine::Window, _) => outcome(window::run_any_rank(wire, span, &self.window_settings(), fabric)),
            (Engine::NullMessage, _) => {
                outcome(null_message::run_any_rank(wire, span, &self.null_message_settings(), fabric))
            }
            (Engine::TimeWarp, Some(UndoTables { restorable, .. })) => {
                outcome(time_warp::run_any_rank(restorable, wire, span, &self.time_warp_settings(), fabric))
            }
            (Engine::Sequential | Engine::RollbackCheck | Engine::Rounds | Engine::TimeWarp, _) => {
                let what = format!("the engine `{}` cannot run this model on several processes", self.engine);
                Err(Error::new(ErrorKind::Model(what)))
            }
        }
    }
}
