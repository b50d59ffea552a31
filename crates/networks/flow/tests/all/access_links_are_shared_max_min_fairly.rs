//! The incremental solver of access links, against progressive filling of the whole network.

use parades_core::time::{Delay, Time};
use parades_flow::access::{Access, Side, TransferId};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the max-min fair rates of transfers `(from, to)`: all rates rise together until a link is full,
/// and the rates of its transfers stay.
fn progressive_filling(capacities: &[[f64; 2]], transfers: &[(u32, u32)]) -> Vec<f64> {
    let mut left: Vec<f64> = capacities.iter().flatten().copied().collect();
    let links_of = |&(from, to): &(u32, u32)| [2 * from as usize, 2 * to as usize + 1];
    let mut rates: Vec<Option<f64>> = vec![None; transfers.len()];
    while rates.contains(&None) {
        let mut counts = vec![0.0; left.len()];
        for (transfer, _) in transfers.iter().zip(&rates).filter(|(_, rate)| rate.is_none()) {
            links_of(transfer).iter().for_each(|&link| counts[link] += 1.0);
        }
        let shares = left.iter().zip(&counts).map(|(left, count)| if *count > 0.0 { left / count } else { f64::MAX });
        let shares: Vec<f64> = shares.collect();
        let (full, share) = (0..).zip(&shares).min_by(|a, b| a.1.total_cmp(b.1)).expect("there are links");
        for (transfer, rate) in transfers.iter().zip(&mut rates) {
            if rate.is_none() && links_of(transfer).contains(&full) {
                *rate = Some(*share);
                links_of(transfer).iter().for_each(|&link| left[link] -= share);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

/// A change of the network.
#[derive(Clone, Debug)]
enum Change {
    Start(u32, u32),
    /// Stops the transfer at this place of the list, modulo its length.
    Stop(usize),
    Capacity(u32, bool, f64),
}

fn changes(peers: u32) -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change = prop_oneof![
        4 => (0..peers, 0..peers).prop_map(|(from, to)| Change::Start(from, to)),
        2 => any::<usize>().prop_map(Change::Stop),
        1 => (0..peers, any::<bool>(), capacity()).prop_map(|(peer, up, to)| Change::Capacity(peer, up, to)),
    ];
    prop::collection::vec(prop::collection::vec(change, 1..4), 1..60)
}

/// Equal capacities are likely, so that levels tie.
fn capacity() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(3.0), Just(10.0), 0.1..100.0]
}

/// Makes a change. `present` are the transfers and their ends.
fn apply(
    change: Change,
    access: &mut Access,
    capacities: &mut [[f64; 2]],
    present: &mut Vec<(TransferId, (u32, u32))>,
    now: Time,
) {
    let peers = u32::try_from(capacities.len()).expect("few peers");
    match change {
        Change::Start(from, to) => {
            let ends = (from % peers, to % peers);
            present.push((access.start(now, ends.0, ends.1, 1e9), ends));
        }
        Change::Stop(place) if !present.is_empty() => {
            let (id, _) = present.swap_remove(place % present.len());
            access.stop(now, id);
        }
        Change::Stop(_) => {}
        Change::Capacity(peer, up, to) => {
            let (peer, side) = (peer % peers, if up { Side::Up } else { Side::Down });
            capacities[peer as usize][usize::from(!up)] = to;
            access.set_capacity(peer, side, to);
        }
    }
}

proptest! {
    #[test]
    fn rates_are_those_of_progressive_filling_after_any_changes(
        mut capacities in prop::collection::vec([capacity(), capacity()], 2..12),
        changes in changes(12),
    ) {
        let mut access = Access::new(capacities.clone());
        let mut present: Vec<(TransferId, (u32, u32))> = Vec::new();
        for (ms, changes) in (0..).zip(changes) {
            let now = Time::from_ms(ms);
            for change in changes {
                apply(change, &mut access, &mut capacities, &mut present, now);
            }
            access.settle(now);
            let transfers: Vec<(u32, u32)> = present.iter().map(|(_, ends)| *ends).collect();
            let expected = progressive_filling(&capacities, &transfers);
            for ((id, ends), expected) in present.iter().zip(expected) {
                let rate = access.rate(*id);
                prop_assert!((rate - expected).abs() <= 1e-9 * expected, "{ends:?}: {rate}, not {expected}");
            }
        }
    }

    /// Each batch of changes is made and undone, several at a time in reverse order, and made again.
    #[test]
    fn recorded_changes_can_be_undone(
        mut capacities in prop::collection::vec([capacity(), capacity()], 2..12),
        batches in changes(12),
        settles in any::<bool>(),
    ) {
        let mut access = Access::new(capacities.clone());
        let mut present: Vec<(TransferId, (u32, u32))> = Vec::new();
        for (ms, batches) in (0..).zip(batches.chunks(4)) {
            let now = Time::from_ms(ms);
            let mut undone = Vec::new();
            let (mut other_capacities, mut other_present) = (capacities.clone(), present.clone());
            for batch in batches {
                let before = access.clone();
                access.record();
                for change in batch {
                    apply(change.clone(), &mut access, &mut other_capacities, &mut other_present, now);
                }
                access.settle(now);
                undone.push((before, access.recorded()));
            }
            while let Some((before, changes)) = undone.pop() {
                access.undo(changes);
                prop_assert_eq!(&access, &before);
            }
            // An execution that panicked has not settled.
            if !settles {
                let before = access.clone();
                let (mut capacities, mut present) = (capacities.clone(), present.clone());
                access.record();
                for change in batches.concat() {
                    apply(change, &mut access, &mut capacities, &mut present, now);
                }
                let changes = access.recorded();
                access.undo(changes);
                prop_assert_eq!(&access, &before);
            }
            for change in batches.concat() {
                apply(change, &mut access, &mut capacities, &mut present, now);
            }
            access.settle(now);
        }
    }

    /// A link that always has a transfer of its own is full until the last bit, whatever else happens.
    #[test]
    fn no_bit_is_lost_and_none_is_sent_twice(
        starts in prop::collection::vec((1..6_u32, 0..10_000_u64, 1.0..1e6_f64), 1..40),
    ) {
        // Only the down link of peer 0 is narrow, and all send to it.
        let mut access = Access::new([[1e9, 1e6]; 6]);
        let mut starts = starts;
        starts.sort_by_key(|(_, ms, _)| *ms);
        let mut busy = Delay::ZERO;
        let (mut ended, mut begun) = (0, 0);
        let mut now = Time::ZERO;
        while ended < starts.len() {
            let start = starts.get(begun).map(|(_, ms, _)| Time::from_ms(*ms));
            let next = start.into_iter().chain(access.next_end()).min().expect("a start or an end is next");
            if access.transfers() > 0 {
                busy = busy.saturating_add(next.since(now));
            }
            now = next;
            while access.pop_ended(now).is_some() {
                ended += 1;
            }
            while begun < starts.len() && Time::from_ms(starts[begun].1) == now {
                access.start(now, starts[begun].0, 0, starts[begun].2);
                begun += 1;
            }
            access.settle(now);
        }
        let sent: f64 = starts.iter().map(|(_, _, bits)| bits).sum();
        let carried = busy.as_secs_f64() * 1e6;
        prop_assert!((sent - carried).abs() < 1e-3, "{sent} bits were sent, and the link was full for {carried}");
    }
}

#[test]
fn a_change_leaves_the_ends_of_other_transfers_alone() {
    let mut access = Access::new([[10e6, 20e6]; 4]);
    let alone = access.start(Time::ZERO, 0, 1, 5e6);
    access.settle(Time::ZERO);
    assert_eq!(access.next_end(), Some(Time::from_ms(500)));
    access.start(Time::from_ms(100), 2, 3, 1e12);
    access.settle(Time::from_ms(100));
    assert!((access.rate(alone) - 10e6).abs() < 1e-3);
    assert_eq!(access.pop_ended(Time::from_ms(500)), Some(alone));
}

#[test]
fn a_transfer_that_is_stopped_returns_the_bits_that_are_missing() {
    let mut access = Access::new([[10e6, 20e6]; 2]);
    let transfer = access.start(Time::ZERO, 0, 1, 5e6);
    access.settle(Time::ZERO);
    assert!((access.stop(Time::from_ms(100), transfer) - 4e6).abs() < 1e-3);
    assert_eq!((access.transfers(), access.next_end()), (0, None));
}

#[test]
fn transfers_that_end_together_end_in_the_order_of_their_starts() {
    let mut access = Access::new([[10e6, 20e6]; 3]);
    let transfers = [access.start(Time::ZERO, 0, 2, 5e6), access.start(Time::ZERO, 1, 2, 5e6)];
    access.settle(Time::ZERO);
    let end = Time::from_ms(500);
    assert_eq!([access.pop_ended(end), access.pop_ended(end)], transfers.map(Some));
    assert_eq!(access.pop_ended(Time::MAX), None);
}

/// An execution that panics is undone by its recorded changes, so a refused start must leave none.
#[test]
fn a_start_that_is_refused_changes_nothing() {
    let mut access = Access::new([[1.0, 1.0]; 2]);
    let stopped = access.start(Time::ZERO, 0, 1, 1.0);
    access.settle(Time::ZERO);
    access.stop(Time::ZERO, stopped);
    access.settle(Time::ZERO);
    let before = access.clone();
    for (to, bits) in [(2, 1.0), (1, f64::INFINITY), (1, 0.0)] {
        let refused = catch_unwind(AssertUnwindSafe(|| access.start(Time::ZERO, 0, to, bits)));
        assert!(refused.is_err(), "to {to}, {bits} bits");
        assert_eq!(access, before, "to {to}, {bits} bits");
    }
}
