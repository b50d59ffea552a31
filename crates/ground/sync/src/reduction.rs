//! A reduction that nobody waits for: each worker offers some words, and sometime all have the words of all.
//!
//! *Use.* A worker offers, goes on with what it has to do, and looks now and then whether there is an outcome. It makes its next offer only when it has
//! had that of its last. Who makes the last offer of a round is told so, and wakes those who sleep.
//!
//! *Why two slots a worker suffice.* Slots are used by the parity of the offer. A worker writes one for the second time when it has the outcome of the offer
//! between; so all have made that offer, for which each had first to have had the outcome that was in the slots before.
//!
//! *Why what was sent before is there.* An offer adds one to a count, and releases what its worker wrote before. An outcome is there when the count says that
//! all have offered; who reads that acquires what any of them released, since between an addition and the reading there are only additions.
//!
//! *Cost.* An offer is a store to the worker's own line and an addition to one that all share; a look for the outcome a load of that.

use crate::barrier::Line;
use crate::shim::AtomicU64;
use std::sync::atomic::Ordering;

/// Some words of each worker, the latest that it has told. It orders nothing: who reads what others told must know from elsewhere that they have.
#[derive(Debug)]
pub struct Slots<const WORDS: usize> {
    by_worker: Vec<Line<[AtomicU64; WORDS]>>,
}

impl<const WORDS: usize> Slots<WORDS> {
    /// Of so many workers; all words are 0.
    pub fn new(workers: usize) -> Slots<WORDS> {
        let slot = |_| Line(std::array::from_fn(|_| AtomicU64::new(0)));
        Slots { by_worker: (0..workers).map(slot).collect() }
    }

    /// Tells words in place of those told before.
    pub fn tell(&self, worker: usize, words: [u64; WORDS]) {
        for (slot, word) in self.by_worker[worker].iter().zip(words) {
            // Ordering: Relaxed; what follows publishes it.
            slot.store(word, Ordering::Relaxed);
        }
    }

    /// What each worker has told.
    pub fn told(&self) -> impl Iterator<Item = [u64; WORDS]> {
        // Ordering: Relaxed; it has been published.
        self.by_worker.iter().map(|slot| std::array::from_fn(|word| slot[word].load(Ordering::Relaxed)))
    }
}

/// Brings together what workers offer, some words each.
///
/// ```
/// use parades_sync::reduction::Reduction;
/// let reduction = Reduction::<1>::new(2);
/// assert!(!reduction.offer(0, [30]));
/// assert!(reduction.outcome(0).is_none());
/// assert!(reduction.offer(1, [12])); // the last
/// let sum = |all: Option<_>| all.map(|all| Iterator::map(all, |[word]: [u64; 1]| word).sum::<u64>());
/// assert_eq!((sum(reduction.outcome(0)), sum(reduction.outcome(1))), (Some(42), Some(42)));
/// ```
#[derive(Debug)]
pub struct Reduction<const WORDS: usize> {
    /// By parity of the offer.
    slots: [Slots<WORDS>; 2],
    /// How many offers each worker has made.
    made: Vec<Line<AtomicU64>>,
    /// How many all together have made.
    all_made: Line<AtomicU64>,
}

impl<const WORDS: usize> Reduction<WORDS> {
    /// Among so many workers.
    pub fn new(workers: usize) -> Reduction<WORDS> {
        Reduction {
            slots: [Slots::new(workers), Slots::new(workers)],
            made: (0..workers).map(|_| Line::default()).collect(),
            all_made: Line::default(),
        }
    }

    /// Offers; whether all have now.
    ///
    /// # Panics
    ///
    /// If there is no outcome of the worker's last offer yet.
    pub fn offer(&self, worker: usize, words: [u64; WORDS]) -> bool {
        let workers = self.made.len() as u64;
        // Ordering: Relaxed; the worker's own.
        let number = self.made[worker].fetch_add(1, Ordering::Relaxed);
        self.slots_of(number).tell(worker, words);
        // Ordering: Release; pairs with the load in `outcome`, which makes visible the slot, and what the worker wrote before.
        let before = self.all_made.fetch_add(1, Ordering::Release);
        assert!(before >= number * workers, "worker {worker} offered again before all had");
        before + 1 == (number + 1) * workers
    }

