//! Samples: the values of their series, and a run that they do not change.

use parades_core::prelude::*;
use parades_packet::flow::{Flow, Limit};
use parades_packet::network::{Network, Settings};
use parades_packet::queue::QueueLimit;
use parades_packet::traffic::{Pattern, Sizes};
use parades_packet::{campus, wan};
use parades_topology::{Link, NodeId, Topology};

const SERIES: [&str; 4] = ["goodput", "loss_rate", "packets_waiting", "queue_longest"];

fn until(seconds: f64) -> RunOptions<'static> {
    RunOptions::until(Time::try_from_secs_f64(seconds).expect("a time"))
}

fn run(network: &Network, seconds: f64) -> Outcome {
    parades_engine::sequential::run(network, until(seconds)).expect("it runs")
}

fn count(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("a counter")
}

/// Returns the points of a series: time in milliseconds, and value.
fn points(outcome: &Outcome, name: &str) -> Vec<(u64, f64)> {
    let series = outcome.metrics.get(name).and_then(|metric| metric.series()).expect("a series");
    series.points().into_iter().map(|(time, x)| (time.as_ps() / 1_000_000_000, x)).collect()
}

fn sum(outcome: &Outcome, name: &str) -> f64 {
    points(outcome, name).into_iter().map(|(_, x)| x).sum()
}

/// Returns a `wan` that drops packets.
fn overload(sample: Delay) -> Network {
    let queue = QueueLimit::Packets(20);
    let parameters =
        wan::Parameters { load: 1.3, packets_per_s: 30_000.0, sample, queue, ..wan::Parameters::default() };
    let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 20_000_000, delay: Delay::from_ms(3) };
    let topology = Topology::new(&["a", "b", "c", "d"], vec![link(0, 1), link(1, 2), link(2, 3)]).expect("a path");
    parameters.build(topology, 1).expect("a network").network
}

#[test]
fn the_points_add_up_to_what_was_delivered_and_dropped() {
    let outcome = run(&overload(Delay::from_ms(50)), 2.0);
    for name in SERIES {
        let times: Vec<u64> = points(&outcome, name).into_iter().map(|(ms, _)| ms).collect();
        assert_eq!(times, (1..=40).map(|n| n * 50).collect::<Vec<_>>(), "{name}");
    }
    let bytes = sum(&outcome, "goodput") * 0.05 / 8.0;
    assert!((bytes - count(&outcome, "bytes_delivered") as f64).abs() < 1e-3, "{bytes}");
    let (dropped, total) = (sum(&outcome, "loss_rate") * 0.05, count(&outcome, "packets_lost"));
    assert!(total > 1000 && (dropped - total as f64).abs() < 1e-6, "{dropped} {total}");
    // No point covers the time after the last sample.
    let longer = run(&overload(Delay::from_ms(50)), 2.04);
    assert_eq!(points(&longer, "goodput"), points(&outcome, "goodput"));
    assert!(count(&longer, "bytes_delivered") > count(&outcome, "bytes_delivered"));
}

#[test]
fn a_burst_is_seen_as_it_waits() {
    // Ten packets of 1 ms each come at time 0 (a gap of 1 ns): the first is transmitted at once, four wait,
    // five are dropped. They arrive at 2, 3, ... 6 ms. At 1 ms the second packet's transmission starts: it
    // waits no more.
    let link = |b| Link { a: NodeId(1), b: NodeId(b), rate_bps: 8_000_000, delay: Delay::from_ms(1) };
    let topology = Topology::new(&["there", "here", "elsewhere"], vec![link(0), link(2)]).expect("a network");
    let burst = Flow {
        source: NodeId(1),
        destination: NodeId(0),
        start: Time::ZERO,
        limit: Limit::Bytes(9700),
        sizes: Sizes::Constant(970),
        pattern: Pattern::Constant { rate_bps: 970 * 8 * 1_000_000_000 },
    };
    let settings =
        Settings { queue: QueueLimit::Packets(4).into(), sample: Delay::from_us(500), ..Settings::default() };
    let outcome = run(&Network::new(topology, vec![burst], settings).expect("a network"), 0.007);
    let values = |name| points(&outcome, name).into_iter().map(|(_, x)| x).collect::<Vec<_>>();
    let waiting = [4., 3., 3., 2., 2., 1., 1., 0., 0., 0., 0., 0., 0., 0.];
    assert_eq!(values("packets_waiting"), waiting);
    assert_eq!(values("queue_longest"), waiting);
    assert_eq!(values("loss_rate")[..2], [10_000., 0.]); // Five in half a millisecond.
    // The sample at 2 ms does not see the arrival at 2 ms; the next sample does. 970 bytes in 0.5 ms are
    // 15.52 Mbit/s.
    let rate = 15_520_000.;
    assert_eq!(values("goodput"), [0., 0., 0., 0., rate, 0., rate, 0., rate, 0., rate, 0., rate, 0.]);
}

#[test]
fn events_lps_and_other_metrics_stay_as_they_are() {
    let campus = |sample| {
        let parameters = campus::Parameters { lan_clients: 2, sample, ..campus::Parameters::default() };
        parameters.network(1).expect("a small one")
    };
    for build in [&campus as &dyn Fn(Delay) -> Network, &overload] {
        let without = run(&build(Delay::ZERO), 3.0);
        let with = run(&build(Delay::from_ms(70)), 3.0);
        assert_eq!((without.global_events, with.global_events), (0, 42));
        assert_eq!((without.events, &without.lp_digests), (with.events, &with.lp_digests));
        assert!(without.metrics.iter().all(|(name, ..)| !SERIES.contains(&name)));
        let others = with.metrics.iter().filter(|(name, ..)| !SERIES.contains(name));
        assert!(others.eq(without.metrics.iter()), "the other metrics are the same");
    }
}

#[test]
fn sampled_runs_can_be_undone_and_redone() {
    let network = overload(Delay::from_ms(1));
    let once = run(&network, 0.3);
    let redone = parades_engine::rollback_check::run(&network, until(0.3)).expect("all is restored");
    assert_eq!((once.digest, once.metrics), (redone.digest, redone.metrics));
}

#[test]
fn the_last_sample_is_before_the_end_of_time() {
    let link = Link { a: NodeId(0), b: NodeId(1), rate_bps: 8_000_000, delay: Delay::from_ms(1) };
    let topology = Topology::new(&["here", "there"], vec![link]).expect("a network");
    let days = Delay::from_secs(100 * 86_400);
    let network = Network::new(topology, Vec::new(), Settings { sample: days, ..Settings::default() });
    let outcome = parades_engine::sequential::run(&network.expect("a network"), RunOptions::until(Time::MAX));
    assert_eq!(points(&outcome.expect("it runs"), "goodput").len(), 2);
}
