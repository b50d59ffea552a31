//! `bench phold`, `bench phold-zero`, `bench phold-remote`: engines beside a loop without a kernel.

use crate::bare::{Bare, Entry, Keyed, Short};
use crate::probe::{self, arithmetic};
use crate::record::Figure;
use crate::sides::{Ran, Rates, SetUp, Side, Spread, choice, cores, in_turn, simulation};
use crate::{Measured, Options};
use comfy_table::{CellAlignment, Table};
use parades_catalog::{Choice, Simulation};
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_report::drawing::table;
use parades_session::Failure;
use std::cell::Cell;
use std::fmt::Write;

/// A group of rows of the table.
#[derive(Clone, Copy)]
struct Size {
    lps: u32,
    start_events: u32,
    /// The virtual seconds of the engines.
    seconds: u64,
    /// The virtual milliseconds of the bare loops: fewer at sizes where the loops are slow.
    bare_ms: u64,
}

const fn size(start_events: u32, lps: u32, seconds: u64, bare_ms: u64) -> Size {
    Size { lps, start_events, seconds, bare_ms }
}

/// One workload at several sizes.
struct Block {
    lookahead: Delay,
    remote: f64,
    sizes: &'static [Size],
}

const LOOKAHEAD: Delay = Delay::from_ms(100);
const REMOTE: f64 = 0.5;
const MEAN_DELAY: Delay = Delay::from_secs(1);

/// PHOLD by number of start events. Runs with 16 million pending events are shorter, so that five pairs take
/// some minutes in all.
const PHOLD: [Block; 2] = [
    Block {
        lookahead: LOOKAHEAD,
        remote: REMOTE,
        sizes: &[
            size(1, 1_024, 16_000, 4_000_000),
            size(1, 16_384, 1_000, 240_000),
            size(1, 262_144, 60, 8_000),
            size(1, 1_048_576, 30, 3_000),
        ],
    },
    Block {
        lookahead: LOOKAHEAD,
        remote: REMOTE,
        sizes: &[
            size(8, 1_024, 2_000, 500_000),
            size(8, 16_384, 120, 20_000),
            size(8, 262_144, 8, 1_000),
            size(8, 1_048_576, 5, 400),
        ],
    },
];

const ZERO: [Block; 1] = [Block {
    lookahead: Delay::ZERO,
    remote: REMOTE,
    sizes: &[size(1, 1_024, 16_000, 4_000_000), size(1, 16_384, 1_000, 240_000), size(1, 262_144, 60, 8_000)],
}];

/// PHOLD by the share of events that go to other logical processes.
const BY_REMOTE: [Block; 2] = [
    Block { lookahead: LOOKAHEAD, remote: 0.1, sizes: LARGE },
    Block { lookahead: LOOKAHEAD, remote: 1.0, sizes: LARGE },
];
const LARGE: &[Size] = &[size(1, 262_144, 60, 8_000), size(1, 1_048_576, 30, 3_000)];

/// The engines, which are the sides before the bare loops. The engines on one thread come first. Those that
/// also run on two threads follow, in the same order.
const ENGINES: [(&str, &str, u64); 5] = [
    ("sequential", "sequential", 1),
    ("window, 1 thread", "window", 1),
    ("time-warp, 1 thread", "time-warp", 1),
    ("window, 2 threads", "window", 2),
    ("time-warp, 2 threads", "time-warp", 2),
];
/// The number of engines on one thread.
const ON_ONE: usize = 3;

/// Returns the end of a run of this length.
pub(super) fn until(seconds: u64) -> Time {
    Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("some hours at most")
}

fn phold(
    &Block { lookahead, remote, .. }: &Block,
    Size { lps, start_events, .. }: Size,
) -> Result<Simulation, Failure> {
    let lookahead = lookahead.as_secs_f64();
    let set = [
        format!("lps={lps}"),
        format!("start_events={start_events}"),
        format!("remote={remote}"),
        format!("lookahead={lookahead}"),
    ];
    simulation("phold", &set)
}

/// Returns an engine statistic, or NaN if the engine does not have it.
pub(super) fn stat(outcome: &Outcome, name: &str) -> f64 {
    outcome.engine_stats.iter().find(|(stat, _)| *stat == name).map_or(f64::NAN, |&(_, value)| value)
}

/// Returns the memory of the pending set when it was largest, divided by the number of its events at that
/// time.
pub(super) fn pending_bytes_an_event(outcome: &Outcome) -> f64 {
    stat(outcome, "pending_bytes") / stat(outcome, "pending_events_max")
}

/// Returns the bytes that the kernel keeps for a logical process beside the model's state, padding included.
pub(super) fn state_overhead(outcome: &Outcome) -> f64 {
    stat(outcome, "lp_bytes") - stat(outcome, "state_bytes")
}

