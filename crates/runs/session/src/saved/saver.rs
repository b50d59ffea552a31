//! Saving a run at its cuts, and checking a run that goes on at its first cut.

use super::file::hash_of;
use super::outputs::KeepOutputs;
use super::parts;
use super::{Head, Saved};
use crate::Failure;
use crate::condition::Condition;
use crate::request::quote;
use crate::result_file::{self, ResultFile};
use parades_catalog::program_name;
use parades_config::quoted;
use parades_core::cut::{AtCut, AtRest, Cuts, Then};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The user's wish for saved runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saving {
    /// The file.
    pub file: PathBuf,
    /// The version of parades, which alone can resume the run.
    pub version: &'static str,
    /// The commit from which this program was built.
    pub commit: &'static str,
    /// True if the run is saved at its end, or where it is stopped.
    pub at_end: bool,
    /// The virtual time at which the run is saved and ends, if that is before its end. The save keeps the end of
    /// the run, so the run can go on to it.
    pub stop_at: Option<Time>,
    /// The wall time after which the run is saved each time.
    pub every: Option<std::time::Duration>,
    /// The virtual time after which the run is saved each time.
    pub every_virtual: Option<Delay>,
    /// A condition on a metric ([`Condition::of`]). From the first cut on at which it is true, the file stays
    /// as it is: it has the run before that.
    pub when: Option<String>,
    /// True if the file stays as it is where the run fails: also where the memory limit ends the run, and
    /// where the model says that its results are incomplete.
    pub before_failure: bool,
}

impl Saving {
    /// Checks that a wish to keep the last of several saves comes with several saves.
    pub(crate) fn check_period(&self) -> Result<(), Failure> {
        if self.keeps_earlier() && self.every.is_none() && self.every_virtual.is_none() {
            let option = if self.when.is_some() { "--save-when" } else { "--save-before-failure" };
            let message = format!("`{option}` keeps the last of several saves, and the run is saved once");
            return Err(Failure::usage(message, "add `--save-every-virtual T` or `--save-every T`"));
        }
        Ok(())
    }

    /// Checks that a wish to stop is not before the time of the saved run that goes on.
    pub(crate) fn check_after(&self, from: &Saved) -> Result<(), Failure> {
        let (file, saved) = (from.path().display(), from.head.time());
        match self.stop_at {
            Some(stop) if stop < saved => {
                let message = format!("{file} was saved at {saved}, and the run cannot go back to {stop}");
                Err(Failure::usage(message, "give a later time"))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if the last save before something happens may be kept.
    fn keeps_earlier(&self) -> bool {
        self.when.is_some() || self.before_failure
    }

    /// Returns a sentence on the save that is left where the run has failed, if there is anything to say.
    pub(crate) fn left(&self, found: &Found) -> Option<String> {
        let file = quote(&self.file.display().to_string());
        match found.saved {
            Some(time) => Some(format!("it is saved at {time}: `{} resume {file}` goes on from there", program_name())),
            None => self.before_failure.then(|| "it failed before it was saved".to_owned()),
        }
    }
}

/// The findings of a run's cuts.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// The time of the last save.
    pub(crate) saved: Option<Time>,
    /// True if the run is not the one that was saved.
    pub(crate) differs: bool,
    /// True if the memory limit ends the run.
    pub(crate) is_out_of_memory: bool,
    /// The time from which on the last save is kept, and the reason why, as the beginning of a sentence.
    pub(crate) kept: Option<(Time, String)>,
}

/// The facts by which a run that goes on is recognised at its cut.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Expected {
    pub(crate) time: Time,
    pub(crate) digest: Option<u64>,
    /// The hash of the cut's bytes. Only a run of one process has it.
    pub(crate) hash: Option<u128>,
}

impl Expected {
    /// Returns true if a run at rest is the one that was saved: it has the same digest, and its cut has the
    /// same bytes.
    fn is(&self, run: &mut AtRest<'_, '_>) -> bool {
        let is_whole = run.ranks() == 1;
        self.digest.is_none_or(|digest| digest == run.digest())
            && self.hash.filter(|_| is_whole).is_none_or(|hash| hash == hash_of(run))
    }
}

/// Saves a run at its cuts; and, of a run that goes on from a file, checks the digest first.
pub(crate) struct Saver<'a> {
    /// The user's wish, and the head of the files; it gets time, events and digest from each cut.
    pub(crate) saving: Option<(Saving, Head)>,
    /// The files of events that the run writes. Rank 0 has them.
    pub(crate) outputs: Option<&'a dyn KeepOutputs>,
    /// The end of the run.
    pub(crate) until: Time,
    /// The facts of the run that goes on, until they are checked.
    pub(crate) resumed: Option<Expected>,
    /// The condition of the wish. Rank 0 has it.
    pub(crate) condition: Option<Condition>,
    pub(crate) found: Arc<Mutex<Found>>,
}

pub(crate) fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cuts of a run, as rank 0 tells the other ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    saving: Option<ToldSaving>,
    until: Time,
    resumed: Option<Expected>,
}

/// The user's wish for saved runs, as far as the other ranks must know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ToldSaving {
    file: PathBuf,
    at_end: bool,
    stop_at: Option<Time>,
    every_virtual: Option<Delay>,
    when: Option<String>,
    before_failure: bool,
    head: Head,
}

