//! Partitions are as they are documented, and are cut where a person would cut them.

mod alone;
mod campus;
mod random;
mod ranges;
mod shapes;

use parades_core::any_model::with_model;
use parades_core::model::Model;
use parades_core::prelude::*;
use parades_core::world::World;
use parades_engine::partition::{Between, Partitioning, Wish};
use std::collections::BTreeMap;

/// A model that has only channels.
struct Graph {
    lps: u32,
    channels: Channels,
}

impl Model for Graph {
    type State = ();
    type Message = ();
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        self.lps
    }
    fn channels(&self) -> Channels {
        self.channels.clone()
    }
    fn start(&self, _: &mut Context<'_, Self>) {}
    fn handle(&self, (): &mut (), _: Body<&()>, _: &mut Context<'_, Self>) {}
}

fn world(lps: u32, channels: Channels) -> World {
    let graph = Graph { lps, channels };
    let world = with_model(&graph, RunOptions::until(Time::ZERO), |graph, options| World::new(graph, &options));
    world.expect("the channels are of LPs that exist")
}

/// Makes a world of links: pairs of LPs with a channel in each direction.
fn linked(lps: u32, links: impl IntoIterator<Item = (u32, u32, Delay)>) -> World {
    let mut channels = Channels::none();
    for (a, b, lookahead) in links {
        channels.connect(LpId(a), LpId(b), lookahead);
        channels.connect(LpId(b), LpId(a), lookahead);
    }
    world(lps, channels)
}

fn find(world: &World, wish: &Wish<'_>) -> Partitioning {
    Partitioning::find(world.channels(), world.lps(), wish)
}

fn homes(found: &Partitioning, lps: u32) -> Vec<u32> {
    (0..lps).map(|lp| found.of(LpId(lp))).collect()
}

/// Returns the least lookahead between each two partitions, by a simple and slow algorithm.
fn between(world: &World, home: &[u32]) -> BTreeMap<(u32, u32), Delay> {
    let mut least: BTreeMap<(u32, u32), Delay> = BTreeMap::new();
    for sender in (0..world.lps()).map(LpId) {
        let pairs = world.channels().from_sender(sender).iter().map(|channel| (channel.receiver, channel.lookahead));
        let anyone = (0..world.lps()).map(LpId).filter_map(|receiver| {
            world.channels().lookahead_to(sender, receiver).map(|lookahead| (receiver, lookahead))
        });
        for (receiver, lookahead) in pairs.chain(anyone) {
            let key = (home[sender.index()], home[receiver.index()]);
            if key.0 != key.1 {
                let least = least.entry(key).or_insert(lookahead);
                *least = lookahead.min(*least);
            }
        }
    }
    least
}

/// Finds a partitioning, and checks everything that is documented of any partitioning.
fn check(world: &World, wish: &Wish<'_>) -> Partitioning {
    let found = find(world, wish);
    let home = homes(&found, world.lps());
    let members = found.members();
    assert_eq!(members.len(), found.partitions() as usize);
    assert!(members.iter().all(|members| !members.is_empty() && members.is_sorted()), "dense and in order");
    assert!(members.is_sorted_by_key(|members| members[0]), "numbered by first LP");
    assert_eq!(members.iter().map(Vec::len).sum::<usize>(), world.lps() as usize);
    for (partition, members) in members.iter().enumerate() {
        assert!(members.iter().all(|lp| home[lp.index()] as usize == partition));
    }
    assert!(wish.partitions.is_none_or(|most| found.partitions() <= most.max(1)));
    let slow = between(world, &home);
    assert_eq!(found.lookahead(), slow.values().min().copied());
    assert_eq!(found.lookahead_of(world.channels()), found.lookahead());
    let slow: Vec<Between> = slow.into_iter().map(|((from, to), lookahead)| Between { from, to, lookahead }).collect();
    assert_eq!(found.between(world.channels()), slow);
    let floor = wish.least_lookahead.unwrap_or(Delay::ZERO).max(Delay::from_ps(1));
    assert!(found.lookahead().is_none_or(|lookahead| lookahead >= floor), "{found:?}");
    assert!(found.speedup() > 0.0 && found.speedup() <= f64::from(wish.workers.max(1)));
    found
}

/// Returns the largest load of a worker over the mean. `weight` returns the weight of an LP.
fn imbalance(found: &Partitioning, workers: u32, weight: impl Fn(LpId) -> u64) -> f64 {
    let mut parts: Vec<u64> = found.members().iter().map(|lps| lps.iter().map(|&lp| weight(lp)).sum()).collect();
    parts.sort_unstable_by(|a, b| b.cmp(a));
    let mut loads = vec![0; workers as usize];
    for part in &parts {
        *loads.iter_mut().min().expect("a worker") += part;
    }
    *loads.iter().max().expect("a worker") as f64 * f64::from(workers) / parts.iter().sum::<u64>() as f64
}

/// Returns the share of the channels by pair that are cut.
fn cut(world: &World, found: &Partitioning) -> f64 {
    let all = (0..world.lps()).flat_map(|lp| world.channels().from_sender(LpId(lp)));
    let (mut count, mut cut) = (0.0, 0.0);
    for channel in all {
        count += 1.0;
        cut += f64::from(u8::from(found.of(channel.sender) != found.of(channel.receiver)));
    }
    cut / count
}
