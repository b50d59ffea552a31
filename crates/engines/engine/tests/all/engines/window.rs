//! The bounds of partitions under `window`.

use super::support::script::Script;
use super::support::stat;
use parades_core::prelude::*;
use parades_engine::retreat::Retreats;
use parades_engine::sequential;
use parades_engine::window::{self, Reach, Settings};

/// The lookaheads around the ring, in milliseconds.
const RING_MS: [u64; 4] = [20, 1, 200, 1];
/// The message that is not followed by another.
const LAST: u64 = 10_000;

/// Makes a ring of four LPs in which channels have the lookaheads of [`RING_MS`]. Each LP whose number is in
/// `busy` has a timer each millisecond, and every tenth of them sends to the next LP.
fn ring(busy: &'static [u32]) -> Script {
    let mut channels = Channels::none();
    for (id, &ms) in (0..).zip(&RING_MS) {
        channels.connect(LpId(id), LpId((id + 1) % 4), Delay::from_ms(ms));
    }
    let start = move |ctx: &mut Context<'_, Script>| {
        if busy.contains(&ctx.id().0) {
            ctx.send_self(Delay::from_ms(1), 0);
        }
    };
    let handle = |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        let Body::Message(&count) = event else { return };
        if count < LAST {
            ctx.send_self(Delay::from_ms(1), count + 1);
            if count.is_multiple_of(10) {
                ctx.send(Port(0), Delay::from_ms(RING_MS[ctx.id().index()]), LAST);
            }
        }
    };
    Script { channels, ..Script::new(4, start, handle) }
}

/// Returns the number of windows of a run of one virtual second.
fn windows(busy: &'static [u32], reach: Reach) -> u64 {
    let until = Time::from_ps(1_000_000_000_000);
    let expected = sequential::run(&ring(busy), RunOptions::until(until)).expect("no failure");
    let settings = Settings { partitions: Some(2), reach, retreats: Retreats::Never, ..Settings::of_threads(2) };
    let found = window::run(&ring(busy), RunOptions::until(until), &settings).expect("no failure");
    assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{reach:?}");
    assert_eq!(stat(&found, "partitions"), 2, "{reach:?}: the channels of 1 ms are inside partitions");
    stat(&found, "windows")
}

#[test]
fn a_partition_whose_events_come_back_late_does_not_wait_for_the_shortest_channel() {
    // LP 0 sends to the other partition at 20 ms. What it sends comes back after 220 ms.
    assert!(windows(&[0], Reach::Common) >= 50);
    assert!(windows(&[0], Reach::Own) < 30);
}

#[test]
fn bounds_of_their_own_are_no_narrower_where_all_partitions_are_busy() {
    let busy: &[u32] = &[0, 1, 2, 3];
    assert!(windows(busy, Reach::Own) <= windows(busy, Reach::Common));
}
