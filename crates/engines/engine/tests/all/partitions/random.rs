//! Properties of every partitioning, on random graphs.

use super::{check, find, homes, world};
use parades_core::prelude::*;
use parades_core::world::World;
use parades_engine::partition::{Placing, Wish};
use proptest::prelude::*;

/// Returns the number of sets of LPs that may be in different partitions.
fn apart(world: &World, floor: Delay) -> usize {
    let mut set: Vec<u32> = (0..world.lps()).collect();
    let short = |d: Delay| d < floor.max(Delay::from_ps(1));
    let mut unite = |a: LpId, b: LpId| {
        let (a, b) = (set[a.index()], set[b.index()]);
        set.iter_mut().filter(|set| **set == a).for_each(|set| *set = b);
    };
    for lp in (0..world.lps()).map(LpId) {
        for channel in world.channels().from_sender(lp).iter().filter(|channel| short(channel.lookahead)) {
            unite(channel.sender, channel.receiver);
        }
        let near = |&other: &LpId| world.channels().lookahead_to(lp, other).is_some_and(short);
        (0..world.lps()).map(LpId).filter(near).for_each(|other| unite(lp, other));
    }
    set.sort_unstable();
    set.dedup();
    set.len()
}

/// Generates lookaheads of very different lengths, in picoseconds.
fn delays() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(1_000), 1_000_u64..9_000, Just(1_000_000_000), Just(u64::MAX)]
}

/// Gives each LP a group, and a least delay to other groups.
fn in_order(groups: Vec<(u32, u64)>) -> Vec<(u32, u32, u64)> {
    (0..).zip(groups).map(|(lp, (group, further))| (lp, group, further)).collect()
}

#[derive(Clone, Debug)]
struct Case {
    lps: u32,
    pairs: Vec<(u32, u32, u64)>,
    anyone: Vec<(u32, u64)>,
    groups: Vec<(u32, u32, u64)>,
    weights: Option<Vec<u64>>,
    rate: Option<f64>,
    workers: u32,
    partitions: Option<u32>,
    floor: Option<u64>,
    placing: Placing,
}

prop_compose! {
    fn cases()(lps in 1..50_u32)(
        lps in Just(lps),
        pairs in prop::collection::vec((0..lps, 0..lps, delays()), 0..120),
        anyone in prop_oneof![4 => Just(vec![]), 1 => prop::collection::vec((0..lps, 1..2_000_u64), 0..4)],
        groups in prop_oneof![
            2 => Just(vec![]),
            1 => prop::collection::vec((0..lps, 0..9_u32, delays()), 0..4),
            1 => prop::collection::vec((0..9_u32, delays()), lps as usize).prop_map(in_order),
        ],
        weights in prop::option::of(prop::collection::vec(prop_oneof![0..100_u64, Just(u64::MAX)], lps as usize)),
        rate in prop::option::of(prop_oneof![Just(0.0), Just(f64::INFINITY), 1.0..1e12]),
        (workers, partitions) in (0..9_u32, prop::option::of(0..20_u32)),
        floor in prop::option::of(delays()),
        placing in prop_oneof![Just(Placing::Channels), Just(Placing::Ranges)],
    ) -> Case {
        Case { lps, pairs, anyone, groups, weights, rate, workers, partitions, floor, placing }
    }
}

impl Case {
    fn world(&self, reversed: bool) -> World {
        let mut channels = Channels::none();
        let mut pairs = self.pairs.clone();
        if reversed {
            pairs.reverse();
        }
        pairs.iter().for_each(|&(a, b, d)| channels.connect(LpId(a), LpId(b), Delay::from_ps(d)));
        self.anyone.iter().for_each(|&(lp, d)| channels.to_anyone(LpId(lp), Delay::from_ps(d)));
        for &(lp, group, further) in &self.groups {
            channels.to_other_groups(LpId(lp), group, Delay::from_ps(further));
        }
        world(self.lps, channels)
    }

    fn wish(&self) -> Wish<'_> {
        Wish {
            partitions: self.partitions,
            least_lookahead: self.floor.map(Delay::from_ps),
            placing: self.placing,
            events_per_second: self.rate,
            weights: self.weights.as_deref(),
            ..Wish::of_workers(self.workers)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_partitioning_of_a_random_graph_is_as_documented(case in cases()) {
        let world = case.world(false);
        let found = check(&world, &case.wish());
        let several = case.partitions.map_or(case.workers > 1, |most| most > 1);
        let apart = apart(&world, Delay::from_ps(case.floor.unwrap_or(0)));
        prop_assert_eq!(found.partitions() > 1, several && apart > 1, "{} apart, {:?}", apart, found);
    }

    #[test]
    fn the_order_of_declaration_does_not_matter(case in cases()) {
        let (one, other) = (find(&case.world(false), &case.wish()), find(&case.world(true), &case.wish()));
        prop_assert_eq!(homes(&one, case.lps), homes(&other, case.lps));
        prop_assert_eq!(one.speedup().to_bits(), other.speedup().to_bits());
    }

    #[test]
    fn ranges_are_enough_and_not_too_many(lps in 1..100_000_u32, workers in 2..20_u32) {
        let found = find(&world(lps, Channels::whole(Delay::from_us(3))), &Wish::of_workers(workers));
        prop_assert!(found.partitions() >= workers.min(lps));
        prop_assert!(found.partitions() <= 16 * workers);
        prop_assert_eq!(found.members().concat().len(), lps as usize);
    }
}
