//! `bench scaling`: the gain of more threads, up to the number of cores.

use crate::record::Figure;
use crate::sides::{Ran, Side, choice, cores, in_turn, long_enough, simulation};
use crate::{Measured, Options};
use parades_catalog::Choice;
use parades_core::run::RunOptions;
use parades_core::time::Time;
use parades_report::drawing::table;
use parades_session::Failure;

/// A scenario of a size at which several threads may pay, and the engines that run it.
struct Case {
    scenario: &'static str,
    set: &'static [&'static str],
    engines: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case { scenario: "phold", set: &["lps=16384"], engines: &["window", "time-warp"] },
    Case { scenario: "phold", set: &["lps=262144"], engines: &["window", "time-warp"] },
    Case { scenario: "campus", set: &["networks=32"], engines: &["window", "null-message"] },
    Case { scenario: "wan", set: &[], engines: &["window", "null-message"] },
    Case { scenario: "multicast", set: &[], engines: &["window", "time-warp"] },
    Case { scenario: "transfer", set: &["pairs=4096"], engines: &["window"] },
    Case { scenario: "chord", set: &["nodes=10000"], engines: &["window", "rounds"] },
    Case { scenario: "clusters", set: &["steps=1000000"], engines: &["window", "rounds"] },
    Case { scenario: "clusters", set: &["steps=1000000", "deviation=0.5"], engines: &["window"] },
];

/// Returns the powers of two below the number of cores, and that number.
fn thread_counts(cores: u64) -> Vec<u64> {
    let powers = std::iter::successors(Some(1), |count| Some(count * 2));
    powers.take_while(|&count| count < cores).chain([cores]).collect()
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let counts = thread_counts(cores());
    let columns = counts.iter().map(|threads| format!("{threads} thread{}", if *threads == 1 { "" } else { "s" }));
    let columns: Vec<String> = columns.collect();
    let headings: Vec<&str> = ["scenario", "sequential,\nM events/s", "engine"]
        .into_iter()
        .chain(columns.iter().map(String::as_str))
        .collect();
    let mut drawn = table(&headings);
    let mut figures = Vec::new();
    for &Case { scenario, set, engines } in CASES {
        let name = [&[scenario], set].concat().join(" ");
        let simulation = &simulation(scenario, set)?;
        let run =
            |choice: &Choice, until: Time| Ok(Ran::engine(|| simulation.run(choice, RunOptions::until(until)))?.0);
        let sequential = choice("sequential", 1, &[])?;
        let until = long_enough(Time::try_from_secs_f64(1.0).expect("a second"), |until| run(&sequential, until))?;
        let ways = engines.iter().flat_map(|&engine| counts.iter().map(move |&threads| choice(engine, threads, &[])));
        let choices = std::iter::once(Ok(sequential)).chain(ways).collect::<Result<Vec<_>, _>>()?;
        let side = |choice: &'_ Choice| -> Side<'_> {
            let choice = choice.clone();
            Box::new(move || run(&choice, until))
        };
        let mut sides: Vec<Side<'_>> = choices.iter().map(side).collect();
        let rates = in_turn(&name, pairs, &mut sides)?;
        let mut first = [name.clone(), format!("{:.2}", rates.of(0).median / 1e6)];
        for (of, engine) in engines.iter().enumerate() {
            let mut row: Vec<String> = first.iter_mut().map(std::mem::take).collect();
            row.push((*engine).to_owned());
            for (at, column) in columns.iter().enumerate() {
                let ratio = rates.ratio(1 + of * columns.len() + at, 0);
                row.push(ratio.show(2));
                figures.push(Figure { name: format!("{name}, {engine}, {column}, over sequential"), spread: ratio });
            }
            drawn.add_row(row);
        }
    }
    let text = format!(
        "how many times as fast as sequential; digest on, the same for all; runs are so long that they take sequential about a second\n{drawn}\n"
    );
    Ok(Measured { text, figures })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_doubled_up_to_the_cores() {
        assert_eq!([1, 2, 6, 16].map(thread_counts), [vec![1], vec![1, 2], vec![1, 2, 4, 6], vec![1, 2, 4, 8, 16]]);
    }
}