/// The measurements at one size. The sides are the engines, the two bare loops, and then the loops of
/// arithmetic: of each kind, one on one thread and one on two.
struct Found {
    rates: Rates,
    engines: usize,
    /// The bytes of an event and of a logical process, by engine.
    bytes: Vec<(f64, f64)>,
}

impl Found {
    fn short(&self) -> usize {
        self.engines
    }

    fn keyed(&self) -> usize {
        self.engines + 1
    }

    /// Returns the gain of a second thread of arithmetic in each round: with one chain, and with several.
    fn gains(&self) -> [Vec<f64>; 2] {
        let first = self.engines + 2;
        [(first + 1, first), (first + 3, first + 2)].map(|(two, one)| self.rates.ratios(two, one).collect())
    }
}

/// Returns the bare loop of this size and its number of events. The loop is shorter than the engines' runs,
/// so its number of events is compared once with a run of the same length.
fn bare(block: &Block, size: Size) -> Result<(Bare, u64), Failure> {
    let Size { lps, start_events, bare_ms, .. } = size;
    let &Block { remote, lookahead, .. } = block;
    let mean_delay = MEAN_DELAY;
    let until = Time::ZERO.checked_add(Delay::from_ms(bare_ms)).expect("some hours at most");
    let (phold, sequential) = (phold(block, size)?, choice("sequential", 1, &[])?);
    let (ran, _) = Ran::engine(|| phold.run(&sequential, RunOptions::until(until)))?;
    Ok((Bare { lps, start_events, remote, lookahead, mean_delay, until_ps: until.as_ps(), seed: 1 }, ran.events))
}

/// Returns a side that runs an engine and notes the bytes of an event and of a logical process. As in the
/// bare loops, set-up does not count. Its time is that of a run of no virtual time, which sets up and
/// concludes.
fn engine<'a>(size: Size, phold: &'a Simulation, engine: Choice, bytes: &'a Cell<(f64, f64)>) -> Side<'a> {
    // The number of pending events never changes.
    let waiting = f64::from(size.lps) * f64::from(size.start_events);
    let mut set_up = SetUp::default();
    Box::new(move || {
        let set_up =
            set_up.seconds(|| Ok(Ran::engine(|| phold.run(&engine, RunOptions::until(Time::from_ps(1))))?.0))?;
        let (ran, outcome) = Ran::engine(|| phold.run(&engine, RunOptions::until(until(size.seconds))))?;
        bytes.set((stat(&outcome, "pending_bytes") / waiting, state_overhead(&outcome)));
        Ok(Ran { seconds: ran.seconds - set_up, ..ran })
    })
}

/// Returns a side that runs a bare loop, which must execute `expected` events.
fn bare_loop<E: Entry>(bare: Bare, expected: u64) -> Side<'static> {
    Box::new(move || match bare.run::<E>()? {
        Ran { events, .. } if events != expected => Err(Failure::simulation(format!(
            "the bare loop executed {events} events and `sequential` {expected}: they cannot be compared"
        ))),
        ran => Ok(ran),
    })
}

fn find(block: &Block, size: Size, pairs: u32) -> Result<Found, Failure> {
    let Size { lps, start_events, .. } = size;
    let phold = &phold(block, size)?;
    let (bare, expected) = bare(block, size)?;
    let engines = if cores() >= 2 { &ENGINES[..] } else { &ENGINES[..ON_ONE] };
    let bytes: Vec<Cell<(f64, f64)>> = engines.iter().map(|_| Cell::default()).collect();
    let with_bytes = engines.iter().zip(&bytes);
    let mut sides = with_bytes
        .map(|(&(_, name, threads), bytes)| Ok(engine(size, phold, choice(name, threads, &[])?, bytes)))
        .collect::<Result<Vec<Side<'_>>, Failure>>()?;
    sides.extend([bare_loop::<Short>(bare, expected), bare_loop::<Keyed>(bare, expected)]);
    if cores() >= 2 {
        sides.extend([arithmetic::<1>(1), arithmetic::<1>(2), arithmetic::<4>(1), arithmetic::<4>(2)]);
    }
    let rates = in_turn(&format!("PHOLD, {lps} LPs, start events {start_events}"), pairs, &mut sides)?;
    drop(sides);
    Ok(Found { rates, engines: engines.len(), bytes: bytes.into_iter().map(Cell::into_inner).collect() })
}

