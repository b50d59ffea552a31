//! A single worker of `window` gets several partitions once windows turn out to hold many events for each LP.

use super::{check, linked};
use parades_core::prelude::*;
use parades_engine::partition::Wish;
use parades_engine::{null_message, sequential, window};
use parades_transport::Loopback;

/// A ring of rings. Neighbours in a ring are near each other; the first LPs of two rings are far. Each LP
/// passes each event on at once, mostly to its neighbour.
struct Rings(u32);

const MEMBERS: u32 = 512;
const NEAR: Delay = Delay::from_us(10);
const FAR: Delay = Delay::from_ms(1);

impl Rings {
    fn neighbour(lp: u32) -> u32 {
        lp / MEMBERS * MEMBERS + (lp + 1) % MEMBERS
    }

    fn links(&self) -> impl Iterator<Item = (u32, u32, Delay)> {
        let rings = self.0;
        let near = (0..rings * MEMBERS).map(|lp| (lp, Rings::neighbour(lp), NEAR));
        near.chain((0..rings).map(move |ring| (ring * MEMBERS, (ring + 1) % rings * MEMBERS, FAR)))
    }
}

impl Model for Rings {
    type State = u64;
    type Message = u64;
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        self.0 * MEMBERS
    }
    fn channels(&self) -> Channels {
        self.links().fold(Channels::none(), |mut channels, (from, to, lookahead)| {
            channels.connect(LpId(from), LpId(to), lookahead);
            channels
        })
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.float("sum", Unit::Count);
        metrics
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        ctx.send_self(Delay::from_ps(u64::from(ctx.id().0)), 1);
        0
    }
    fn handle(&self, sum: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
        let Body::Message(&x) = event else { return };
        *sum += x;
        ctx.observe_float(MetricId(0), *sum as f64);
        // The second channel of a ring's first LP leads to the next ring.
        let leaves = ctx.id().0.is_multiple_of(MEMBERS) && sum.is_multiple_of(4);
        let (port, delay) = if leaves { (Port(1), FAR) } else { (Port(0), NEAR) };
        ctx.send(port, delay, x % 3 + 1);
    }
}

/// Runs the model for some seconds. Returns the number of events and of partitions.
fn ran(model: &Rings, seconds: f64) -> (u64, f64) {
    let until = || RunOptions::until(Time::try_from_secs_f64(seconds).expect("some time"));
    let expected = sequential::run(model, until()).expect("it runs");
    let found = window::run(model, until(), &window::Settings::of_threads(1)).expect("it runs");
    assert_eq!((found.digest, found.events, &found.metrics), (expected.digest, expected.events, &expected.metrics));
    let (_, partitions) =
        found.engine_stats.into_iter().find(|(stat, _)| *stat == "partitions").expect("it is counted");
    (found.events, partitions)
}

#[test]
fn many_lps_with_many_events_in_a_window_are_cut_for_one_worker_too() {
    // The next choice of partitions comes the later, the longer one takes. On a busy machine it may take ten
    // times as long as usual, so the run is ten times as long as it must be.
    let (events, partitions) = ran(&Rings(8), 0.1);
    assert!(events > 1_000_000, "{events}");
    assert!(partitions > 7.0, "{partitions}");
    let (_, partitions) = ran(&Rings(2), 0.01);
    assert!(partitions < 2.0, "few LPs fit the cache anyway: {partitions}");
}

#[test]
fn windows_of_few_events_leave_one_worker_one_partition() {
    let world = linked(8 * MEMBERS, Rings(8).links());
    let found = |events_per_second| {
        check(&world, &Wish { events_per_second: Some(events_per_second), ..Wish::of_workers(1) }).partitions()
    };
    // The window is a millisecond.
    assert_eq!([1e6, 1e8].map(found), [1, 8]);
}

/// One LP, which sends itself an event ten times.
struct One;

impl Model for One {
    type State = u64;
    type Message = ();
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        1
    }
    fn channels(&self) -> Channels {
        Channels::none()
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        ctx.send_self(NEAR, ());
        0
    }
    fn handle(&self, count: &mut u64, _: Body<&()>, ctx: &mut Context<'_, Self>) {
        *count += 1;
        if *count < 10 {
            ctx.send_self(NEAR, ());
        }
    }
}

#[test]
fn a_leader_alone_may_come_to_the_end_before_the_other_threads_begin() {
    const WORKERS: usize = 4;
    let until = || RunOptions::until(Time::MAX);
    let fabric = || Box::new(Loopback::connect(1).remove(0));
    for _ in 0..300 {
        let of_rank = window::run_rank(&One, until(), &window::Settings::of_threads(WORKERS), fabric());
        assert_eq!(of_rank.result.expect("it runs").map(|outcome| outcome.events), Some(10));
    }
    for _ in 0..300 {
        let of_rank = null_message::run_rank(&One, until(), &null_message::Settings::of_threads(WORKERS), fabric());
        assert_eq!(of_rank.result.expect("it runs").map(|outcome| outcome.events), Some(10));
    }
}
