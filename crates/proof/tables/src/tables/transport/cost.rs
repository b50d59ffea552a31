//! The cost of a message with c processes by the paper's formula (section IV.2), beside measurements.
//!
//! A process that locks a mutex for which c processes compete waits for `1 + 2 + … + c` operations of its
//! lock in the worst case. Sending a message locks two mutexes, and receiving it locks one.

use super::rivals::{Program, Rival};
use super::{BATCHES, Cell, Side};
use crate::record::Figure;
use crate::sides::Spread;
use parades_report::drawing::table;
use parades_session::Failure;

/// The lockings of a message in the paper's count.
const LOCKINGS: f64 = 3.0;
/// The size of the messages.
const BYTES: usize = 1 << 10;

/// Returns the operations of a lock for which a process waits at most, if `processes` compete.
fn operations(processes: usize) -> f64 {
    (processes * (processes + 1) / 2) as f64
}

/// Returns the greatest time of a message by the formula: that with two processes, and what the lockings of
/// `processes` add to it. `operation` is the time of an operation without competition.
fn at_most(processes: usize, of_two: f64, operation: f64) -> f64 {
    of_two + LOCKINGS * (operations(processes) - operations(2)) * operation
}

/// Measures lockings, and draws them beside the times of the star. Returns the text, and the figures.
pub(super) fn measure(
    program: &Program,
    rounds: u32,
    cells: &[Cell],
    sides: &[Side],
    spreads: &[Vec<Spread>],
) -> Result<(String, Vec<Figure>), Failure> {
    let locking = |processes| -> Result<Spread, Failure> {
        let times: Result<Vec<f64>, Failure> = (0..rounds).map(|_| program.locking(processes)).collect();
        Ok(Spread::of(&times?))
    };
    let operation = locking(1)?;
    let mut drawn = table(&["processes", "a locking", "waits at most", "zeroshm", "at most, by\nthe formula", "ours"]);
    let mut figures = vec![Figure { name: "locking by 1 process, ns".to_owned(), spread: operation.clone() }];
    let median = |of_cell: &[Spread], wanted: Side| {
        sides.iter().position(|&side| side == wanted).map(|place| of_cell[place].median)
    };
    let mut of_two = None;
    for (cell, of_cell) in cells.iter().zip(spreads).filter(|(cell, _)| cell.bytes == BYTES) {
        let Some(zeroshm) = median(of_cell, Side::Rival(Rival::Zeroshm)) else { continue };
        let of_two = *of_two.get_or_insert(zeroshm);
        let spread = locking(cell.ranks)?;
        let waits = operations(cell.ranks) * operation.median;
        let bound = at_most(cell.ranks, of_two, operation.median);
        let of_ours = median(of_cell, BATCHES).map_or("–".to_owned(), |ns| format!("{ns:.0}"));
        let numbers = [spread.median, waits, zeroshm, bound].map(|ns| format!("{ns:.0}"));
        drawn.add_row([cell.ranks.to_string()].into_iter().chain(numbers).chain([of_ours]));
        figures.push(Figure { name: format!("locking by {} processes, ns", cell.ranks), spread });
    }
    let text = format!(
        "The paper's cost of a message with c processes (section IV.2), a star with {BYTES} B: nanoseconds.\n\
         A locking without competition takes {:.0}; ours has no lock between processes\n{drawn}\n\n",
        operation.median
    );
    Ok((text, figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_papers() {
        let is = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        [(1, 1.0), (2, 3.0), (3, 6.0), (8, 36.0)].into_iter().for_each(|(c, waits)| is(operations(c), waits));
        is(at_most(2, 500.0, 20.0), 500.0);
        is(at_most(4, 500.0, 20.0), 500.0 + 3.0 * 7.0 * 20.0);
    }
}
