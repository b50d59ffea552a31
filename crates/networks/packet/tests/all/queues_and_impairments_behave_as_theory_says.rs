//! Queue disciplines and impaired links in whole networks: shares, delays and losses against theory, and one
//! digest on every engine.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_packet::description::{App, AppKind, Change, Description, Ends, Event, Link, Marking, Measure};
use parades_packet::flow::Limit;
use parades_packet::impairment::{Bursts, Impairments, Jitter};
use parades_packet::network::Network;
use parades_packet::probability::Probability;
use parades_packet::protocols::{Control, Datagrams, Transfer};
use parades_packet::queue::{
    Cake, Codel, Discipline, FairCodel, Pie, Priority, QueueLimit, Red, Threshold, TokenBucket,
};
use parades_packet::traffic::{Pattern, Sizes};
use parades_topology::NodeId;

/// 8 Mbit/s: a packet of 970 bytes, 1000 with its headers, takes 1 ms.
const SLOW: u64 = 8_000_000;
const FAST: u64 = 800_000_000;
const PAYLOAD: u32 = 970;

/// Two sources, 0 and 1, send over router 2 and the slow link `trunk` to node 3.
fn network(queue: Discipline, apps: Vec<App>) -> Description {
    let link = |name: &str, (from, to), rate_bps| Link {
        name: name.into(),
        from,
        to,
        rate_bps,
        delay: Delay::from_ms(1),
        ..Link::default()
    };
    let trunk = Link { queue, ..link("trunk", (2, 3), SLOW) };
    Description {
        nodes: ["a", "b", "router", "sink"].map(String::from).into(),
        links: vec![link("a", (0, 2), FAST), link("b", (1, 2), FAST), trunk],
        apps,
        ..Description::default()
    }
}

/// An app that sends packets at this share of the slow link's rate.
fn app(name: &str, source: u32, share: f64, is_random: bool) -> App {
    let gap = Delay::from_ms(1).scaled(1.0 / share);
    let pattern = match is_random {
        true => Pattern::Poisson { mean_gap: gap },
        false => Pattern::Constant { rate_bps: 970 * 8 * 1_000_000_000_000 / gap.as_ps() },
    };
    let datagrams = Datagrams { sizes: Sizes::Constant(PAYLOAD), pattern, limit: Limit::Never };
    let start = Time::ZERO.saturating_add(Delay::from_us(u64::from(source) * 137));
    let flow = Ends { source: NodeId(source), destination: NodeId(3), start };
    App { name: name.into(), kind: AppKind::Datagrams(datagrams), marking: Marking::default(), flows: vec![flow] }
}

fn until(seconds: u64) -> RunOptions<'static> {
    RunOptions::until(Time::from_secs(seconds))
}

fn run(description: Description, seconds: u64) -> Outcome {
    let network = Network::described(description).unwrap_or_else(|error| panic!("{error}"));
    sequential::run(&network, until(seconds)).unwrap_or_else(|error| panic!("{error}"))
}

fn count(outcome: &Outcome, name: &str) -> u64 {
    let counter = outcome.metrics.get(name).and_then(|metric| metric.counter());
    u64::try_from(counter.unwrap_or_else(|| panic!("no counter `{name}`"))).expect("small")
}

/// Returns a cell of a table as a number.
fn cell(outcome: &Outcome, table: &str, row: usize, column: &str) -> f64 {
    let table = outcome.metrics.get(table).and_then(|metric| metric.table()).expect("a table");
    let index = table.columns().iter().position(|c| &*c.name == column).unwrap_or_else(|| panic!("no `{column}`"));
    match table.rows()[row][index] {
        Cell::Integer(x) => x as f64,
        Cell::Float(x) => x,
        ref other => panic!("{column} is {other:?}"),
    }
}

