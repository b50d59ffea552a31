//! `bench balance`: work dedicated to threads, beside work that any free thread takes. It has tables 9 and 10
//! of G. Seguin, *Multi-core Parallelism for ns-3 Simulator*, INRIA, 2009.

mod hot_spot;

use super::phold::{stat, until};
use crate::record::Figure;
use crate::sides::{Ran, Rates, Side, choice, cores, in_turn, simulation};
use crate::{Measured, Options};
use comfy_table::Table;
use hot_spot::HotSpot;
use parades_catalog::{Choice, Simulation};
use parades_core::error::Error;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::retreat::Retreats;
use parades_engine::window::{self, Settings, Taking};
use parades_report::drawing::table;
use parades_session::Failure;
use std::cell::Cell;
use std::fmt::Write;

/// The shares of the work that are dedicated, as in table 10. The last is the yardstick.
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const ALL: usize = SHARES.len() - 1;

/// A way to share the work of a window among threads.
#[derive(Clone, Copy)]
struct Way {
    /// The share of the work that is dedicated to a thread.
    dedicated: f64,
    /// The way in which a thread takes the next partition of the shared work.
    taking: Taking,
    /// The number of sets that hold the shared work.
    sets: usize,
}

/// Ways in which no work is dedicated. The first is the yardstick.
const WAYS: [Way; 6] = [
    none_dedicated(Taking::AtomicIndex, 1),
    none_dedicated(Taking::AtomicIndex, 2),
    none_dedicated(Taking::AtomicIndex, 3),
    none_dedicated(Taking::AtomicIndex, 4),
    none_dedicated(Taking::LockedIndex, 1),
    none_dedicated(Taking::LockedQueue, 1),
];

const fn none_dedicated(taking: Taking, sets: usize) -> Way {
    Way { dedicated: 0.0, taking, sets }
}

impl Way {
    /// Returns the settings of a model that the catalog does not have.
    fn settings(self, threads: usize) -> Settings {
        let Way { dedicated, taking, sets } = self;
        let partitions = Some(SPOTS);
        Settings { dedicated, taking, sets, partitions, retreats: Retreats::Never, ..Settings::of_threads(threads) }
    }

    /// Returns the same settings for a scenario.
    fn choice(self, threads: u64) -> Result<Choice, Failure> {
        let Way { dedicated, taking, sets } = self;
        let taking = match taking {
            Taking::AtomicIndex => "atomic-index",
            Taking::LockedIndex => "locked-index",
            Taking::LockedQueue => "locked-queue",
        };
        let tune = [format!("dedicated={dedicated}"), format!("taking={taking}"), format!("sets={sets}")];
        let tune: Vec<&str> = tune.iter().map(String::as_str).chain(["retreat=false"]).collect();
        choice("window", threads, &tune)
    }

    /// Returns the table's name for the way in which threads take work.
    fn taken_by(self) -> &'static str {
        match self.taking {
            Taking::AtomicIndex => "atomic index",
            Taking::LockedIndex => "locked index",
            Taking::LockedQueue => "locked queue",
        }
    }
}

/// The published figures for a number of threads, in seconds of a whole run.
struct Published {
    threads: u64,
    /// Table 9: no work dedicated, with one shared set, with two, and so on.
    by_sets_s: &'static [f64],
    /// Table 10: by dedicated share, with the best number of shared sets.
    by_share_s: [f64; SHARES.len()],
}

const PUBLISHED: [Published; 3] = [
    Published { threads: 2, by_sets_s: &[26.6, 27.8], by_share_s: [26.6, 26.4, 26.2, 26.7, 28.5] },
    Published { threads: 5, by_sets_s: &[26.4, 25.8, 25.9, 27.0], by_share_s: [25.8, 25.3, 23.4, 25.4, 28.2] },
    Published { threads: 8, by_sets_s: &[26.4, 25.3, 24.7, 25.9], by_share_s: [24.7, 23.6, 22.1, 22.8, 26.1] },
];

/// The greatest number of partitions of the model with a hot spot. It is also the number of ranges of LPs
/// that are hot in turn.
const SPOTS: u32 = 16;

/// The runs of one model in each way.
struct Column {
    model: &'static str,
    rates: Rates,
    /// The number of partitions into which the engine cut the model.
    partitions: f64,
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let campus = simulation("campus", &["networks=10"])?;
    let models = Models { campus, hot_spot: HotSpot { lps: 1_024 * SPOTS, spots: SPOTS } };
    let mut by_share = table(&["threads", "dedicated", "published", "campus", "hot spot"]);
    let mut by_way = table(&["threads", "taken by", "sets", "published", "campus", "hot spot"]);
    let (mut figures, mut cut) = (Vec::new(), String::new());
    for published in PUBLISHED.iter().filter(|published| published.threads <= cores()) {
        let threads = published.threads;
        let sets = usize::try_from(threads).expect("a few");
        let shares = SHARES.map(|dedicated| Way { dedicated, taking: Taking::AtomicIndex, sets });
        let columns = models.columns(threads, &shares, pairs)?;
        published.rows_by_share(&columns, &mut by_share, &mut figures);
        let ways: Vec<Way> = WAYS.into_iter().filter(|way| way.sets <= sets).collect();
        published.rows_by_way(&models.columns(threads, &ways, pairs)?, &ways, &mut by_way, &mut figures);
        let cuts = columns.map(|Column { model, partitions, .. }| format!("{model} in {partitions} partitions"));
        let _ = writeln!(cut, "{threads} threads: {}", cuts.join(", "));
    }
    Ok(Measured { text: explained(&format!("{by_share}"), &format!("{by_way}"), &cut), figures })
}

