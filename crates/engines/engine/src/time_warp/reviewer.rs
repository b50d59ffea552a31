//! Whether several workers pay, and the way from several to one and back.
//!
//! Where workers are kept from their cores, by strangers or by each other, what one executes ahead is often
//! taken back when the other comes to it. So it is measured how much of what is executed is kept, and what
//! an execution costs that is not disturbed: together they tell how many workers' worth of work is done.
//! Where that is little, one worker is tried, which takes nothing back. The others rest.

use super::history::NONE;
use super::site::{Counts, Site};
use crate::retreat::{Retreat, Retreats, Spell};
use crate::stopwatch::{CoreClock, now, timed};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::placement::Placement;
use parades_core::restore::Restorable;
use parades_raw::huge_pages;
use std::sync::MutexGuard;
use std::time::Duration;

/// One worker is tried now and then where several do less than this many workers' worth of work: alone its
/// executions leave no history, and with 1,024 LPs of PHOLD they cost two thirds of what they cost here
/// where nothing disturbs them.
const SOME: f64 = 2.0;

/// What an execution costs where nothing disturbs it, in nanoseconds.
///
/// It follows the cheaper of the measurements: the others were disturbed, or took something back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost(Option<f64>);

impl Cost {
    /// Takes up a measurement.
    pub(super) fn add(&mut self, ns: f64) {
        let before = self.0.unwrap_or(ns);
        let share = if ns < before { 1.0 / 4.0 } else { 1.0 / 64.0 };
        self.0 = Some(before + share * (ns - before));
    }

    /// Infinite as long as it is not known.
    pub(super) fn ns(self) -> f64 {
        self.0.unwrap_or(f64::INFINITY)
    }
}

/// What the leader knows of it.
#[derive(Debug)]
pub(super) struct Reviewer {
    retreats: Retreats,
    retreat: Retreat,
    /// One worker executes all for good, as there was no memory for the history of several.
    for_memory: bool,
    workers: usize,
    lps: u32,
    /// When the present spell began, and what had been executed and kept.
    since: std::time::Instant,
    core: CoreClock,
    executed: u64,
    /// How often GVT has been found since it turned.
    gvts: u32,
}

impl Reviewer {
    pub(super) fn new(retreats: Retreats, workers: usize, lps: u32) -> Reviewer {
        let retreats = if workers == 1 { Retreats::Never } else { retreats };
        let retreat = Retreat::new(SOME / workers as f64);
        let (since, core, for_memory) = (now(), CoreClock::start(), false);
        Reviewer { retreats, retreat, for_memory, workers, lps, since, core, executed: 0, gvts: 0 }
    }

    /// Whether one worker executes all.
    pub(super) fn is_alone(&self) -> bool {
        self.retreat.alone
    }

    /// From the next turn on, one worker executes all for good, as it needs the least memory.
    pub(super) fn retreat_for_memory(&mut self) {
        (self.retreats, self.for_memory) = (Retreats::Never, true);
    }

    /// Whether it has.
    pub(super) fn has_retreated_for_memory(&self) -> bool {
        self.for_memory
    }

    /// How often the run went from several workers to one, or back.
    pub(super) fn switches(&self) -> u32 {
        self.retreat.turns
    }

    /// Whether to turn, `executed` events having been kept so far, each of which costs so many nanoseconds
    /// where nothing disturbs it, and about so many waiting.
    pub(super) fn should_switch(&mut self, executed: u64, cost_ns: f64, waiting: usize) -> bool {
        if self.gvts == 0 && self.switches() == 0 {
            // Until now LPs were set up, which says nothing of what is executed ahead.
            self.begin_spell();
            self.executed = executed;
        }
        self.gvts += 1;
        self.retreat.weighs(self.lps as usize + waiting);
        match self.retreats {
            Retreats::Never => false,
            Retreats::Every(gvts) => self.gvts >= gvts,
            Retreats::WhereFaster => self.should_switch_after_spell(executed, cost_ns, self.since.elapsed()),
        }
    }

