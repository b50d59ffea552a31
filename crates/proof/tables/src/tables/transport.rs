//! `bench transport`: the time of a message between processes of one machine, beside the figures 5 to 7 of Li
//! et al., *Towards Order-Preserving and Zero-Copy Communication on Shared Memory for Large Scale
//! Simulation*.
//!
//! The paper draws its times and prints none. It prints the ratios of ZeROshm to MPI, which stand beside
//! ours.
//!
//! *Ours* is our side in batches: messages are written in the lane of their receiver, as a run writes events,
//! and without a form, as the rivals send bytes. In place, a message is a payload ([`Bytes`]) of its own from
//! [`ARENA_MIN`] on, with all that one costs: its memory, references, and its place in a frame. Events of which
//! many share one payload are sent like this. A rank that finds no room receives, as a worker of a run does, and
//! as the rivals do.
//!
//! [`Bytes`]: parades_core::bytes::Bytes
//! [`ARENA_MIN`]: parades_core::bytes::ARENA_MIN

mod cost;
#[cfg(target_os = "linux")]
mod ours;
#[cfg(not(target_os = "linux"))]
#[path = "transport/absent.rs"]
mod ours;
mod rivals;

use crate::record::Figure;
use crate::sides::{Spread, progress};
use crate::{Measured, Options};
use ours::Payload;
use parades_report::drawing::table;
use parades_session::Failure;
pub(super) use rivals::mpirun;
use rivals::{Program, Rival};
use std::fmt::Write;
use std::process::Command;

/// One measurement.
#[derive(Clone, Copy, Debug)]
struct Cell {
    pattern: &'static str,
    /// The size of a message.
    bytes: usize,
    ranks: usize,
    /// The messages that rank 0 receives. A multiple of 420, so that a star of up to 8 ranks divides them.
    messages: usize,
}

/// The patterns of messages.
const PATTERNS: [&str; 3] = ["pair", "ring", "star"];
/// Messages of a pair, so that the shortest measurement takes some milliseconds. The paper has 10,000.
const PAIR_MESSAGES: usize = 96 * 420;
/// Messages of rings and stars, which have more ranks than cores.
const CROWD_MESSAGES: usize = 20 * 420;
const PAIR_BYTES: [usize; 7] = [64, 256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10];
/// The two sizes of the paper's figures 6 and 7.
const CROWD_BYTES: [usize; 2] = [1 << 10, 16 << 10];
/// The sides of parades.
const OURS: [Payload; 3] = [Payload::Batched, Payload::Copied, Payload::InPlace];
/// The rivals whose time stands over ours.
const RIVALS: [Rival; 3] = [Rival::Mpi, Rival::Windows, Rival::Zeroshm];
const RANKS: [usize; 5] = [2, 3, 4, 6, 8];

/// Our side beside which the rivals stand.
const BATCHES: Side = Side::Ours(Payload::Batched);
const PLACES: Side = Side::Ours(Payload::InPlace);

/// Returns the cells of the figures 5, 6 and 7, with the titles of their tables.
fn figures() -> [(&'static str, Vec<Cell>); 3] {
    let pair = |bytes| Cell { pattern: "pair", bytes, ranks: 2, messages: PAIR_MESSAGES };
    let crowd = |pattern| {
        let of_size = move |bytes| RANKS.map(|ranks| Cell { pattern, bytes, ranks, messages: CROWD_MESSAGES });
        CROWD_BYTES.into_iter().flat_map(of_size).collect()
    };
    [
        ("A pair of processes that send to each other (figure 5)", PAIR_BYTES.map(pair).into()),
        ("A ring, in which each process sends to the next (figure 6)", crowd("ring")),
        ("A star, in which process 0 sends to all in turn, and all send to it (figure 7)", crowd("star")),
    ]
}

/// Returns the published time of ZeROshm over that of MPI. For the pair: MPI takes 20 % less with small
/// messages, ZeROshm 43 % less with those above a page. For the ring: 13 % and 40 %.
fn published(cell: Cell) -> Option<f64> {
    match (cell.pattern, cell.bytes) {
        ("pair", 256..=1024) => Some(1.0 / 0.80),
        ("pair", 8192..=16384) => Some(1.0 - 0.43),
        ("ring", 1024) => Some(1.0 / 0.87),
        ("ring", 16384) => Some(1.0 - 0.40),
        _ => None,
    }
}

/// The sides of a table.
struct Sides<'a> {
    options: &'a Options,
    /// `None` if there is no C compiler.
    rivals: Option<Program>,
    all: Vec<Side>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The shared-memory transport of parades.
    Ours(Payload),
    Rival(Rival),
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Ours(Payload::Batched) => "in\nbatches",
            Side::Ours(Payload::Copied) => "copied",
            Side::Ours(Payload::InPlace) => "in\nplace",
            Side::Rival(Rival::FirstFit) => "first-\nfit",
            Side::Rival(rival) => rival.name(),
        }
    }
}

