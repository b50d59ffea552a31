//! Trees small enough to follow every copy on paper, and the multicast campus.

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_packet::campus::Parameters;
use parades_packet::flow::{Group, Limit};
use parades_packet::network::{Network, Settings};
use parades_packet::packet::Packet;
use parades_packet::queue::QueueLimit;
use parades_packet::traffic::{Pattern, Sizes};
use parades_topology::{Link, LinkId, NodeId, Topology};

type Data = Shared<Box<[u8]>>;

/// 8 Mbit/s: 1000 bytes take 1 ms. With 30 bytes of headers, a payload of 970 makes 1000.
const RATE: u64 = 8_000_000;
const MS: u64 = 1_000_000_000;

fn link(a: u32, b: u32, rate_bps: u64, delay_ms: u64) -> Link {
    Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_ms(delay_ms) }
}

/// ```text
/// 0 -2ms- 1 -3ms- 2 -1ms- 4
///         |       +--5ms- 5
///         +-4ms- 3 (a tenth of the rate) -1ms- 6
/// ```
fn links() -> Vec<Link> {
    vec![
        link(0, 1, RATE, 2),
        link(1, 2, RATE, 3),
        link(1, 3, RATE / 10, 4),
        link(2, 4, RATE, 1),
        link(2, 5, RATE, 5),
        link(3, 6, RATE, 1),
    ]
}

/// Returns a group that sends `packets` packets of 970 bytes from node 0, one each 2 ms.
fn group(receivers: &[u32], packets: u64) -> Group {
    Group {
        source: NodeId(0),
        receivers: receivers.iter().map(|&node| NodeId(node)).collect(),
        start: Time::ZERO,
        limit: Limit::Bytes(packets * 970),
        sizes: Sizes::Constant(970),
        pattern: Pattern::Constant { rate_bps: 970 * 8 * 500 },
    }
}

fn model(groups: Vec<Group>, settings: Settings) -> Network<Data> {
    let topology = Topology::new(&["node"; 7], links()).expect("a network");
    Network::multicast(topology, groups, settings).expect("possible groups")
}

fn until(seconds: f64) -> RunOptions<'static> {
    RunOptions::until(Time::try_from_secs_f64(seconds).expect("a time"))
}

fn run<M: Model>(model: &M, seconds: f64) -> Outcome {
    parades_engine::sequential::run(model, until(seconds)).expect("it runs")
}

fn count(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap_or_else(|| panic!("no counter `{name}`"))
}

/// Returns a column of the table `flows`.
fn column(outcome: &Outcome, name: &str) -> Vec<u64> {
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).expect("a table");
    let index = table.columns().iter().position(|c| &*c.name == name).expect("a column");
    let integer = |cell: &Cell| if let Cell::Integer(x) = cell { *x } else { panic!("{name} is {cell:?}") };
    table.rows().iter().map(|row| integer(&row[index])).collect()
}

#[test]
fn each_receiver_gets_each_packet_once_after_the_delay_of_its_path() {
    // Node 2 receives on the way to nodes 4 and 5. A packet takes 10 ms on the slow link to node 3, so the
    // second packet waits there for 8 ms.
    let outcome = run(&model(vec![group(&[4, 2, 5, 6], 2)], Settings::default()), 1.0);
    let near = |found: Vec<u64>, ms: [u64; 4]| {
        for (found, ms) in found.into_iter().zip(ms) {
            assert!(found.abs_diff(ms * MS) <= 4, "{found} ps is not {ms} ms");
        }
    };
    near(column(&outcome, "delay_min"), [3 + 6, 2 + 5, 3 + 10, 1 + 10 + 1 + 7]);
    near(column(&outcome, "delay_max"), [9, 7, 13, 19 + 8]);
    assert_eq!(column(&outcome, "packets_sent"), [2; 4]);
    assert_eq!(column(&outcome, "packets_delivered"), [2; 4]);
    assert_eq!(column(&outcome, "bytes_delivered"), [2 * 970; 4]);
    assert_eq!(column(&outcome, "complete"), [1; 4]);
    // A packet crosses six links: node 1 makes one further copy, node 2 makes two.
    let totals = ["packets_sent", "copies_made", "packets_delivered", "packets_lost", "packets_in_flight"];
    assert_eq!(totals.map(|name| count(&outcome, name)), [2, 2 * 3, 2 * 4, 0, 0]);
    assert_eq!(outcome.events, 2 + 2 * 6);
}

