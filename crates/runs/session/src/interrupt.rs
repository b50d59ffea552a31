//! Interrupts, by Ctrl-C or by another process. The first interrupt ends the runs of this process at their
//! next cut, with the results so far.
//!
//! A library must not take signals away from its program, so nothing listens to them before [`listen`] is
//! called.

use parades_core::run::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The runs that an interrupt stops.
static RUNNING: Mutex<Vec<Arc<Control>>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Arc<Control>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that interrupts stop, until this value is dropped.
#[derive(Debug)]
pub struct Interruptible(Arc<Control>);

impl Interruptible {
    /// Lets interrupts stop the run of `control`.
    pub fn new(control: &Arc<Control>) -> Interruptible {
        running().push(Arc::clone(control));
        Interruptible(Arc::clone(control))
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        running().retain(|other| !Arc::ptr_eq(other, &self.0));
    }
}

/// Stops all runs of this process at their next cut. Returns false if there was no run left to stop.
pub fn stop_all() -> bool {
    let stopped: Vec<_> = running().drain(..).collect();
    stopped.iter().for_each(|control| control.stop());
    !stopped.is_empty()
}

/// Listens, from the first call on, to the signals that ask this process to stop. Each signal calls
/// [`stop_all`]. Where there was nothing to stop, it calls `idle`, with true if an earlier signal has stopped
/// runs.
///
/// A signal that the process was started to ignore stays ignored, as under `nohup`. Where the process cannot
/// listen, signals end it as they always do.
pub fn listen(idle: impl Fn(bool) + Send + 'static) {
    static LISTENER: OnceLock<()> = OnceLock::new();
    LISTENER.get_or_init(|| {
        let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
        let hear = move || {
            let Ok(mut signals) = Signals::new(heard) else { return };
            let mut stopped_before = false;
            for _ in signals.forever() {
                if stop_all() {
                    stopped_before = true;
                } else {
                    idle(stopped_before);
                }
            }
        };
        let _ = std::thread::Builder::new().spawn(hear);
    });
}

/// True if the process was started with this signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Turns writing beyond the greatest size of a file into an ordinary error. Without this call the system ends
/// the program.
pub fn survive_full_files() {
    // The writer learns of it by its error. Where the signal cannot be caught, it ends the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}
