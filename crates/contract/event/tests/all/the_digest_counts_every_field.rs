//! The digest of an event depends on every field of its key and on all of its body. A shared payload is
//! folded once.

use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, EventKey, Sender, TimerId};
use parades_core::shared::Shared;
use parades_core::time::{Instant, Time};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

fn key(time: u64, round: u32, sender: u32, sequence: u64) -> EventKey {
    let instant = Instant { time: Time::from_ps(time), round };
    EventKey { instant, tie: 0, sender: Sender::from_rank(sender), sequence }
}

fn digest_of<P: Payload>(events: &[(EventKey, Body<P>)]) -> u64
where
    Body<P>: Clone,
{
    let mut digest = Digest::default();
    events.iter().for_each(|(key, body)| digest.event(key, body.as_ref()));
    digest.value()
}

#[test]
fn no_two_of_many_keys_that_differ_by_little_have_one_digest() {
    let mut digests = BTreeSet::new();
    let near = |middle: u64| (0..6).map(move |i| middle + i);
    for time in near(0).chain(near(1 << 40)) {
        for round in 0..6 {
            for sender in (0..6).chain([1 << 20, u32::MAX]) {
                for sequence in near(0).chain(near((1 << 32) - 3)).chain(near(1 << 50)) {
                    digests.insert(digest_of(&[(key(time, round, sender, sequence), Body::Message(()))]));
                }
            }
        }
    }
    assert_eq!(digests.len(), 12 * 6 * 8 * 18);
}

#[test]
fn payload_timer_and_order_count() {
    let (a, b) = (key(5, 0, 1, 1), key(5, 0, 2, 1));
    let message = Body::Message::<u64>;
    let digests = BTreeSet::from([
        digest_of(&[(a, message(1))]),
        digest_of(&[(a, message(2))]),
        digest_of::<u64>(&[(a, Body::Timer(TimerId(3)))]),
        digest_of::<u64>(&[(a, Body::Timer(TimerId(4)))]),
        digest_of(&[(a, message(1)), (b, message(1))]),
        digest_of(&[(b, message(1)), (a, message(1))]),
        digest_of(&[(a, message(1)), (b, message(2))]),
        digest_of(&[(a, message(2)), (b, message(1))]),
    ]);
    assert_eq!(digests.len(), 8);
}

#[test]
fn the_tie_shuffle_is_not_folded() {
    let shuffled = EventKey { tie: 77, ..key(5, 0, 1, 1) };
    assert_eq!(digest_of(&[(shuffled, Body::Message(1_u32))]), digest_of(&[(key(5, 0, 1, 1), Body::Message(1_u32))]));
}

#[test]
fn bytes_count_with_their_length_wherever_they_differ() {
    let of = |bytes: &[u8]| {
        let mut digest = Digest::default();
        digest.bytes(bytes);
        digest.value()
    };
    let mut digests: BTreeSet<u64> = (0..50).map(|length| of(&vec![0; length])).collect();
    assert_eq!(digests.len(), 50);
    digests.clear();
    for place in 0..50 {
        let mut bytes = [0; 50];
        bytes[place] = 1;
        digests.insert(of(&bytes));
    }
    assert_eq!(digests.len(), 50);
}

/// The number of times that a [`Counted`] was folded.
static FOLDED: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
struct Counted(u64);

impl Payload for Counted {
    fn fold(&self, digest: &mut Digest) {
        FOLDED.fetch_add(1, Ordering::Relaxed);
        digest.word(self.0);
    }
}

#[test]
fn a_shared_payload_is_folded_once_when_it_is_written() {
    let fold = |shared: &Shared<Counted>| {
        let mut digest = Digest::default();
        shared.fold(&mut digest);
        digest.value()
    };
    let one = Shared::new(Counted(1));
    let digests: BTreeSet<u64> = (0..10).map(|_| fold(&one.clone())).collect();
    assert_eq!((digests.len(), FOLDED.load(Ordering::Relaxed)), (1, 1));
    assert!(!digests.contains(&fold(&Shared::new(Counted(2)))));
}
