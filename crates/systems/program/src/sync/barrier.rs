//! Barriers.

use super::{Object, Place};
use crate::desk::{now_or_later, with_parts};
use crate::wait::{Ticket, Wait, Waiter};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A point at which a number of processes wait for each other.
#[derive(Debug)]
pub struct Barrier(Place);

/// A wait at a barrier.
#[derive(Debug)]
#[must_use = "a barrier is passed only where that is awaited"]
pub struct Pass<'a> {
    place: &'a Place,
    ticket: Ticket,
}

impl Barrier {
    pub(crate) fn new(parties: u32) -> Barrier {
        Barrier(Place::of(Object::Barrier { parties, waiters: Vec::new() }))
    }

    /// Waits until all parties of the barrier wait. Returns true in the process that came last. The barrier
    /// can be used again at once.
    pub fn wait(&self) -> Pass<'_> {
        Pass { place: &self.0, ticket: 0 }
    }
}

impl Future for Pass<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let Pass { place, ticket: mine } = *self;
        let (ticket, poll) = with_parts(|worker, table| {
            let (parties, waiters) = Place::barrier(table, place.0);
            if mine != 0 {
                let Some(waiter) = waiters.iter_mut().find(|waiter| waiter.ticket == mine) else {
                    return (0, Poll::Ready(false));
                };
                waiter.follow(context, worker);
                worker.waits(table, Wait::Barrier(place.0));
                return (mine, Poll::Pending);
            }
            if waiters.len() + 1 >= parties as usize {
                for waiter in std::mem::take(waiters) {
                    worker.wake(table, waiter);
                }
                return (0, Poll::Ready(true));
            }
            let ticket = table.ticket();
            let waker = Waiter::waker(context, worker.own_waker);
            Place::barrier(table, place.0).1.push(Waiter { place: worker.current, ticket, waker });
            worker.waits(table, Wait::Barrier(place.0));
            (ticket, Poll::Pending)
        });
        self.ticket = ticket;
        poll
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let Pass { place: &Place(place), ticket } = *self;
        if ticket != 0 {
            now_or_later(move |_, table| Place::barrier(table, place).1.retain(|waiter| waiter.ticket != ticket));
        }
    }
}
