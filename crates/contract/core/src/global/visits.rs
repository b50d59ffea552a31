//! The visits of a global event: every LP is visited where it is, and the summaries are folded in id order.

use super::{AnyGlobal, Global, catch_panics};
use crate::any_model::{AnyModel, Lps, Visit};
use crate::effects::HiddenEffects;
use crate::error::{Error, ErrorKind, Failure, Place};
use crate::event::{EventKey, LpId};
use crate::metrics::Metrics;
use crate::model::Model;
use crate::world::World;
use std::any::Any;
use std::fmt;

/// The summary of a visit of the model's global events.
pub type SummaryOf<M> = <<M as Model>::Global as Global<M>>::Summary;

/// A function that is called for each LP: with its id, the list of LPs that has it, its index there, and the
/// metrics that its samples go to.
pub type Visitor<'a, 'k> = dyn FnMut(LpId, &mut (dyn Lps<'k> + 'k), usize, &mut Metrics) + 'a;

/// The summaries of a model whose type the holder does not know.
pub struct AnySummaries(Box<dyn Any + Send>);

impl fmt::Debug for AnySummaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySummaries").finish_non_exhaustive()
    }
}

impl AnySummaries {
    /// Hides the type of the summaries.
    pub(crate) fn new<S: Send + 'static>(summaries: Summaries<S>) -> AnySummaries {
        AnySummaries(Box::new(summaries))
    }

    /// Returns the summaries.
    pub(crate) fn get_mut<S: 'static>(&mut self) -> &mut Summaries<S> {
        self.0.downcast_mut().expect("a run has summaries of one type")
    }

    /// Returns the summaries.
    pub(crate) fn take<S: 'static>(self) -> Summaries<S> {
        *self.0.downcast().expect("a run has summaries of one type")
    }
}

/// The summaries of some LPs.
#[derive(Debug)]
pub(crate) enum Summaries<S> {
    /// All LPs of the run are visited here, in id order: their summaries are folded at once.
    Folded(Option<S>),
    /// Other processes have some of the LPs: the summaries are kept until all are together.
    Listed(Vec<(LpId, S)>),
}

impl<S: Send + 'static> Summaries<S> {
    /// Adds the summary of the next LP.
    ///
    /// # Errors
    ///
    /// The panic of the model that folds.
    pub(crate) fn add<M: Model<Global: Global<M, Summary = S>>>(
        &mut self,
        global: &M::Global,
        id: LpId,
        next: S,
    ) -> Result<(), ErrorKind> {
        match self {
            Summaries::Listed(all) => all.push((id, next)),
            Summaries::Folded(folded) => {
                *folded = Some(match folded.take() {
                    Some(left) => catch_panics(|| global.fold(left, next))?,
                    None => next,
                });
            }
        }
        Ok(())
    }

    /// Returns the summaries as a list.
    pub(crate) fn into_list(self) -> Vec<(LpId, S)> {
        match self {
            Summaries::Listed(all) => all,
            Summaries::Folded(_) => unreachable!("summaries are folded where all LPs are"),
        }
    }

    /// Folds the lists of all processes.
    pub(crate) fn join<M: Model<Global: Global<M, Summary = S>>>(
        global: &M::Global,
        lists: Vec<Vec<(LpId, S)>>,
    ) -> Result<Summaries<S>, ErrorKind> {
        let mut all: Vec<_> = lists.into_iter().flatten().collect();
        all.sort_by_key(|(id, _)| *id);
        let mut folded = Summaries::Folded(None);
        all.into_iter().try_for_each(|(id, summary)| folded.add::<M>(global, id, summary))?;
        Ok(folded)
    }
}

/// The results of one process's visits.
#[derive(Debug)]
pub struct Visits {
    /// The summaries.
    pub summaries: AnySummaries,
    /// The visit that failed. No LP after it was visited.
    pub failure: Option<(LpId, Failure)>,
}

/// Access to every LP of a run, wherever the engine keeps it. It is used while no LP executes.
pub trait AllLps<'k> {
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
    fn share(&mut self, mine: Visits) -> Result<Vec<Visits>, ErrorKind> {
        Ok(vec![mine])
    }
    /// Calls `visitor` for every LP, in id order.
    fn visit_each(&mut self, visitor: &mut Visitor<'_, 'k>);
    /// Returns the metrics in which global events record.
    fn metrics(&mut self) -> &mut Metrics;
}

/// The LPs of an engine that keeps them in one list, by id, with one set of metrics.
#[derive(Debug)]
pub struct OneList<'a, 'k> {
    /// The LPs.
    pub lps: &'a mut (dyn Lps<'k> + 'k),
    /// The metrics of all LPs.
    pub metrics: &'a mut Metrics,
}

impl<'k> AllLps<'k> for OneList<'_, 'k> {
    fn visit_each(&mut self, visitor: &mut Visitor<'_, 'k>) {
        for index in 0..self.lps.len() {
            visitor(LpId::from_index(index), self.lps, index, self.metrics);
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}

/// Visits every LP and folds the summaries.
pub(super) fn visit_all<'k>(
    model: &'k dyn AnyModel<'k>,
    world: &World,
    key: EventKey,
    global: &AnyGlobal,
    lps: &mut dyn AllLps<'k>,
    effects: &mut HiddenEffects<'_, 'k>,
) -> Result<AnySummaries, Error> {
    let at = |lp, failure: Failure| Error::at(failure, Place { instant: key.instant, lp, event: Some(key) });
    let is_whole = lps.is_whole();
    let mine = visit_here(model, world, key, global, lps, effects).map_err(|kind| at(None, kind.into()))?;
    if is_whole {
        return match mine.failure {
            Some((lp, failure)) => Err(at(Some(lp), failure)),
            None => Ok(mine.summaries),
        };
    }
    let mut all = lps.share(mine).map_err(Error::new)?;
    if let Some((lp, failure)) = all.iter_mut().filter_map(|visits| visits.failure.take()).min_by_key(|(lp, _)| *lp) {
        return Err(at(Some(lp), failure));
    }
    let lists = all.into_iter().map(|visits| visits.summaries).collect();
    model.join_summaries(global, lists).map_err(|kind| at(None, kind.into()))
}

/// Visits the LPs of this process in id order, up to the first failure.
///
/// # Errors
///
/// The failure of a fold.
fn visit_here<'k>(
    model: &'k dyn AnyModel<'k>,
    world: &World,
    key: EventKey,
    global: &AnyGlobal,
    lps: &mut dyn AllLps<'k>,
    effects: &mut HiddenEffects<'_, 'k>,
) -> Result<Visits, ErrorKind> {
    let mut mine = Visits { summaries: model.new_summaries(lps.is_whole()), failure: None };
    let mut folded = Ok(());
    lps.visit_each(&mut |id, lps, index, metrics| {
        if mine.failure.is_some() || folded.is_err() {
            return;
        }
        let visit = Visit { id, time: key.instant.time, global };
        folded = lps.visit(index, &visit, world, effects.reborrow(), &mut mine.summaries);
        if let Some(failure) = effects.others.failure.take() {
            mine.failure = Some((id, failure));
            return;
        }
        effects.others.samples.iter().for_each(|sample| metrics.apply(id, sample));
        effects.others.clear();
    });
    folded.map(|()| mine)
}
