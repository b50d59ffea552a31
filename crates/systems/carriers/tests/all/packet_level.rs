//! Messages travel as packets over a network: their times, their losses, and reports on them.

use crate::support::{self, Exchange, arrivals, counter, run_under_all_engines};
use parades_carriers::PacketLevel;
use parades_carriers::packet_level::Format;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_packet::description::{Change, Description, Event, Framing, Link as Wire};
use parades_packet::flow::{Flow, Limit};
use parades_packet::impairment::Impairments;
use parades_packet::network::{Network, Settings};
use parades_packet::plane::Plane;
use parades_packet::probability::Probability;
use parades_packet::queue::{Codel, Discipline, FairCodel, Priority, QueueLimit, Threshold, TokenBucket};
use parades_packet::traffic::{Pattern, Sizes};
use parades_program::{Node, Processes, Program, Start, Undelivered};
use parades_topology::{Link, NodeId, Topology};

/// The size of every message, so that a packet has 1000 bytes.
const SIZE: u32 = 980;

fn format() -> Format<u64> {
    Format::of_bytes(|_| SIZE)
}

fn link(a: u32, b: u32, rate_bps: u64, ms: u64) -> Link {
    Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_ms(ms) }
}

fn nodes(of: impl IntoIterator<Item = u32>) -> Vec<NodeId> {
    of.into_iter().map(NodeId).collect()
}

fn at(ms: u64) -> Time {
    Time::ZERO.checked_add(Delay::from_ms(ms)).expect("soon")
}

/// Eight hosts behind four routers in a ring, with equal paths across, short queues and losses.
fn ring(queue: Discipline) -> PacketLevel<u64> {
    let mut links: Vec<Link> = (0..8).map(|host| link(host, 8 + host / 2, 8_000_000, 1)).collect();
    links.extend((0..4).map(|router| link(8 + router, 8 + (router + 1) % 4, 4_000_000, 2)));
    let names: Vec<String> = (0..12).map(|node| format!("n{node}")).collect();
    let topology = Topology::new(&names, links).expect("the links join nodes");
    let settings = Settings { queue, losses: vec![0.02; 12], ..Settings::default() };
    let plane = Plane::new(topology, &nodes(0..8), settings).expect("it is possible");
    PacketLevel::new(plane, format()).expect("each node has a place of its own")
}

fn disciplines() -> Vec<Discipline> {
    let limit = QueueLimit::Packets(4);
    vec![
        limit.into(),
        Discipline::Threshold(Threshold { mark_at: 1, limit }),
        Discipline::TokenBucket(TokenBucket { rate_bps: 2_000_000, burst_bytes: 3_000, limit }),
        Discipline::Codel(Codel { limit, ..Codel::default() }),
        Discipline::FairCodel(FairCodel::default()),
        Discipline::Priority(Priority { limit }),
    ]
}

#[test]
fn every_message_arrives_or_is_lost_on_every_engine_alike() {
    for queue in disciplines() {
        let outcome = run_under_all_engines(Exchange { nodes: 8, messages: 40, carrier: ring(queue.clone()) }, 2);
        let arrived = arrivals(&outcome).len() as u128;
        let lost = counter(&outcome, "messages_failed");
        assert_eq!(arrived + lost, 8 * 40, "{queue:?}");
        assert!(lost > 5 && arrived > 200, "{lost} of {arrived} with {queue:?}");
        assert_eq!(counter(&outcome, "messages_on_their_way"), 0);
    }
}

#[test]
fn a_packet_takes_the_time_of_the_packet_network_in_every_queue() {
    for queue in disciplines() {
        let links = || vec![link(0, 1, 8_000_000, 10), link(1, 2, 1_600_000, 10)];
        let topology = || Topology::new(&["here", "router", "there"], links()).expect("the links join nodes");
        let settings = || Settings { queue: queue.clone(), ..Settings::default() };
        // 970 bytes with headers of 30 are a packet of 1000 bytes too. One is sent each 4 ms.
        let flow = Flow {
            source: NodeId(0),
            destination: NodeId(2),
            start: Time::ZERO,
            limit: Limit::Bytes(60 * 970),
            sizes: Sizes::Constant(970),
            pattern: Pattern::Constant { rate_bps: 1_940_000 },
        };
        let network = Network::new(topology(), vec![flow], settings()).expect("it is possible");
        let expected = sequential::run(&network, RunOptions::until(at(2000))).expect("it runs");
        let expected = expected.metrics.get("delay").and_then(|metric| metric.tally()).expect("it is measured").clone();

        let plane = Plane::new(topology(), &nodes([0, 2]), settings()).expect("it is possible");
        let carrier = PacketLevel::new(plane, format()).expect("each node has a place of its own");
        let outcome = sequential::run(&Processes::new(Steady(carrier)), RunOptions::until(at(2000))).expect("it runs");
        let took: Vec<u64> = arrivals(&outcome).iter().map(|arrival| arrival.took.as_ps()).collect();
        assert_eq!(took.len() as u64, expected.count(), "{queue:?}");
        assert_eq!(took.iter().min().copied(), expected.min(), "{queue:?}");
        assert_eq!(took.iter().max().copied(), expected.max(), "{queue:?}");
        assert_eq!(took.iter().map(|&ps| u128::from(ps)).sum::<u128>(), expected.sum(), "{queue:?}");
    }
}

