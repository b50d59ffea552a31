//! The merge of the shards of a sweep into one sweep, and the comparison of runs that were executed twice.

use super::header::{SHARD, SWEEP};
use super::plan::{JOURNAL, make_folder};
use super::{EarlierRuns, FinishedSweep, SweepPlan};
use crate::{Claim, Failure, Program};
use parades_config::{ConfigError, Place};
use parades_sweep::journal::{Record, difference as fields_difference};
use parades_sweep::{End, Figures, Header, Journal, Outcome, Run, Schedule, Shard};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A journal that was read to be merged.
#[derive(Debug)]
struct FoundJournal {
    /// The file.
    path: PathBuf,
    /// The header without the fields of a shard.
    header: Header,
    /// The shard. `None` in the journal of a whole sweep.
    shard: Option<Shard>,
    /// The words of the sweep's command, in the journal of a shard.
    words: Option<Vec<String>>,
    records: Vec<Record>,
}

/// The journals of shards.
#[derive(Debug)]
pub struct Shards(Vec<FoundJournal>);

/// The runs that no shard has finished.
#[derive(Debug)]
pub struct MissingRuns {
    /// The runs: the values of the swept parameters, and the seed.
    pub runs: Vec<String>,
    /// The commands that execute them, as words without the name of the program.
    pub commands: Vec<Vec<String>>,
}

impl Shards {
    /// Reads the journals at these places. A place is a journal, a folder that has one, or a folder of such
    /// folders.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] where a place has no journal, where a journal was altered, or where journals are of
    /// different sweeps or programs.
    pub fn read(places: &[PathBuf], program: &Program) -> Result<Shards, Failure> {
        let mut found: Vec<FoundJournal> = Vec::new();
        for place in places {
            let files = journals_at(place).map_err(|error| unreadable(place, &error))?;
            if files.is_empty() {
                let error = ConfigError::new("has no journal of a sweep").at(Place::File(place.clone()));
                return Err(error.with_help("name the folders that `sweep --shard … --out DIR` wrote").into());
            }
            for path in files {
                let is_new = found.iter().all(|journal| journal.path != path);
                found.extend(if is_new { FoundJournal::read(path)? } else { None });
            }
        }
        let ours = json!({"version": program.version, "commit": program.commit});
        for journal in &found {
            for (field, ours) in ours.as_object().into_iter().flatten() {
                let theirs = journal.header.0.get(field).unwrap_or(&Value::Null);
                if theirs != ours {
                    let message =
                        format!("was written by another program: `{field}` is `{theirs}` there and `{ours}` here");
                    return Err(journal.wrong(&message, "execute and merge all shards with one program"));
                }
            }
        }
        Ok(Shards(found))
    }

    /// Returns the words of the sweep's command.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] where shards are of different sweeps, or where no journal is of a shard.
    pub fn words(&self) -> Result<&[String], Failure> {
        let mut of_shards = self.0.iter().filter_map(|journal| Some((journal, journal.words.as_deref()?)));
        let Some((first, words)) = of_shards.next() else {
            let help = "merge the folders that `sweep --shard I/N --out DIR` wrote";
            return Err(Failure::usage("there is no journal of a shard, so the grid is unknown", help));
        };
        match of_shards.find(|(_, others)| *others != words) {
            None => Ok(words),
            Some((other, others)) => {
                let message = format!(
                    "is of another sweep: `{}` there and `{}` in {}",
                    others.join(" "),
                    words.join(" "),
                    first.path.display()
                );
                Err(other.wrong(&message, "merge shards of one sweep only"))
            }
        }
    }

