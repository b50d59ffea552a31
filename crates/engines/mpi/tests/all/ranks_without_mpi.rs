//! The fabric over messages between threads: byte strings arrive once and in order, and ranks end together.

mod mailboxes;

use mailboxes::Mailboxes;
use parades_mpi::{Connected, connect};
use parades_transport::Fabric;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `run` on a thread for each rank. Returns the results in rank order.
fn on_ranks<T: Send>(ranks: usize, run: impl Fn(Connected) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let run = &run;
        let start = |end: Mailboxes| scope.spawn(move || run(connect(move || Ok(end)).expect("it opens")));
        let threads: Vec<_> = Mailboxes::connect(ranks).into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}

/// Returns the next `count` byte strings, with their senders.
fn receive(fabric: &dyn Fabric, count: usize) -> Vec<(usize, Vec<u8>)> {
    let mut all = Vec::new();
    while all.len() < count {
        fabric.receive(&mut |from, bytes| all.push((from, bytes.to_vec())));
        std::thread::yield_now();
    }
    assert_eq!(all.len(), count);
    all
}

/// Returns byte string `n` from one rank to another. Some are empty, and one is longer than a message.
fn bytes(from: usize, to: usize, n: usize) -> Vec<u8> {
    let length = if n == 10 { 40 << 20 } else { n % 7 * 100 };
    vec![u8::try_from((from * 31 + to * 7 + n) % 251).expect("below 251"); length]
}

#[test]
fn each_rank_receives_what_every_rank_sends_it_in_order() {
    const COUNT: usize = 300;
    for ranks in [1, 2, 3] {
        on_ranks(ranks, |Connected { job, fabric }| {
            let me = fabric.rank();
            for n in 0..COUNT {
                (0..ranks).for_each(|to| fabric.send(to, &bytes(me, to, n)));
            }
            let mut next = vec![0; ranks];
            for (from, received) in receive(&fabric, COUNT * ranks) {
                assert!(received == bytes(from, me, next[from]), "byte string {} from rank {from}", next[from]);
                next[from] += 1;
            }
            drop(fabric);
            job.end(0);
        });
    }
}

#[test]
fn a_rank_is_lost_after_everything_that_it_sent_has_been_received() {
    on_ranks(2, |Connected { job, fabric }| {
        if fabric.rank() == 1 {
            (0..100).for_each(|n| fabric.send(0, &bytes(1, 0, n % 10)));
        } else {
            // Looking for losses must not need the bytes to be received.
            let mut received = 0;
            while fabric.lost(1).is_none() {
                fabric.receive(&mut |_, _| received += 1);
            }
            assert_eq!(received, 100);
            assert_eq!(fabric.lost(1).map(|lost| lost.rank), Some(1));
        }
        drop(fabric);
        job.end(0);
    });
}

#[test]
fn the_bell_rings_for_bytes_and_for_ends() {
    on_ranks(2, |Connected { job, fabric }| {
        let rings = Arc::new(AtomicUsize::new(0));
        let bell = Arc::clone(&rings);
        fabric.set_bell(Arc::new(move || {
            bell.fetch_add(1, Ordering::SeqCst);
        }));
        let wait_for_ring = |seen| {
            while rings.load(Ordering::SeqCst) == seen {
                std::thread::yield_now();
            }
        };
        if fabric.rank() == 0 {
            let seen = rings.load(Ordering::SeqCst);
            fabric.send(1, &[1]);
            wait_for_ring(seen);
            assert!(fabric.lost(1).is_some());
        } else {
            receive(&fabric, 1);
        }
        drop(fabric);
        job.end(0);
    });
}

#[test]
fn all_ranks_gather_the_same_bytes() {
    let gathered = on_ranks(3, |Connected { job, fabric }| {
        let first = job.gather_all(vec![7; fabric.rank()]).expect("the thread runs");
        let second = job.gather_all(vec![8]).expect("the thread runs");
        drop(fabric);
        job.end(0);
        (first, second)
    });
    assert!(gathered.iter().all(|of_rank| *of_rank == (vec![vec![], vec![7], vec![7, 7]], vec![vec![8]; 3])));
}

#[test]
fn ranks_end_whenever_the_others_do() {
    for _ in 0..300 {
        on_ranks(3, |Connected { job, fabric }| {
            drop(fabric);
            job.end(0);
        });
    }
}

#[test]
fn a_rank_that_fails_aborts_the_job_if_another_does_not_end() {
    let mut ends = Mailboxes::connect(2).into_iter();
    let (failing, stuck) = (ends.next().expect("two"), ends.next().expect("two"));
    let seen = failing.clone();
    let Connected { job, fabric } = connect(move || Ok(failing)).expect("it opens");
    let other = connect(move || Ok(stuck)).expect("it opens");
    drop(fabric);
    job.end(3);
    assert_eq!(seen.aborted(), Some(3));
    // The process of the other rank has been ended with the job.
    std::mem::forget(other);
}

#[test]
fn ranks_that_all_fail_end_without_an_abort() {
    let statuses = Mailboxes::connect(2);
    let seen = statuses[0].clone();
    std::thread::scope(|scope| {
        for end in statuses {
            scope.spawn(move || {
                let Connected { job, fabric } = connect(move || Ok(end)).expect("it opens");
                drop(fabric);
                job.end(1);
            });
        }
    });
    assert_eq!(seen.aborted(), None);
}

#[test]
fn an_mpi_that_cannot_be_opened_is_an_error() {
    let found = connect(|| Err::<Mailboxes, _>("there is none".to_owned()));
    assert_eq!(found.map(drop), Err("there is none".to_owned()));
}
