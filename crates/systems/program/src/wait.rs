//! Waits of processes: their names and reasons.

use crate::desk::{Worker, instant, with_parts};
use parades_core::time::Time;
use std::fmt;
use std::task::{Context, Waker};

/// Names a process of a node by its place in the node's table.
pub(crate) type Place = u32;

/// The reason for which a process waits, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// It waits for another crate's future.
    #[default]
    Unknown,
    /// It waits for a time.
    Time,
    /// It waits for a message.
    Message,
    /// It waits for a message of its own to arrive.
    Delivery,
    /// It waits for the node's host to fail, or to work again.
    Host,
    /// It waits for the end of the node's process of this number.
    End(u32),
    /// It waits for the node's mutex of this number.
    Mutex(u32),
    /// It waits for permits of the node's semaphore of this number.
    Semaphore(u32),
    /// It waits for other processes at the node's barrier of this number.
    Barrier(u32),
    /// It waits for a notification of the node's condition of this number.
    Condition(u32),
    /// It waits for something that another crate has named ([`waits_for`]). The node has a list of these
    /// names.
    Named(u32),
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
            Wait::Named(which) => write!(f, "its named reason {which}"),
        }
    }
}

/// Returns the virtual time, for code that is given no [`crate::Node`].
///
/// # Panics
///
/// If no process of a node is being polled.
#[inline]
#[track_caller]
pub fn now() -> Time {
    instant().time
}

/// Names the reason for which the process that is being polled waits, for reports. For futures of other
/// crates, at each poll that ends in waiting. `what` completes the words "waits for".
///
/// # Panics
///
/// If no process of a node is being polled.
#[track_caller]
pub fn waits_for(what: &'static str) {
    with_parts(|worker, table| {
        let number = table.rare().number_of(what);
        worker.waits(table, Wait::Named(number));
    });
}

/// A process that waits, with the name of its wait.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) place: Place,
    pub(crate) ticket: Ticket,
    /// The waker of a combinator that must know which of its parts is ready; `None` for the process's own
    /// waker.
    pub(crate) waker: Option<Waker>,
}

/// Names one wait of a node. 0 names none.
pub(crate) type Ticket = u32;

impl Waiter {
    /// Lets the wait wake the process that polls now. A future may have moved to another process, or to
    /// another combinator.
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

    /// Returns the waker to keep: none if it is the process's own, since it is enough to poll the process.
    pub(crate) fn waker(context: &Context<'_>, own: usize) -> Option<Waker> {
        let waker = context.waker();
        (waker.data().addr() != own).then(|| waker.clone())
    }
}
