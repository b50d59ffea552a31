//! Tests of every kind under the model checker: two parties with up to 4 preemptions, three parties with
//! fewer. Where that takes long, `.ci/run` executes it, and `cargo test` allows one preemption less.

use super::adaptive::Adaptive;
use super::{Barrier, BarrierKind, Broken};
use crate::patience::Patience;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;

const CROSSINGS: u64 = 2;

/// For each party, the last crossing before which the party has written. Relaxed accesses: only the barrier
/// makes the numbers visible.
type Written = Arc<Vec<AtomicU64>>;

fn written(parties: usize) -> Written {
    Arc::new((0..parties).map(|_| AtomicU64::new(0)).collect())
}

/// Makes `crossings` crossings. Checks after each that all parties had arrived, and that none is ahead by
/// more than its next arrival.
fn cross(barrier: &dyn Barrier, party: usize, written: &[AtomicU64], crossings: u64) -> Result<(), Broken> {
    for crossing in 1..=crossings {
        written[party].store(crossing, Ordering::Relaxed);
        barrier.wait(party)?;
        for other in written {
            let seen = other.load(Ordering::Relaxed);
            assert!((crossing..=crossing + 1).contains(&seen), "after crossing {crossing} a party is at {seen}");
        }
    }
    Ok(())
}

/// Lets all parties cross. The first party is this thread; the others have threads of their own.
fn check(parties: usize, preemptions: usize, open: impl Fn() -> Box<dyn Barrier> + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let (barrier, written) = (Arc::new(open()), written(parties));
        let others: Vec<_> = (1..parties)
            .map(|party| {
                let (barrier, written) = (barrier.clone(), written.clone());
                thread::spawn(move || cross(&**barrier, party, &written, CROSSINGS))
            })
            .collect();
        assert_eq!(cross(&**barrier, 0, &written, CROSSINGS), Ok(()));
        for other in others {
            assert_eq!(other.join().expect("no panic"), Ok(()));
        }
    });
}

/// Lets the first party cross once and then break the barrier, while the others go to the second crossing.
/// Checks that the others return, and see what was written before the break.
fn check_break_up(parties: usize, preemptions: usize, open: impl Fn() -> Box<dyn Barrier> + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let (barrier, written, why) = (Arc::new(open()), written(parties), Arc::new(AtomicU64::new(0)));
        let others: Vec<_> = (1..parties)
            .map(|party| {
                let (barrier, written, why) = (barrier.clone(), written.clone(), why.clone());
                thread::spawn(move || {
                    assert_eq!(cross(&**barrier, party, &written, CROSSINGS), Err(Broken));
                    assert_eq!(why.load(Ordering::Relaxed), 1, "what was written before the break is visible");
                })
            })
            .collect();
        assert_eq!(cross(&**barrier, 0, &written, CROSSINGS - 1), Ok(()));
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

/// The tests of each kind. The first number is the bound on preemptions with three parties, small enough for
/// the test to end within seconds. The second is that of the tests at length, for kinds that have them.
macro_rules! kinds {
    ($($name:ident, $preemptions:literal $(to $at_length:literal)?: $open:expr;)*) => {$(
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

            $(#[test]
            #[ignore = "takes a minute; `.ci/run` executes it"]
            fn three_cross_at_length() {
                check(3, $at_length, || $open(3));
            }

            #[test]
            #[ignore = "takes a minute; `.ci/run` executes it"]
            fn three_break_up_at_length() {
                check_break_up(3, $at_length, || $open(3));
            })?
        }
    )*};
}

kinds! {
    posix, 3: |parties| BarrierKind::Posix.open(parties);
    semaphore, 0: |parties| BarrierKind::Semaphore.open(parties);
    spin, 2: |parties| BarrierKind::Spin.open(parties);
    tree_1, 1: |parties| BarrierKind::Tree { fan_in: 1 }.open(parties);
    tree_2, 1: |parties| BarrierKind::Tree { fan_in: 2 }.open(parties);
    adaptive_that_sleeps, 1 to 2: |parties| adaptive(parties, 0);
    adaptive_that_spins, 0 to 1: |parties| adaptive(parties, 1);
}
