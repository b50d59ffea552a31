//! `bench contexts`: the cost of a switch and of a waiting process, by kind and number of processes.

mod hops;

use crate::child::cannot_start;
use crate::record::Figure;
use crate::sides::{Spread, progress};
use crate::{Measured, Options};
use hops::{Found, Hops, Kind};
use parades_program::Stack;
use parades_report::drawing::table;
use parades_session::Failure;
use parades_session::machine::{available_bytes, page_table_bytes, rss_bytes};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

/// The numbers of processes that are alive.
const ALIVE: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A row: a kind of process, the number of measured hops, and the greatest number of processes.
struct Row {
    name: &'static str,
    kind: Kind,
    measured: u64,
    most: u32,
}

const ROWS: [Row; 5] = [
    Row { name: "the bare event", kind: Kind::Bare, measured: 1_000_000, most: u32::MAX },
    Row { name: "async", kind: Kind::Async, measured: 1_000_000, most: u32::MAX },
    Row { name: "stack of the slab", kind: Kind::On(Stack::SLAB), measured: 1_000_000, most: u32::MAX },
    Row { name: "ucontext", kind: Kind::On(Stack::UCONTEXT), measured: 500_000, most: u32::MAX },
    Row { name: "thread each", kind: Kind::On(Stack::THREAD), measured: 10_000, most: 100_000 },
];

/// The variable that tells a process the cell for which it was started: a row and a number of processes.
const CELL: &str = "PARADES_BENCH_CONTEXTS_CELL";
/// The greatest share of the machine's free memory that a cell may take.
const SHARE: f64 = 0.7;

/// The result of a cell.
#[derive(Clone, Debug)]
enum Outcome {
    Found(Found),
    /// The reason why there is no measurement: in a few words for the table, and in full.
    Not(String, Option<String>),
}

pub(super) fn measure(Options { pairs, program, .. }: &Options) -> Result<Measured, Failure> {
    if let Ok(cell) = std::env::var(CELL) {
        return one(&cell);
    }
    let mut cells: Vec<Vec<Vec<Outcome>>> = ROWS.iter().map(|_| vec![Vec::new(); ALIVE.len()]).collect();
    let progress = progress(*pairs, "contexts");
    for _ in 0..*pairs {
        progress.inc(1);
        for (column, &alive) in ALIVE.iter().enumerate() {
            for (number, cells) in cells.iter_mut().enumerate() {
                let before = column.checked_sub(1).and_then(|column| cells[column].last());
                let outcome = cell(program, number, alive, before)?;
                cells[column].push(outcome);
            }
        }
    }
    progress.finish_and_clear();
    Ok(draw(&cells))
}

/// Measures a cell in a process of its own, unless the cell before shows that this cell is too large.
fn cell(program: &Path, number: usize, alive: u32, before: Option<&Outcome>) -> Result<Outcome, Failure> {
    let row = &ROWS[number];
    if alive > row.most {
        return Ok(Outcome::Not("not tried".to_owned(), None));
    }
    match before {
        Some(Outcome::Not(..)) => return Ok(Outcome::Not("not tried".to_owned(), None)),
        Some(Outcome::Found(found)) => {
            let wanted = found.bytes * f64::from(alive);
            if wanted > available_bytes() as f64 * SHARE {
                return Ok(Outcome::Not(format!("would take {:.1} GB", wanted / 1e9), None));
            }
        }
        None => {}
    }
    let mut command = Command::new(program);
    let output = command.arg("contexts").env(CELL, format!("{number} {alive}")).output();
    let output = output.map_err(|error| cannot_start(&error))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let found = said.lines().next().and_then(read).filter(|_| output.status.success());
    Ok(found.map_or_else(
        || {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().find(|line| line.starts_with("error")).unwrap_or("it was ended by the system");
            Outcome::Not("not to be had".to_owned(), Some(format!("{} {}: {why}", alive, row.name)))
        },
        Outcome::Found,
    ))
}

fn read(line: &str) -> Option<Found> {
    let (ns, bytes) = line.split_once(' ')?;
    Some(Found { ns: ns.parse().ok()?, bytes: bytes.parse().ok()? })
}

