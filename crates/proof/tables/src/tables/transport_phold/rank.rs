//! A process that runs PHOLD over one of the rivals, as one rank or as all of them.

use super::first_fit::FirstFit;
use super::one_by_one::OneByOne;
use crate::sides::timed;
use parades_core::any_model::with_model;
use parades_core::arena::{self, Anonymous, Arena};
use parades_core::bytes::Bytes;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_engine::partition::Placing;
use parades_engine::window;
use parades_models::phold::{DelayKind, Parameters, Phold};
use parades_session::Failure;
use parades_transport::Fabric;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// The environment variable that makes a process a rank: the [`Job`] in words.
pub(super) const RANK: &str = "PARADES_BENCH_PHOLD";
/// The number of LPs, as in the paper.
pub(super) const LPS: u32 = 10_000;
/// The slots of a First-Fit segment: 1.5 for each LP of one of two processes, as the paper recommends.
const FIRST_FIT_SLOTS: usize = 7_500;
/// The bytes of the arena for First-Fit. Memory is taken only as payloads need it.
const ARENA_BYTES: usize = 2 << 30;

/// The path of the events between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// Slots of which any free one is taken first.
    FirstFit,
    /// One message of MPI for each event.
    PaperMpi,
    /// Batches over MPI, as `mpirun parades run` sends them.
    BatchedMpi,
    /// Shared memory between this number of consecutive ranks, which play a machine; batches over MPI between
    /// machines.
    Hybrid(usize),
}

/// The run of a rank.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Job {
    pub(super) path: Path,
    pub(super) ranks: usize,
    pub(super) radius: u32,
    pub(super) payload: usize,
    pub(super) until_s: u64,
    /// The file for the results of rank 0.
    pub(super) results: PathBuf,
}

impl Job {
    /// Returns the value of [`RANK`].
    pub(super) fn words(&self) -> String {
        let Job { path, ranks, radius, payload, until_s, results } = self;
        let path = match path {
            Path::FirstFit => "first-fit".to_owned(),
            Path::PaperMpi => "paper-mpi".to_owned(),
            Path::BatchedMpi => "batched-mpi".to_owned(),
            Path::Hybrid(ranks) => ranks.to_string(),
        };
        format!("{path} {ranks} {radius} {payload} {until_s} {}", results.display())
    }

    /// Reads the value of [`RANK`].
    pub(super) fn of_words(words: &str) -> Option<Job> {
        let parts: Vec<&str> = words.splitn(6, ' ').collect();
        let [path, ranks, radius, payload, until_s, results] = parts[..] else { return None };
        let path = match path {
            "first-fit" => Path::FirstFit,
            "paper-mpi" => Path::PaperMpi,
            "batched-mpi" => Path::BatchedMpi,
            ranks => Path::Hybrid(ranks.parse().ok()?),
        };
        let (ranks, radius, payload) = (ranks.parse().ok()?, radius.parse().ok()?, payload.parse().ok()?);
        Some(Job { path, ranks, radius, payload, until_s: until_s.parse().ok()?, results: results.into() })
    }

    /// The model of the paper's section V.2: an event goes to the LP `id + radius`, after 1 to 1.8 s.
    fn model(&self) -> Phold<Bytes> {
        Phold::new(Parameters {
            lps: LPS,
            remote: 1.0,
            lookahead: Delay::from_secs(1),
            mean_delay: Delay::from_ms(1_400),
            delay: DelayKind::Uniform,
            radius: self.radius,
            payload: self.payload,
            ..Parameters::default()
        })
    }

    fn until(&self) -> Time {
        Time::ZERO.saturating_add(Delay::from_secs(self.until_s))
    }

    /// Runs the model in windows, on one worker. `splits` is true if each event travels alone. Rank 0 writes
    /// the results.
    fn run(&self, fabric: Box<dyn Fabric>, splits: bool) -> Result<(), Failure> {
        let settings = window::Settings { placing: Placing::Ranges, ..window::Settings::of_threads(1) };
        let (model, options) = (self.model(), RunOptions::until(self.until()));
        let (outcome, seconds) = timed(|| {
            let outcome = match splits {
                true => with_model(&model, options, |model, options| {
                    window::run_rank_over(model, options.into(), &settings, fabric, &|ranked| {
                        Arc::new(OneByOne(ranked))
                    })
                }),
                false => window::run_rank(&model, options, &settings, fabric),
            };
            outcome.result.map_err(|error| Failure::simulation(error.to_string()))
        })?;
        let Some(outcome) = outcome else { return Ok(()) };
        let digest = outcome.digest.map_or_else(String::new, |digest| format!("{digest:016x}"));
        let results = json!({ "events": outcome.events, "seconds": seconds, "digest": digest });
        std::fs::write(&self.results, results.to_string())
            .map_err(|error| Failure::simulation(format!("the results of a rank cannot be written: {error}")))
    }

