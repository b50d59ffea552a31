//! What a worker's executions leave to the leader, beside their sends.

use parades_core::effects::{Effects, Request};
use parades_core::error::{ErrorKind, Place};
use parades_core::event::{Event, EventKey, LpId};
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::time::Time;
use parades_core::trace::Note;

/// Executions for the trace, with their notes.
pub(crate) type Trace<P> = Vec<(Event<P>, Vec<Note>)>;

/// The least of the failures that are known.
#[derive(Debug, Default)]
pub(crate) struct Least(Option<(Place, ErrorKind)>);

impl Least {
    /// Takes note of a failure.
    pub(crate) fn note(&mut self, place: Place, kind: ErrorKind) {
        if self.place().is_none_or(|least| place < *least) {
            self.0 = Some((place, kind));
        }
    }

    /// Takes over what another knows.
    pub(crate) fn merge(&mut self, other: Least) {
        if let Some((place, kind)) = other.0 {
            self.note(place, kind);
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.0.as_ref().map(|(place, _)| place)
    }

    /// When it is.
    pub(crate) fn time(&self) -> Time {
        self.place().map_or(Time::MAX, |place| place.instant.time)
    }

    pub(crate) fn take(&mut self) -> Option<(Place, ErrorKind)> {
        self.0.take()
    }
}

/// What a worker's executions left behind besides their sends, until all rest.
pub(crate) struct Ledger<M: Model> {
    /// Whether executions are to be traced.
    pub(crate) traces: bool,
    pub(crate) trace: Trace<M::Message>,
    pub(crate) requests: Vec<Request<M::Global>>,
    pub(crate) failure: Least,
}

impl<M: Model> Ledger<M> {
    pub(crate) fn new(traces: bool) -> Ledger<M> {
        Ledger { traces, trace: Vec::new(), requests: Vec::new(), failure: Least::default() }
    }

    /// What there is, to be handed over; from here on, nothing.
    pub(crate) fn leave(&mut self) -> Ledger<M> {
        std::mem::replace(self, Ledger::new(self.traces))
    }

    /// Takes up metrics, requests and failures of an execution; whether it failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle(
        &mut self,
        (key, lp): (EventKey, LpId),
        effects: &mut Effects<M>,
        metrics: &mut Metrics,
    ) -> bool {
        self.settle_at(Place { instant: key.instant, lp: Some(lp), event: Some(key) }, lp, effects, metrics)
    }

    /// Takes up what was done at a place, by an LP that starts up or executes an event.
    pub(crate) fn settle_at(
        &mut self,
        place: Place,
        lp: LpId,
        effects: &mut Effects<M>,
        metrics: &mut Metrics,
    ) -> bool {
        effects.beyond_sends = false;
        if let Some(kind) = effects.failure.take() {
            effects.clear_beyond_sends();
            self.failure.note(place, kind);
            return true;
        }
        effects.samples.drain(..).for_each(|sample| metrics.apply(lp, &sample));
        self.requests.append(&mut effects.requests);
        if !self.traces {
            effects.notes.clear();
        }
        false
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn trace(&mut self, event: Event<M::Message>, effects: &mut Effects<M>) {
        self.trace.push((event, std::mem::take(&mut effects.notes)));
    }
}