impl Published {
    fn rows_by_share(&self, columns: &[Column], drawn: &mut Table, figures: &mut Vec<Figure>) {
        let Published { threads, by_share_s, .. } = self;
        for (side, share) in SHARES.iter().enumerate() {
            let relative = by_share_s[side] / by_share_s[ALL];
            let mut row = vec![threads.to_string(), format!("{share:.2}"), format!("{relative:.2}")];
            row.extend(times(columns, side, ALL, &format!("{threads} threads, {share:.2} dedicated"), figures));
            drawn.add_row(row);
        }
    }

    fn rows_by_way(&self, columns: &[Column], ways: &[Way], drawn: &mut Table, figures: &mut Vec<Figure>) {
        let Published { threads, by_sets_s, .. } = self;
        for (side, way) in ways.iter().enumerate() {
            let (taken_by, sets) = (way.taken_by(), way.sets);
            let known = by_sets_s.get(sets - 1).filter(|_| way.taking == Taking::AtomicIndex);
            let relative = known.map_or(String::new(), |seconds| format!("{:.2}", seconds / by_sets_s[0]));
            let mut row = vec![threads.to_string(), taken_by.to_owned(), sets.to_string(), relative];
            row.extend(times(columns, side, 0, &format!("{threads} threads, {taken_by}, {sets} sets"), figures));
            drawn.add_row(row);
        }
    }
}

/// Returns the ratio of each model's run times with two settings.
fn times<'a>(
    columns: &'a [Column],
    side: usize,
    to: usize,
    what: &'a str,
    figures: &'a mut Vec<Figure>,
) -> impl Iterator<Item = String> + 'a {
    columns.iter().map(move |Column { model, rates, .. }| {
        // All sides execute the same events, so the ratio of times is the inverse ratio of rates.
        let spread = rates.ratio(to, side);
        figures.push(Figure { name: format!("{model}, {what}, relative time"), spread: spread.clone() });
        spread.show(2)
    })
}

struct Models {
    campus: Simulation,
    hot_spot: HotSpot,
}

impl Models {
    fn columns(&self, threads: u64, ways: &[Way], pairs: u32) -> Result<[Column; 2], Failure> {
        let options = |seconds| RunOptions::until(until(seconds));
        let choices = ways.iter().map(|way| way.choice(threads)).collect::<Result<Vec<_>, _>>()?;
        let campus = choices.iter().map(|choice| || self.campus.run(choice, options(5)));
        let each = usize::try_from(threads).expect("a few");
        let settings: Vec<Settings> = ways.iter().map(|way| way.settings(each)).collect();
        let hot_spot = settings.iter().map(|settings| || window::run(&self.hot_spot, options(60), settings));
        Ok([column("campus", threads, campus, pairs)?, column("hot spot", threads, hot_spot, pairs)?])
    }
}

/// Runs a model in each way, in turn.
fn column<R: Fn() -> Result<Outcome, Error>>(
    model: &'static str,
    threads: u64,
    runs: impl Iterator<Item = R>,
    pairs: u32,
) -> Result<Column, Failure> {
    let partitions = &Cell::new(0.0);
    let side = |run: R| -> Side<'_> {
        Box::new(move || {
            let (ran, outcome) = Ran::engine(&run)?;
            partitions.set(stat(&outcome, "partitions"));
            Ok(ran)
        })
    };
    let rates = in_turn(&format!("{model}, {threads} threads"), pairs, &mut runs.map(side).collect::<Vec<_>>())?;
    Ok(Column { model, rates, partitions: partitions.get() })
}

fn explained(by_share: &str, by_way: &str, cut: &str) -> String {
    if cores() < 2 {
        return "one core is available: there is nobody to share work with\n".to_owned();
    }
    format!(
        "window: time of a run relative to all work dedicated, by the share of the work that is; the rest in a set for each thread; every digest the same\n{by_share}\n\
         none dedicated: relative to one set with an atomic index\n{by_way}\n{cut}\
         published: tables 10 and 9 of G. Seguin, Multi-core Parallelism for ns-3 Simulator, INRIA, 2009, whole runs of the campus ring,\n\
         which took 26.6 s on 2 threads with one set; of the locked index and the locked queue it only says that they were slower\n\
         campus: 10 networks, 5 s; hot spot: at a {SPOTS}th of the LPs, others each second, an event is {} times the work of the rest\n",
        hot_spot::HOT
    )
}
