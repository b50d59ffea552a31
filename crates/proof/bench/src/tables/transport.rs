//! `bench transport`: the time of a message between processes of one machine, beside the figures 5 to 7 of Li
//! et al., *Towards Order-Preserving and Zero-Copy Communication on Shared Memory for Large Scale Simulation*.
//!
//! The paper draws its times and prints none. It prints the ratios of ZeROshm to MPI, which stand beside ours.

mod rivals;

use crate::record::Figure;
use crate::sides::{Spread, progress};
use crate::{Measured, Options};
use parades_report::drawing::table;
use parades_session::Failure;
use rivals::{Program, Rival};
use std::fmt::Write;

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

/// Messages of a pair. The paper has 10,000.
const PAIR_MESSAGES: usize = 24 * 420;
/// Messages of rings and stars, which have more ranks than cores.
const CROWD_MESSAGES: usize = 10 * 420;
const PAIR_BYTES: [usize; 7] = [64, 256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10];
/// The two sizes of the paper's figures 6 and 7.
const CROWD_BYTES: [usize; 2] = [1 << 10, 16 << 10];
const RANKS: [usize; 5] = [2, 3, 4, 6, 8];

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

pub(super) fn measure(options: &Options) -> Result<Measured, Failure> {
    let mut found = Measured::default();
    let Some(program) = Program::build()? else {
        found.text.push_str("the rivals were skipped: they need a C compiler, `mpicc` or `cc`\n");
        return Ok(found);
    };
    let rivals: Vec<Rival> = Rival::ALL.into_iter().filter(|&rival| program.has(rival)).collect();
    for (title, cells) in figures() {
        let spreads = spreads(options.pairs, title, &cells, &rivals, &program)?;
        let _ = writeln!(found.text, "{title}: nanoseconds a message\n{}", draw(&cells, &rivals, &spreads));
        for (cell, of_cell) in cells.iter().zip(spreads) {
            let Cell { pattern, bytes, ranks, .. } = cell;
            let name = |rival: &Rival| format!("{pattern} of {ranks}, {bytes} B, {}, ns a message", rival.name());
            let figures = rivals.iter().zip(of_cell);
            found.figures.extend(figures.map(|(rival, spread)| Figure { name: name(rival), spread }));
        }
    }
    found.text.push_str(&match &program.mpi {
        Some(mpi) => format!("mpi and windows: {mpi}\n"),
        None => "MPI was skipped: there is no `mpicc` or no `mpirun`\n".to_owned(),
    });
    Ok(found)
}

/// Measures all cells, in each round once by each rival. Returns the spreads by cell and rival.
fn spreads(
    pairs: u32,
    title: &str,
    cells: &[Cell],
    rivals: &[Rival],
    program: &Program,
) -> Result<Vec<Vec<Spread>>, Failure> {
    let mut values = vec![vec![Vec::new(); rivals.len()]; cells.len()];
    let progress = progress(pairs, title);
    for pair in 0..pairs as usize {
        progress.inc(1);
        for (cell, values) in cells.iter().zip(&mut values) {
            for step in 0..rivals.len() {
                let side = (pair + step) % rivals.len();
                values[side].push(program.run(rivals[side], *cell)?);
            }
        }
    }
    progress.finish_and_clear();
    Ok(values.iter().map(|of_cell| of_cell.iter().map(|values| Spread::of(values)).collect()).collect())
}

fn draw(cells: &[Cell], rivals: &[Rival], spreads: &[Vec<Spread>]) -> String {
    let names = rivals.iter().map(|rival| rival.name());
    let headers: Vec<&str> = ["processes", "bytes"].into_iter().chain(names).chain(["zeroshm / mpi (paper)"]).collect();
    let mut drawn = table(&headers);
    let place = |wanted| rivals.iter().position(|&rival| rival == wanted);
    for (cell, of_cell) in cells.iter().zip(spreads) {
        let ratio = match (place(Rival::Zeroshm), place(Rival::Mpi)) {
            (Some(zeroshm), Some(mpi)) => format!("{:.2}", of_cell[zeroshm].median / of_cell[mpi].median),
            _ => "–".to_owned(),
        };
        let paper = published(*cell).map_or(String::new(), |published| format!(" ({published:.2})"));
        let start = [cell.ranks.to_string(), cell.bytes.to_string()];
        let times = of_cell.iter().map(|spread| spread.show(0));
        drawn.add_row(start.into_iter().chain(times).chain([ratio + &paper]));
    }
    drawn.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_ratios_stand_beside_the_measured_ones() {
        let cell = Cell { pattern: "pair", bytes: 1024, ranks: 2, messages: 420 };
        let spreads = [[100.0, 150.0].map(|ns| Spread::of(&[ns])).into()];
        let text = draw(&[cell], &[Rival::Mpi, Rival::Zeroshm], &spreads);
        assert!(text.contains("1.50 (1.25)"), "{text}");
        let text = draw(&[cell], &[Rival::Zeroshm, Rival::FirstFit], &spreads);
        assert!(text.contains("– (1.25)"), "{text}");
    }

    #[test]
    fn a_star_of_every_size_divides_its_messages() {
        for cell in figures().into_iter().flat_map(|(_, cells)| cells) {
            assert_eq!(cell.messages % (cell.ranks - 1), 0, "{cell:?}");
        }
    }
}