#[test]
fn a_copy_dropped_is_lost_to_all_beyond_and_counted_once() {
    // Five packets, one each 2 ms. The link to node 3 takes 10 ms for a packet and lets none wait, so it
    // drops the second to the fifth. The link to node 2 lets none wait either, but no packet has to.
    let none = || QueueLimit::Packets(0).into();
    let settings = Settings { queues: vec![(LinkId(1), none()), (LinkId(2), none())], ..Settings::default() };
    let outcome = run(&model(vec![group(&[3, 6, 4, 5], 5)], settings), 1.0);
    assert_eq!(column(&outcome, "packets_delivered"), [1, 1, 5, 5]);
    assert_eq!(column(&outcome, "packets_lost"), [4, 4, 0, 0]);
    let totals = ["packets_sent", "copies_made", "packets_delivered", "packets_lost", "packets_in_flight"];
    // Further copies: nodes 1 and 2 make one for each packet, node 3 makes one for the packet that arrived.
    assert_eq!(totals.map(|name| count(&outcome, name)), [5, 5 + 5 + 1, 12, 4, 0]);
}

#[test]
fn what_is_under_way_at_the_end_is_in_flight_for_all_beyond() {
    // The state at 7.5 ms: the packet reached node 2 at 3 + 1 + 3 = 7 ms, and node 2 sent copies to 4 and 5.
    // The copy to node 3 is on the wire.
    let outcome = run(&model(vec![group(&[2, 4, 5, 3, 6], 1)], Settings::default()), 0.0075);
    assert_eq!(column(&outcome, "packets_delivered"), [1, 0, 0, 0, 0]);
    let totals = ["packets_sent", "copies_made", "packets_delivered", "packets_lost", "packets_in_flight"];
    assert_eq!(totals.map(|name| count(&outcome, name)), [1, 1 + 2, 1, 0, 3]);
}

#[test]
fn two_groups_share_links_and_keep_apart() {
    // The second group is from node 6, and its packets meet those of the first at no transmitter.
    let back = Group { source: NodeId(6), receivers: vec![NodeId(0), NodeId(5)], ..group(&[1], 3) };
    let outcome = run(&model(vec![group(&[6, 5], 2), back], Settings::default()), 1.0);
    assert_eq!(column(&outcome, "packets_delivered"), [2, 2, 3, 3]);
    assert_eq!(count(&outcome, "copies_made"), 2 + 3);
}

#[test]
fn to_one_receiver_it_is_what_a_flow_is() {
    let topology = Topology::new(&["node"; 7], links()).expect("a network");
    let Group { source, start, limit, sizes, pattern, .. } = group(&[6], 20);
    let flow = parades_packet::flow::Flow { source, destination: NodeId(6), start, limit, sizes, pattern };
    let settings = Settings { queue: QueueLimit::Packets(3).into(), ..Settings::default() };
    let flow = run(&Network::new(topology, vec![flow], settings.clone()).expect("a network"), 1.0);
    let group = run(&model(vec![group(&[6], 20)], settings), 1.0);
    assert!(count(&flow, "packets_lost") > 0);
    assert_eq!(count(&group, "copies_made"), 0);
    assert_eq!(flow.events, group.events);
    for (name, _, metric) in flow.metrics.iter() {
        assert_eq!(Some(metric), group.metrics.get(name), "{name}");
    }
}

