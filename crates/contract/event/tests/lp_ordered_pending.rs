//! Windows executed LP by LP hold every event exactly once, give each LP its own in order, and nothing at or after the bound asked for.

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

/// Runs a hold model: what is taken sends one event on, to another LP with at least `width`, or, one of `stays`, to its own LP with any delay.
fn hold(seed: u64, model: (u32, u64, u64), width: u64, reach: u64, steps: u64) {
    hold_from(seed, model, width, reach, (0, steps));
}

/// As [`hold`], with one event at time zero, and all others after `late`.
fn hold_from(seed: u64, (lps, population, stays): (u32, u64, u64), width: u64, reach: u64, (late, steps): (u64, u64)) {
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
            assert!(last[now.receiver.index()].replace(now.key()).is_none_or(|last| last < now.key()));
            let (time, round) = (now.time().as_ps(), now.instant().round);
            let next = match random.below(2 * stays) {
                0 => event(now.receiver.0, time, round + 1),
                1 => event(now.receiver.0, time + 1 + random.below(width), 0),
                _ => event(below(&mut random), time.max(bound - 1) + width + random.below(reach), 0),
            };
            // What stays at the LP may be due in this very window; what does not is not.
            expected.insert(next.clone());
            pending.push(next);
        }
        assert!(expected.first().is_none_or(|least| least.time() >= Time::from_ps(bound)), "one was left behind");
        let least = expected.iter().map(Event::time).min().unwrap_or(Time::MAX);
        assert!(pending.next_time() <= least, "an event is before the time that none is before");
        assert_eq!(pending.len(), expected.len());
        if random.below(4) == 0 {
            // To a set of another kind, and back.
            let by_time = WindowedPending::from(pending.into_unordered());
            pending = LpOrderedPending::from_unordered(grid, all, by_time.into_unordered());
            assert_eq!(pending.len(), expected.len());
        }
        if random.below(4) == 0 {
            // From elsewhere, before all that waits perhaps.
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
fn crowded_windows_are_taken_apart() {
    hold(7, (5_000, 60_000, 2), 50_000, 200_000, 200_000);
    hold(9, (1, 20_000, 2), 50_000, 200_000, 60_000); // All at one LP.
    hold(11, (3, 20_000, 2), 1 << 40, 1 << 44, 60_000);
}

#[test]
fn large_windows_have_a_lane_for_each_range_of_lps() {
    hold(19, (60_000, 150_000, 1 << 40), 50_000, 200_000, 400_000);
    hold(21, (60_000, 150_000, 3), 50_000, 200_000, 300_000);
    // The first window has few events, so that lanes are laid anew later, and an LP more than a power of two.
    hold_from(23, (65_537, 150_000, 1 << 40), 50_000, 200_000, (1_000_000, 800_000));
}

#[test]
fn sparse_windows_are_taken_as_they_lie() {
    // Windows of some thousand events, most of them of LPs that have no other there: hardly any stays, then one a window or so, then more LPs than are told
    // apart.
    hold(13, (20_000, 20_000, 1 << 40), 20_000, 100_000, 300_000);
    hold(15, (20_000, 20_000, 2_000), 20_000, 100_000, 300_000);
    hold(17, (300_000, 20_000, 50_000), 20_000, 100_000, 200_000);
}

#[test]
fn bounds_a_picosecond_after_what_comes_next_get_ahead() {
    // One window holds all: of one LP alone, or of LPs far from each other.
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

/// Of one LP a late event, of the next an early one: neighbours in the order of LPs, whose keys the range of ids makes coarse.
#[test]
fn lps_whose_events_are_neighbours_are_told_apart() {
    const WIDTH: u64 = 1 << 40;
    let mut pending = LpOrderedPending::new(Grid::new(Delay::from_ps(WIDTH)), (LpId(0), LpId(1 << 31)));
    let mut sequence = 0;
    let mut event = |lp: u32, ps: u64| {
        sequence += 1;
        let instant = Instant { time: Time::from_ps(ps), round: 0 };
        Event::new(EventKey { instant, tie: 0, sender: Sender::lp(LpId(lp)), sequence }, LpId(lp), Body::Message(()))
    };
    // So many of one LP, the latest first, that the window is sorted.
    (0..40).for_each(|before| pending.push(event(1 << 31, WIDTH / 2 - before)));
    [(0, WIDTH / 5 * 3), (1, WIDTH / 4 * 3), (1, 0)].into_iter().for_each(|(lp, ps)| pending.push(event(lp, ps)));
    let mut of_lp_1 = Vec::new();
    while let Some(now) = pending.pop_before(Time::from_ps(WIDTH)) {
        if now.receiver == LpId(1) {
            of_lp_1.push(now.time().as_ps());
            if now.time() == Time::ZERO {
                pending.push(event(1, WIDTH / 8 * 7)); // To itself, after what it has in the window.
            }
        }
    }
    assert_eq!(of_lp_1, [0, WIDTH / 4 * 3, WIDTH / 8 * 7]);
}

/// What tells whether windows are worth having: crowds count as they are, whatever lies between them.
#[test]
fn loose_events_are_counted_by_the_windows_that_hold_any() {
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
