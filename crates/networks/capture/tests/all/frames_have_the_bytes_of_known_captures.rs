//! Frames have the bytes of packets that others captured or published.

use parades_capture::address::Mac;
use parades_capture::frame::{Frame, Framing, Ip, Transport};
use parades_tcp::header::{Flags, Header, Range, SynOptions, Timestamps};
use parades_tcp::seq::Seq;

fn ip(source: &str, destination: &str) -> Ip {
    Ip::between(source.parse().expect("an address"), destination.parse().expect("an address"))
}

fn bytes(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.write(&mut bytes).expect("it fits");
    bytes
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect()
}

/// Returns the one's complement sum of RFC 1071, section 1: of a correct packet it has only ones.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let total: u32 = words.sum();
    let folded = (total & 0xffff) + (total >> 16);
    u16::try_from((folded & 0xffff) + (folded >> 16)).expect("it is folded")
}

#[test]
fn the_sum_of_the_test_is_that_of_the_example_in_rfc_1071() {
    // Section 3: the bytes 00 01 f2 03 f4 f5 f6 f7 have the sum dd f2.
    assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
}

/// The header of the article "Internet checksum" in Wikipedia: a UDP packet of 115 bytes.
#[test]
fn an_ipv4_header_has_the_published_checksum() {
    let transport = Transport::Udp { source_port: 1, destination_port: 2 };
    let frame =
        Frame { framing: Framing::Raw, ip: ip("192.168.0.1", "192.168.0.199"), transport, payload: 115 - 20 - 8 };
    let expected = hex("45 00 00 73 00 00 40 00 40 11 b8 61 c0 a8 00 01 c0 a8 00 c7");
    assert_eq!(bytes(&frame)[..20], expected);
}

/// The first frame of `http.cap`, one of the sample captures of Wireshark: a SYN by Windows.
#[test]
fn a_syn_has_the_bytes_of_a_well_known_capture() {
    let header = Header {
        source_port: 3372,
        destination_port: 80,
        seq: Seq(0x38af_fe13),
        flags: Flags::SYN,
        window: 8760,
        syn: SynOptions { mss: Some(1460), window_shift: None, has_sack: true },
        ..Header::default()
    };
    let framing = Framing::Ethernet { source: Mac([0, 0, 1, 0, 0, 0]), destination: Mac([0xfe, 0xff, 0x20, 0, 1, 0]) };
    let ip = Ip { hop_limit: 128, identification: 0x0f41, ..ip("145.254.160.237", "65.208.228.223") };
    let frame = Frame { framing, ip, transport: Transport::Tcp(&header), payload: 0 };
    let expected = hex("fe ff 20 00 01 00 00 00 01 00 00 00 08 00 \
         45 00 00 30 0f 41 40 00 80 06 91 eb 91 fe a0 ed 41 d0 e4 df \
         0d 2c 00 50 38 af fe 13 00 00 00 00 70 02 22 38 c3 0c 00 00 02 04 05 b4 01 01 04 02");
    assert_eq!(bytes(&frame), expected);
}

/// RFC 8200, section 8.1: the pseudo-header has both addresses, the length in 32 bits, and the protocol.
#[test]
fn checksums_over_ipv6_cover_the_pseudo_header() {
    let header = Header { flags: Flags::ACK | Flags::PSH, seq: Seq(u32::MAX - 3), ..Header::default() };
    let udp = Transport::Udp { source_port: 49_152, destination_port: 49_153 };
    for (transport, protocol, header_bytes) in [(udp, 17, 8), (Transport::Tcp(&header), 6, 20)] {
        for payload in [0_u8, 1, 2, 101] {
            let frame =
                Frame { framing: Framing::Ppp, ip: ip("fd00::1", "fd00::2"), transport, payload: payload.into() };
            let bytes = bytes(&frame);
            assert_eq!(bytes[..2], [0x00, 0x57]);
            let (ip, segment) = bytes[2..].split_at(40);
            assert_eq!(segment.len(), header_bytes + usize::from(payload));
            let length = u8::try_from(segment.len()).expect("it is short");
            let pseudo = [&ip[8..40], &[0, 0, 0, length, 0, 0, 0, protocol], segment].concat();
            assert_eq!(sum(&pseudo), 0xffff);
        }
    }
}