impl Sides<'_> {
    fn new(options: &Options) -> Result<Sides<'_>, Failure> {
        let rivals = Program::build()?;
        let ours = cfg!(target_os = "linux").then_some(OURS.map(Side::Ours));
        let there = |rival: &Rival| rivals.as_ref().is_some_and(|program| program.has(*rival));
        let all = ours.into_iter().flatten().chain(Rival::ALL.into_iter().filter(there).map(Side::Rival)).collect();
        Ok(Sides { options, rivals, all })
    }

    /// Returns the nanoseconds a message.
    fn run(&self, side: Side, cell: Cell) -> Result<f64, Failure> {
        match (side, &self.rivals) {
            (Side::Rival(rival), Some(program)) => program.run(rival, cell),
            (Side::Rival(rival), None) => unreachable!("{rival:?} was not built"),
            (Side::Ours(payload), _) => {
                let rank = || {
                    let mut command = Command::new(&self.options.program);
                    command.arg("transport");
                    command
                };
                ours::run(&rank, cell, payload)
            }
        }
    }

    /// Measures all cells, in each round once by each side. Returns the values by cell and side.
    fn measure(&self, title: &str, cells: &[Cell]) -> Result<Vec<Vec<Spread>>, Failure> {
        let mut values = vec![vec![Vec::new(); self.all.len()]; cells.len()];
        let progress = progress(self.options.pairs, title);
        for pair in 0..self.options.pairs as usize {
            progress.inc(1);
            for (cell, values) in cells.iter().zip(&mut values) {
                for step in 0..self.all.len() {
                    let side = (pair + step) % self.all.len();
                    values[side].push(self.run(self.all[side], *cell)?);
                }
            }
        }
        progress.finish_and_clear();
        Ok(values.iter().map(|of_cell| of_cell.iter().map(|values| Spread::of(values)).collect()).collect())
    }

    /// Returns a sentence on the rivals that were left out, or on their MPI.
    fn note(&self) -> String {
        match self.rivals.as_ref().map(|program| &program.mpi) {
            Some(Some(mpi)) => format!("mpi and windows: {mpi}\n"),
            Some(None) => "MPI was skipped: there is no `mpicc` or no `mpirun`\n".to_owned(),
            None => "the rivals were skipped: they need a C compiler, `mpicc` or `cc`\n".to_owned(),
        }
    }
}

/// Returns true if this process is a rank that the table has started.
pub(super) fn is_rank() -> bool {
    ours::is_rank()
}

pub(super) fn measure(options: &Options) -> Result<Measured, Failure> {
    let mut found = Measured::default();
    if ours::run_as_rank()? {
        return Ok(found);
    }
    let sides = Sides::new(options)?;
    for (title, cells) in figures() {
        let spreads = sides.measure(title, &cells)?;
        let _ = writeln!(found.text, "{title}: nanoseconds a message\n{}", draw(&cells, &sides.all, &spreads));
        for (ours, way) in [(BATCHES, "in batches"), (PLACES, "in place")] {
            let slower = slower(&cells, &sides.all, &spreads, ours);
            let slower = if slower.is_empty() { "none" } else { &slower };
            let _ = writeln!(found.text, "Slower than a rival, {way}: {slower}");
        }
        found.text.push('\n');
        if let (Some(program), true) = (&sides.rivals, cells.iter().all(|cell| cell.pattern == "star")) {
            let (text, figures) = cost::measure(program, options.pairs, &cells, &sides.all, &spreads)?;
            found.text.push_str(&text);
            found.figures.extend(figures);
        }
        for (cell, of_cell) in cells.iter().zip(spreads) {
            let Cell { pattern, bytes, ranks, .. } = cell;
            let name = |side: &Side| {
                let side = side.name().replace("-\n", "-").replace('\n', " ");
                format!("{pattern} of {ranks}, {bytes} B, {side}, ns a message")
            };
            let figures = sides.all.iter().zip(of_cell);
            found.figures.extend(figures.map(|(side, spread)| Figure { name: name(side), spread }));
        }
    }
    found.text.push_str(&sides.note());
    Ok(found)
}

