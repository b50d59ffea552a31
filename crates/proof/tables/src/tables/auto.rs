//! `bench auto`: the cost of leaving the choice of an engine to `auto`, scenario by scenario.

use super::phold::stat;
use crate::record::Figure;
use crate::sides::{Ran, Rates, Side, choice, cores, in_turn, long_enough, scenario, simulation};
use crate::{Measured, Options};
use comfy_table::CellAlignment;
use parades_catalog::{Choice, Engine, Scenario, Simulation};
use parades_config::Values;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_netfile::NetworkFile;
use parades_report::drawing::table;
use parades_session::Failure;
use std::cell::{Cell, RefCell};
use std::path::Path;

/// A row: a scenario, and the parameters that are set.
struct Row {
    scenario: &'static str,
    set: &'static [&'static str],
    /// The name and the text of a network file, if the scenario is `network`.
    network: Option<(&'static str, &'static str)>,
}

impl Row {
    const fn of(scenario: &'static str, set: &'static [&'static str]) -> Row {
        Row { scenario, set, network: None }
    }

    const fn network(name: &'static str, text: &'static str) -> Row {
        Row { scenario: "network", set: &[], network: Some((name, text)) }
    }

    fn name(&self) -> String {
        match self.network {
            Some((name, _)) => name.to_owned(),
            None => [&[self.scenario], self.set].concat().join(" "),
        }
    }

    /// Returns the scenario, its parameters, and the simulation.
    fn build(&self) -> Result<(&'static Scenario, Values, Simulation), Failure> {
        let (scenario, values) = scenario(self.scenario, self.set)?;
        let Some((name, text)) = self.network else {
            return Ok((scenario, values, simulation(self.scenario, self.set)?));
        };
        let file = NetworkFile::parse(Path::new(name), text.to_owned())?.expect("the text is a network file");
        let simulation = Simulation::of_network(&file, &file.parameters(), 1)?;
        Ok((scenario, file.parameters(), simulation))
    }
}

/// The rows. Flows of the campus are so large that they last as long as the run.
const ROWS: [Row; 25] = [
    Row::of("campus", &["flow=1TB", "networks=2"]),
    Row::of("campus", &["flow=1TB", "networks=10"]),
    Row::of("campus", &["flow=1TB", "traffic=multicast"]),
    Row::network("fat tree", include_str!("auto/fat_tree.toml")),
    Row::network("leaf-spine, DCTCP", include_str!("auto/leaf_spine.toml")),
    Row::of("wan", &[]),
    Row::of("bittorrent", &[]),
    Row::of("bittorrent", &["peers=500"]),
    Row::of("kademlia", &[]),
    Row::of("gossipsub", &[]),
    Row::of("averaging", &["nodes=50000"]),
    Row::of("chord", &["nodes=3000", "network=constant"]),
    Row::of("chord", &["nodes=1000", "network=precise"]),
    Row::of("flows", &["flows=500000"]),
    Row::of("phold", &[]),
    Row::of("phold", &["lps=16384", "lookahead=10ms"]),
    Row::of("phold", &["lps=262144"]),
    Row::of("phold", &["lps=1024", "lookahead=0s"]),
    Row::of("phold", &["lps=65536", "lookahead=0s"]),
    Row::of("multicast", &[]),
    Row::of("transfer", &[]),
    Row::of("transfer", &["pairs=1024"]),
    Row::of("mm1", &[]),
    Row::of("jackson", &[]),
    Row::of("jackson", &["layout=ring"]),
];

/// A column: an engine and its number of threads.
struct Entrant {
    engine: Engine,
    threads: u64,
}

const ENTRANTS: [Entrant; 7] = [
    Entrant { engine: Engine::Sequential, threads: 1 },
    Entrant { engine: Engine::Window, threads: 1 },
    Entrant { engine: Engine::Window, threads: 2 },
    Entrant { engine: Engine::NullMessage, threads: 2 },
    Entrant { engine: Engine::Rounds, threads: 2 },
    Entrant { engine: Engine::TimeWarp, threads: 2 },
    Entrant { engine: Engine::Auto, threads: 2 },
];

impl Entrant {
    fn name(&self) -> String {
        let Entrant { engine, threads } = self;
        match (engine, threads) {
            (Engine::Sequential | Engine::Auto, _) => engine.to_string(),
            (_, 1) => format!("{engine}, 1 thread"),
            (_, threads) => format!("{engine}, {threads} threads"),
        }
    }

