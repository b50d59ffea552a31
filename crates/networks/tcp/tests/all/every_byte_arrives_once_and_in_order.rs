//! Random connections over random channels.
//!
//! A failure names the seeds.

use crate::channel::World;
use parades_core::time::Time;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The end of each world. All timers are short enough for a connection to end before.
const LIMIT: Time = Time::from_secs(20_000);

/// Runs `part` for each seed. Returns the number of segments that arrived.
fn for_seeds(seeds: Range<u64>, part: impl Fn(u64) -> u64) -> u64 {
    let mut segments = 0;
    let mut failed = Vec::new();
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| part(seed))) {
            Ok(count) => segments += count,
            Err(_) => failed.push(seed),
        }
    }
    assert!(failed.is_empty(), "{} seeds failed: {:?}", failed.len(), &failed[..failed.len().min(20)]);
    segments
}

/// Runs a connection with random settings over an orderly channel: all bytes arrive, and both ends close.
fn orderly(seed: u64) -> u64 {
    let mut world = World::new(seed, false, false);
    world.run(LIMIT);
    world.assert_complete();
    world.segments
}

#[test]
fn every_byte_arrives_once_and_in_order_over_a_channel_that_loses_reorders_and_duplicates() {
    for_seeds(0..4_000, orderly);
}
/// Runs a connection with random settings, and forges segments into both ends.
fn hostile(seed: u64) -> u64 {
    let mut world = World::new(seed, true, false);
    world.run(LIMIT);
    world.assert_ended();
    world.segments
}

/// Runs a connection, and undoes each call before it takes effect.
fn undone(seed: u64) -> u64 {
    let mut world = World::new(seed, seed.is_multiple_of(2), true);
    world.run(LIMIT);
    world.segments
}

#[test]
fn forged_segments_break_no_end_and_every_connection_ends() {
    for_seeds(0..4_000, hostile);
}

#[test]
fn each_call_can_be_undone() {
    for_seeds(0..1_000, undone);
}

/// Seeds of the long run: some millions of segments of each kind.
const MANY: Range<u64> = 100_000..140_000;

#[test]
#[ignore = "takes minutes; run by hand"]
fn millions_of_segments_break_nothing() {
    let counts = [for_seeds(MANY, orderly), for_seeds(MANY, hostile)];
    println!("{} segments over orderly channels, {} with forged ones among them", counts[0], counts[1]);
    assert!(counts.into_iter().all(|count| count > 2_000_000), "{counts:?}");
}
