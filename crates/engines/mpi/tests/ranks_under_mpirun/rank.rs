//! One rank: joins the others, runs a model and prints its digest on rank 0.

use parades_core::error::Error;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_engine::{WireModel, null_message, time_warp, window};
use parades_models::phold::{Parameters, Phold};
use parades_mpi::{Connected, Shared, System, connect, share_memory};
use parades_netfile::NetworkFile;
use parades_transport::Fabric;
use std::process::ExitCode;

/// The workers of each rank.
const WORKERS: usize = 2;

/// A model and an engine.
pub(crate) struct Row<'a> {
    model: &'a str,
    engine: &'a str,
}

impl<'a> Row<'a> {
    pub(crate) const MODELS: [&'static str; 2] = ["phold", "network"];
    pub(crate) const ENGINES: [&'static str; 3] = ["window", "null-message", "time-warp"];

    pub(crate) fn of(model: &'a str, engine: &'a str) -> Row<'a> {
        Row { model, engine }
    }
}

pub(crate) fn options() -> RunOptions<'static> {
    RunOptions::until(Time::from_ps(Delay::from_secs(3).as_ps()))
}

pub(crate) fn phold() -> Phold<()> {
    Phold::new(Parameters { lps: 64, ..Parameters::default() })
}

/// The example of a network file, with three kinds of traffic and a bottleneck that fails.
pub(crate) fn network() -> impl Restorable<State: Clone> + WireModel {
    let sooner =
        parades_netfile::EXAMPLE.replace("at = \"8s\"", "at = \"1500ms\"").replace("for = \"2s\"", "for = \"300ms\"");
    let file = NetworkFile::parse("two-sites.toml".as_ref(), sooner).ok().flatten().expect("it is a network");
    file.build(&file.parameters(), 1).expect("the example is right").model
}

/// Runs a row as this rank.
///
/// `path` is `mpi`, or the number of ranks that play one machine and share memory; 0 for those of this
/// machine.
pub(crate) fn run(row: &Row<'_>, path: &str, dies: bool) -> ExitCode {
    let Connected { job, fabric } = connect(System::open).expect("MPI has started this rank");
    if dies && fabric.rank() == 1 {
        let me = std::process::id().to_string();
        std::process::Command::new("kill").args(["-9", &me]).status().expect("there is a `kill`");
    }
    let first = fabric.rank() == 0;
    let fabric: Box<dyn Fabric> = match path.parse::<usize>() {
        Err(_) => Box::new(fabric),
        Ok(ranks_per_machine) => {
            let ranks_per_machine = Some(ranks_per_machine).filter(|&ranks| ranks > 0);
            let Shared { fabric, note, .. } = share_memory(&job, fabric, ranks_per_machine).expect("the thread runs");
            assert_eq!(note, None, "the ranks of one machine can share memory");
            fabric
        }
    };
    let outcome = match row.model {
        "phold" => on(&phold(), row.engine, fabric),
        _ => on(&network(), row.engine, fabric),
    };
    let status = match outcome {
        Ok(outcome) => {
            let digest = outcome.and_then(|outcome| outcome.digest);
            digest.iter().for_each(|digest| println!("{digest}"));
            u8::from(digest.is_some() != first)
        }
        Err(error) => {
            eprintln!("{error}");
            1
        }
    };
    job.end(status);
    ExitCode::from(status)
}

fn on<M: Restorable + WireModel>(model: &M, engine: &str, fabric: Box<dyn Fabric>) -> Result<Option<Outcome>, Error> {
    let of_rank = match engine {
        "window" => window::run_rank(model, options(), &window::Settings::of_threads(WORKERS), fabric),
        "null-message" => {
            null_message::run_rank(model, options(), &null_message::Settings::of_threads(WORKERS), fabric)
        }
        _ => time_warp::run_rank(model, options(), &time_warp::Settings::of_threads(WORKERS), fabric),
    };
    of_rank.result
}
