//! A reduction that does not block: each worker offers some words, and later all workers read the words of
//! all.
//!
//! *Use.* A worker makes an offer, continues with its work, and checks now and then whether there is an
//! outcome. It makes its next offer only after it has read the outcome of its last one. `offer` returns true
//! to the worker whose offer completes a round. That worker wakes the sleeping workers.
//!
//! *Why two slots for each worker suffice.* The offers of a worker use its two slots alternately. A worker
//! overwrites the slot of offer *k* with offer *k* + 2. Before, it has read the outcome of offer *k* + 1, so
//! all workers have made offer *k* + 1. Each of them made it after reading the outcome of offer *k*. So no
//! worker reads the slots of offer *k* any more.
//!
//! *Why everything written before an offer is visible.* An offer adds one to a shared count, with Release. An
//! outcome exists when the count says that all workers have made their offers; the reader loads the count
//! with Acquire. Only additions change the count, so the load sees what each of the workers wrote before its
//! addition.
//!
//! *Cost.* An offer is a store to the worker's own cache line and an addition to a shared one. A check for
//! the outcome is one load of the shared line.

use crate::padded::CachePadded;
use crate::shim::AtomicU64;
use std::sync::atomic::Ordering;

/// Some words of each worker. Reads and writes of the words order no other memory. So a reader must know by
/// other means that the words have been published.
#[derive(Debug)]
pub struct Slots<const WORDS: usize> {
    by_worker: Vec<CachePadded<[AtomicU64; WORDS]>>,
}

impl<const WORDS: usize> Slots<WORDS> {
    /// Creates the slots of `workers` workers. All words are 0.
    pub fn new(workers: usize) -> Slots<WORDS> {
        let slot = |_| CachePadded(std::array::from_fn(|_| AtomicU64::new(0)));
        Slots { by_worker: (0..workers).map(slot).collect() }
    }

    /// Replaces the words of `worker`.
    pub fn write(&self, worker: usize, words: [u64; WORDS]) {
        for (slot, word) in self.by_worker[worker].iter().zip(words) {
            // Ordering: Relaxed. The caller publishes the words.
            slot.store(word, Ordering::Relaxed);
        }
    }

    /// Returns the words of each worker.
    pub fn read_all(&self) -> impl Iterator<Item = [u64; WORDS]> {
        // Ordering: Relaxed. The words have been published.
        self.by_worker.iter().map(|slot| std::array::from_fn(|word| slot[word].load(Ordering::Relaxed)))
    }
}

/// Collects the offers of all workers, `WORDS` words each.
///
/// ```
/// use parades_sync::reduction::Reduction;
/// let reduction = Reduction::<1>::new(2);
/// assert!(!reduction.offer(0, [30]));
/// assert!(reduction.outcome(0).is_none());
/// assert!(reduction.offer(1, [12])); // completes the round
/// let sum = |all: Option<_>| all.map(|all| Iterator::map(all, |[word]: [u64; 1]| word).sum::<u64>());
/// assert_eq!((sum(reduction.outcome(0)), sum(reduction.outcome(1))), (Some(42), Some(42)));
/// ```
#[derive(Debug)]
pub struct Reduction<const WORDS: usize> {
    /// The slots of offers with even numbers, and those of offers with odd numbers.
    slots: [Slots<WORDS>; 2],
    /// The number of offers that each worker has made.
    offers: Vec<CachePadded<AtomicU64>>,
    /// The number of offers that all workers together have made.
    all_offers: CachePadded<AtomicU64>,
}

impl<const WORDS: usize> Reduction<WORDS> {
    /// Creates a reduction for `workers` workers.
    pub fn new(workers: usize) -> Reduction<WORDS> {
        Reduction {
            slots: [Slots::new(workers), Slots::new(workers)],
            offers: (0..workers).map(|_| CachePadded::default()).collect(),
            all_offers: CachePadded::default(),
        }
    }

    /// Makes an offer. Returns true if it completes the round.
    ///
    /// # Panics
    ///
    /// Panics if the worker's last offer has no outcome yet.
    pub fn offer(&self, worker: usize, words: [u64; WORDS]) -> bool {
        let workers = self.offers.len() as u64;
        // Ordering: Relaxed. Only this worker uses its number of offers.
        let number = self.offers[worker].fetch_add(1, Ordering::Relaxed);
        self.slots_of(number).write(worker, words);
        // Ordering: Release. It pairs with the load in `outcome`, which makes visible the slot and all that
        // the worker wrote before.
        let before = self.all_offers.fetch_add(1, Ordering::Release);
        assert!(before >= number * workers, "worker {worker} offered again before all workers had");
        before + 1 == (number + 1) * workers
    }

