//! Reductions between the workers of `Threads`, without waiting.

use parades_core::prelude::*;
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{Summary, Threads, Transport};

fn threads(workers: usize) -> Threads<u64> {
    Threads::new(workers, u32::try_from(workers).expect("few"), BarrierKind::default())
}

fn offer(threads: &Threads<u64>, worker: usize, mine: &Summary) {
    Transport::<u64>::offer(threads, worker, mine);
}

fn outcome(threads: &Threads<u64>, worker: usize) -> Option<Summary> {
    Transport::<u64>::outcome(threads, worker).expect("nothing breaks")
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
        ..Summary::NOTHING
    }
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
                offer(&threads, worker, &report(worker, round));
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
    offer(&threads, 0, &report(0, 0));
    offer(&threads, 1, &report(1, 0));
    assert_eq!(outcome(&threads, 1), Some(combined(2, 0)));
    offer(&threads, 1, &report(1, 1));
    assert_eq!((outcome(&threads, 0), outcome(&threads, 1)), (Some(combined(2, 0)), None));
    offer(&threads, 0, &report(0, 1));
    assert_eq!((outcome(&threads, 0), outcome(&threads, 1)), (Some(combined(2, 1)), Some(combined(2, 1))));
}

#[test]
fn only_the_last_worker_to_offer_notifies_the_others() {
    let threads = threads(3);
    let news = || [0, 1, 2].map(|worker| Transport::<u64>::news(&threads, worker));
    for round in 0..10 {
        let before = news();
        offer(&threads, 2, &report(2, round));
        offer(&threads, 0, &report(0, round));
        assert_eq!(news(), before);
        offer(&threads, 1, &report(1, round));
        assert_eq!(news(), [before[0] + 1, before[1], before[2] + 1]);
        assert!((0..3).all(|worker| outcome(&threads, worker).is_some()));
    }
}

#[test]
fn a_worker_that_never_waits_learns_that_another_has_failed() {
    let threads = threads(3);
    (0..3).for_each(|worker| offer(&threads, worker, &report(worker, 0)));
    assert!(outcome(&threads, 1).is_some());
    offer(&threads, 1, &report(1, 1));
    Transport::<u64>::break_up(&threads);
    // Each worker learns of the failure, whatever it has offered.
    for worker in 0..3 {
        assert_eq!(Transport::<u64>::outcome(&threads, worker), Err(Broken));
    }
    let threads = self::threads(1);
    Transport::<u64>::break_up(&threads);
    assert_eq!(Transport::<u64>::outcome(&threads, 0), Err(Broken));
}

/// Returns an event that one worker sends to another in a round.
fn event(from: usize, to: usize, round: u64) -> Event<u64> {
    let (from, to) = (u32::try_from(from).expect("few"), u32::try_from(to).expect("few"));
    let instant = Instant::at(Time::from_ps(round));
    let key = parades_core::event::EventKey { instant, tie: 0, sender: Sender::lp(LpId(from)), sequence: round };
    Event::new(key, LpId(to), Body::Message(round))
}

/// Runs a worker that makes many offers, and sends before each. It yields and sleeps at random.
fn work(threads: &Threads<u64>, worker: usize, workers: usize, rounds: u64) {
    let rng = Rng::shared(3, u32::try_from(worker).expect("few"));
    let mut arrived = vec![0; workers];
    for round in 0..rounds {
        for to in 0..workers {
            let mut parcel = vec![event(worker, to, round)];
            threads.send(worker, u32::try_from(to).expect("few"), &mut parcel);
            assert!(parcel.is_empty());
        }
        offer(threads, worker, &report(worker, round));
        loop {
            let seen = Transport::<u64>::news(threads, worker);
            if let Some(all) = outcome(threads, worker) {
                assert_eq!(all, combined(workers, round), "worker {worker}");
                break;
            }
            match rng.below(3) {
                0 => Transport::<u64>::wait(threads, worker, seen).expect("nothing breaks"),
                1 => std::thread::yield_now(),
                _ => {}
            }
        }
        threads.receive(worker, u32::try_from(worker).expect("few"), false, &mut |list| {
            for event in list {
                let sender = event.sender().as_lp().expect("an LP sent it");
                let Body::Message(sent) = event.body else { panic!("a message was sent") };
                assert_eq!(sent, arrived[sender.index()], "events from one worker to another stay in order");
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
    for workers in 1..=3 {
        let threads = threads(workers);
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let threads = &threads;
                scope.spawn(move || work(threads, worker, workers, 5_000));
            }
        });
    }
}
