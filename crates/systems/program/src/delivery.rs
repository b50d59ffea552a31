//! Waiting for a carrier's reports: that a message has arrived or failed, that the node's host fails or works
//! again.

use crate::carrier::Undelivered;
use crate::desk::{Worker, now_or_later, with_parts};
use crate::sleep::Sleep;
use crate::table::Table;
use crate::wait::{Ticket, Wait, Waiter};
use std::pin::Pin;
use std::task::Poll;

/// Wakes the process that waits for the report on a message.
pub(crate) fn settle(worker: &mut Worker, table: &mut Table, ticket: Ticket, outcome: Result<(), Undelivered>) {
    if let Some(waiter) = table.rare().deliveries.come(ticket, outcome) {
        worker.wake(table, waiter);
    }
}

/// A message on its way. Await it to wait until the message has arrived, or has failed. The message travels
/// even if nobody awaits it.
#[derive(Debug)]
pub struct Delivery(Kind);

#[derive(Debug)]
enum Kind {
    /// The arrival is known from the start.
    At(Sleep),
    /// The carrier reports the arrival.
    Reported(Report),
}

/// A report that is awaited. It leaves the node's list when it is dropped.
#[derive(Debug)]
struct Report {
    /// 0 once the report has been received.
    ticket: Ticket,
}

impl Delivery {
    /// The delivery of a message that arrives when `sleep` is over.
    #[inline]
    pub(crate) fn at(sleep: Sleep) -> Delivery {
        Delivery(Kind::At(sleep))
    }

    /// The delivery of a message that the carrier reports under this ticket.
    pub(crate) fn reported(ticket: Ticket, table: &mut Table) -> Delivery {
        table.rare().deliveries.add(ticket);
        Delivery(Kind::Reported(Report { ticket }))
    }
}

impl Future for Delivery {
    type Output = Result<(), Undelivered>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Result<(), Undelivered>> {
        match &mut self.0 {
            Kind::At(sleep) => Pin::new(sleep).poll(context).map(Ok),
            Kind::Reported(report) => report.poll(context),
        }
    }
}

impl Report {
    fn poll(&mut self, context: &mut std::task::Context<'_>) -> Poll<Result<(), Undelivered>> {
        let ticket = self.ticket;
        let polled = with_parts(|worker, table| {
            worker.waits(table, Wait::Delivery);
            table.rare().deliveries.poll(ticket, context, worker).map_or(Poll::Pending, Poll::Ready)
        });
        if polled.is_ready() {
            self.ticket = 0;
        }
        polled
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        let ticket = self.ticket;
        if ticket != 0 {
            now_or_later(move |_, table| table.rare().deliveries.remove(ticket));
        }
    }
}

/// A wait until the node's host works, or until it fails.
#[derive(Debug)]
#[must_use = "it is waited for only where it is awaited"]
pub struct HostIs {
    works: bool,
    ticket: Ticket,
}

impl HostIs {
    pub(crate) fn new(works: bool) -> HostIs {
        HostIs { works, ticket: 0 }
    }
}

/// Wakes the processes that wait for the host of the node on the desk to fail, or to work again.
pub(crate) fn host_changed(worker: &mut Worker, table: &mut Table, works: bool) {
    table.works = works;
    let Some(rare) = table.rare_mut() else { return };
    for waiter in std::mem::take(&mut rare.host_waiters) {
        worker.wake(table, waiter);
    }
}

impl Future for HostIs {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<()> {
        let HostIs { works, ticket: old } = *self;
        let ticket = with_parts(|worker, table| {
            let ticket = (table.works != works).then(|| table.ticket());
            if old != 0
                && let Some(rare) = table.rare_mut()
            {
                rare.host_waiters.retain(|waiter| waiter.ticket != old);
            }
            let ticket = ticket?;
            worker.waits(table, Wait::Host);
            let waker = Waiter::waker(context, worker.own_waker);
            table.rare().host_waiters.push(Waiter { place: worker.current, ticket, waker });
            Some(ticket)
        });
        self.ticket = ticket.unwrap_or(0);
        if ticket.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for HostIs {
    fn drop(&mut self) {
        let ticket = self.ticket;
        if ticket != 0 {
            now_or_later(move |_, table| {
                if let Some(rare) = table.rare_mut() {
                    rare.host_waiters.retain(|waiter| waiter.ticket != ticket);
                }
            });
        }
    }
}