/// Node 0 sends node 1 a message each 4 ms, 60 in all.
struct Steady(PacketLevel<u64>);

impl Program for Steady {
    type Message = u64;
    type State = Vec<support::Arrival>;
    type Carrier = PacketLevel<u64>;

    fn nodes(&self) -> u32 {
        2
    }
    fn carrier(&self) -> &PacketLevel<u64> {
        &self.0
    }
    fn metrics(&self) -> Metrics {
        support::table_of_arrivals()
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Vec<support::Arrival> {
        start.spawn("main", |node| async move {
            for _ in 0..60 {
                if node.id() == LpId(0) {
                    node.send(LpId(1), node.now().as_ps());
                    node.sleep(Delay::from_ms(4)).await;
                } else {
                    let sent = node.receive().await.message;
                    let took = Delay::from_ps(node.now().as_ps() - sent);
                    let arrival = support::Arrival { from: LpId(0), to: LpId(1), sent, took };
                    node.with_state(|arrivals| arrivals.push(arrival));
                }
            }
        });
        Vec::new()
    }
    fn finish(&self, _: LpId, arrivals: &Vec<support::Arrival>, _: &End, metrics: &mut Metrics) {
        support::add_rows(arrivals, metrics);
    }
}

/// A program whose nodes do the same, and leave a line each time that something happens to them.
struct Script {
    carrier: PacketLevel<u64>,
    main: Main,
}

type Main = fn(Node<Script>) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

impl Program for Script {
    type Message = u64;
    type State = Vec<String>;
    type Carrier = PacketLevel<u64>;

