//! `bench rivals`: other simulators, on work that both sides do, run in turn with ours.
//!
//! A rival counts by itself what it has done and, if it can, the seconds. Both sides draw random numbers of
//! their own, so they do the same work up to chance. Rates are compared, not times.

use super::chord;
use super::packets::campus;
use super::transport::mpirun;
use crate::child::{self, cannot_read, cannot_start};
use crate::record::Figure;
use crate::sides::{Ran, Side, cores, in_turn, timed};
use crate::{Measured, Options};
use parades_report::drawing::table;
use parades_session::Failure;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use tempfile::{NamedTempFile, TempDir};

/// A simulator that is run beside parades.
struct Rival {
    name: &'static str,
    /// The command that makes its program, for a reader.
    how_to_get: &'static str,
    /// Returns the work that its program and parades do.
    works: for<'a> fn(theirs: &'a Path, parades: &'a Path) -> Result<Vec<Work<'a>>, Failure>,
}

/// Work that both sides do.
struct Work<'a> {
    name: String,
    /// The unit in which both sides count it.
    unit: &'static str,
    ours: Side<'a>,
    theirs: Side<'a>,
}

const RIVALS: [Rival; 6] = [
    Rival {
        name: "ross",
        how_to_get: "build https://github.com/ROSS-org/ROSS by `cmake -DROSS_BUILD_MODELS=ON -DCMAKE_BUILD_TYPE=Release`; \
                     the program is models/phold/phold",
        works: ross,
    },
    Rival {
        name: "cimba",
        how_to_get: "build https://github.com/ambonvik/cimba by `meson setup build --buildtype=release`; \
                     the program is build/benchmark/MM1_single",
        works: cimba,
    },
    Rival {
        name: "peersim",
        how_to_get: "compile PeerSim 1.0.5 (https://peersim.sourceforge.net) with its example.edaggregation; \
                     PATH is the class path, with jep and djep",
        works: peersim,
    },
    Rival { name: "simgrid", how_to_get: "build crates/systems/p2p/simgrid, as its README says", works: simgrid },
    Rival { name: "htsim", how_to_get: "build crates/proof/tables/htsim, as its README says", works: htsim },
    Rival { name: "ns3", how_to_get: "build crates/proof/tables/ns3, as its README says", works: ns3 },
];

/// The names by which programs of rivals are given.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RIVALS.iter().map(|rival| rival.name)
}

pub(super) fn measure(Options { pairs, program, rivals, .. }: &Options) -> Result<Measured, Failure> {
    // PeerSim's is a class path.
    if let Some((_, program)) = rivals.iter().find(|(name, path)| name != "peersim" && !path.is_file()) {
        let message = format!("{} cannot be started", program.display());
        return Err(Failure::usage(message, "give the path of its program"));
    }
    // Programs are started in folders of their own, so their paths must not depend on the folder.
    let programs: Vec<(&String, PathBuf)> = rivals.iter().map(|(name, path)| (name, absolute(path))).collect();
    let mut found = Measured::default();
    let mut drawn = table(&["rival", "work", "unit", "ours, M a second", "theirs, M a second", "ours over theirs"]);
    let mut skipped = String::new();
    for Rival { name, how_to_get, works } in RIVALS {
        let Some((_, theirs)) = programs.iter().find(|(of, _)| *of == name) else {
            let _ = writeln!(skipped, "{name} was skipped: {how_to_get}; give it by --rival {name}=PATH");
            continue;
        };
        for Work { name: work, unit, ours, theirs } in works(theirs, program)? {
            let rates = in_turn(&format!("{name}: {work}"), *pairs, &mut [ours, theirs])?;
            let [ours, theirs] = [0, 1].map(|side| format!("{:.2}", rates.of(side).median / 1e6));
            let ratio = rates.ratio(0, 1);
            drawn.add_row([name.to_owned(), work.clone(), unit.to_owned(), ours, theirs, ratio.show(2)]);
            found.figures.push(Figure { name: format!("{name}, {work}: our rate over theirs"), spread: ratio });
        }
    }
    if !found.figures.is_empty() {
        let _ = writeln!(found.text, "parades and other simulators, the same work in turn\n{drawn}\n");
    }
    let _ = writeln!(found.text, "{skipped}messages between processes beside MPI: `parades-bench transport`\n");
    Ok(found)
}

/// Returns the path from the root. A class path consists of several paths, each of which is changed.
fn absolute(path: &Path) -> PathBuf {
    let parts = std::env::split_paths(path).map(|part| std::path::absolute(&part).unwrap_or(part));
    std::env::join_paths(parts).map_or_else(|_| path.to_owned(), PathBuf::from)
}