/// Returns a cell of the slow link, in the direction to the sink.
fn trunk(outcome: &Outcome, column: &str) -> f64 {
    let table = outcome.metrics.get("links").and_then(|metric| metric.table()).expect("a table");
    let row = table.rows().iter().position(|row| row[1] == Cell::from("trunk") && row[2] == Cell::from("router"));
    cell(outcome, "links", row.expect("the trunk is used"), column)
}

fn disciplines() -> Vec<Discipline> {
    let limit = QueueLimit::Packets(30);
    let fair = FairCodel { codel: Codel { limit, ..FairCodel::default().codel }, queues: 8, ..FairCodel::default() };
    vec![
        limit.into(),
        QueueLimit::Bytes(9_000).into(),
        Discipline::Red(Red::with_limit(30)),
        Discipline::Pie(Pie { limit, ..Pie::default() }),
        Discipline::Threshold(Threshold { mark_at: 5, limit }),
        Discipline::TokenBucket(TokenBucket { rate_bps: SLOW / 2, burst_bytes: 5_000, limit }),
        Discipline::Codel(Codel { limit, ..Codel::default() }),
        Discipline::FairCodel(fair),
        Discipline::Cake(Cake { limit, queues: 8, ..Cake::default() }),
        Discipline::Cake(Cake { limit, rate_bps: Some(SLOW / 2), ..Cake::default() }),
        Discipline::Priority(Priority { limit }),
    ]
}

#[test]
fn the_mean_queue_is_that_of_pollaczek_and_khinchine_in_every_order_of_service() {
    // M/D/1: load^2 / (2 (1 - load)) packets wait in the mean, if no packet is lost and the link never rests
    // while one waits.
    let limit = QueueLimit::Packets(u32::MAX);
    let codel = Codel { limit, target: Delay::from_secs(9), interval: Delay::from_secs(10), ..Codel::default() };
    for (device, queue) in [
        (0, limit.into()),
        (1, limit.into()),
        (0, Discipline::Codel(codel)),
        (2, Discipline::Codel(codel)),
        (0, Discipline::FairCodel(FairCodel { codel, ..FairCodel::default() })),
        (0, Discipline::Cake(Cake { limit, rtt: Delay::from_secs(200), ..Cake::default() })),
        (1, Discipline::Priority(Priority { limit })),
    ] {
        let marking = Marking { class: 3, is_ecn_capable: false };
        let apps = vec![app("one", 0, 0.3, true), App { marking, ..app("two", 1, 0.4, true) }];
        let mut description = network(queue.clone(), apps);
        description.links[2].device = device;
        let outcome = run(description, 600);
        let (mean, expected) = (trunk(&outcome, "queue_mean"), 0.7 * 0.7 / (2.0 * 0.3));
        assert!((mean / expected - 1.0).abs() < 0.04, "{queue:?}: {mean}, not {expected}");
        assert_eq!(count(&outcome, "packets_lost"), 0);
        assert!((trunk(&outcome, "utilisation") - 0.7).abs() < 0.01);
    }
}

#[test]
fn codel_brings_the_waiting_time_back_to_its_target_under_constant_overload() {
    // 4 % more than the link carries: 40 packets a second must be dropped. The law reaches that rate at its
    // 16th drop: sqrt(16) / 100 ms = 40 per second.
    let mut description = network(Discipline::Codel(Codel::default()), vec![app("one", 0, 1.04, false)]);
    description.measure = Measure { every: Delay::from_ms(100), links: vec![2], ..Measure::default() };
    let outcome = run(description, 60);
    let series = outcome.metrics.get("link_queue_trunk").and_then(|metric| metric.series()).expect("a series");
    let waiting: Vec<f64> = series.points().iter().map(|(_, value)| *value).collect();
    // Five packets wait for 5 ms.
    for (window, waiting) in waiting[50..].chunks(50).enumerate() {
        let least = waiting.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least <= 6.0, "the queue never returned in the 5 s from {} s on: {least}", 5 + window * 5);
    }
    let late = &waiting[100..];
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!(mean < 20.0, "{mean} packets wait in the mean");
    let lost = trunk(&outcome, "lost_early");
    assert!((lost / (60.0 * 40.0) - 1.0).abs() < 0.1, "{lost} dropped");
    assert_eq!(trunk(&outcome, "lost_queue"), 0.0);
}

