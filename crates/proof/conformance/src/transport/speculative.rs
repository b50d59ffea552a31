//! The transport of `time-warp`: its tagged events and anti-messages as parcels.

use super::{HeldBack, Parcel};
use parades_core::any_model::{Packed, Taggable};
use parades_core::event::{Body, Event};
use parades_core::time::Time;
use parades_engine::time_warp::{ExecutionId, Tagged};
use parades_sync::barrier::Broken;
use parades_transport::{Arrived, ClockId, Clocks, Summary, Transport};
use std::sync::Arc;

/// [`HeldBack`] for an engine that rolls back.
#[derive(Debug)]
pub struct Speculative<'k, P>(pub HeldBack<'k, P>);

fn pack<P: Taggable>(event: Event<Tagged<P>>) -> Parcel<P> {
    let (key, receiver) = (event.key(), event.receiver());
    let Body::Message(tagged) = event.body else { unreachable!("wakes travel as messages") };
    let execution = tagged.execution().into();
    match tagged.into_body() {
        Some(body) => Parcel::Event(Event::new(key, receiver, body), execution),
        None => Parcel::Anti(receiver, key, execution),
    }
}

fn unpack<P: Taggable>(parcel: Parcel<P>) -> Event<Tagged<P>> {
    let (receiver, key, execution) = parcel.address();
    let execution = ExecutionId::try_from(execution).expect("the sender's execution id had this type");
    let tagged = match parcel {
        Parcel::Event(event, _) => Tagged::new(execution, event.body),
        Parcel::Anti(..) => Tagged::Anti(execution),
    };
    Event::new(key, receiver, Body::Message(tagged))
}

impl<'k, P: Packed<'k>> Transport<Tagged<P>> for Speculative<'k, P> {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<Tagged<P>>>) {
        self.0.send_parcels(worker, partition, events.drain(..).map(pack));
    }
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Arrived<'_, Tagged<P>>)) {
        let mut events = self.0.receive_parcels(worker, partition, all).into_iter().map(unpack).collect();
        accept(Arrived::of(&mut events));
    }
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.0.exchange(worker, mine)
    }
    fn offer(&self, worker: usize, mine: &Summary) {
        self.0.offer(worker, mine);
    }
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.0.outcome(worker)
    }
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        self.0.promise(worker, clocks, clock, time);
    }
    fn horizon(&self) -> Time {
        self.0.horizon()
    }
    fn set_horizon(&self, time: Time) {
        self.0.set_horizon(time);
    }
    fn lower_horizon(&self, worker: usize, time: Time) {
        self.0.lower_horizon(worker, time);
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
