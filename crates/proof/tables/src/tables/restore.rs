//! `bench restore`: state restored by copy, by a log written by hand, by a generated one and by a reverse
//! handler, for small and for large state.
//!
//! All ways run the same model, and `sequential` runs it beside them. So all ways must have the digest of
//! `sequential`.

mod store;

use super::phold::{stat, until};
use crate::record::Figure;
use crate::sides::{Ran, Rates, SetUp, Side, Spread, cores, in_turn};
use crate::{Measured, Options};
use comfy_table::{CellAlignment, Table};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::retreat::Retreats;
use parades_engine::sequential;
use parades_engine::time_warp::{self, Ahead, Settings};
use parades_report::drawing::table;
use parades_session::Failure;
use std::cell::RefCell;
use store::{Copied, Generated, Logged, MEAN_DELAY, REMOTE, Reversed, State, Store};

/// A way to restore state of some size.
struct Way {
    name: &'static str,
    /// The bytes that the records of an execution take in the log.
    record_bytes: usize,
    /// Of this number of executions of an LP, one leaves records.
    copy_every: u16,
    run: fn(lps: u32, until: Time, settings: &Settings) -> Result<Outcome, Error>,
}

const fn way<R, const W: usize>(name: &'static str, records: usize) -> Way
where
    Store<R, W>: Restorable,
{
    Way {
        name,
        record_bytes: records * size_of::<Option<<Store<R, W> as Restorable>::Undo>>(),
        copy_every: 1,
        run: |lps, until, settings| time_warp::run(&Store::<R, W>::of(lps), RunOptions::until(until), settings),
    }
}

/// The number of executions of an LP for each copy, in the way that does not copy at every execution.
const COPY_EVERY: u16 = 8;

/// A row group of the table.
struct Size {
    state_bytes: usize,
    lps: u32,
    /// Runs without any way to restore.
    sequential: fn(lps: u32, until: Time) -> Result<Outcome, Error>,
    ways: [Way; WAYS],
}

/// The number of ways.
const WAYS: usize = 5;
/// The place of copies among the ways.
const COPY: usize = 0;
/// The place of the log written by hand.
const LOG: usize = 2;

const fn size<const W: usize>(lps: u32) -> Size {
    let changes = if W == 0 { 2 } else { 3 };
    Size {
        state_bytes: size_of::<State<W>>(),
        lps,
        sequential: |lps, until| sequential::run(&Store::<Copied, W>::of(lps), RunOptions::until(until)),
        ways: [
            way::<Copied, W>("copy", 1),
            Way { copy_every: COPY_EVERY, ..way::<Copied, W>("copy, each 8th", 1) },
            way::<Logged, W>("undo log", changes),
            way::<Generated, W>("generated log", changes),
            way::<Reversed, W>("reverse handler", 1),
        ],
    }
}

const SIZES: [Size; 3] = [size::<0>(MANY), size::<512>(MANY), size::<512>(FEW)];

/// The larger number of LPs. With the large state their records do not fit the caches of a core, and few LPs
/// execute twice before they commit.
const MANY: u32 = 4_096;
/// The smaller number of LPs. Most of them execute several times before they commit.
const FEW: u32 = 64;
/// The approximate number of events of a run.
const EVENTS: u64 = 4_000_000;

impl Size {
    /// Returns the virtual seconds of a run. An LP executes about one event in each.
    fn seconds(&self) -> u64 {
        EVENTS / u64::from(self.lps)
    }
}

/// The settings of `time-warp`.
struct Mode {
    name: &'static str,
    threads: usize,
    /// True if workers fall behind now and then, so that more is rolled back.
    stalls: bool,
}

const MODES: [Mode; 3] = [
    Mode { name: "time-warp, 1 thread", threads: 1, stalls: false },
    Mode { name: "time-warp, 2 threads", threads: 2, stalls: false },
    Mode { name: "time-warp, 2 threads, stalls", threads: 2, stalls: true },
];

/// The number of events that stalling workers go ahead. It is the same for all ways, even for those that lose
/// time by it.
const AHEAD: u32 = 1_024;

impl Mode {
    fn settings(&self) -> Settings {
        // A single worker rolls nothing back, so no run may switch to one.
        let settings = Settings { retreats: Retreats::Never, ..Settings::of_threads(self.threads) };
        if self.stalls {
            return Settings { ahead: Ahead::Events(AHEAD), stalls: Some(1), ..settings };
        }
        settings
    }
}

/// Returns the modes that the machine has enough cores for.
fn modes() -> impl Iterator<Item = &'static Mode> {
    MODES.iter().filter(|mode| mode.threads as u64 <= cores())
}

/// The statistics of the engine, an entry for each run.
#[derive(Default)]
struct Statistics {
    /// Rollbacks for each committed event.
    rollbacks: Vec<f64>,
    /// Events coasted forward for each committed event.
    coasted: Vec<f64>,
    /// The share of executions that were committed.
    efficiency: Vec<f64>,
    /// The largest number of executions in the history of a worker.
    history: Vec<f64>,
    /// The largest number of bytes of pending events and, if there is one, of the history.
    bytes: Vec<f64>,
}

impl Statistics {
    fn add(&mut self, outcome: &Outcome) {
        self.rollbacks.push(stat(outcome, "rollbacks") / outcome.events as f64);
        self.coasted.push(stat(outcome, "coasted") / outcome.events as f64);
        self.efficiency.push(stat(outcome, "efficiency"));
        self.history.push(stat(outcome, "history_max"));
        self.bytes.push(stat(outcome, "pending_bytes"));
    }
}