#[test]
fn fair_queues_share_equally_and_protect_a_sparse_flow() {
    // Two flows ask for 0.7 and 1.4 of the link, and a third one for a hundredth.
    let apps = || vec![app("one", 0, 0.7, true), app("two", 1, 1.4, true), app("sparse", 0, 0.01, false)];
    let fair = FairCodel { codel: Codel { marks: false, ..FairCodel::default().codel }, ..FairCodel::default() };
    let outcome = run(network(Discipline::FairCodel(fair), apps()), 60);
    let received = |flow| cell(&outcome, "flows", flow, "bytes_received");
    let share = received(0) / received(1);
    assert!((share - 1.0).abs() < 0.05, "the flows share {share} to 1");
    // A packet of the sparse flow waits for the packet in transmission, at most 1 ms. On its way it takes 1
    // ms on each link, and 0.01 ms and 1 ms to be transmitted.
    assert_eq!(cell(&outcome, "flows", 2, "packets_lost"), 0.0);
    let most = cell(&outcome, "flows", 2, "delay_max") / 1e9;
    assert!(most <= 3.01 + 1.0, "a packet of the sparse flow took {most} ms");
    // In one queue, the flows share as they ask.
    let outcome = run(network(QueueLimit::Packets(100).into(), apps()), 60);
    let [one, two] = [0, 1].map(|flow| cell(&outcome, "flows", flow, "bytes_received"));
    assert!(one / two < 0.7, "{one} to {two}");
}

#[test]
fn a_lower_class_starves_only_while_a_higher_one_waits() {
    let high = |app: App| App { marking: Marking { class: 7, is_ecn_capable: false }, ..app };
    let queue = Discipline::Priority(Priority { limit: QueueLimit::Packets(50) });
    for (share, of_low) in [(1.2, 0.0), (0.6, 0.4)] {
        let apps = vec![app("low", 0, 0.8, false), high(app("high", 1, share, false))];
        let outcome = run(network(queue.clone(), apps), 30);
        let received = |flow| cell(&outcome, "flows", flow, "packets_received") / 30_000.0;
        let of_high: f64 = 1.0 - of_low;
        assert!((received(1) - of_high).abs() < 0.01, "the higher class got {}", received(1));
        assert!((received(0) - of_low).abs() < 0.01, "the lower class got {}", received(0));
        if share < 1.0 {
            // It waits for one packet of the lower class at most.
            assert_eq!(cell(&outcome, "flows", 1, "packets_lost"), 0.0);
            assert!(cell(&outcome, "flows", 1, "delay_max") < 4.1e9);
        }
    }
}

#[test]
fn a_token_bucket_lets_its_rate_through_and_the_report_knows_the_pauses() {
    let bucket = TokenBucket { rate_bps: SLOW / 4, burst_bytes: 10_000, limit: QueueLimit::Packets(20) };
    let outcome = run(network(Discipline::TokenBucket(bucket), vec![app("one", 0, 0.9, false)]), 40);
    // A quarter of the packets of 40 s, and the burst.
    let received = count(&outcome, "packets_received");
    assert!(received.abs_diff(10_000 + 10) <= 2, "{received}");
    // 20 packets wait at the end, so of the 10,030 accepted ones 10,010 have been transmitted.
    let busy = trunk(&outcome, "utilisation") * 40_000.0;
    assert!((busy - 10_010.0).abs() < 1.5, "{busy} ms");
    assert_eq!(trunk(&outcome, "queue_max"), 20.0);
}

