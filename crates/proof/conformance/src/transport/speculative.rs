//! What `time-warp` sends, as parcels: its events and anti-messages are marked, those of the test engines have incarnations.

use super::{HeldBack, Parcel};
use parades_core::event::{Body, Event};
use parades_core::time::Time;
use parades_engine::time_warp::{ExecutionId, Tagged};
use parades_sync::barrier::Broken;
use parades_transport::{Arrived, ClockId, Clocks, Summary, Transport};
use std::sync::Arc;

/// [`HeldBack`] for an engine that takes things back.
#[derive(Debug)]
pub struct Speculative<P>(pub HeldBack<P>);

fn pack<P>(event: Event<Tagged<P>>) -> Parcel<P> {
    let (key, receiver) = (event.key(), event.receiver);
    let Body::Message(marked) = event.body else { unreachable!("wakes travel as messages") };
    let mark = marked.execution();
    match marked.into_body() {
        Some(body) => Parcel::Event(Event::new(key, receiver, body), mark.into()),
        None => Parcel::Anti(receiver, key, mark.into()),
    }
}

fn unpack<P>(parcel: Parcel<P>) -> Event<Tagged<P>> {
    let (receiver, key, incarnation) = parcel.address();
    let mark = ExecutionId::try_from(incarnation).expect("it was made of one");
    let marked = match parcel {
        Parcel::Event(event, _) => Tagged::new(mark, event.body),
        Parcel::Anti(..) => Tagged::Anti(mark),
    };
    Event::new(key, receiver, Body::Message(marked))
}

impl<P: 'static + Send> Transport<Tagged<P>> for Speculative<P> {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<Tagged<P>>>) {
        self.0.take_parcels(worker, partition, events.drain(..).map(pack));
    }
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Arrived<'_, Tagged<P>>)) {
        let mut events = self.0.give_parcels(worker, partition, all).into_iter().map(unpack).collect();
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
