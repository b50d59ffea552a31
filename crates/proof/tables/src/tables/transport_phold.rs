//! `bench transport-phold`: PHOLD on several processes, beside the figures 8 and 9 of Li et al., *Towards
//! Order-Preserving and Zero-Copy Communication on Shared Memory for Large Scale Simulation*.
//!
//! All sides run the engine `window` with one worker a process, and place LPs by ranges of ids. They differ
//! in the path of the events between processes ([`rank::Path`]).

mod first_fit;
mod one_by_one;
#[cfg(feature = "mpi")]
mod plain_mpi;
mod rank;

use crate::child::{self, cannot_read, cannot_start};
use crate::record::Figure;
use crate::sides::{Ran, Rates, Side, Spread, in_turn};
use crate::{Measured, Options};
use parades_report::drawing::table;
use parades_session::Failure;
use rank::{Job, LPS, Path};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The first end of a run with small and with large payloads, in virtual seconds. An LP executes an event in
/// 1.4 s on average. So the shortest run takes a tenth of a second.
const UNTIL_S: [u64; 2] = [50, 10];
/// The series of both figures: the ends of its runs, as multiples of the first.
const ENDS: [u64; 3] = [1, 2, 4];
/// The radius of the series.
const RADIUS_OF_SERIES: u32 = 400;
/// The sizes of a payload: small, and the greatest of the paper.
const PAYLOADS: [usize; 2] = [64, 16 << 10];
/// The radius of the paper's figure 8, and one where every event crosses between two processes.
const RADII: [u32; 4] = [200, 300, 400, 5_000];
/// The ranks of figure 9. Two play a machine.
const HYBRID_RANKS: [usize; 2] = [4, 8];
const RANKS_PER_MACHINE: usize = 2;

/// One row of a table.
#[derive(Clone, Copy, Debug)]
struct Row {
    ranks: usize,
    payload: usize,
    radius: u32,
    /// The end of the run, in virtual seconds.
    until_s: u64,
}

impl Row {
    /// Returns the rows with these values: one, or the series by end time.
    fn of(ranks: usize, payload: usize, radius: u32) -> impl Iterator<Item = Row> {
        let first = UNTIL_S[usize::from(payload > PAYLOADS[0])];
        let ends = if radius == RADIUS_OF_SERIES { ENDS.len() } else { 1 };
        ENDS.into_iter().take(ends).map(move |times| Row { ranks, payload, radius, until_s: times * first })
    }
}

/// A side: its heading, and its path. `None` is `parades run --processes`.
type Contender = (&'static str, Option<Path>);

const PAPER: Contender = ("paper's\nMPI", Some(Path::PaperMpi));
const BATCHED: Contender = ("batched\nMPI", Some(Path::BatchedMpi));

/// Returns true if this process is a rank that a table of this crate has started.
pub(super) fn is_rank() -> bool {
    std::env::var_os(rank::RANK).is_some()
}

pub(super) fn measure(options: &Options) -> Result<Measured, Failure> {
    let mut found = Measured::default();
    if rank::run_as_rank()? {
        return Ok(found);
    }
    let over_mpi = has_mpi();
    let mpi = |side| over_mpi.then_some(side);
    let ours = ("shared\nmemory", None);
    let first_fit = ("First-\nFit", Some(Path::FirstFit));
    let contenders: Vec<Contender> =
        [Some(ours), mpi(PAPER), mpi(BATCHED), Some(first_fit)].into_iter().flatten().collect();
    let of_payload = |payload| RADII.into_iter().flat_map(move |radius| Row::of(2, payload, radius));
    let rows: Vec<Row> = PAYLOADS.into_iter().flat_map(of_payload).collect();
    figure(options, &mut found, "Two processes (figure 8)", &contenders, &rows)?;
    if over_mpi {
        let contenders = [("hybrid", Some(Path::Hybrid(RANKS_PER_MACHINE))), PAPER, BATCHED];
        let of_ranks = |ranks| Row::of(ranks, PAYLOADS[1], RADIUS_OF_SERIES);
        let rows: Vec<Row> = HYBRID_RANKS.into_iter().flat_map(of_ranks).collect();
        let title = "This machine plays several, of two processes each (figure 9)";
        figure(options, &mut found, title, &contenders, &rows)?;
    } else if cfg!(feature = "mpi") {
        found.text.push_str("MPI was skipped, and figure 9 with it: there is no `mpirun`\n");
    } else {
        found.text.push_str("MPI was skipped, and figure 9 with it: this program was built without `--features mpi`\n");
    }
    Ok(found)
}

/// True if this program can run over MPI, and `mpirun` starts programs.
fn has_mpi() -> bool {
    let starts = |mut command: Command| command.output().is_ok_and(|output| output.status.success());
    let mut command = Command::new("mpirun");
    command.arg("--version");
    cfg!(feature = "mpi") && starts(command)
}

/// Measures and draws one figure.
fn figure(
    options: &Options,
    found: &mut Measured,
    title: &str,
    contenders: &[Contender],
    rows: &[Row],
) -> Result<(), Failure> {
    let folder = TempDir::new().map_err(|error| cannot_start(&error))?;
    let results = folder.path().join("results");
    let over: Vec<String> = contenders[1..].iter().map(|(name, _)| format!("/ {name}")).collect();
    let names = contenders.iter().map(|(name, _)| *name);
    let headings: Vec<&str> =
        ["ranks", "bytes", "radius", "until"].into_iter().chain(names).chain(over.iter().map(String::as_str)).collect();
    let mut drawn = table(&headings);
    for row in rows {
        let side = |&(_, path): &Contender| -> Side<'_> {
            let results = results.clone();
            match path {
                None => Box::new(|| Ok(child::run(&options.program, &words(row))?.ran)),
                Some(path) => Box::new(move || run(options, job(*row, path, results.clone()))),
            }
        };
        let mut sides: Vec<Side<'_>> = contenders.iter().map(side).collect();
        let Row { ranks, payload, radius, until_s } = row;
        let name = format!("PHOLD, {ranks} ranks, {payload} B, radius {radius}, until {until_s} s");
        let rates = in_turn(&name, options.pairs, &mut sides)?;
        drawn.add_row(cells(*row, contenders, &rates));
        for (side, (contender, _)) in contenders.iter().enumerate() {
            let contender = contender.replace('\n', " ");
            found.figures.push(Figure { name: format!("{name}, {contender}, events/s"), spread: rates.of(side) });
        }
    }
    let published = if contenders.iter().any(is_paper) { ", published ratios in brackets" } else { "" };
    let _ = writeln!(
        found.text,
        "{title}: {LPS} LPs, thousands of events a second;\nthe time of the first side over that of the others{published}\n{drawn}"
    );
    Ok(())
}