/// Runs `parades run` with these words. Returns the count of `field`, a metric or `events`, and the seconds.
/// They include the set-up if those of the rival do.
fn ours<'a>(parades: &'a Path, words: String, field: &'static str, with_set_up: bool) -> Side<'a> {
    Box::new(move || {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let run = child::json(parades, &words)?;
        let read = || {
            let count = if field == "events" { &run[field] } else { &run["metrics"][field] };
            let set_up = if with_set_up { run["wall_s"]["setup"].as_f64()? } else { 0.0 };
            Some(Ran { events: count.as_u64()?, seconds: set_up + run["wall_s"]["run"].as_f64()?, answer: None })
        };
        read().ok_or_else(|| cannot_read(&child::name(&words)))
    })
}

/// Starts the program of a rival, and returns the text that it prints. Files that it writes are removed.
fn printed(command: &mut Command, program: &Path) -> Result<String, Failure> {
    let folder = TempDir::new().map_err(|error| cannot_start(&error))?;
    let output = command.current_dir(&folder).output().map_err(|error| cannot_start(&error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let program = program.display();
        return Err(Failure::simulation(format!("`{program}` failed ({}): {}", output.status, said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the first number after `label` in a text.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    rest.split(|c: char| c.is_whitespace() || c == '=').find(|word| !word.is_empty())?.parse().ok()
}

/// PHOLD by ROSS: delays of 0.1 and an exponential part of mean 0.9, one event for each LP, half of them to
/// other LPs. These are the defaults of `parades run phold`. Both count committed events, and time the run
/// without its set-up.
fn ross<'a>(theirs: &'a Path, parades: &'a Path) -> Result<Vec<Work<'a>>, Failure> {
    /// LPs, and virtual seconds.
    const SIZES: [(u64, u64); 3] = [(1_024, 1_000), (16_384, 60), (262_144, 4)];
    /// ROSS's number for a way, its ranks, and the engine beside it.
    const WAYS: [(u64, usize, &str); 3] =
        [(1, 1, "sequential"), (2, 2, "window --threads 2"), (3, 2, "time-warp --threads 2")];
    let mut works = Vec::new();
    for (synch, ranks, engine) in WAYS.into_iter().filter(|(_, ranks, _)| *ranks as u64 <= cores()) {
        for (lps, until) in SIZES {
            let side = move || {
                let mut command = if ranks == 1 { Command::new(theirs) } else { mpirun(ranks) };
                if ranks > 1 {
                    command.arg(theirs);
                }
                let of_rank = lps / ranks as u64;
                command.args([format!("--synch={synch}"), format!("--nlp={of_rank}"), format!("--end={until}")]);
                command.args(["--remote=0.5", "--mean=1.0", "--lookahead=0.1", "--extramem=200000"]);
                // The lookahead by which ROSS's conservative windows advance is an option of its own.
                command.arg("--cons-lookahead=0.1");
                let said = printed(&mut command, theirs)?;
                let count = number_after(&said, "Net Events Processed");
                let seconds = number_after(&said, "Running Time");
                in_ran(count, seconds).ok_or_else(|| cannot_read(&theirs.display().to_string()))
            };
            let words = format!("phold --set lps={lps} --until {until}s --engine {engine}");
            works.push(Work {
                name: format!("PHOLD of {lps} LPs, {engine}"),
                unit: "events",
                ours: ours(parades, words, "events", false),
                theirs: Box::new(side),
            });
        }
    }
    Ok(works)
}

/// M/M/1 by Cimba: a million customers at 90 % of the server's rate, which its source fixes. It reports no
/// time, so the time of its whole process counts; that of ours includes the set-up.
fn cimba<'a>(theirs: &'a Path, parades: &'a Path) -> Result<Vec<Work<'a>>, Failure> {
    const CUSTOMERS: u32 = 1_000_000;
    let words =
        format!("mm1 --set utilisation=0.9 --set service_rate=1 --set customers={CUSTOMERS} --engine sequential");
    let side = move || {
        let (said, seconds) = timed(|| printed(&mut Command::new(theirs), theirs))?;
        let is_right = number_after(&said, "Average system time").is_some();
        let count = is_right.then_some(f64::from(CUSTOMERS));
        in_ran(count, Some(seconds)).ok_or_else(|| cannot_read(&theirs.display().to_string()))
    };
    Ok(vec![Work {
        name: "M/M/1, a million customers".to_owned(),
        unit: "customers",
        ours: ours(parades, words, "customers_left", true),
        theirs: Box::new(side),
    }])
}

/// Gossip averaging by PeerSim: in each of 20 cycles, each of 100,000 nodes sends its value to another, which
/// answers. PeerSim counts nothing. It reports no time either, so the start of its machine counts.
fn peersim<'a>(theirs: &'a Path, parades: &'a Path) -> Result<Vec<Work<'a>>, Failure> {
    const NODES: u64 = 100_000;
    const CYCLES: u64 = 20;
    let wrong = |error: std::io::Error| Failure::simulation(format!("a file for PeerSim cannot be written: {error}"));
    let mut file = NamedTempFile::new().map_err(wrong)?;
    let text = include_str!("../../rivals/peersim.txt");
    let sizes = format!("network.size {NODES}\nsimulation.endtime {}\n", CYCLES * 100_000);
    file.write_all((text.to_owned() + &sizes).as_bytes()).and_then(|()| file.flush()).map_err(wrong)?;
    let words = format!(
        "averaging --set underlay=constant --set latency=50ms --set nodes={NODES} --set cycles={CYCLES} --engine sequential"
    );
    let side = move || {
        let mut command = Command::new("java");
        command.arg("-cp").arg(theirs).arg("peersim.Simulator").arg(file.path());
        let (_, seconds) = timed(|| printed(&mut command, theirs))?;
        Ok(Ran { events: 2 * NODES * CYCLES, seconds, answer: None })
    };
    Ok(vec![Work {
        name: format!("averaging, {NODES} nodes"),
        unit: "messages",
        ours: ours(parades, words, "messages", true),
        theirs: Box::new(side),
    }])
}

/// Chord by SimGrid, message for message, with set-up on both sides.
fn simgrid<'a>(theirs: &'a Path, parades: &'a Path) -> Result<Vec<Work<'a>>, Failure> {
    const NODES: u64 = 1_000;
    const SECONDS: u64 = 1_000;
    let work = |network: &'static str| Work {
        name: format!("Chord of {NODES} nodes, network {network}"),
        unit: "messages",
        ours: Box::new(move || chord::ours(parades, network, NODES, SECONDS, "sequential").map(|run| run.ran())),
        theirs: Box::new(move || chord::theirs(theirs, network, NODES, SECONDS).map(|run| run.ran())),
    };
    Ok(chord::NETWORKS.map(work).into())
}

/// DCTCP over a fat tree by htsim, without set-up.
fn htsim<'a>(theirs: &'a Path, parades: &'a Path) -> Result<Vec<Work<'a>>, Failure> {
    const MICROSECONDS: u64 = 10_000;
    /// The payload of our packets of data, in bytes.
    const SEGMENT: u64 = 1_460;
    let wrong = |error: std::io::Error| Failure::simulation(format!("a network cannot be written: {error}"));
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().map_err(wrong)?;
    file.write_all(include_bytes!("../../rivals/htsim.toml")).and_then(|()| file.flush()).map_err(wrong)?;
    let file = Rc::new(file);
    let words = format!("{} --until {MICROSECONDS}us --engine sequential", file.path().display());
    let mut bytes = ours(parades, words, "bytes_received", false);
    Ok(vec![Work {
        name: "DCTCP, fat tree of 128 hosts".to_owned(),
        unit: "packets",
        ours: Box::new(move || {
            let _until_here = &file;
            bytes().map(|ran| Ran { events: ran.events / SEGMENT, ..ran })
        }),
        theirs: Box::new(move || {
            let said = printed(Command::new(theirs).arg(MICROSECONDS.to_string()), theirs)?;
            in_ran(number_after(&said, "packets"), number_after(&said, "seconds"))
                .ok_or_else(|| cannot_read(&theirs.display().to_string()))
        }),
    }])
}

/// The campus by ns-3, the same flows, without set-up.
fn ns3<'a>(theirs: &'a Path, parades: &'a Path) -> Result<Vec<Work<'a>>, Failure> {
    let (networks, seconds) = campus::BESIDE;
    let flows = Rc::new(campus::flows(networks)?);
    let of_ours = Rc::clone(&flows);
    Ok(vec![Work {
        name: format!("campus of {networks} networks, TCP, {seconds} s"),
        unit: "packets",
        ours: Box::new(move || {
            campus::ours(parades, networks, seconds, Some(of_ours.path()), "sequential").map(|run| run.ran())
        }),
        theirs: Box::new(move || campus::theirs(theirs, networks, seconds, flows.path()).map(|run| run.ran())),
    }])
}

/// Returns the run of a rival that has counted, and has taken some time.
fn in_ran(count: Option<f64>, seconds: Option<f64>) -> Option<Ran> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
    let events = count.filter(|count| *count >= 1.0)? as u64;
    Some(Ran { events, seconds: seconds.filter(|seconds| *seconds > 0.0)?, answer: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reports_of_rivals_are_read() {
        let ross = "\t: Running Time = 1.1123 seconds\n\n\tNet Events Processed                 1024512\n";
        let [count, seconds] = ["Net Events Processed", "Running Time"].map(|label| number_after(ross, label));
        let Ran { events, seconds, .. } = in_ran(count, seconds).expect("both are there");
        assert_eq!((events, seconds), (1_024_512, 1.1123));
        let cimba = "Average system time 10.093309 (expected 10.000000)\n";
        assert_eq!(number_after(cimba, "Average system time"), Some(10.093309));
        assert!(number_after(cimba, "Running Time").is_none() && in_ran(None, Some(1.0)).is_none());
        assert!(in_ran(Some(0.0), Some(1.0)).is_none(), "a rival that did nothing is no rival");
    }
}
