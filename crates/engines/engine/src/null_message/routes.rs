//! The routes of promises: the channels between partitions, and the workers to notify.

use crate::partition::Partitioning;
use crate::window::plan::Plan;
use parades_core::pending::Grid;
use parades_core::time::{Delay, Time};
use parades_core::world::{Controllers, World};
use parades_transport::{Between, ClockId, Clocks};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The channels between the partitions of a plan.
#[derive(Debug)]
pub(super) struct Routes {
    /// The clocks of the channels.
    pub(super) clocks: Arc<Clocks>,
    /// The clocks of control: no global event that a controller may still request is before them.
    pub(super) controls: Arc<Clocks>,
    /// By partition.
    pub(super) of: Vec<Route>,
    /// The windows between which partitions stop if they execute LP by LP. There are none if a lookahead is
    /// shorter than the windows are wide.
    pub(super) grid: Option<Grid>,
}

/// The channels of one partition.
#[derive(Debug, Default)]
pub(super) struct Route {
    pub(super) out: Vec<Out>,
    /// By incoming channel (the number of its clock): its sender.
    pub(super) sources: Vec<Owned>,
    /// By incoming control: the controller.
    pub(super) controllers: Vec<Owned>,
    /// The most that the partition may execute past its next event: the control delay, if the partition has
    /// a controller.
    pub(super) reach: Option<Delay>,
}

/// A partition, and the worker of this rank that owns it; `None` if another rank does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub(super) partition: u32,
    pub(super) owner: Option<usize>,
}

/// An outgoing channel to another partition, or the control of that partition.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) to: Owned,
    pub(super) clocks: Arc<Clocks>,
    pub(super) clock: ClockId,
    /// The lookahead, or the control delay.
    pub(super) lookahead: Delay,
}

impl Routes {
    pub(super) fn new(plan: &Plan, world: &World) -> Routes {
        let partitions = plan.placement.partitions();
        let mut owners: Vec<Owned> = (0..partitions).map(|partition| Owned { partition, owner: None }).collect();
        for worker in 0..plan.workers() {
            plan.own(worker).iter().for_each(|&partition| owners[partition as usize].owner = Some(worker));
        }
        let between = Partitioning::of_placement(world.lps(), &plan.placement).between(world.channels());
        let Controllers { lps, delay } = world.controllers();
        let controlling: BTreeSet<u32> = lps.iter().map(|&lp| plan.placement.partition(lp)).collect();
        let control = |from| (0..partitions).filter(move |&to| to != from).map(move |to| (from, to));
        let control = controlling.iter().flat_map(|&from| control(from));
        let control: Vec<Between> = control.map(|(from, to)| Between { from, to, lookahead: *delay }).collect();
        let mut of: Vec<Route> = (0..partitions).map(|_| Route::default()).collect();
        let clocks = add_channels(&between, &owners, &mut of, |route| &mut route.sources);
        let controls = add_channels(&control, &owners, &mut of, |route| &mut route.controllers);
        controlling.iter().for_each(|&partition| of[partition as usize].reach = Some(*delay));
        let widest = between.iter().map(|channel| channel.lookahead).min().unwrap_or(Delay::MAX);
        let grid = plan.grid.filter(|_| controlling.is_empty() && plan.width.is_some_and(|width| width <= widest));
        Routes { clocks, controls, of, grid }
    }

    /// Returns the sets of clocks that promises are made on.
    pub(super) fn clocks(&self) -> [Arc<Clocks>; 2] {
        [Arc::clone(&self.clocks), Arc::clone(&self.controls)]
    }

    /// Sets all clocks at a cut: nothing is sent before `cut`.
    pub(super) fn reset(&self, cut: Time) {
        for out in self.of.iter().flat_map(|route| &route.out) {
            out.clocks.set(out.clock, out.earliest_arrival(cut));
            out.clocks.clear_request(out.clock);
        }
    }
}

/// Makes clocks for `channels`, and adds the channels to the routes of their partitions.
fn add_channels(
    channels: &[Between],
    owners: &[Owned],
    routes: &mut [Route],
    sources: fn(&mut Route) -> &mut Vec<Owned>,
) -> Arc<Clocks> {
    let (clocks, ids) = Clocks::new(u32::try_from(owners.len()).expect("partitions are numbered so"), channels);
    let clocks = Arc::new(clocks);
    for (&Between { from, to, lookahead }, clock) in channels.iter().zip(ids) {
        assert!(lookahead > Delay::ZERO, "channels of lookahead zero are inside partitions");
        let out = Out { to: owners[to as usize], clocks: Arc::clone(&clocks), clock, lookahead };
        routes[from as usize].out.push(out);
        sources(&mut routes[to as usize]).push(owners[from as usize]);
    }
    clocks
}

impl Out {
    /// Returns the earliest arrival of an event whose sender executes nothing before `time`.
    pub(super) fn earliest_arrival(&self, time: Time) -> Time {
        time.checked_add(self.lookahead).unwrap_or(Time::MAX)
    }
}
