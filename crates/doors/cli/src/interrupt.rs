//! Ctrl-C, and requests to terminate: the first ends the runs at their next cut, with their results so far; the second ends the program.

use crate::say;
use parades_core::run::Control;
use parades_session::failure::STOPPED;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

static STOPPED_BY_HAND: AtomicBool = AtomicBool::new(false);
/// The runs that a signal stops.
static RUNNING: Mutex<Vec<Arc<Control>>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Arc<Control>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets writing beyond what a file may hold fail as other writing does, where the system would end the program.
pub(crate) fn outlives_full_files() {
    // That it came tells nothing beyond the error of who wrote. Where it cannot be caught, it ends the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Makes signals end the program with its own exit status while nothing is running that could be stopped.
pub(crate) fn listens() {
    static LISTENER: OnceLock<()> = OnceLock::new();
    LISTENER.get_or_init(listen);
}

/// Makes signals stop the run that `control` watches, beside those that are running already.
pub(crate) fn stops(control: &Arc<Control>) {
    running().push(Arc::clone(control));
    listens();
}

/// Listens to the signals that the program was not told to ignore, as `nohup` tells it. Where it cannot listen, they end the program
/// as they always do.
fn listen() {
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    let hear = move || {
        let Ok(mut signals) = Signals::new(heard) else { return };
        for _ in signals.forever() {
            let stopped: Vec<_> = running().drain(..).collect();
            if stopped.is_empty() {
                if !happened() {
                    say("stopped: before there was a result");
                }
                std::process::exit(i32::from(STOPPED));
            }
            // Ordering: Relaxed; the flag stands alone.
            STOPPED_BY_HAND.store(true, Ordering::Relaxed);
            stopped.iter().for_each(|control| control.stop());
        }
    };
    let _ = std::thread::Builder::new().spawn(hear);
}

/// Whether the program was started with this signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether a signal has stopped a run.
pub(crate) fn happened() -> bool {
    // Ordering: Relaxed; the flag stands alone.
    STOPPED_BY_HAND.load(Ordering::Relaxed)
}

/// The run that `control` watches is over.
pub(crate) fn release(control: &Arc<Control>) {
    running().retain(|other| !Arc::ptr_eq(other, control));
}
