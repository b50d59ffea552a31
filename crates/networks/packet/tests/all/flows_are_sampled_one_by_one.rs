//! Series of single flows and of the bytes in queues: values computed by hand, equal on every engine.

use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_packet::description::{App, AppKind, Description, Ends, Link, Marking, Measure};
use parades_packet::flow::Limit;
use parades_packet::network::Network;
use parades_packet::protocols::tcp::{Tcp, Writes};
use parades_packet::protocols::{Control, Datagrams, Transfer};
use parades_packet::queue::{Codel, Discipline, QueueLimit};
use parades_packet::segment::SegmentRef;
use parades_packet::traffic::{Pattern, Sizes};
use parades_tcp::control::{Algorithm, NewReno};
use parades_tcp::settings::Settings;
use parades_topology::NodeId;

const MSS: u32 = 1000;

/// The round trip of a segment that nothing delays: twice 10 ms; 1040 bytes there and 40 bytes back, at 10
/// Mbps.
const ROUND_TRIP: Delay = Delay::from_us(20_000 + 832 + 32);

/// Two nodes, and a link of 10 Mbps and 10 ms.
fn network(kind: AppKind, start: Delay, queue: Discipline, measure: Measure) -> Network<SegmentRef> {
    let rate_bps = 10_000_000;
    let link = Link { name: "a-b".into(), rate_bps, delay: Delay::from_ms(10), queue, ..Link::default() };
    let flows = vec![Ends { source: NodeId(0), destination: NodeId(1), start: Time::ZERO.saturating_add(start) }];
    let apps = vec![App { name: "x".into(), kind, flows, marking: Marking::default() }];
    let nodes = vec!["a".into(), "b".into()];
    Network::described(Description { nodes, links: vec![link], apps, measure, headers: 28, ..Description::default() })
        .expect("the network is possible")
}

/// A flow of NewReno that starts in congestion avoidance with a window of four segments.
fn tcp(bytes: u64, writes: Option<Writes>) -> AppKind {
    let settings = Settings {
        algorithm: Algorithm::NewReno(NewReno::rfc5681()),
        mss: MSS,
        timestamps: false,
        sack: false,
        rack: false,
        tail_loss_probe: false,
        delayed_ack_segments: 1,
        initial_window: 4,
        initial_ssthresh: 4 * MSS,
        ..Settings::linux()
    };
    AppKind::Tcp(Box::new(Tcp { settings, bytes, writes, read_rate_bps: None }))
}

fn of_flow(every: Delay) -> Measure {
    Measure { every, flows: vec![0], ..Measure::default() }
}

fn until(ms: u64) -> RunOptions<'static> {
    RunOptions::until(Time::from_ms(ms))
}

fn values(outcome: &Outcome, name: &str) -> Vec<f64> {
    let series = outcome.metrics.get(name).and_then(|metric| metric.series()).expect("a series");
    series.points().into_iter().map(|(_, x)| x).collect()
}

#[test]
fn the_window_of_new_reno_grows_by_a_segment_in_each_round_trip() {
    // The handshake takes 20 ms and two segments of at most 60 bytes, so the first data leave between 22.0 ms
    // and 22.1 ms. The sample at n round trips sees the window when all segments of the round n - 2 are
    // acknowledged, and before the first acknowledgement of the next round: 4 + (n - 2) segments, all of them
    // in flight. The link is never full: 25 segments are a round trip long.
    let network =
        network(tcp(10_000_000, None), Delay::from_ms(2), QueueLimit::Packets(100).into(), of_flow(ROUND_TRIP));
    let outcome = sequential::run(&network, until(430)).expect("it runs");
    let windows: Vec<f64> = (0..19).map(|round| f64::from(MSS * (4 + round))).collect();
    assert_eq!(values(&outcome, "flow_cwnd_x#0")[1..], windows);
    assert_eq!(values(&outcome, "flow_in_flight_x#0")[1..], windows);
    assert_eq!(values(&outcome, "flow_ssthresh_x#0"), [f64::from(4 * MSS); 20]);
    // In each period the segments of one round arrive, and those of the round before are acknowledged.
    let rate = |bytes: f64| bytes * 8.0 / ROUND_TRIP.as_secs_f64();
    let is_near = |found: &[f64], expected: &[f64]| {
        let pairs = found.iter().zip(expected);
        found.len() == expected.len() && pairs.into_iter().all(|(a, b)| (a - rate(*b)).abs() < 1e-3)
    };
    let delivered = values(&outcome, "flow_delivery_rate_x#0");
    assert!(is_near(&delivered[2..], &windows[..18]), "{delivered:?}");
    // At the receiver, a round ends before the sample as long as it has at most ten segments.
    let goodput = values(&outcome, "flow_goodput_x#0");
    assert!(is_near(&goodput[1..8], &windows[..7]), "{goodput:?}");
}

#[test]
fn the_round_trip_is_twice_the_delay_and_the_transmission_of_segment_and_acknowledgement() {
    // A segment each 50 ms, so none waits. The handshake's shorter round trip is forgotten: (7/8)^60 < 0.001.
    let writes = Some(Writes { bytes: MSS, rate_bps: Some(u64::from(MSS) * 8 * 20) });
    let every = Delay::from_ms(500);
    let network = network(tcp(10_000_000, writes), Delay::ZERO, QueueLimit::Packets(100).into(), of_flow(every));
    let outcome = sequential::run(&network, until(4000)).expect("it runs");
    let last = *values(&outcome, "flow_rtt_x#0").last().expect("it is measured");
    assert!((last - ROUND_TRIP.as_secs_f64()).abs() < 1e-6, "{last}");
    // In half a second ten segments arrive: the goodput is the application's rate.
    assert_eq!(values(&outcome, "flow_goodput_x#0")[2..], [160_000.0; 6]);
}