#[test]
fn only_packets_whose_senders_understand_marks_are_marked() {
    for queue in [
        Discipline::Threshold(Threshold { mark_at: 5, limit: QueueLimit::Packets(100) }),
        Discipline::Red(Red { max_probability: Probability::ONE, ..Red::with_limit(40) }),
        Discipline::Codel(Codel { target: Delay::from_us(10), interval: Delay::from_us(100), ..Codel::default() }),
    ] {
        let mut early = Vec::new();
        for is_ecn_capable in [true, false] {
            let marking = Marking { class: 0, is_ecn_capable };
            let outcome = run(network(queue.clone(), vec![App { marking, ..app("one", 0, 0.95, true) }]), 60);
            assert_eq!(trunk(&outcome, "packets_marked") > 0.0, is_ecn_capable, "{queue:?}");
            early.push(trunk(&outcome, "lost_early"));
        }
        assert_eq!(early[0], 0.0, "{queue:?}");
        assert_eq!(early[1] > 0.0, !matches!(queue, Discipline::Threshold(_)), "{queue:?}");
    }
}

#[test]
fn a_threshold_marks_the_packets_that_find_so_many_waiting() {
    // Ten packets come at once, three times. Those that find five or more waiting are marked: one is in
    // transmission, five wait unmarked, four are marked. With one in the device, one more is not marked.
    for (device, marked) in [(0, 3.0 * 4.0), (1, 3.0 * 3.0)] {
        let queue = Discipline::Threshold(Threshold { mark_at: 5, limit: QueueLimit::Packets(100) });
        let burst = |start_ms| {
            let pattern = Pattern::Constant { rate_bps: 970 * 8 * 100_000 };
            let datagrams = Datagrams { sizes: Sizes::Constant(PAYLOAD), pattern, limit: Limit::Bytes(9_700) };
            let flow = Ends { source: NodeId(0), destination: NodeId(3), start: Time::from_ms(start_ms) };
            let marking = Marking { class: 0, is_ecn_capable: true };
            App { name: format!("at {start_ms}"), kind: AppKind::Datagrams(datagrams), marking, flows: vec![flow] }
        };
        let mut description = network(queue, [0, 100, 200].map(burst).into());
        description.links[2].device = device;
        assert_eq!(trunk(&run(description, 1), "packets_marked"), marked);
    }
}

#[test]
fn a_packet_needs_two_events_only_where_it_waits_for_a_decision() {
    // At a load of 0.4 and constant gaps no packet waits: a timer and two hops for each packet.
    for queue in disciplines() {
        let outcome = run(network(queue.clone(), vec![app("one", 0, 0.4, false)]), 10);
        let (sent, received) = (count(&outcome, "packets_sent"), count(&outcome, "packets_received"));
        // One packet may be between two hops at the end.
        let hops = outcome.events - sent;
        assert!((2 * received..=2 * received + 1).contains(&hops), "{queue:?}: {hops} hops of {received} packets");
    }
    // With overload, every packet waits. It has one more event, at the trunk.
    let queue = Discipline::Codel(Codel { marks: true, ..Codel::default() });
    let outcome = run(network(queue, vec![app("one", 0, 1.5, false)]), 10);
    let (sent, received) = (count(&outcome, "packets_sent"), count(&outcome, "packets_received"));
    assert!(outcome.events <= 2 * sent + 2 * received + 2, "{} events", outcome.events);
}

#[test]
fn a_link_that_goes_down_loses_the_packets_that_it_holds() {
    for queue in disciplines() {
        // At 100 ms, packets have come for 100 ms at twice the link's rate, and then the link is away for 1
        // s.
        let mut description = network(queue.clone(), vec![app("one", 0, 2.0, false)]);
        description.events = vec![
            Event { at: Time::from_ms(100), change: Change::Link { link: 2, is_up: false } },
            Event { at: Time::from_ms(1100), change: Change::Link { link: 2, is_up: true } },
        ];
        description.measure = Measure { every: Delay::from_ms(50), links: vec![2], ..Measure::default() };
        let outcome = run(description.clone(), 2);
        // 2000 packets of the second without the link, and those that waited.
        let down = count(&outcome, "packets_lost_down");
        assert!((2_008..2_035).contains(&down), "{queue:?}: {down}");
        let series = outcome.metrics.get("link_queue_trunk").and_then(|metric| metric.series()).expect("a series");
        let waiting: Vec<f64> = series.points().iter().map(|(_, value)| *value).collect();
        assert!(waiting[0] > 7.0 && waiting[30] > 7.0, "{queue:?}: {waiting:?}");
        assert!(waiting[2..22].iter().all(|&packets| packets == 0.0), "{queue:?}: {waiting:?}");
        // So it is if the node goes away.
        let node = |at, is_up| Event { at: Time::from_ms(at), change: Change::Node { node: 2, is_up } };
        description.events = vec![node(100, false), node(1100, true)];
        assert!(count(&run(description, 2), "packets_lost_down") >= 2_000, "{queue:?}");
    }
}

