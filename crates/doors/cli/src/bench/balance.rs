//! `bench balance`: work dedicated to threads, and work that whoever is free takes, beside tables 9 and 10 of G. Seguin, *Multi-core
//! Parallelism for ns-3 Simulator*, INRIA, 2009.

mod hot_spot;

use super::Measured;
use super::phold::{stat, until};
use super::record::Figure;
use super::sides::{Ran, Rates, Side, cores, in_turn};
use crate::failure::Failure;
use crate::report::table;
use hot_spot::HotSpot;
use parades_core::model::Model;
use parades_core::run::RunOptions;
use parades_engine::retreat::Retreats;
use parades_engine::window::{self, Settings, Taking};
use parades_packet::campus::Parameters;
use parades_packet::network::Network;
use std::cell::Cell;
use std::fmt::Write;

/// Shares of the work that is dedicated, as in table 10. The last is the yardstick.
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const ALL: usize = SHARES.len() - 1;

/// Ways to share, none dedicated. The first is the yardstick.
const WAYS: [(Taking, usize); 6] = [
    (Taking::AtomicIndex, 1),
    (Taking::AtomicIndex, 2),
    (Taking::AtomicIndex, 3),
    (Taking::AtomicIndex, 4),
    (Taking::LockedIndex, 1),
    (Taking::LockedQueue, 1),
];

/// What is published for a number of threads, in seconds of a whole run.
struct Published {
    threads: u64,
    /// Table 9: none dedicated, with one shared set, two, and so on.
    by_sets_s: &'static [f64],
    /// Table 10: by share, with the best number of shared sets.
    by_share_s: [f64; SHARES.len()],
}

const PUBLISHED: [Published; 3] = [
    Published { threads: 2, by_sets_s: &[26.6, 27.8], by_share_s: [26.6, 26.4, 26.2, 26.7, 28.5] },
    Published { threads: 5, by_sets_s: &[26.4, 25.8, 25.9, 27.0], by_share_s: [25.8, 25.3, 23.4, 25.4, 28.2] },
    Published { threads: 8, by_sets_s: &[26.4, 25.3, 24.7, 25.9], by_share_s: [24.7, 23.6, 22.1, 22.8, 26.1] },
];

/// Partitions at most of the run with a hot spot, and ranges of LPs that are hot in turn.
const SPOTS: u32 = 16;

/// The runs of one model with each of some settings.
struct Column {
    model: &'static str,
    rates: Rates,
    /// Into how many the engine cut the model.
    partitions: f64,
}

pub(super) fn measure(pairs: u32) -> Result<Measured, Failure> {
    let campus = Parameters { networks: 10, ..Parameters::default() };
    let campus = campus.network(1).map_err(|error| Failure::simulation(error.to_string()))?;
    let models = Models { campus, hot_spot: HotSpot { lps: 1_024 * SPOTS, spots: SPOTS } };
    let mut by_share = table(&["threads", "dedicated", "published", "campus", "hot spot"]);
    let mut by_way = table(&["threads", "taken by", "sets", "published", "campus", "hot spot"]);
    let (mut figures, mut cut) = (Vec::new(), String::new());
    for published in PUBLISHED.iter().filter(|published| published.threads <= cores()) {
        let Published { threads, by_sets_s, by_share_s } = published;
        let threads_each = usize::try_from(*threads).expect("a few");
        let usual = Settings { retreats: Retreats::Never, ..Settings::of_threads(threads_each) };
        let shares = SHARES.map(|dedicated| Settings { dedicated, ..usual });
        let columns = models.columns(&shares, pairs)?;
        for (side, share) in SHARES.iter().enumerate() {
            let relative = by_share_s[side] / by_share_s[ALL];
            let mut row = vec![threads.to_string(), format!("{share:.2}"), format!("{relative:.2}")];
            row.extend(times(&columns, (side, ALL), &format!("{threads} threads, {share:.2} dedicated"), &mut figures));
            by_share.add_row(row);
        }
        let ways: Vec<_> = WAYS.into_iter().filter(|(_, sets)| *sets <= usual.threads).collect();
        let settings: Vec<_> =
            ways.iter().map(|&(taking, sets)| Settings { dedicated: 0.0, taking, sets, ..usual }).collect();
        let columns_by_way = models.columns(&settings, pairs)?;
        for (side, (taking, sets)) in ways.into_iter().enumerate() {
            let taken_by = match taking {
                Taking::AtomicIndex => "atomic index",
                Taking::LockedIndex => "locked index",
                Taking::LockedQueue => "locked queue",
            };
            let known = by_sets_s.get(sets - 1).filter(|_| taking == Taking::AtomicIndex);
            let relative = known.map_or(String::new(), |seconds| format!("{:.2}", seconds / by_sets_s[0]));
            let mut row = vec![threads.to_string(), taken_by.to_owned(), sets.to_string(), relative];
            let what = format!("{threads} threads, {taken_by}, {sets} sets");
            row.extend(times(&columns_by_way, (side, 0), &what, &mut figures));
            by_way.add_row(row);
        }
        let cuts = columns.map(|Column { model, partitions, .. }| format!("{model} in {partitions} partitions"));
        let _ = writeln!(cut, "{threads} threads: {}", cuts.join(", "));
    }
    Ok(Measured { text: explained(&format!("{by_share}"), &format!("{by_way}"), &cut), figures })
}

/// The time of each model's runs with one setting over that with another.
fn times<'a>(
    columns: &'a [Column],
    (side, to): (usize, usize),
    what: &'a str,
    figures: &'a mut Vec<Figure>,
) -> impl Iterator<Item = String> + 'a {
    columns.iter().map(move |Column { model, rates, .. }| {
        // The same events: the ratio of times is that of speeds, turned over.
        let spread = rates.ratio(to, side);
        figures.push(Figure { name: format!("{model}, {what}, relative time"), spread: spread.clone() });
        spread.show(2)
    })
}

struct Models {
    campus: Network,
    hot_spot: HotSpot,
}

impl Models {
    fn columns(&self, settings: &[Settings], pairs: u32) -> Result<[Column; 2], Failure> {
        let spots: Vec<_> = settings.iter().map(|settings| Settings { partitions: Some(SPOTS), ..*settings }).collect();
        Ok([
            column(("campus", &self.campus, 5), settings, pairs)?,
            column(("hot spot", &self.hot_spot, 60), &spots, pairs)?,
        ])
    }
}

fn column<M: Model>(
    (name, model, seconds): (&'static str, &M, u64),
    settings: &[Settings],
    pairs: u32,
) -> Result<Column, Failure> {
    let partitions = &Cell::new(0.0);
    let side = |settings: &Settings| -> Side<'_> {
        let settings = *settings;
        Box::new(move || {
            let (ran, outcome) = Ran::engine(|| window::run(model, RunOptions::until(until(seconds)), &settings))?;
            partitions.set(stat(&outcome, "partitions"));
            Ok(ran)
        })
    };
    let mut sides: Vec<Side<'_>> = settings.iter().map(side).collect();
    let rates = in_turn(&format!("{name}, {} threads", settings[0].threads), pairs, &mut sides)?;
    Ok(Column { model: name, rates, partitions: partitions.get() })
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
