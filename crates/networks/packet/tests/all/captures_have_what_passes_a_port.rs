//! Captures: the packets that pass a port, at the times computed by hand, the same on every engine.

use parades_capture::recorder::{Place, Recorder, Settings as CaptureSettings};
use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_packet::flow::{Flow, Limit};
use parades_packet::network::{Network, Settings};
use parades_packet::queue::{Codel, Discipline, FairCodel, QueueLimit};
use parades_packet::traffic::{Pattern, Sizes};
use parades_topology::{Link, NodeId, Topology};

const MS: u64 = 1_000_000;

/// A packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    interface: u32,
    ns: u64,
    is_arrival: bool,
    frame: Vec<u8>,
    comment: String,
}

/// Reads the packets of a pcapng file, from the blocks of type 6.
fn packets(file: &[u8]) -> Vec<Packet> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut found = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        let (block, after) = rest.split_at(word(rest, 4) as usize);
        rest = after;
        if word(block, 0) != 6 {
            continue;
        }
        let length = word(block, 20) as usize;
        let mut options = &block[28 + length.next_multiple_of(4)..block.len() - 4];
        let (mut is_arrival, mut comment) = (false, String::new());
        while !options.is_empty() {
            let (code, size) = (options[0], usize::from(options[2]) | usize::from(options[3]) << 8);
            let value = &options[4..4 + size];
            match code {
                1 => comment = String::from_utf8(value.to_vec()).expect("a comment is text"),
                2 => is_arrival = value[0] & 3 == 1,
                _ => {}
            }
            options = &options[4 + size.next_multiple_of(4)..];
        }
        let ns = u64::from(word(block, 12)) << 32 | u64::from(word(block, 16));
        let frame = block[28..28 + length].to_vec();
        found.push(Packet { interface: word(block, 8), ns, is_arrival, frame, comment });
    }
    found
}