#[test]
fn a_link_duplicates_and_loses_the_shares_that_it_is_given() {
    let mut description = network(Discipline::default(), vec![app("one", 0, 0.5, false)]);
    let fifth = Probability::quotient(1, 5);
    let bursts = Bursts {
        to_bad: Probability::quotient(1, 100),
        to_good: fifth,
        loss_bad: Probability::ONE,
        ..Bursts::default()
    };
    description.links[2].impairments = Impairments { duplicate: fifth, bursts: Some(bursts), ..Impairments::default() };
    let outcome = run(description, 400);
    let sent = count(&outcome, "packets_sent") as f64;
    let lost = count(&outcome, "packets_lost_chance") as f64;
    // A bad spell takes 5 of 105 packets in the mean.
    assert!((lost / sent - 5.0 / 105.0).abs() < 0.004, "{lost} of {sent}");
    let copies = count(&outcome, "packets_duplicated") as f64;
    assert!((copies / (sent - lost) - 0.2).abs() < 0.005, "{copies} of {sent}");
    let arrived = count(&outcome, "packets_received") as f64;
    assert!((arrived - (sent - lost)).abs() <= 3.0);
    assert!((count(&outcome, "copies_received") as f64 - copies).abs() <= 3.0);
}

#[test]
fn jitter_reorders_packets_only_if_it_may() {
    for (keeps_order, reorder) in [(true, 0), (false, 0), (true, 1)] {
        let mut description = network(Discipline::default(), vec![app("one", 0, 0.9, false)]);
        let jitter = Jitter::Normal { mean: Delay::from_ms(20), deviation: Delay::from_ms(5) };
        let reorder = Probability::quotient(reorder, 10);
        description.links[2].impairments = Impairments { jitter, keeps_order, reorder, ..Impairments::default() };
        let outcome = run(description, 20);
        let reordered = cell(&outcome, "flows", 0, "packets_reordered");
        assert_eq!(reordered > 0.0, !keeps_order || !reorder.is_zero());
        assert!(cell(&outcome, "flows", 0, "delay_min") >= 3.01e9, "no packet is faster than the link");
    }
}