    /// Returns the words of all workers in the round of this worker's last offer, once all workers have
    /// offered. The outcome stays until the worker makes its next offer.
    pub fn outcome(&self, worker: usize) -> Option<impl Iterator<Item = [u64; WORDS]>> {
        // Ordering: Relaxed. Only this worker uses its number of offers.
        let number = self.offers[worker].load(Ordering::Relaxed).checked_sub(1)?;
        // Ordering: Acquire. It pairs with the addition in `offer`.
        let is_complete = self.all_offers.load(Ordering::Acquire) >= (number + 1) * self.offers.len() as u64;
        is_complete.then(|| self.slots_of(number).read_all())
    }

    fn slots_of(&self, number: u64) -> &Slots<WORDS> {
        &self.slots[usize::from(number % 2 == 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_count::EventCount;
    use crate::patience::Patience;
    use crate::shim::spin_loop;
    use loom::thread;
    use std::sync::Arc;

    /// Enough rounds for each slot to be used twice.
    const ROUNDS: u64 = 3;

    /// The state that the workers share.
    struct Shared {
        reduction: Reduction<2>,
        /// The number of rounds for which each worker has sent. Relaxed accesses: only the reduction makes it
        /// visible.
        sent: Vec<AtomicU64>,
        news: Vec<EventCount>,
    }

    fn words_of(worker: u64, round: u64) -> [u64; 2] {
        [10 * round + worker + 1, 1000 - 10 * round - worker]
    }

    impl Shared {
        /// Returns true if the worker has the outcome of `round`. Checks that this is the right one.
        fn has_outcome(&self, worker: usize, round: u64) -> bool {
            let Some(all) = self.reduction.outcome(worker) else { return false };
            assert!(
                all.eq((0..self.sent.len() as u64).map(|other| words_of(other, round))),
                "worker {worker}, {round}"
            );
            for sent in &self.sent {
                // Everything sent before the offer is visible. Data sent before the next offer may be visible
                // too, but no later data.
                let seen = sent.load(Ordering::Relaxed);
                assert!((round + 1..=round + 2).contains(&seen), "{seen} in round {round}");
            }
            true
        }

        fn offer(&self, worker: usize, round: u64) -> bool {
            self.sent[worker].store(round + 1, Ordering::Relaxed);
            self.reduction.offer(worker, words_of(worker as u64, round))
        }

        fn spin(&self, worker: usize) {
            assert!(self.reduction.outcome(worker).is_none(), "there is no outcome before the first offer");
            for round in 0..ROUNDS {
                self.offer(worker, round);
                while !self.has_outcome(worker, round) {
                    spin_loop();
                }
                assert!(self.has_outcome(worker, round), "the outcome stays");
            }
        }

        /// Checks once in each round, after the others have had time to make their offers. Gives up if an
        /// offer is missing. This has far fewer interleavings than `spin`.
        fn check_once(&self, worker: usize) {
            for round in 0..ROUNDS {
                self.offer(worker, round);
                thread::yield_now();
                if !self.has_outcome(worker, round) {
                    return;
                }
            }
        }

        fn sleep(&self, worker: usize) {
            for round in 0..ROUNDS {
                if self.offer(worker, round) {
                    let others = (0..self.news.len()).filter(|&other| other != worker);
                    others.for_each(|other| self.news[other].notify());
                }
                loop {
                    let seen = self.news[worker].count();
                    if self.has_outcome(worker, round) {
                        break;
                    }
                    self.news[worker].wait(seen).expect("nothing breaks");
                }
            }
        }
    }

    /// Runs `work` for each worker, in a thread of its own. The first worker is this thread.
    fn check(workers: usize, preemptions: usize, work: fn(&Shared, usize)) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let shared = Arc::new(Shared {
                reduction: Reduction::new(workers),
                sent: (0..workers).map(|_| AtomicU64::new(0)).collect(),
                news: (0..workers).map(|_| EventCount::with_patience(Patience::new(0, 0))).collect(),
            });
            let others: Vec<_> = (1..workers)
                .map(|worker| {
                    let shared = shared.clone();
                    thread::spawn(move || work(&shared, worker))
                })
                .collect();
            work(&shared, 0);
            others.into_iter().for_each(|other| other.join().expect("no panic"));
        });
    }

    #[test]
    fn two_workers_that_spin_get_each_outcome_and_all_that_was_sent_before() {
        check(2, 4, Shared::spin);
    }

    #[test]
    fn three_workers_get_the_same_outcome_or_none() {
        check(3, 1, Shared::check_once);
    }

    #[test]
    fn two_workers_that_sleep_are_woken_for_each_outcome() {
        check(2, 3, Shared::sleep);
    }

    #[test]
    fn three_workers_that_sleep_are_woken_for_each_outcome() {
        check(3, 0, Shared::sleep);
    }

    #[test]
    #[should_panic(expected = "worker 0 offered again before all workers had")]
    fn a_second_offer_in_a_round_is_refused() {
        loom::model(|| {
            let reduction = Reduction::<0>::new(2);
            reduction.offer(0, []);
            reduction.offer(0, []);
        });
    }
}
