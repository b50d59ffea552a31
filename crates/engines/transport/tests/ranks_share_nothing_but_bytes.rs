//! Two ranks over a loopback receive each other's data in order. A rank that ends early is named.

use parades_core::event::{Body, Event, EventKey, LpId, Sender};
use parades_core::time::{Delay, Instant, Time};
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{Between, Clocks, Group, Loopback, Ranked, Summary, Threads, Transport, gather_all};
use std::sync::Arc;

/// Returns the ends of two ranks of one worker each. Rank *n* owns partition *n*.
fn two_ranks() -> [Ranked<u64>; 2] {
    let rank = |end: Loopback| {
        let ranked = Ranked::new(Box::new(end), Threads::new(1, 2, BarrierKind::default()), 1);
        ranked.settle(&[0, 1], &[]);
        ranked
    };
    let ranks: Vec<_> = Loopback::connect(2).into_iter().map(rank).collect();
    ranks.try_into().expect("there are two")
}

fn event(sequence: u64) -> Event<u64> {
    let instant = Instant::at(Time::from_ps(100 + sequence));
    let key = EventKey { instant, tie: 0, sender: Sender::lp(LpId(0)), sequence };
    Event::new(key, LpId(1), Body::Message(7 * sequence))
}

fn received(rank: &Ranked<u64>, partition: u32) -> Vec<u64> {
    let mut messages = Vec::new();
    rank.receive(0, partition, true, &mut |arrived| {
        messages.extend(arrived.filter_map(|event| match event.body {
            Body::Message(message) => Some(message),
            Body::Timer(_) => None,
        }));
    });
    messages
}

#[test]
fn events_sent_before_an_exchange_have_arrived_after_it() {
    let [first, second] = &two_ranks();
    first.send(0, 1, &mut vec![event(1), event(2)]);
    first.send(0, 1, &mut vec![event(3)]);
    let summary = |events| Summary { events, ..Summary::NOTHING };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| second.exchange(0, &summary(5)).expect("both are there"));
        assert_eq!(first.exchange(0, &summary(3)).expect("both are there").events, 8);
        assert_eq!(other.join().expect("no panic").events, 8);
    });
    assert_eq!(received(second, 1), [7, 14, 21]);
    assert_eq!((first.crossed(), second.crossed()), (3, 0));
}

#[test]
fn an_outcome_needs_the_offers_of_both_ranks() {
    let [first, second] = &two_ranks();
    let offer = |next| Summary { next: Time::from_ps(next), ..Summary::NOTHING };
    first.offer(0, &offer(40));
    assert_eq!(first.outcome(0), Ok(None));
    second.offer(0, &offer(30));
    assert_eq!(first.outcome(0), Ok(Some(offer(30))));
    assert_eq!(second.outcome(0), Ok(Some(offer(30))));
    // Each outcome is received once.
    assert_eq!(first.outcome(0), Ok(None));
}

#[test]
fn a_promise_arrives_after_the_events_that_were_sent_before_it() {
    let [first, second] = &two_ranks();
    let channel = Between { from: 0, to: 1, lookahead: Delay::from_ps(1) };
    let own = || Clocks::new(2, &[channel]);
    let ((of_first, ids), (of_second, _)) = (own(), own());
    let (of_first, of_second) = (Arc::new(of_first), Arc::new(of_second));
    first.settle(&[0, 1], &[Arc::clone(&of_first)]);
    second.settle(&[0, 1], &[Arc::clone(&of_second)]);
    first.send(0, 1, &mut vec![event(1)]);
    first.promise(0, &of_first, ids[0], Time::from_ps(500));
    assert_eq!(of_second.earliest(1), Time::ZERO);
    // Looking for news receives the frames.
    second.news(0);
    assert_eq!(of_second.earliest(1), Time::from_ps(500));
    assert_eq!(received(second, 1), [7]);
}

#[test]
fn all_ranks_gather_the_values_of_all() {
    let [first, second] = &two_ranks();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| gather_all(second, &"two".to_owned()));
        assert_eq!(gather_all(first, &"one".to_owned()), Ok(vec!["one".into(), "two".into()]));
        assert_eq!(other.join().expect("no panic"), Ok(vec!["one".into(), "two".into()]));
    });
    assert_eq!((first.rank(), second.rank(), first.ranks()), (0, 1, 2));
}

#[test]
fn a_rank_that_ends_early_is_named_and_nobody_waits_for_it() {
    let [first, second] = two_ranks();
    second.send(0, 0, &mut vec![event(1)]);
    drop(second);
    assert_eq!(first.exchange(0, &Summary::NOTHING), Err(Broken));
    let why = first.failure().expect("the transport says why");
    assert!(why.starts_with("rank 1 ended before the run did"), "{why}");
    assert_eq!(first.wait(0, first.news(0)), Err(Broken));
    // The last events of the lost rank have still arrived.
    assert_eq!(received(&first, 0), [7]);
}
