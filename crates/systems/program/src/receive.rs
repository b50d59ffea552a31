//! Waiting for a message.

use crate::context::inner;
use crate::desk::{Desk, Worker, now_or_later, with_desk};
use crate::model::offer;
use crate::program::{Program, Received};
use crate::sleep::Sleep;
use crate::table::Table;
use crate::wait::{Ticket, Wait};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A test that picks messages.
pub(crate) type Test<M> = dyn Fn(&Received<M>) -> bool + Send;

/// The messages that a process waits for.
pub(crate) enum Pick<M> {
    Any,
    Some(Box<Test<M>>),
}

/// A wait for a message.
#[must_use = "a message is received only where it is awaited"]
pub struct Receive<P: Program> {
    pick: Pick<P::Message>,
    ticket: Ticket,
}

impl<P: Program> fmt::Debug for Receive<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receive").field("waits", &(self.ticket != 0)).finish_non_exhaustive()
    }
}

impl<P: Program> Receive<P> {
    #[inline]
    pub(crate) fn new(pick: Pick<P::Message>) -> Receive<P> {
        Receive { pick, ticket: 0 }
    }

    /// Polls the wait, given the desk with the node.
    #[inline]
    fn poll_on(&mut self, desk: &mut Desk<P>, context: &Context<'_>) -> Poll<Received<P::Message>> {
        let Receive { pick, ticket } = self;
        {
            let node = inner(desk.node.as_deref_mut());
            let message = match pick {
                Pick::Any => node.inbox.pop(),
                Pick::Some(picks) => node.inbox.pop_where(&**picks),
            };
            if let Some(message) = message {
                if *ticket != 0 {
                    node.table.stop_receiving(*ticket);
                    *ticket = 0;
                }
                return Poll::Ready(message);
            }
            desk.worker.waits(&mut node.table, Wait::Message);
            node.table.wait_for_message(ticket, context, &desk.worker, matches!(pick, Pick::Some(_)));
            Poll::Pending
        }
    }
}

impl<P: Program> Future for Receive<P> {
    type Output = Received<P::Message>;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Received<P::Message>> {
        with_desk::<P, _>(|desk| self.poll_on(desk, context))
    }
}

impl<P: Program> Drop for Receive<P> {
    #[inline]
    fn drop(&mut self) {
        give_up(self.ticket);
    }
}

/// Ends a wait for a message, when the wait is dropped. Does nothing if the wait has not begun.
#[inline]
pub(crate) fn give_up(ticket: Ticket) {
    if ticket == 0 {
        return;
    }
    // The process may have been woken for a message that it will not take.
    now_or_later(move |worker, table| end(ticket, worker, table, true));
}

/// Ends a wait for a message. If its process was woken for a message and a message is left in the inbox,
/// another process is woken. Does nothing if the wait has not begun.
#[inline]
pub(crate) fn end(ticket: Ticket, worker: &mut Worker, table: &mut Table, is_left: bool) {
    if ticket == 0 {
        return;
    }
    if table.is_receiving(ticket) {
        table.stop_receiving(ticket);
    } else if is_left {
        offer(worker, table);
    }
}

/// A wait for a message until a timer is over.
#[derive(Debug)]
#[must_use = "a message is received only where it is awaited"]
pub struct ReceiveBefore<'a, P: Program> {
    pub(crate) receive: Receive<P>,
    pub(crate) timer: &'a mut Sleep,
}

impl<P: Program> Future for ReceiveBefore<'_, P> {
    type Output = Option<Received<P::Message>>;
    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Received<P::Message>>> {
        let ReceiveBefore { receive, timer } = self.get_mut();
        with_desk::<P, _>(|desk| {
            if let Poll::Ready(message) = receive.poll_on(desk, context) {
                return Poll::Ready(Some(message));
            }
            let table = &mut inner(desk.node.as_deref_mut()).table;
            let over = timer.poll_on(&mut desk.worker, table, context).map(|()| None);
            desk.worker.waits(table, Wait::Message);
            over
        })
    }
}
