//! Progress of a long run: virtual time, events per second, time left; on a terminal, and nothing elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use parades_core::run::Control;
use parades_core::time::Time;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the line is drawn.
const PERIOD: Duration = Duration::from_millis(200);
/// The bar counts in thousandths of the run.
const STEPS: u64 = 1000;

/// A progress line, gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Draws the progress of the run that `control` watches, if standard error is a terminal and it is wanted.
    pub(crate) fn of(control: &Arc<Control>, until: Time, wanted: bool) -> Progress {
        if !wanted || !std::io::stderr().is_terminal() {
            return Progress { thread: None };
        }
        let (stop, stopped) = channel();
        let control = Arc::clone(control);
        let thread = std::thread::spawn(move || {
            let bar = ProgressBar::new(STEPS);
            let style = ProgressStyle::with_template("{wide_bar} {percent:>3}%  {msg}  {eta} left");
            bar.set_style(style.expect("the template is right"));
            let mut events_before = 0;
            // `stopped` says nothing: it is the sender's end that ends the line.
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
                let (time, events) = control.progress();
                let share = time.as_ps() as f64 / until.as_ps().max(1) as f64;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and STEPS")]
                bar.set_position((share * STEPS as f64) as u64);
                let rate = (events - events_before) as f64 / PERIOD.as_secs_f64();
                bar.set_message(format!("t = {:.3} s  {:.2} M events/s", time.as_secs_f64(), rate / 1e6));
                events_before = events;
            }
            bar.finish_and_clear();
        });
        Progress { thread: Some((stop, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            // The thread only draws; if it failed, there is nothing to save.
            let _ = thread.join();
        }
    }
}
