//! `bench barriers`: the cost of crossing a barrier, beside the figures of tables 1 and 2 of G. Seguin,
//! *Multi-core Parallelism for ns-3 Simulator*, INRIA, 2009.

use crate::record::Figure;
use crate::sides::{Spread, progress};
use crate::{Measured, Options};
use parades_report::drawing::table;
use parades_session::Failure;
use parades_sync::barrier::{Barrier, BarrierKind};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The numbers of threads in the paper. Only its table 1 has 8.
const THREADS: [usize; 6] = [1, 2, 3, 5, 7, 8];
/// The time for which each cell of the table is measured, all pairs together.
const CELL: Duration = Duration::from_secs(2);

/// A row: the barrier, and the published cycles of a crossing for each number of threads; 0 if none are
/// published.
struct Row {
    kind: Option<BarrierKind>,
    published: [u32; THREADS.len()],
}

/// For the tree of fan-in 4, table 2 gives under 7 threads the figure that table 1 gives under 8. Here it
/// stands under 8 threads.
const ROWS: [Row; 7] = [
    Row { kind: Some(BarrierKind::Posix), published: [782, 56_145, 31_536, 135_797, 192_047, 0] },
    Row { kind: Some(BarrierKind::Semaphore), published: [18, 59_541, 42_567, 66_994, 82_679, 0] },
    Row { kind: Some(BarrierKind::Spin), published: [90, 661, 1_263, 5_195, 7_734, 0] },
    Row { kind: Some(BarrierKind::Tree { fan_in: 2 }), published: [65, 1_185, 1_183, 2_040, 2_416, 2_947] },
    Row { kind: Some(BarrierKind::Tree { fan_in: 4 }), published: [65, 1_214, 1_237, 1_776, 1_979, 2_366] },
    Row { kind: Some(BarrierKind::Adaptive), published: [0; THREADS.len()] },
    Row { kind: None, published: [0; THREADS.len()] },
];

impl Row {
    fn name(&self) -> String {
        self.kind.map_or_else(|| "std::sync::Barrier".to_owned(), |kind| kind.to_string())
    }

    fn open(&self, threads: usize) -> Crossed {
        match self.kind {
            Some(kind) => Crossed::Ours(kind.open(threads)),
            None => Crossed::Std(std::sync::Barrier::new(threads)),
        }
    }
}

/// A barrier that is measured.
enum Crossed {
    Ours(Box<dyn Barrier>),
    Std(std::sync::Barrier),
}

impl Crossed {
    fn wait(&self, party: usize) {
        match self {
            Crossed::Ours(barrier) => barrier.wait(party).expect("nobody breaks it"),
            Crossed::Std(barrier) => {
                barrier.wait();
            }
        }
    }
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let span = CELL / pairs;
    let mut ns: Vec<Vec<Vec<f64>>> = ROWS.iter().map(|_| vec![Vec::new(); THREADS.len()]).collect();
    let progress = progress(pairs, "barriers");
    for _ in 0..pairs {
        progress.inc(1);
        for (column, &threads) in THREADS.iter().enumerate() {
            for (row, cells) in ROWS.iter().zip(&mut ns) {
                cells[column].push(crossing_ns(&row.open(threads), threads, span));
            }
        }
    }
    progress.finish_and_clear();
    let spreads: Vec<Vec<Spread>> =
        ns.iter().map(|cells| cells.iter().map(|values| Spread::of(values)).collect()).collect();
    let mut figures = Vec::new();
    for (row, cells) in ROWS.iter().zip(&spreads) {
        for (threads, spread) in THREADS.iter().zip(cells) {
            let name = format!("{}, {threads} threads, ns a crossing", row.name());
            figures.push(Figure { name, spread: spread.clone() });
        }
    }
    Ok(Measured { text: draw(&spreads, ghz()), figures })
}

