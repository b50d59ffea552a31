//! The time that a stopped run may still take for the events of its last instant.
//!
//! A run that the user stops ends after all events of a time, so that its results are those of a run until
//! there. Where that takes too long, it ends among them, without a digest.

use crate::stopwatch::now;
use parades_core::run::Control;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time from a stop until a run ends among the events of a time. Users wait for it; the results of large
/// models take further tenths of a second.
const GRACE: Duration = Duration::from_millis(200);

/// The time that is left since a stop.
#[derive(Debug)]
pub(crate) struct Grace<'k> {
    control: Option<&'k Control>,
    /// The time when the stop was first seen.
    since: OnceLock<Instant>,
}

impl<'k> Grace<'k> {
    /// Returns the grace of a run that is stopped by `control`.
    pub(crate) fn of(control: Option<&'k Control>) -> Grace<'k> {
        Grace { control, since: OnceLock::new() }
    }

    /// True if the run was stopped, and has had its time since.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.control.is_some_and(Control::is_stopped) && self.has_passed()
    }

    #[cold]
    fn has_passed(&self) -> bool {
        self.since.get_or_init(now).elapsed() > GRACE
    }
}
