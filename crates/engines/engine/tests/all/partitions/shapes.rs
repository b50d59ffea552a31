//! The partitions of graphs of simple shape.

use super::{check, cut, imbalance, linked, world};
use parades_core::prelude::*;
use parades_core::world::World;
use parades_engine::partition::{Partitioning, Placing, Wish};

const MS: Delay = Delay::from_ms(1);

#[test]
fn one_lp_is_one_partition() {
    for channels in [Channels::none(), Channels::whole(MS), Channels::undeclared()] {
        assert_eq!(check(&world(1, channels), &Wish::of_workers(8)).partitions(), 1);
    }
}

#[test]
fn channels_from_an_lp_to_itself_join_nothing() {
    let mut channels = Channels::none();
    (0..100).for_each(|lp| channels.connect(LpId(lp), LpId(lp), Delay::ZERO));
    let found = check(&world(100, channels), &Wish::of_workers(2));
    assert_eq!((found.partitions() > 1, found.lookahead()), (true, None));
}

#[test]
#[should_panic(expected = "the channels are those of a world")]
fn channels_of_no_world_are_refused() {
    let mut channels = Channels::none();
    channels.connect(LpId(0), LpId(1), MS);
    Partitioning::find(&channels, 2, &Wish::of_workers(2));
}

#[test]
fn partitions_are_a_multiple_of_the_workers_if_possible() {
    let found = check(&grid(20, MS), &Wish { partitions: Some(5), ..Wish::of_workers(4) });
    assert_eq!(found.partitions(), 4);
}

#[test]
fn without_lookahead_there_is_one_partition() {
    let mut channels = Channels::whole(Delay::ZERO);
    channels.connect(LpId(0), LpId(1), MS);
    assert_eq!(check(&world(100, channels), &Wish::of_workers(8)).partitions(), 1);
    let chain = linked(100, (1..100).map(|lp| (lp - 1, lp, Delay::ZERO)));
    assert_eq!(check(&chain, &Wish::of_workers(8)).partitions(), 1);
}

#[test]
fn groups_that_are_near_stay_whole() {
    let mut channels = Channels::whole(Delay::from_ms(2));
    // Members of a group have no neighbouring ids.
    (0..1_000).for_each(|lp| channels.to_other_groups(LpId(lp), lp % 50, Delay::from_ms(200)));
    let world = world(1_000, channels);
    let found = check(&world, &Wish::of_workers(4));
    assert_eq!(found.lookahead(), Some(Delay::from_ms(200)));
    assert!((50..1_000).all(|lp| found.of(LpId(lp)) == found.of(LpId(lp - 50))));
    assert!(found.partitions() >= 4 && imbalance(&found, 4, |_| 1) < 1.1);
    let ranges = check(&world, &Wish { placing: Placing::Ranges, ..Wish::of_workers(4) });
    assert_eq!(ranges.lookahead(), Some(Delay::from_ms(2)), "ranges of ids split all groups");
}

#[test]
fn a_group_that_is_too_large_is_split() {
    let mut channels = Channels::whole(Delay::from_ms(2));
    (0..1_000).for_each(|lp| channels.to_other_groups(LpId(lp), lp / 990, Delay::from_ms(3)));
    let found = check(&world(1_000, channels), &Wish::of_workers(4));
    assert_eq!(found.lookahead(), Some(Delay::from_ms(2)));
    assert!(imbalance(&found, 4, |_| 1) < 1.2);
}

#[test]
fn one_worker_has_one_partition_unless_the_wish_asks_for_more() {
    let world = world(100, Channels::whole(MS));
    assert_eq!(check(&world, &Wish::of_workers(1)).partitions(), 1);
    assert_eq!(check(&world, &Wish { partitions: Some(2), ..Wish::of_workers(1) }).partitions(), 2);
}

#[test]
fn independent_lps_are_distributed_without_a_lookahead() {
    let found = check(&world(1000, Channels::none()), &Wish::of_workers(4));
    assert_eq!(found.lookahead(), None);
    assert!(found.partitions() >= 4 && imbalance(&found, 4, |_| 1) < 1.1);
    // Rings that are not connected with each other stay whole.
    let rings = (0..8).flat_map(|ring| (0..50).map(move |i| (ring * 50 + i, ring * 50 + (i + 1) % 50, MS)));
    let found = check(&linked(400, rings), &Wish::of_workers(4));
    assert_eq!((found.partitions(), found.lookahead()), (8, None));
}

#[test]
fn an_lp_that_may_send_to_any_other_bounds_the_lookahead_of_every_cut() {
    let mut channels = Channels::none();
    (0..99).for_each(|lp| channels.connect(LpId(lp), LpId(lp + 1), Delay::from_ms(10)));
    channels.to_anyone(LpId(7), MS);
    let found = check(&world(100, channels), &Wish::of_workers(2));
    assert_eq!(found.lookahead(), Some(MS));
    assert!(found.partitions() >= 2);
}