/// Runs a network and captures at places.
fn capture(
    network: &Network,
    places: &[Place],
    until: Time,
    run: impl FnOnce(RunOptions<'_>) -> Outcome,
) -> Vec<Vec<u8>> {
    let names = (0..network.lps()).map(|lp| network.lp_name(LpId(lp)).expect("nodes have names")).collect();
    let mut recorder = Recorder::new(network.capture_points(), names, CaptureSettings::default());
    places.iter().for_each(|place| recorder.add_file(place, Vec::new()).expect("it is written to memory"));
    let lps = recorder.lps();
    let tracer = Tracer::observing(TraceFilter::default(), |executed| recorder.event(executed));
    let outcome = run(RunOptions { captures: &lps, notes: true, tracer: Some(tracer), ..RunOptions::until(until) });
    recorder.finish(outcome.end).expect("it is written to memory")
}

fn flow(source: u32, destination: u32, packets: u64) -> Flow {
    Flow {
        source: NodeId(source),
        destination: NodeId(destination),
        start: Time::ZERO,
        limit: Limit::Bytes(packets * 970),
        sizes: Sizes::Constant(970),
        // A packet each 2 ms.
        pattern: Pattern::Constant { rate_bps: 970 * 8 * 500 },
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO.checked_add(Delay::from_ms(ms)).expect("soon")
}

/// Returns a network of three nodes. With its headers, a packet has 1000 bytes. It takes 1 ms on the first
/// link and 5 ms on the second, before 10 ms of propagation.
fn line(queue: impl Into<Discipline>) -> Network {
    let link = |a, b, rate_bps| Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_ms(10) };
    let links = vec![link(0, 1, 8_000_000), link(1, 2, 1_600_000)];
    let topology = Topology::new(&["alice", "router", "bob"], links).expect("a network");
    let settings = Settings { queue: queue.into(), ..Settings::default() };
    Network::new(topology, vec![flow(0, 2, 5)], settings).expect("a network")
}

fn run_sequentially(network: &Network, options: RunOptions<'_>) -> Outcome {
    sequential::run(network, options).expect("it runs")
}

/// Returns the time in milliseconds, the interface, and true for an arrival, of each packet.
fn times(file: &[u8]) -> Vec<(u64, u32, bool)> {
    packets(file).iter().map(|packet| (packet.ns / MS, packet.interface, packet.is_arrival)).collect()
}

#[test]
fn each_packet_is_captured_when_it_is_given_to_a_port_and_when_it_arrives() {
    let network = line(QueueLimit::Packets(2));
    let places = [0, 1, 2].map(|node| Place::Node(LpId(node)));
    let files = capture(&network, &places, ms(1000), |options| run_sequentially(&network, options));
    assert_eq!(times(&files[0]), [0, 2, 4, 6, 8].map(|ms| (ms, 0, false)));
    // At the router, the queue holds the third and the fourth packet when the fifth comes.
    let both = [11, 13, 15, 17, 19].map(|ms| [(ms, 0, true), (ms, 1, false)]).concat();
    assert_eq!(times(&files[1]), both);
    let lost: Vec<_> = packets(&files[1]).into_iter().filter(|packet| !packet.comment.is_empty()).collect();
    assert_eq!(lost.iter().map(|packet| packet.ns / MS).collect::<Vec<_>>(), [19]);
    assert!(lost[0].comment.starts_with("lost: ") && lost[0].comment.ends_with("is full"), "{}", lost[0].comment);
    assert_eq!(times(&files[2]), [26, 31, 36, 41].map(|ms| (ms, 0, true)));
    // PPP 2, IPv4 20, UDP 8.
    assert!(packets(&files[2]).iter().all(|packet| packet.frame.len() == 30 + 970));
}

#[test]
fn packets_are_captured_before_a_queue_that_decides_when_they_leave() {
    for queue in [Discipline::Codel(Codel::default()), Discipline::FairCodel(FairCodel::default())] {
        let network = line(queue);
        let files = capture(&network, &[Place::Node(LpId(1))], ms(1000), |options| run_sequentially(&network, options));
        assert_eq!(times(&files[0]), [11, 13, 15, 17, 19].map(|ms| [(ms, 0, true), (ms, 1, false)]).concat());
    }
}

#[test]
fn a_link_has_the_packets_that_both_ends_send_and_nothing_after_the_end_is_captured() {
    let network = line(QueueLimit::Packets(2));
    let places = [Place::Link("router--bob".into()), Place::Node(LpId(2))];
    let files = capture(&network, &places, ms(31), |options| run_sequentially(&network, options));
    // The interfaces of a link are its ends, in the order of nodes.
    assert_eq!(times(&files[0]), [11, 13, 15, 17, 19].map(|ms| (ms, 0, false)));
    assert_eq!(times(&files[1]), [(26, 0, true)], "the next packet arrives at the end of the run");
}

#[test]
fn an_arrival_is_captured_at_the_link_by_which_it_was_sent() {
    let link = |delay_ms| Link { a: NodeId(0), b: NodeId(1), rate_bps: 8_000_000, delay: Delay::from_ms(delay_ms) };
    let topology = Topology::new(&["a", "b"], vec![link(3), link(3), link(3)]).expect("a network");
    let network = Network::new(topology, vec![flow(0, 1, 9); 8], Settings::default()).expect("a network");
    let places = [0, 1].map(|node| Place::Node(LpId(node)));
    let files = capture(&network, &places, ms(1000), |options| run_sequentially(&network, options));
    let of = |file: &[u8]| {
        let mut found: Vec<_> = packets(file).into_iter().map(|packet| (packet.interface, packet.frame)).collect();
        found.sort();
        found
    };
    assert_eq!(of(&files[0]).len(), 8 * 9);
    assert_eq!(of(&files[0]), of(&files[1]));
}

#[test]
fn captures_are_the_same_on_every_engine() {
    let network = line(QueueLimit::Packets(2));
    let places = [Place::Node(LpId(1)), Place::Link("alice--router".into())];
    let captured = |run: &dyn Fn(&Network, RunOptions<'_>) -> Outcome| {
        capture(&network, &places, ms(1000), |options| run(&network, options))
    };
    let expected = captured(&run_sequentially);
    let windows = window::Settings::of_threads(2);
    assert_eq!(captured(&|net, options| window::run(net, options, &windows).expect("it runs")), expected);
    let nulls = null_message::Settings::of_threads(2);
    assert_eq!(captured(&|net, options| null_message::run(net, options, &nulls).expect("it runs")), expected);
    let warp = time_warp::Settings::of_threads(2);
    assert_eq!(captured(&|net, options| time_warp::run(net, options, &warp).expect("it runs")), expected);
    let all = rounds::Settings::of_threads(2);
    assert_eq!(captured(&|net, options| rounds::run(net, options, &all).expect("it runs")), expected);
    assert_eq!(captured(&|net, options| rollback_check::run(net, options).expect("it runs")), expected);
}
