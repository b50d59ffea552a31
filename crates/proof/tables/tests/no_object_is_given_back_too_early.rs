//! Random clones, drops and transfers between threads. The data of each object is checked while there is a
//! reference.
//!
//! Each scheme has one test: schemes with buffers share a pool, and `in_use` then counts the objects of that
//! test alone.

use parades_core::random::Rng;
use parades_tables::refcount::buffered::{AtBarrier, Buffered, ByThread, Immediate, LockFree};
use parades_tables::refcount::{
    Aggregate, Atomic, BufferedAtBarrier, BufferedByThread, BufferedImmediate, BufferedLockFree, Compare, Counted,
    InObject, InPointer, Locked, Raw,
};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A reference, and the word that its object must hold.
type Held<P> = (P, u64);

fn write<P: Counted>(rng: &Rng) -> Held<P> {
    let word = rng.below(u64::MAX);
    (P::write(&word.to_le_bytes()), word)
}

fn assert_whole<P: Counted>((pointer, expected): &Held<P>) {
    let mut found = [0; 8];
    pointer.read(&mut found);
    assert_eq!(u64::from_le_bytes(found), *expected, "the data of a live reference were overwritten");
}

fn index(rng: &Rng, held: usize) -> usize {
    usize::try_from(rng.below(held as u64)).expect("below a usize")
}

/// Does a random operation: writes a new object, clones or drops a reference.
fn act<P: Counted>(rng: &Rng, held: &mut Vec<Held<P>>) {
    if held.is_empty() || rng.chance(0.2) {
        held.push(write(rng));
        return;
    }
    let at = index(rng, held.len());
    assert_whole(&held[at]);
    if rng.chance(0.4) {
        held.push((held[at].0.clone(), held[at].1));
    } else {
        held.swap_remove(at);
    }
    if rng.chance(0.05) {
        P::at_barrier();
    }
}

const STEPS: u32 = 4_000;
const SEEDS: [u64; 3] = [1, 2, 3];

fn in_one_thread<P: Counted>() {
    for seed in SEEDS {
        let rng = Rng::shared(seed, 0);
        let mut held = Vec::<Held<P>>::new();
        (0..STEPS).for_each(|_| act(&rng, &mut held));
        held.iter().for_each(assert_whole);
    }
    P::settle();
}

/// Runs two threads, which also send references to each other.
fn in_two_threads<P: Counted>() {
    let worker = |seed: u64, to: Sender<Held<P>>, from: Receiver<Held<P>>| {
        let rng = Rng::shared(seed, 0);
        let mut held = Vec::<Held<P>>::new();
        for _ in 0..STEPS {
            act(&rng, &mut held);
            if !held.is_empty() && rng.chance(0.3) {
                let at = index(&rng, held.len());
                // The other thread may be done already.
                let _ = to.send(held.swap_remove(at));
            }
            held.extend(from.try_iter());
        }
        drop(to);
        for last in from {
            assert_whole(&last);
        }
        held.iter().for_each(assert_whole);
        drop(held);
        P::settle();
    };
    for seed in SEEDS {
        let ((to_a, from_b), (to_b, from_a)) = (channel(), channel());
        std::thread::scope(|scope| {
            scope.spawn(move || worker(seed, to_b, from_b));
            scope.spawn(move || worker(seed + 100, to_a, from_a));
        });
    }
}

#[test]
fn raw() {
    in_one_thread::<Raw>();
    assert_eq!(Raw::in_use(), 0);
}

#[test]
fn locked() {
    in_one_thread::<Locked>();
    in_two_threads::<Locked>();
    assert_eq!(Locked::in_use(), 0);
}

#[test]
fn atomic() {
    in_one_thread::<Atomic>();
    in_two_threads::<Atomic>();
    assert_eq!(Atomic::in_use(), 0);
}

#[test]
fn compare() {
    in_one_thread::<Compare>();
    in_two_threads::<Compare>();
    assert_eq!(Compare::in_use(), 0);
}

#[test]
fn aggregate() {
    in_one_thread::<Aggregate>();
    in_two_threads::<Aggregate>();
    assert!(Aggregate::in_use() <= 8, "more than the group that is being handed out: {}", Aggregate::in_use());
}

/// All objects are returned if references stay in their thread. An object whose references cross may be lost,
/// and is never returned too early.
#[test]
fn thread_local() {
    in_one_thread::<InObject>();
    in_one_thread::<InPointer>();
    assert_eq!((InObject::in_use(), InPointer::in_use()), (0, 0));
    in_two_threads::<InObject>();
    in_two_threads::<InPointer>();
}

/// The schemes run one after the other: they share a pool.
#[test]
fn buffered() {
    fn check<P: Counted>() {
        in_one_thread::<P>();
        in_two_threads::<P>();
        assert_eq!(P::in_use(), 0);
    }
    for size in [1, 7, 1000] {
        Buffered::<Immediate>::set_size(size);
        check::<BufferedImmediate>();
        Buffered::<ByThread>::set_size(size);
        check::<BufferedByThread>();
        Buffered::<LockFree>::set_size(size);
        check::<BufferedLockFree>();
        Buffered::<AtBarrier>::set_size(size);
        check::<BufferedAtBarrier>();
    }
}