    fn choice(&self) -> Result<Choice, Failure> {
        // On one core, `auto` is given one thread.
        choice(self.engine.name(), self.threads.min(cores()), &[])
    }
}

/// The measurements of a scenario.
struct Found {
    rates: Rates,
    /// The number of events of a run.
    events: u64,
    /// The engine on which `auto` ran it.
    ran_on: String,
}

/// Runs a simulation with each of several choices, in turn.
fn contest(what: &str, simulation: &Simulation, choices: &[Choice], pairs: u32) -> Result<Found, Failure> {
    // The scenario's own end may be far off.
    let first = Time::from_ps(simulation.until.as_ps() / 64);
    let until = long_enough(first, |until| run(&choices[0], simulation, until).map(|(ran, _)| ran))?;
    let (events, ran_on) = (&Cell::new(0), &RefCell::new(String::new()));
    let side = |choice: &Choice| -> Side<'_> {
        let choice = choice.clone();
        Box::new(move || {
            let (ran, chosen) = run(&choice, simulation, until)?;
            events.set(ran.events);
            if let Some(chosen) = chosen {
                ran_on.replace(chosen);
            }
            Ok(ran)
        })
    };
    let mut sides: Vec<Side<'_>> = choices.iter().map(side).collect();
    let rates = in_turn(what, pairs, &mut sides)?;
    drop(sides);
    Ok(Found { rates, events: events.get(), ran_on: ran_on.take() })
}

/// Runs the simulation once. Returns the engine that `auto` chose, if `auto` should choose. The choice is
/// part of the run.
fn run(choice: &Choice, simulation: &Simulation, until: Time) -> Result<(Ran, Option<String>), Failure> {
    let mut chosen = None;
    let (ran, outcome) =
        Ran::engine(|| simulation.run(chosen.insert(simulation.resolve(choice)), RunOptions::until(until)))?;
    let chosen = chosen.filter(|chosen| chosen.why.is_some());
    Ok((ran, chosen.map(|chosen| describe(&chosen, &outcome))))
}

fn describe(chosen: &Choice, outcome: &Outcome) -> String {
    let turns = stat(outcome, "turns");
    match chosen.engine {
        Engine::Window => format!("window, {} partitions at the end, {turns} turns", stat(outcome, "partitions")),
        Engine::TimeWarp => format!("time-warp, {turns} turns"),
        other => other.to_string(),
    }
}

/// Returns the side with the greatest median rate, among the sides before `auto`.
fn best(rates: &Rates, auto: usize) -> usize {
    (0..auto).max_by(|&a, &b| rates.of(a).median.total_cmp(&rates.of(b).median)).expect("there are several")
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let choices = ENTRANTS.iter().map(Entrant::choice).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = ENTRANTS.iter().map(Entrant::name).collect();
    let mut headings = vec!["scenario".to_owned()];
    headings.extend(names.iter().map(|name| name.replace(", ", "\n")));
    headings.extend(["best over auto's time".to_owned(), "auto ran".into()]);
    let mut drawn = table(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    for column in [0, ENTRANTS.len() + 2] {
        if let Some(words) = drawn.column_mut(column) {
            words.set_cell_alignment(CellAlignment::Left);
        }
    }
    let mut figures = Vec::new();
    for row in &ROWS {
        let what = row.name();
        let (scenario, values, simulation) = row.build()?;
        let can_run: Vec<usize> =
            (0..choices.len()).filter(|&entrant| choices[entrant].check(scenario, &values).is_ok()).collect();
        let sides: Vec<Choice> = can_run.iter().map(|&entrant| choices[entrant].clone()).collect();
        let Found { rates, events, ran_on } = contest(&what, &simulation, &sides, pairs)?;
        let mut row = vec![what.clone()];
        row.resize(1 + names.len(), "-".to_owned());
        for (side, &entrant) in can_run.iter().enumerate() {
            let (spread, column) = (rates.of(side), &names[entrant]);
            row[1 + entrant] = format!("{:.2}", events as f64 / spread.median);
            figures.push(Figure { name: format!("{what}: {column}, events/s"), spread });
        }
        // All sides execute the same events, so the ratio of times is the inverse ratio of rates. The last
        // side is `auto`.
        let auto = can_run.len() - 1;
        let share = rates.ratio(auto, best(&rates, auto));
        figures.push(Figure { name: format!("{what}: auto over the best"), spread: share.clone() });
        row.extend([share.show(2), ran_on]);
        drawn.add_row(row);
    }
    let text = format!(
        "seconds of a run of each scenario, set-up and the choice of an engine included, every digest the same; and the time of the\n\
         engine that was fastest, by the median, over that of auto; `-` where an engine rolls back, and the state cannot be restored\n{drawn}\n\
         runs are so long that they take sequential about a second; flows of the campus last as long as they do\n"
    );
    Ok(Measured { text, figures })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_simulation_that_sequential_runs() {
        for row in &ROWS {
            let (scenario, values, simulation) =
                row.build().unwrap_or_else(|failure| panic!("{}: {failure}", row.name()));
            assert!(ENTRANTS[0].choice().expect("an engine").check(scenario, &values).is_ok(), "{}", row.name());
            assert!(simulation.until > Time::ZERO, "{}", row.name());
        }
    }
}
