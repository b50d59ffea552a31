//! A run with its files: it writes them while it is executed, is saved, goes on from a saved run, or is made
//! longer until its intervals are narrow.

use crate::files::Files;
use parades_catalog::Choice;
use parades_core::time::Time;
use parades_session::steady::{Lengthened, WIDE, lengthen};
use parades_session::{Failure, FinishedRun, Observer, Plan, Precision, Recording, Saved, Saving};

/// The wishes of a user for a run, beside its plan and its files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task<'a> {
    /// The precision up to which the run is made longer.
    pub precision: Option<&'a Precision>,
    /// The saves of the run.
    pub saving: Option<&'a Saving>,
    /// The saved run from which the run goes on.
    pub from: Option<&'a Saved>,
    /// The virtual time from which the user wants events.
    pub trace_from: Option<Time>,
    /// The command line, which a timeline names as its origin.
    pub command: &'a str,
}

impl Task<'_> {
    /// Executes a plan, and writes the files as far as the run goes. [`Files::finish`] finishes them.
    ///
    /// # Errors
    ///
    /// Those of [`run`](parades_session::run()), and of [`lengthen`] with a precision.
    pub fn execute(
        &self,
        mut plan: Plan,
        choice: &Choice,
        files: &Files,
        observer: &mut dyn Observer,
    ) -> Result<FinishedRun, Failure> {
        let Some(precision) = self.precision else { return self.execute_once(&plan, choice, files, observer) };
        let Lengthened { mut finished, is_narrow, notes } = lengthen(&plan, choice, precision, observer)?;
        if !is_narrow {
            observer.says(&[WIDE.to_owned()]);
        }
        if (files.are_wanted() || self.saving.is_some()) && finished.outcome.stopped_at.is_none() {
            // The files are those of the run with the last length.
            plan.until = Some(finished.outcome.end);
            finished = self.execute_once(&plan, choice, files, observer)?;
        }
        finished.notes.extend(notes);
        Ok(finished)
    }

    fn execute_once(
        &self,
        plan: &Plan,
        choice: &Choice,
        files: &Files,
        observer: &mut dyn Observer,
    ) -> Result<FinishedRun, Failure> {
        let &Task { saving, from, trace_from, command, .. } = self;
        let mut notes = saving.map_or_else(Vec::new, |_| files.notes_on_saves());
        observer.says(&notes);
        let recording = Recording { saving, from, ..files.recording() };
        let run = parades_session::run(plan, choice, recording, observer);
        if let (Some(_), Err(Failure::Run(failed))) = (from, &run)
            && let Some(place) = failed.error.place()
        {
            // A run goes on from a save before its failure to show what led to it.
            files.finish_failed(command, place.instant.time)?;
        }
        let mut run = run?;
        observer.says(parades_session::note_of(&run.outcome.metrics).as_slice());
        let mut of_end = files.notes();
        of_end.extend(from.filter(|_| files.has_new_ones()).map(Saved::note_on_files));
        let end = run.outcome.end;
        of_end.extend(
            trace_from
                .filter(|&from| from >= end)
                .map(|from| format!("nothing is traced: `--trace-from` is {from}, and the run ends at {end}")),
        );
        observer.says(&of_end);
        notes.extend(of_end);
        run.notes.extend(notes);
        Ok(run)
    }
}
