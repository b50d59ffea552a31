//! What a worker has to itself.

use crate::transport::Transport;
use parades_core::effects::{Effects, Request};
use parades_core::error::{ErrorKind, Place};
use parades_core::event::{Event, LpId};
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::outbox::Outbox;
use parades_core::placement::Placement;
use parades_core::time::Time;

/// A worker's own.
pub(crate) struct Hand<M: Model> {
    pub(crate) worker: usize,
    pub(crate) placement: Placement,
    pub(crate) effects: Effects<M>,
    /// Events executed.
    pub(crate) events: u64,
    pub(crate) ledger: Ledger<M>,
}

impl<M: Model> Hand<M> {
    pub(crate) fn new(worker: usize, placement: Placement, traces: bool) -> Hand<M> {
        let effects = Effects::with(Outbox::sorting(placement.clone()));
        Hand { worker, placement, effects, events: 0, ledger: Ledger::new(traces) }
    }

    /// Goes on with LPs that live elsewhere now.
    pub(crate) fn rehome(&mut self, placement: &Placement) {
        self.placement = placement.clone();
        self.effects.outbox = Outbox::sorting(placement.clone());
    }

    /// Hands over what was sent to other partitions, and says when the first of it is due.
    pub(crate) fn flush(&mut self, transport: &impl Transport<M::Message>) -> Time {
        let mut next = Time::MAX;
        for (partition, parcel) in (0..).zip(&mut self.effects.outbox.parcels) {
            if !parcel.is_empty() {
                next = parcel.iter().map(Event::time).fold(next, Time::min);
                transport.send(self.worker, partition, parcel);
            }
        }
        next
    }
}

/// What a worker's executions left behind besides their sends, until all rest.
pub(crate) struct Ledger<M: Model> {
    /// Whether executions are to be traced.
    pub(crate) traces: bool,
    pub(crate) trace: Vec<(Event<M::Message>, Vec<String>)>,
    pub(crate) requests: Vec<Request<M::Global>>,
    /// The least failure.
    pub(crate) failure: Option<(Place, ErrorKind)>,
}

impl<M: Model> Ledger<M> {
    pub(crate) fn new(traces: bool) -> Ledger<M> {
        Ledger { traces, trace: Vec::new(), requests: Vec::new(), failure: None }
    }

    /// Takes up metrics, requests and failures of an execution; whether it failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle(
        &mut self,
        event: &Event<M::Message>,
        effects: &mut Effects<M>,
        metrics: &mut Metrics,
    ) -> bool {
        let place = Place { instant: event.instant(), lp: Some(event.receiver), event: Some(event.key()) };
        self.settle_at(place, event.receiver, effects, metrics)
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
            self.fail(place, kind);
            return true;
        }
        effects.samples.drain(..).for_each(|sample| metrics.apply(lp, &sample));
        self.requests.append(&mut effects.requests);
        if !self.traces {
            effects.notes.clear();
        }
        false
    }

    /// Keeps a failure unless a lesser one is known.
    pub(crate) fn fail(&mut self, place: Place, kind: ErrorKind) {
        if self.failure.as_ref().is_none_or(|(least, _)| place < *least) {
            self.failure = Some((place, kind));
        }
    }

    /// When the least failure was.
    pub(crate) fn failed_at(&self) -> Time {
        self.failure.as_ref().map_or(Time::MAX, |(place, _)| place.instant.time)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn trace(&mut self, event: Event<M::Message>, effects: &mut Effects<M>) {
        self.trace.push((event, std::mem::take(&mut effects.notes)));
    }
}
