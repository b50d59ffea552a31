//! Small networks whose every packet can be followed on paper, and one queue that has a formula.

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_packet::flow::{Flow, Limit};
use parades_packet::network::{Network, NetworkError, Settings};
use parades_packet::queue::QueueLimit;
use parades_packet::traffic::{Pattern, Period, Sizes};
use parades_topology::{Link, LinkId, NodeId, Topology};

/// 8 Mbit/s: 1000 bytes take 1 ms. With 30 bytes of headers, a payload of 970 makes 1000.
const RATE: u64 = 8_000_000;
const MS: u64 = 1_000_000_000;

fn link(a: u32, b: u32, rate_bps: u64, delay_ms: u64) -> Link {
    Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_ms(delay_ms) }
}

fn topology(nodes: usize, links: Vec<Link>) -> Topology {
    Topology::new(&vec!["node"; nodes], links).expect("a network")
}

/// Returns a flow of `packets` packets of 970 bytes, with a gap of `gap_us` after each.
fn flow(source: u32, destination: u32, start_us: u64, packets: u64, gap_us: u64) -> Flow {
    Flow {
        source: NodeId(source),
        destination: NodeId(destination),
        start: Time::ZERO.checked_add(Delay::from_us(start_us)).expect("soon"),
        limit: Limit::Bytes(packets * 970),
        sizes: Sizes::Constant(970),
        pattern: Pattern::Constant { rate_bps: 970 * 8 * 1_000_000 / gap_us },
    }
}

fn until(seconds: f64) -> RunOptions<'static> {
    RunOptions::until(Time::try_from_secs_f64(seconds).expect("a time"))
}

fn run(network: &Network, seconds: f64) -> Outcome {
    parades_engine::sequential::run(network, until(seconds)).expect("it runs")
}

fn count(outcome: &Outcome, name: &str) -> u64 {
    let counter = outcome.metrics.get(name).and_then(|metric| metric.counter());
    u64::try_from(counter.unwrap_or_else(|| panic!("no counter `{name}`"))).expect("small")
}

/// Returns the cell of a flow in a column of the table `flows`.
fn cell(outcome: &Outcome, flow: usize, column: &str) -> u64 {
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).expect("a table");
    let index = table.columns().iter().position(|c| &*c.name == column).expect("a column");
    match table.rows()[flow][index] {
        Cell::Integer(x) => x,
        ref other => panic!("{column} of flow {flow} is {other:?}"),
    }
}

fn settings(queue: QueueLimit) -> Settings {
    Settings { queue: queue.into(), ..Settings::default() }
}

#[test]
fn over_one_link_the_delay_is_serialisation_and_propagation() {
    let network =
        Network::new(topology(2, vec![link(0, 1, RATE, 5)]), vec![flow(0, 1, 250, 3, 2000)], Settings::default());
    let outcome = run(&network.expect("a network"), 1.0);
    assert_eq!(cell(&outcome, 0, "delay_min"), 6 * MS);
    assert_eq!(cell(&outcome, 0, "delay_max"), 6 * MS);
    assert_eq!(cell(&outcome, 0, "jitter"), 0);
    // Each gap is rounded up, by less than a picosecond.
    assert_eq!(cell(&outcome, 0, "start"), MS / 4);
    assert!(cell(&outcome, 0, "duration").abs_diff(10 * MS) <= 2);
    assert_eq!(count(&outcome, "flows_complete"), 1);
    assert_eq!(outcome.events, 6); // Three timers, three arrivals.
}

#[test]
fn a_rate_that_divides_badly_is_rounded_up() {
    let network = Network::new(topology(2, vec![link(0, 1, 7, 0)]), vec![flow(0, 1, 0, 1, 1)], Settings::default());
    let outcome = run(&network.expect("a network"), 10_000.0);
    assert_eq!(cell(&outcome, 0, "delay_min"), (8_000 * 1_000_000_000_000_u64).div_ceil(7));
}

#[test]
fn a_full_queue_drops_exactly_what_does_not_fit() {
    // Ten packets at one time (a gap of 1 ns): one is transmitted, four wait, five are dropped.
    let burst = Flow { pattern: Pattern::Constant { rate_bps: 970 * 8 * 1_000_000_000 }, ..flow(0, 1, 0, 10, 1) };
    let with = |queue| {
        let network = Network::new(topology(2, vec![link(0, 1, RATE, 1)]), vec![burst.clone()], settings(queue));
        run(&network.expect("a network"), 1.0)
    };
    let outcome = with(QueueLimit::Packets(4));
    assert_eq!((count(&outcome, "packets_delivered"), count(&outcome, "packets_lost")), (5, 5));
    assert_eq!(cell(&outcome, 0, "packets_lost"), 5);
    assert_eq!(cell(&outcome, 0, "delay_max"), 6 * MS - 4 * 1000);
    assert_eq!(count(&outcome, "flows_complete"), 0);
    // 2,500 bytes hold two packets of 1000 beside the one on the wire.
    let outcome = with(QueueLimit::Bytes(2500));
    assert_eq!((count(&outcome, "packets_delivered"), count(&outcome, "packets_lost")), (3, 7));
    let outcome = with(QueueLimit::Packets(0));
    assert_eq!((count(&outcome, "packets_delivered"), count(&outcome, "packets_lost")), (1, 9));
}