/// Draws the table. A time has its spread below it.
fn draw(cells: &[Cell], sides: &[Side], spreads: &[Vec<Spread>]) -> String {
    let names = sides.iter().map(|side| side.name());
    let last = ["mpi /\nours", "windows\n/ ours", "zeroshm\n/ ours", "zeroshm\n/ mpi"];
    let headers: Vec<&str> = ["", "bytes"].into_iter().chain(names).chain(last).collect();
    let mut drawn = table(&headers);
    for (cell, of_cell) in cells.iter().zip(spreads) {
        let [mpi, zeroshm] = [Rival::Mpi, Rival::Zeroshm].map(Side::Rival);
        let ratio =
            |over, under| ratio(sides, of_cell, over, under).map_or("–".into(), |ratio| format!("{ratio:.2}"));
        let paper = published(*cell).map_or(String::new(), |published| format!("\n({published:.2})"));
        let start = [cell.ranks.to_string(), cell.bytes.to_string()];
        let times = of_cell.iter().map(show);
        let ratios = RIVALS.map(|rival| ratio(Side::Rival(rival), BATCHES));
        let ratios = ratios.into_iter().chain([ratio(zeroshm, mpi) + &paper]);
        drawn.add_row(start.into_iter().chain(times).chain(ratios));
    }
    drawn.to_string()
}

/// Returns the median, and the spread on a line of its own.
fn show(Spread { median, least, greatest, .. }: &Spread) -> String {
    format!("{median:.0}\n{least:.0}–{greatest:.0}")
}

/// Returns the median of the ratios of two sides, round by round, if both were measured.
fn ratio(sides: &[Side], of_cell: &[Spread], over: Side, under: Side) -> Option<f64> {
    let of = |wanted| sides.iter().position(|&side| side == wanted).map(|place| &of_cell[place].values);
    let ratios: Vec<f64> = of(over)?.iter().zip(of(under)?).map(|(over, under)| over / under).collect();
    Some(Spread::of(&ratios).median)
}

/// Returns the cells in which our side is slower than a rival, each with its ratio.
fn slower(cells: &[Cell], sides: &[Side], spreads: &[Vec<Spread>], ours: Side) -> String {
    let of_cell = |(cell, of_cell): (&Cell, &Vec<Spread>)| {
        let Cell { pattern, bytes, ranks, .. } = *cell;
        let of_rival = |rival: Rival| {
            let ratio = ratio(sides, of_cell, Side::Rival(rival), ours).filter(|&ratio| ratio < 1.0)?;
            Some(format!("{pattern} of {ranks} with {bytes} B, {} / ours {ratio:.2}", rival.name()))
        };
        RIVALS.into_iter().filter_map(of_rival).collect::<Vec<_>>()
    };
    cells.iter().zip(spreads).flat_map(of_cell).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_ratios_stand_beside_the_measured_ones() {
        let cell = Cell { pattern: "pair", bytes: 1024, ranks: 2, messages: 420 };
        let spreads = [[50.0, 100.0, 150.0].map(|ns| Spread::of(&[ns])).into()];
        let rival = Side::Rival;
        let ours = BATCHES;
        let sides = [ours, rival(Rival::Mpi), rival(Rival::Zeroshm)];
        let text = draw(&[cell], &sides, &spreads);
        assert!(["2.00", "3.00", "1.50", "(1.25)"].iter().all(|part| text.contains(part)), "{text}");
        assert_eq!(slower(&[cell], &sides, &spreads, ours), "");
        let sides = [rival(Rival::Windows), rival(Rival::Mpi), ours];
        let expected = "pair of 2 with 1024 B, mpi / ours 0.67; pair of 2 with 1024 B, windows / ours 0.33";
        assert_eq!(slower(&[cell], &sides, &spreads, ours), expected);
        let text = draw(&[cell], &[ours, rival(Rival::Zeroshm), rival(Rival::FirstFit)], &spreads);
        assert!(["–", "(1.25)"].iter().all(|part| text.contains(part)), "{text}");
    }

    #[test]
    fn a_star_of_every_size_divides_its_messages() {
        for cell in figures().into_iter().flat_map(|(_, cells)| cells) {
            assert_eq!(cell.messages % (cell.ranks - 1), 0, "{cell:?}");
        }
    }
}
