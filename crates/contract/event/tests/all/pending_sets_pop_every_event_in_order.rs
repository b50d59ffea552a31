//! Both pending event sets pop every event exactly once and in order, whatever the times. The windowed set
//! moves each event a bounded number of times.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the tests' own numbers are small and positive"
)]

use parades_core::event::{Body, Event, EventKey, LpId, Sender};
use parades_core::pending::{Grid, HeapPending, LpOrderedPending, PendingSet, Slot, WindowedPending};
use parades_core::time::{Delay, Instant, Time};
use proptest::prelude::*;

type Payload = Box<u64>;

/// The smallest and the largest id.
const LPS: (LpId, LpId) = (LpId(0), LpId(u32::MAX));

/// Two sets with the same pushes and pops. Every pop is compared, payload included.
#[derive(Default)]
struct Pair {
    windowed: WindowedPending<Payload>,
    heap: HeapPending<Payload>,
    sequence: u64,
    last: Instant,
}

fn at(time: u64, round: u32) -> Instant {
    Instant { time: Time::from_ps(time), round }
}

/// Removes all events, in order.
fn drain<P, S: PendingSet<P>>(set: &mut S) -> impl Iterator<Item = Event<P>> {
    std::iter::from_fn(|| set.pop())
}

impl Pair {
    fn push(&mut self, instant: Instant, receiver: u32, sender: u32) {
        self.sequence += 1;
        let key = EventKey { instant, tie: sender % 3, sender: Sender::from_rank(sender), sequence: self.sequence };
        let event = Event::new(key, LpId(receiver), Body::Message(Box::new(self.sequence)));
        self.windowed.push(event.clone());
        self.heap.push(event);
        assert_eq!(self.windowed.len(), self.heap.len());
    }

    /// Pops the earliest event of both sets if it is before `bound`, and returns its instant.
    fn pop_before(&mut self, bound: Time) -> Option<Instant> {
        let expected = self.heap.pop_before(bound);
        let popped = self.windowed.pop_before(bound);
        self.compare(popped, expected)
    }

    fn pop(&mut self) -> Option<Instant> {
        let (popped, expected) = (self.windowed.pop(), self.heap.pop());
        self.compare(popped, expected)
    }

    fn compare(&mut self, popped: Option<Event<Payload>>, expected: Option<Event<Payload>>) -> Option<Instant> {
        let full = |event: Event<Payload>| (event.key(), event.receiver(), event.body);
        let expected = expected.map(full);
        assert_eq!(popped.map(full), expected);
        assert_eq!(self.windowed.len(), self.heap.len());
        let instant = expected?.0.instant;
        assert!(instant >= self.last);
        self.last = instant;
        Some(instant)
    }

    /// Pops events up to `ahead` after the earliest one, `most` at most, as a partition does before its
    /// bound. `send` returns two events for each of them, of which the second is pushed once all are popped,
    /// as if another partition had sent it. Returns the number of events.
    fn visit(&mut self, ahead: u64, most: usize, mut send: impl FnMut(Instant, Time) -> [(Instant, u32); 2]) -> usize {
        let next = self.windowed.next_time();
        assert_eq!(next, self.heap.next_time());
        let Some(next) = next else { return 0 };
        let bound = Time::from_ps(next.as_ps().saturating_add(ahead));
        let (mut popped, mut after) = (0, Vec::new());
        while popped < most
            && let Some(now) = self.pop_before(bound)
        {
            let [own, other] = send(now, bound);
            if popped.is_multiple_of(2) {
                self.push(own.0, own.1, 1)
            } else {
                after.push(other)
            }
            popped += 1;
        }
        after.into_iter().for_each(|(instant, receiver)| self.push(instant, receiver, 2));
        popped
    }

    /// Moves the pending events to an LP-ordered set, and back.
    fn change(&mut self, grid: Grid) {
        let by_lp = LpOrderedPending::from_unordered(grid, LPS, std::mem::take(&mut self.windowed).into_unordered());
        assert_eq!(by_lp.len(), self.heap.len());
        assert!(by_lp.next_time() <= self.heap.next_time().unwrap_or(Time::MAX));
        self.windowed = by_lp.into_unordered().into();
        assert_eq!(self.windowed.len(), self.heap.len());
    }

    /// Frees the memory that the windowed set does not need now.
    fn compact(&mut self) {
        let upcoming = self.windowed.next_instant();
        self.windowed.compact();
        let chunks = self.windowed.len().div_ceil(8);
        assert!(self.windowed.allocated_bytes() <= chunks * (8 * size_of::<Slot<Payload>>() + 4));
        assert_eq!((self.windowed.len(), self.windowed.next_instant()), (self.heap.len(), upcoming));
    }

