//! Barriers on real threads, also with more threads than cores.

use parades_sync::barrier::{Barrier, BarrierKind, Broken};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const KINDS: [BarrierKind; 6] = [
    BarrierKind::Posix,
    BarrierKind::Semaphore,
    BarrierKind::Spin,
    BarrierKind::Tree { fan_in: 2 },
    BarrierKind::Tree { fan_in: 4 },
    BarrierKind::Adaptive,
];
const PARTIES: [usize; 4] = [1, 2, 3, 8];

/// Returns the number of crossings to make. With more threads than cores, a kind that only spins needs
/// several time slices for each.
fn crossings(kind: BarrierKind, parties: usize) -> u64 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    match kind {
        BarrierKind::Spin | BarrierKind::Tree { .. } if parties > cores => 20,
        _ => 5_000,
    }
}

/// Crosses `crossings` times, or until the barrier breaks. Returns the number of completed crossings.
fn cross(barrier: &dyn Barrier, party: usize, written: &[AtomicU64], crossings: u64) -> u64 {
    for crossing in 1..=crossings {
        written[party].store(crossing, Ordering::Relaxed);
        if barrier.wait(party) == Err(Broken) {
            return crossing - 1;
        }
        for other in written {
            let seen = other.load(Ordering::Relaxed);
            assert!((crossing..=crossing + 1).contains(&seen), "after crossing {crossing} a party is at {seen}");
        }
    }
    crossings
}

fn written(parties: usize) -> Vec<AtomicU64> {
    (0..parties).map(|_| AtomicU64::new(0)).collect()
}

#[test]
fn nobody_is_ahead_and_writes_are_visible() {
    for kind in KINDS {
        for parties in PARTIES {
            let (barrier, written) = (kind.open(parties), written(parties));
            let (barrier, written) = (&*barrier, &written[..]);
            thread::scope(|scope| {
                for party in 0..parties {
                    scope.spawn(move || {
                        let crossings = crossings(kind, parties);
                        assert_eq!(cross(barrier, party, written, crossings), crossings, "{kind}, {parties} parties");
                    });
                }
            });
        }
    }
}

#[test]
fn parties_that_come_at_different_times_wait_for_each_other() {
    for kind in KINDS {
        let (barrier, written) = (kind.open(3), written(3));
        let (barrier, written) = (&*barrier, &written[..]);
        thread::scope(|scope| {
            for party in 0..3 {
                scope.spawn(move || {
                    for crossing in 1..=20 {
                        // Each party is late in turn, long enough for the others to fall asleep.
                        if crossing % 3 == party as u64 {
                            thread::sleep(Duration::from_millis(2));
                        }
                        written[party].store(crossing, Ordering::Relaxed);
                        assert_eq!(barrier.wait(party), Ok(()), "{kind}");
                        assert!(written.iter().all(|other| other.load(Ordering::Relaxed) >= crossing), "{kind}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_break_releases_all_that_wait_and_all_that_arrive() {
    for kind in KINDS {
        for parties in PARTIES {
            // A break at once, and a break after the others have had time to fall asleep.
            for delay in [Duration::ZERO, Duration::from_millis(20)] {
                let barrier = kind.open(parties);
                let barrier = &*barrier;
                thread::scope(|scope| {
                    for party in 1..parties {
                        scope.spawn(move || {
                            assert_eq!(barrier.wait(party), Err(Broken), "{kind}, {parties} parties");
                            assert_eq!(barrier.wait(party), Err(Broken), "{kind}, {parties} parties");
                        });
                    }
                    thread::sleep(delay);
                    barrier.break_up();
                    barrier.break_up();
                });
                assert_eq!(barrier.wait(0), Err(Broken), "{kind}, {parties} parties");
            }
        }
    }
}

#[test]
fn a_worker_that_fails_in_the_middle_leaves_nobody_waiting() {
    for kind in KINDS {
        let (barrier, written) = (kind.open(3), written(3));
        let (barrier, written) = (&*barrier, &written[..]);
        thread::scope(|scope| {
            for party in 1..3 {
                scope.spawn(move || {
                    let made = cross(barrier, party, written, u64::MAX);
                    assert!((9..=10).contains(&made), "{kind}: {made} crossings");
                });
            }
            // A party that is slow to leave may or may not see the tenth crossing completed.
            assert_eq!(cross(barrier, 0, written, 10), 10);
            barrier.break_up();
        });
    }
}

#[test]
#[should_panic(expected = "a barrier for 0 parties")]
fn a_barrier_for_nobody_is_refused() {
    BarrierKind::Adaptive.open(0);
}

#[test]
#[should_panic(expected = "fan-in of at least 1")]
fn a_tree_without_branches_is_refused() {
    BarrierKind::Tree { fan_in: 0 }.open(3);
}
