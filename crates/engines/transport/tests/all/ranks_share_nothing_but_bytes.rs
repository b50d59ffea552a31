//! Two ranks over a loopback receive each other's data in order. A rank that ends early is named.

use parades_core::any_model::{Form, MessageRef, Packed, hide_body, in_form};
use parades_core::event::{Body, Event, EventKey, Header, LpId, Sender, TimerId};
use parades_core::shared::Shared;
use parades_core::time::{Delay, Instant, Time};
use parades_core::wire::{self, Malformed, Room, Wire};
use parades_raw::message::Kind;
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{
    Arrived, Bell, Between, Clocks, Codec, Conservative, Fabric, Group, Loopback, Lost, Meeting, Parcel, ParcelRef,
    Promising, Ranked, Summary, Threads, Transport, gather_all, parcel_len, swap_by,
};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The transport of a rank.
type Rank<'k> = Ranked<'k, Conservative>;

/// Messages of one type, as they are stored and as they travel.
struct Messages<'k, M>(Kind<'k, M>);

impl<'k, M: Wire + Send + 'static> Messages<'k, M> {
    /// Returns a list of events with these messages.
    fn list(&self, events: Vec<Event<M>>) -> Parcel<'k, Conservative> {
        fn list_in<'k, P: Packed<'k>, M: Send + 'static>(
            kind: Kind<'k, M>,
            events: Vec<Event<M>>,
        ) -> Parcel<'k, Conservative> {
            let stored = events.into_iter().map(|event| {
                let (header, body) = event.into_parts();
                header.with(body.map(|message| kind.pack::<P>(message)))
            });
            Parcel::new::<P>(stored.collect())
        }
        let form = Form::of::<M>();
        in_form!(form, list_in::<M>(self.0, events))
    }

    /// Takes the messages of the events that have arrived.
    fn taken(&self, list: ParcelRef<'_, 'k, Conservative>) -> Vec<M> {
        fn taken_in<'k, P: Packed<'k>, M: Send + 'static>(
            kind: Kind<'k, M>,
            list: ParcelRef<'_, 'k, Conservative>,
        ) -> Vec<M> {
            let message = |event: Event<P>| match event.body {
                Body::Message(message) => Some(kind.unpack(message)),
                Body::Timer(_) => None,
            };
            Arrived::of(list.show::<P>()).filter_map(message).collect()
        }
        in_form!(list.form(), taken_in::<M>(self.0, list))
    }

    /// Sends events to a partition, as worker 0.
    fn send(&self, rank: &Rank<'k>, partition: u32, events: Vec<Event<M>>) {
        let mut list = self.list(events);
        rank.send(0, partition, list.hide());
        assert_eq!(parcel_len(list.hide()), 0);
    }

    /// Returns the messages that have arrived for a partition.
    fn received(&self, rank: &Rank<'k>, partition: u32) -> Vec<M> {
        let mut messages = Vec::new();
        rank.receive(0, partition, true, &mut |list| messages.extend(self.taken(list)));
        messages
    }

    fn write_event(&self, event: &Event<MessageRef<'_, 'k>>, to: &mut Room<'_>) {
        let timer = match event.body {
            Body::Message(_) => None,
            Body::Timer(timer) => Some(timer),
        };
        wire::write(&(event.header(), timer), to);
        if let Body::Message(message) = event.body {
            wire::write(self.0.open(message), to);
        }
    }

    fn read_event(from: &mut &[u8]) -> Result<Event<M>, Malformed> {
        let (header, timer): (Header, Option<TimerId>) = wire::read(from)?;
        let body = match timer {
            Some(timer) => Body::Timer(timer),
            None => Body::Message(wire::read(from)?),
        };
        Ok(header.with(body))
    }
}

impl<'k, M: Wire + Send + 'static> Codec<'k, Conservative> for Messages<'k, M> {
    fn write(
        &self,
        events: ParcelRef<'_, 'k, Conservative>,
        range: Range<usize>,
        bytes: usize,
        to: &mut Room<'_>,
    ) -> usize {
        fn write_in<'k, P: Packed<'k>, M: Wire + Send + 'static>(
            messages: &Messages<'k, M>,
            events: ParcelRef<'_, 'k, Conservative>,
            range: Range<usize>,
            bytes: usize,
            to: &mut Room<'_>,
        ) -> usize {
            wire::write_up_to(&events.show::<P>()[range], bytes, to, |event, to| {
                messages.write_event(&event.header().with(hide_body(&event.body)), to);
            })
        }
        in_form!(events.form(), write_in::<M>(self, events, range, bytes, to))
    }

    fn read(&self, count: u32, from: &mut &[u8]) -> Result<Parcel<'k, Conservative>, Malformed> {
        let events = (0..count).map(|_| Self::read_event(from)).collect::<Result<_, _>>()?;
        Ok(self.list(events))
    }
}

