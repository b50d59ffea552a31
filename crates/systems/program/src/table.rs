//! What the executor keeps for a node: its processes, and what they wait for.
//!
//! Nothing here depends on what the node's messages are. What few nodes need lies behind one pointer ([`Rare`]), so that a node with one process
//! takes a few hundred bytes.

use crate::delivery::Deliveries;
use crate::desk::Worker;
use crate::sync::Object;
use crate::wait::{Place, Ticket, Wait, Waiter};
use parades_core::time::Time;
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::Context;

/// A process's code and what it remembers.
pub(crate) type Code = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How many timers of the kernel's a node uses: one for sleeps, which are over when their time has come, and one for timeouts, which seldom are. So the wake
/// of a timeout that is set anew again and again stays where it is.
pub(crate) const CLOCKS: u32 = 2;

/// One process.
pub(crate) struct Process {
    /// `None` while it is being polled, and when it is over.
    pub(crate) code: Option<Code>,
    pub(crate) name: &'static str,
    /// What it came to, until somebody takes it.
    pub(crate) outcome: Option<Result<Box<dyn Any + Send>, Killed>>,
    /// Which use of this place it is.
    pub(crate) serial: u32,
    pub(crate) state: State,
    /// Whether it is in the queue of those to be polled.
    pub(crate) queued: bool,
    /// Whether somebody may still ask for its outcome.
    pub(crate) held: bool,
    pub(crate) wait: Wait,
}

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its place may be used again.
    Free,
    Alive,
    /// It is being polled, and will be dropped when it returns.
    Doomed,
    Over,
}

/// The process was killed before it came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Killed;

impl std::fmt::Display for Killed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the process was killed before it came to its end")
    }
}
impl std::error::Error for Killed {}

/// The sleeps and timeouts of one clock.
#[derive(Debug)]
pub(crate) struct Clock {
    /// When the first is due; [`Time::MAX`] where there is none.
    pub(crate) due: Time,
    /// What the kernel's timer is set to.
    pub(crate) armed: Time,
    first: Waiter,
}

/// What few nodes have.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// Sleeps beyond the first of each clock.
    later: [BTreeMap<(Time, Ticket), Waiter>; CLOCKS as usize],
    /// Those who wait for a message, beyond the first.
    pub(crate) receivers: VecDeque<Receiver>,
    /// Who waits for the end of a process, by its place: at most one has its handle.
    joiners: BTreeMap<Place, Waiter>,
    /// Places of processes that may be used again, but for the first.
    free: Vec<Place>,
    /// Mutexes, semaphores, barriers, conditions.
    pub(crate) objects: Vec<Option<Object>>,
    /// Messages of its own whose arrival is waited for.
    pub(crate) deliveries: Deliveries,
    /// Those who wait for the node's host to fail, or to work again.
    pub(crate) host_waiters: Vec<Waiter>,
}

/// Who waits for a message; whether for some messages only.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) waiter: Waiter,
    pub(crate) picky: bool,
}

/// A node's processes and their waits.
pub(crate) struct Table {
    pub(crate) processes: Vec<Process>,
    pub(crate) clocks: [Clock; CLOCKS as usize],
    /// Who waits for a message first.
    pub(crate) receiver: Option<Receiver>,
    rare: Option<Box<Rare>>,
    last_ticket: Ticket,
    pub(crate) alive: u32,
    pub(crate) ended: u32,
    pub(crate) killed: u32,
    /// Whether messages reach it.
    pub(crate) online: bool,
    /// Whether its host works.
    pub(crate) works: bool,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("alive", &self.alive).finish_non_exhaustive()
    }
}

impl Default for Table {
    fn default() -> Table {
        let clock = || Clock { due: Time::MAX, armed: Time::MAX, first: Waiter { place: 0, ticket: 0, waker: None } };
        Table {
            processes: Vec::new(),
            clocks: [clock(), clock()],
            receiver: None,
            rare: None,
            last_ticket: 0,
            alive: 0,
            ended: 0,
            killed: 0,
            online: true,
            works: true,
        }
    }
}