/// Checks that a network gives one answer on every engine.
fn check_engines(description: Description, what: &str) {
    let network = Network::described(description).unwrap_or_else(|error| panic!("{error}"));
    let options = || until(2);
    let expected = sequential::run(&network, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(count(&expected, "packets_received") > 500, "{what}");
    let redone = rollback_check::run(&network, options());
    let mut outcomes = vec![("rollback-check", redone)];
    for threads in [1, 2, 3] {
        outcomes.push(("window", window::run(&network, options(), &window::Settings::of_threads(threads))));
        let settings = null_message::Settings::of_threads(threads);
        outcomes.push(("null-message", null_message::run(&network, options(), &settings)));
        outcomes.push(("time-warp", time_warp::run(&network, options(), &time_warp::Settings::of_threads(threads))));
    }
    for (name, outcome) in outcomes {
        let outcome = outcome.unwrap_or_else(|error| panic!("{what}, {name}: {error}"));
        assert_eq!(outcome.digest, expected.digest, "{what}, {name}");
        assert_eq!(outcome.metrics, expected.metrics, "{what}, {name}");
    }
}

#[test]
fn every_engine_gives_the_same_answer_with_every_discipline_on_impaired_links_that_fail() {
    let jitter = [
        Jitter::None,
        Jitter::Uniform { most: Delay::from_ms(3) },
        Jitter::Normal { mean: Delay::from_ms(2), deviation: Delay::from_ms(1) },
        Jitter::Pareto { scale: Delay::from_ms(1), shape_milli: 2_500 },
    ];
    let ratio = Probability::quotient;
    let bursts =
        Bursts { to_bad: ratio(1, 50), to_good: ratio(1, 3), loss_good: ratio(1, 1000), loss_bad: ratio(1, 2) };
    for (number, queue) in disciplines().into_iter().enumerate() {
        let transfer = Transfer { bytes: 300_000, segment: 1460, window: 64, control: Control::Reno };
        let mut file = app("file", 1, 1.0, false);
        file.kind = AppKind::Transfer(transfer);
        file.marking = Marking { class: 5, is_ecn_capable: true };
        let apps = vec![app("one", 0, 0.8, true), app("two", 1, 0.5, false), file];
        let mut description = network(queue.clone(), apps);
        let jitter = jitter[number % jitter.len()];
        let reorder = if jitter == Jitter::None { Probability::ZERO } else { ratio(1, 20) };
        description.links[2].impairments = Impairments {
            jitter,
            keeps_order: number % 2 == 0,
            reorder,
            duplicate: ratio(1, 50),
            bursts: Some(bursts),
        };
        description.links[2].device = u32::try_from(number % 3).expect("small");
        description.links[0].queue = queue.clone();
        description.measure = Measure { every: Delay::from_ms(100), links: vec![2], ..Measure::default() };
        description.events = vec![
            Event { at: Time::from_ms(700), change: Change::Link { link: 2, is_up: false } },
            Event { at: Time::from_ms(800), change: Change::Link { link: 2, is_up: true } },
            Event { at: Time::from_ms(1200), change: Change::Node { node: 2, is_up: false } },
            Event { at: Time::from_ms(1250), change: Change::Node { node: 2, is_up: true } },
        ];
        check_engines(description, &format!("{queue:?}"));
    }
}

#[test]
fn impossible_parameters_are_refused_with_a_sentence() {
    let refuse = |queue: Discipline, impairments: Impairments| {
        let mut description = network(queue, vec![app("one", 0, 0.5, false)]);
        description.links[2].impairments = impairments;
        Network::described(description).expect_err("it makes no sense").to_string()
    };
    let red = Red::with_limit(40);
    for (queue, says) in [
        (Discipline::Red(Red { min_average_milli: 20_000, ..red }), "a `min` of 20 packets and a `max` of 15"),
        (Discipline::Red(Red { weight: Probability::ZERO, ..red }), "a weight of 0"),
        (Discipline::Codel(Codel { limit: QueueLimit::Bytes(0), ..Codel::default() }), "a limit of zero bytes"),
        (Discipline::Codel(Codel { target: Delay::ZERO, ..Codel::default() }), "the target must be above zero"),
        (Discipline::FairCodel(FairCodel { queues: 0, ..FairCodel::default() }), "has no queues"),
        (Discipline::Priority(Priority { limit: QueueLimit::Packets(0) }), "a limit of zero packets"),
        (Discipline::Threshold(Threshold { mark_at: 0, limit: QueueLimit::Packets(9) }), "every packet"),
    ] {
        let sentence = refuse(queue, Impairments::default());
        assert!(sentence.starts_with("the queue of the link `trunk` ") && sentence.contains(says), "{sentence}");
    }
    let no_jitter = Impairments { reorder: Probability::ONE, ..Impairments::default() };
    assert_eq!(
        refuse(Discipline::default(), no_jitter),
        "the link `trunk` reorders packets, but has no jitter; a packet overtakes others by skipping the jitter"
    );
}