impl Told {
    /// Returns the cuts of a rank that was told of them.
    pub(crate) fn into_cuts(self) -> Cuts<'static> {
        let saving = self.saving.map(|told| {
            let ToldSaving { file, at_end, stop_at, every_virtual, when, before_failure, head } = told;
            let (version, commit, every) = ("", "", None);
            (Saving { file, version, commit, at_end, stop_at, every, every_virtual, when, before_failure }, head)
        });
        let Told { until, resumed, .. } = self;
        Saver { saving, outputs: None, until, resumed, condition: None, found: Arc::default() }.into_cuts()
    }

    /// True if the run is saved.
    pub(crate) fn saves(&self) -> bool {
        self.saving.is_some()
    }
}

impl<'a> Saver<'a> {
    /// Returns what the other ranks must be told.
    pub(crate) fn told(&self) -> Told {
        let saving = self.saving.as_ref().map(|(saving, head)| {
            let Saving { file, at_end, stop_at, every_virtual, when, before_failure, .. } = saving.clone();
            // Rank 0 alone writes the head.
            let Head { digest, replayed, .. } = head.clone();
            let head = Head { digest, replayed, ..Head::default() };
            ToldSaving { file, at_end, stop_at, every_virtual, when, before_failure, head }
        });
        Told { saving, until: self.until, resumed: self.resumed }
    }

    /// Returns the cuts at which the run is saved and checked.
    pub(crate) fn into_cuts(self) -> Cuts<'a> {
        let begin = self.resumed.map(|expected| expected.time);
        let next = begin.unwrap_or_else(|| self.next_after(Time::ZERO));
        Cuts { next, at_end: self.saving.as_ref().is_some_and(|(saving, _)| saving.at_end), act: Box::new(self) }
    }

    /// Returns the first time after `time` at which the user wants a cut.
    fn next_after(&self, time: Time) -> Time {
        let every = self.saving.as_ref().and_then(|(saving, _)| saving.every_virtual).map_or(0, Delay::as_ps);
        let cuts_before = time.as_ps().checked_div(every);
        let next = cuts_before.and_then(|cuts| (cuts + 1).checked_mul(every)).map_or(Time::MAX, Time::from_ps);
        self.stop_at().filter(|&stop| stop > time).map_or(next, |stop| stop.min(next))
    }

    /// Returns the time at which the run is saved and ends.
    fn stop_at(&self) -> Option<Time> {
        self.saving.as_ref().and_then(|(saving, _)| saving.stop_at)
    }

    /// Returns true if the last save is kept, from this cut on or from an earlier one. All ranks agree.
    fn keeps(&self, run: &mut AtRest<'_, '_>) -> bool {
        let Some((saving, _)) = self.saving.as_ref().filter(|(saving, _)| saving.keeps_earlier()) else { return false };
        if lock(&self.found).kept.is_none() {
            let if_ended = saving.when.is_some().then(|| run.metrics_if_ended());
            let so_far = saving.before_failure.then(|| run.all_metrics());
            let true_condition =
                self.condition.as_ref().zip(if_ended).filter(|(condition, metrics)| condition.holds(metrics));
            let is_out_of_memory = lock(&self.found).is_out_of_memory;
            let why = match (true_condition, so_far) {
                (Some((condition, _)), _) => Some(format!("`{condition}` is true")),
                (None, Some(_)) if is_out_of_memory => Some("the memory limit is reached".to_owned()),
                (None, Some(metrics)) => metrics.incomplete().map(|_| "the results are incomplete".to_owned()),
                (None, None) => None,
            };
            // One rank's reason is that of all.
            let all = parts::agree(run, Ok(&why)).unwrap_or_default();
            lock(&self.found).kept = all.into_iter().flatten().next().map(|why| (run.time, why));
        }
        lock(&self.found).kept.is_some()
    }
}

impl AtCut for Saver<'_> {
    fn act(&mut self, run: &mut AtRest<'_, '_>) -> Then {
        if let Some(expected) = self.resumed.take() {
            if !expected.is(run) {
                lock(&self.found).differs = true;
                return Then::End;
            }
            if expected.time < self.until && self.stop_at() != Some(expected.time) {
                self.keeps(run);
                return Then::Continue(self.next_after(expected.time));
            }
        }
        if !self.keeps(run)
            && let Some((saving, head)) = &mut self.saving
        {
            (head.time_ps, head.events) = (run.time.as_ps(), run.events);
            head.digest = head.digest.map(|_| run.digest());
            let saved = parts::save(&saving.file, self.outputs, head, run);
            let mut found = lock(&self.found);
            match saved {
                Ok(()) => found.saved = Some(run.time),
                Err(why) => found.notes.push(format!("the run could not be saved at {}: {why}", run.time)),
            }
        }
        if self.stop_at() == Some(run.time) { Then::End } else { Then::Continue(self.next_after(run.time)) }
    }
}

/// Checks a wish for saved runs before the run: the file can be written, and the model can be saved at all.
/// Returns a note if the run will be replayed.
pub(crate) fn check(saving: &Saving, why_not_saved: Option<&str>, ranks: u64) -> Result<Option<String>, Failure> {
    drop(ResultFile::create(&saving.file)?);
    if ranks > 1 && result_file::file_at(&saving.file).is_none() {
        let message =
            format!("{} is no file, and a run of several processes is saved into files", saving.file.display());
        return Err(Failure::usage(message, "name a file"));
    }
    Ok(why_not_saved.map(|why| {
        format!(
            "{} will have no states, since {why}: `resume` executes the run again to the time at which it was saved",
            quoted(&saving.file.display().to_string())
        )
    }))
}