impl Table {
    /// A name for a wait.
    #[inline]
    pub(crate) fn ticket(&mut self) -> Ticket {
        // A wait that lasts while 2^32 others begin would share its ticket; 0 is left out.
        self.last_ticket = self.last_ticket.wrapping_add(1).max(1);
        self.last_ticket
    }

    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Whether anybody waits for the arrival of the message of this name.
    pub(crate) fn awaits_delivery(&self, ticket: Ticket) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.deliveries.has(ticket))
    }

    pub(crate) fn rare_mut(&mut self) -> Option<&mut Rare> {
        self.rare.as_deref_mut()
    }

    /// Adds a process; its place and its serial number.
    pub(crate) fn add(&mut self, name: &'static str, code: Code, held: bool) -> (Place, u32) {
        self.alive += 1;
        let new = |serial| Process {
            code: Some(code),
            name,
            outcome: None,
            serial,
            state: State::Alive,
            queued: false,
            held,
            wait: Wait::Unknown,
        };
        let first = self.processes.first().is_some_and(|first| first.state == State::Free).then_some(0);
        let free = first.or_else(|| Some(self.rare.as_mut()?.free.pop()? as usize));
        let index = free.unwrap_or(self.processes.len());
        let serial = match free {
            Some(index) => {
                let serial = self.processes[index].serial.wrapping_add(1);
                self.processes[index] = new(serial);
                serial
            }
            None => {
                if self.processes.is_empty() {
                    self.processes.reserve_exact(1); // Most nodes have one.
                }
                self.processes.push(new(0));
                0
            }
        };
        (u32::try_from(index).expect("fewer processes than 2^32 at a node"), serial)
    }

    /// Gives back the place of a process that is over, and whose outcome nobody can ask for.
    pub(crate) fn free(&mut self, place: Place) {
        self.processes[place as usize].state = State::Free;
        // Most nodes have one process, and so no list.
        if place != 0 {
            self.rare().free.push(place);
        }
    }

    /// The process of this serial number, if it is still known.
    pub(crate) fn process(&mut self, place: Place, serial: u32) -> Option<&mut Process> {
        self.processes.get_mut(place as usize).filter(|process| process.serial == serial)
    }

    /// Adds a sleep.
    #[inline]
    pub(crate) fn sleep(&mut self, clock: usize, due: Time, waiter: Waiter) {
        let first = &mut self.clocks[clock];
        if first.due == Time::MAX {
            (first.due, first.first) = (due, waiter);
        } else {
            self.sleep_among_others(clock, due, waiter);
        }
    }

    #[inline(never)]
    fn sleep_among_others(&mut self, clock: usize, due: Time, mut waiter: Waiter) {
        let first = &mut self.clocks[clock];
        let mut due = due;
        if due < first.due {
            std::mem::swap(&mut first.due, &mut due);
            std::mem::swap(&mut first.first, &mut waiter);
        }
        self.rare().later[clock].insert((due, waiter.ticket), waiter);
    }

    /// Who sleeps so long under this ticket.
    #[inline]
    pub(crate) fn sleeper(&mut self, clock: usize, due: Time, ticket: Ticket) -> Option<&mut Waiter> {
        let first = &mut self.clocks[clock];
        if first.due == due && first.first.ticket == ticket {
            return Some(&mut first.first);
        }
        self.rare.as_mut()?.later[clock].get_mut(&(due, ticket))
    }

    /// Takes a sleep away, if it is still there.
    #[inline]
    pub(crate) fn wake_early(&mut self, clock: usize, due: Time, ticket: Ticket) {
        let first = &self.clocks[clock];
        if first.due == due && first.first.ticket == ticket {
            self.pop_sleep(clock);
        } else if let Some(rare) = &mut self.rare {
            rare.later[clock].remove(&(due, ticket));
        }
    }

    /// Has the one that sleeps so long under this ticket sleep until `due`, if that is later and it is the clock's only one.
    #[inline]
    pub(crate) fn postpone(&mut self, clock: usize, (before, ticket): (Time, Ticket), due: Time) -> bool {
        let is_only = self.rare.as_ref().is_none_or(|rare| rare.later[clock].is_empty());
        let first = &mut self.clocks[clock];
        let can = is_only && first.due == before && first.first.ticket == ticket && before < due && due < Time::MAX;
        if can {
            first.due = due;
        }
        can
    }

    /// Takes the sleep that is due first.
    #[inline]
    fn pop_sleep(&mut self, clock: usize) -> Waiter {
        let next = self.rare.as_mut().and_then(|rare| rare.later[clock].pop_first());
        let first = &mut self.clocks[clock];
        let (due, waiter) = match next {
            Some(((due, _), waiter)) => (due, waiter),
            None => (Time::MAX, Waiter { place: 0, ticket: 0, waker: None }),
        };
        first.due = due;
        std::mem::replace(&mut first.first, waiter)
    }

    /// Takes a sleep that is due by now.
    #[inline]
    pub(crate) fn pop_due(&mut self, clock: usize, now: Time) -> Option<Waiter> {
        // Nothing is ever due at the end of time.
        (self.clocks[clock].due <= now && now < Time::MAX).then(|| self.pop_sleep(clock))
    }

    /// Begins a wait for a message, or goes on with that of the ticket.
    #[inline]
    pub(crate) fn wait_for_message(
        &mut self,
        ticket: &mut Ticket,
        context: &Context<'_>,
        worker: &Worker,
        picky: bool,
    ) {
        if *ticket != 0
            && let Some(receiver) = self.receiver_of(*ticket)
        {
            return receiver.waiter.follow(context, worker);
        }
        *ticket = self.ticket();
        let waker = Waiter::waker(context, worker.own_waker);
        self.receive(Receiver { waiter: Waiter { place: worker.current, ticket: *ticket, waker }, picky });
    }

    /// Adds one who waits for a message.
    #[inline]
    pub(crate) fn receive(&mut self, receiver: Receiver) {
        match self.receiver {
            None => self.receiver = Some(receiver),
            Some(_) => self.rare().receivers.push_back(receiver),
        }
    }

    /// Who waits for a message under this ticket, if it still waits.
    #[inline]
    fn receiver_of(&mut self, ticket: Ticket) -> Option<&mut Receiver> {
        let others = self.rare.iter_mut().flat_map(|rare| &mut rare.receivers);
        self.receiver.iter_mut().chain(others).find(|receiver| receiver.waiter.ticket == ticket)
    }

    /// Whether it still waits for a message.
    #[inline]
    pub(crate) fn is_receiving(&mut self, ticket: Ticket) -> bool {
        self.receiver_of(ticket).is_some()
    }

    /// Takes one who waits for a message away, if it still waits.
    #[inline]
    pub(crate) fn stop_receiving(&mut self, ticket: Ticket) {
        if self.receiver.as_ref().is_some_and(|first| first.waiter.ticket == ticket) {
            self.pop_receiver();
        } else if let Some(rare) = &mut self.rare {
            rare.receivers.retain(|receiver| receiver.waiter.ticket != ticket);
        }
    }

    /// Takes the first who waits for a message.
    #[inline]
    pub(crate) fn pop_receiver(&mut self) -> Option<Receiver> {
        let next = self.rare.as_mut().and_then(|rare| rare.receivers.pop_front());
        std::mem::replace(&mut self.receiver, next)
    }

    /// Who waits for the end of the process at `of`.
    pub(crate) fn joiner(&mut self, of: Place) -> Option<&mut Waiter> {
        self.rare.as_mut()?.joiners.get_mut(&of)
    }

    /// Adds the one who waits for the end of a process.
    pub(crate) fn join(&mut self, of: Place, waiter: Waiter) {
        self.rare().joiners.insert(of, waiter);
    }

    /// Takes the one away who waits for the end of the process at `of`.
    #[inline]
    pub(crate) fn take_joiner(&mut self, of: Place) -> Option<Waiter> {
        self.rare.as_mut()?.joiners.remove(&of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(ticket: Ticket) -> Waiter {
        Waiter { place: 0, ticket, waker: None }
    }

    #[test]
    fn sleeps_are_due_in_the_order_of_time_then_of_setting() {
        let mut table = Table::default();
        for (ticket, due) in [(1, 30), (2, 10), (3, 20), (4, 10), (5, 40)] {
            table.sleep(0, Time::from_ps(due), waiter(ticket));
        }
        table.wake_early(0, Time::from_ps(20), 3);
        let due: Vec<Ticket> =
            std::iter::from_fn(|| table.pop_due(0, Time::from_ps(30))).map(|waiter| waiter.ticket).collect();
        assert_eq!(due, [2, 4, 1]);
        assert_eq!(table.clocks[0].due, Time::from_ps(40));
        table.wake_early(0, Time::from_ps(40), 5);
        assert_eq!(table.clocks[0].due, Time::MAX);
    }

    #[test]
    fn receivers_come_in_the_order_in_which_they_began_to_wait() {
        let mut table = Table::default();
        for ticket in 1..=4 {
            table.receive(Receiver { waiter: waiter(ticket), picky: false });
        }
        table.stop_receiving(1);
        table.stop_receiving(3);
        let order: Vec<Ticket> =
            std::iter::from_fn(|| table.pop_receiver()).map(|receiver| receiver.waiter.ticket).collect();
        assert_eq!(order, [2, 4]);
    }

    #[test]
    fn a_node_takes_a_few_hundred_bytes() {
        assert!(size_of::<Table>() <= 224, "{}", size_of::<Table>());
        assert!(size_of::<Process>() <= 80, "{}", size_of::<Process>());
    }
}
