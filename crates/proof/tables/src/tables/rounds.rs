//! `bench rounds`: Chord by scheduling rounds, beside the figures published for SimGrid.

use crate::child;
use crate::record::Figure;
use crate::sides::{Ran, Rates, Side, cores, in_turn, timed};
use crate::{Measured, Options};
use comfy_table::Table;
use parades_core::round_log::RoundLog;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_engine::rounds::{self, Settings, Threshold};
use parades_p2p::chord::{Chord, Parameters};
use parades_report::drawing::table;
use parades_session::Failure;
use std::cell::Cell;
use std::fmt::Write;
use std::path::Path;

/// The published times, of `precise` with 32-bit identifiers: nodes; serial, on 2 and 8 threads (table 1), on
/// 2 and 8 threads with the adaptive threshold (table 2); GB.
const PUBLISHED: [(u32, [&str; 5], f64); 6] = [
    (10_000, ["1:03", "1:20", "1:35", "1:19", "1:27"], 0.25),
    (50_000, ["6:20", "7:39", "8:03", "7:21", "7:30"], 1.24),
    (100_000, ["13:34", "15:36", "15:50", "15:16", "14:48"], 2.47),
    (300_000, ["50:58", "55:18", "57:55", "54:48", "53:44"], 7.38),
    (500_000, ["1:38:16", "1:34:15", "1:35:10", "1:38:52", "1:31:50"], 12.30),
    (1_000_000, ["4:05:41", "4:00:42", "3:47:28", "3:59:12", "3:37:12"], 24.53),
];

/// The numbers of nodes, and the virtual seconds of each: fewer where a run would take minutes.
const SIZES: [(u32, u64); 4] = [(100, 1_000), (1_000, 1_000), (10_000, 1_000), (100_000, 200)];
/// The size at which settings are compared, and its virtual seconds.
const SETTINGS_AT: (u32, u64) = (10_000, 300);

/// A way to run: its name, engine, threads, settings. The first is the yardstick.
type Way = (&'static str, &'static str, u64, &'static [&'static str]);

const BY_SIZE: [Way; 5] = [
    ("sequential", "sequential", 1, &[]),
    ("rounds, 1 thread", "rounds", 1, &[]),
    ("rounds, 2 threads", "rounds", 2, &[]),
    ("window, 1 thread", "window", 1, &[]),
    ("window, 2 threads", "window", 2, &[]),
];

/// The settings: waiting (figure 5 of the paper), the leading thread (section 4.2), pinning (section 4.1),
/// thresholds (section 5), all combined (section 6).
const BY_SETTING: [Way; 13] = [
    ("rounds, 1 thread", "rounds", 1, &[]),
    ("2 threads", "rounds", 2, &[]),
    ("waiting=futex", "rounds", 2, &["waiting=futex"]),
    ("waiting=posix", "rounds", 2, &["waiting=posix"]),
    ("waiting=busy", "rounds", 2, &["waiting=busy"]),
    ("main=sleeps", "rounds", 2, &["main=sleeps"]),
    ("main=extra", "rounds", 2, &["main=extra"]),
    ("pinned", "rounds", 2, &["pinned=true"]),
    ("threshold=cumulative (Algorithm 1)", "rounds", 2, &["threshold=cumulative"]),
    ("threshold=naive", "rounds", 2, &["threshold=naive"]),
    ("threshold=fixed, from 250", "rounds", 2, &["threshold=fixed"]),
    ("threshold=fixed, from 2: all in parallel", "rounds", 2, &["threshold=fixed", "parallel-from=2"]),
    (
        "all of the paper's: cumulative, pinned, busy",
        "rounds",
        2,
        &["threshold=cumulative", "pinned=true", "waiting=busy"],
    ),
];

pub(super) fn measure(options: &Options) -> Result<Measured, Failure> {
    let mut found = Measured::default();
    by_size(options, &mut found)?;
    by_round(options.pairs, &mut found)?;
    by_setting(options, &mut found)?;
    Ok(found)
}

