//! tshark, an independent reader, accepts the captures and shows the values that were written.
//!
//! Without tshark on this machine, the tests say so and check nothing.

use parades_capture::address::{IpVersion, Mac, flow_ports, node_address};
use parades_capture::frame::{Frame, Framing, Ip, Transport};
use parades_capture::pcapng::{Interface, Origin, Stamped, Writer};
use parades_core::time::Time;
use parades_tcp::header::{Flags, Header, Range, SynOptions, Timestamps};
use parades_tcp::seq::Seq;
use std::path::Path;
use std::process::Command;

const ETHERNET: Framing = Framing::Ethernet { source: Mac([2, 0, 0, 0, 0, 0]), destination: Mac([2, 0, 0, 0, 0, 1]) };

/// Returns the lines that tshark prints of a file, with all checksums checked.
fn tshark(file: &Path, arguments: &[&str]) -> Option<String> {
    let checks = ["tcp.check_checksum:TRUE", "udp.check_checksum:TRUE", "ip.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(checks.iter().flat_map(|check| ["-o", check])).args(arguments);
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).expect("tshark writes UTF-8"))
        }
        Err(error) => {
            eprintln!("SKIPPED, nothing is checked: tshark cannot be run ({error}); install the package `tshark`");
            None
        }
    }
}

/// Returns segments with every option, and datagrams of many lengths.
fn frames(version: IpVersion, framing: Framing) -> Vec<Vec<u8>> {
    let [here, there] = [0, 1].map(|node| node_address(version, node));
    let range = |from, to| Range { from: Seq(from), to: Seq(to) };
    let header = Header { source_port: 49_200, destination_port: 49_300, window: 1000, ..Header::default() };
    let timestamps = Some(Timestamps { value: 7, echo: 9 });
    let syn = SynOptions { mss: Some(1460), window_shift: Some(3), has_sack: true };
    let headers = [
        Header { flags: Flags::SYN, syn, timestamps, ..header },
        Header { flags: Flags::ACK | Flags::PSH, seq: Seq(1), ack: Seq(1), timestamps, ..header },
        Header {
            flags: Flags::ACK | Flags::ECE,
            seq: Seq(101),
            sack_blocks: 3,
            sack: [range(2000, 3000), range(4000, 5000), range(6000, 7000), Range::default()],
            timestamps,
            ..header
        },
    ];
    let segment = |header, payload| (Transport::Tcp(header), payload);
    let mut packets = vec![segment(&headers[0], 0), segment(&headers[1], 100), segment(&headers[2], 0)];
    let (source_port, destination_port) = flow_ports(3);
    packets.extend([0, 1, 7, 512, 1400].map(|payload| (Transport::Udp { source_port, destination_port }, payload)));
    let frame = |(transport, payload)| {
        let mut bytes = Vec::new();
        let ip = Ip { dscp: 46, ecn: 2, ..Ip::between(here, there) };
        Frame { framing, ip, transport, payload }.write(&mut bytes).expect("it fits");
        bytes
    };
    packets.into_iter().map(frame).collect()
}

fn write(file: &Path, framing: Framing, snap_length: u32) -> usize {
    let mut writer = Writer::new(std::fs::File::create(file).expect("a file"), "a test").expect("it is written");
    let interface = Interface { name: "east to west", link_type: framing.link_type(), snap_length };
    let interface = writer.add_interface(&interface).expect("it is written");
    let names = [IpVersion::V4, IpVersion::V6]
        .map(|version| [(node_address(version, 0), "east"), (node_address(version, 1), "west")]);
    writer.add_names(names.into_iter().flatten()).expect("it is written");
    let frames = [IpVersion::V4, IpVersion::V6].map(|version| frames(version, framing)).concat();
    for (number, frame) in (0..).zip(&frames) {
        // A picosecond before each nanosecond's end: the stamp is rounded down.
        let time = Time::from_ps((5_000_000_000 + number) * 1000 + 999);
        let comment = (number == 2).then_some("the third");
        let packet = Stamped { interface, time, origin: Origin::Outbound, frame, comment };
        writer.add_packet(&packet).expect("it is written");
    }
    writer.finish().expect("it is written");
    frames.len()
}

#[test]
fn no_frame_is_malformed_and_every_checksum_is_good() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, framing) in (0..).zip([Framing::Raw, Framing::Ppp, ETHERNET]) {
        let file = folder.path().join(format!("{number}.pcapng"));
        let frames = write(&file, framing, 0);
        let wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 \
                     || _ws.expert.severity >= 8388608";
        let Some(found) = tshark(&file, &["-Y", wrong]) else { return };
        assert_eq!(found, "", "{framing:?}");
        let good = "tcp.checksum.status == 1 || udp.checksum.status == 1";
        let checked = tshark(&file, &["-Y", good]).expect("tshark runs");
        assert_eq!(checked.lines().count(), frames, "{framing:?}");
        let good = tshark(&file, &["-Y", "ip.checksum.status == 1"]).expect("tshark runs");
        assert_eq!(good.lines().count(), frames / 2, "IPv6 has no checksum of its own");
    }
}

#[test]
fn names_stamps_options_and_comments_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("names.pcapng");
    write(&file, ETHERNET, 0);
    let fields = |filter: &str, fields: &[&str]| {
        let fields: Vec<_> = fields.iter().flat_map(|field| ["-e", field]).collect();
        tshark(&file, &[&["-N", "n", "-Y", filter, "-T", "fields"], &fields[..]].concat())
    };
    let Some(first) = fields("frame.number == 1", &["frame.time_epoch", "frame.interface_name", "ip.src_host"]) else {
        return;
    };
    assert_eq!(first.trim_end(), "5.000000000\teast to west\teast");
    let options = ["tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.timestamp.tsval"];
    assert_eq!(fields("frame.number == 1", &options).as_deref(), Some("1460\t3\t7\n"));
    let third = ["frame.time_epoch", "frame.comment", "tcp.options.sack_le", "ip.dsfield.dscp", "ip.dsfield.ecn"];
    assert_eq!(fields("frame.number == 3", &third).as_deref(), Some("5.000000002\tthe third\t2000,4000,6000\t46\t2\n"));
    assert_eq!(fields("ipv6 && frame.number == 10", &["ipv6.dst_host"]).as_deref(), Some("west\n"));
}

#[test]
fn a_snap_length_keeps_the_beginnings_of_frames_and_their_lengths() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("short.pcapng");
    write(&file, Framing::Raw, 60);
    let fields = ["-Y", "udp.length == 1408 && ip", "-T", "fields", "-e", "frame.len", "-e", "frame.cap_len"];
    let Some(found) = tshark(&file, &fields) else { return };
    assert_eq!(found, "1428\t60\n");
    assert_eq!(tshark(&file, &["-Y", "_ws.malformed"]).as_deref(), Some(""));
}