    fn drain(mut self) {
        let popped: Vec<_> =
            drain(&mut self.windowed).map(|event| (event.key(), event.receiver(), event.body)).collect();
        let expected: Vec<_> = drain(&mut self.heap).map(|event| (event.key(), event.receiver(), event.body)).collect();
        assert_eq!(popped, expected);
        assert!(self.windowed.is_empty() && self.windowed.next_instant().is_none() && self.windowed.pop().is_none());
    }
}

/// Deterministic random numbers for the long tests.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }
}

/// A step of a property test.
#[derive(Clone, Debug)]
enum Step {
    /// Push `count` events, each `delay` after the event popped last, at one of `receivers` LPs.
    Push { count: usize, delay: Delays, receivers: u32 },
    /// Pop up to `count` events before a bound, which is `ahead` after the event popped last.
    Pop { count: usize, ahead: u64 },
    /// Pop `count` events, and push one for each.
    Hold { count: usize, delay: Delays },
    /// `count` times, pop all events up to `ahead` after the earliest one, push one for each, and one after
    /// all of them.
    Visit { count: usize, ahead: u64, delay: Delays },
    /// Ask for the next instant, which may open a window.
    Look,
    /// Move all events to an LP-ordered set with windows of `width` picoseconds, and back.
    Change { width: u64 },
    /// Free unused memory.
    Compact,
}

#[derive(Clone, Copy, Debug)]
enum Delays {
    Zero,
    Exactly(u64),
    Below(u64),
    /// A random number of a random size, so that delays differ by many orders of magnitude.
    Wild,
    /// Up to the last time.
    Never,
}

impl Delays {
    fn arrival(self, now: Instant, random: &mut Random) -> Instant {
        let later = |delay: u64| match delay {
            0 => at(now.time.as_ps(), now.round + 1),
            delay => at(now.time.as_ps().saturating_add(delay), if now.time == Time::MAX { now.round + 1 } else { 0 }),
        };
        match self {
            Delays::Zero => later(0),
            Delays::Exactly(delay) => later(delay),
            Delays::Below(bound) => later(random.below(bound)),
            Delays::Wild => {
                let bits = random.below(64);
                later(random.next() >> bits)
            }
            Delays::Never => later(u64::MAX),
        }
    }
}

fn delays() -> impl Strategy<Value = Delays> {
    prop_oneof![
        Just(Delays::Zero),
        Just(Delays::Never),
        Just(Delays::Wild),
        prop_oneof![Just(1), Just(1_000), Just(1_000_000_000)].prop_map(Delays::Exactly),
        prop_oneof![Just(2), Just(100), Just(1_000_000), Just(1 << 50)].prop_map(Delays::Below),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1..3000_usize, delays(), prop_oneof![Just(1_u32), Just(7), Just(100_000)])
            .prop_map(|(count, delay, receivers)| Step::Push { count, delay, receivers }),
        (1..4000_usize, prop_oneof![Just(0), Just(1), Just(1 << 20), Just(1 << 40), Just(u64::MAX)])
            .prop_map(|(count, ahead)| Step::Pop { count, ahead }),
        (1..3000_usize, delays()).prop_map(|(count, delay)| Step::Hold { count, delay }),
        (1..20_usize, prop_oneof![Just(1), Just(1_000), Just(1 << 20), Just(1 << 40)], delays())
            .prop_map(|(count, ahead, delay)| Step::Visit { count, ahead, delay }),
        Just(Step::Look),
        Just(Step::Compact),
        prop_oneof![Just(2), Just(1_000), Just(1 << 40)].prop_map(|width| Step::Change { width }),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_interleaving_pops_what_a_heap_pops(steps in steps(), seed in 1..u64::MAX) {
        let mut pair = Pair::default();
        let mut random = Random(seed);
        for step in steps {
            match step {
                Step::Push { count, delay, receivers } => for _ in 0..count {
                    let instant = delay.arrival(pair.last, &mut random);
                    pair.push(instant, random.below(u64::from(receivers)) as u32, random.below(5) as u32);
                },
                Step::Pop { count, ahead } => {
                    let bound = Time::from_ps(pair.last.time.as_ps().saturating_add(ahead));
                    for _ in 0..count {
                        if pair.pop_before(bound).is_none() {
                            break;
                        }
                    }
                }
                Step::Hold { count, delay } => for _ in 0..count {
                    let Some(now) = pair.pop() else { break };
                    let instant = delay.arrival(now, &mut random);
                    pair.push(instant, random.below(1000) as u32, random.below(5) as u32);
                },
                Step::Visit { count, ahead, delay } => for _ in 0..count {
                    pair.visit(ahead, 3_000, |now, bound| {
                        let pushes = [delay.arrival(now, &mut random), delay.arrival(Instant::at(bound), &mut random)];
                        let receivers = pushes.map(|_| random.below(1000) as u32);
                        std::array::from_fn(|at| (pushes[at], receivers[at]))
                    });
                },
                Step::Change { width } => pair.change(Grid::new(Delay::from_ps(width))),
                Step::Look => prop_assert_eq!(pair.windowed.next_instant(), pair.heap.next_instant()),
                Step::Compact => pair.compact(),
            }
        }
        pair.drain();
    }
}

