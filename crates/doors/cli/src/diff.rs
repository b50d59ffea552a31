//! `parades diff`: the first event, of the first logical process, at which two runs diverge.

use crate::arguments::{Arguments, Command, DiffArguments, RunArguments};
use crate::printing::print;
use crate::terminal::{self, Terminal};
use clap::Parser;
use parades_catalog::Scenario;
use parades_report::difference_for_people;
use parades_session::diff::{DiffProgress, Side};
use parades_session::recorded::Recorded;
use parades_session::{Failure, failure};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn diff(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let [a, b] = arguments.runs.as_slice() else { unreachable!("the grammar asks for two runs") };
    let (names, sides) = ([a.as_str(), b.as_str()], [side(a)?, side(b)?]);
    let quiet = sides.each_ref().map(|(_, is_quiet)| *is_quiet);
    let [mut terminal_a, mut terminal_b] = quiet.map(Terminal::without_progress);
    let bar = terminal::line("{wide_bar} {percent:>3}%  {eta} left", 100);
    let spinner = terminal::line("{spinner} {msg}  {elapsed}", 0);
    let mut progress = |compared| match compared {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        DiffProgress::Share(share) => bar.set_position((share * 100.0) as u64),
        DiffProgress::Events(events) => {
            spinner.set_message(format!("the same for {events} events"));
            spinner.tick();
        }
    };
    let sides = sides.map(|(side, _)| side);
    let verdict = parades_session::diff(names, &sides, [&mut terminal_a, &mut terminal_b], &mut progress)?;
    bar.finish_and_clear();
    spinner.finish_and_clear();
    print(&difference_for_people(names, &verdict))?;
    Ok(if verdict.is_same() { ExitCode::SUCCESS } else { ExitCode::from(failure::FAILED) })
}

/// Returns a run that the user named, and true if it should be quiet.
fn side(run: &str) -> Result<(Side, bool), Failure> {
    let path = Path::new(run);
    if path.is_dir() {
        return Ok((Side::Folder(Recorded::read(path)?), false));
    }
    let RunArguments { scenario, task, .. } = options_of(run)?;
    Ok((Side::Request(task.workers.of(task.how.request(&scenario, task.engine.as_deref()))), task.how.quiet))
}

/// Parses the options of a run, given as one argument.
fn options_of(run: &str) -> Result<RunArguments, Failure> {
    let command = ["parades".to_owned(), "run".to_owned()];
    let words = words_of(run);
    let words = words.strip_prefix(&command).unwrap_or(&words).to_vec();
    let wrong = |what: &str| {
        Failure::usage(
            format!("`{run}`: {what}"),
            "give a folder that `run --out` wrote, or the options of a run in quotes",
        )
    };
    if words.is_empty() {
        return Err(wrong("neither a folder nor a scenario is named"));
    }
    let is_one_word = words.len() == 1;
    match Arguments::try_parse_from(command.into_iter().chain(words)) {
        Ok(Arguments { command: Command::Run(arguments) }) => {
            let name = &arguments.scenario.scenario;
            let is_file =
                Path::new(name).extension().is_some_and(|ending| ending == "toml") || Path::new(name).exists();
            if is_one_word && name != "-" && !is_file && Scenario::named(name).is_err() {
                return Err(wrong("there is no such folder, and no such scenario"));
            }
            let how = &arguments.task.how;
            let writes = arguments.task.outputs.writes() || arguments.task.saving.save.is_some();
            if writes || how.json || how.no_digest || arguments.until_interval.is_some() {
                let what =
                    "options that write files, `--json`, `--no-digest` and `--until-interval` have no meaning here";
                return Err(wrong(what));
            }
            Ok(arguments)
        }
        Ok(_) => unreachable!("the command is `run`"),
        Err(error) => {
            let text = error.to_string();
            Err(wrong(text.lines().next().unwrap_or_default().trim_start_matches("error: ")))
        }
    }
}

/// Splits a text into words at blanks. Single quotes hold blanks together.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_quoted) = (None::<String>, false);
    for c in text.chars() {
        match c {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
