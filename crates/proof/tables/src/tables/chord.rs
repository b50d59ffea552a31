//! `bench chord`: Chord on both networks, beside the same protocol in SimGrid's API, and at larger sizes.

use super::rounds;
use crate::child::{self, output};
use crate::record::Figure;
use crate::sides::{Ran, Spread, cores, progress};
use crate::{Measured, Options};
use parades_report::drawing::table;
use parades_session::Failure;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The sizes at which SimGrid runs too, and their virtual seconds.
const BESIDE: [(u64, u64); 2] = [(1_000, 1_000), (10_000, 100)];
/// The sizes of parades alone: nodes, virtual seconds, the greatest number of runs.
const ALONE: [(u64, u64, u32); 2] = [(10_000, 1_000, 3), (100_000, 1_000, 1)];
const LARGE: (u64, u64, u32) = (1_000_000, 1_000, 1);
pub(super) const NETWORKS: [&str; 2] = ["constant", "precise"];
/// A number of nodes so small that its part of the memory of the process can be neglected.
const FEW: u64 = 16;

/// The results of a run of either program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    seconds: f64,
    peak_bytes: f64,
    messages: f64,
    /// The number of events, which only parades reports.
    events: f64,
}

impl Run {
    /// Returns the run as one of a side that counts messages.
    pub(super) fn ran(self) -> Ran {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
        let events = self.messages as u64;
        Ran { events, seconds: self.seconds, answer: None }
    }
}

/// The program of a run.
#[derive(Clone, Copy, Debug)]
enum Side<'a> {
    /// Parades, with an engine and its options in words of the command line.
    Ours(&'static str),
    /// The program for SimGrid.
    SimGrid(&'a Path),
}

impl Side<'_> {
    fn run(self, parades: &Path, network: &str, nodes: u64, seconds: u64) -> Result<Run, Failure> {
        match self {
            Side::Ours(way) => ours(parades, network, nodes, seconds, way),
            Side::SimGrid(program) => theirs(program, network, nodes, seconds),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Side::Ours(way) => way,
            Side::SimGrid(_) => "SimGrid",
        }
    }
}

/// Several runs of a side at one size.
#[derive(Debug, Default)]
struct Runs(Vec<Run>);

impl Runs {
    fn spread(&self, of: impl Fn(&Run) -> f64) -> Spread {
        Spread::of(&self.0.iter().map(of).collect::<Vec<_>>())
    }

    /// Returns the bytes of memory per node, without `base`, the memory of a run of few nodes.
    fn per_node(&self, nodes: u64, base: f64) -> Spread {
        self.spread(|run| (run.peak_bytes - base).max(0.0) / nodes as f64)
    }
}

pub(super) fn measure(options: &Options) -> Result<Measured, Failure> {
    let mut found = Measured::default();
    beside(options, &mut found)?;
    alone(options, &mut found)?;
    let _ = writeln!(found.text, "{}", rounds::published());
    Ok(found)
}

/// Runs both programs in turn.
fn beside(options: &Options, found: &mut Measured) -> Result<(), Failure> {
    let Options { pairs, program, .. } = options;
    let (pairs, simgrid) = (*pairs, options.simgrid.as_deref());
    let headings =
        ["network", "nodes", "virtual", "side", "seconds", "messages", "B/node", "SimGrid's time", "its memory"];
    let mut drawn = table(&headings);
    for network in NETWORKS {
        let mut sides = vec![Side::Ours("sequential")];
        // Executing LP by LP needs lookahead, and the network `precise` has none.
        sides.extend((network == "constant").then_some(Side::Ours("window --threads 1 --tune order=lp")));
        sides.extend(simgrid.map(Side::SimGrid));
        let bases = sides.iter().map(|side| Ok(side.run(program, network, FEW, 1)?.peak_bytes));
        let bases = bases.collect::<Result<Vec<f64>, Failure>>()?;
        for (nodes, seconds) in BESIDE {
            let mut runs: Vec<Runs> = sides.iter().map(|_| Runs::default()).collect();
            let progress = progress(pairs, &format!("Chord of {nodes} nodes, {network}"));
            for pair in 0..pairs as usize {
                progress.inc(1);
                for step in 0..sides.len() {
                    let side = (pair + step) % sides.len();
                    runs[side].0.push(sides[side].run(program, network, nodes, seconds)?);
                }
            }
            progress.finish_and_clear();
            for (side, of) in sides.iter().enumerate() {
                let memory = runs[side].per_node(nodes, bases[side]);
                let mut row = vec![network.to_owned(), nodes.to_string(), format!("{seconds} s"), of.name().to_owned()];
                row.push(runs[side].spread(|run| run.seconds).show(2));
                row.push(format!("{:.0}", runs[side].spread(|run| run.messages).median));
                row.push(format!("{:.0}", memory.median));
                if let (Side::Ours(way), Some(_)) = (of, simgrid) {
                    let theirs = &runs[sides.len() - 1];
                    let pairs = theirs.0.iter().zip(&runs[side].0);
                    let ratio =
                        Spread::of(&pairs.map(|(theirs, ours)| theirs.seconds / ours.seconds).collect::<Vec<_>>());
                    row.push(format!("x {}", ratio.show(1)));
                    let theirs = theirs.per_node(nodes, bases[sides.len() - 1]);
                    row.push(format!("x {:.1}", theirs.median / memory.median.max(1.0)));
                    let name = format!("{network}, {nodes} nodes: SimGrid's time over that of {way}");
                    found.figures.push(Figure { name, spread: ratio });
                }
                drawn.add_row(row);
            }
        }
    }
    let _ = writeln!(
        found.text,
        "Chord beside SimGrid, one thread, each run in a process of its own, set-up included\n{drawn}"
    );
    found.text.push_str(match simgrid {
        Some(_) => "SimGrid runs the same protocol with other random numbers; its network `constant` has a latency of its own\n\n",
        None => "SimGrid was skipped: build crates/systems/p2p/simgrid (see its README) and give the program by --simgrid PATH\n\n",
    });
    Ok(())
}