    /// As [`Reviewer::should_switch`], where the present spell has lasted so long.
    fn should_switch_after_spell(&mut self, executed: u64, cost_ns: f64, time: Duration) -> bool {
        if !self.retreat.is_due(time) {
            return false;
        }
        let workers = if self.is_alone() { 1 } else { self.workers };
        let executed_now = executed.saturating_sub(self.executed);
        let share = executed_now as f64 * cost_ns / (time.as_nanos() as f64 * workers as f64);
        let (share_worked, share_on_core) = (share.min(1.0), self.core.share());
        let spell = Spell { executed: executed_now, time, workers, share_worked, share_on_core };
        if !self.retreat.can_decide(spell) {
            return false;
        }
        let turns = self.retreat.turns_after(spell);
        // One worker's spell goes on until it is time to try several again.
        if turns || !self.is_alone() {
            self.begin_spell();
            self.executed = executed;
        }
        turns
    }

    /// Goes from several workers to one, or back to where each LP lived at first. All rest; how it is from
    /// here on.
    pub(super) fn switch_mode<M: Restorable>(
        &mut self,
        (old, first): (&Placement, &Placement),
        lps: u32,
        sites: &mut [MutexGuard<'_, Site<M>>],
    ) -> Placement {
        let next = if self.is_alone() { first.clone() } else { Placement::ranges(lps, lps) };
        let ((), took) = timed(|| move_all(sites, (old, &next), lps));
        self.retreat.has_turned(took);
        self.gvts = 0;
        self.begin_spell();
        next
    }

    fn begin_spell(&mut self) {
        (self.since, self.core) = (now(), CoreClock::start());
    }
}

/// Moves LPs, events and metrics to other sites. What has been moved away from is given back as soon as it
/// is empty, since it is as large as the run.
fn move_all<M: Restorable>(sites: &mut [MutexGuard<'_, Site<M>>], (old, new): (&Placement, &Placement), lps: u32) {
    let mut events = Vec::new();
    let mut records = Vec::new();
    let mut counts = Counts::default();
    for (number, site) in (0..).zip(sites.iter_mut()) {
        events.push(site.take_all());
        records.push(std::mem::take(&mut site.lps).into_iter());
        counts = counts.and(std::mem::take(&mut site.counts));
        let lps = if number < new.partitions() { new.len(number) } else { 0 };
        site.restart(new, lps as usize, number == 0 && new.partitions() == 1);
    }
    for id in (0..lps).map(LpId) {
        let from = &mut records[old.partition(id) as usize];
        let lp = from.next().expect("each LP is at its site");
        if from.len() == 0 {
            *from = Vec::new().into_iter();
        }
        let site = &mut sites[new.partition(id) as usize];
        site.lps.push(lp);
        site.heads.push(NONE);
    }
    sites.iter().for_each(|site| huge_pages::ask_for(&site.lps));
    for event in events.into_iter().flatten() {
        sites[new.partition(event.receiver) as usize].push_unmarked(event);
    }
    sites[0].counts = counts;
    let mut metrics: Vec<&mut Metrics> = sites.iter_mut().map(|site| &mut site.metrics).collect();
    Metrics::redistribute(&mut metrics, &|id| new.partition(id) as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_follows_the_cheaper_measurements() {
        let mut cost = Cost::default();
        assert!(cost.ns().is_infinite());
        for round in 0..1000 {
            cost.add(if round % 10 == 3 { 5_000.0 } else { 100.0 });
        }
        assert!((100.0..150.0).contains(&cost.ns()), "{cost:?}");
        (0..1000).for_each(|_| cost.add(300.0));
        assert!((290.0..=300.0).contains(&cost.ns()), "it is found out when all become dearer: {cost:?}");
    }

    #[test]
    fn one_goes_on_where_several_do_less_than_one_would() {
        let long = Duration::from_millis(20);
        // Executions cost 100 ns where nothing disturbs them.
        for (kept_ns, turns) in [(200, true), (60, false)] {
            let mut reviewer = Reviewer::new(Retreats::WhereFaster, 2, 16);
            let kept = 20_000_000 / kept_ns;
            let turned = (1..4).any(|spell| reviewer.should_switch_after_spell(spell * kept, 100.0, long));
            assert_eq!(turned, turns, "{kept_ns} ns for each that is kept");
        }
        let mut alone = Reviewer::new(Retreats::WhereFaster, 1, 16);
        assert!((0..100).all(|executed| !alone.should_switch(executed, 1.0, 16)), "one stays alone");
    }
}