/// Returns the cells of a row. The published ratio to MPI is in brackets.
fn cells(row: Row, contenders: &[Contender], rates: &Rates) -> Vec<String> {
    let Row { ranks, payload, radius, until_s } = row;
    let sides = contenders.len();
    let mut cells = vec![ranks.to_string(), payload.to_string(), radius.to_string(), format!("{until_s} s")];
    cells.extend((0..sides).map(|side| format!("{:.0}", rates.of(side).median / 1e3)));
    for (side, contender) in contenders.iter().enumerate().skip(1) {
        let Spread { median, least, greatest, .. } = rates.ratio(side, 0);
        let published =
            published(row).filter(|_| is_paper(contender)).map_or(String::new(), |ratio| format!(" ({ratio:.2})"));
        cells.push(format!("{median:.2}{published}\n{least:.2}–{greatest:.2}"));
    }
    cells
}

/// Returns true if the published ratios are those over this side.
fn is_paper((_, path): &Contender) -> bool {
    matches!(path, Some(Path::PaperMpi))
}

/// Returns the published time of ZeROshm over that of MPI: equal with small messages, 55 % less with large
/// ones on one machine, 42 % less on several.
fn published(Row { ranks, payload, radius, .. }: Row) -> Option<f64> {
    match (ranks, payload, radius) {
        (_, _, 5_000) => None,
        (2, 64, _) => Some(1.0),
        (2, ..) => Some(1.0 - 0.55),
        _ => Some(1.0 - 0.42),
    }
}

/// Returns the words of `parades run` for the same model as [`Job::model`].
fn words(row: &Row) -> Vec<String> {
    let Row { ranks, payload, radius, until_s } = row;
    let line = format!(
        "phold --set lps={LPS} --set remote=1 --set lookahead=1 --set mean_delay=1.4 --set delay=uniform \
         --set radius={radius} --set payload={payload} --until {until_s}s --engine window --processes {ranks} \
         --threads 1 --tune placement=ranges"
    );
    line.split_whitespace().map(str::to_owned).collect()
}

fn job(row: Row, path: Path, results: PathBuf) -> Job {
    let Row { ranks, payload, radius, until_s } = row;
    Job { path, ranks, radius, payload, until_s, results }
}

/// Runs a rival in processes of its own.
fn run(options: &Options, job: Job) -> Result<Ran, Failure> {
    let mut command = match job.path {
        Path::FirstFit => Command::new(&options.program),
        Path::PaperMpi | Path::BatchedMpi | Path::Hybrid(_) => {
            let mut command = crate::tables::transport::mpirun(job.ranks);
            command.arg(&options.program);
            command
        }
    };
    command.arg("transport-phold").env(rank::RANK, job.words()).stdin(Stdio::null());
    let output = command.output().map_err(|error| cannot_start(&error))?;
    let name = format!("{:?}", job.path);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::simulation(format!("PHOLD over {name} failed ({}): {}", output.status, said.trim())));
    }
    let results = std::fs::read(&job.results).map_err(|_| cannot_read(&name))?;
    // The next run must not find them.
    let _ = std::fs::remove_file(&job.results);
    let results: serde_json::Value = serde_json::from_slice(&results).map_err(|_| cannot_read(&name))?;
    let read = || {
        let answer = u64::from_str_radix(results["digest"].as_str()?, 16).ok()?;
        let (events, seconds) = (results["events"].as_u64()?, results["seconds"].as_f64()?);
        Some(Ran { events, seconds, answer: Some(answer) })
    };
    read().ok_or_else(|| cannot_read(&name))
}