/// Makes two ranks of one worker each, for messages of type `u64`. Rank *n* owns partition *n*.
fn with_two_ranks(test: impl for<'k> FnOnce(Messages<'k, u64>, [Rank<'k>; 2])) {
    Kind::with(|kind| {
        let rank = |end: Loopback| {
            let threads = Threads::new(1, 2, BarrierKind::default());
            let ranked = Ranked::new(Box::new(end), threads, 1, Box::new(Messages(kind)));
            ranked.settle(&[0, 1]);
            ranked
        };
        let ranks: Vec<_> = Loopback::connect(2).into_iter().map(rank).collect();
        test(Messages(kind), ranks.try_into().expect("there are two"));
    });
}

fn event(sequence: u64) -> Event<u64> {
    let instant = Instant::at(Time::from_ps(100 + sequence));
    let key = EventKey { instant, tie: 0, sender: Sender::lp(LpId(0)), sequence };
    Event::new(key, LpId(1), Body::Message(7 * sequence))
}

#[test]
fn events_sent_before_an_exchange_have_arrived_after_it() {
    with_two_ranks(|messages, [first, second]| {
        messages.send(&first, 1, vec![event(1), event(2)]);
        messages.send(&first, 1, vec![event(3)]);
        let summary = |events| Summary { events, ..Summary::NOTHING };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| second.exchange(0, &summary(5)).expect("both are there"));
            assert_eq!(first.exchange(0, &summary(3)).expect("both are there").events, 8);
            assert_eq!(other.join().expect("no panic").events, 8);
        });
        assert_eq!(messages.received(&second, 1), [7, 14, 21]);
        assert_eq!((first.crossed(), second.crossed()), (3, 0));
    });
}

#[test]
fn an_outcome_needs_the_offers_of_both_ranks() {
    with_two_ranks(|_, [first, second]| {
        let offer = |next| Summary { next: Time::from_ps(next), ..Summary::NOTHING };
        first.offer(0, &offer(40));
        assert_eq!(first.outcome(0), Ok(None));
        second.offer(0, &offer(30));
        assert_eq!(first.outcome(0), Ok(Some(offer(30))));
        assert_eq!(second.outcome(0), Ok(Some(offer(30))));
        // Each outcome is received once.
        assert_eq!(first.outcome(0), Ok(None));
    });
}

#[test]
fn a_promise_arrives_after_the_events_that_were_sent_before_it() {
    with_two_ranks(|messages, [first, second]| {
        let channel = Between { from: 0, to: 1, lookahead: Delay::from_ps(1) };
        let own = || Clocks::new(2, &[channel]);
        let ((of_first, ids), (of_second, _)) = (own(), own());
        let (of_first, of_second) = (Arc::new(of_first), Arc::new(of_second));
        first.settle_clocks(&[Arc::clone(&of_first)]);
        second.settle_clocks(&[Arc::clone(&of_second)]);
        messages.send(&first, 1, vec![event(1)]);
        first.promise(0, &of_first, ids[0], Time::from_ps(500));
        assert_eq!(of_second.earliest(1), Time::ZERO);
        // Looking for news sends and receives the frames.
        first.news(0);
        second.news(0);
        assert_eq!(of_second.earliest(1), Time::from_ps(500));
        assert_eq!(messages.received(&second, 1), [7]);
    });
}

#[test]
fn all_ranks_gather_the_values_of_all() {
    with_two_ranks(|_, [first, second]| {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| gather_all(&second, &"two".to_owned()));
            assert_eq!(gather_all(&first, &"one".to_owned()), Ok(vec!["one".into(), "two".into()]));
            assert_eq!(other.join().expect("no panic"), Ok(vec!["one".into(), "two".into()]));
        });
        assert_eq!((first.rank(), second.rank(), first.ranks()), (0, 1, 2));
    });
}

#[test]
fn each_rank_sends_each_other_its_own_bytes() {
    let swapped = |rank: &Ranked<'_, Conservative>, mine: [&str; 2]| {
        let mut heard = Vec::new();
        let mine = mine.map(|bytes| bytes.as_bytes().to_vec()).to_vec();
        swap_by(rank, mine, |from, bytes| {
            heard.push((from, std::mem::take(bytes).to_vec()));
            Ok(())
        })
        .map(|()| heard)
    };
    with_two_ranks(|_, [first, second]| {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| swapped(&second, ["to the first", "unread"]));
            assert_eq!(swapped(&first, ["unread", "to the second"]), Ok(vec![(1, b"to the first".to_vec())]));
            assert_eq!(other.join().expect("no panic"), Ok(vec![(0, b"to the second".to_vec())]));
        });
    });
}