/// Measures one cell in this process.
fn one(cell: &str) -> Result<Measured, Failure> {
    let wrong = || {
        Failure::usage(
            format!("{CELL} is not a cell of the table"),
            "unset it: it is for processes that this command starts",
        )
    };
    let (number, alive) = cell.split_once(' ').ok_or_else(wrong)?;
    let row = number.parse().ok().and_then(|number: usize| ROWS.get(number)).ok_or_else(wrong)?;
    let nodes = alive.parse().ok().filter(|nodes| ALIVE.contains(nodes)).ok_or_else(wrong)?;
    let hops = Hops { nodes, first: u64::from(nodes).min(row.measured), measured: row.measured };
    let memory = || rss_bytes() + page_table_bytes();
    let found = hops::run(row.kind, hops, memory, seconds).map_err(|error| Failure::simulation(error.to_string()))?;
    Ok(Measured { text: format!("{} {}\n", found.ns, found.bytes), figures: Vec::new() })
}

/// Returns the seconds since the first call.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn seconds() -> f64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

fn draw(cells: &[Vec<Vec<Outcome>>]) -> Measured {
    let mut found = Measured::default();
    let columns: Vec<String> = ALIVE.iter().map(|alive| format!("{alive} alive")).collect();
    let headings: Vec<&str> = std::iter::once("").chain(columns.iter().map(String::as_str)).collect();
    let (mut ns, mut bytes, mut reasons) = (table(&headings), table(&headings), Vec::new());
    for (row, cells) in ROWS.iter().zip(cells) {
        let (mut of_ns, mut of_bytes) = (vec![row.name.to_owned()], vec![row.name.to_owned()]);
        for (alive, outcomes) in ALIVE.iter().zip(cells) {
            match spreads(outcomes) {
                Ok([time, memory]) => {
                    of_ns.push(time.show(0));
                    of_bytes.push(format!("{:.0}", memory.median));
                    let name = |what| format!("{alive} {}, {what}", row.name);
                    found.figures.push(Figure { name: name("ns a hop"), spread: time });
                    found.figures.push(Figure { name: name("bytes each"), spread: memory });
                }
                Err((short, why)) => {
                    of_ns.push(short.clone());
                    of_bytes.push(short);
                    reasons.extend(why);
                }
            }
        }
        ns.add_row(of_ns);
        bytes.add_row(of_bytes);
    }
    let text = &mut found.text;
    let _ = writeln!(
        text,
        "Nanoseconds a hop: a message wakes a process, which sends it on and waits again (under `sequential`; each node in its turn, far from the last)\n{ns}\n"
    );
    let _ = writeln!(
        text,
        "Bytes a node, when all wait: its LP, its process, its stack's pages, and the tables of pages; not what the system keeps for a thread in its own memory\n{bytes}\n"
    );
    reasons.iter().for_each(|why| {
        let _ = writeln!(text, "{why}");
    });
    found
}

/// Returns the times and the memory of a cell, or the last reason why there are none.
fn spreads(outcomes: &[Outcome]) -> Result<[Spread; 2], (String, Option<String>)> {
    let mut found = Vec::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Found(one) => found.push(*one),
            Outcome::Not(short, why) => return Err((short.clone(), why.clone())),
        }
    }
    let of = |what: fn(&Found) -> f64| Spread::of(&found.iter().map(what).collect::<Vec<_>>());
    Ok([of(|found| found.ns), of(|found| found.bytes)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cell_says_is_read() {
        assert_eq!(read("12.5 640"), Some(Found { ns: 12.5, bytes: 640.0 }));
        assert_eq!(read("error: no"), None);
    }

    #[test]
    fn a_cell_that_cannot_be_had_is_explained_below_the_tables() {
        let found = Outcome::Found(Found { ns: 99.0, bytes: 512.0 });
        let not =
            Outcome::Not("not to be had".to_owned(), Some("100000 thread each: error: no more threads".to_owned()));
        let mut cells = vec![vec![vec![found]; ALIVE.len()]; ROWS.len()];
        cells[4][2] = vec![not];
        let Measured { text, figures } = draw(&cells);
        for wanted in ["99 [99–99]", "512", "not to be had", "no more threads"] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
        assert_eq!(figures.len(), 2 * (ROWS.len() * ALIVE.len() - 1));
    }

    #[test]
    fn what_would_take_too_much_memory_is_not_tried() {
        let before = Outcome::Found(Found { ns: 1.0, bytes: 1e12 });
        let outcome = cell(Path::new(""), 2, 1_000_000, Some(&before)).expect("nothing is started");
        assert!(matches!(outcome, Outcome::Not(why, None) if why.contains("would take")));
    }
}
