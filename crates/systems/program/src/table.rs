//! The processes of a node, and their waits.
//!
//! Nothing here depends on the type of the node's messages. Parts that few nodes need lie behind one pointer
//! ([`Rare`]), so that a node with one process takes a few hundred bytes.

use crate::answers::Answers;
use crate::carrier::{Receipt, Undelivered};
use crate::desk::Worker;
use crate::life::{AtExit, Pause};
use crate::sync::Object;
use crate::wait::{Place, Ticket, Wait, Waiter};
use parades_core::event::LpId;
use parades_core::time::Time;
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::Context;

/// A process's code with its local state.
pub(crate) type Code = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The number of the kernel's timers that a node uses, one for each clock. Most sleeps last until their time;
/// most timeouts are dropped before. A clock of their own keeps the pending wake of timeouts in place while
/// they are set again and again.
pub(crate) const CLOCKS: u32 = 2;

/// One process.
pub(crate) struct Process {
    /// `None` while the process is being polled, and when it is over.
    pub(crate) code: Option<Code>,
    pub(crate) name: &'static str,
    /// The result, until somebody takes it.
    pub(crate) outcome: Option<Result<Box<dyn Any + Send>, Killed>>,
    /// The number of processes that have been at this place.
    pub(crate) serial: u32,
    pub(crate) state: State,
    /// True if the process is in the queue of ready processes.
    pub(crate) queued: bool,
    /// True if a handle of the process exists, so that its result may be asked for.
    pub(crate) held: bool,
    /// True if the process may wait forever, as it only serves the others.
    pub(crate) is_daemon: bool,
    pub(crate) pause: Pause,
    pub(crate) wait: Wait,
}

/// The state of a process or of its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The place may be used again.
    Free,
    /// The process has not begun. It does not end with its host.
    Late,
    Alive,
    /// The process was killed while it is being polled. It is dropped when the poll returns.
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
    /// The time at which the first sleep is due; [`Time::MAX`] without a sleep.
    pub(crate) due: Time,
    /// The time that the kernel's timer is set to; [`Time::MAX`] if it is not set.
    pub(crate) armed: Time,
    first: Waiter,
}

/// Parts that few nodes need.
#[derive(Default)]
pub(crate) struct Rare {
    /// Sleeps beyond the first of each clock.
    later: [BTreeMap<(Time, Ticket), Waiter>; CLOCKS as usize],
    /// The waits for a message, except the first.
    pub(crate) receivers: VecDeque<Receiver>,
    /// The waits for the end of a process, by the place of that process. Each process has at most one, since
    /// its handle exists once.
    joiners: BTreeMap<Place, Waiter>,
    /// Places that may be used again, except the first place.
    free: Vec<Place>,
    /// Mutexes, semaphores, barriers, conditions.
    pub(crate) objects: Vec<Option<Object>>,
    /// The reports on messages.
    pub(crate) deliveries: Answers<Result<(), Undelivered>>,
    /// The answers to calls, as their processes await them.
    pub(crate) calls: Answers<Box<dyn Any + Send>>,
    /// The calls of other nodes that wait for the end of a process here, by its place.
    pub(crate) watchers: BTreeMap<Place, Vec<(LpId, Receipt)>>,
    /// The wake at which a process is killed, by its place.
    pub(crate) kills: BTreeMap<Place, (Time, Ticket)>,
    /// The code that runs when a process is over, by its place.
    pub(crate) at_exit: BTreeMap<Place, Vec<AtExit>>,
    /// The waits for the node's host to fail, or to work again.
    pub(crate) host_waiters: Vec<Waiter>,
    /// The things that processes wait for and that other crates have named.
    named: Vec<&'static str>,
}

impl std::fmt::Debug for Rare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rare").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Rare {
    /// Returns the number of a name that another crate has given to a wait.
    pub(crate) fn number_of(&mut self, what: &'static str) -> u32 {
        let place = self.named.iter().position(|known| *known == what).unwrap_or_else(|| {
            self.named.push(what);
            self.named.len() - 1
        });
        u32::try_from(place).expect("the names are in the program's text")
    }
}

/// A wait for a message. A picky one accepts only some messages.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) waiter: Waiter,
    pub(crate) picky: bool,
}

/// A node's processes and their waits.
pub(crate) struct Table {
    pub(crate) processes: Vec<Process>,
    pub(crate) clocks: [Clock; CLOCKS as usize],
    /// The first wait for a message.
    pub(crate) receiver: Option<Receiver>,
    rare: Option<Box<Rare>>,
    last_ticket: Ticket,
    pub(crate) alive: u32,
    pub(crate) ended: u32,
    pub(crate) killed: u32,
    /// True if messages reach the node.
    pub(crate) online: bool,
    /// True if the node's host works.
    pub(crate) works: bool,
    /// True if a process has begun on a stack that stays on its thread.
    pub(crate) stays_on_thread: bool,
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
            stays_on_thread: false,
        }
    }
}

impl Table {
    /// Returns a new name for a wait.
    #[inline]
    pub(crate) fn ticket(&mut self) -> Ticket {
        // 0 names no wait. A wait would share its ticket only if 2^32 other waits began while it lasts.
        self.last_ticket = self.last_ticket.wrapping_add(1).max(1);
        self.last_ticket
    }

