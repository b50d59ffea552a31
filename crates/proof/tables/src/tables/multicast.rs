//! `bench multicast`: shared data beside data that is copied for each event. It has tables 1 to 3 and figure
//! 4 of G. Yaun, D. Bauer, C. Carothers, *Sharing event data in optimistically scheduled multicast
//! applications*, Rensselaer Polytechnic Institute.
//!
//! Every run is a process of its own, which reports its peak of memory. The set-up time is that of a run of
//! no virtual time, and is subtracted.

mod published;

use crate::child;
use crate::child::Child;
use crate::counters;
use crate::probe::{arithmetic, copying};
use crate::record::Figure;
use crate::sides::{Rates, SetUp, Side, Spread, cores, in_turn};
use crate::{Measured, Options};
use parades_models::multicast::Parameters;
use parades_report::drawing::table;
use parades_session::Failure;
use parades_session::machine::available_bytes;
use published::{Case, FIGURE_4, Published, TABLE_1, TABLE_3, of_levels};
use std::cell::RefCell;
use std::fmt::Write;
use std::path::Path;

/// The approximate number of events of a run. A run with very many pending events has more, so that each
/// packet is passed on [`HOPS`] times.
const EVENTS: f64 = 4e6;
/// The least number of times that each packet is passed on: the first time, memory is still untouched.
const HOPS: f64 = 3.0;

impl Case {
    /// Returns the number of pending events, which is the same at all times.
    fn waiting(self) -> u64 {
        let Case(trees, levels, start_events, _) = self;
        u64::from(trees) * u64::from(start_events) * ((1 << levels) - 1)
    }

    /// Returns the bytes of a packet's data.
    fn bytes(self) -> usize {
        4 * self.3 as usize
    }

    /// Returns the approximate memory of a run with copied data: the data, and the events, of which there are
    /// two copies when a run ends.
    fn copied_bytes(self) -> u64 {
        const EVENT_AND_BLOCK: u64 = 2 * 80 + 24;
        self.waiting() * (self.bytes() as u64 + EVENT_AND_BLOCK)
    }

    /// True if a run with copied data leaves a part of the machine's free memory.
    fn fits_copied(self) -> bool {
        self.copied_bytes() < available_bytes() / 5 * 4
    }

    /// Returns the virtual picoseconds until about [`EVENTS`] events have been executed, and [`HOPS`] hops
    /// made.
    fn until_ps(self) -> u64 {
        let Parameters { delay, jitter, .. } = Parameters::default();
        let hop = delay.saturating_add(jitter.scaled(0.5));
        let hops = (EVENTS / self.waiting() as f64).max(HOPS);
        hop.scaled(hops).as_ps()
    }

    /// Returns the arguments of `parades run`.
    fn words(self, share: bool, engine: &str, threads: u64, until_ps: u64) -> Vec<String> {
        let Case(trees, levels, start_events, data) = self;
        let mut words = vec!["multicast".to_owned()];
        let numbers = [("trees", trees), ("levels", levels), ("start_events", start_events), ("data", data)];
        for (key, value) in numbers {
            words.extend(["--set".into(), format!("{key}={value}")]);
        }
        words.extend(["--set".into(), format!("share={share}")]);
        words.extend(["--engine".into(), engine.into(), "--threads".into(), threads.to_string()]);
        words.extend(["--until".into(), format!("{until_ps}ps")]);
        words
    }

    fn name(self) -> String {
        let Case(trees, levels, start_events, data) = self;
        format!("{trees} trees, {levels} levels, {start_events} start events, {data} integers")
    }

    /// Returns the first cells of a row.
    fn cells(self) -> Vec<String> {
        let Case(trees, levels, start_events, data) = self;
        [trees, levels, start_events, data].map(|number| number.to_string()).to_vec()
    }
}

const SEQUENTIAL: &str = "sequential";

