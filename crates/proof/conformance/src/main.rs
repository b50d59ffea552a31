//! Runs the comparisons from the command line. The exit status is 1 if anything differs, or was not tested.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command line prints")]

use parades_conformance::engines::Fault;
use parades_conformance::matrix::{Selection, check_selection};
use parades_conformance::networks::{check_network, check_networks};
use parades_conformance::processes::{self, RANK_COMMAND};
use parades_conformance::random::{ALL, Choice, SOAK, SWITCHES, catch_fault, check_genes, check_seeds};
use parades_conformance::report::{Report, silence_panics};
use parades_conformance::saved::breaks::check_breaks;
use parades_conformance::saved::child::{self, CHILD_COMMAND};
use parades_conformance::saved::files::Files;
use parades_conformance::saved::scenarios::rows;
use parades_conformance::stacks::{check_stacks, check_stacks_at_once};
use parades_conformance::{golden, random_model::Genes};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant as WallInstant};

/// The seeds of the random networks among the runs that are saved.
const NETWORKS: std::ops::Range<u64> = 0..40;

const USAGE: &str = "usage: parades-conformance COMMAND
  random COUNT [--from SEED]   random models on all engines
  networks COUNT [--from SEED] random network files on all engines, and on ranks
  network FILE                 one network file, as `networks` runs it
  processes COUNT [--from SEED] random models on 2 and 3 real processes
  soak MINUTES                 random models on time-warp, on 2 to 8 workers that sometimes fall behind
  switches COUNT [--from SEED] random models on one engine after another, which change at cuts during the run
  genes LIST [--soak|--switches TIMES] the random model of these genes, on all engines; or TIMES times as those run it
  matrix [--model M] [--engine E] [--transport T] [--workers N] [--seed N] [--tie-seed N]
  ranks  [the same options]    the matrix on ranks 1, 2 and 3, which share nothing but bytes (`--transport ranks-N`)
  breaks COUNT [--from N]      runs that can be saved, each broken at 5 times, saved to a file, and continued by another engine
  saves COUNT [--from N]       saved runs whose bytes were changed, each in a child with a bound on memory and time
  stacks COUNT [--from SEED]   a token ring, a master with workers, and Chord, on stacks and on 1 to 8 threads
  stacks-at-once NODES         a token ring with a stack for each node
  faults                       plants faults, and shows how soon each is caught
  bless                        rewrites the golden traces";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            println!("{what}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Returns true if nothing differs and everything was tested.
fn run(arguments: &[String]) -> Result<bool, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        ["random", count, options @ ..] => {
            silence_panics(true);
            let seeds = parse_seeds(count, options)?;
            timed(|| check_seeds(with_time_limit(seeds, replay_of(ALL)), ALL))
        }
        ["networks", count, options @ ..] => {
            silence_panics(true);
            let seeds = parse_seeds(count, options)?;
            timed(|| check_networks(with_time_limit(seeds, |seed| format!("networks 1 --from {seed}"))))
        }
        ["processes", count, options @ ..] => {
            silence_panics(true);
            let seeds = parse_seeds(count, options)?;
            let program = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
            let replay = |seed| format!("processes 1 --from {seed}");
            timed(|| processes::check_seeds(&program, with_time_limit(seeds, replay), false))
        }
        ["switches", count, options @ ..] => {
            silence_panics(true);
            let seeds = parse_seeds(count, options)?;
            timed(|| check_seeds(with_time_limit(seeds, replay_of(SWITCHES)), SWITCHES))
        }
        ["breaks", count, options @ ..] => {
            silence_panics(true);
            let numbers = parse_seeds(count, options)?;
            let replay = |number| format!("breaks 1 --from {number}");
            timed(|| check_breaks(&rows(NETWORKS), with_time_limit(numbers, replay)))
        }
        ["saves", count, options @ ..] => saves(count, options),
        [CHILD_COMMAND] => child::serve(|| Files::new(rows(NETWORKS))).map(|()| true),
        [RANK_COMMAND] => {
            silence_panics(false);
            processes::serve().map(|()| true)
        }
        // Panics are shown, with their places.
        ["network", file] => network(file),
        ["soak", minutes] => {
            silence_panics(true);
            let minutes = number(minutes)?;
            timed(|| check_seeds(with_time_limit(seeds_for(minutes), replay_of(SOAK)), SOAK))
        }
        ["genes", list, options @ ..] => genes(list, options),
        ["matrix", options @ ..] => {
            silence_panics(true);
            let selection = parse_selection(options)?;
            timed(|| check_selection(&selection))
        }
        ["ranks", options @ ..] => {
            silence_panics(true);
            let selection = Selection { ranks: true, ..parse_selection(options)? };
            timed(|| check_selection(&selection))
        }
        ["stacks", count, options @ ..] => {
            let seeds = parse_seeds(count, options)?;
            timed(|| check_stacks(with_time_limit(seeds, |seed| format!("stacks 1 --from {seed}"))))
        }
        ["stacks-at-once", nodes] => {
            let nodes = number(nodes)?;
            timed(|| check_stacks_at_once(nodes))
        }
        ["faults"] => Ok(faults()),
        ["bless"] => {
            golden::bless().map(|()| true).map_err(|error| format!("the traces could not be written: {error}"))
        }
        _ => Err("one command is needed".into()),
    }
}

