//! Random models on real processes: rank 0 is this process, and it starts the other ranks as children.

use crate::compare::{Answer, Question, ask, compare, expected};
use crate::engines::ranks::OnRanks;
use crate::engines::save_view;
use crate::random_model::{Genes, RandomModel};
use crate::report::Report;
use parades_core::error::ErrorKind;
use parades_core::random::Rng;
use parades_core::run::RunOptions;
use parades_processes::{Crew, Joined, Report as LastWords, is_rank, join};
use parades_transport::Fabric;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// The hidden command with which the program starts itself as a rank.
pub const RANK_COMMAND: &str = "rank";

/// The numbers of processes of runs.
const PROCESSES: [usize; 2] = [2, 3];
/// The numbers of workers of each process.
const WORKERS: [usize; 2] = [1, 2];
/// The size of an arena for payloads, in bytes. Random models have few and small payloads.
const ARENA_BYTES: usize = 1 << 20;

/// The order of rank 0 to its children.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    /// The seed of the model's genes.
    model_seed: u64,
    engine: OnRanks,
    workers: usize,
    /// The seed of the engine's settings.
    setting_seed: u64,
    traced: bool,
    /// True if the digest of the children depends on their rank: a planted fault.
    has_fault: bool,
}

impl Order {
    fn model(&self) -> RandomModel {
        RandomModel::new(Genes::from_seed(self.model_seed))
    }
}

/// Runs the models of these seeds on 2 and 3 processes, with 1 and 2 workers each, on every engine that runs
/// on ranks. Compares each answer with that of `sequential`. `program` must call [`serve`] for the argument
/// [`RANK_COMMAND`]. With `has_fault`, the digests of the children are wrong.
pub fn check_seeds(program: &Path, seeds: impl IntoIterator<Item = u64>, has_fault: bool) -> Report {
    let mut report = Report::default();
    for model_seed in seeds {
        let rng = Rng::shared(model_seed, 18);
        // Without a trace, ranks gather less: both kinds of runs are tested.
        let traced = rng.chance(0.5);
        let first =
            Order { model_seed, engine: OnRanks::Window, workers: 1, setting_seed: rng.next_u64(), traced, has_fault };
        let model = first.model();
        let options = model.options();
        let question = Question { until: options.until, seed: options.seed, tie_seed: options.tie_seed, traced };
        let expected = expected(&model, question);
        report.count_model(&expected);
        for engine in OnRanks::ALL {
            for (processes, workers) in PROCESSES.into_iter().flat_map(|n| WORKERS.map(|workers| (n, workers))) {
                let order = Order { engine, workers, setting_seed: rng.next_u64(), ..first };
                let same = check_run(program, &model, question, &order, processes, &expected, &mut report);
                if let Err(what) = same {
                    let of = format!("{} on {processes} processes of {workers} workers", engine.name());
                    report.difference(
                        format!("seed {model_seed}, {of}: {what}"),
                        &format!("processes 1 --from {model_seed}"),
                    );
                }
            }
        }
    }
    report
}

/// Runs a model as rank 0 of processes that it starts.
fn check_run(
    program: &Path,
    model: &RandomModel,
    question: Question,
    order: &Order,
    processes: usize,
    expected: &Answer,
    report: &mut Report,
) -> Result<(), String> {
    let command = || {
        let mut command = Command::new(program);
        command.arg(RANK_COMMAND);
        command
    };
    let crew = Crew::start((processes, ARENA_BYTES), &command, &json!(order))
        .map_err(|error| format!("the processes cannot be started: {error}"))?;
    let found = ask(question, |options| {
        let fabric = Box::new(crew.fabric());
        let of_rank = order.engine.run_rank(model, options, Some(save_view), order.workers, order.setting_seed, fabric);
        let mut outcome = of_rank.result?.expect("rank 0 has the outcome");
        outcome.engine_stats.push(("crossed", of_rank.crossed as f64));
        Ok(outcome)
    });
    let last_words = crew.finish();
    report.add(&found);
    if is_refused(order.engine, model, &found) {
        report.refused += 1;
    } else {
        compare(expected, &found)?;
    }
    let error = found.result.as_ref().err().map(ToString::to_string);
    // An error that a model finds at its end belongs to no event, and only rank 0 has all metrics.
    let is_at_end = found.result.as_ref().is_err_and(|error| error.place().is_none());
    for (rank, said) in (1..).zip(last_words) {
        match said {
            None => return Err(format!("rank {rank} did not come to its end")),
            Some(LastWords { error: of_rank, .. }) if of_rank != error && !(is_at_end && of_rank.is_none()) => {
                return Err(format!("rank {rank} ended with {of_rank:?}, and rank 0 with {error:?}"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// True if a conservative engine has ended the run because a channel lost its lookahead. Its LPs would have
/// to come to one partition.
fn is_refused(engine: OnRanks, model: &RandomModel, found: &Answer) -> bool {
    let Err(error) = &found.result else { return false };
    let is_refusal = matches!(error.kind(), ErrorKind::Ranks(why) if why.contains("has lost its lookahead"));
    is_refusal && engine != OnRanks::TimeWarp && model.changes_lookahead()
}

/// Serves as one of the processes that [`check_seeds`] has started.
///
/// # Errors
///
/// If this process was not started so, or if rank 0 has ended.
pub fn serve() -> Result<(), String> {
    if !is_rank() {
        return Err("only `processes` starts this".into());
    }
    let joined = join().map_err(|error| error.to_string())?;
    let order = serde_json::from_value(joined.order.clone()).map_err(|error| error.to_string())?;
    let last_words = LastWords { error: run_joined(&joined, &order), ..LastWords::default() };
    joined.report(&last_words).map_err(|error| error.to_string())
}

/// Runs the model as a rank other than 0. Returns the error of the run.
fn run_joined(joined: &Joined, order: &Order) -> Option<String> {
    let mut model = order.model();
    if order.has_fault {
        model.plant_fault(joined.fabric.rank());
    }
    let options = model.options();
    let options = RunOptions { notes: order.traced, sends: order.traced, samples: order.traced, ..options };
    let fabric = Box::new(joined.fabric.clone());
    let of_rank = order.engine.run_rank(&model, options, Some(save_view), order.workers, order.setting_seed, fabric);
    of_rank.result.err().map(|error| error.to_string())
}
