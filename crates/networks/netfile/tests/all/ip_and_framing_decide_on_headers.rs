//! The version of IP and the frames of links decide on the bytes of packets.

use crate::common::{self, error, file, run};
use parades_netfile::explicit;
use parades_packet::description::{AppKind, IpVersion};

/// Two nodes, and a link on which a byte takes 1 us and nothing else takes time.
fn text(top: &str, link: &str, app: &str) -> String {
    format!(
        "network = \"headers\"\nuntil = \"10s\"\n{top}\nnodes = [\"a\", \"b\"]\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"0s\"\n{link}\n\
         [[app]]\nname = \"x\"\nfrom = \"a\"\nto = \"b\"\n{app}\n"
    )
}

/// The longest delay of a packet in bytes of its link.
fn longest(text: &str) -> u64 {
    let outcome = run(text);
    let delays = outcome.metrics.get("delay_x").and_then(|metric| metric.tally()).expect("delays are measured");
    delays.max().expect("packets arrive") / 1_000_000
}

const ETHERNET: &str = "framing = \"ethernet\"";
const PPP: &str = "framing = \"ppp\"";

#[test]
fn datagrams_have_headers_of_udp_ip_and_one_frame() {
    let app = "kind = \"constant\"\nrate = \"1Mbps\"\npacket = \"1000B\"\nsize = \"5000B\"";
    for (top, link, bytes) in [
        ("", "", 1000 + 8 + 20 + 2),
        ("", "framing = \"none\"", 1000 + 8 + 20 + 2),
        ("", PPP, 1000 + 8 + 20 + 2),
        ("", ETHERNET, 1000 + 8 + 20 + 18 + 20),
        ("ip = 6", "", 1000 + 8 + 40 + 2),
        ("ip = 6", PPP, 1000 + 8 + 40 + 2),
        ("ip = 6", ETHERNET, 1000 + 8 + 40 + 18 + 20),
        ("headers = \"100B\"", PPP, 1000 + 100 + 2),
        ("ip = 6\nheaders = \"0B\"", "", 1000),
    ] {
        assert_eq!(longest(&text(top, link, app)), bytes, "{top} {link}");
    }
}

/// IEEE 802.3: frames below 64 bytes are padded, and there are 20 bytes of preamble and gap between frames.
/// So gigabit Ethernet has at most 1,488,095 frames a second.
#[test]
fn ethernet_pads_short_frames_and_has_a_gap_between_frames() {
    for (packet, bytes) in [(1, 84), (17, 84), (18, 84), (19, 85)] {
        let app = format!("kind = \"constant\"\nrate = \"1kbps\"\npacket = \"{packet}B\"\nsize = \"{packet}B\"");
        assert_eq!(longest(&text("", ETHERNET, &app)), bytes, "{packet}");
    }
    let gigabit = text("", "queue = 10\nframing = \"ethernet\"", "kind = \"constant\"\nrate = \"400Mbps\"")
        .replace("8Mbps", "1Gbps")
        + "packet = \"18B\"\nstop = \"100ms\"\n";
    let outcome = run(&gigabit);
    // Up to ten frames wait when the source stops.
    let received = common::count(&outcome, "packets_received");
    assert!((148_809..=148_820).contains(&received), "{received}");
}

#[test]
fn segments_have_headers_of_tcp_and_ip() {
    // 1000 bytes in one segment, with timestamps. It waits for the acknowledgement of the handshake, which
    // has no data.
    let app = "kind = \"tcp\"\nsize = \"1000B\"";
    for (top, link, headers) in [
        ("", "", 32 + 20),
        ("ip = 6", "", 32 + 40),
        ("ip = 6", ETHERNET, 32 + 40 + 18 + 20),
        // The headers of datagrams are not those of segments.
        ("ip = 6\nheaders = \"0B\"", PPP, 32 + 40 + 2),
    ] {
        assert_eq!(longest(&text(top, link, app)), headers + 1000 + headers, "{top} {link}");
    }
}

#[test]
fn full_segments_have_1500_bytes_with_headers_over_both_versions() {
    let sizes = |top: &str, app: &str| {
        let file = file(&text(top, "", &format!("kind = \"tcp\"\nsize = \"1MB\"\n{app}")));
        let (description, ..) = file.describe(&file.parameters(), 1).expect("it is right");
        match &description.apps[0].kind {
            AppKind::Tcp(tcp) => (tcp.settings.mss, tcp.settings.absent_mss),
            other => panic!("{other:?}"),
        }
    };
    // Without an MSS option, a segment to the other end has 536 and 1220 bytes at most (RFC 9293, section
    // 3.7.1).
    assert_eq!([sizes("", ""), sizes("ip = 6", "")], [(1500 - 20 - 20, 536), (1500 - 40 - 20, 1220)]);
    assert_eq!(sizes("ip = 6", "mss = \"1000B\""), (1000, 1220));
    assert_eq!(sizes("ip = 6", "profile = \"ns3\"").0, 536);
}

#[test]
fn the_version_is_4_or_6_and_is_written_out() {
    assert!(error(&text("ip = 5", "", "kind = \"tcp\"\nsize = \"1B\"")).contains("there is no such version of IP"));
    let file = file(&text("ip = 6", PPP, "kind = \"tcp\"\nsize = \"1B\""));
    let (description, until, _) = file.describe(&file.parameters(), 1).expect("it is right");
    assert_eq!((description.ip, description.headers), (IpVersion::V6, 48));
    let written = explicit("headers", &file.settings(&file.parameters()).expect("it is right"), until, &description);
    let again = common::file(&written);
    assert_eq!(again.describe(&again.parameters(), 1).expect("it is right").0, description);
}

/// The run of a network that the program has written notes nothing on keys that the user has not set.
#[test]
fn a_network_written_in_full_has_headers_only_where_they_act() {
    let written = |top: &str, app: &str| {
        let file = file(&text(top, "", app));
        let (description, until, _) = file.describe(&file.parameters(), 1).expect("it is right");
        let written =
            explicit("headers", &file.settings(&file.parameters()).expect("it is right"), until, &description);
        let again = common::file(&written);
        let (same, _, notes) = again.describe(&again.parameters(), 1).expect("it is right");
        assert_eq!(same, description);
        (written.contains("\nheaders ="), notes.iter().any(|note| note.contains("headers")))
    };
    let (tcp, datagrams) = ("kind = \"tcp\"\nsize = \"1B\"", "kind = \"constant\"\nrate = \"1Mbps\"");
    assert_eq!(written("", tcp), (false, false));
    assert_eq!(written("", datagrams), (true, false));
    // This key is the user's own, and so is the note.
    assert_eq!(written("headers = \"60B\"", tcp), (true, true));
}