    /// Returns the reason for which a process waits, in words that complete "waits for".
    pub(crate) fn reason(&self, process: &Process) -> String {
        match (process.wait, &self.rare) {
            (Wait::Named(number), Some(rare)) => rare.named[number as usize].into(),
            (wait, _) => wait.to_string(),
        }
    }

    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Returns whether a process awaits the report on the message of this name.
    pub(crate) fn awaits_delivery(&self, ticket: Ticket) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.deliveries.has(ticket))
    }

    pub(crate) fn rare_mut(&mut self) -> Option<&mut Rare> {
        self.rare.as_deref_mut()
    }

    /// Adds a process. Returns its place and its serial number.
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
            is_daemon: false,
            pause: Pause::Runs,
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
                    // Most nodes have one process.
                    self.processes.reserve_exact(1);
                }
                self.processes.push(new(0));
                0
            }
        };
        (u32::try_from(index).expect("fewer processes than 2^32 at a node"), serial)
    }

    /// Frees the place of a process that is over, and whose result nobody can ask for.
    pub(crate) fn free(&mut self, place: Place) {
        self.processes[place as usize].state = State::Free;
        // Most nodes have one process, and therefore no list.
        if place != 0 {
            self.rare().free.push(place);
        }
    }

    /// Returns the process of this serial number, if its place has not been used again.
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

    /// Returns the waiter of the sleep with this time and ticket.
    #[inline]
    pub(crate) fn sleeper(&mut self, clock: usize, due: Time, ticket: Ticket) -> Option<&mut Waiter> {
        let first = &mut self.clocks[clock];
        if first.due == due && first.first.ticket == ticket {
            return Some(&mut first.first);
        }
        self.rare.as_mut()?.later[clock].get_mut(&(due, ticket))
    }

    /// Removes a sleep, if it has not ended.
    #[inline]
    pub(crate) fn wake_early(&mut self, clock: usize, due: Time, ticket: Ticket) {
        let first = &self.clocks[clock];
        if first.due == due && first.first.ticket == ticket {
            self.pop_sleep(clock);
        } else if let Some(rare) = &mut self.rare {
            rare.later[clock].remove(&(due, ticket));
        }
    }

    /// Postpones the sleep with this time and ticket to `due`. Returns false, and changes nothing, unless it
    /// is the clock's only sleep and `due` is later.
    #[inline]
    pub(crate) fn postpone(&mut self, clock: usize, before: Time, ticket: Ticket, due: Time) -> bool {
        let is_only = self.rare.as_ref().is_none_or(|rare| rare.later[clock].is_empty());
        let first = &mut self.clocks[clock];
        let can = is_only && first.due == before && first.first.ticket == ticket && before < due && due < Time::MAX;
        if can {
            first.due = due;
        }
        can
    }

    /// Removes the sleep that is due first.
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

    /// Removes a sleep that is due by now, if there is one.
    #[inline]
    pub(crate) fn pop_due(&mut self, clock: usize, now: Time) -> Option<Waiter> {
        // The end of time stands for no sleep.
        (self.clocks[clock].due <= now && now < Time::MAX).then(|| self.pop_sleep(clock))
    }

    /// Begins a wait for a message, or continues the wait of the ticket.
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

    /// Adds a wait for a message.
    #[inline]
    pub(crate) fn receive(&mut self, receiver: Receiver) {
        match self.receiver {
            None => self.receiver = Some(receiver),
            Some(_) => self.rare().receivers.push_back(receiver),
        }
    }

    /// Returns the wait for a message with this ticket, if it has not ended.
    #[inline]
    fn receiver_of(&mut self, ticket: Ticket) -> Option<&mut Receiver> {
        let others = self.rare.iter_mut().flat_map(|rare| &mut rare.receivers);
        self.receiver.iter_mut().chain(others).find(|receiver| receiver.waiter.ticket == ticket)
    }

    /// Returns whether the wait for a message with this ticket has not ended.
    #[inline]
    pub(crate) fn is_receiving(&mut self, ticket: Ticket) -> bool {
        self.receiver_of(ticket).is_some()
    }

    /// Removes a wait for a message, if it has not ended.
    #[inline]
    pub(crate) fn stop_receiving(&mut self, ticket: Ticket) {
        if self.receiver.as_ref().is_some_and(|first| first.waiter.ticket == ticket) {
            self.pop_receiver();
        } else if let Some(rare) = &mut self.rare {
            rare.receivers.retain(|receiver| receiver.waiter.ticket != ticket);
        }
    }

    /// Removes the first wait for a message.
    #[inline]
    pub(crate) fn pop_receiver(&mut self) -> Option<Receiver> {
        let next = self.rare.as_mut().and_then(|rare| rare.receivers.pop_front());
        std::mem::replace(&mut self.receiver, next)
    }

    /// Returns the wait for the end of the process at `of`.
    pub(crate) fn joiner(&mut self, of: Place) -> Option<&mut Waiter> {
        self.rare.as_mut()?.joiners.get_mut(&of)
    }

    /// Adds the wait for the end of the process at `of`.
    pub(crate) fn join(&mut self, of: Place, waiter: Waiter) {
        self.rare().joiners.insert(of, waiter);
    }

    /// Removes the wait for the end of the process at `of`.
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
