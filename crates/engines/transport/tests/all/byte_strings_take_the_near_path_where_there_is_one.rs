//! A routed fabric sends over the near fabric where both ranks have a seat, and over the far fabric
//! elsewhere.

use parades_transport::{Fabric, Loopback, Routed};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The machines of four ranks: 0 and 2 share one, 3 and 1 another.
const MACHINES: [[usize; 2]; 2] = [[0, 2], [3, 1]];

/// Returns the routed fabrics of four ranks.
fn four_ranks() -> Vec<Routed<Loopback, Loopback>> {
    let mut near: Vec<Option<Loopback>> = (0..4).map(|_| None).collect();
    for members in MACHINES {
        members.iter().zip(Loopback::connect(2)).for_each(|(&rank, end)| near[rank] = Some(end));
    }
    let routed = near.into_iter().zip(Loopback::connect(4)).map(|(near, far)| {
        let members = MACHINES.into_iter().find(|members| members.contains(&far.rank())).expect("each has one");
        Routed::new(near.expect("each has a seat"), members.to_vec(), far)
    });
    routed.collect()
}

fn received(fabric: &dyn Fabric) -> Vec<(usize, Vec<u8>)> {
    let mut all = Vec::new();
    fabric.receive(&mut |from, bytes| all.push((from, bytes.to_vec())));
    all.sort();
    all
}

fn byte(rank: usize) -> u8 {
    u8::try_from(rank).expect("there are four")
}

#[test]
fn each_rank_receives_from_all_under_their_own_numbers() {
    let ranks = four_ranks();
    for (from, rank) in ranks.iter().enumerate() {
        assert_eq!((rank.rank(), rank.ranks()), (from, 4));
        (0..4).for_each(|to| rank.send(to, &[byte(from), byte(to)]));
    }
    for (to, rank) in ranks.iter().enumerate() {
        let expected: Vec<_> = (0..4).map(|from| (from, vec![byte(from), byte(to)])).collect();
        assert_eq!(received(rank), expected);
    }
}

#[test]
fn both_paths_ring_the_bell() {
    let ranks = four_ranks();
    let rings = Arc::new(AtomicUsize::new(0));
    let bell = Arc::clone(&rings);
    ranks[1].set_bell(Arc::new(move || {
        bell.fetch_add(1, Ordering::SeqCst);
    }));
    ranks[3].send(1, &[1]);
    assert_eq!(rings.load(Ordering::SeqCst), 1, "near");
    ranks[0].send(1, &[1]);
    assert_eq!(rings.load(Ordering::SeqCst), 2, "far");
}

#[test]
fn a_rank_that_ends_is_lost_under_its_own_number_to_near_and_far_ranks() {
    let mut ranks = four_ranks();
    ranks[1].send(3, &[5]);
    drop(ranks.remove(1));
    let [first, third, fourth] = &ranks[..] else { unreachable!("one of four has ended") };
    assert_eq!(first.lost(1).map(|lost| lost.rank), Some(1));
    assert_eq!(third.lost(1).map(|lost| lost.rank), Some(1));
    assert_eq!(fourth.lost(1), None, "its bytes have not been received");
    assert_eq!(received(fourth), [(1, vec![5])]);
    assert_eq!(fourth.lost(1).map(|lost| lost.rank), Some(1));
    assert_eq!(fourth.lost(0), None);
}
