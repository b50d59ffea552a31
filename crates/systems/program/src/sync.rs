//! Mutexes, semaphores, barriers and conditions for the processes of a node.
//!
//! All of them are fair: the process that began to wait first continues first. They order processes in
//! virtual time, and guard no memory. Processes share state by [`crate::Node::with_state`], which no other
//! process can interrupt. They need a mutex only to exclude others across a wait.

mod barrier;
mod condition;
mod semaphore;

pub use barrier::{Barrier, Pass};
pub use condition::{Condition, Notified};
pub use semaphore::{Acquire, Mutex, Permit, Semaphore};

use crate::desk::{now_or_later, with_parts};
use crate::table::Table;
use crate::wait::{Ticket, Waiter};
use std::collections::VecDeque;

/// An object at which processes of a node wait for each other.
#[derive(Debug)]
pub(crate) enum Object {
    /// The free permits, and the waiters with the permits that each needs.
    Semaphore { permits: u32, waiters: VecDeque<(Waiter, u32)> },
    /// The number of processes that must come, and the processes that have come.
    Barrier { parties: u32, waiters: Vec<Waiter> },
    /// The waiters, and those that were notified by `notify_one` and have not continued yet.
    Condition { waiters: VecDeque<Waiter>, notified: VecDeque<Ticket> },
}

/// The place of an object among those of its node. Dropping this value frees the object.
#[derive(Debug)]
struct Place(u32);

impl Place {
    fn of(object: Object) -> Place {
        with_parts(|_, table| {
            let objects = &mut table.rare().objects;
            let free = objects.iter().position(Option::is_none).unwrap_or_else(|| {
                objects.push(None);
                objects.len() - 1
            });
            objects[free] = Some(object);
            Place(u32::try_from(free).expect("fewer objects than 2^32 at a node"))
        })
    }

    fn semaphore(table: &mut Table, place: u32) -> (&mut u32, &mut VecDeque<(Waiter, u32)>) {
        match &mut table.rare().objects[place as usize] {
            Some(Object::Semaphore { permits, waiters }) => (permits, waiters),
            _ => unreachable!("{OTHERS}"),
        }
    }

    fn barrier(table: &mut Table, place: u32) -> (u32, &mut Vec<Waiter>) {
        match &mut table.rare().objects[place as usize] {
            Some(Object::Barrier { parties, waiters }) => (*parties, waiters),
            _ => unreachable!("{OTHERS}"),
        }
    }

    fn condition(table: &mut Table, place: u32) -> (&mut VecDeque<Waiter>, &mut VecDeque<Ticket>) {
        match &mut table.rare().objects[place as usize] {
            Some(Object::Condition { waiters, notified }) => (waiters, notified),
            _ => unreachable!("{OTHERS}"),
        }
    }
}

const OTHERS: &str = "a place holds what it was made for";

impl Drop for Place {
    fn drop(&mut self) {
        let place = self.0 as usize;
        // At the end of the run there may be no objects any more.
        now_or_later(move |_, table| table.rare_mut()?.objects.get_mut(place)?.take());
    }
}