#[test]
fn a_rank_that_ends_early_is_named_and_nobody_waits_for_it() {
    with_two_ranks(|messages, [first, second]| {
        messages.send(&second, 0, vec![event(1)]);
        second.news(0);
        drop(second);
        assert_eq!(first.exchange(0, &Summary::NOTHING), Err(Broken));
        let why = first.failure().expect("the transport says why");
        assert!(why.starts_with("rank 1 ended before the run did"), "{why}");
        assert_eq!(first.wait(0, first.news(0)), Err(Broken));
        // The last events of the lost rank have still arrived.
        assert_eq!(messages.received(&first, 0), [7]);
    });
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
    Kind::with(|kind: Kind<'_, u64>| {
        let (victim, known) = (2, [Arc::default(), Arc::default(), Arc::default()]);
        let rank = |(end, is_known): (Loopback, &Arc<AtomicBool>)| {
            let fabric = Killed { end, victim, is_known: Arc::clone(is_known) };
            let threads = Threads::new(1, 3, BarrierKind::default());
            Ranked::new(Box::new(fabric), threads, 1, Box::new(Messages(kind)))
        };
        let ranks: Vec<Rank<'_>> = Loopback::connect(3).into_iter().zip(&known).map(rank).collect();
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

/// Makes two ranks over a counting fabric, for messages of type `M`. Rank 0 owns partition 0, rank 1 owns
/// partitions 1 and 2.
fn with_two_counting_ranks<M: Wire + Send + 'static>(
    test: impl for<'k> FnOnce(Messages<'k, M>, [Rank<'k>; 2], [Lengths; 2]),
) {
    Kind::with(|kind| {
        let sent = [Lengths::default(), Lengths::default()];
        let rank = |(end, sent): (Loopback, &Lengths)| {
            let fabric = Counting(end, Arc::clone(sent));
            let threads = Threads::new(1, 3, BarrierKind::default());
            let ranked = Ranked::new(Box::new(fabric), threads, 1, Box::new(Messages(kind)));
            ranked.settle(&[0, 1, 1]);
            ranked
        };
        let ranks: Vec<_> = Loopback::connect(2).into_iter().zip(&sent).map(rank).collect();
        test(Messages(kind), ranks.try_into().expect("there are two"), sent);
    });
}

fn exchange_on_both([first, second]: &[Rank<'_>; 2]) {
    std::thread::scope(|scope| {
        let second = scope.spawn(|| second.exchange(0, &Summary::NOTHING));
        assert!(first.exchange(0, &Summary::NOTHING).is_ok());
        assert!(second.join().expect("no panic").is_ok());
    });
}

#[test]
fn events_for_several_partitions_and_the_summary_after_them_are_one_byte_string() {
    with_two_counting_ranks(|messages, ranks, sent| {
        messages.send(&ranks[0], 1, vec![event(1), event(2)]);
        messages.send(&ranks[0], 2, vec![event(3)]);
        messages.send(&ranks[0], 1, vec![event(4)]);
        exchange_on_both(&ranks);
        assert_eq!(sent.each_ref().map(|sent| sent.lock().expect("nobody panicked").len()), [1, 1]);
        assert_eq!((messages.received(&ranks[1], 1), messages.received(&ranks[1], 2)), (vec![7, 14, 28], vec![21]));
    });
}

#[test]
fn a_long_list_of_events_begins_to_travel_before_all_of_it_is_written() {
    with_two_counting_ranks(|messages, ranks, sent| {
        messages.send(&ranks[0], 1, (0..10_000).map(event).collect());
        let early = messages.received(&ranks[1], 1);
        assert!(early.len() > 5_000, "{}", early.len());
        ranks[0].news(0);
        let late = messages.received(&ranks[1], 1);
        assert!([early, late].concat().into_iter().eq((0..10_000).map(|sequence| 7 * sequence)));
        // The receiver can read the first events while the last are written.
        assert!(sent[0].lock().expect("nobody panicked").iter().all(|&length| length < 16 << 10));
    });
}

#[test]
fn a_list_of_large_events_travels_in_byte_strings_of_a_few_events() {
    with_two_counting_ranks(|messages, ranks, sent| {
        let payload = |id: u32| vec![id.to_le_bytes()[0]; 3000];
        let event = |id: u32| {
            let key =
                EventKey { instant: Instant::START, tie: 0, sender: Sender::lp(LpId(0)), sequence: u64::from(id) };
            Event::new(key, LpId(1), Body::Message(payload(id)))
        };
        messages.send(&ranks[0], 1, (0..100).map(event).collect());
        ranks[0].news(0);
        assert_eq!(messages.received(&ranks[1], 1), (0..100).map(payload).collect::<Vec<_>>());
        let sent = sent[0].lock().expect("nobody panicked");
        assert!(sent.iter().all(|&length| length < 16 << 10), "{sent:?}");
    });
}

#[test]
fn a_datum_for_fifty_lps_of_another_rank_crosses_once() {
    with_two_counting_ranks(|messages, ranks, sent| {
        const DATUM: usize = 100_000;
        let datum = Shared::new(vec![7_u8; DATUM]);
        let event = |id| {
            let key =
                EventKey { instant: Instant::START, tie: 0, sender: Sender::lp(LpId(0)), sequence: u64::from(id) };
            Event::new(key, LpId(id), Body::Message(datum.clone()))
        };
        messages.send(&ranks[0], 1, (0..50).map(event).collect());
        exchange_on_both(&ranks);
        let received = messages.received(&ranks[1], 1);
        assert_eq!(received.len(), 50);
        assert!(received.iter().all(|other| **other == *datum && std::ptr::eq(&other[0], &received[0][0])));
        let sent: usize = sent[0].lock().expect("nobody panicked").iter().sum();
        assert!((DATUM..DATUM + 5000).contains(&sent), "{sent}");
    });
}