fn draw(spreads: &[Vec<Spread>], ghz: Option<f64>) -> String {
    let columns: Vec<String> = THREADS.iter().map(|threads| format!("{threads} threads")).collect();
    let headers: Vec<&str> = std::iter::once("barrier").chain(columns.iter().map(String::as_str)).collect();
    let (mut in_ns, mut in_cycles) = (table(&headers), table(&headers));
    for (row, cells) in ROWS.iter().zip(spreads) {
        let name = || std::iter::once(row.name());
        in_ns.add_row(name().chain(cells.iter().map(|spread| spread.show(0))));
        let cycles = |(spread, &published): (&Spread, &u32)| {
            let here = ghz.map_or("?".to_owned(), |ghz| format!("{:.0}", spread.median * ghz));
            if published == 0 { here } else { format!("{here} ({published})") }
        };
        in_cycles.add_row(name().chain(cells.iter().zip(&row.published).map(cycles)));
    }
    let mut text = format!("Nanoseconds a crossing, all threads doing nothing else\n{in_ns}\n");
    let _ = writeln!(text, "Cycles a crossing; those of the paper in parentheses\n{in_cycles}");
    text.push_str(&match ghz {
        Some(ghz) => format!("cycles are nanoseconds times {ghz:.3} GHz, which /proc/cpuinfo gives as \"cpu MHz\"\n"),
        None => "no cycles: /proc/cpuinfo does not give the frequency\n".to_owned(),
    });
    text.push_str("With more threads than cores, what only spins takes time slices\n");
    text
}

/// Returns the greatest frequency that the system reports for a core now.
fn ghz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let mhz = text.lines().filter_map(|line| line.strip_prefix("cpu MHz")?.split(':').nth(1)?.trim().parse().ok());
    mhz.reduce(f64::max).map(|mhz| mhz / 1e3)
}

/// Returns the mean nanoseconds of a crossing, over at least one crossing, and over as many as fit into the
/// span.
fn crossing_ns(barrier: &Crossed, threads: usize, span: Duration) -> f64 {
    // The crossing after which all threads leave. A thread that reads it late, after an earlier crossing,
    // reads a later number and stays.
    let last = AtomicU64::new(u64::MAX);
    let follow = |party: usize| {
        for crossing in 0.. {
            barrier.wait(party);
            // Ordering: Relaxed; the barrier makes visible what the leader stored before it.
            if crossing >= last.load(Ordering::Relaxed) {
                return crossing;
            }
        }
        unreachable!("there are not that many crossings")
    };
    std::thread::scope(|scope| {
        let follow = &follow;
        let followers: Vec<_> = (1..threads).map(|party| scope.spawn(move || follow(party))).collect();
        let (crossings, elapsed) = lead(barrier, &last, span);
        for follower in followers {
            assert_eq!(follower.join().expect("it only crosses"), crossings, "all leave after the same crossing");
        }
        elapsed.as_nanos() as f64 / crossings as f64
    })
}

/// Crosses the barrier as the leader. Returns the number of crossings and their time. The first crossing, at
/// which the threads have started, is not counted.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn lead(barrier: &Crossed, last: &AtomicU64, span: Duration) -> (u64, Duration) {
    barrier.wait(0);
    let begin = Instant::now();
    let (mut crossing, mut checked, mut batch) = (0, Duration::ZERO, 1);
    loop {
        for _ in 0..batch {
            crossing += 1;
            barrier.wait(0);
        }
        let elapsed = begin.elapsed();
        if elapsed >= span {
            // Ordering: Relaxed; as above.
            last.store(crossing + 1, Ordering::Relaxed);
            barrier.wait(0);
            return (crossing + 1, begin.elapsed());
        }
        // The clock is read some hundred times: rarely enough to cost nothing, often enough to end in time.
        let one = elapsed - checked;
        checked = elapsed;
        if one < span / 200 {
            batch *= 2;
        } else if one > span / 50 && batch > 1 {
            batch /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_leave_after_the_same_crossing() {
        for row in &ROWS {
            for threads in [1, 2, 3] {
                for span in [Duration::ZERO, Duration::from_millis(2)] {
                    let ns = crossing_ns(&row.open(threads), threads, span);
                    assert!(ns > 0.0 && ns.is_finite(), "{}, {threads} threads: {ns} ns", row.name());
                }
            }
        }
    }

    #[test]
    fn each_row_shows_the_published_figures_beside_its_own() {
        let here = Spread::of(&[90.0, 100.0, 110.0]);
        let text = draw(&vec![vec![here.clone(); THREADS.len()]; ROWS.len()], Some(2.0));
        for wanted in ["200 (56145)", "200 (2366)", "100 [90–110]", "2.000 GHz"] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
        assert!(draw(&vec![vec![here; THREADS.len()]; ROWS.len()], None).contains("no cycles"));
    }
}