/// Runs a hold model of `population` events. Checks every pop, and that an event is written into chains fewer
/// than `moves_max` times on average.
fn hold(
    population: u64,
    holds: u64,
    moves_max: u64,
    first: impl Fn(&mut Random) -> u64,
    delay: impl Fn(&mut Random, u64) -> u64,
) {
    let mut pair = Pair::default();
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for lp in 0..population {
        let time = first(&mut random);
        pair.push(at(time, 0), lp as u32, 1);
    }
    for hold in 0..holds {
        let now = pair.pop().expect("the population is constant");
        let instant = match delay(&mut random, hold) {
            0 => at(now.time.as_ps(), now.round + 1),
            delay => at(now.time.as_ps() + delay, 0),
        };
        pair.push(instant, random.below(population) as u32, 2);
    }
    let written = pair.windowed.written();
    let pushes = population + holds;
    assert!(written < moves_max * pushes, "{written} writes for {pushes} pushes");
    pair.drain();
}

#[test]
fn exponential_delays_move_an_event_about_twice() {
    let exponential =
        |random: &mut Random| (-libm::log((random.below(1 << 40) + 1) as f64 / (1_u64 << 40) as f64) * 1e9) as u64;
    hold(20_000, 200_000, 3, exponential, |random, _| exponential(random));
}

#[test]
fn visits_far_shorter_than_windows_move_an_event_a_few_times() {
    // A window would hold 512 events. Visits pop 200, 50 and 10.
    for ahead in [10_000_000, 2_500_000, 500_000] {
        let (mut pair, mut random) = (Pair::default(), Random(0x2545_F491_4F6C_DD1D));
        (0..20_000).for_each(|lp| pair.push(at(random.below(1_000_000_000), 0), lp, 1));
        let mut pushes = 20_000;
        while pushes < 200_000 {
            let later = |from: Time, random: &mut Random| at(from.as_ps() + random.below(2_000_000_000), 0);
            pushes += pair.visit(ahead, usize::MAX, |now, bound| {
                [later(now.time, &mut random), later(bound, &mut random)].map(|instant| (instant, 7))
            });
        }
        let written = pair.windowed.written();
        assert!(written < 5 * pushes as u64, "{written} writes for {pushes} pushes");
        pair.drain();
    }
}

#[test]
fn events_that_wait_behind_a_trickle_are_moved_a_few_times() {
    const US: u64 = 1_000_000;
    // 200 events each millisecond. Between them, one each microsecond, which a visit pops.
    let (mut pair, mut pushes) = (Pair::default(), 201);
    (0..200).for_each(|lp| pair.push(at(1_000 * US, 0), lp, 1));
    pair.push(at(US / 2, 0), 200, 1);
    while pushes < 100_000 {
        let again = |now: Instant| {
            let is_trickle = !now.time.as_ps().is_multiple_of(US);
            (at(now.time.as_ps() + if is_trickle { US } else { 1_000 * US }, 0), 7)
        };
        pushes += pair.visit(US / 2, usize::MAX, |now, _| [again(now), again(now)]);
    }
    let written = pair.windowed.written();
    assert!(written < 8 * pushes as u64, "{written} writes for {pushes} pushes");
    pair.drain();
}

/// A population so large that there are coarse windows.
const MANY: u64 = 150_000;

#[test]
fn many_exponential_delays_move_an_event_about_thrice() {
    let exponential =
        |random: &mut Random| (-libm::log((random.below(1 << 40) + 1) as f64 / (1_u64 << 40) as f64) * 1e9) as u64;
    hold(MANY, 3 * MANY, 4, exponential, |random, _| exponential(random));
}

