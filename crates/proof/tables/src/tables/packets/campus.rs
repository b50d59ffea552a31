//! The campus with TCP: beside ns-3, and on two threads.

use crate::child::{self, output};
use crate::record::Figure;
use crate::sides::{Ran, Spread, cores, progress};
use crate::{Measured, Options};
use parades_core::random::Rng;
use parades_report::drawing::table;
use parades_session::Failure;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use tempfile::NamedTempFile;

/// The network and the virtual seconds beside ns-3.
pub(in crate::tables) const BESIDE: (u32, &str) = (2, "2.5");
/// The networks and the virtual seconds of parades alone.
const ALONE: [(u32, &str); 2] = [(2, "10"), (10, "5")];
/// The hosts of a campus.
const HOSTS: u32 = 504;

/// The results of a run of either program.
#[derive(Clone, Copy, Debug)]
pub(in crate::tables) struct Run {
    seconds: f64,
    peak_bytes: f64,
    packets: f64,
    events: f64,
}

impl Run {
    /// Returns the run as one of a side that counts packets.
    pub(in crate::tables) fn ran(self) -> Ran {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
        let events = self.packets as u64;
        Ran { events, seconds: self.seconds, answer: None }
    }
}

pub(in crate::tables) fn measure(options: &Options) -> Result<Measured, Failure> {
    let mut found = Measured::default();
    beside(options, &mut found)?;
    alone(options, &mut found)?;
    Ok(found)
}

/// Writes a file of flows that both programs read.
pub(in crate::tables) fn flows(networks: u32) -> Result<NamedTempFile, Failure> {
    let wrong = |error: std::io::Error| Failure::simulation(format!("a file of flows cannot be written: {error}"));
    let mut file = NamedTempFile::new().map_err(wrong)?;
    let rng = Rng::stream(1, 1);
    let mut text = String::new();
    for campus in 0..networks {
        for host in 0..HOSTS {
            let (server, start) = (2 + rng.below(4), 10.0 * rng.unit());
            let _ = writeln!(text, "{campus} {host} {server} {start:.9}");
        }
    }
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(wrong)?;
    Ok(file)
}

fn beside(Options { pairs, program, ns3, .. }: &Options, found: &mut Measured) -> Result<(), Failure> {
    let Some(ns3) = ns3 else {
        found.text.push_str(
            "ns-3 was skipped: build crates/proof/tables/ns3 (see its README) and give the program by --ns3 PATH\n\n",
        );
        return Ok(());
    };
    let (networks, seconds) = BESIDE;
    let file = flows(networks)?;
    let (mut our_runs, mut their_runs) = (Vec::new(), Vec::new());
    let progress = progress(*pairs, "campus with TCP beside ns-3");
    for _ in 0..*pairs {
        progress.inc(1);
        our_runs.push(ours(program, networks, seconds, Some(file.path()), "sequential")?);
        their_runs.push(theirs(ns3, networks, seconds, file.path())?);
    }
    progress.finish_and_clear();
    let mut drawn = table(&["side", "seconds", "events", "packets delivered", "peak, MB"]);
    for (name, runs) in [("parades, sequential", &our_runs), ("ns-3", &their_runs)] {
        let spread = |of: fn(&Run) -> f64| Spread::of(&runs.iter().map(of).collect::<Vec<_>>());
        drawn.add_row([
            name.to_owned(),
            spread(|run| run.seconds).show(3),
            format!("{:.0}", spread(|run| run.events).median),
            format!("{:.0}", spread(|run| run.packets).median),
            format!("{:.1}", spread(|run| run.peak_bytes).median / 1e6),
        ]);
    }
    let both = || their_runs.iter().zip(&our_runs);
    let time = Spread::of(&both().map(|(theirs, ours)| theirs.seconds / ours.seconds).collect::<Vec<_>>());
    let memory = Spread::of(&both().map(|(theirs, ours)| theirs.peak_bytes / ours.peak_bytes).collect::<Vec<_>>());
    let _ = writeln!(
        found.text,
        "campus of {networks} networks, TCP, the first {seconds} s; the time of the simulation phase\n{drawn}\n\
         ns-3's time over ours: {}; its memory: {}\n",
        time.show(1),
        memory.show(1)
    );
    found.figures.push(Figure { name: "campus, TCP: ns-3's time over ours".to_owned(), spread: time });
    found.figures.push(Figure { name: "campus, TCP: ns-3's memory over ours".to_owned(), spread: memory });
    Ok(())
}

