//! Conditions.

use super::semaphore::{Acquire, Permit};
use super::{Object, Place};
use crate::desk::{Worker, now_or_later, with_parts};
use crate::table::Table;
use crate::wait::{Ticket, Wait, Waiter};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A point at which processes wait until another process notifies them.
#[derive(Debug)]
pub struct Condition(Place);

/// A wait for a notification.
#[derive(Debug)]
#[must_use = "a notification is waited for only where that is awaited"]
pub struct Notified<'a> {
    place: &'a Place,
    ticket: Ticket,
}

impl Condition {
    pub(crate) fn new() -> Condition {
        Condition(Place::of(Object::Condition { waiters: VecDeque::new(), notified: VecDeque::new() }))
    }

    /// Unlocks a mutex, waits for a notification, and locks the mutex again. Only a process that waits
    /// already is notified.
    pub async fn wait<'a>(&self, held: Permit<'a>) -> Permit<'a> {
        let Permit { place, count, mutex } = held;
        // The wait begins before the mutex is free, so that no notification is missed.
        let mut notified = Notified { place: &self.0, ticket: 0 };
        let mut held = Some(held);
        std::future::poll_fn(|context| {
            let poll = notified.poll_on(context);
            held = None;
            poll
        })
        .await;
        // The notification is used up only when the process has the mutex. If the wait is dropped before,
        // another process gets the notification.
        let held = Acquire { place, count, ticket: 0, mutex }.await;
        notified.finish();
        held
    }

    /// Waits for a notification, without a mutex.
    pub fn notified(&self) -> Notified<'_> {
        Notified { place: &self.0, ticket: 0 }
    }

    /// Notifies the process that has waited longest.
    #[track_caller]
    pub fn notify_one(&self) {
        with_parts(|worker, table| notify_one(worker, table, self.0.0));
    }

    /// Notifies all processes that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        with_parts(|worker, table| {
            for waiter in std::mem::take(Place::condition(table, self.0.0).0) {
                worker.wake(table, waiter);
            }
        });
    }
}

fn notify_one(worker: &mut Worker, table: &mut Table, place: u32) {
    let (waiters, notified) = Place::condition(table, place);
    let Some(waiter) = waiters.pop_front() else { return };
    notified.push_back(waiter.ticket);
    worker.wake(table, waiter);
}

/// Uses up the notification of a waiter. Returns whether it was notified by `notify_one`.
fn use_up(table: &mut Table, place: u32, ticket: Ticket) -> bool {
    let (_, notified) = Place::condition(table, place);
    // Most waiters continue in the order of their notifications.
    notified.iter().position(|&other| other == ticket).and_then(|index| notified.remove(index)).is_some()
}

impl Notified<'_> {
    /// Polls the wait.
    fn poll_on(&mut self, context: &Context<'_>) -> Poll<()> {
        let Notified { place: &Place(place), ticket } = *self;
        with_parts(|worker, table| {
            if ticket == 0 {
                self.ticket = table.ticket();
                let waker = Waiter::waker(context, worker.own_waker);
                let waiter = Waiter { place: worker.current, ticket: self.ticket, waker };
                Place::condition(table, place).0.push_back(waiter);
            } else {
                let mut waiters = Place::condition(table, place).0.iter_mut();
                let Some(waiter) = waiters.find(|waiter| waiter.ticket == ticket) else { return Poll::Ready(()) };
                waiter.follow(context, worker);
            }
            worker.waits(table, Wait::Condition(place));
            Poll::Pending
        })
    }

    /// Uses up the notification.
    fn finish(&mut self) {
        let (place, ticket) = (self.place.0, std::mem::take(&mut self.ticket));
        with_parts(|_, table| use_up(table, place, ticket));
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let poll = self.poll_on(context);
        if poll.is_ready() {
            self.finish();
        }
        poll
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Notified { place: &Place(place), ticket } = *self;
        if ticket == 0 {
            return;
        }
        now_or_later(move |worker, table| {
            let (waiters, _) = Place::condition(table, place);
            if let Some(index) = waiters.iter().position(|waiter| waiter.ticket == ticket) {
                waiters.remove(index);
            } else if use_up(table, place, ticket) {
                // The waiter was notified and will not continue, so another process is notified.
                notify_one(worker, table, place);
            }
        });
    }
}