/// Returns a side whose runs are processes of their own. Each run adds its peak of memory, in MB.
fn side<'a>(
    program: &'a Path,
    case: Case,
    share: bool,
    engine: &'static str,
    threads: u64,
    peaks_mb: &'a RefCell<Vec<f64>>,
) -> Side<'a> {
    let mut set_up = SetUp::default();
    Box::new(move || {
        let set_up = set_up.seconds(|| Ok(child::run(program, &case.words(share, engine, threads, 1))?.ran))?;
        let Child { mut ran, peak_bytes } = child::run(program, &case.words(share, engine, threads, case.until_ps()))?;
        ran.seconds -= set_up;
        peaks_mb.borrow_mut().push(peak_bytes as f64 / 1e6);
        Ok(ran)
    })
}

pub(super) fn measure(options: &Options) -> Result<Measured, Failure> {
    let mut figures = Vec::new();
    let mut text = String::from(
        "multicast: T trees of L levels, E start events an LP, packets of S integers of 32 bits, copied at each hop or shared by all\n\n",
    );
    text.push_str(&table_1(options, &mut figures)?);
    text.push_str(&figure_4(&options.program, &mut figures)?);
    text.push_str(&table_2(options, &mut figures)?);
    text.push_str(&table_3(options, &mut figures)?);
    Ok(Measured { text, figures })
}

/// Returns the nanoseconds of an event, or of a copy, of a side.
fn nanoseconds(rates: &Rates, side: usize) -> f64 {
    1e9 / rates.of(side).median
}

fn table_1(Options { pairs, program, .. }: &Options, figures: &mut Vec<Figure>) -> Result<String, Failure> {
    const HEADINGS: [&str; 11] = [
        "T",
        "L",
        "E",
        "S",
        "published MB\ncopied / shared",
        "MB\ncopied / shared",
        "published k events/s\ncopied / shared",
        "M events/s\ncopied / shared",
        "published\nshared / copied",
        "shared / copied",
        "ns more, copied\n/ ns of a copy",
    ];
    let (mut drawn, mut skipped) = (table(&HEADINGS), String::new());
    for Published { case, memory_mb: [copied_mb, shared_mb], events_per_s: [copied, shared], .. } in TABLE_1 {
        let peaks = [RefCell::default(), RefCell::default()];
        let mut sides = vec![side(program, case, true, SEQUENTIAL, 1, &peaks[0])];
        if case.fits_copied() {
            sides.extend([side(program, case, false, SEQUENTIAL, 1, &peaks[1]), copying(case.bytes(), case.waiting())]);
        } else {
            let needed = case.copied_bytes() as f64 / 1e9;
            let _ = writeln!(
                skipped,
                "copied, {}: not run, as it takes {needed:.1} GB, above four fifths of what is free",
                case.name()
            );
        }
        let rates = in_turn(&case.name(), *pairs, &mut sides)?;
        let has_copied = sides.len() > 1;
        drop(sides);
        let [shared_peak, copied_peak] = peaks.map(|peaks| Some(peaks.into_inner()).filter(|peaks| !peaks.is_empty()));
        let peaks = [copied_peak, shared_peak].map(|peaks| peaks.map(|peaks| Spread::of(&peaks)));
        let mut add = |what: &str, spread| figures.push(Figure { name: format!("{}, {what}", case.name()), spread });
        add("shared, events/s", rates.of(0));
        for (what, peak) in ["copied, MB", "shared, MB"].into_iter().zip(&peaks) {
            peak.iter().for_each(|peak| add(what, peak.clone()));
        }
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
        let mb = |peak: &Option<Spread>| or_none(peak.as_ref().map(|peak| format!("{:.1}", peak.median)));
        let rate = |side| format!("{:.2}", rates.of(side).median / 1e6);
        let ratio = has_copied.then(|| rates.ratio(0, 1));
        if let Some(ratio) = &ratio {
            add("copied, events/s", rates.of(1));
            add("shared over copied", ratio.clone());
        }
        let more = has_copied
            .then(|| format!("{:.0} / {:.0}", nanoseconds(&rates, 1) - nanoseconds(&rates, 0), nanoseconds(&rates, 2)));
        let mut cells = case.cells();
        cells.extend([
            format!("{copied_mb:.1} / {shared_mb:.1}"),
            format!("{} / {}", mb(&peaks[0]), mb(&peaks[1])),
            format!("{:.0} / {:.0}", copied / 1e3, shared / 1e3),
            format!("{} / {}", or_none(has_copied.then(|| rate(1))), rate(0)),
            format!("{:.2}", shared / copied),
            or_none(ratio.map(|ratio| ratio.show(2))),
            or_none(more),
        ]);
        drawn.add_row(cells);
    }
    Ok(format!(
        "table 1: sequential; peak of memory of the whole process\n{drawn}\n{skipped}\
         ns more: of an event with copied data over one with shared; ns of a copy: of S integers, from and to random places in the memory that\n\
         the copied data take, 256 MiB at most\n\n"
    ))
}

