//! The rank of each partition: even loads, and few channels between ranks.
//!
//! A rank grows from the first partition that has no rank. It takes the partition with the most channels to
//! its own, until it has its share of the load. Where any LP may send to any other, no partition is taken to
//! be nearer than another, and a rank takes partitions in the order of their numbers. So it does where the
//! user places LPs by ranges of ids.
//!
//! *Reference.* G. Karypis, V. Kumar, *A fast and high quality multilevel scheme for partitioning irregular
//! graphs*, SIAM J. Sci. Comput., 1998 (growing regions).

use super::{Partitioning, Placing};
use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::placement::Placement;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The number of channels between partitions. By partition: the other partitions, with the number of
/// channels to them and from them.
type Links = Vec<BTreeMap<u32, u64>>;

/// Returns the rank of each partition. `costs` has the load of each partition. Where LPs are placed by their
/// ids, the channels have no influence.
pub(crate) fn assign(costs: &[u64], ranks: usize, partitioning: &Partitioning, channels: &Channels) -> Vec<u32> {
    match partitioning.placing() {
        _ if ranks <= 1 => vec![0; costs.len()],
        Placing::Ranges => grow(costs, ranks, &vec![BTreeMap::new(); costs.len()]),
        Placing::Channels => grow(costs, ranks, &links(partitioning.placement(), channels, partitioning.lps)),
    }
}

/// Returns, by group of LPs, the number that it is given instead, so that few LPs change the number of their
/// group. There are `groups` groups. `pairs` has for each LP the number of its group, and the one that it had
/// before.
pub(crate) fn renaming(groups: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut common = vec![vec![0_u32; groups]; groups];
    pairs.for_each(|(after, before)| common[after as usize][before as usize] += 1);
    let mut pairs: Vec<(usize, usize)> = (0..groups).flat_map(|to| (0..groups).map(move |from| (to, from))).collect();
    pairs.sort_by_key(|&(to, from)| (Reverse(common[to][from]), to, from));
    let (mut names, mut is_taken) = (vec![None; groups], vec![false; groups]);
    for (to, from) in pairs {
        if names[to].is_none() && !is_taken[from] {
            names[to] = Some(u32::try_from(from).expect("groups are counted in 32 bits"));
            is_taken[from] = true;
        }
    }
    names.into_iter().map(|name| name.expect("there are as many names as groups")).collect()
}

fn links(placement: &Placement, channels: &Channels, lps: u32) -> Links {
    let mut links = vec![BTreeMap::new(); placement.partitions() as usize];
    for channel in (0..lps).flat_map(|lp| channels.from_sender(LpId(lp))) {
        let (from, to) = (placement.partition(channel.sender), placement.partition(channel.receiver));
        if from != to {
            connect(&mut links, from, to);
        }
    }
    links
}

fn connect(links: &mut Links, a: u32, b: u32) {
    *links[a as usize].entry(b).or_default() += 1;
    *links[b as usize].entry(a).or_default() += 1;
}

fn grow(costs: &[u64], ranks: usize, links: &Links) -> Vec<u32> {
    let mut homes: Vec<Option<u32>> = vec![None; costs.len()];
    let (mut load_left, mut partitions_left) = (costs.iter().sum::<u64>(), costs.len());
    for rank in 0..ranks {
        let ranks_left = ranks - rank;
        let share = load_left / ranks_left as u64;
        let (mut load, mut attraction) = (0, vec![0_u64; costs.len()]);
        // A rank has one partition at least, and leaves one for each further rank.
        while load == 0 || partitions_left >= ranks_left {
            let free = (0..costs.len()).filter(|&number| homes[number].is_none());
            let Some(next) = free.max_by_key(|&number| (attraction[number], Reverse(number))) else { break };
            let without = share.saturating_sub(load);
            let with = (load + costs[next]).saturating_sub(share);
            if load > 0 && ranks_left > 1 && with >= without {
                break;
            }
            load += costs[next].max(1);
            homes[next] = Some(u32::try_from(rank).expect("ranks are counted in 32 bits"));
            partitions_left -= 1;
            links[next].iter().for_each(|(&other, count)| attraction[other as usize] += count);
        }
        load_left = load_left.saturating_sub(load);
    }
    homes.into_iter().map(|home| home.expect("the last rank takes every partition that is left")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ranks of partitions with one channel between each of `pairs`.
    fn homes(costs: &[u64], ranks: usize, pairs: &[(u32, u32)]) -> Vec<u32> {
        let mut links = vec![BTreeMap::new(); costs.len()];
        pairs.iter().for_each(|&(a, b)| connect(&mut links, a, b));
        grow(costs, ranks, &links)
    }

    #[test]
    fn neighbours_are_on_one_rank_whatever_their_numbers() {
        // Two rings, of the even and of the odd partitions.
        let rings: Vec<_> = (0..12).map(|lp| (lp, (lp + 2) % 12)).collect();
        let homes = homes(&[5; 12], 2, &rings);
        assert_eq!(homes, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn without_channels_ranks_have_ranges_of_even_load() {
        assert_eq!(homes(&[1; 6], 3, &[]), [0, 0, 1, 1, 2, 2]);
        assert_eq!(homes(&[4, 1, 1, 1, 1], 2, &[]), [0, 1, 1, 1, 1]);
        assert_eq!(homes(&[1, 1, 1, 1, 4], 2, &[]), [0, 0, 0, 0, 1]);
    }

    #[test]
    fn groups_keep_the_numbers_by_which_few_lps_move() {
        let renamed =
            |groups, after: &[u32], before: &[u32]| renaming(groups, after.iter().copied().zip(before.iter().copied()));
        assert_eq!(renamed(2, &[0, 0, 0, 1, 1], &[1, 1, 0, 0, 0]), [1, 0]);
        assert_eq!(renamed(3, &[0, 1, 2, 2], &[2, 0, 1, 1]), [2, 0, 1]);
        assert_eq!(renamed(3, &[0, 0], &[1, 1]), [1, 0, 2], "groups without LPs");
    }

    #[test]
    fn each_rank_has_a_partition_if_there_are_enough() {
        assert_eq!(homes(&[9, 0, 0], 3, &[]), [0, 1, 2]);
        assert_eq!(homes(&[0, 0, 9], 3, &[]), [0, 1, 2]);
        assert_eq!(homes(&[1, 1], 3, &[]), [0, 1]);
        assert_eq!(homes(&[3, 3, 3], 1, &[(0, 1)]), [0, 0, 0]);
    }
}