    fn run_first_fit(&self) -> Result<(), Failure> {
        let no_memory = || Failure::simulation("there is no memory for the payloads");
        let memory = Anonymous::new(ARENA_BYTES).ok_or_else(no_memory)?;
        let arena = Arena::create(Box::new(memory)).ok_or_else(no_memory)?;
        let _installed = arena::install(0, vec![Some(arena)]);
        let ends = FirstFit::connect(self.ranks, FIRST_FIT_SLOTS);
        std::thread::scope(|scope| {
            let mut runs = ends.into_iter().map(|end| move || self.run(Box::new(end), true));
            let first = runs.next();
            let others: Vec<_> = runs.map(|run| scope.spawn(run)).collect();
            let result = first.map_or(Ok(()), |run| run());
            let join = |other: std::thread::ScopedJoinHandle<'_, Result<(), Failure>>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            others.into_iter().map(join).fold(result, Result::and)
        })
    }
}

/// Runs this process as a rank, if the environment says so. Returns true if it was one.
pub(super) fn run_as_rank() -> Result<bool, Failure> {
    let Ok(words) = std::env::var(RANK) else { return Ok(false) };
    let job = Job::of_words(&words).ok_or_else(|| Failure::simulation(format!("{RANK} is malformed: {words}")))?;
    match job.path {
        Path::FirstFit => job.run_first_fit()?,
        Path::PaperMpi | Path::BatchedMpi | Path::Hybrid(_) => over_mpi(&job)?,
    }
    Ok(true)
}

#[cfg(feature = "mpi")]
fn over_mpi(job: &Job) -> Result<(), Failure> {
    use super::plain_mpi;
    use parades_mpi::{Connected, Shared, System, connect, share_memory};
    if job.path == Path::PaperMpi {
        let fabric = plain_mpi::PlainMpi::open().map_err(Failure::simulation)?;
        job.run(Box::new(fabric), true)?;
        plain_mpi::close();
        return Ok(());
    }
    let Connected { job: ranks, fabric } = connect(System::open).map_err(Failure::simulation)?;
    let fabric = match job.path {
        Path::Hybrid(of_machine) => {
            let Shared { fabric, note, .. } =
                share_memory(&ranks, fabric, Some(of_machine)).map_err(Failure::simulation)?;
            if let Some(note) = note {
                return Err(Failure::simulation(note));
            }
            fabric
        }
        _ => Box::new(fabric),
    };
    let result = job.run(fabric, false);
    ranks.end(u8::from(result.is_err()));
    result
}

#[cfg(not(feature = "mpi"))]
fn over_mpi(_: &Job) -> Result<(), Failure> {
    Err(Failure::simulation("this program was built without MPI"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_as_it_was_written() {
        for path in [Path::FirstFit, Path::PaperMpi, Path::BatchedMpi, Path::Hybrid(2)] {
            let results = PathBuf::from("/tmp/a folder/results");
            let job = Job { path, ranks: 4, radius: 300, payload: 16 << 10, until_s: 20, results };
            assert_eq!(Job::of_words(&job.words()), Some(job));
        }
        assert_eq!(Job::of_words("first-fit 2 200"), None);
    }

    /// The digest of `sequential` is the reference.
    #[test]
    fn first_fit_executes_the_events_of_one_process() {
        let folder = tempfile::TempDir::new().expect("there is room");
        let results = folder.path().join("results");
        let job = Job { path: Path::FirstFit, ranks: 2, radius: 5_000, payload: 300, until_s: 3, results };
        job.run_first_fit().expect("it runs");
        let found: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&job.results).expect("rank 0 wrote it")).expect("it is JSON");
        let options = RunOptions::until(job.until());
        let expected = parades_engine::sequential::run(&job.model(), options).expect("it runs");
        assert_eq!(found["digest"], format!("{:016x}", expected.digest.expect("digests are on")));
        assert_eq!(found["events"], expected.events);
    }
}