fn figure_4(program: &Path, figures: &mut Vec<Figure>) -> Result<String, Failure> {
    let mut drawn =
        table(&["L", "LPs", "events that wait", "MB copied", "MB shared", "published copied", "published shared"]);
    let mut skipped = String::new();
    for case in FIGURE_4.map(of_levels) {
        let Case(trees, levels, ..) = case;
        let mut measured = |share: bool, what: &str| {
            let Child { peak_bytes, .. } = child::run(program, &case.words(share, SEQUENTIAL, 1, case.until_ps()))?;
            let mb = peak_bytes as f64 / 1e6;
            let name = format!("figure 4, {levels} levels, {what}, MB");
            figures.push(Figure { name, spread: Spread::of(&[mb]) });
            Ok::<_, Failure>(format!("{mb:.1}"))
        };
        let copied = if case.fits_copied() { measured(false, "copied")? } else { "–".into() };
        if !case.fits_copied() {
            let _ = writeln!(
                skipped,
                "– {levels} levels: not run, as it takes {:.1} GB, above four fifths of what is free",
                case.copied_bytes() as f64 / 1e9
            );
        }
        let published = TABLE_1.iter().find(|row| row.case == case).map(|row| row.memory_mb);
        let of = |which: usize| published.map_or(String::new(), |mb| format!("{:.1}", mb[which]));
        let lps = u64::from(trees) * ((1 << levels) - 1);
        let (waiting, shared) = (case.waiting().to_string(), measured(true, "shared")?);
        drawn.add_row([levels.to_string(), lps.to_string(), waiting, copied, shared, of(0), of(1)]);
    }
    let Case(trees, _, start_events, data) = of_levels(*FIGURE_4.end());
    Ok(format!(
        "figure 4: memory by levels, {trees} trees, {start_events} start events, {data} integers; sequential, one run each\n{drawn}\n{skipped}\
         the published figure has no numbers; those of table 1 are given\n\n"
    ))
}

/// The commands for table 2 by hand, for machines without counters.
const BY_HAND: &str = "\
    perf stat -e L1-dcache-loads,L1-dcache-load-misses parades run multicast --engine sequential --set data=1024 --set share=false\n\
    valgrind --tool=cachegrind --cache-sim=yes parades run multicast --engine sequential --set data=1024 --set share=false --until 10ms\n";

fn table_2(Options { pairs, program, .. }: &Options, figures: &mut Vec<Figure>) -> Result<String, Failure> {
    let title = "table 2: data cache misses per read";
    if !counters::exist() {
        return Ok(format!(
            "{title}: not measured, as `perf stat` finds no {} here; where it does, this table is made, and by hand\n{BY_HAND}\
             with share=true beside each (the second computes a cache of its own, on any machine)\n\n",
            counters::MISSES
        ));
    }
    let mut drawn = table(&["T", "L", "E", "S", "published\ncopied / shared", "copied", "shared"]);
    for Published { case, misses, .. } in TABLE_1 {
        let Some([copied, shared]) = misses else { continue };
        let mut cells = case.cells();
        cells.push(format!("{copied:.4} / {shared:.4}"));
        for (share, what) in [(false, "copied"), (true, "shared")] {
            let words = case.words(share, SEQUENTIAL, 1, case.until_ps());
            let runs = (0..*pairs).filter_map(|_| counters::misses_per_load(program, &words).transpose());
            let ratios = runs.collect::<Result<Vec<f64>, _>>()?;
            if ratios.is_empty() {
                cells.push("–".into());
                continue;
            }
            let spread = Spread::of(&ratios);
            cells.push(spread.show(4));
            figures.push(Figure { name: format!("{}, {what}, misses per read", case.name()), spread });
        }
        drawn.add_row(cells);
    }
    Ok(format!("{title}, {} over {}; sequential, whole runs\n{drawn}\n\n", counters::MISSES, counters::LOADS))
}

