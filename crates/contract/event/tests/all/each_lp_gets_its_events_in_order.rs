//! An LP-ordered set gives out every event exactly once, each LP's events in order, and no event at or after
//! the bound asked for.

use parades_core::event::{Body, Event, EventKey, LpId, Sender};
use parades_core::pending::{Grid, LpOrderedPending, PendingSet, WindowedPending};
use parades_core::time::{Delay, Instant, Time};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Deterministic random numbers.
struct Random(u64);
impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Runs a hold model: each event taken sends one event. The new event goes to any LP with a delay of at least
/// `width`, or in one of `stays` cases to its own LP with any delay.
fn hold(seed: u64, model: (u32, u64, u64), width: u64, reach: u64, steps: u64) {
    hold_from(seed, model, width, reach, 0, steps);
}

/// As [`hold`], with one event at time zero and all others after `late`.
fn hold_from(seed: u64, (lps, population, stays): (u32, u64, u64), width: u64, reach: u64, late: u64, steps: u64) {
    let mut random = Random(seed | 1);
    let (grid, all) = (Grid::new(Delay::from_ps(width)), (LpId(0), LpId(lps - 1)));
    let mut pending = LpOrderedPending::new(grid, all);
    let mut expected = BTreeSet::new();
    let mut sequence = 0;
    let mut event = |receiver: u32, ps: u64, round: u32| {
        sequence += 1;
        let instant = Instant { time: Time::from_ps(ps), round };
        let key = EventKey { instant, tie: 0, sender: Sender::lp(LpId(receiver / 2)), sequence };
        Event::new(key, LpId(receiver), Body::Message(Box::new(sequence)))
    };
    let below = |random: &mut Random| u32::try_from(random.below(lps.into())).expect("below a u32");
    for number in 0..population {
        let (lp, ps) = (below(&mut random), random.below(reach) + if number == 0 { 0 } else { late });
        let event = event(lp, ps, 0);
        expected.insert(event.clone());
        pending.push(event);
    }
    let (mut bound, mut taken) = (0, 0);
    while taken < steps && !expected.is_empty() {
        bound += 1 + random.below(3 * width);
        let mut last = vec![None; lps as usize];
        while let Some(now) = pending.pop_before(Time::from_ps(bound)) {
            taken += 1;
            assert!(now.time() < Time::from_ps(bound) && expected.remove(&now), "{now:?} was not due");
            assert!(last[now.receiver().index()].replace(now.key()).is_none_or(|last| last < now.key()));
            let (time, round) = (now.time().as_ps(), now.instant().round);
            let next = match random.below(2 * stays) {
                0 => event(now.receiver().0, time, round + 1),
                1 => event(now.receiver().0, time + 1 + random.below(width), 0),
                _ => event(below(&mut random), time.max(bound - 1) + width + random.below(reach), 0),
            };
            // An event to the same LP may be due in this very window; an event to another LP may not.
            expected.insert(next.clone());
            pending.push(next);
        }
        assert!(expected.first().is_none_or(|least| least.time() >= Time::from_ps(bound)), "one was left behind");
        let least = expected.iter().map(Event::time).min().unwrap_or(Time::MAX);
        assert!(pending.next_time() <= least, "an event is before the time that none is before");
        assert_eq!(pending.len(), expected.len());
        if random.below(4) == 0 {
            // The events move to a set of another kind, and back.
            let by_time = WindowedPending::from(pending.into_unordered());
            pending = LpOrderedPending::from_unordered(grid, all, by_time.into_unordered());
            assert_eq!(pending.len(), expected.len());
        }
        if random.below(4) == 0 {
            // An event from another partition may come before all pending events.
            let event = event(below(&mut random), bound + random.below(reach), 0);
            expected.insert(event.clone());
            pending.push(event);
        }
    }
    let mut left: Vec<_> = pending.take_all().collect();
    left.sort_unstable();
    assert_eq!(left, expected.into_iter().collect::<Vec<_>>());
    assert!(pending.is_empty());
}

proptest! {
    #[test]
    fn each_lp_gets_its_events_in_order(
        seed in any::<u64>(),
        lps in 1..40_u32,
        population in 0..300_u64,
        stays in prop_oneof![1..3_u64, 20..2_000_u64],
        width in 2..1000_u64,
        reach in 1..100_000_u64,
    ) {
        hold(seed, (lps, population, stays), width, reach, 3_000);
    }

    #[test]
    fn two_times_of_one_window_are_less_than_its_width_apart(width in 2..u64::MAX, a in any::<u64>(), b in any::<u64>()) {
        let grid = Grid::new(Delay::from_ps(width));
        let (a, b) = (a.min(b), a.max(b));
        let window = |ps| grid.window(Time::from_ps(ps));
        prop_assert!(window(a) <= window(b));
        prop_assert!(window(a) < window(b) || b - a < width);
        let start = grid.start(window(b));
        prop_assert!(start <= Time::from_ps(b) && grid.window(start) == window(b));
        prop_assert!(start.as_ps() == 0 || window(start.as_ps() - 1) < window(b));
    }
}

