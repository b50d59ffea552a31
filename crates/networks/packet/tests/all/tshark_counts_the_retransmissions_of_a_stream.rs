//! Captures of TCP at the sender, as an independent reader sees them: no malformed packet, no bad checksum,
//! and as many retransmissions as the connection counts.
//!
//! Without tshark on this machine, the test says so and checks nothing.

use parades_capture::address::IpVersion;
use parades_capture::recorder::{Place, Recorder, Settings as CaptureSettings};
use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::sequential;
use parades_packet::description::{App, AppKind, Description, Ends, Framing, Link, Marking, headers_by_default};
use parades_packet::network::Network;
use parades_packet::protocols::tcp::Tcp;
use parades_packet::queue::QueueLimit;
use parades_packet::segment::SegmentRef;
use parades_tcp::settings::Settings;
use parades_topology::NodeId;
use std::path::Path;
use std::process::Command;

const SENDERS: u32 = 2;

/// A dumbbell: two senders, a bottleneck of 10 Mbps, 20 ms and `loss`, with a queue of `packets`, and two
/// receivers.
fn dumbbell(
    settings: &Settings,
    bytes: u64,
    packets: u32,
    loss: f64,
    framing: Framing,
    ip: IpVersion,
) -> Network<SegmentRef> {
    let link = |from, to, rate_bps, delay_ms, loss| Link {
        name: format!("{from}-{to}"),
        from,
        to,
        rate_bps,
        delay: Delay::from_ms(delay_ms),
        loss,
        queue: QueueLimit::Packets(packets).into(),
        framing,
        ..Link::default()
    };
    let mut links = vec![link(0, 1, 10_000_000, 20, loss)];
    for i in 0..SENDERS {
        links.push(link(2 + i, 0, 100_000_000, 1, 0.0));
        links.push(link(1, 2 + SENDERS + i, 100_000_000, 1, 0.0));
    }
    let settings = Settings { mss: 1448, ..settings.clone() };
    let kind = AppKind::Tcp(Box::new(Tcp { settings, bytes, writes: None, read_rate_bps: None }));
    let ends = |i| Ends { source: NodeId(2 + i), destination: NodeId(2 + SENDERS + i), start: Time::from_secs(1) };
    let flows = (0..SENDERS).map(ends).collect();
    Network::described(Description {
        nodes: (0..2 + 2 * SENDERS).map(|node| format!("node-{node}")).collect(),
        links,
        apps: vec![App { name: "bulk".into(), kind, flows, marking: Marking::default() }],
        ip,
        headers: headers_by_default(ip, true),
        ..Description::default()
    })
    .expect("the network is possible")
}

/// A capture at a sender, and the retransmissions that its connection counts: all of them, and those of the
/// other end that arrived.
struct Captured {
    file: Vec<u8>,
    retransmissions: u64,
    answers: u64,
}

/// Runs a network.
fn capture(network: &Network<SegmentRef>, seed: u64) -> Vec<Captured> {
    let names = (0..network.lps()).map(|lp| network.lp_name(LpId(lp)).expect("nodes have names")).collect();
    let settings = CaptureSettings { version: None, snap_length: 0 };
    let mut recorder = Recorder::new(network.capture_points(), names, settings);
    for sender in 0..SENDERS {
        recorder.add_file(&Place::Node(LpId(2 + sender)), Vec::new()).expect("it is written to memory");
    }
    let lps = recorder.lps();
    let tracer = Tracer::observing(TraceFilter::default(), |executed| recorder.event(executed));
    let options = RunOptions { captures: &lps, tracer: Some(tracer), seed, ..RunOptions::until(Time::from_secs(200)) };
    let outcome = sequential::run(network, options).expect("it runs");
    let table = outcome.metrics.get("connections").and_then(|metric| metric.table()).expect("a table");
    let counts = |name: &str| {
        let column = table.columns().iter().position(|column| &*column.name == name).expect("a column");
        let count = |row: &Vec<Cell>| if let Cell::Integer(count) = row[column] { count } else { panic!("{row:?}") };
        table.rows().iter().map(count).collect::<Vec<u64>>()
    };
    let counts = counts("retransmissions").into_iter().zip(counts("retransmissions_answers"));
    let files = recorder.finish(outcome.end).expect("it is written to memory");
    let captured = |(file, (retransmissions, answers))| Captured { file, retransmissions, answers };
    files.into_iter().zip(counts).map(captured).collect()
}

/// Returns the fields of each frame that tshark finds in a file, with all checksums checked; `None` without
/// tshark.
fn tshark(file: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let checks = ["tcp.check_checksum:TRUE", "udp.check_checksum:TRUE", "ip.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(checks.iter().flat_map(|check| ["-o", check]));
    command.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field]));
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
            Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
        }
        Err(error) => {
            eprintln!("SKIPPED, nothing is checked: tshark cannot be run ({error}); install the package `tshark`");
            None
        }
    }
}

const FIELDS: [&str; 9] = [
    "ip.src",
    "ipv6.src",
    "_ws.malformed",
    "tcp.checksum.status",
    "ip.checksum.status",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
];

/// Checks the capture of a sender. False without tshark.
fn is_checked(path: &Path, version: IpVersion, captured: &Captured) -> bool {
    std::fs::write(path, &captured.file).expect("it is written");
    let Some(frames) = tshark(path, &FIELDS) else { return false };
    // IPv6 has no checksum of its own.
    let good = ["", "1", if version == IpVersion::V4 { "1" } else { "" }];
    assert_eq!(frames.iter().find(|frame| frame[2..5] != good), None);
    // The sender begins. The other end may repeat its SYN and its FIN.
    let (sender, _) = frames[0].split_at(2);
    let again = frames.iter().filter(|frame| frame[5..].iter().any(|field| !field.is_empty()));
    let (of_sender, others): (Vec<_>, Vec<_>) = again.partition(|frame| frame.starts_with(sender));
    let counts = [of_sender, others].map(|frames| frames.len() as u64);
    let Captured { retransmissions, answers, .. } = *captured;
    assert_eq!(counts, [retransmissions - answers, answers]);
    true
}

#[test]
fn retransmissions_are_counted_alike_and_no_packet_is_wrong() {
    let without_sack = Settings { sack: false, ..Settings::linux() };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.pcapng");
    let mut total = 0;
    for settings in [Settings::ns3(), Settings::linux(), without_sack] {
        for (queue, loss, framing) in
            [(20, 0.0, Framing::None), (1000, 0.01, Framing::Ppp), (100, 0.03, Framing::Ethernet)]
        {
            for version in [IpVersion::V4, IpVersion::V6] {
                let network = dumbbell(&settings, 1_500_000, queue, loss, framing, version);
                let captures = capture(&network, 1);
                assert_eq!(captures.len(), SENDERS as usize);
                for captured in captures {
                    if !is_checked(&path, version, &captured) {
                        return;
                    }
                    total += captured.retransmissions;
                }
            }
        }
    }
    assert!(total > 500, "{total} retransmissions");
}

#[test]
fn retransmissions_are_counted_alike_where_losses_hit_the_handshake_and_the_close() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.pcapng");
    let mut answers = 0;
    for settings in [Settings::ns3(), Settings::linux()] {
        // A stream of four segments, of which a quarter is lost in both directions.
        let network = dumbbell(&settings, 5_000, 1000, 0.25, Framing::Ppp, IpVersion::V4);
        for seed in 1..=12 {
            for captured in capture(&network, seed) {
                if !is_checked(&path, IpVersion::V4, &captured) {
                    return;
                }
                answers += captured.answers;
            }
        }
    }
    assert!(answers > 5, "{answers} repeated answers");
}
