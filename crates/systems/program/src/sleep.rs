//! Waiting for a time.

use crate::desk::{Worker, now_or_later, with_parts};
use crate::table::Table;
use crate::wait::{Ticket, Wait, Waiter};
use parades_core::time::Time;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The clock of sleeps that are probably slept to their end.
pub(crate) const WAIT: usize = 0;
/// The clock of timeouts, which are probably dropped before.
pub(crate) const TIMEOUT: usize = 1;

/// Until when a process waits. Dropped before its time, it leaves nothing behind: no event, no trace.
#[derive(Debug)]
#[must_use = "a sleep passes time only where it is awaited"]
pub struct Sleep {
    due: Time,
    ticket: Ticket,
    clock: u8,
}

impl Sleep {
    /// `None` is past the end of time, which is an error once it is waited for.
    #[inline]
    pub(crate) fn until(due: Option<Time>, clock: usize) -> Sleep {
        #[expect(clippy::cast_possible_truncation, reason = "there are two")]
        let clock = clock as u8;
        Sleep { due: due.unwrap_or(Time::MAX), ticket: 0, clock }
    }

    /// When it is over.
    pub fn due(&self) -> Time {
        self.due
    }
}

impl Sleep {
    /// Whether it is over; else waits on.
    #[inline]
    pub(crate) fn poll_on(&mut self, worker: &mut Worker, table: &mut Table, context: &Context<'_>) -> Poll<()> {
        let Sleep { due, ticket, clock } = *self;
        let now = worker.now.time;
        // The first time even what is due now waits for its turn: others may be ready at this instant.
        if due < now || (due == now && ticket != 0) {
            return Poll::Ready(());
        }
        if ticket == 0 {
            if due == Time::MAX {
                let why = || format!("a process slept beyond the end of virtual time: it is {now} now");
                worker.failure.get_or_insert_with(why);
            }
            self.ticket = table.ticket();
            let waker = Waiter::waker(context, worker.own_waker);
            table.sleep(usize::from(clock), due, Waiter { place: worker.current, ticket: self.ticket, waker });
        } else if let Some(waiter) = table.sleeper(usize::from(clock), due, ticket) {
            waiter.follow(context, worker);
        }
        worker.waits(table, Wait::Time);
        Poll::Pending
    }

    /// Sets it anew, as if it had just been made.
    #[inline]
    pub(crate) fn restart(&mut self, due: Option<Time>, table: &mut Table) {
        let due = due.unwrap_or(Time::MAX);
        // Where it stays the only one, it keeps its place.
        if !(self.ticket != 0 && table.postpone(usize::from(self.clock), (self.due, self.ticket), due)) {
            self.stop(table);
        }
        self.due = due;
    }

    /// Ends the wait, if there is one.
    #[inline]
    pub(crate) fn stop(&mut self, table: &mut Table) {
        if self.ticket != 0 {
            table.wake_early(usize::from(self.clock), self.due, self.ticket);
            self.ticket = 0;
        }
    }
}

impl Future for Sleep {
    type Output = ();
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        with_parts(|worker, table| self.poll_on(worker, table, context))
    }
}

impl Drop for Sleep {
    #[inline]
    fn drop(&mut self) {
        let Sleep { due, ticket, clock } = *self;
        if ticket != 0 {
            now_or_later(move |_, table| table.wake_early(usize::from(clock), due, ticket));
        }
    }
}