/// Returns a side, which is run until the given time. Set-up does not count: a run of no virtual time is
/// timed, and its time subtracted.
fn side<'a>(
    statistics: &'a RefCell<Statistics>,
    seconds: u64,
    run: impl Fn(Time) -> Result<Outcome, Error> + 'a,
) -> Side<'a> {
    let mut set_up = SetUp::default();
    Box::new(move || {
        let set_up = set_up.seconds(|| Ok(Ran::engine(|| run(Time::from_ps(1)))?.0))?;
        let (ran, outcome) = Ran::engine(|| run(until(seconds)))?;
        statistics.borrow_mut().add(&outcome);
        Ok(Ran { seconds: ran.seconds - set_up, ..ran })
    })
}

/// The findings for a size: `sequential` first, then each mode in each way.
struct Found {
    rates: Rates,
    statistics: Vec<Statistics>,
}

fn find(size: &Size, pairs: u32) -> Result<Found, Failure> {
    let (run, lps, seconds) = (size.sequential, size.lps, size.seconds());
    let statistics: Vec<RefCell<Statistics>> =
        (0..=modes().count() * size.ways.len()).map(|_| RefCell::default()).collect();
    let mut sides = vec![side(&statistics[0], seconds, move |until| run(lps, until))];
    let each = modes().flat_map(|mode| {
        let settings = move |way: &Way| Settings { copy_every: Some(way.copy_every), ..mode.settings() };
        size.ways.iter().map(move |way| (settings(way), way.run))
    });
    sides.extend(
        each.zip(&statistics[1..])
            .map(|((settings, run), statistics)| side(statistics, seconds, move |until| run(lps, until, &settings))),
    );
    let rates = in_turn(&format!("ways to restore state of {} B, {lps} LPs", size.state_bytes), pairs, &mut sides)?;
    drop(sides);
    Ok(Found { rates, statistics: statistics.into_iter().map(RefCell::into_inner).collect() })
}

const HEADINGS: [&str; 14] = [
    "state",
    "LPs",
    "engine",
    "restored by",
    "bytes of records of\none that leaves any",
    "ns an\nevent",
    "ratio to\nsequential",
    "ratio to\ncopy",
    "ratio to\nundo log",
    "rollbacks per\n1,000 events",
    "executed again per\n1,000 events",
    "efficiency",
    "history\nat most",
    "MB waiting\nand history",
];

/// The columns of words.
const WORDS: [usize; 2] = [2, 3];

fn draw(drawn: &mut Table, figures: &mut Vec<Figure>, size: &Size, Found { rates, statistics }: &Found) {
    let (state, lps) = (format!("{} B", size.state_bytes), size.lps.to_string());
    let median = |values: &[f64]| Spread::of(values).median;
    let ns = |side: usize| format!("{:.1}", 1e9 / rates.of(side).median);
    let mb = |side: usize| format!("{:.2}", median(&statistics[side].bytes) / 1e6);
    let none = String::new;
    drawn.add_row([
        state.clone(),
        lps.clone(),
        "sequential".into(),
        none(),
        none(),
        ns(0),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        mb(0),
    ]);
    for (index, mode) in modes().enumerate() {
        let first = 1 + index * size.ways.len();
        for (way, side) in size.ways.iter().zip(first..) {
            let mut figure = |what: &str, spread: Spread| {
                figures.push(Figure {
                    name: format!("{state}, {lps} LPs, {}, {}, {what}", mode.name, way.name),
                    spread: spread.clone(),
                });
                spread
            };
            let Statistics { rollbacks, coasted, efficiency, history, .. } = &statistics[side];
            let to_sequential = figure("ratio to sequential", rates.ratio(side, 0)).show(2);
            let mut to = |what: &str, other: usize| {
                if side == other { none() } else { figure(what, rates.ratio(side, other)).show(2) }
            };
            let (to_copy, to_log) = (to("ratio to copy", first + COPY), to("ratio to undo log", first + LOG));
            drawn.add_row([
                none(),
                none(),
                if side == first { mode.name.to_owned() } else { none() },
                way.name.to_owned(),
                way.record_bytes.to_string(),
                ns(side),
                to_sequential,
                to_copy,
                to_log,
                format!("{:.1}", 1e3 * median(rollbacks)),
                format!("{:.1}", 1e3 * median(coasted)),
                format!("{:.3}", figure("efficiency", Spread::of(efficiency)).median),
                format!("{:.0}", median(history)),
                mb(side),
            ]);
        }
    }
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let (mut drawn, mut figures) = (table(&HEADINGS), Vec::new());
    for column in WORDS {
        if let Some(words) = drawn.column_mut(column) {
            words.set_cell_alignment(CellAlignment::Left);
        }
    }
    for size in &SIZES {
        let found = find(size, pairs)?;
        draw(&mut drawn, &mut figures, size, &found);
    }
    let mut text = format!(
        "LPs of two counters and 0 or 512 words, of which each event changes the counters and one word; remote {REMOTE}, lookahead 0,\n\
         mean delay {MEAN_DELAY}; digest on, every digest the same. No side's set-up counts\n{drawn}\n\
         ratio: of events per second. stalls: workers fall behind now and then, and go about {AHEAD} events ahead whatever that costs. With two\n\
         threads none goes on alone. efficiency: of what was executed, the share that was kept; history: executions in that of a worker, at most\n"
    );
    if modes().count() < MODES.len() {
        text.push_str("one core is available: nothing was measured with two threads\n");
    }
    Ok(Measured { text, figures })
}

#[cfg(test)]
mod tests;
