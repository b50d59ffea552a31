//! Shared partitions: no worker owns them. In each window, any idle worker takes them.

use crate::workers::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The way in which a worker takes the next partition of a set.
///
/// The three ways are those of G. Seguin, *Multi-core Parallelism for ns-3 Simulator*, INRIA, 2009, section
/// 3.4.2. `parades bench balance` measures them and prints his figures beside the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Taking {
    /// The worker increments an atomic index.
    #[default]
    AtomicIndex,
    /// The worker increments an index behind a lock.
    LockedIndex,
    /// The worker takes from a queue behind a lock.
    LockedQueue,
}

/// A set of partitions, each of which is taken once in a window.
#[derive(Debug)]
pub(super) struct SharedSet {
    members: Vec<u32>,
    /// The progress of taking, by parity of the window. One entry is reset while the other is in use.
    taken: [Taken; 2],
}

#[derive(Debug)]
enum Taken {
    AtomicIndex(AtomicUsize),
    LockedIndex(Mutex<usize>),
    LockedQueue(Mutex<VecDeque<u32>>),
}

impl SharedSet {
    /// Makes a set of partitions, which are taken in the order of `members`.
    pub(super) fn new(members: Vec<u32>, taking: Taking) -> SharedSet {
        let taken = || match taking {
            Taking::AtomicIndex => Taken::AtomicIndex(AtomicUsize::new(0)),
            Taking::LockedIndex => Taken::LockedIndex(Mutex::new(0)),
            Taking::LockedQueue => Taken::LockedQueue(Mutex::new(members.iter().copied().collect())),
        };
        SharedSet { taken: [taken(), taken()], members }
    }

    /// Returns the partitions of the set, in the order in which they are taken.
    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    /// Takes the next partition of `window`, if any is left.
    pub(super) fn take(&self, window: u64) -> Option<u32> {
        let index = match &self.taken[parity(window)] {
            // Ordering: Relaxed; the index only selects the worker. The partition's own lock publishes its
            // content.
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

    /// Makes all partitions available in `window`, which no worker has begun.
    pub(super) fn reset(&self, window: u64) {
        match &self.taken[parity(window)] {
            // Ordering: Relaxed; the exchange before `window` publishes the store.
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

/// Returns the index of what consecutive windows or exchanges use in turn.
pub(super) fn parity(number: u64) -> usize {
    usize::from(number % 2 == 1)
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
