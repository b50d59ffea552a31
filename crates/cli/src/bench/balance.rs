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
use parades_engine::window::{self, Settings};
use parades_net::campus::Parameters;
use std::cell::Cell;
use std::fmt::Write;

/// Shares of the work that is dedicated, as in table 10. The last is the yardstick.
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const ALL: usize = SHARES.len() - 1;

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

/// The runs of one model with each share.
struct Column {
    model: &'static str,
    rates: Rates,
    /// Into how many the engine cut the model.
    partitions: f64,
}

pub(super) fn measure(pairs: u32) -> Result<Measured, Failure> {
    let campus = Parameters { networks: 10, ..Parameters::default() };
    let campus = campus.network(1).map_err(|error| Failure::simulation(error.to_string()))?;
    let hot_spot = HotSpot { lps: 1_024 * SPOTS, spots: SPOTS };
    let mut drawn = table(&["threads", "dedicated", "published", "campus", "hot spot"]);
    let (mut figures, mut cut) = (Vec::new(), String::new());
    for published in PUBLISHED.iter().filter(|published| published.threads <= cores()) {
        let Published { threads, by_share_s, .. } = published;
        let usual = Settings::of_threads(usize::try_from(*threads).expect("a few"));
        let columns = [
            column(("campus", &campus, 5), &usual, pairs)?,
            column(("hot spot", &hot_spot, 60), &Settings { partitions: Some(SPOTS), ..usual }, pairs)?,
        ];
        for (side, share) in SHARES.iter().enumerate() {
            let relative = by_share_s[side] / by_share_s[ALL];
            let mut row = vec![threads.to_string(), format!("{share:.2}"), format!("{relative:.2}")];
            for Column { model, rates, .. } in &columns {
                // The same events: the ratio of times is that of speeds, turned over.
                let spread = rates.ratio(ALL, side);
                row.push(spread.show(2));
                let name = format!("{model}, {threads} threads, {share:.2} dedicated, time over all dedicated");
                figures.push(Figure { name, spread });
            }
            drawn.add_row(row);
        }
        let cuts = columns.map(|Column { model, partitions, .. }| format!("{model} in {partitions} partitions"));
        let _ = writeln!(cut, "{threads} threads: {}", cuts.join(", "));
    }
    Ok(Measured { text: explained(&format!("{drawn}\n{cut}")), figures })
}

fn column<M: Model>(
    (name, model, seconds): (&'static str, &M, u64),
    usual: &Settings,
    pairs: u32,
) -> Result<Column, Failure> {
    let partitions = &Cell::new(0.0);
    let side = |dedicated: f64| -> Side<'_> {
        let settings = Settings { dedicated, ..*usual };
        Box::new(move || {
            let (ran, outcome) = Ran::engine(|| window::run(model, RunOptions::until(until(seconds)), &settings))?;
            partitions.set(stat(&outcome, "partitions"));
            Ok(ran)
        })
    };
    let rates = in_turn(&format!("{name}, {} threads", usual.threads), pairs, &mut SHARES.map(side))?;
    Ok(Column { model: name, rates, partitions: partitions.get() })
}

fn explained(drawn: &str) -> String {
    if cores() < 2 {
        return "one core is available: there is nobody to share work with\n".to_owned();
    }
    let mut text = format!(
        "window: time of a run relative to all work dedicated, by the share of the work that is; every digest the same\n{drawn}\
         published: table 10 of G. Seguin, Multi-core Parallelism for ns-3 Simulator, INRIA, 2009, whole runs of the campus ring\n\
         campus: 10 networks, 5 s; hot spot: at a {SPOTS}th of the LPs, others each second, an event is {} times the work of the rest\n\
         `window` has one shared set. Table 9 there, none dedicated, by the number of sets:\n",
        hot_spot::HOT
    );
    for Published { threads, by_sets_s, .. } in &PUBLISHED {
        let sets: Vec<String> =
            (1..).zip(*by_sets_s).map(|(sets, seconds)| format!("{sets}: {seconds:.1} s")).collect();
        let _ = writeln!(text, "  {threads} threads: {}", sets.join(", "));
    }
    text
}