#[test]
fn many_events_in_bursts_far_apart() {
    let burst = |random: &mut Random| random.below(1 << 20) + (random.below(50) << 44);
    let delay = |random: &mut Random, _| if random.below(4) == 0 { 1 << 44 } else { random.below(1 << 16) };
    hold(MANY, 3 * MANY, 8, burst, delay);
}

#[test]
fn many_delays_of_very_different_sizes() {
    let delay = |random: &mut Random, _| random.next() >> (14 + random.below(48));
    hold(MANY, 3 * MANY, 8, |random| random.below(1 << 50), delay);
}

#[test]
fn many_events_inside_one_wide_window_get_narrower_windows() {
    let first = |random: &mut Random| random.below(1_000_000_000_000_000);
    hold(MANY, 5 * MANY, 8, first, |random, _| 1 + random.below(1_000_000));
}

#[test]
fn an_event_sent_before_a_coarse_window_that_was_asked_for_comes_first() {
    const GAP: u64 = 1 << 44;
    let mut pair = Pair::default();
    let mut random = Random(5);
    for i in 0..MANY {
        pair.push(at((1 + i % 20) * GAP + random.below(1 << 20), 0), i as u32 % 1000, 1);
    }
    for burst in 1..=20 {
        // No event is due in the gap, until one is sent into it. The sender may or may not have asked for the
        // next time before.
        assert_eq!(pair.pop_before(Time::from_ps(burst * GAP - GAP / 2)), None);
        if burst % 2 == 0 {
            assert_eq!(pair.windowed.next_instant(), pair.heap.next_instant());
        }
        for i in 0..100 {
            pair.push(at(burst * GAP - GAP / 2 + random.below(GAP / 4), 0), i, 2);
        }
        while let Some(now) = pair.pop_before(Time::from_ps(burst * GAP + (1 << 20))) {
            if random.below(8) == 0 {
                pair.push(at(now.time.as_ps() + (21 << 44), 0), 7, 3);
            }
        }
    }
    pair.drain();
}

#[test]
fn constant_delays_from_one_instant_keep_everything_tied() {
    hold(30_000, 300_000, 6, |_| 5, |_, _| 1_000_000);
}

#[test]
fn zero_delays_keep_all_events_at_one_time() {
    hold(20_000, 200_000, 6, |_| 5, |_, _| 0);
}

#[test]
fn one_lp_ticks_while_all_others_are_idle() {
    // The first event is the only one that is due before 1,000 s.
    let pair = std::cell::Cell::new(false);
    let first = |random: &mut Random| {
        if pair.replace(true) { 1_000_000_000_000_000 + random.below(1000) } else { 0 }
    };
    hold(50_000, 200_000, 3, first, |_, _| 1_000);
}

#[test]
fn delays_of_very_different_sizes() {
    hold(
        20_000,
        200_000,
        5,
        |random| random.below(1 << 50),
        |random, _| if random.below(2) == 0 { 1000 } else { random.below(1 << 50) },
    );
    hold(5_000, 200_000, 6, |random| random.below(1000), |random, _| random.next() >> (8 + random.below(56)));
}

#[test]
fn the_pace_of_the_run_changes_all_the_time() {
    let delay = |random: &mut Random, hold: u64| match (hold / 30_000) % 3 {
        0 => random.below(1 << 20),
        1 => random.below(1 << 40),
        _ => random.below(1 << 8),
    };
    hold(10_000, 400_000, 8, |random| random.below(1 << 20), delay);
}

#[test]
fn dense_traffic_inside_one_wide_window_gets_narrower_windows() {
    // All events start within 1,000 s and then have short delays. A window of the width that the start
    // suggests would hold all of them.
    let first = |random: &mut Random| random.below(1_000_000_000_000_000);
    hold(40_000, 400_000, 6, first, |random, _| 1 + random.below(1_000_000));
}

#[test]
fn a_population_that_grows_from_one_and_shrinks_to_none() {
    let mut pair = Pair::default();
    let mut random = Random(7);
    let mut coin = Random(11);
    pair.push(at(0, 0), 0, 0);
    let mut pushes = 1_u64;
    let mut children = |pair: &mut Pair, now: Instant, count: u64, pushes: &mut u64| {
        for _ in 0..count {
            *pushes += 1;
            pair.push(at(now.time.as_ps() + 1 + random.below(1_000_000), 0), random.below(1000) as u32, 3);
        }
    };
    while pair.heap.len() < 50_000 {
        let now = pair.pop().expect("it grows");
        let count = if coin.below(2) == 0 && !pair.heap.is_empty() { 0 } else { 3 };
        children(&mut pair, now, count, &mut pushes);
    }
    let mut turn = 0_u64;
    while let Some(now) = pair.pop() {
        turn += 1;
        if turn.is_multiple_of(3) {
            children(&mut pair, now, 1, &mut pushes);
        }
    }
    assert!(pair.windowed.written() < 5 * pushes, "{} writes for {pushes} pushes", pair.windowed.written());
    pair.drain();
}

