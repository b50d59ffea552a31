//! How far apart cuts are, where nothing else asks for one.

use crate::window::Crew;
use crate::workers::lock;
use parades_core::model::Model;
use parades_core::time::{Delay, Time};

/// Events and null messages from cut to cut that are enough: a run can be stopped, and shows how far it is, only there.
const ENOUGH: u64 = 1 << 19;
/// How many events a traced one counts for, as the trace is kept in memory from cut to cut.
const TRACED: u64 = 64;
/// Lookaheads from cut to cut at first.
const FIRST: u64 = 16;
/// Cuts before they come further apart: until the work has been reviewed for the first time.
const FREQUENT: u32 = 32;

/// The virtual time from cut to cut, by what was done between the last ones.
#[derive(Debug)]
pub(super) struct Pace {
    most: Delay,
    /// Where the last leg would have ended if nothing had come before.
    end: Time,
    cuts: u32,
    work: u64,
    traced: bool,
}

impl Pace {
    pub(super) fn new<M: Model, T>(crew: &Crew<'_, M, T>) -> Pace {
        let plan = &lock(&crew.orders).plan;
        let lookahead = plan.lookahead.or(plan.width).unwrap_or_default();
        let most = Delay::from_ps(lookahead.as_ps().saturating_mul(FIRST)).max(Delay::from_us(1));
        Pace { most, end: Time::MAX, cuts: 0, work: 0, traced: crew.traces }
    }

    /// The plan has changed, and how far apart cuts should be is not known any more.
    pub(super) fn restart<M: Model, T>(&mut self, crew: &Crew<'_, M, T>) {
        *self = Pace { work: self.work, ..Pace::new(crew) };
    }

    /// Where the next cut is at the latest, after a leg that `reached` some time, and events and null messages in all.
    pub(super) fn next(&mut self, (from, reached): (Time, Time), (events, nulls): (u64, u64)) -> Time {
        self.cuts = self.cuts.saturating_add(1);
        let work = nulls + if self.traced { TRACED * events } else { events };
        let done = work - std::mem::replace(&mut self.work, work);
        if done > ENOUGH {
            self.most = Delay::from_ps(self.most.as_ps() / 2).max(Delay::from_ps(1));
        } else if done < ENOUGH / 4 && self.cuts > FREQUENT && reached == self.end {
            // A leg that ended early says nothing of a longer one.
            self.most = self.most.saturating_add(self.most);
        }
        self.end = from.checked_add(self.most).unwrap_or(Time::MAX);
        self.end
    }
}
