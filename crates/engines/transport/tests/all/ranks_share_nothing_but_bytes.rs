//! Two ranks over a loopback receive each other's data in order. A rank that ends early is named.

use parades_core::event::{Body, Event, EventKey, LpId, Sender};
use parades_core::shared::Shared;
use parades_core::time::{Delay, Instant, Time};
use parades_core::wire::Wire;
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{
    Bell, Between, BySerde, Clocks, Fabric, Group, Loopback, Lost, Ranked, Summary, Threads, Transport, gather_all,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Returns the ends of two ranks of one worker each. Rank *n* owns partition *n*.
fn two_ranks() -> [Ranked<'static, u64>; 2] {
    let rank = |end: Loopback| {
        let ranked = Ranked::new(Box::new(end), Threads::new(1, 2, BarrierKind::default()), 1, BySerde);
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

fn received(rank: &Ranked<'_, u64>, partition: u32) -> Vec<u64> {
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
    // Looking for news sends and receives the frames.
    first.news(0);
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
    second.news(0);
    drop(second);
    assert_eq!(first.exchange(0, &Summary::NOTHING), Err(Broken));
    let why = first.failure().expect("the transport says why");
    assert!(why.starts_with("rank 1 ended before the run did"), "{why}");
    assert_eq!(first.wait(0, first.news(0)), Err(Broken));
    // The last events of the lost rank have still arrived.
    assert_eq!(received(&first, 0), [7]);
}

/// The end of a rank as others see it when the system kills it.
struct Killed {
    end: Loopback,
    /// The rank that dies.
    victim: usize,
    /// True once the victim is dead and this rank knows it.
    is_known: Arc<AtomicBool>,
}

impl Fabric for Killed {
    fn rank(&self) -> usize {
        self.end.rank()
    }
    fn ranks(&self) -> usize {
        self.end.ranks()
    }
    fn send(&self, to: usize, bytes: &[u8]) {
        // The victim dies after its first frame, which it sends to rank 0 first.
        if self.rank() != self.victim || to == 0 {
            self.end.send(to, bytes);
        }
    }
    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        self.end.receive(accept);
    }
    fn set_bell(&self, bell: Bell) {
        self.end.set_bell(bell);
    }
    fn lost(&self, rank: usize) -> Option<Lost> {
        let is_dead = rank == self.victim && self.is_known.load(Ordering::Relaxed);
        is_dead.then(|| Lost { rank, why: Some("it was killed".into()), has_crashed: true })
    }
}

/// Rank 1 waits for a frame of the rank that was killed, and rank 0 waits for rank 1.
#[test]
fn a_rank_that_is_killed_between_two_frames_ends_the_run() {
    let (victim, known) = (2, [Arc::default(), Arc::default(), Arc::default()]);
    let rank = |(end, is_known): (Loopback, &Arc<AtomicBool>)| {
        let fabric = Killed { end, victim, is_known: Arc::clone(is_known) };
        Ranked::<u64>::new(Box::new(fabric), Threads::new(1, 3, BarrierKind::default()), 1, BySerde)
    };
    let ranks: Vec<_> = Loopback::connect(3).into_iter().zip(&known).map(rank).collect();
    let exchange = |rank: usize| ranks[rank].exchange(0, &Summary::NOTHING);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| exchange(1));
        let third = scope.spawn(|| (exchange(2), exchange(2)));
        assert_eq!(exchange(0), Ok(Summary::NOTHING));
        // The second frame of rank 2 reaches rank 0, so that only the frame of rank 1 is missing there.
        let waiting = scope.spawn(|| exchange(0));
        std::thread::sleep(std::time::Duration::from_millis(50));
        known.iter().zip(&ranks).for_each(|(is_known, rank)| {
            is_known.store(true, Ordering::Relaxed);
            rank.notify(0);
        });
        assert_eq!(waiting.join().expect("no panic"), Err(Broken));
        assert_eq!(ranks[0].failure().as_deref(), Some("rank 2 ended before the run did: it was killed"));
        assert_eq!(third.join().expect("no panic"), (Ok(Summary::NOTHING), Err(Broken)));
        assert_eq!(second.join().expect("no panic"), Err(Broken));
    });
}

/// The lengths of the byte strings that a fabric has sent.
type Lengths = Arc<Mutex<Vec<usize>>>;