#[test]
fn senseless_groups_are_refused_with_a_sentence() {
    let refuse = |group: Group| {
        let topology = Topology::new(&["node"; 7], links()).expect("a network");
        let refused = Network::<Data>::multicast(topology, vec![group], Settings::default());
        refused.expect_err("it makes no sense").to_string()
    };
    assert_eq!(refuse(group(&[], 1)), "group 0 has no receivers; give it some");
    for receivers in [&[3, 4, 3][..], &[0]] {
        assert!(refuse(group(receivers, 1)).contains("name each node once"));
    }
    assert!(refuse(group(&[3, 9], 1)).contains("node 9"));
    assert!(refuse(Group { sizes: Sizes::Constant(0), ..group(&[3], 1) }).contains("between 1 and"));
    assert!(refuse(group(&[3], 0)).contains("no bytes to send"));
}

#[test]
fn trees_can_be_undone_and_redone() {
    let model = model(
        vec![
            group(&[3, 6, 4, 5], 30),
            Group { source: NodeId(5), receivers: vec![NodeId(0), NodeId(6)], ..group(&[1], 30) },
        ],
        Settings { queue: QueueLimit::Packets(2).into(), sample: Delay::from_ms(10), ..Settings::default() },
    );
    let once = run(&model, 0.05);
    assert!(count(&once, "packets_lost") > 5 && count(&once, "packets_in_flight") > 0);
    let redone = parades_engine::rollback_check::run(&model, until(0.05)).expect("all is restored");
    assert_eq!((once.digest, once.metrics), (redone.digest, redone.metrics));
}

#[test]
fn all_hosts_of_every_campus_get_all_bytes() {
    for networks in [1, 2] {
        let parameters = Parameters { networks, lan_clients: 4, ..Parameters::default() };
        let model: Network<Data> = parameters.multicast(1).expect("the published parameters");
        let outcome = run(&model, 100.0);
        let (campuses, hosts) = (u128::from(networks), u128::from(networks) * 48);
        assert_eq!(count(&outcome, "flows_complete"), hosts);
        assert_eq!(count(&outcome, "packets_sent"), campuses * 977);
        assert_eq!(count(&outcome, "packets_delivered"), hosts * 977);
        assert_eq!(count(&outcome, "bytes_delivered"), hosts * 500_224);
        // A tree with no loss: each receiver is a leaf, so the copies are the leaves less one.
        assert_eq!(count(&outcome, "copies_made"), (hosts - campuses) * 977);
        let links = model.tree_links() as u128;
        assert_eq!(u128::from(outcome.events), (links + campuses) * 977);
        for (number, group) in model.groups().iter().enumerate() {
            let first = u32::try_from(number).expect("few") * (34 + 48);
            assert!((first + 5..first + 9).contains(&group.source.0), "{:?} is no server", group.source);
        }
        // The copies of a packet do not wait for each other: its delay is that of an empty path.
        for (flow, delay) in column(&outcome, "delay_max").into_iter().enumerate() {
            assert_eq!(delay, column(&outcome, "delay_min")[flow]);
        }
    }
}

#[test]
fn a_copy_that_shares_its_data_is_as_large_as_a_packet_without_any() {
    assert_eq!(size_of::<Event<Packet<Data>>>(), size_of::<Event<Packet>>());
}

#[test]
fn without_records_copies_arrive_alike() {
    let topology = || Topology::new(&["node"; 7], links()).expect("a network");
    let groups = || vec![group(&[4, 2, 5, 6], 20)];
    let settings = || Settings { queue: QueueLimit::Packets(2).into(), ..Settings::default() };
    let with = run(&Network::<Data>::multicast(topology(), groups(), settings()).expect("a network"), 1.0);
    let without: Network = Network::multicast(topology(), groups(), settings()).expect("a network");
    assert!(count(&with, "packets_lost") > 0);
    assert_eq!(run(&without, 1.0).metrics, with.metrics);
}
