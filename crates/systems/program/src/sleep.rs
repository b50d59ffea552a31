//! Waiting for a time.

use crate::desk::{Worker, now_or_later, with_parts};
use crate::table::Table;
use crate::wait::{Ticket, Wait, Waiter};
use parades_core::time::Time;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The clock of sleeps that probably last until their time.
pub(crate) const WAIT: usize = 0;
/// The clock of timeouts, which are probably dropped before their time.
pub(crate) const TIMEOUT: usize = 1;

/// A wait until a time. If it is dropped before its time, it leaves nothing behind: no event, no trace.
#[derive(Debug)]
#[must_use = "a sleep passes time only where it is awaited"]
pub struct Sleep {
    due: Time,
    ticket: Ticket,
    clock: u8,
}

impl Sleep {
    /// Makes a sleep until `due`. `None` is past the end of time, which is an error once a process waits for
    /// it.
    #[inline]
    pub(crate) fn until(due: Option<Time>, clock: usize) -> Sleep {
        #[expect(clippy::cast_possible_truncation, reason = "there are two")]
        let clock = clock as u8;
        Sleep { due: due.unwrap_or(Time::MAX), ticket: 0, clock }
    }

    /// Returns the time at which the sleep ends.
    pub fn due(&self) -> Time {
        self.due
    }
}

impl Sleep {
    /// Polls the sleep, given the parts of the desk.
    #[inline]
    pub(crate) fn poll_on(&mut self, worker: &mut Worker, table: &mut Table, context: &Context<'_>) -> Poll<()> {
        let Sleep { due, ticket, clock } = *self;
        let now = worker.now.time;
        // A sleep that ends now waits once nevertheless, since other processes may be ready at this instant.
        // Under a tie seed it waits for its own event, which may come after others of this time.
        let mut is_over = || !worker.shuffles_ties || table.sleeper(usize::from(clock), due, ticket).is_none();
        if due < now || (due == now && ticket != 0 && is_over()) {
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

    /// Sets the sleep to another time, as if it had just been made.
    #[inline]
    pub(crate) fn restart(&mut self, due: Option<Time>, table: &mut Table) {
        let due = due.unwrap_or(Time::MAX);
        // If it is the clock's only sleep it keeps its place.
        if !(self.ticket != 0 && table.postpone(usize::from(self.clock), self.due, self.ticket, due)) {
            self.stop(table);
        }
        self.due = due;
    }

    /// Ends the wait, if it has begun.
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
