//! Saved runs whose bytes were changed. Each is read, and goes on for a while.
//!
//! A file with a wrong hash is refused. One whose hashes fit, the seal too, is refused, or ends in an error
//! of the model, or is a run: that of a forger, which is not the saved one.

use super::forge::Forgery;
use super::scenarios::Row;
use super::{Folder, at_end, execute, read, rest_of};
use crate::engines::index_below;
use crate::report::Report;
use parades_core::error::ErrorKind;
use parades_core::random::Rng;
use parades_core::run::Outcome;
use parades_core::time::Time;
use parades_session::saved::Head;
use parades_session::{Failure, Request, panics};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The engines under which changed files go on.
const ENGINES: [(&str, u64); 4] = [("sequential", 1), ("sequential", 1), ("window", 2), ("time-warp", 2)];

/// The fate of a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is refused, in a sentence.
    Refused,
    /// The run ends in an error, in a sentence.
    Failed,
    /// The run is the one that was saved: the changed bytes mean the same.
    Same,
    /// All hashes fit, and the run is another one.
    Another,
}

impl Fate {
    /// All fates.
    pub const ALL: [Fate; 4] = [Fate::Refused, Fate::Failed, Fate::Same, Fate::Another];

    fn word(self) -> &'static str {
        match self {
            Fate::Refused => "refused",
            Fate::Failed => "ended in an error",
            Fate::Same => "the same run",
            Fate::Another => "another run, all of whose hashes were forged",
        }
    }
}

/// The fates of changed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates(BTreeMap<Fate, u64>);

impl Fates {
    /// Counts a file.
    pub fn add(&mut self, fate: Fate) {
        *self.0.entry(fate).or_default() += 1;
    }

    /// Returns the number of files with this fate.
    pub fn count(&self, fate: Fate) -> u64 {
        self.0.get(&fate).copied().unwrap_or(0)
    }
}

impl fmt::Display for Fates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|(fate, count)| format!("{count} {}", fate.word())).collect();
        write!(f, "{} files: {}", self.0.values().sum::<u64>(), words.join(", "))
    }
}

/// A saved run, and how it goes on.
#[derive(Debug)]
struct Original {
    file: Vec<u8>,
    head: Head,
    cut: Vec<u8>,
    /// The time to which changed files go on.
    until: Time,
    /// The digest and the metrics there, or the error.
    answer: Result<Outcome, String>,
}

/// Changed files of these rows.
#[derive(Debug)]
pub struct Files {
    rows: Vec<Row>,
    originals: BTreeMap<usize, Original>,
    folder: Folder,
}

impl Files {
    /// Makes files of these rows.
    pub fn new(rows: Vec<Row>) -> Files {
        panics::keep_quiet();
        Files { rows, originals: BTreeMap::new(), folder: Folder::new() }
    }

    /// Changes a file, reads it and goes on. File *n* is of the row *n* modulo their number.
    ///
    /// # Errors
    ///
    /// A sentence on a defect: a panic, a wrong result, or a message that is no sentence.
    pub fn check(&mut self, number: u64) -> Result<Fate, String> {
        let place = usize::try_from(number % self.rows.len() as u64).expect("below an index");
        let of_row = |what: String| format!("`{}`: {what}", self.rows[place].words);
        if !self.originals.contains_key(&place) {
            let original = original(&self.rows[place], &self.folder).map_err(of_row)?;
            self.originals.insert(place, original);
        }
        let (original, rng) = (&self.originals[&place], Rng::shared(number, 22));
        let forgery = Forgery::draw(&rng);
        let file = forgery.apply(&rng, &original.file, &original.head, &original.cut);
        let (engine, threads) = ENGINES[index_below(&rng, ENGINES.len())];
        let path = self.folder.new_file();
        std::fs::write(&path, &file).map_err(|error| error.to_string())?;
        let go_on = || {
            let saved = read(&path)?;
            let request = rest_of(&saved, original.until, engine, threads)?;
            execute(&request, None, Some(&saved)).and_then(|run| run.complete("it was stopped"))
        };
        let defect = |what: String| Err(of_row(format!("{forgery:?}, then {engine}: {what}")));
        let result = catch_unwind(AssertUnwindSafe(go_on));
        let _ = std::fs::remove_file(&path);
        let Ok(result) = result else { return defect(format!("a panic, {:?}", panics::last())) };
        if let Err(failure) = &result {
            let said = failure.to_string();
            if said.is_empty() || said.contains('\n') {
                return defect(format!("the message is no sentence: {said}"));
            }
        }
        let is_damaged = file != original.file && forgery.is_damage();
        match (&original.answer, result) {
            (_, Err(Failure::Input(_))) => Ok(Fate::Refused),
            (Err(expected), Err(Failure::Run(run))) if *expected == run.error.to_string() => Ok(Fate::Same),
            (_, Err(Failure::Run(run)))
                if matches!(run.error.kind(), ErrorKind::Panic(_)) && run.error.place().is_none() =>
            {
                defect(format!("an assertion of the engine failed: {}, {:?}", run.error, panics::last()))
            }
            (Ok(expected), Ok(run))
                if (expected.digest, &expected.metrics) == (run.outcome.digest, &run.outcome.metrics) =>
            {
                Ok(Fate::Same)
            }
            (_, found) if is_damaged => defect(format!("it is not refused: {:?}", found.map(|run| run.outcome.digest))),
            (_, Err(_)) => Ok(Fate::Failed),
            (_, Ok(_)) => Ok(Fate::Another),
        }
    }

    /// Changes the files of these numbers, in this process.
    pub fn check_all(&mut self, numbers: impl IntoIterator<Item = u64>) -> (Fates, Report) {
        let (mut fates, mut report) = (Fates::default(), Report::default());
        for number in numbers {
            report.runs += 1;
            match self.check(number) {
                Ok(fate) => fates.add(fate),
                Err(what) => report.difference(what, &replay(number)),
            }
        }
        (fates, report)
    }
}

/// Returns the arguments that change a file again.
pub(super) fn replay(number: u64) -> String {
    format!("saves 1 --from {number}")
}

/// Saves a run of a row in the middle, and goes on with a third of the rest.
fn original(row: &Row, folder: &Folder) -> Result<Original, String> {
    let path = folder.new_file();
    let said = |failure: Failure| failure.to_string();
    let half = Time::from_ps(row.until.as_ps() / 2);
    let request = row.request(folder, 1);
    let make = |time| {
        let request = Request { until: Some(time), engine: Some("sequential".into()), ..request.clone() };
        execute(&request, Some(&at_end(&path)), None)
    };
    // A run that fails before is saved earlier.
    let mut time = half;
    while let Err(failure) = make(time) {
        if time.as_ps() < 1_000_000 {
            return Err(said(failure));
        }
        time = Time::from_ps(time.as_ps() / 2);
    }
    let saved = read(&path).map_err(said)?;
    let until = Time::from_ps(time.as_ps() + (row.until.as_ps() - time.as_ps()) / 3);
    let request = rest_of(&saved, until, "sequential", 1).map_err(said)?;
    let answer = match execute(&request, None, Some(&saved)) {
        Ok(run) => Ok(run.outcome),
        Err(Failure::Run(run)) => Err(run.error.to_string()),
        Err(failure) => return Err(said(failure)),
    };
    let file = std::fs::read(&path).map_err(|error| error.to_string())?;
    let _ = std::fs::remove_file(&path);
    Ok(Original { file, cut: saved.cut().to_vec(), head: saved.head, until, answer })
}