    fn nodes(&self) -> u32 {
        u32::try_from(self.carrier.plane().destinations().len()).expect("there are few")
    }
    fn carrier(&self) -> &PacketLevel<u64> {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("log", vec![Column::new("line", Unit::Count)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Vec<String> {
        start.spawn("main", self.main);
        Vec::new()
    }
    fn finish(&self, id: LpId, log: &Vec<String>, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(MetricId(0), [Cell::Text(format!("{}: {line}", id.0).into())]);
        }
    }
}

fn log(node: Node<Script>, line: &str) {
    let line = format!("{:.3} {line}", node.now().as_secs_f64() * 1e3);
    node.with_state(|log| log.push(line));
}

fn lines(outcome: &Outcome) -> Vec<String> {
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    let line = |row: &Vec<Cell>| if let [Cell::Text(line)] = &row[..] { line.to_string() } else { String::new() };
    table.rows().iter().map(line).collect()
}

/// Two hosts with a link of 8 Mbit/s and 10 ms between them.
fn two(wire: Wire, events: Vec<Event>) -> PacketLevel<u64> {
    let wire = Wire { name: "wire".into(), rate_bps: 8_000_000, delay: Delay::from_ms(10), ..wire };
    let description =
        Description { nodes: vec!["a".into(), "b".into()], links: vec![wire], events, ..Description::default() };
    let plane = Plane::described(description, &nodes([0, 1])).expect("it is possible");
    PacketLevel::new(plane, format()).expect("each node has a place of its own")
}

#[test]
fn who_awaits_a_message_learns_of_its_arrival_or_its_loss() {
    let main: Main = |node| {
        Box::pin(async move {
            if node.id() == LpId(1) {
                loop {
                    let number = node.receive().await.message;
                    log(node, &format!("got {number}"));
                }
            }
            // The second message waits, the third finds the queue full, the fourth sets out while the link is
            // down.
            let sent: Vec<_> = (1..=3).map(|number| (number, node.send(LpId(1), number))).collect();
            for (number, delivery) in sent.into_iter().rev() {
                let outcome = delivery.await;
                log(node, &format!("{number}: {}", if outcome == Err(Undelivered) { "lost" } else { "arrived" }));
            }
            node.sleep_until(at(105)).await;
            assert_eq!(node.send(LpId(1), 4).await, Err(Undelivered));
            log(node, "4: lost");
            node.sleep_until(at(200)).await;
            assert_eq!(node.send(LpId(1), 5).await, Ok(()));
            log(node, "5: arrived");
        })
    };
    let fails = |ms, is_up| Event { at: at(ms), change: Change::Link { link: 0, is_up } };
    let wire = Wire { queue: QueueLimit::Packets(1).into(), framing: Framing::None, ..Wire::default() };
    let carrier = two(wire, vec![fails(100, false), fails(150, true)]);
    let outcome = run_under_all_engines(Script { carrier, main }, 1);
    // 1 ms of transmission, 10 ms of propagation; back, 20 µs for 20 bytes and 10 ms.
    let expected = [
        "0: 0.000 3: lost",
        "0: 22.020 2: arrived",
        "0: 22.020 1: arrived",
        "0: 105.000 4: lost",
        "0: 221.020 5: arrived",
        "1: 11.000 got 1",
        "1: 12.000 got 2",
        "1: 211.000 got 5",
    ];
    assert_eq!(lines(&outcome), expected);
    assert_eq!(counter(&outcome, "messages_failed"), 2);
    let links = outcome.metrics.get("links").and_then(|links| links.table()).expect("it is declared");
    let rows = links.rows();
    let [row] = &rows[..] else { panic!("one direction was used") };
    // The queue lost the third. The fourth had no path, so it came to no port.
    assert_eq!((&row[4], &row[6..10]), (&Cell::Integer(3), &[1, 0, 0, 0].map(Cell::Integer)[..]));
}

#[test]
fn a_link_that_duplicates_delivers_twice_and_a_node_reaches_itself() {
    let main: Main = |node| {
        Box::pin(async move {
            if node.id() == LpId(1) {
                node.receive().await;
                node.receive().await;
                log(node, "twice");
                assert_eq!(node.send(LpId(1), 7).await, Ok(()));
                assert_eq!(node.receive().await.from, LpId(1));
                return log(node, "itself");
            }
            assert_eq!(node.send(LpId(1), 1).await, Ok(()));
            log(node, "arrived");
        })
    };
    let impairments = Impairments { duplicate: Probability::ONE, ..Impairments::default() };
    let outcome =
        run_under_all_engines(Script { carrier: two(Wire { impairments, ..Wire::default() }, vec![]), main }, 1);
    assert_eq!(lines(&outcome), ["0: 21.020 arrived", "1: 11.000 twice", "1: 11.000 itself"]);
}

#[test]
fn what_is_impossible_is_refused_in_a_sentence() {
    let plane = |destinations: &[NodeId]| {
        let topology = Topology::new(&["a", "b"], vec![link(0, 1, 8_000_000, 10)]).expect("the link joins nodes");
        Plane::new(topology, destinations, Settings::default())
    };
    assert_eq!(plane(&nodes([2])).expect_err("there are two").to_string(), "there is no node 2; the last one is 1");
    let twice = PacketLevel::new(plane(&nodes([0, 0])).expect("it is a plane"), format()).expect_err("one place");
    assert_eq!(twice.to_string(), "two nodes of the program are at `a`; give each its own");
    let run = |format, to: u64| {
        let carrier = PacketLevel::new(plane(&nodes([0, 1])).expect("it is a plane"), format).expect("two places");
        let main: Main = match to {
            1 => |node| Box::pin(async move { drop(node.send(LpId(1), 0)) }),
            _ => |node| Box::pin(async move { drop(node.send(LpId(2), 0)) }),
        };
        let error = sequential::run(&Processes::new(Script { carrier, main }), RunOptions::until(Time::MAX));
        error.expect_err("it is impossible").to_string()
    };
    assert!(run(format(), 2).contains("it sent to node 2, but there are only 2 nodes"), "{}", run(format(), 2));
    let large = run(Format::of_bytes(|_| 65_516), 1);
    assert!(large.contains("it sent a packet of 65536 bytes; an IP packet has at most 65535"), "{large}");
}
