//! Reductions between the workers of `Threads`, without waiting.

use parades_core::prelude::*;
use parades_raw::message::{Kind, Plain};
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{Arrived, Conservative, Meeting, Parcel, Summary, Threads, Transport, parcel_len};

fn threads<'k>(workers: usize) -> Threads<'k, Conservative> {
    Threads::new(workers, u32::try_from(workers).expect("few"), BarrierKind::default())
}

fn outcome(threads: &dyn Meeting, worker: usize) -> Option<Summary> {
    threads.outcome(worker).expect("nothing breaks")
}

/// Returns the report of a worker in a round. The reports of the workers differ.
fn report(worker: usize, round: u64) -> Summary {
    let worker = worker as u64;
    Summary {
        next: Time::from_ps(1000 * round + 7 * ((worker + round) % 3)),
        round: u32::try_from((worker + 2 * round) % 4).expect("small"),
        failed: Time::from_ps(2000 * round + (worker + 1) * (round % 5)),
        requested: if (worker + round).is_multiple_of(2) { Time::MAX } else { Time::from_ps(round + worker) },
        events: 10 * round + worker,
        rolled_back: round + worker,
        committed: 7 * round + 3 * worker,
        bytes: worker << (round % 20),
        wants_cut: (worker + round).is_multiple_of(7),
        wants_stop: (worker + 2 * round).is_multiple_of(5),
        ..Summary::NOTHING
    }
    .with_load((100 * worker + round) as f64, (worker << (round % 20)) as f64)
}

fn combined(workers: usize, round: u64) -> Summary {
    (0..workers).map(|worker| report(worker, round)).fold(Summary::NOTHING, Summary::and)
}

#[test]
fn an_outcome_comes_with_the_last_offer_and_is_the_same_for_all() {
    for workers in 1..=3 {
        let threads = threads(workers);
        assert!((0..workers).all(|worker| outcome(&threads, worker).is_none()));
        for round in 0..100 {
            // Each round another worker is first.
            for offers in 0..workers {
                let worker = (usize::try_from(round).expect("few") + offers) % workers;
                threads.offer(worker, &report(worker, round));
                let all_have = offers + 1 == workers;
                assert_eq!(outcome(&threads, worker).is_some(), all_have);
            }
            for worker in (0..workers).rev() {
                assert_eq!(outcome(&threads, worker), Some(combined(workers, round)));
                // The outcome stays until the worker makes its next offer.
                assert_eq!(outcome(&threads, worker), Some(combined(workers, round)));
            }
        }
    }
}

#[test]
fn a_next_offer_leaves_the_others_the_last_outcome() {
    let threads = threads(2);
    threads.offer(0, &report(0, 0));
    threads.offer(1, &report(1, 0));
    assert_eq!(outcome(&threads, 1), Some(combined(2, 0)));
    threads.offer(1, &report(1, 1));
    assert_eq!((outcome(&threads, 0), outcome(&threads, 1)), (Some(combined(2, 0)), None));
    threads.offer(0, &report(0, 1));
    assert_eq!((outcome(&threads, 0), outcome(&threads, 1)), (Some(combined(2, 1)), Some(combined(2, 1))));
}

#[test]
fn only_the_last_worker_to_offer_notifies_the_others() {
    let threads = threads(3);
    let news = || [0, 1, 2].map(|worker| threads.news(worker));
    for round in 0..10 {
        let before = news();
        threads.offer(2, &report(2, round));
        threads.offer(0, &report(0, round));
        assert_eq!(news(), before);
        threads.offer(1, &report(1, round));
        assert_eq!(news(), [before[0] + 1, before[1], before[2] + 1]);
        assert!((0..3).all(|worker| outcome(&threads, worker).is_some()));
    }
}

#[test]
fn a_worker_that_never_waits_learns_that_another_has_failed() {
    let threads = threads(3);
    (0..3).for_each(|worker| threads.offer(worker, &report(worker, 0)));
    assert!(outcome(&threads, 1).is_some());
    threads.offer(1, &report(1, 1));
    threads.break_up();
    // Each worker learns of the failure, whatever it has offered.
    for worker in 0..3 {
        assert_eq!(threads.outcome(worker), Err(Broken));
    }
    let threads = self::threads(1);
    threads.break_up();
    assert_eq!(threads.outcome(0), Err(Broken));
}

/// A message of type `u64` as it is stored.
type Stored<'k> = Plain<'k, 8>;

/// Returns an event that one worker sends to another in a round, as a list.
fn event<'k>(kind: Kind<'k, u64>, from: usize, to: usize, round: u64) -> Parcel<'k, Conservative> {
    let (from, to) = (u32::try_from(from).expect("few"), u32::try_from(to).expect("few"));
    let instant = Instant::at(Time::from_ps(round));
    let key = parades_core::event::EventKey { instant, tie: 0, sender: Sender::lp(LpId(from)), sequence: round };
    Parcel::new::<Stored<'_>>(vec![Event::new(key, LpId(to), Body::Message(kind.pack(round)))])
}

/// Runs a worker that makes many offers, and sends before each. It yields and sleeps at random.
fn work<'k>(kind: Kind<'k, u64>, threads: &Threads<'k, Conservative>, worker: usize, workers: usize, rounds: u64) {
    let rng = Rng::shared(3, u32::try_from(worker).expect("few"));
    let mut arrived = vec![0; workers];
    for round in 0..rounds {
        for to in 0..workers {
            let mut parcel = event(kind, worker, to, round);
            threads.send(worker, u32::try_from(to).expect("few"), parcel.hide());
            assert_eq!(parcel_len(parcel.hide()), 0);
        }
        threads.offer(worker, &report(worker, round));
        loop {
            let seen = threads.news(worker);
            if let Some(all) = outcome(threads, worker) {
                assert_eq!(all, combined(workers, round), "worker {worker}");
                break;
            }
            match rng.below(3) {
                0 => threads.wait(worker, seen).expect("nothing breaks"),
                1 => std::thread::yield_now(),
                _ => {}
            }
        }
        threads.receive(worker, u32::try_from(worker).expect("few"), false, &mut |list| {
            for event in Arrived::of(list.show::<Stored<'_>>()) {
                let sender = event.sender().as_lp().expect("an LP sent it");
                let Body::Message(sent) = event.body else { panic!("a message was sent") };
                assert_eq!(
                    kind.unpack(sent),
                    arrived[sender.index()],
                    "events from one worker to another stay in order"
                );
                arrived[sender.index()] += 1;
            }
        });
        // Events sent before this offer have arrived. Events sent before the next offer may have arrived.
        assert!(arrived.iter().all(|count| (round + 1..=round + 2).contains(count)), "{arrived:?} in round {round}");
        if rng.below(16) == 0 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn events_sent_before_an_offer_have_arrived_with_its_outcome() {
    Kind::with(|kind| {
        for workers in 1..=3 {
            let threads = &threads(workers);
            std::thread::scope(|scope| {
                for worker in 0..workers {
                    scope.spawn(move || work(kind, threads, worker, workers, 5_000));
                }
            });
        }
    });
}
