//! TCP in a network: arithmetic of one flow, losses, and one answer on every engine.

use parades_core::metrics::{Cell, Metrics};
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_packet::campus;
use parades_packet::description::{App, AppKind, Description, Ends, Framing, Link, Marking};
use parades_packet::network::Network;
use parades_packet::protocols::tcp::{Tcp, Writes};
use parades_packet::queue::QueueLimit;
use parades_packet::segment::SegmentRef;
use parades_tcp::settings::Settings;
use parades_topology::NodeId;

/// A dumbbell: `n` senders, a bottleneck of 10 Mbps and 20 ms, `n` receivers; access links of 100 Mbps and 1
/// ms.
fn dumbbell(n: u32, bytes: u64, packets: u32, settings: Settings) -> Network<SegmentRef> {
    let tcp = Tcp { settings: Settings { mss: 1448, ..settings }, bytes, writes: None, read_rate_bps: None };
    let link = |rate_bps, delay_ms| link(rate_bps, delay_ms, packets);
    network(n, &link(10_000_000, 20), &link(100_000_000, 1), tcp)
}

fn link(rate_bps: u64, delay_ms: u64, packets: u32) -> Link {
    let (delay, queue) = (Delay::from_ms(delay_ms), QueueLimit::Packets(packets).into());
    Link { rate_bps, delay, queue, framing: Framing::Ppp, ..Link::default() }
}

/// A dumbbell of these links.
fn network(n: u32, bottleneck: &Link, access: &Link, tcp: Tcp) -> Network<SegmentRef> {
    let link = |from, to, link: &Link| Link { name: format!("{from}-{to}"), from, to, ..link.clone() };
    let mut links = vec![link(0, 1, bottleneck)];
    for i in 0..n {
        links.extend([link(2 + i, 0, access), link(1, 2 + n + i, access)]);
    }
    let kind = AppKind::Tcp(Box::new(tcp));
    let ends = |i| Ends { source: NodeId(2 + i), destination: NodeId(2 + n + i), start: Time::from_secs(1) };
    Network::described(Description {
        nodes: (0..2 + 2 * n).map(|node| node.to_string()).collect(),
        links,
        apps: vec![App { name: "bulk".into(), kind, flows: (0..n).map(ends).collect(), marking: Marking::default() }],
        headers: 28,
        ..Description::default()
    })
    .expect("the network is possible")
}

fn until(seconds: u64) -> RunOptions<'static> {
    RunOptions::until(Time::from_secs(seconds))
}

/// Returns a column of the table of connections.
fn column(metrics: &Metrics, name: &str) -> Vec<u64> {
    let table = metrics.get("connections").and_then(|metric| metric.table()).expect("there is the table");
    let place = table.columns().iter().position(|column| &*column.name == name).expect("there is the column");
    let integer = |row: &Vec<Cell>| match row[place] {
        Cell::Integer(number) => number,
        _ => u64::MAX,
    };
    table.rows().iter().map(integer).collect()
}

fn count(metrics: &Metrics, name: &str) -> u128 {
    metrics.get(name).and_then(|metric| metric.counter()).expect("there is the counter")
}

#[test]
fn a_short_stream_takes_the_time_that_arithmetic_says() {
    // Computed with ns-3.37 for the same dumbbell.
    for (bytes, first_ns, last_ns) in
        [(1_000, 67_127_520, 67_127_520), (14_480, 67_557_600, 78_372_000), (100_000, 67_557_600, 231_687_040)]
    {
        let network = dumbbell(1, bytes, 100, Settings { send_buffer: 4_000_000, ..Settings::ns3() });
        let metrics = sequential::run(&network, until(10)).expect("it runs").metrics;
        assert_eq!(column(&metrics, "bytes_received"), [bytes]);
        assert_eq!(column(&metrics, "first_byte"), [first_ns * 1000], "{bytes}");
        assert_eq!(column(&metrics, "completion"), [last_ns * 1000], "{bytes}");
    }
}