    /// What all offered in the round of the worker's last offer, by worker, once all have; it stays until the worker makes its next.
    pub fn outcome(&self, worker: usize) -> Option<impl Iterator<Item = [u64; WORDS]>> {
        // Ordering: Relaxed; the worker's own.
        let number = self.made[worker].load(Ordering::Relaxed).checked_sub(1)?;
        // Ordering: Acquire; pairs with the addition in `offer`.
        let all_made = self.all_made.load(Ordering::Acquire) >= (number + 1) * self.made.len() as u64;
        all_made.then(|| self.slots_of(number).told())
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

    /// So many that each slot is used again.
    const ROUNDS: u64 = 3;

    /// What workers share.
    struct Shared {
        reduction: Reduction<2>,
        /// What each sent before its latest offer. Relaxed: only the reduction makes it visible.
        sent: Vec<AtomicU64>,
        news: Vec<EventCount>,
    }

    fn told(worker: u64, round: u64) -> [u64; 2] {
        [10 * round + worker + 1, 1000 - 10 * round - worker]
    }

    impl Shared {
        /// Whether the worker has the outcome of a round, which is then the right one.
        fn has_outcome(&self, worker: usize, round: u64) -> bool {
            let Some(all) = self.reduction.outcome(worker) else { return false };
            assert!(all.eq((0..self.sent.len() as u64).map(|other| told(other, round))), "worker {worker}, {round}");
            for sent in &self.sent {
                // What came before the offer; and of what comes after no more than what precedes the next.
                let seen = sent.load(Ordering::Relaxed);
                assert!((round + 1..=round + 2).contains(&seen), "{seen} in round {round}");
            }
            true
        }

        fn offer(&self, worker: usize, round: u64) -> bool {
            self.sent[worker].store(round + 1, Ordering::Relaxed);
            self.reduction.offer(worker, told(worker as u64, round))
        }

        fn spin(&self, worker: usize) {
            assert!(self.reduction.outcome(worker).is_none(), "nothing comes of no offer");
            for round in 0..ROUNDS {
                self.offer(worker, round);
                while !self.has_outcome(worker, round) {
                    spin_loop();
                }
                assert!(self.has_outcome(worker, round), "it stays");
            }
        }

        /// Looks once a round, after the others have had time to come, and gives up if they have not: far fewer ways than of those who spin.
        fn glance(&self, worker: usize) {
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

    /// All workers in threads of their own but the first, which is this one.
    fn check(workers: usize, preemptions: usize, work: fn(&Shared, usize)) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let shared = Arc::new(Shared {
                reduction: Reduction::new(workers),
                sent: (0..workers).map(|_| AtomicU64::new(0)).collect(),
                news: (0..workers).map(|_| EventCount::with(Patience::new(0, 0))).collect(),
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
    fn two_who_look_again_and_again_have_each_outcome_and_what_was_sent_before() {
        check(2, 4, Shared::spin);
    }

    #[test]
    fn three_have_an_outcome_together_or_not_at_all() {
        check(3, 1, Shared::glance);
    }

    #[test]
    fn two_who_sleep_are_woken_for_each_outcome() {
        check(2, 3, Shared::sleep);
    }

    #[test]
    fn three_who_sleep_are_woken_for_each_outcome() {
        check(3, 0, Shared::sleep);
    }

    #[test]
    #[should_panic(expected = "worker 0 offered again before all had")]
    fn nobody_offers_twice_in_a_round() {
        loom::model(|| {
            let reduction = Reduction::<0>::new(2);
            reduction.offer(0, []);
            reduction.offer(0, []);
        });
    }
}