    /// Returns the whole sweep `plan` of these shards, and the runs that no shard has finished.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] where a journal is of another sweep; [`Failure::Simulation`] where two executions
    /// of a run differ.
    pub fn merge<'a>(
        &self,
        plan: &'a SweepPlan,
        program: &Program,
    ) -> Result<(FinishedSweep<'a>, Option<MissingRuns>), Failure> {
        let header = plan.header(program);
        let mut runs = ComparedRuns::default();
        for journal in &self.0 {
            header.check(&journal.path, &journal.header)?;
            if let Some(record) = runs.add(plan, journal)?.first() {
                let message = format!("has a run that is not of the sweep: {}", name(record));
                return Err(journal.wrong(&message, "merge shards of one sweep only"));
            }
        }
        let missing = self.missing(plan, &runs);
        let end = if missing.is_some() { End::Stopped } else { End::Finished };
        let schedule = Schedule::new(plan.points(), plan.seeds.clone(), None, runs.into_outcomes());
        Ok((FinishedSweep { plan, schedule, end, _claim: None }, missing))
    }

    fn missing(&self, plan: &SweepPlan, found: &ComparedRuns<'_>) -> Option<MissingRuns> {
        let points = plan.points();
        let all =
            (0..plan.seeds.len()).flat_map(|replication| (0..points).map(move |point| Run { replication, point }));
        let missing: Vec<Run> = all.filter(|run| !found.0.contains_key(run)).collect();
        let any_shard = self.0.iter().find_map(|journal| journal.shard)?;
        let mut shards: Vec<Shard> = missing.iter().map(|run| Shard::of_run(*run, points, any_shard)).collect();
        shards.sort_unstable();
        shards.dedup();
        let name = |run: &Run| name(&plan.record(run.point, plan.seeds[run.replication], &Outcome::failed("", true)));
        let commands = shards.into_iter().map(|shard| self.command(plan, shard)).collect();
        (!missing.is_empty()).then(|| MissingRuns { runs: missing.iter().map(name).collect(), commands })
    }

    /// Returns the command that executes the rest of a shard.
    fn command(&self, plan: &SweepPlan, shard: Shard) -> Vec<String> {
        let begun = self.0.iter().find(|journal| journal.shard == Some(shard));
        let (option, place) = match begun {
            Some(journal) if journal.place() == journal.path => ("--journal", journal.path.clone()),
            Some(journal) => ("--out", journal.place().to_owned()),
            None => {
                let beside = self.0.first().and_then(|journal| journal.place().parent());
                ("--out", beside.unwrap_or(Path::new("")).join(shard.folder_name()))
            }
        };
        let mut words = plan.request.words();
        words.extend(["--shard".into(), shard.to_string(), option.into(), place.to_string_lossy().into_owned()]);
        words
    }
}

/// Returns the runs that the journals in the folders below `folder` have, for the sweep `plan`.
///
/// # Errors
///
/// Those of [`Shards::read`] and [`Shards::merge`].
pub(super) fn runs_below(folder: &Path, plan: &SweepPlan, program: &Program) -> Result<EarlierRuns, Failure> {
    let own = folder.join(JOURNAL);
    let files = journals_at(folder).map_err(|error| unreadable(folder, &error))?;
    let others: Vec<PathBuf> = files.into_iter().filter(|file| *file != own).collect();
    let shards = Shards::read(&others, program)?;
    let mut runs = ComparedRuns::default();
    for journal in &shards.0 {
        plan.whole_header(program).check(&journal.path, &journal.header)?;
        runs.add(plan, journal)?;
    }
    Ok(runs.into_outcomes())
}

/// Returns the journals at a place: the file, or those in the folder and the folders in it.
fn journals_at(place: &Path) -> io::Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return place.metadata().map(|_| vec![place.to_owned()]);
    }
    let entries = fs::read_dir(place)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.join(JOURNAL)).collect();
    files.sort();
    files.insert(0, place.join(JOURNAL));
    files.retain(|file| file.is_file());
    Ok(files)
}

fn unreadable(place: &Path, error: &io::Error) -> Failure {
    let reason = parades_config::inputs::reason(error);
    let error = ConfigError::new(format!("cannot be read: {reason}")).at(Place::File(place.to_owned()));
    error.with_help("name the folders that `sweep --shard … --out DIR` wrote").into()
}

impl FoundJournal {
    /// Reads a journal. Returns `None` if its sweep was killed before the header was written.
    fn read(path: PathBuf) -> Result<Option<FoundJournal>, Failure> {
        let Some((mut header, records)) = Journal::read(&path)? else { return Ok(None) };
        let shard = header.0.shift_remove(SHARD);
        let shard = shard.as_ref().and_then(Value::as_str).map(Shard::parse).transpose();
        let shard = shard.map_err(|error| error.at(Place::File(path.clone())))?;
        let words = header.0.shift_remove(SWEEP).and_then(|words| serde_json::from_value(words).ok());
        Ok(Some(FoundJournal { path, header, shard, words, records }))
    }

    /// Returns the folder of the sweep, or the journal where it has no folder.
    fn place(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if self.path.ends_with(JOURNAL) && folder != Path::new("") => folder,
            _ => &self.path,
        }
    }

    fn wrong(&self, message: &str, help: &str) -> Failure {
        ConfigError::new(message).with_help(help).at(Place::File(self.path.clone())).into()
    }
}

/// The runs of several journals. Executions of the same run were compared.
#[derive(Default)]
struct ComparedRuns<'a>(BTreeMap<Run, (&'a Outcome, &'a FoundJournal)>);