#[test]
fn streams_that_lose_segments_arrive_whole_and_alike_on_every_engine() {
    for settings in [Settings::ns3(), Settings::linux()] {
        let network = dumbbell(3, 2_000_000, 20, settings);
        let expected = sequential::run(&network, until(30)).expect("it runs");
        assert_eq!(column(&expected.metrics, "bytes_received"), [2_000_000; 3]);
        assert!(count(&expected.metrics, "packets_lost_queue") > 0);
        assert!(column(&expected.metrics, "retransmissions").iter().all(|&number| number > 0));
        let digest = expected.digest;
        assert_eq!(window::run(&network, until(30), &window::Settings::of_threads(3)).unwrap().digest, digest);
        let null_message = null_message::run(&network, until(30), &null_message::Settings::of_threads(2)).unwrap();
        assert_eq!(null_message.digest, digest);
        assert_eq!(time_warp::run(&network, until(30), &time_warp::Settings::of_threads(3)).unwrap().digest, digest);
        assert_eq!(
            rollback_check::run(&network, until(5)).unwrap().digest,
            sequential::run(&network, until(5)).unwrap().digest
        );
    }
}

/// 20,000 bytes of buffer are no whole number of segments. The application fills each segment before it is
/// sent. ns-3.37, whose application writes 8 bytes at a time, sends 212 packets until the last byte arrives.
/// The acknowledgement of the other end's FIN follows.
#[test]
fn a_stream_that_its_send_buffer_limits_is_sent_in_full_segments() {
    let settings = Settings { mss: 1448, send_buffer: 20_000, ..Settings::ns3() };
    let writes = Some(Writes { bytes: 8, rate_bps: None });
    let [bottleneck, access] = [link(10_000_000, 20, 100), link(100_000_000, 1, 100)];
    let network = network(1, &bottleneck, &access, Tcp { settings, bytes: 300_000, writes, read_rate_bps: None });
    let metrics = sequential::run(&network, until(10)).expect("it runs").metrics;
    assert_eq!(column(&metrics, "bytes_received"), [300_000]);
    assert_eq!(column(&metrics, "segments_sent"), [213]);
    assert_eq!(column(&metrics, "completion"), [770_151_840_000]);
}

/// A window below the product of rate and delay, without losses. The send buffer takes 33 segments of 1,448
/// bytes. The receiver holds the last one back until the next round trip, as it acknowledges every second
/// one. Computed with ns-3.37, whose application writes a segment at a time.
#[test]
fn a_stream_that_its_buffers_limit_takes_as_long_as_in_ns3() {
    for (buffer, completion_ns) in [(49_152, 18_388_014_900_u64), (98_304, 9_135_909_260)] {
        let settings = Settings { mss: 1448, send_buffer: buffer, receive_buffer: buffer, ..Settings::ns3() };
        let tcp = Tcp { settings, bytes: 10_000_000, writes: None, read_rate_bps: None };
        let network = network(1, &link(100_000_000, 40, 200), &link(1_000_000_000, 1, 200), tcp);
        let metrics = sequential::run(&network, until(60)).expect("it runs").metrics;
        let completion_ps = column(&metrics, "completion")[0];
        assert!(completion_ps.abs_diff(completion_ns * 1000) < 1_000_000, "{completion_ps}");
        // 6,907 segments with data, and those of the handshake and of the end.
        assert_eq!(column(&metrics, "segments_sent"), [6910]);
    }
}

#[test]
fn all_streams_of_a_campus_arrive_whole() {
    let parameters = campus::Parameters { networks: 2, lan_clients: 3, ..campus::Parameters::default() };
    let network = parameters.streams(1).expect("it is possible");
    let metrics = sequential::run(&network, until(100)).expect("it runs").metrics;
    assert_eq!(count(&metrics, "flows_complete"), 72);
    assert_eq!(count(&metrics, "bytes_delivered"), 72 * 500_224);
}