#[test]
fn crowded_windows_are_split() {
    hold(7, (5_000, 60_000, 2), 50_000, 200_000, 200_000);
    hold(9, (1, 20_000, 2), 50_000, 200_000, 60_000); // All events at one LP.
    hold(11, (3, 20_000, 2), 1 << 40, 1 << 44, 60_000);
}

#[test]
fn large_windows_have_a_lane_for_each_range_of_lps() {
    hold(19, (60_000, 150_000, 1 << 40), 50_000, 200_000, 400_000);
    hold(21, (60_000, 150_000, 3), 50_000, 200_000, 300_000);
    // The first window has few events, so lanes are rebuilt later. The number of LPs is a power of two plus
    // one.
    hold_from(23, (65_537, 150_000, 1 << 40), 50_000, 200_000, 1_000_000, 800_000);
}

#[test]
fn sparse_windows_stay_unsorted() {
    // Windows have about a thousand events, most of them of LPs without another event in the window. In the
    // first case hardly any event stays at its LP, in the second about one per window. In the last there are
    // more LPs than the index can tell apart.
    hold(13, (20_000, 20_000, 1 << 40), 20_000, 100_000, 300_000);
    hold(15, (20_000, 20_000, 2_000), 20_000, 100_000, 300_000);
    hold(17, (300_000, 20_000, 50_000), 20_000, 100_000, 200_000);
}

#[test]
fn bounds_a_picosecond_after_the_next_event_make_progress() {
    // One window has all events, and all are of one LP.
    let mut pending = LpOrderedPending::new(Grid::new(Delay::from_secs(1000)), (LpId(0), LpId(0)));
    for sequence in 0..50 {
        let instant = Instant { time: Time::from_ps(sequence * 1_000_000_000), round: 0 };
        let key = EventKey { instant, tie: 0, sender: Sender::lp(LpId(0)), sequence };
        pending.push(Event::new(key, LpId(0), Body::Message(sequence)));
    }
    let (mut bounds, mut taken) = (0, 0);
    while !pending.is_empty() {
        let bound = Time::from_ps(pending.next_time().as_ps() + 1);
        taken += std::iter::from_fn(|| pending.pop_before(bound)).count();
        bounds += 1;
    }
    assert_eq!((bounds, taken), (50, 50), "each bound lets one event through");
}

/// One LP has a late event, the next LP an early one. They are neighbours in the order of LPs, and the wide
/// range of ids makes their keys coarse.
#[test]
fn neighbouring_lps_are_told_apart() {
    const WIDTH: u64 = 1 << 40;
    let mut pending = LpOrderedPending::new(Grid::new(Delay::from_ps(WIDTH)), (LpId(0), LpId(1 << 31)));
    let mut sequence = 0;
    let mut event = |lp: u32, ps: u64| {
        sequence += 1;
        let instant = Instant { time: Time::from_ps(ps), round: 0 };
        Event::new(EventKey { instant, tie: 0, sender: Sender::lp(LpId(lp)), sequence }, LpId(lp), Body::Message(()))
    };
    // One LP has many events, the latest first, so the window must be sorted.
    (0..40).for_each(|before| pending.push(event(1 << 31, WIDTH / 2 - before)));
    [(0, WIDTH / 5 * 3), (1, WIDTH / 4 * 3), (1, 0)].into_iter().for_each(|(lp, ps)| pending.push(event(lp, ps)));
    let mut of_lp_1 = Vec::new();
    while let Some(now) = pending.pop_before(Time::from_ps(WIDTH)) {
        if now.receiver() == LpId(1) {
            of_lp_1.push(now.time().as_ps());
            if now.time() == Time::ZERO {
                pending.push(event(1, WIDTH / 8 * 7)); // To itself, after its other events in the window.
            }
        }
    }
    assert_eq!(of_lp_1, [0, WIDTH / 4 * 3, WIDTH / 8 * 7]);
}

/// Windows without events do not count, however many there are. Each event of a full window does.
#[test]
fn the_mean_counts_only_windows_that_have_events() {
    let width = 1_u64 << 20;
    let counted = |times: &dyn Fn(u64) -> u64| {
        let mut pending = WindowedPending::default();
        for sequence in 0..90 {
            let instant = Instant { time: Time::from_ps(times(sequence)), round: 0 };
            let key = EventKey { instant, tie: 0, sender: Sender::GLOBAL, sequence };
            pending.push(Event::new(key, LpId(0), Body::Message(())));
        }
        pending.into_unordered().events_per_window(Grid::new(Delay::from_ps(width)))
    };
    assert!((counted(&|number| 1000 * width * number) - 1.0).abs() < 1e-9, "far apart");
    assert!((counted(&|number| 1000 * width * (number / 30)) - 30.0).abs() < 1e-9, "three crowds");
}
