//! The transport of `time-warp`: its tagged events and anti-messages as parcels.

use super::{HeldBack, Parcel};
use parades_core::any_model::{Packed, any_event, event_of, in_form};
use parades_core::event::{Body, Event};
use parades_core::optimistic::{ExecutionId, Tagged, TaggedEvent, tag};
use parades_sync::barrier::Broken;
use parades_transport::{Meeting, Optimistic, Parcel as List, ParcelRef, Summary, Transport};

/// [`HeldBack`] for an engine that rolls back.
#[derive(Debug)]
pub struct Speculative<'k>(pub HeldBack<'k>);

fn pack<'k, P: Packed<'k>>(event: TaggedEvent<P>) -> Parcel<'k> {
    let (key, receiver) = (event.key(), event.receiver());
    let Body::Message(tagged) = event.body else { unreachable!("wakes travel as messages") };
    let execution = tagged.execution().into();
    match tagged.into_body() {
        Some(body) => Parcel::Event(any_event(Event::new(key, receiver, body)), execution),
        None => Parcel::Anti(receiver, key, execution),
    }
}

fn unpack<'k, P: Packed<'k>>(parcel: Parcel<'k>) -> TaggedEvent<P> {
    let (receiver, key, execution) = parcel.address();
    let execution = ExecutionId::try_from(execution).expect("the sender's execution id had this type");
    match parcel {
        Parcel::Event(event, _) => tag(execution, event_of(event)),
        Parcel::Anti(..) => Event::new(key, receiver, Body::Message(Tagged::Anti(execution))),
    }
}

/// Removes and returns the events and anti-messages of a list.
fn pack_all<'k, P: Packed<'k>>(list: ParcelRef<'_, 'k, Optimistic>) -> Vec<Parcel<'k>> {
    list.show::<P>().drain(..).map(pack).collect()
}

/// Returns a list of events and anti-messages.
fn unpack_all<'k, P: Packed<'k>>(parcels: Vec<Parcel<'k>>) -> List<'k, Optimistic> {
    List::new::<P>(parcels.into_iter().map(unpack).collect())
}

impl<'k> Transport<'k, Optimistic> for Speculative<'k> {
    fn send(&self, worker: usize, partition: u32, events: ParcelRef<'_, 'k, Optimistic>) {
        let parcels = in_form!(events.form(), pack_all(events));
        self.0.send_parcels(worker, partition, parcels.into_iter());
    }
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(ParcelRef<'_, 'k, Optimistic>)) {
        let parcels = self.0.receive_parcels(worker, partition, all);
        accept(in_form!(self.0.form(), unpack_all(parcels)).hide());
    }
}

impl Meeting for Speculative<'_> {
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.0.exchange(worker, mine)
    }
    fn offer(&self, worker: usize, mine: &Summary) {
        self.0.offer(worker, mine);
    }
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.0.outcome(worker)
    }
    fn news(&self, worker: usize) -> u64 {
        self.0.news(worker)
    }
    fn notify(&self, worker: usize) {
        self.0.notify(worker);
    }
    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        self.0.wait(worker, seen)
    }
    fn break_up(&self) {
        self.0.break_up();
    }
}