/// Runs parades alone, on one thread and on two.
fn alone(Options { pairs, program, .. }: &Options, found: &mut Measured) -> Result<(), Failure> {
    let mut ways = vec!["sequential"];
    if cores() >= 2 {
        ways.extend(["window --threads 2", "null-message --threads 2", "time-warp --threads 2"]);
    }
    let mut drawn = table(&["networks", "virtual", "engine", "seconds", "M events/s", "peak, MB", "over sequential"]);
    for (networks, seconds) in ALONE {
        let mut runs: Vec<Vec<Run>> = ways.iter().map(|_| Vec::new()).collect();
        let progress = progress(*pairs, &format!("campus of {networks} networks with TCP"));
        for pair in 0..*pairs as usize {
            progress.inc(1);
            for step in 0..ways.len() {
                let way = (pair + step) % ways.len();
                runs[way].push(ours(program, networks, seconds, None, ways[way])?);
            }
        }
        progress.finish_and_clear();
        for (way, name) in ways.iter().enumerate() {
            let spread = |of: fn(&Run) -> f64| Spread::of(&runs[way].iter().map(of).collect::<Vec<_>>());
            let mut row = vec![networks.to_string(), format!("{seconds} s"), (*name).to_owned()];
            row.push(spread(|run| run.seconds).show(2));
            row.push(format!("{:.2}", spread(|run| run.events / run.seconds).median / 1e6));
            row.push(format!("{:.1}", spread(|run| run.peak_bytes).median / 1e6));
            if way > 0 {
                let pairs = runs[0].iter().zip(&runs[way]);
                let ratio = Spread::of(&pairs.map(|(one, two)| one.seconds / two.seconds).collect::<Vec<_>>());
                row.push(ratio.show(2));
                let name = format!("campus of {networks} networks, TCP: {name} over sequential");
                found.figures.push(Figure { name, spread: ratio });
            }
            drawn.add_row(row);
        }
    }
    let _ = writeln!(found.text, "campus with TCP, parades alone\n{drawn}\n");
    Ok(())
}

/// Runs parades with an engine and its options in words of the command line.
pub(in crate::tables) fn ours(
    program: &Path,
    networks: u32,
    seconds: &str,
    flows: Option<&Path>,
    way: &str,
) -> Result<Run, Failure> {
    let mut words = vec!["campus".to_owned(), "--until".to_owned(), format!("{seconds}s")];
    let flows = flows.map(|path| format!("flows={}", path.display()));
    for set in ["traffic=tcp".to_owned(), format!("networks={networks}")].into_iter().chain(flows) {
        words.extend(["--set".to_owned(), set]);
    }
    words.extend(std::iter::once("--engine").chain(way.split(' ')).map(str::to_owned));
    let run = child::json(program, &words)?;
    let read = || {
        Some(Run {
            seconds: run["wall_s"]["run"].as_f64()?,
            peak_bytes: run["peak_rss_bytes"].as_f64()?,
            packets: run["metrics"]["packets_delivered"].as_f64()?,
            events: run["events"].as_f64()?,
        })
    };
    read().ok_or_else(|| child::cannot_read(&child::name(&words)))
}

/// Runs the program for ns-3.
pub(in crate::tables) fn theirs(program: &Path, networks: u32, seconds: &str, flows: &Path) -> Result<Run, Failure> {
    let mut command = Command::new(program);
    command.arg(flows).args([&networks.to_string(), seconds]);
    let name = program.display().to_string();
    let run = output(&mut command, &name)?;
    let read = || {
        Some(Run {
            seconds: run["run_seconds"].as_f64()?,
            peak_bytes: run["peak_rss_bytes"].as_f64()?,
            packets: run["packets"].as_f64()?,
            events: run["events"].as_f64()?,
        })
    };
    read().ok_or_else(|| child::cannot_read(&name))
}