fn table_3(Options { pairs, program, .. }: &Options, figures: &mut Vec<Figure>) -> Result<String, Failure> {
    let threads: Vec<u64> = (2..=4).filter(|&threads| threads <= cores()).collect();
    if threads.is_empty() {
        return Ok("table 3: one core is available, so nothing was measured with two threads\n".into());
    }
    let mut drawn = table(&[
        "T",
        "L",
        "E",
        "S",
        "threads",
        "published",
        "window\nover sequential",
        "window\nover one thread",
        "time-warp\nover sequential",
        "time-warp\nover one thread",
        "the machine's\nlimits",
    ]);
    for (case, published) in TABLE_3 {
        let peaks = RefCell::default();
        // The first side is sequential. Then each number of threads has the same four sides.
        let of = |threads: u64| -> [Side<'_>; 4] {
            let engine = |name: &'static str| side(program, case, true, name, threads, &peaks);
            [engine("window"), engine("time-warp"), arithmetic::<1>(threads), arithmetic::<4>(threads)]
        };
        let mut sides = vec![side(program, case, true, SEQUENTIAL, 1, &peaks)];
        sides.extend(std::iter::once(1).chain(threads.iter().copied()).flat_map(of));
        let rates = in_turn(&format!("{}, threads", case.name()), *pairs, &mut sides)?;
        for (index, (threads, published)) in threads.iter().zip(published).enumerate() {
            const ONE: usize = 1;
            let several = ONE + 4 * (index + 1);
            let mut ratio = |side: usize, to: usize, what: &str| {
                let spread = rates.ratio(side, to);
                figures.push(Figure {
                    name: format!("{}, {threads} threads, {what}", case.name()),
                    spread: spread.clone(),
                });
                spread
            };
            let mut cells = case.cells();
            cells.extend([threads.to_string(), format!("{published:.2}")]);
            cells.extend([
                ratio(several, 0, "window over sequential").show(2),
                ratio(several, ONE, "window over one thread").show(2),
                ratio(several + 1, 0, "time-warp over sequential").show(2),
                ratio(several + 1, ONE + 1, "time-warp over one thread").show(2),
            ]);
            let limits = [("a chain", 2), ("chains that fill the core", 3)];
            let limits = limits.map(|(what, side)| {
                let spread = ratio(several + side, ONE + side, &format!("arithmetic in {what} over one thread"));
                format!("{:.2}", spread.median)
            });
            cells.push(limits.join(" / "));
            drawn.add_row(cells);
        }
    }
    Ok(format!(
        "table 3: speed-up, data shared. Trees have no link between them, so neither engine need wait for another's events\n{drawn}\n\
         the machine's limits, in the same rounds: the work of so many threads of plain arithmetic over that of one, where it leaves room in\n\
         the core / where it fills the core\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_about_as_long_as_wanted() {
        let small = Case(8, 10, 8, 4);
        assert_eq!(small.waiting(), 65_472);
        let hops = small.until_ps() as f64 / 1.5e9;
        assert!((hops * 65_472.0 / EVENTS - 1.0).abs() < 0.01, "{hops} hops");
        assert_eq!(Case(16, 15, 8, 4).until_ps(), 4_500_000_000, "each of 4 million is passed on three times");
    }

    #[test]
    fn the_published_numbers_are_in_the_tables_of_the_machine() {
        let [.., largest] = &TABLE_1;
        assert_eq!(
            largest.case.words(false, SEQUENTIAL, 1, 7).join(" "),
            "multicast --set trees=16 --set levels=15 --set start_events=8 --set data=1024 --set share=false --engine sequential --threads 1 --until 7ps"
        );
        assert!((17e9..19e9).contains(&(largest.case.copied_bytes() as f64)));
        assert!(TABLE_1.iter().any(|row| row.case == of_levels(15)), "figure 4 ends with a row of table 1");
    }
}
