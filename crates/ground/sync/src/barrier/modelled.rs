//! Every kind under the model checker: the interleavings of two parties with up to 4 preemptions, those of three with fewer.

use super::adaptive::Adaptive;
use super::{Barrier, BarrierKind, Broken};
use crate::patience::Patience;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;

const CROSSINGS: u64 = 2;

/// What a party left for the others before its latest crossing. Relaxed: only the barrier makes it visible.
type Left = Arc<Vec<AtomicU64>>;

fn left(parties: usize) -> Left {
    Arc::new((0..parties).map(|_| AtomicU64::new(0)).collect())
}

/// Crosses, and looks whether everyone came, and nobody is ahead by more than the next arrival.
fn cross(barrier: &dyn Barrier, party: usize, left: &[AtomicU64], crossings: u64) -> Result<(), Broken> {
    for crossing in 1..=crossings {
        left[party].store(crossing, Ordering::Relaxed);
        barrier.wait(party)?;
        for other in left {
            let seen = other.load(Ordering::Relaxed);
            assert!((crossing..=crossing + 1).contains(&seen), "after crossing {crossing} a party is at {seen}");
        }
    }
    Ok(())
}

/// All parties in threads of their own but the first, which is this one.
fn check(parties: usize, preemptions: usize, open: impl Fn() -> Box<dyn Barrier> + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let (barrier, left) = (Arc::new(open()), left(parties));
        let others: Vec<_> = (1..parties)
            .map(|party| {
                let (barrier, left) = (barrier.clone(), left.clone());
                thread::spawn(move || cross(&**barrier, party, &left, CROSSINGS))
            })
            .collect();
        assert_eq!(cross(&**barrier, 0, &left, CROSSINGS), Ok(()));
        for other in others {
            assert_eq!(other.join().expect("no panic"), Ok(()));
        }
    });
}

/// The first party crosses once and then breaks the barrier up, while the others go to the second crossing: they must come back, and see why.
fn check_break_up(parties: usize, preemptions: usize, open: impl Fn() -> Box<dyn Barrier> + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let (barrier, left, why) = (Arc::new(open()), left(parties), Arc::new(AtomicU64::new(0)));
        let others: Vec<_> = (1..parties)
            .map(|party| {
                let (barrier, left, why) = (barrier.clone(), left.clone(), why.clone());
                thread::spawn(move || {
                    assert_eq!(cross(&**barrier, party, &left, CROSSINGS), Err(Broken));
                    assert_eq!(why.load(Ordering::Relaxed), 1, "what was written before the break is visible");
                })
            })
            .collect();
        assert_eq!(cross(&**barrier, 0, &left, CROSSINGS - 1), Ok(()));
        why.store(1, Ordering::Relaxed);
        barrier.break_up();
        assert_eq!(barrier.wait(0), Err(Broken));
        for other in others {
            other.join().expect("no panic");
        }
    });
}

fn adaptive(parties: usize, spins_max: u32) -> Box<dyn Barrier> {
    Box::new(Adaptive::new(parties, || Patience::new(spins_max, 0)))
}

/// The tests of each kind, with the bound on preemptions for three parties that lets them end within seconds.
macro_rules! kinds {
    ($($name:ident, $preemptions:literal: $open:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn two_cross() {
                check(2, 4, || $open(2));
            }

            #[test]
            fn three_cross() {
                check(3, $preemptions, || $open(3));
            }

            #[test]
            fn two_break_up() {
                check_break_up(2, 4, || $open(2));
            }

            #[test]
            fn three_break_up() {
                check_break_up(3, $preemptions, || $open(3));
            }
        }
    )*};
}

kinds! {
    posix, 3: |parties| BarrierKind::Posix.open(parties);
    semaphore, 0: |parties| BarrierKind::Semaphore.open(parties);
    spin, 2: |parties| BarrierKind::Spin.open(parties);
    tree_1, 1: |parties| BarrierKind::Tree { fan_in: 1 }.open(parties);
    tree_2, 1: |parties| BarrierKind::Tree { fan_in: 2 }.open(parties);
    adaptive_that_sleeps, 2: |parties| adaptive(parties, 0);
    adaptive_that_spins, 1: |parties| adaptive(parties, 1);
}
