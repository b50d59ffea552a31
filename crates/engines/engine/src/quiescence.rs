//! All LPs of a run at a cut, each in the place where it is executed. The leader shows them to global events.

use crate::course::Quiescent;
use parades_core::event::{Event, LpId};
use parades_core::global::{AllLps, Visitor};
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::placement::Placement;
use parades_core::time::Time;
use std::sync::MutexGuard;

/// A place where some of the LPs are executed, with their pending events.
pub(crate) trait Home<M: Model> {
    /// Returns the time of the next pending event here.
    fn earliest_time(&mut self) -> Time;
    /// Adds an event that is never annihilated.
    fn add(&mut self, event: Event<M::Message>);
    /// Returns the LPs, by their index in the placement, and their metrics.
    fn residents(&mut self) -> (&mut [Lp<M::State>], &mut Metrics);
}

/// All homes of a run.
pub(crate) struct Homes<'a, 'l, H> {
    pub(crate) homes: &'a mut [MutexGuard<'l, H>],
    pub(crate) placement: &'a Placement,
    /// The number of LPs.
    pub(crate) lps: u32,
}

impl<M: Model, H: Home<M>> Quiescent<M> for Homes<'_, '_, H> {
    fn next_time(&mut self) -> Time {
        self.homes.iter_mut().map(|home| home.earliest_time()).min().unwrap_or(Time::MAX)
    }
    fn lps<'b>(&'b mut self, metrics: &'b mut Metrics) -> impl AllLps<M> + 'b {
        Residents { homes: self, metrics }
    }
    fn push(&mut self, event: Event<M::Message>) {
        self.homes[self.placement.partition(event.receiver) as usize].add(event);
    }
}

/// The LPs of all homes, as a global event visits them.
struct Residents<'b, 'a, 'l, H> {
    homes: &'b mut Homes<'a, 'l, H>,
    metrics: &'b mut Metrics,
}

impl<M: Model, H: Home<M>> AllLps<M> for Residents<'_, '_, '_, H> {
    fn visit_each(&mut self, visitor: &mut Visitor<'_, M>) {
        let Homes { homes, placement, lps } = self.homes;
        for id in (0..*lps).map(LpId) {
            let (lps, metrics) = homes[placement.partition(id) as usize].residents();
            visitor(id, &mut lps[placement.index(id)], metrics);
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}
