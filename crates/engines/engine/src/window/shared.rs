//! Partitions that are dedicated to nobody, and taken by whoever is free.

use crate::workers::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a worker takes the next partition of a set: the three ways of G. Seguin, *Multi-core Parallelism for ns-3 Simulator*, INRIA, 2009,
/// section 3.4.2. `parades bench balance` measures them beside his figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Taking {
    /// It adds to an atomic index.
    #[default]
    AtomicIndex,
    /// It adds to an index behind a lock.
    LockedIndex,
    /// It takes from a queue behind a lock.
    LockedQueue,
}

/// A set of partitions, each of which is taken once a window.
#[derive(Debug)]
pub(super) struct SharedSet {
    members: Vec<u32>,
    /// What has been taken, by parity of the window: one is made ready while the other is used.
    taken: [Taken; 2],
}

#[derive(Debug)]
enum Taken {
    AtomicIndex(AtomicUsize),
    LockedIndex(Mutex<usize>),
    LockedQueue(Mutex<VecDeque<u32>>),
}

impl SharedSet {
    /// The set of these partitions, to be taken in their order.
    pub(super) fn new(members: Vec<u32>, taking: Taking) -> SharedSet {
        let taken = || match taking {
            Taking::AtomicIndex => Taken::AtomicIndex(AtomicUsize::new(0)),
            Taking::LockedIndex => Taken::LockedIndex(Mutex::new(0)),
            Taking::LockedQueue => Taken::LockedQueue(Mutex::new(members.iter().copied().collect())),
        };
        SharedSet { taken: [taken(), taken()], members }
    }

    /// The next partition of `window`, if any is left.
    pub(super) fn take(&self, window: u64) -> Option<u32> {
        let index = match &self.taken[parity(window)] {
            // Ordering: Relaxed; the index decides who, and the partition's own lock publishes what.
            Taken::AtomicIndex(next) => next.fetch_add(1, Ordering::Relaxed),
            Taken::LockedIndex(next) => {
                let mut next = lock(next);
                *next += 1;
                *next - 1
            }
            Taken::LockedQueue(queue) => return lock(queue).pop_front(),
        };
        self.members.get(index).copied()
    }

    /// Lets all be taken anew in `window`, which nobody has begun.
    pub(super) fn reset(&self, window: u64) {
        match &self.taken[parity(window)] {
            // Ordering: Relaxed; the exchange before that window publishes it.
            Taken::AtomicIndex(next) => next.store(0, Ordering::Relaxed),
            Taken::LockedIndex(next) => *lock(next) = 0,
            Taken::LockedQueue(queue) => {
                let mut queue = lock(queue);
                queue.clear();
                queue.extend(&self.members);
            }
        }
    }
}

fn parity(window: u64) -> usize {
    usize::from(window % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_is_taken_once_a_window() {
        for taking in [Taking::AtomicIndex, Taking::LockedIndex, Taking::LockedQueue] {
            let set = SharedSet::new(vec![4, 2, 7], taking);
            for window in 0..6 {
                set.reset(window + 1);
                let mut all: Vec<u32> = std::thread::scope(|scope| {
                    let take_all = || std::iter::from_fn(|| set.take(window)).collect::<Vec<u32>>();
                    let other = scope.spawn(take_all);
                    let mut all = take_all();
                    all.extend(other.join().expect("no panic"));
                    all
                });
                all.sort_unstable();
                assert_eq!(all, [2, 4, 7], "{taking:?}, window {window}");
            }
        }
    }
}
