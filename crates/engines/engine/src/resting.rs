//! All LPs of a run while the workers rest, each where it is executed else: what a leader shows to global events.

use crate::course::Rest;
use parades_core::event::{Event, LpId};
use parades_core::global::{AllLps, Visitor};
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::placement::Placement;
use parades_core::time::Time;
use std::sync::MutexGuard;

/// Where some of the LPs are executed, with what waits at them.
pub(crate) trait Home<M: Model> {
    /// When the next event here is due.
    fn next_due(&mut self) -> Time;
    /// Adds an event, which nobody will take back.
    fn put(&mut self, event: Event<M::Message>);
    /// The LPs, by their index in the placement, and their metrics.
    fn residents(&mut self) -> (&mut [Lp<M::State>], &mut Metrics);
}

/// All homes of a run.
pub(crate) struct Resting<'a, 'l, H> {
    pub(crate) homes: &'a mut [MutexGuard<'l, H>],
    pub(crate) placement: &'a Placement,
    /// How many LPs there are.
    pub(crate) lps: u32,
}

impl<M: Model, H: Home<M>> Rest<M> for Resting<'_, '_, H> {
    fn next_time(&mut self) -> Time {
        self.homes.iter_mut().map(|home| home.next_due()).min().unwrap_or(Time::MAX)
    }
    fn lps<'b>(&'b mut self, metrics: &'b mut Metrics) -> impl AllLps<M> + 'b {
        Visited { rest: self, metrics }
    }
    fn push(&mut self, event: Event<M::Message>) {
        self.homes[self.placement.partition(event.receiver) as usize].put(event);
    }
}

/// Their LPs, visited by a global event.
struct Visited<'b, 'a, 'l, H> {
    rest: &'b mut Resting<'a, 'l, H>,
    metrics: &'b mut Metrics,
}

impl<M: Model, H: Home<M>> AllLps<M> for Visited<'_, '_, '_, H> {
    fn each(&mut self, visitor: &mut Visitor<'_, M>) {
        let Resting { homes, placement, lps } = self.rest;
        for id in (0..*lps).map(LpId) {
            let (lps, metrics) = homes[placement.partition(id) as usize].residents();
            visitor(id, &mut lps[placement.index(id)], metrics);
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}
