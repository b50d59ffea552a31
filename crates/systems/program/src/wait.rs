//! Who waits, and for what.

use crate::desk::Worker;
use std::fmt;
use std::task::{Context, Waker};

/// A process of a node: its place in the node's table.
pub(crate) type Place = u32;

/// What a process waits for, as a report names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// For nothing that this crate knows: another crate's future.
    #[default]
    Unknown,
    /// For a time.
    Time,
    /// For a message.
    Message,
    /// For a message of its own to arrive.
    Delivery,
    /// For the node's host to fail, or to work again.
    Host,
    /// For the end of the process of this number of its node.
    End(u32),
    /// For a mutex of the node.
    Mutex(u32),
    /// For permits of a semaphore of the node.
    Semaphore(u32),
    /// For the others at a barrier of the node.
    Barrier(u32),
    /// For the notification of a condition of the node.
    Condition(u32),
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Unknown => f.write_str("something of its own"),
            Wait::Time => f.write_str("a time"),
            Wait::Message => f.write_str("a message"),
            Wait::Delivery => f.write_str("the arrival of its message"),
            Wait::Host => f.write_str("a change of its host"),
            Wait::End(process) => write!(f, "the end of its process {process}"),
            Wait::Mutex(which) => write!(f, "its mutex {which}"),
            Wait::Semaphore(which) => write!(f, "its semaphore {which}"),
            Wait::Barrier(which) => write!(f, "the others at its barrier {which}"),
            Wait::Condition(which) => write!(f, "its condition {which}"),
        }
    }
}

/// A process that waits somewhere, with the ticket that names this very wait.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) place: Place,
    pub(crate) ticket: Ticket,
    /// Set where a combinator polls its parts by wakers of its own: it must be told which of them is ready.
    pub(crate) waker: Option<Waker>,
}

/// Names one wait of a node. 0 names none.
pub(crate) type Ticket = u32;

impl Waiter {
    /// Has the one woken from now on who polls now: a future may have gone to another process, or to another combinator.
    #[inline]
    pub(crate) fn follow(&mut self, context: &Context<'_>, worker: &Worker) {
        self.place = worker.current;
        let waker = context.waker();
        if waker.data().addr() == worker.own_waker {
            self.waker = None;
        } else if self.waker.as_ref().is_none_or(|known| !known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }

    /// The waker to keep: none where it is the process's own, which needs no telling beside being polled.
    pub(crate) fn waker(context: &Context<'_>, own: usize) -> Option<Waker> {
        let waker = context.waker();
        (waker.data().addr() != own).then(|| waker.clone())
    }
}