impl<'a> ComparedRuns<'a> {
    /// Adds the runs of a journal. Returns the records whose runs are not of the sweep `plan`.
    fn add(&mut self, plan: &SweepPlan, journal: &'a FoundJournal) -> Result<Vec<&'a Record>, Failure> {
        let run_of = plan.run_finder();
        let mut others = Vec::new();
        for record in &journal.records {
            let Some(run) = run_of(record) else {
                others.push(record);
                continue;
            };
            let (first, place) = *self.0.entry(run).or_insert((&record.outcome, journal));
            if let Some(difference) = difference(first, &record.outcome) {
                let (run, place, other) = (name(record), place.place().display(), journal.place().display());
                return Err(Failure::simulation(format!(
                    "the run with {run} differs between {place} and {other}: {difference}; one of them is wrong: \
                     execute the run alone, by `run`, to find which"
                )));
            }
        }
        Ok(others)
    }

    fn into_outcomes(self) -> EarlierRuns {
        self.0.into_iter().map(|(run, (outcome, _))| (run, outcome.clone())).collect()
    }
}

/// Returns a sentence about the difference of two executions of a run. They may differ in wall time and
/// memory.
fn difference(first: &Outcome, second: &Outcome) -> Option<String> {
    let differ = |what: &str, first: &dyn std::fmt::Display, second: &dyn std::fmt::Display| {
        Some(format!("the {what} is `{first}` there and `{second}` here"))
    };
    match (first, second) {
        (Outcome::Failed(first), Outcome::Failed(second)) if first.message == second.message => None,
        (Outcome::Failed(first), Outcome::Failed(second)) => differ("error", &first.message, &second.message),
        (Outcome::Failed(_), Outcome::Figures(_)) => Some("it failed in the first alone".into()),
        (Outcome::Figures(_), Outcome::Failed(_)) => Some("it failed in the second alone".into()),
        (Outcome::Figures(first), Outcome::Figures(second)) if first.digest != second.digest => {
            let text = |figures: &Figures| figures.digest.clone().unwrap_or_default();
            differ("digest", &text(first), &text(second))
        }
        (Outcome::Figures(first), Outcome::Figures(second)) => {
            fields_difference(&result_fields(first), &result_fields(second)).map(|(_, sentence)| sentence)
        }
    }
}

/// Returns the figures that are the same in each execution of a run.
fn result_fields(figures: &Figures) -> Map<String, Value> {
    let Figures { events, global_events, virtual_time_s, metrics, .. } = figures;
    let fields = [
        ("events", json!(events)),
        ("global_events", json!(global_events)),
        ("virtual_time_s", json!(virtual_time_s)),
        ("metrics", json!(metrics)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the name of a run for users.
fn name(record: &Record) -> String {
    let parameters = record.parameters.iter().map(|(key, value)| format!("{key}={value}"));
    parameters.chain([format!("seed={}", record.seed)]).collect::<Vec<_>>().join(", ")
}

/// Writes the journal of a merged sweep into its folder. The same sweep, without a shard, goes on from it.
///
/// # Errors
///
/// [`Failure::Input`] where the folder is not one of this sweep; [`Failure::Simulation`] where it cannot be
/// written.
pub fn write_journal(folder: &Path, sweep: &FinishedSweep<'_>, program: &Program) -> Result<(), Failure> {
    make_folder(folder)?;
    let path = folder.join(JOURNAL);
    let (mut journal, written) = Journal::open(&path, &sweep.plan.header(program))?;
    let _claim = Claim::of(folder)?;
    journal.begin().map_err(|error| Failure::cannot_write(&path, &error))?;
    let written: BTreeMap<_, _> =
        written.into_iter().map(|record| ((record.parameters, record.seed), record.outcome)).collect();
    let schedule = &sweep.schedule;
    let runs = (0..schedule.points()).flat_map(|point| schedule.runs(point).map(move |run| (point, run)));
    for (point, (seed, outcome)) in runs {
        let record = sweep.plan.record(point, seed, outcome);
        let earlier = written.get(&(record.parameters.clone(), seed));
        if let Some(difference) = earlier.and_then(|earlier| difference(earlier, &record.outcome)) {
            let (run, path) = (name(&record), path.display());
            return Err(Failure::simulation(format!("the run with {run} differs from that in {path}: {difference}")));
        }
        if earlier.is_none() {
            journal.append(record).map_err(|error| Failure::cannot_write(&path, &error))?;
        }
    }
    journal.finish().map_err(|error| Failure::cannot_write(&path, &error))
}