#[test]
fn the_last_times_are_in_order_too() {
    for (events, span) in [(3000, 1500), (MANY, 1 << 40)] {
        let mut pair = Pair::default();
        for i in 0..events {
            pair.push(at(u64::MAX - (i * 7_000_007) % span, 0), (i % 11) as u32, 1);
        }
        pair.push(at(0, 0), 0, 0);
        assert_eq!(pair.pop_before(Time::MAX), Some(at(0, 0)));
        while pair.pop_before(Time::MAX).is_some() {}
        assert_eq!(pair.heap.next_time(), Some(Time::MAX), "the bound is exclusive");
        assert_eq!(pair.windowed.next_time(), Some(Time::MAX));
        pair.drain();
    }
}

#[test]
fn events_sent_before_a_window_that_was_asked_for_come_first() {
    let mut pair = Pair::default();
    for i in 0..2000 {
        pair.push(at(1_000_000_000 + i, 0), 1, 1);
    }
    assert_eq!(pair.windowed.next_instant(), Some(at(1_000_000_000, 0)));
    assert_eq!(pair.pop_before(Time::from_ps(1_000_000_000)), None);
    for i in 0..5000 {
        pair.push(at((i * 7919) % 1_000_000_000, 0), 2, 2);
    }
    pair.drain();
}

#[test]
fn remaining_events_are_dropped_once() {
    use std::rc::Rc;
    for (events, times) in [(5000, 4001), (MANY, 1 << 40)] {
        let token = Rc::new(());
        let mut pending = WindowedPending::default();
        for i in 0..events {
            let instant = at((i * 7_919_000_003) % times, 0);
            let key = EventKey { instant, tie: 0, sender: Sender::GLOBAL, sequence: i };
            pending.push(Event::new(key, LpId(0), Body::Message(Rc::clone(&token))));
        }
        for _ in 0..700 {
            drop(pending.pop());
        }
        assert_eq!(Rc::strong_count(&token) as u64, events - 699);
        let left = pending.take_all();
        assert_eq!(left.count() as u64, events - 700);
        assert!(pending.is_empty() && Rc::strong_count(&token) == 1);
    }
}

#[test]
fn a_pending_event_takes_at_most_64_bytes() {
    for population in [1024, 16_384, 100_000, MANY] {
        let mut random = Random(99);
        let mut pending = WindowedPending::<()>::default();
        let event = |time: u64, sequence| {
            let key = EventKey { instant: at(time, 0), tie: 0, sender: Sender::GLOBAL, sequence };
            Event::new(key, LpId(0), Body::Message(()))
        };
        assert_eq!(size_of_val(&event(0, 0)), 40);
        let exponential =
            |random: &mut Random| (-libm::log((random.below(1 << 40) + 1) as f64 / (1_u64 << 40) as f64) * 1e9) as u64;
        for i in 0..population {
            pending.push(event(exponential(&mut random), i));
        }
        let mut most = pending.allocated_bytes();
        for i in 0..4 * population {
            let now = pending.pop().expect("the population is constant").time().as_ps();
            pending.push(event(now + exponential(&mut random), i));
            most = most.max(pending.allocated_bytes());
        }
        assert!(most <= 64 * population as usize, "{} bytes an event for {population}", most / population as usize);
    }
}

#[test]
fn upcoming_names_receivers_that_come_soon() {
    let mut pending = WindowedPending::<()>::default();
    for i in 0..10_000_u64 {
        let time = (i * 7919) % 10_007;
        let key = EventKey { instant: at(time, 0), tie: 0, sender: Sender::GLOBAL, sequence: i };
        pending.push(Event::new(key, LpId(time as u32), Body::Message(())));
    }
    let (mut right, mut total) = (0, 0);
    let mut hints = std::collections::VecDeque::new();
    while let Some(event) = pending.pop() {
        hints.push_back(pending.upcoming(3));
        if hints.len() > 4 {
            total += 1;
            right += u32::from(hints.pop_front() == Some(Some(event.receiver())));
        }
    }
    assert!(right * 10 > total * 9, "{right} of {total}");
}