fn draw(drawn: &mut Table, figures: &mut Vec<Figure>, block: &Block, size: Size, found: &Found) {
    let Size { lps, start_events, .. } = size;
    let (rates, short, keyed) = (&found.rates, found.short(), found.keyed());
    let mut events = if start_events == 1 { String::new() } else { format!("{start_events} start events, ") };
    if block.lookahead != LOOKAHEAD {
        let _ = write!(events, "lookahead {}, ", block.lookahead);
    }
    if block.remote.total_cmp(&REMOTE).is_ne() {
        let _ = write!(events, "remote {}, ", block.remote);
    }
    for (side, ((name, ..), (event_bytes, lp_bytes))) in ENGINES.iter().zip(&found.bytes).enumerate() {
        let of = if side == 0 { String::new() } else { format!("{name}, ") };
        let mut figure = |to: usize, what: &str| {
            let spread = rates.ratio(side, to);
            figures.push(Figure { name: format!("{events}{lps} LPs, {of}ratio to {what}"), spread: spread.clone() });
            spread
        };
        let rate = rates.of(side).median;
        let only_first = |text: String| if side == 0 { text } else { String::new() };
        drawn.add_row([
            only_first(lps.to_string()),
            (*name).to_owned(),
            format!("{:.2}", rate / 1e6),
            format!("{:.1}", 1e9 / rate),
            only_first(format!("{:.2}", rates.of(short).median / 1e6)),
            figure(short, "the bare loop").show(2),
            only_first(format!("{:.2}", rates.of(keyed).median / 1e6)),
            figure(keyed, "the keyed loop").show(2),
            if side >= ON_ONE { figure(side - ON_ONE + 1, "one thread").show(2) } else { String::new() },
            format!("{event_bytes:.1}"),
            format!("{lp_bytes:.0}"),
        ]);
    }
}

const HEADINGS: [&str; 11] = [
    "LPs",
    "engine",
    "M\nevents/s",
    "ns an\nevent",
    "bare\nloop",
    "ratio to the\nbare loop",
    "keyed\nloop",
    "ratio to the\nkeyed loop",
    "ratio to\none thread",
    "bytes\nan event",
    "bytes\nan LP",
];

/// Measures with lookahead, by number of start events.
pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    measure_blocks(&PHOLD, pairs)
}

/// Measures without lookahead.
pub(super) fn measure_zero(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    measure_blocks(&ZERO, pairs)
}

/// Measures by the share of events that go to other logical processes.
pub(super) fn measure_remote(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    measure_blocks(&BY_REMOTE, pairs)
}

fn measure_blocks(blocks: &[Block], pairs: u32) -> Result<Measured, Failure> {
    let (mut figures, mut gains) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut text = format!("PHOLD, mean delay {MEAN_DELAY}; digest on\n");
    for block in blocks {
        let mut drawn = table(&HEADINGS);
        if let Some(engines) = drawn.column_mut(1) {
            engines.set_cell_alignment(CellAlignment::Left);
        }
        for &size in block.sizes {
            let found = find(block, size, pairs)?;
            draw(&mut drawn, &mut figures, block, size, &found);
            if cores() >= 2 {
                gains.iter_mut().zip(found.gains()).for_each(|(all, more)| all.extend(more));
            }
        }
        let Block { lookahead, remote, sizes } = block;
        let start_events = sizes[0].start_events;
        let _ =
            writeln!(text, "remote {remote}, lookahead {lookahead}, start events of an LP: {start_events}\n{drawn}");
    }
    text.push_str(
        "bare loop: BinaryHeap of 16-byte entries, no order of ties; keyed loop: 24 bytes, time, sender, sequence, receiver. Both for less virtual\n\
         time where they are slow. No side's set-up counts\n\
         bytes an event: memory of the pending set over the events it holds; bytes an LP: beside the model's state\n",
    );
    let machine = probe::measure(pairs)?;
    let _ = writeln!(
        text,
        "the machine: {} ns for a dependent read of a random cache line in 256 MiB, {:.1} GB/s read in order",
        machine.random_ns.show(0),
        machine.stream_bytes_per_s.median / 1e9
    );
    text.push_str(&limit(&gains, &mut figures));
    Ok(Measured { text, figures })
}

/// Returns a sentence on the greatest gain that two threads could have while the tables were made.
fn limit([one_chain, chains]: &[Vec<f64>; 2], figures: &mut Vec<Figure>) -> String {
    if one_chain.is_empty() {
        return "one core is available: nothing was measured with two threads\n".to_owned();
    }
    let [one_chain, chains] = [one_chain, chains].map(|gains| Spread::of(gains));
    figures.push(Figure { name: "arithmetic, two threads over one".into(), spread: one_chain.clone() });
    figures.push(Figure { name: "arithmetic in four chains, two threads over one".into(), spread: chains.clone() });
    format!(
        "the machine's limit, in the same rounds: two threads of plain arithmetic do {} times the work of one in a second;\n\
         where it fills the core, {} times\n",
        one_chain.show(2),
        chains.show(2)
    )
}