#[test]
fn ranges_that_are_uneven_become_stripes() {
    let all = world(1000, Channels::whole(MS));
    let (even, uneven) = (vec![100; 1000], (0..1000).map(|lp| 1000 / (lp + 1)).collect::<Vec<u64>>());
    let measured =
        |weights| check(&all, &Wish { weights: Some(weights), events_per_second: Some(1e6), ..Wish::of_workers(2) });
    let ranges = measured(&even);
    assert_eq!((ranges.partitions(), ranges.of(LpId(0)), ranges.of(LpId(1))), (2, 0, 0));
    let stripes = measured(&uneven);
    assert_eq!((stripes.partitions(), stripes.of(LpId(1)), stripes.of(LpId(2))), (2, 1, 0));
    assert!(imbalance(&stripes, 2, |lp| uneven[lp.index()]) < 1.2);
}

#[test]
fn lps_become_ranges_of_equal_weight_where_stripes_are_uneven_and_loads_must_be_even() {
    let all = world(1000, Channels::whole(MS));
    // The LPs of even ids among the first, and no others, have work.
    let weights: Vec<u64> = (0..1000).map(|lp| if lp < 200 && lp % 2 == 0 { 1_000 } else { 1 }).collect();
    for workers in [2, 3, 8] {
        let wish = Wish { weights: Some(&weights), events_per_second: Some(1e6), ..Wish::of_workers(workers) };
        let even = check(&all, &Wish { evenly: true, ..wish });
        assert!(imbalance(&even, workers, |lp| weights[lp.index()]) < 1.1, "{workers}");
    }
}

#[test]
fn a_star_is_balanced() {
    let star = linked(1001, (1..=1000).map(|leaf| (0, leaf, MS)));
    let found = check(&star, &Wish { weights: Some(&[1; 1001]), ..Wish::of_workers(4) });
    assert!(found.partitions() >= 4);
    assert!(imbalance(&found, 4, |_| 1) < 1.1);
}

#[test]
fn rings_and_grids_are_cut_into_neighbourhoods() {
    let ring = linked(1000, (0..1000).map(|lp| (lp, (lp + 1) % 1000, MS)));
    let found = check(&ring, &Wish::of_workers(4));
    let partitions = f64::from(found.partitions());
    assert!(found.partitions() >= 4 && imbalance(&found, 4, |_| 1) < 1.1);
    assert!(cut(&ring, &found) <= 1.5 * partitions / 1000.0, "{} of {partitions}", cut(&ring, &found));

    let grid = grid(100, MS);
    let found = check(&grid, &Wish::of_workers(4));
    assert!(found.partitions() >= 4 && imbalance(&found, 4, |_| 1) < 1.1);
    // A square has a border of 4·side edges, each shared with another square. Irregular regions may have
    // twice that.
    let side = (10_000.0 / f64::from(found.partitions())).sqrt();
    assert!(cut(&grid, &found) < 2.0 / side, "{} of {}", cut(&grid, &found), found.partitions());
}

fn grid(side: u32, lookahead: Delay) -> World {
    let right = (0..side * side).filter(|lp| lp % side + 1 < side).map(|lp| (lp, lp + 1, lookahead));
    let down = (0..side * (side - 1)).map(|lp| (lp, lp + side, lookahead));
    linked(side * side, right.chain(down))
}

#[test]
fn a_complete_graph_is_balanced() {
    let links = (0..60).flat_map(|a| (0..a).map(move |b| (a, b, Delay::from_us(u64::from(a * b % 7 + 1)))));
    let found = check(&linked(60, links), &Wish::of_workers(3));
    assert!(found.partitions() >= 3 && imbalance(&found, 3, |_| 1) < 1.3);
}

#[test]
fn the_longest_lookahead_wins_if_balance_allows_it() {
    // Eight clusters of short links, on a ring of long ones.
    let inside = (0..8).flat_map(|c| (0..20).map(move |i| (c * 20 + i, c * 20 + (i + 1) % 20, MS)));
    let ring = (0..8).map(|c| (c * 20, (c + 1) % 8 * 20, Delay::from_ms(50)));
    let world = linked(160, inside.chain(ring));
    let found = check(&world, &Wish::of_workers(4));
    assert_eq!((found.partitions(), found.lookahead()), (8, Some(Delay::from_ms(50))));
    // One cluster has seven of ten events, and is itself cut.
    let mut weights = vec![100; 160];
    weights[..20].fill(3300);
    let measured = Wish { weights: Some(&weights), events_per_second: Some(1e7), ..Wish::of_workers(4) };
    let found = check(&world, &measured);
    assert_eq!(found.lookahead(), Some(MS));
    assert!(imbalance(&found, 4, |lp| weights[lp.index()]) < 1.1);
    // It is not cut if a window holds hardly any event.
    let found = check(&world, &Wish { events_per_second: Some(100.0), ..measured });
    assert_eq!(found.lookahead(), Some(Delay::from_ms(50)));
    // It is not cut if the wish rules that out.
    let found = check(&world, &Wish { least_lookahead: Some(Delay::from_ms(2)), ..measured });
    assert_eq!(found.lookahead(), Some(Delay::from_ms(50)));
}