/// The layouts of RFC 7323, section 3.2, and RFC 2018, sections 2 and 3.
#[test]
fn options_fill_the_header_with_padding_before_the_last() {
    let options = |header: &Header| {
        let frame = Frame {
            framing: Framing::Raw,
            ip: ip("10.0.0.1", "10.0.0.2"),
            transport: Transport::Tcp(header),
            payload: 0,
        };
        let bytes = bytes(&frame);
        assert_eq!(bytes.len(), 20 + header.bytes() as usize);
        assert_eq!(u32::from(bytes[32] >> 4) * 4, header.bytes());
        bytes[40..].to_vec()
    };
    let timestamps = Some(Timestamps { value: 0x0102_0304, echo: 0x0506_0708 });
    let syn = SynOptions { mss: Some(1460), window_shift: Some(7), has_sack: true };
    let all = Header { flags: Flags::SYN, syn, timestamps, ..Header::default() };
    assert_eq!(options(&all), hex("02 04 05 b4 04 02 08 0a 01 02 03 04 05 06 07 08 01 03 03 07"));
    assert_eq!(options(&Header { timestamps, ..Header::default() }), hex("01 01 08 0a 01 02 03 04 05 06 07 08"));
    let range = |from, to| Range { from: Seq(from), to: Seq(to) };
    let sack = [range(1, 2), range(0x10, 0x20), range(5, 6), range(7, 9)];
    let two = Header { sack_blocks: 2, sack, ..Header::default() };
    assert_eq!(options(&two), hex("01 01 05 12 00 00 00 01 00 00 00 02 00 00 00 10 00 00 00 20"));
    let three = options(&Header { sack_blocks: 3, timestamps, sack, ..Header::default() });
    assert_eq!((three.len(), &three[28..]), (10 + 2 + 3 * 8, &[0, 0, 0, 5, 0, 0, 0, 6][..]));
    let four = options(&Header { sack_blocks: 4, sack, ..Header::default() });
    assert_eq!(four.last(), Some(&9));
}

#[test]
fn class_mark_label_and_hops_are_in_their_bits() {
    let transport = Transport::Udp { source_port: 1, destination_port: 2 };
    let fields = |ip: Ip| Ip { dscp: 46, ecn: 3, hop_limit: 5, identification: 0x1234, flow_label: 0xabcde, ..ip };
    let frame = |ip: Ip| bytes(&Frame { framing: Framing::Raw, ip: fields(ip), transport, payload: 0 });
    // Expedited forwarding (RFC 3246) is class 46; "congestion experienced" (RFC 3168) is 3.
    let v4 = frame(ip("10.0.0.1", "10.0.0.2"));
    assert_eq!((v4[1], &v4[4..6], v4[8]), (0xbb, &[0x12, 0x34][..], 5));
    assert_eq!(sum(&v4[..20]), 0xffff);
    let v6 = frame(ip("fd00::1", "fd00::2"));
    assert_eq!((&v6[..4], v6[7]), (&[0x6b, 0xba, 0xbc, 0xde][..], 5));
}

#[test]
fn a_retransmission_has_the_bytes_of_the_original() {
    let payload = |seq: u32, length| {
        let header = Header { seq: Seq(seq), ..Header::default() };
        let frame = Frame {
            framing: Framing::Raw,
            ip: ip("10.0.0.1", "10.0.0.2"),
            transport: Transport::Tcp(&header),
            payload: length,
        };
        bytes(&frame)[40..].to_vec()
    };
    assert_eq!(payload(u32::MAX - 9, 30)[15..], payload(5, 15));
    // The first byte after a SYN is the same, with or without data in the SYN itself.
    let syn = Header { seq: Seq(99), flags: Flags::SYN, ..Header::default() };
    let frame =
        Frame { framing: Framing::Raw, ip: ip("10.0.0.1", "10.0.0.2"), transport: Transport::Tcp(&syn), payload: 4 };
    assert_eq!(bytes(&frame)[40..], payload(100, 4));
}

#[test]
fn a_packet_too_long_for_its_length_field_is_refused() {
    let transport = Transport::Udp { source_port: 1, destination_port: 2 };
    let written = |payload| {
        let frame = Frame { framing: Framing::Raw, ip: ip("10.0.0.1", "10.0.0.2"), transport, payload };
        frame.write(&mut Vec::new()).map_err(|error| error.to_string())
    };
    assert_eq!(written(65_507), Ok(()));
    assert_eq!(written(65_508), Err("a payload of 65508 bytes does not fit an IP packet".into()));
}