#[test]
fn a_queue_of_its_own_belongs_to_one_link() {
    // Two sources with fast links send one packet each to the same slow one; only its queue counts.
    let links = vec![link(0, 2, RATE * 10, 1), link(1, 2, RATE * 10, 1), link(2, 3, RATE, 1)];
    let flows = vec![flow(0, 3, 0, 1, 1), flow(1, 3, 10, 1, 1)];
    let dropped = |queues| {
        let settings = Settings { queues, ..Settings::default() };
        let network = Network::new(topology(4, links.clone()), flows.clone(), settings).expect("a network");
        count(&run(&network, 1.0), "packets_lost")
    };
    let none = || QueueLimit::Packets(0).into();
    assert_eq!(dropped(vec![]), 0);
    assert_eq!(dropped(vec![(LinkId(0), none()), (LinkId(1), none())]), 0);
    assert_eq!(dropped(vec![(LinkId(2), none())]), 1);
    let settings = Settings { queues: vec![(LinkId(3), none())], ..Settings::default() };
    let error = Network::new(topology(4, links.clone()), flows.clone(), settings).expect_err("no such link");
    assert!(matches!(error, NetworkError::UnknownLink { link: 3, links: 3 }), "{error}");
}

#[test]
fn two_flows_share_a_bottleneck_in_the_order_of_arrival() {
    // Both sources are 1 ms (and 0.1 ms of wire) from node 2. Flow 0 sends at 0, 0.5 and 1.0 ms, flow 1 at
    // 0.2, 0.7 and 1.2 ms: they alternate on the slow link, which transmits a packet each millisecond from
    // 1.1 ms on.
    let links = vec![link(0, 2, RATE * 10, 1), link(1, 2, RATE * 10, 1), link(2, 3, RATE, 3)];
    let flows = vec![flow(0, 3, 0, 3, 500), flow(1, 3, 200, 3, 500)];
    let network = Network::new(topology(4, links), flows, Settings::default()).expect("a network");
    let outcome = run(&network, 1.0);
    // Departures at 2.1, 3.1, ... 7.1 ms, arrivals 3 ms later.
    let tenth = MS / 10;
    let near = |x: u64, tenths: u64| assert!(x.abs_diff(tenths * tenth) <= 2, "{x} is not {tenths} tenths of a ms");
    near(cell(&outcome, 0, "delay_min"), 51);
    near(cell(&outcome, 1, "delay_min"), 59);
    near(cell(&outcome, 0, "duration"), 91);
    near(cell(&outcome, 1, "duration"), 99);
    near(cell(&outcome, 0, "delay_max"), 81);
    near(cell(&outcome, 1, "delay_max"), 89);
    near(cell(&outcome, 0, "delay_mean"), (51 + 66 + 81) / 3);
    assert_eq!(count(&outcome, "packets_reordered"), 0);
}

#[test]
fn what_is_under_way_at_the_end_is_in_flight() {
    // Sent at 0, 2, 4 and 6 ms; each takes 6 ms. At 7 ms one has arrived (at 6), three have not.
    let network =
        Network::new(topology(2, vec![link(0, 1, RATE, 5)]), vec![flow(0, 1, 0, 4, 2000)], Settings::default());
    let outcome = run(&network.expect("a network"), 0.007);
    assert_eq!((count(&outcome, "packets_delivered"), count(&outcome, "packets_in_flight")), (1, 3));
    let links = outcome.metrics.get("links").and_then(|metric| metric.table()).expect("a table");
    assert_eq!(links.rows().len(), 1, "the other direction is not used");
    assert_eq!(links.rows()[0][4], Cell::Float(4.0 / 7.0)); // Four of seven milliseconds.
}

#[test]
fn flows_end_at_their_bytes_or_their_time() {
    let two_and_a_half = Flow { limit: Limit::Bytes(970 * 2 + 485), ..flow(0, 1, 0, 1, 1000) };
    let until_5ms = Flow { limit: Limit::Until(Time::from_ps(5 * MS)), ..flow(0, 1, 0, 1, 2000) };
    let never = Flow { limit: Limit::Never, ..flow(0, 1, 0, 1, 10_000) };
    let flows = vec![two_and_a_half, until_5ms, never];
    let network = Network::new(topology(2, vec![link(0, 1, RATE * 100, 1)]), flows, Settings::default());
    let outcome = run(&network.expect("a network"), 1.0);
    let column = |name| [0, 1, 2].map(|flow| cell(&outcome, flow, name));
    assert_eq!(column("packets_delivered"), [3, 3, 100]);
    assert_eq!(column("bytes_delivered"), [2425, 3 * 970, 97_000]);
    assert_eq!(column("complete"), [1, 1, 0]);
}

