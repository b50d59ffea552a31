//! A watch over a long run: its progress on a terminal (virtual time, events per second, time left), and its memory.

use indicatif::{ProgressBar, ProgressStyle};
use parades_core::run::Control;
use parades_core::time::Time;
use parades_session::machine::rss_bytes;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the run is looked at.
const PERIOD: Duration = Duration::from_millis(100);
/// What a process may take beyond what its run is allowed: stacks, what the allocator keeps of what was freed, what is held twice while it grows. An engine
/// that bounds its own memory must not be stopped for it.
const BESIDE: u64 = 64 << 20;
/// And the share of what is allowed.
const SHARE_BESIDE: u64 = 8;
/// The bar counts in thousandths of the run.
const STEPS: u64 = 1000;

/// What a run is watched for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// Its end, for the progress.
    pub(crate) until: Time,
    /// Whether progress is drawn, if standard error is a terminal.
    pub(crate) progress: bool,
    /// What events, history and LPs may take, in bytes: what the process takes more than at the begin of the run.
    pub(crate) memory_limit: u64,
}

/// A thread that looks at a run until it is over.
#[derive(Debug)]
pub(crate) struct Watchman {
    stop: Sender<()>,
    /// `None` where the system would not begin it: then nobody watches.
    thread: Option<JoinHandle<Option<u64>>>,
}

impl Watchman {
    /// Watches the run of `control`.
    pub(crate) fn of(control: &Arc<Control>, watched: Watched) -> Watchman {
        let (stop, stopped) = channel();
        let control = Arc::clone(control);
        let before = rss_bytes();
        let limit = watched.memory_limit.saturating_add(watched.memory_limit / SHARE_BESIDE).saturating_add(BESIDE);
        let watch = move || {
            let bar = (watched.progress && std::io::stderr().is_terminal()).then(Bar::new);
            let mut bar = bar;
            let mut too_much = None;
            // `stopped` says nothing: it is the sender's end that ends the watch.
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
                if let Some(bar) = &mut bar {
                    bar.draw(&control, watched.until);
                }
                let took = rss_bytes().saturating_sub(before);
                if took > limit && too_much.is_none() {
                    too_much = Some(took);
                    control.stop();
                }
            }
            too_much
        };
        Watchman { stop, thread: std::thread::Builder::new().spawn(watch).ok() }
    }

    /// The run is over: the memory for which it was stopped, if it was.
    pub(crate) fn dismiss(self) -> Option<u64> {
        drop(self.stop);
        // The thread only looks; if it failed, there is nothing to tell.
        self.thread.and_then(|thread| thread.join().unwrap_or(None))
    }
}

/// A progress line, gone when this is dropped.
struct Bar {
    line: ProgressBar,
    events_before: u64,
}

impl Bar {
    fn new() -> Bar {
        let line = ProgressBar::new(STEPS);
        let style = ProgressStyle::with_template("{wide_bar} {percent:>3}%  {msg}  {eta} left");
        line.set_style(style.expect("the template is right"));
        Bar { line, events_before: 0 }
    }

    fn draw(&mut self, control: &Control, until: Time) {
        let (time, events) = control.progress();
        let share = time.as_ps() as f64 / until.as_ps().max(1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and STEPS")]
        self.line.set_position((share * STEPS as f64) as u64);
        // What is executed ahead of time may be taken back.
        let rate = events.saturating_sub(self.events_before) as f64 / PERIOD.as_secs_f64();
        self.line.set_message(format!("t = {:.3} s  {:.1} M events/s", time.as_secs_f64(), rate / 1e6));
        self.events_before = events;
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
