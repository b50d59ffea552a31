//! Which partition promises to which, and who is to be notified.

use crate::partition::{Between, Partitioning};
use crate::transport::{ClockId, Clocks};
use crate::window::plan::Plan;
use parades_core::pending::Grid;
use parades_core::time::{Delay, Time};
use parades_core::world::{Controllers, World};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The channels between the partitions of a plan.
#[derive(Debug)]
pub(super) struct Routes {
    /// Of the channels.
    pub(super) clocks: Arc<Clocks>,
    /// Of the control delay: what controllers may still ask for takes effect no earlier.
    pub(super) controls: Arc<Clocks>,
    /// By partition.
    pub(super) of: Vec<Route>,
    /// The windows between which partitions stop that execute LP by LP, where no promise is for less than they are wide.
    pub(super) grid: Option<Grid>,
}

/// The channels of one partition.
#[derive(Debug, Default)]
pub(super) struct Route {
    pub(super) out: Vec<Out>,
    /// The workers that own the senders of its incoming channels, by the numbers of their clocks.
    pub(super) sources: Vec<usize>,
    /// The same for control.
    pub(super) controllers: Vec<usize>,
    /// How far past its next event it may execute: the control delay, if it has a controller.
    pub(super) reach: Option<Delay>,
}

/// A channel to another partition, or its control.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) to: u32,
    /// The worker that owns that partition.
    pub(super) owner: usize,
    /// Where its clock is.
    pub(super) clocks: Arc<Clocks>,
    pub(super) clock: ClockId,
    /// The lookahead, or the control delay.
    pub(super) lookahead: Delay,
}

impl Routes {
    pub(super) fn new(plan: &Plan, world: &World) -> Routes {
        let partitions = plan.placement.partitions();
        let mut owners = vec![0; partitions as usize];
        for worker in 0..plan.workers() {
            plan.own(worker).iter().for_each(|&partition| owners[partition as usize] = worker);
        }
        let between = Partitioning::of_placement(world.lps(), &plan.placement).between(world.channels());
        let Controllers { lps, delay } = world.controllers();
        let controlling: BTreeSet<u32> = lps.iter().map(|&lp| plan.placement.partition(lp)).collect();
        let control = |from| (0..partitions).filter(move |&to| to != from).map(move |to| (from, to));
        let control = controlling.iter().flat_map(|&from| control(from));
        let control: Vec<Between> = control.map(|(from, to)| Between { from, to, lookahead: *delay }).collect();
        let mut of: Vec<Route> = (0..partitions).map(|_| Route::default()).collect();
        let clocks = lay(&between, &owners, &mut of, |route| &mut route.sources);
        let controls = lay(&control, &owners, &mut of, |route| &mut route.controllers);
        controlling.iter().for_each(|&partition| of[partition as usize].reach = Some(*delay));
        let widest = between.iter().map(|channel| channel.lookahead).min().unwrap_or(Delay::MAX);
        let grid = plan.grid.filter(|_| controlling.is_empty() && plan.width.is_some_and(|width| width <= widest));
        Routes { clocks, controls, of, grid }
    }

    /// Sets all clocks to what is known at a cut: nothing is sent before it.
    pub(super) fn reset(&self, cut: Time) {
        for out in self.of.iter().flat_map(|route| &route.out) {
            out.clocks.set(out.clock, out.first(cut));
            out.clocks.answers(out.clock);
        }
    }
}

/// Makes clocks for channels, and adds these to the routes of their partitions.
fn lay(
    channels: &[Between],
    owners: &[usize],
    routes: &mut [Route],
    sources: fn(&mut Route) -> &mut Vec<usize>,
) -> Arc<Clocks> {
    let (clocks, ids) = Clocks::new(u32::try_from(owners.len()).expect("partitions are numbered so"), channels);
    let clocks = Arc::new(clocks);
    for (&Between { from, to, lookahead }, clock) in channels.iter().zip(ids) {
        assert!(lookahead > Delay::ZERO, "channels of lookahead zero are inside partitions");
        let out = Out { to, owner: owners[to as usize], clocks: Arc::clone(&clocks), clock, lookahead };
        routes[from as usize].out.push(out);
        sources(&mut routes[to as usize]).push(owners[from as usize]);
    }
    clocks
}

impl Out {
    /// What a sender can promise that does nothing before some time.
    pub(super) fn first(&self, time: Time) -> Time {
        time.checked_add(self.lookahead).unwrap_or(Time::MAX)
    }
}