/// Returns a side whose runs are processes of their own; `peak` is the memory of the last run.
fn side<'a>(program: &'a Path, nodes: u32, seconds: u64, way: Way, peak: &'a Cell<u64>) -> Side<'a> {
    let (_, engine, threads, tune) = way;
    let mut words: Vec<String> =
        ["chord", "--set", &format!("nodes={nodes}"), "--until", &format!("{seconds}s")].map(str::to_owned).to_vec();
    words.extend(["--engine".to_owned(), engine.to_owned(), "--threads".to_owned(), threads.to_string()]);
    if threads == 1 && engine == "sequential" {
        words.truncate(words.len() - 2);
    }
    tune.iter().for_each(|setting| words.extend(["--tune".to_owned(), (*setting).to_owned()]));
    Box::new(move || {
        let child = child::run(program, &words)?;
        peak.set(child.peak_bytes);
        Ok(child.ran)
    })
}

/// Runs these ways in turn. Returns their rates, and the memory of each.
fn compare(options: &Options, nodes: u32, seconds: u64, ways: &[Way]) -> Result<(Rates, Vec<u64>), Failure> {
    let peaks = vec![Cell::new(0); ways.len()];
    let mut sides: Vec<Side<'_>> =
        ways.iter().zip(&peaks).map(|(way, peak)| side(&options.program, nodes, seconds, *way, peak)).collect();
    let rates = in_turn(&format!("Chord of {nodes} nodes"), options.pairs, &mut sides)?;
    drop(sides);
    Ok((rates, peaks.iter().map(Cell::get).collect()))
}

/// Returns the ways for which there are enough cores.
fn possible(ways: &[Way]) -> Vec<Way> {
    ways.iter().copied().filter(|(_, _, threads, _)| *threads <= cores()).collect()
}

