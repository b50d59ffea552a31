//! The messages on standard error while runs are executed: notes, and a line of progress if it is a terminal.

use crate::printing::say;
use indicatif::{ProgressBar, ProgressStyle};
use parades_catalog::Choice;
use parades_session::{Observer, Progress};
use std::io::IsTerminal;
use std::time::Duration;

/// The number of steps in a progress line: it counts in thousandths of the run.
const STEPS: u64 = 1000;

/// Returns a progress line; a hidden one if standard error is no terminal.
pub(crate) fn line(template: &str, steps: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    ProgressBar::new(steps).with_style(ProgressStyle::with_template(template).expect("the template is right"))
}

/// Shows the runs of a command.
pub(crate) struct Terminal {
    is_quiet: bool,
    draws: bool,
    /// The notes that were printed already. Further runs of the same plan repeat them.
    said: Vec<String>,
    line: Option<ProgressBar>,
}

impl Terminal {
    /// Prints notes and draws progress, unless the user wants it quiet.
    pub(crate) fn new(is_quiet: bool) -> Terminal {
        Terminal { is_quiet, draws: !is_quiet, said: Vec::new(), line: None }
    }

    /// Prints notes, and draws nothing.
    pub(crate) fn without_progress(is_quiet: bool) -> Terminal {
        let mut terminal = Terminal::new(is_quiet);
        terminal.draws = false;
        terminal
    }

    /// Prints each of these notes once.
    pub(crate) fn note(&mut self, notes: &[String]) {
        notes.iter().for_each(|note| self.say_once(format!("note: {note}")));
    }

    fn say_once(&mut self, text: String) {
        if !self.is_quiet && !self.said.contains(&text) {
            say(&text);
            self.said.push(text);
        }
    }
}

impl Observer for Terminal {
    fn prepares(&mut self) {
        let line = self.draws.then(|| line("making the model  {elapsed}", 1));
        // The thread of this process is busy with the model, so the line has one of its own.
        line.iter().for_each(|line| line.enable_steady_tick(Duration::from_millis(500)));
        self.line = line;
    }

    fn begins(&mut self, choice: &Choice, notes: &[String]) {
        self.ends();
        if let Some(why) = &choice.why {
            self.say_once(format!("engine: {} (auto: {why})", choice.engine.name()));
        }
        self.note(notes);
        self.line = self.draws.then(|| line("{wide_bar} {percent:>3}%  {msg}  {eta} left", STEPS));
    }

    fn progress(&mut self, &Progress { time, until, events_per_s }: &Progress) {
        let Some(line) = &self.line else { return };
        let share = time.as_ps() as f64 / until.as_ps().max(1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and STEPS")]
        line.set_position((share * STEPS as f64) as u64);
        line.set_message(format!("t = {:.3} s  {:.1} M events/s", time.as_secs_f64(), events_per_s / 1e6));
    }

    fn says(&mut self, notes: &[String]) {
        self.note(notes);
    }

    fn ends(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.ends();
    }
}
