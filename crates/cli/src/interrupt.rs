//! Ctrl-C: the first ends the run at its next cut, with its results so far; the second ends the program.

use crate::failure::STOPPED;
use parades_core::run::Control;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

static STOPPED_BY_HAND: AtomicBool = AtomicBool::new(false);
/// The run that a signal stops.
static RUNNING: Mutex<Option<Arc<Control>>> = Mutex::new(None);

fn running() -> std::sync::MutexGuard<'static, Option<Arc<Control>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes signals stop the run that `control` watches. Until then, and after [`release`], they end the program.
pub(crate) fn stops(control: &Arc<Control>) {
    static HANDLER: OnceLock<()> = OnceLock::new();
    *running() = Some(Arc::clone(control));
    HANDLER.get_or_init(|| {
        // Where no handler can be set, Ctrl-C ends the program as it always does.
        let _ = ctrlc::set_handler(|| match running().take() {
            Some(control) => {
                // Ordering: Relaxed; the flag stands alone.
                STOPPED_BY_HAND.store(true, Ordering::Relaxed);
                control.stop();
            }
            None => std::process::exit(i32::from(STOPPED)),
        });
    });
}

/// Whether a signal has stopped a run.
pub(crate) fn happened() -> bool {
    // Ordering: Relaxed; the flag stands alone.
    STOPPED_BY_HAND.load(Ordering::Relaxed)
}

/// The run is over.
pub(crate) fn release() {
    *running() = None;
}