/// A fabric that notes the lengths of the byte strings that it sends.
struct Counting(Loopback, Lengths);

impl Fabric for Counting {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn ranks(&self) -> usize {
        self.0.ranks()
    }
    fn send(&self, to: usize, bytes: &[u8]) {
        self.1.lock().expect("nobody panicked").push(bytes.len());
        self.0.send(to, bytes);
    }
    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        self.0.receive(accept);
    }
    fn set_bell(&self, bell: Bell) {
        self.0.set_bell(bell);
    }
    fn lost(&self, rank: usize) -> Option<Lost> {
        self.0.lost(rank)
    }
}

/// Returns two ranks over a counting fabric. Rank 0 owns partition 0, rank 1 owns partitions 1 and 2.
fn two_counting_ranks<P: Wire + Send + 'static>() -> ([Ranked<'static, P>; 2], [Lengths; 2]) {
    let sent = [Lengths::default(), Lengths::default()];
    let rank = |(end, sent): (Loopback, &Lengths)| {
        let fabric = Counting(end, Arc::clone(sent));
        let ranked = Ranked::new(Box::new(fabric), Threads::new(1, 3, BarrierKind::default()), 1, BySerde);
        ranked.settle(&[0, 1, 1], &[]);
        ranked
    };
    let ranks: Vec<_> = Loopback::connect(2).into_iter().zip(&sent).map(rank).collect();
    (ranks.try_into().expect("there are two"), sent)
}

fn exchange_on_both<P: Wire + Send + 'static>([first, second]: &[Ranked<P>; 2]) {
    std::thread::scope(|scope| {
        let second = scope.spawn(|| second.exchange(0, &Summary::NOTHING));
        assert!(first.exchange(0, &Summary::NOTHING).is_ok());
        assert!(second.join().expect("no panic").is_ok());
    });
}

#[test]
fn events_for_several_partitions_and_the_summary_after_them_are_one_byte_string() {
    let (ranks, sent) = two_counting_ranks();
    ranks[0].send(0, 1, &mut vec![event(1), event(2)]);
    ranks[0].send(0, 2, &mut vec![event(3)]);
    ranks[0].send(0, 1, &mut vec![event(4)]);
    exchange_on_both(&ranks);
    assert_eq!(sent.each_ref().map(|sent| sent.lock().expect("nobody panicked").len()), [1, 1]);
    assert_eq!((received(&ranks[1], 1), received(&ranks[1], 2)), (vec![7, 14, 28], vec![21]));
}

#[test]
fn a_long_list_of_events_begins_to_travel_before_all_of_it_is_written() {
    let (ranks, sent) = two_counting_ranks();
    ranks[0].send(0, 1, &mut (0..10_000).map(event).collect());
    let early = received(&ranks[1], 1);
    assert!(early.len() > 5_000, "{}", early.len());
    ranks[0].news(0);
    let late = received(&ranks[1], 1);
    assert!([early, late].concat().into_iter().eq((0..10_000).map(|sequence| 7 * sequence)));
    // Each byte string fits a slot of shared memory.
    assert!(sent[0].lock().expect("nobody panicked").iter().all(|&length| length < 16 << 10));
}

#[test]
fn a_datum_for_fifty_lps_of_another_rank_crosses_once() {
    const DATUM: usize = 100_000;
    let (ranks, sent) = two_counting_ranks();
    let datum = Shared::new(vec![7_u8; DATUM]);
    let event = |id| {
        let key = EventKey { instant: Instant::START, tie: 0, sender: Sender::lp(LpId(0)), sequence: u64::from(id) };
        Event::new(key, LpId(id), Body::Message(datum.clone()))
    };
    ranks[0].send(0, 1, &mut (0..50).map(event).collect());
    exchange_on_both(&ranks);
    let mut received = Vec::new();
    ranks[1].receive(0, 1, true, &mut |arrived| {
        received.extend(arrived.filter_map(|event| match event.body {
            Body::Message(message) => Some(message),
            Body::Timer(_) => None,
        }));
    });
    assert_eq!(received.len(), 50);
    assert!(received.iter().all(|other| **other == *datum && std::ptr::eq(&other[0], &received[0][0])));
    let sent: usize = sent[0].lock().expect("nobody panicked").iter().sum();
    assert!((DATUM..DATUM + 5000).contains(&sent), "{sent}");
}
