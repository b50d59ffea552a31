//! The visits of a global event: every LP is visited where it is, and the summaries are folded in id order.

use super::{Global, catch_panics};
use crate::effects::Effects;
use crate::error::{Error, ErrorKind, Place};
use crate::event::{EventKey, LpId};
use crate::lp::Lp;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::world::World;
use serde::{Deserialize, Serialize};

/// The summary of a visit of the model's global events.
pub type SummaryOf<M> = <<M as Model>::Global as Global<M>>::Summary;

/// A function that is called for each LP, with the metrics that the LP's samples go to.
pub type Visitor<'a, M> = dyn FnMut(LpId, &mut Lp<<M as Model>::State>, &mut Metrics) + 'a;

/// The results of one process's visits.
#[derive(Debug, Serialize, Deserialize)]
pub struct Visits<S> {
    /// The summaries, in id order.
    pub summaries: Vec<(LpId, S)>,
    /// The visit that failed. No LP after it was visited.
    pub failure: Option<(LpId, ErrorKind)>,
}

impl<S> Default for Visits<S> {
    fn default() -> Visits<S> {
        Visits { summaries: Vec::new(), failure: None }
    }
}

/// Access to every LP of a run, wherever the engine keeps it. It is used while no LP executes.
pub trait AllLps<M: Model> {
    /// Returns true if all LPs of the run are here, and false if other processes have some.
    fn is_whole(&self) -> bool {
        true
    }
    /// Sends the visits of this process to all processes. Returns the visits of each process. The result is
    /// the same on all processes.
    ///
    /// # Errors
    ///
    /// If a process is lost.
    fn share(&mut self, mine: Visits<SummaryOf<M>>) -> Result<Vec<Visits<SummaryOf<M>>>, ErrorKind> {
        Ok(vec![mine])
    }
    /// Calls `visitor` for every LP, in id order.
    fn visit_each(&mut self, visitor: &mut Visitor<'_, M>);
    /// Returns the metrics in which global events record.
    fn metrics(&mut self) -> &mut Metrics;
}

/// The LPs of an engine that keeps them in one list, with one set of metrics.
#[derive(Debug)]
pub struct OneList<'a, S> {
    /// The LPs, by id.
    pub lps: &'a mut [Lp<S>],
    /// The metrics of all LPs.
    pub metrics: &'a mut Metrics,
}

impl<M: Model> AllLps<M> for OneList<'_, M::State> {
    fn visit_each(&mut self, visitor: &mut Visitor<'_, M>) {
        for (index, lp) in self.lps.iter_mut().enumerate() {
            visitor(LpId::from_index(index), lp, self.metrics);
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}

/// Visits every LP and folds the summaries.
pub(super) fn visit_all<M: Model>(
    of: (&M, &World, EventKey, &M::Global),
    lps: &mut dyn AllLps<M>,
    effects: &mut Effects<M>,
) -> Result<SummaryOf<M>, Error> {
    let (_, _, key, global) = of;
    let at = |lp, kind| Error::at(kind, Place { instant: key.instant, lp, event: Some(key) });
    let mut fold: Fold<'_, M> = Fold { global, summary: None };
    if lps.is_whole() {
        let (mut failed, mut folded) = (None, Ok(()));
        visit_here(of, lps, effects, &mut |id, visit| match visit {
            Ok(summary) if folded.is_ok() => folded = fold.add(summary),
            Ok(_) => {}
            Err(kind) => failed = Some((id, kind)),
        });
        if let Some((lp, kind)) = failed.filter(|_| folded.is_ok()) {
            return Err(at(Some(lp), kind));
        }
        folded.map_err(|kind| at(None, kind))?;
    } else {
        let mut mine = Visits::default();
        visit_here(of, lps, effects, &mut |id, visit| match visit {
            Ok(summary) => mine.summaries.push((id, summary)),
            Err(kind) => mine.failure = Some((id, kind)),
        });
        let mut all = lps.share(mine).map_err(Error::new)?;
        if let Some((lp, kind)) = all.iter_mut().filter_map(|visits| visits.failure.take()).min_by_key(|(lp, _)| *lp) {
            return Err(at(Some(lp), kind));
        }
        let mut summaries: Vec<_> = all.into_iter().flat_map(|visits| visits.summaries).collect();
        sort_by_id(&mut summaries);
        summaries.into_iter().try_for_each(|(_, summary)| fold.add(summary)).map_err(|kind| at(None, kind))?;
    }
    Ok(fold.summary.expect("there is at least one LP, and its visit did not fail"))
}

/// Sorts by id. A sort in [`visit_all`] itself would be compiled for each model instead of each type `S`.
fn sort_by_id<S>(summaries: &mut [(LpId, S)]) {
    summaries.sort_by_key(|(id, _)| *id);
}

/// Visits the LPs of this process in id order, up to the first failure, and gives each result to `take`.
fn visit_here<M: Model>(
    (model, world, key, global): (&M, &World, EventKey, &M::Global),
    lps: &mut dyn AllLps<M>,
    effects: &mut Effects<M>,
    take: &mut dyn FnMut(LpId, Result<SummaryOf<M>, ErrorKind>),
) {
    let mut failed = false;
    lps.visit_each(&mut |id, lp, metrics| {
        if failed {
            return;
        }
        let summary = lp.visit(model, world, (id, key.instant.time), global, effects);
        if let Some(kind) = effects.failure.take() {
            failed = true;
            return take(id, Err(kind));
        }
        effects.samples.iter().for_each(|sample| metrics.apply(id, sample));
        effects.clear_beyond_sends();
        if let Some(summary) = summary {
            take(id, Ok(summary));
        }
    });
}

/// The fold of summaries so far.
struct Fold<'a, M: Model> {
    global: &'a M::Global,
    summary: Option<SummaryOf<M>>,
}

impl<M: Model> Fold<'_, M> {
    fn add(&mut self, next: SummaryOf<M>) -> Result<(), ErrorKind> {
        self.summary = Some(match self.summary.take() {
            Some(left) => catch_panics(|| self.global.fold(left, next))?,
            None => next,
        });
        Ok(())
    }
}
