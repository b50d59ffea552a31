//! How wide windows may be, lest they take too long for those who watch.

use super::plan::Plan;
use parades_core::time::Delay;

/// How far after the least next event a bound may be, lest a window take too long for those who watch the run.
#[derive(Debug)]
pub(super) struct Pace {
    /// The last window.
    pub(super) width: Delay,
    events: u64,
    /// Events in a window that is long enough, whatever the lookahead.
    long: u64,
}

/// Events in a window that is long enough for several workers.
const LONG_WINDOW: u64 = 1 << 19;
/// The same where there is one partition, which waits for nobody at its end, and can try another order of events sooner.
const LONG_WINDOW_ALONE: u64 = 1 << 14;
/// Events in a window that is too long, even where cutting it costs.
const VERY_LONG_WINDOW: u64 = 1 << 22;

impl Pace {
    /// From now on, `events` having been executed so far.
    pub(super) fn of(plan: &Plan, events: u64) -> Pace {
        let width = plan.width.unwrap_or_default().max(Delay::from_us(1));
        let is_alone = plan.is_of_one();
        Pace { width, events, long: if is_alone { LONG_WINDOW_ALONE } else { LONG_WINDOW } }
    }

    /// The widest that the next window may be, `events` having been executed so far: at most twice as wide as the last. It is not narrower than `whole`, the
    /// width of windows in which partitions execute LP by LP, of which each part would be put in order anew, unless these hold very many events.
    pub(super) fn next(&mut self, events: u64, whole: Option<Delay>) -> Delay {
        let executed = events - std::mem::replace(&mut self.events, events);
        let width = self.width.max(Delay::from_ps(2));
        let next = match executed {
            _ if executed > self.long => Delay::from_ps(width.as_ps() / 2),
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

    /// Of several workers, with windows that are this wide at first.
    fn pace(width: Delay) -> Pace {
        Pace { width, events: 0, long: LONG_WINDOW }
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
