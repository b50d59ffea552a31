//! Partitions that are ranges of ids, whatever the channels are.

use super::{check, cut, homes, linked, world};
use parades_core::prelude::*;
use parades_engine::partition::{Placing, Wish};

const MS: Delay = Delay::from_ms(1);

fn ranges(workers: u32) -> Wish<'static> {
    Wish { placing: Placing::Ranges, ..Wish::of_workers(workers) }
}

#[test]
fn every_channel_between_the_halves_crosses_only_if_ids_decide() {
    let pairs = linked(100, (0..50).map(|lp| (lp, lp + 50, MS)));
    let by_channels = check(&pairs, &Wish::of_workers(2));
    assert!(by_channels.partitions() >= 2 && cut(&pairs, &by_channels) < 0.01);
    let by_ids = check(&pairs, &ranges(2));
    let halves: Vec<u32> = (0..100).map(|lp| lp / 50).collect();
    assert_eq!((homes(&by_ids, 100), by_ids.lookahead()), (halves, Some(MS)));
    assert!(cut(&pairs, &by_ids) > 0.99);
}

#[test]
fn there_is_a_range_for_each_worker_or_as_many_as_the_wish_names() {
    let anyone = world(1000, Channels::whole(MS));
    assert_eq!(check(&anyone, &ranges(3)).partitions(), 3);
    assert_eq!(check(&anyone, &Wish { partitions: Some(7), ..ranges(3) }).partitions(), 7);
    assert_eq!(check(&anyone, &ranges(1)).partitions(), 1);
}

#[test]
fn lps_without_lookahead_between_them_stay_with_the_first_of_them() {
    let chained = linked(6, [(0, 5, Delay::ZERO), (1, 2, MS), (3, 4, MS)]);
    assert_eq!(homes(&check(&chained, &ranges(2)), 6), [0, 0, 1, 1, 1, 0]);
}

#[test]
fn measured_weights_move_the_border() {
    let weights = [9, 1, 1, 1, 1, 1, 1, 1];
    let found = check(&world(8, Channels::whole(MS)), &Wish { weights: Some(&weights), ..ranges(2) });
    assert_eq!(homes(&found, 8), [0, 0, 1, 1, 1, 1, 1, 1]);
}