/// Runs parades alone, on one thread and on two.
fn alone(Options { pairs, program, large, .. }: &Options, found: &mut Measured) -> Result<(), Failure> {
    let headings =
        ["network", "nodes", "virtual", "engine", "seconds", "M events/s", "M messages/s", "B/node", "over sequential"];
    let mut drawn = table(&headings);
    let sizes = ALONE.into_iter().chain(large.then_some(LARGE));
    for (nodes, seconds, times) in sizes {
        for network in NETWORKS {
            // The network `precise` has no lookahead.
            let parallel =
                if network == "constant" { "window --threads 2 --tune order=lp" } else { "rounds --threads 2" };
            let mut ways = vec!["sequential"];
            ways.extend((cores() >= 2).then_some(parallel));
            let bases = ways.iter().map(|&way| Ok(ours(program, network, FEW, 1, way)?.peak_bytes));
            let bases = bases.collect::<Result<Vec<f64>, Failure>>()?;
            let times = times.min(*pairs);
            let mut runs: Vec<Runs> = ways.iter().map(|_| Runs::default()).collect();
            let progress = progress(times, &format!("Chord of {nodes} nodes, {network}"));
            for pair in 0..times as usize {
                progress.inc(1);
                for step in 0..ways.len() {
                    let way = (pair + step) % ways.len();
                    runs[way].0.push(ours(program, network, nodes, seconds, ways[way])?);
                }
            }
            progress.finish_and_clear();
            for (way, name) in ways.iter().enumerate() {
                let of = &runs[way];
                let mut row = vec![network.to_owned(), nodes.to_string(), format!("{seconds} s")];
                row.push((*name).to_owned());
                row.push(of.spread(|run| run.seconds).show(1));
                row.push(format!("{:.2}", of.spread(|run| run.events / run.seconds).median / 1e6));
                row.push(format!("{:.2}", of.spread(|run| run.messages / run.seconds).median / 1e6));
                row.push(format!("{:.0}", of.per_node(nodes, bases[way]).median));
                if way > 0 {
                    let pairs = runs[0].0.iter().zip(&of.0);
                    let ratio = Spread::of(&pairs.map(|(one, two)| one.seconds / two.seconds).collect::<Vec<_>>());
                    row.push(ratio.show(2));
                    let name = format!("{network}, {nodes} nodes: {name} over sequential");
                    found.figures.push(Figure { name, spread: ratio });
                }
                drawn.add_row(row);
            }
        }
    }
    let _ = writeln!(found.text, "Chord at larger sizes, at most {} runs each\n{drawn}\n", ALONE[0].2);
    Ok(())
}

/// Runs parades, set-up included, with an engine and its options in words of the command line.
pub(super) fn ours(program: &Path, network: &str, nodes: u64, seconds: u64, way: &str) -> Result<Run, Failure> {
    let mut words = vec!["chord".to_owned(), "--until".to_owned(), format!("{seconds}s")];
    for set in [format!("nodes={nodes}"), format!("network={network}")] {
        words.extend(["--set".to_owned(), set]);
    }
    words.extend(std::iter::once("--engine").chain(way.split(' ')).map(str::to_owned));
    let run = child::json(program, &words)?;
    let read = || {
        let seconds = run["wall_s"]["setup"].as_f64()? + run["wall_s"]["run"].as_f64()?;
        let (peak_bytes, events) = (run["peak_rss_bytes"].as_f64()?, run["events"].as_f64()?);
        Some(Run { seconds, peak_bytes, messages: run["metrics"]["messages"].as_f64()?, events })
    };
    read().ok_or_else(|| child::cannot_read(&child::name(&words)))
}

/// Runs the program for SimGrid.
pub(super) fn theirs(program: &Path, network: &str, nodes: u64, seconds: u64) -> Result<Run, Failure> {
    let mut command = Command::new(program);
    command.args([nodes.to_string(), seconds.to_string(), network.to_owned()]);
    let name = program.display().to_string();
    let run = output(&mut command, &name)?;
    let wrong = run["wrong_successors"].as_u64();
    if wrong.is_none_or(|wrong| wrong > 0 && seconds >= 1_000) {
        return Err(Failure::simulation(format!(
            "`{name}` with {nodes} nodes for {seconds} s does not end in the right ring"
        )));
    }
    let read = || {
        let (seconds, peak_bytes) = (run["wall_s"].as_f64()?, run["peak_rss_bytes"].as_f64()?);
        Some(Run { seconds, peak_bytes, messages: run["messages"].as_f64()?, events: 0.0 })
    };
    read().ok_or_else(|| child::cannot_read(&name))
}