/// Checks one network file.
fn network(file: &str) -> Result<bool, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file} cannot be read: {error}"))?;
    timed(|| {
        let mut report = Report::default();
        check_network(&text, &mut report);
        report
    })
}

/// Changes saved runs, whose numbers are given, and lets another process go on with them.
fn saves(count: &str, options: &[&str]) -> Result<bool, String> {
    let numbers = parse_seeds(count, options)?;
    let program = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let mut checked = Ok(());
    let whole = timed(|| match child::check_files(&program, numbers) {
        Ok((fates, report)) => {
            println!("{fates}");
            report
        }
        Err(what) => {
            checked = Err(what);
            Report::default()
        }
    });
    checked.and(whole)
}

/// Checks one random model, with the genes of a list.
fn genes(list: &str, options: &[&str]) -> Result<bool, String> {
    silence_panics(true);
    let genes: Genes = list.parse()?;
    let (choice, times) = match options {
        [] => (ALL, 1),
        ["--soak", times] => (SOAK, number(times)?),
        ["--switches", times] => (SWITCHES, number(times)?),
        _ => return Err(format!("what is `{}`?", options.join(" "))),
    };
    println!("{genes:?}");
    timed(|| {
        let mut report = Report::default();
        (0..times).for_each(|_| check_genes(genes, choice, &mut report));
        report
    })
}

/// Returns seeds until `minutes` have passed, and shows the progress on a terminal.
#[expect(clippy::disallowed_methods, reason = "only the number of models depends on it")]
#[expect(clippy::print_stderr, reason = "progress")]
fn seeds_for(minutes: u64) -> impl Iterator<Item = u64> {
    let begin = WallInstant::now();
    let shows = std::io::stderr().is_terminal();
    (0..).take_while(move |seed| {
        let gone = begin.elapsed().as_secs();
        if shows && seed % 64 == 0 {
            eprint!("\r{seed} models, {} of {} s ", gone, 60 * minutes);
        }
        gone < 60 * minutes
    })
}

fn parse_seeds(count: &str, options: &[&str]) -> Result<std::ops::Range<u64>, String> {
    let from: u64 = match options {
        [] => 0,
        ["--from", seed] => number(seed)?,
        _ => return Err(format!("what is `{}`?", options.join(" "))),
    };
    Ok(from..from.saturating_add(number(count)?))
}

/// Returns the arguments that replay the model of a seed.
fn replay_of(choice: Choice<'static>) -> impl Fn(u64) -> String + Send + 'static {
    move |seed| format!("genes {}{}", Genes::from_seed(seed), choice.arguments)
}

/// Returns the same seeds, with a time limit for each model. If a model exceeds it, the program prints the
/// arguments that replay the model, and ends.
#[expect(clippy::disallowed_methods, reason = "only the time limit depends on it")]
fn with_time_limit(
    seeds: impl Iterator<Item = u64>,
    replay: impl Fn(u64) -> String + Send + 'static,
) -> impl Iterator<Item = u64> {
    let begun = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&begun);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(TIME_LIMIT / 30);
            let begun: Option<(u64, WallInstant)> = *seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((seed, begin)) = begun
                && begin.elapsed() > TIME_LIMIT
            {
                println!("the model of seed {seed} does not end; replay: parades-conformance {}", replay(seed));
                std::process::exit(1);
            }
        }
    });
    seeds.inspect(move |seed| {
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = Some((*seed, WallInstant::now()));
    })
}

/// The time limit of a random model. Most take some milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(300);

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number that fits here"))
}

fn parse_selection(options: &[&str]) -> Result<Selection, String> {
    let mut selection = Selection::default();
    for option in options.chunks(2) {
        match option {
            ["--model", name] => selection.model = Some((*name).into()),
            ["--engine", name] => selection.engine = Some((*name).into()),
            ["--transport", name] => selection.transport = Some((*name).into()),
            ["--workers", workers] => selection.workers = Some(number(workers)?),
            ["--seed", seed] => selection.seed = Some(number(seed)?),
            ["--tie-seed", seed] => selection.tie_seed = Some(number(seed)?),
            _ => return Err(format!("what is `{}`?", option.join(" "))),
        }
    }
    Ok(selection)
}

#[expect(clippy::disallowed_methods, reason = "the time is only reported")]
fn timed(check: impl FnOnce() -> Report) -> Result<bool, String> {
    let begin = WallInstant::now();
    let report = check();
    println!("{report}, {:.1} s", begin.elapsed().as_secs_f64());
    report.verdict()
}

/// Returns true if all planted faults are caught.
fn faults() -> bool {
    silence_panics(true);
    let mut all = true;
    for (fault, engine) in Fault::PLANTED {
        match catch_fault(fault, engine, 10_000) {
            Some(caught) => println!(
                "{fault:?}: caught after {} models, {} events, {:.2} s; simplest model {:?}\n  {}",
                caught.models, caught.events, caught.seconds, caught.simplest, caught.what
            ),
            None => {
                println!("{fault:?}: NOT caught");
                all = false;
            }
        }
    }
    all
}
