//! The distance between cuts, if nothing else asks for a cut.

use crate::window::Crew;
use crate::workers::lock;
use parades_core::time::{Delay, Time};

/// The most work between two cuts, in events and null messages. Only at a cut can a run be stopped and
/// report progress.
const WORK_MAX: u64 = 1 << 19;
/// The same in a run that may go on under another engine: only at a cut can it leave this one.
const WORK_MAX_WATCHED: u64 = 1 << 16;
/// The work of a traced event, in events. The trace is kept in memory from cut to cut.
const WORK_PER_TRACED: u64 = 64;
/// The first distance between cuts, in lookaheads.
const LOOKAHEADS_FIRST: u64 = 16;
/// The number of cuts before their distance may grow. By then the work has been reviewed for the first time.
const CUTS_AT_FIRST_DISTANCE: u32 = 32;

/// Sets the virtual time between cuts, by the work done between the last two.
#[derive(Debug)]
pub(super) struct Pace {
    distance: Delay,
    /// The time of the next cut, if nothing else asks for an earlier one.
    end: Time,
    cuts: u32,
    work: u64,
    /// The most work between two cuts.
    work_max: u64,
    traced: bool,
}

/// Returns the lookahead between partitions, if channels connect any.
fn lookahead_of(crew: &Crew<'_>) -> Option<Delay> {
    let plan = &lock(&crew.orders).plan;
    plan.lookahead.or(plan.width)
}

impl Pace {
    /// Returns the pace of a run that has just begun. It `is_watched` if it may go on under another engine.
    pub(super) fn new(crew: &Crew<'_>, is_watched: bool) -> Pace {
        Pace::with_most(crew, if is_watched { WORK_MAX_WATCHED } else { WORK_MAX })
    }

    fn with_most(crew: &Crew<'_>, work_max: u64) -> Pace {
        let lookahead = lookahead_of(crew).unwrap_or_default();
        let distance = Delay::from_ps(lookahead.as_ps().saturating_mul(LOOKAHEADS_FIRST)).max(Delay::from_us(1));
        Pace { distance, end: Time::MAX, cuts: 0, work: 0, work_max, traced: crew.traces }
    }

    /// Forgets the distance between cuts, because the plan has changed. Where no channel connects partitions,
    /// the distance depends on no plan, and stays.
    pub(super) fn restart(&mut self, crew: &Crew<'_>) {
        if lookahead_of(crew).is_some() {
            *self = Pace { work: self.work, ..Pace::with_most(crew, self.work_max) };
        }
    }

    /// Returns the latest time of the next cut, after a cut at `from`. The last leg has reached time
    /// `reached`. The run has executed `events` events and sent `nulls` null messages so far.
    pub(super) fn next(&mut self, from: Time, reached: Time, events: u64, nulls: u64) -> Time {
        self.cuts = self.cuts.saturating_add(1);
        let work = nulls + if self.traced { WORK_PER_TRACED * events } else { events };
        let done = work - std::mem::replace(&mut self.work, work);
        if done > self.work_max {
            self.distance = Delay::from_ps(self.distance.as_ps() / 2).max(Delay::from_ps(1));
        } else if done < self.work_max / 4 && self.cuts > CUTS_AT_FIRST_DISTANCE && reached == self.end {
            // A leg that ended early, before `end`, does not show how much a longer one would hold.
            self.distance = self.distance.saturating_add(self.distance);
        }
        self.end = from.checked_add(self.distance).unwrap_or(Time::MAX);
        self.end
    }
}
