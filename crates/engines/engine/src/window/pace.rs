//! The pace of the windows: their greatest width. A user can stop a run, and sees its progress, only
//! between windows.

use super::plan::Plan;
use parades_core::time::Delay;

/// Limits the width of windows by the number of events that they hold.
#[derive(Debug)]
pub(super) struct Pace {
    /// The width of the last window.
    pub(super) width: Delay,
    /// The number of events executed before the last window.
    events: u64,
    /// The number of events above which windows become narrower.
    long: u64,
    /// True if the last window held more.
    is_crowded: bool,
}

/// Events in a long window of several workers, above which windows become narrower.
const LONG_WINDOW: u64 = 1 << 19;
/// The same with one partition. It waits for nobody at the end of a window, and can try another order of
/// events sooner.
const LONG_WINDOW_ALONE: u64 = 1 << 14;
/// Events in a window that must become narrower even if partitions then have to sort its parts separately.
const VERY_LONG_WINDOW: u64 = 1 << 22;

impl Pace {
    /// Starts with the windows of `plan`, after `events` executed events.
    pub(super) fn of(plan: &Plan, events: u64) -> Pace {
        let width = plan.width.unwrap_or_default().max(Delay::from_us(1));
        let is_alone = plan.has_one_partition();
        Pace { width, events, long: if is_alone { LONG_WINDOW_ALONE } else { LONG_WINDOW }, is_crowded: false }
    }

    /// Records the width of a window of partitions with bounds of their own. Their windows are wide and narrow
    /// in turn, so a narrow one says little about the next, unless it is crowded.
    pub(super) fn record_own(&mut self, width: Delay) {
        let remembered = if self.is_crowded { 0 } else { self.width.as_ps() - self.width.as_ps() / 8 };
        self.width = width.max(Delay::from_ps(remembered));
    }

    /// Returns the greatest width of the next window, after `events` executed events: at most twice the
    /// last width.
    ///
    /// `whole` is the width of the windows in which partitions execute LP by LP. A narrower window would
    /// make partitions sort each part of theirs separately. So the result is at least `whole`, unless such
    /// windows are very long.
    pub(super) fn next(&mut self, events: u64, whole: Option<Delay>) -> Delay {
        let executed = events - std::mem::replace(&mut self.events, events);
        let width = self.width.max(Delay::from_ps(2));
        self.is_crowded = executed > self.long;
        let next = match executed {
            _ if self.is_crowded => Delay::from_ps(width.as_ps() / 2),
            _ if executed < self.long / 4 => width.saturating_add(width),
            _ => width,
        };
        let product = |events: u64, width: Delay| u128::from(events) * u128::from(width.as_ps());
        let whole = whole.filter(|&whole| product(executed, whole) <= product(VERY_LONG_WINDOW, width));
        next.max(whole.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pace of several workers whose first windows have this width.
    fn pace(width: Delay) -> Pace {
        Pace { width, events: 0, long: LONG_WINDOW, is_crowded: false }
    }

    #[test]
    fn a_crowded_run_is_cut_into_shorter_windows_but_not_within_those_of_partitions() {
        let width = |events, whole| pace(Delay::from_us(8)).next(events, whole);
        let whole = Some(Delay::from_us(8));
        assert_eq!(width(LONG_WINDOW + 1, None), Delay::from_us(4));
        assert_eq!(width(LONG_WINDOW + 1, whole), Delay::from_us(8));
        assert_eq!(width(VERY_LONG_WINDOW + 1, whole), Delay::from_us(4));
        assert_eq!(width(LONG_WINDOW / 2, whole), Delay::from_us(8));
        assert_eq!(width(0, whole), Delay::from_us(16));
    }

    #[test]
    fn windows_of_very_many_events_stay_cut() {
        let whole = Delay::from_us(1 << 10);
        let mut pace = pace(whole);
        let mut events = 0;
        for _ in 0..20 {
            events += pace.width.as_ps() * (4 * VERY_LONG_WINDOW) / whole.as_ps();
            pace.width = pace.next(events, Some(whole));
            assert!(pace.width < whole);
        }
    }
}