/// Measures memory and speed-up by size, as in the paper's figures 1 and 2, tables 1 and 2.
fn by_size(options: &Options, found: &mut Measured) -> Result<(), Failure> {
    let ways = possible(&BY_SIZE);
    let headings: Vec<String> = ["nodes", "virtual", "M events/s", "B/node"]
        .map(str::to_owned)
        .into_iter()
        .chain(ways.iter().skip(1).map(|(name, ..)| format!("{name}\nover sequential")))
        .collect();
    let mut drawn = table(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    for (nodes, seconds) in SIZES {
        let (rates, peaks) = compare(options, nodes, seconds, &ways)?;
        let mut row = vec![nodes.to_string(), format!("{seconds} s"), format!("{:.2}", rates.of(0).median / 1e6)];
        row.push(format!("{}", peaks[0] / u64::from(nodes)));
        for (way, (name, ..)) in ways.iter().enumerate().skip(1) {
            let ratio = rates.ratio(way, 0);
            row.push(ratio.show(2));
            found.figures.push(Figure { name: format!("{nodes} nodes, {name}, over sequential"), spread: ratio });
        }
        drawn.add_row(row);
    }
    let _ = writeln!(found.text, "Chord, network=constant, defaults; each run in a process of its own\n{drawn}\n");
    let _ = writeln!(found.text, "{}", published());
    Ok(())
}

/// Returns the table published for SimGrid.
pub(super) fn published() -> String {
    let mut published =
        table(&["nodes", "serial", "2 threads", "8 threads", "2, adaptive", "8, adaptive", "GB", "B/node"]);
    for (nodes, times, gigabytes) in PUBLISHED {
        let mut row = vec![nodes.to_string()];
        row.extend(times.map(str::to_owned));
        row.extend([format!("{gigabytes}"), format!("{:.0}", gigabytes * 1e9 / f64::from(nodes))]);
        published.add_row(row);
    }
    format!("published for SimGrid 3.11, network=precise, 32-bit identifiers, 1000 s (tables 1 and 2)\n{published}\n")
}

/// The rounds of about one size.
#[derive(Clone, Copy, Default)]
struct Sizes {
    rounds: u64,
    events: u64,
    /// The nanoseconds of all rounds of this size: executed one by one, and in parallel.
    took: [f64; 2],
}

/// Measures the sizes of rounds, and their times one by one and in parallel, as in the paper's figures 3, 4
/// and 6.
fn by_round(pairs: u32, found: &mut Measured) -> Result<(), Failure> {
    let (nodes, seconds) = SETTINGS_AT;
    let model = Chord::model(Parameters { nodes, ..Parameters::default() }, 1)
        .map_err(|(key, why)| Failure::simulation(format!("`{key}`: {why}")))?;
    let until = Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("some minutes");
    let mut sizes = [Sizes::default(); 32];
    for _ in 0..pairs {
        for (way, from) in [u64::MAX, 2].into_iter().enumerate() {
            let settings = Settings { threshold: Threshold::Fixed(from), ..Settings::of_threads(2) };
            let log = RoundLog::new(|round| {
                let sizes = &mut sizes[round.events.max(1).ilog2() as usize];
                sizes.rounds += u64::from(way == 0);
                sizes.events += if way == 0 { round.events } else { 0 };
                sizes.took[way] += round.took.as_nanos() as f64;
                Ok(())
            });
            let options = RunOptions { rounds: Some(log), ..RunOptions::until(until) };
            let run = || rounds::run(&model, options, &settings);
            timed(|| Ran::engine(run))?;
        }
    }
    let (rounds, events) = sizes.iter().fold((0, 0), |(rounds, events), of| (rounds + of.rounds, events + of.events));
    let mut drawn =
        table(&["events", "rounds", "of rounds", "of events", "µs one by one", "µs in parallel", "speed-up"]);
    for (class, of) in sizes.iter().enumerate().filter(|(_, of)| of.rounds > 0) {
        row_of(&mut drawn, class, *of, rounds, events, pairs);
    }
    let _ = writeln!(
        found.text,
        "rounds of {nodes} nodes in {seconds} s, each timed, on 2 threads (figures 3, 4, 6; published: 26 to 48 % of rounds have one process, \n\
         those of 250 to 300 gain in 83 % of the cases, those of more than 500 always)\n{drawn}\n"
    );
    Ok(())
}

fn row_of(drawn: &mut Table, class: usize, of: Sizes, rounds: u64, events: u64, pairs: u32) {
    let (least, most) = (1_u64 << class, (2_u64 << class) - 1);
    let percent = |part: u64, whole: u64| format!("{:.1} %", 100.0 * part as f64 / whole as f64);
    let us = |way: usize| of.took[way] / of.rounds as f64 / 1e3;
    drawn.add_row([
        if least == most { format!("{least}") } else { format!("{least} to {most}") },
        format!("{}", of.rounds / u64::from(pairs)),
        percent(of.rounds, rounds),
        percent(of.events, events),
        format!("{:.2}", us(0)),
        format!("{:.2}", us(1)),
        format!("{:.2}", us(0) / us(1)),
    ]);
}

/// Compares the settings.
fn by_setting(options: &Options, found: &mut Measured) -> Result<(), Failure> {
    let ways = possible(&BY_SETTING);
    let (nodes, seconds) = SETTINGS_AT;
    let (rates, _) = compare(options, nodes, seconds, &ways)?;
    let mut drawn = table(&["", "M events/s", "over 1 thread"]);
    for (way, (name, ..)) in ways.iter().enumerate() {
        let ratio = rates.ratio(way, 0);
        drawn.add_row([(*name).to_owned(), format!("{:.2}", rates.of(way).median / 1e6), ratio.show(2)]);
        found.figures.push(Figure { name: format!("{name}, over 1 thread"), spread: ratio });
    }
    let _ = writeln!(
        found.text,
        "settings, {nodes} nodes, {seconds} s (published: busy waiting up to 3 times as fast as futexes at small sizes; the leading thread asleep, or \n\
         one worker more: no gain; all combined: faster than serial from about 300,000 nodes)\n{drawn}\n"
    );
    Ok(())
}
