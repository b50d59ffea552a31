//! Hearing of a run while it goes on.

use parades_catalog::Choice;
use parades_core::time::Time;

/// Hears of a run while it goes on. `()` is an observer that ignores everything.
///
/// ```
/// use parades_session::{Observer, Plan, Progress, Recording, Request, run};
///
/// #[derive(Default)]
/// struct Log(Vec<String>);
///
/// impl Observer for Log {
///     fn begins(&mut self, choice: &parades_catalog::Choice, _: &[String]) {
///         self.0.push(format!("begins on {}", choice.engine));
///     }
///     fn ends(&mut self) {
///         self.0.push("ends".into());
///     }
/// }
///
/// let mut request = Request::of("phold");
/// (request.set, request.engine) = (vec!["lps=16".into()], Some("sequential".into()));
/// let plan = Plan::of(&request)?;
/// let mut log = Log::default();
/// run(&plan, &plan.choice()?, Recording::default(), &mut log)?;
/// assert_eq!(log.0, ["begins on sequential", "ends"]);
/// # Ok::<(), parades_session::Failure>(())
/// ```
pub trait Observer: Send {
    /// The model is about to be made, which may take long.
    fn prepares(&mut self) {}

    /// The model is made, and its run begins on this engine. `notes` are sentences on how the model was made.
    fn begins(&mut self, choice: &Choice, notes: &[String]) {
        let _ = (choice, notes);
    }

    /// Called ten times a second while the run goes on, by another thread than the one that began the run.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }

    /// The run is over.
    fn ends(&mut self) {}

    /// Called after the end, with sentences on what became of the user's wishes.
    fn says(&mut self, notes: &[String]) {
        let _ = notes;
    }
}

impl Observer for () {}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The virtual time that the run has come to.
    pub time: Time,
    /// The virtual time at which the run ends.
    pub until: Time,
    /// The events executed in a second of wall time, since the last look. Events that are rolled back count
    /// too.
    pub events_per_s: f64,
}