#[test]
fn waiting_times_are_those_of_pollaczek_and_khinchine() {
    // M/D/1: the mean wait is load / (2 (1 - load)) services of 1 ms.
    for load in [0.3, 0.6, 0.8] {
        let arrivals = Flow {
            limit: Limit::Never,
            pattern: Pattern::Poisson { mean_gap: Delay::from_ms(1).scaled(1.0 / load) },
            ..flow(0, 1, 0, 1, 1)
        };
        let queue = settings(QueueLimit::Packets(u32::MAX));
        let network = Network::new(topology(2, vec![link(0, 1, RATE, 0)]), vec![arrivals], queue).expect("a network");
        let outcome = run(&network, 1000.0);
        let mean_ms = cell(&outcome, 0, "delay_mean") as f64 / 1e9;
        let expected = 1.0 + load / (2.0 * (1.0 - load));
        assert!((mean_ms - expected).abs() < 0.03 * expected, "load {load}: {mean_ms} ms, not {expected} ms");
        let Some(Cell::Float(busy)) = outcome.metrics.get("utilisation_max").and_then(|m| m.value()) else {
            panic!("no utilisation")
        };
        assert!((busy - load).abs() < 0.01, "{busy}");
    }
}

#[test]
fn senseless_flows_are_refused_with_a_sentence() {
    let refuse = |flow: Flow| {
        let error = Network::new(topology(2, vec![link(0, 1, RATE, 5)]), vec![flow], Settings::default());
        error.expect_err("it makes no sense").to_string()
    };
    let good = flow(0, 1, 0, 1, 1);
    assert_eq!(refuse(flow(1, 1, 0, 1, 1)), "flow 0 leads from a node to itself; give it two ends");
    assert_eq!(
        refuse(Flow { sizes: Sizes::Constant(70_000), ..good.clone() }),
        "flow 0 has packets of 70000 bytes; give them between 1 and 65507"
    );
    let on_off =
        Pattern::OnOff { rate_bps: 8, on: Period::Constant(Delay::from_ps(1)), off: Period::Constant(Delay::ZERO) };
    for (wrong, says) in [
        (Flow { sizes: Sizes::Mix(vec![(100, 0)]), ..good.clone() }, "no packet size"),
        (Flow { limit: Limit::Bytes(0), ..good.clone() }, "no bytes to send"),
        (Flow { pattern: Pattern::Constant { rate_bps: 0 }, ..good.clone() }, "a rate of zero"),
        (Flow { pattern: Pattern::Poisson { mean_gap: Delay::ZERO }, ..good.clone() }, "packets of zero"),
        (Flow { pattern: on_off, ..good.clone() }, "cannot send one packet"),
        (flow(0, 2, 0, 1, 1), "node 2"),
    ] {
        let sentence = refuse(wrong);
        assert!(sentence.contains(says), "{sentence}");
    }
}

#[test]
fn every_kind_of_traffic_can_be_undone_and_redone() {
    let period = |ms| Period::Exponential(Delay::from_ms(ms));
    let on_off = Pattern::OnOff { rate_bps: 12_000_000, on: period(5), off: period(5) };
    let sizes = Sizes::internet_mix();
    let flows = vec![
        Flow { limit: Limit::Never, pattern: on_off, sizes: sizes.clone(), ..flow(0, 3, 0, 1, 1) },
        Flow {
            limit: Limit::Never,
            pattern: Pattern::Poisson { mean_gap: Delay::from_us(400) },
            sizes,
            ..flow(1, 3, 0, 1, 1)
        },
        flow(3, 0, 100, 50, 700),
    ];
    let links = vec![link(0, 2, RATE, 1), link(1, 2, RATE, 2), link(2, 3, RATE / 2, 1)];
    for queue in [QueueLimit::Packets(3), QueueLimit::Bytes(2000)] {
        let network = Network::new(topology(4, links.clone()), flows.clone(), settings(queue)).expect("a network");
        let once = run(&network, 0.3);
        assert!(count(&once, "packets_lost") > 10 && count(&once, "packets_in_flight") > 0);
        let redone = parades_engine::rollback_check::run(&network, until(0.3)).expect("all is restored");
        assert_eq!((once.digest, once.metrics), (redone.digest, redone.metrics));
    }
}