#[test]
fn other_flows_have_a_goodput_and_nothing_else() {
    let transfer = Transfer { bytes: 10_000_000, segment: 1000, window: 1, control: Control::Fixed };
    // A segment and its acknowledgement take 20 ms, 1028 bytes and 28 bytes: 20.8448 ms.
    let period = Delay::from_us(208_448);
    let network = network(AppKind::Transfer(transfer), Delay::ZERO, QueueLimit::Packets(9).into(), of_flow(period));
    let outcome = sequential::run(&network, until(1000)).expect("it runs");
    let rate = 10.0 * 8000.0 / period.as_secs_f64();
    assert!(values(&outcome, "flow_goodput_x#0").iter().all(|x| (x - rate).abs() < 1e-3));
    let names: Vec<&str> = outcome.metrics.iter().map(|(name, ..)| name).filter(|n| n.starts_with("flow_")).collect();
    assert_eq!(names, ["flow_goodput_x#0", "flow_payload_received_x#0"]);
}

/// What waits behind a lost segment is given to the application at once when the segment arrives. What
/// arrives is never more than the link carries: 1,000 of 1,040 bytes at 10 Mbps, and a segment at the edge of
/// a period.
#[test]
fn the_payload_that_arrives_never_exceeds_the_rate_of_the_link() {
    let period = Delay::from_ms(10);
    let network = network(tcp(3_000_000, None), Delay::ZERO, QueueLimit::Packets(12).into(), of_flow(period));
    let outcome = sequential::run(&network, until(6000)).expect("it runs");
    let most = |name: &str| values(&outcome, name).into_iter().fold(0.0, f64::max);
    let link = 10e6 * 1000.0 / 1040.0 + 8000.0 / period.as_secs_f64();
    assert!(most("flow_goodput_x#0") > 1.2 * link, "the stream jumps");
    assert!(most("flow_payload_received_x#0") <= link, "{}", most("flow_payload_received_x#0"));
    assert_eq!(values(&outcome, "throughput"), values(&outcome, "flow_goodput_x#0"));
    assert_eq!(values(&outcome, "payload_received"), values(&outcome, "flow_payload_received_x#0"));
}

#[test]
fn the_bytes_in_a_queue_are_those_of_its_packets_for_every_kind_of_queue() {
    // Five packets of 1250 bytes with headers, at once: one is transmitted in 1 ms while four wait, then
    // three.
    let datagrams = Datagrams {
        sizes: Sizes::Constant(1250 - 28),
        pattern: Pattern::Constant { rate_bps: 1222 * 8 * 1_000_000_000 },
        limit: Limit::Bytes(5 * 1222),
    };
    let codel = Codel { target: Delay::from_ms(50), ..Codel::default() };
    for queue in [QueueLimit::Packets(100).into(), Discipline::Codel(codel)] {
        let measure = Measure { every: Delay::from_us(900), links: vec![0], ..Measure::default() };
        let network = network(AppKind::Datagrams(datagrams.clone()), Delay::ZERO, queue, measure);
        let outcome = sequential::run(&network, until(5)).expect("it runs");
        assert_eq!(values(&outcome, "link_queue_a-b"), [4., 3., 2., 1., 0.]);
        assert_eq!(values(&outcome, "link_queue_bytes_a-b"), [5000., 3750., 2500., 1250., 0.]);
    }
}

#[test]
fn samples_of_flows_are_the_same_on_every_engine() {
    let measure = Measure { links: vec![0], ..of_flow(Delay::from_ms(7)) };
    let network = network(tcp(3_000_000, None), Delay::from_ms(2), QueueLimit::Packets(12).into(), measure);
    let expected = sequential::run(&network, until(3000)).expect("it runs");
    let thresholds = values(&expected, "flow_ssthresh_x#0");
    assert!(thresholds.iter().any(|&bytes| bytes > 4000.0), "segments are lost, and the threshold is set");
    let others = [
        window::run(&network, until(3000), &window::Settings::of_threads(2)),
        null_message::run(&network, until(3000), &null_message::Settings::of_threads(2)),
        time_warp::run(&network, until(3000), &time_warp::Settings::of_threads(2)),
        rollback_check::run(&network, until(3000)),
    ];
    for outcome in others.map(|run| run.expect("it runs")) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics));
    }
}

#[test]
fn a_measure_of_what_does_not_exist_is_refused() {
    for measure in [
        Measure { links: vec![1], ..of_flow(ROUND_TRIP) },
        Measure { apps: vec![1], ..of_flow(ROUND_TRIP) },
        Measure { flows: vec![1], ..of_flow(ROUND_TRIP) },
        Measure { flows: vec![0, 0], ..of_flow(ROUND_TRIP) },
    ] {
        let description = Description {
            nodes: vec!["a".into(), "b".into()],
            links: vec![Link { name: "a-b".into(), ..Link::default() }],
            apps: vec![App {
                name: "x".into(),
                kind: tcp(1, None),
                flows: vec![Ends { source: NodeId(0), destination: NodeId(1), start: Time::ZERO }],
                marking: Marking::default(),
            }],
            measure,
            ..Description::default()
        };
        let why = Network::described(description).expect_err("it cannot be measured").to_string();
        assert!(why.contains("are sampled one by one, each once"), "{why}");
    }
}
