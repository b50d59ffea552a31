//! The ledger: the effects of a worker's executions that are left to the leader. Sends are not among them.

use parades_core::any_model::{AnyEvent, Packed, any_event};
use parades_core::effects::{OtherEffects, Request};
use parades_core::error::{Failure, Place};
use parades_core::event::{Event, EventKey, LpId};
use parades_core::metrics::Metrics;
use parades_core::time::Time;
use parades_core::trace::Note;
use serde::{Deserialize, Serialize};

/// Executed events for the trace, with their notes.
pub(crate) type Trace<'k> = Vec<(AnyEvent<'k>, Vec<Note>)>;

/// Sorts a trace by event.
pub(crate) fn sort(trace: &mut Trace<'_>) {
    trace.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
}

/// The earliest of the failures that are known, by place: instant, LP, event key.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EarliestFailure(Option<(Place, Failure)>);

impl EarliestFailure {
    /// Adds a failure, which is kept if it is the earliest.
    pub(crate) fn add(&mut self, place: Place, failure: Failure) {
        if self.place().is_none_or(|earliest| place < *earliest) {
            self.0 = Some((place, failure));
        }
    }

    /// Adds the failure of `other`, if any.
    pub(crate) fn merge(&mut self, other: EarliestFailure) {
        if let Some((place, failure)) = other.0 {
            self.add(place, failure);
        }
    }

    /// Returns the place of the failure.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.0.as_ref().map(|(place, _)| place)
    }

    /// Returns the time of the failure, or [`Time::MAX`].
    pub(crate) fn time(&self) -> Time {
        self.place().map_or(Time::MAX, |place| place.instant.time)
    }

    /// Removes and returns the failure.
    pub(crate) fn take(&mut self) -> Option<(Place, Failure)> {
        self.0.take()
    }
}

/// The effects of a worker's executions other than sends and metrics. The leader collects them at the next
/// cut.
pub(crate) struct Ledger<'k> {
    /// True if executions must be traced.
    pub(crate) traces: bool,
    pub(crate) trace: Trace<'k>,
    pub(crate) requests: Vec<Request>,
    pub(crate) failure: EarliestFailure,
}

impl<'k> Ledger<'k> {
    pub(crate) fn new(traces: bool) -> Ledger<'k> {
        Ledger { traces, trace: Vec::new(), requests: Vec::new(), failure: EarliestFailure::default() }
    }

    /// Adds the content of another ledger.
    pub(crate) fn merge(&mut self, other: Ledger<'k>) {
        self.trace.extend(other.trace);
        self.requests.extend(other.requests);
        self.failure.merge(other.failure);
    }

    /// Removes and returns the content.
    pub(crate) fn take(&mut self) -> Ledger<'k> {
        std::mem::replace(self, Ledger::new(self.traces))
    }

    /// Collects the metrics, requests and failure of an execution. Returns true if it failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn collect(
        &mut self,
        key: EventKey,
        lp: LpId,
        effects: &mut OtherEffects,
        metrics: &mut Metrics,
    ) -> bool {
        self.collect_at(Place { instant: key.instant, lp: Some(lp), event: Some(key) }, lp, effects, metrics)
    }

    /// Collects the effects of an LP that started up or executed an event at `place`. Returns true if it
    /// failed.
    pub(crate) fn collect_at(
        &mut self,
        place: Place,
        lp: LpId,
        effects: &mut OtherEffects,
        metrics: &mut Metrics,
    ) -> bool {
        effects.any = false;
        if let Some(failure) = effects.failure.take() {
            effects.clear();
            self.failure.add(place, failure);
            return true;
        }
        effects.samples.drain(..).for_each(|sample| metrics.apply(lp, &sample));
        self.requests.append(&mut effects.requests);
        if !self.traces {
            effects.notes.clear();
        }
        false
    }

    /// Adds an executed event, with its notes, to the trace.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace<P: Packed<'k>>(&mut self, event: Event<P>, effects: &mut OtherEffects) {
        self.trace.push((any_event(event), std::mem::take(&mut effects.notes)));
    }
}
