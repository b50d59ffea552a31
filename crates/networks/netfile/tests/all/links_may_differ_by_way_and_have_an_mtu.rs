//! Links whose way back has a rate and a queue of its own, and links with a largest packet.

use crate::common::{built, cell, error, file, integer, on_every_engine, options, run};
use parades_core::metrics::Cell;
use parades_engine::sequential;
use parades_netfile::explicit;
use parades_packet::description::{AppKind, Description};

/// A line of 20 Mbit/s to the home, and 1 Mbit/s back.
const ADSL: &str = "rate = \"20Mbps\"\nrate_back = \"1Mbps\"";

/// A link from `net` to `home`, and apps. Packets of datagrams have 1000 bytes with their headers.
fn text(link: &str, rest: &str) -> String {
    format!(
        "network = \"a line\"\nuntil = \"10s\"\nnodes = [\"net\", \"home\"]\n[defaults]\npacket = \"970B\"\n\
         [[link]]\nfrom = \"net\"\nto = \"home\"\ndelay = \"10ms\"\n{link}\n{rest}\n"
    )
}

fn app(name: &str, ends: [&str; 2], rest: &str) -> String {
    let [from, to] = ends;
    format!("[[app]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{rest}\n")
}

/// Constant traffic of this rate, both ways.
fn both(rate: &str) -> String {
    let keys = format!("kind = \"constant\"\nrate = \"{rate}\"");
    app("down", ["net", "home"], &keys) + &app("up", ["home", "net"], &keys)
}

fn described(text: &str) -> Description {
    let file = file(text);
    file.describe(&file.parameters(), 1).unwrap_or_else(|error| panic!("{error}")).0
}

/// The row of the table of links for the direction from a node.
fn row_from(outcome: &parades_core::run::Outcome, from: &str) -> usize {
    (0..2).find(|&row| cell(outcome, "links", row, "from") == Cell::from(from)).expect("both ways are used")
}

#[test]
fn each_way_has_its_rate_and_its_queue() {
    let outcome = run(&text(ADSL, &both("500kbps")));
    // 8000 bits take 0.4 ms and 8 ms, and then the delay of 10 ms.
    assert_eq!(integer(&outcome, "flows", 0, "delay_max"), 10_400_000_000);
    assert_eq!(integer(&outcome, "flows", 1, "delay_max"), 18_000_000_000);
    let (down, up) = (row_from(&outcome, "net"), row_from(&outcome, "home"));
    let rate = |row| integer(&outcome, "links", row, "rate");
    assert_eq!((rate(down), rate(up)), (20_000_000, 1_000_000));
    let share = |row| match cell(&outcome, "links", row, "utilisation") {
        Cell::Float(share) => share,
        other => panic!("{other:?}"),
    };
    assert!((share(up) / share(down) - 20.0).abs() < 0.1, "{} {}", share(up), share(down));
    // With queues: 2 Mbit/s are too much for the way back only.
    let outcome = run(&text(&format!("{ADSL}\nqueue = 50\nqueue_back = 7"), &both("2Mbps")));
    assert_eq!(integer(&outcome, "flows", 0, "packets_lost"), 0);
    assert!(integer(&outcome, "flows", 1, "packets_lost") > 500);
    assert_eq!(integer(&outcome, "links", row_from(&outcome, "home"), "queue_max"), 7);
    // Seven packets wait before one that arrives at a busy transmitter: less than 8 × 8 ms + 10 ms.
    let longest = integer(&outcome, "flows", 1, "delay_max");
    assert!((66_000_000_000..=74_000_000_000).contains(&longest), "{longest}");
}

/// An idle transfer takes the time alone: its acknowledgements go back at the rate of that way.
#[test]
fn the_time_alone_is_that_of_both_ways() {
    let transfer = app("x", ["net", "home"], "kind = \"transfer\"\nsize = \"970B\"\nsegment = \"970B\"");
    let outcome = run(&text(ADSL, &transfer));
    // 8000 bits there, 240 bits back, and twice 10 ms.
    assert_eq!(integer(&outcome, "transfers", 0, "completion"), 20_640_000_000);
    assert_eq!(cell(&outcome, "flows", 0, "slowdown"), Cell::Float(1.0));
}

#[test]
fn events_change_each_way() {
    let event = "[[event]]\nat = \"2s\"\nlink = \"net-home\"\nrate_back = \"500kbps\"\nfor = \"2s\"\n\
                 [[event]]\nat = \"6s\"\nlink = \"net-home\"\nrate = \"10Mbps\"\nfor = \"1s\"\n";
    let text = text(ADSL, &(both("400kbps") + event));
    let outcome = run(&text);
    let longest = |flow| integer(&outcome, "flows", flow, "delay_max");
    assert_eq!((longest(0), longest(1)), (10_800_000_000, 26_000_000_000));
    let shortest = |flow| integer(&outcome, "flows", flow, "delay_min");
    assert_eq!((shortest(0), shortest(1)), (10_400_000_000, 18_000_000_000));
    // In full, it is the same network.
    let read = file(&text);
    let (description, until, _) = read.describe(&read.parameters(), 1).expect("it is right");
    let written = explicit("a line", &Default::default(), until, &description);
    assert_eq!(described(&written), description, "{written}");
}

#[test]
fn lines_are_the_same_on_every_engine() {
    let link = format!("{ADSL}\nqueue = \"codel\"\nqueue_back = {{ kind = \"red\", limit = 20 }}\nloss = 0.01");
    let tcp = app("tcp", ["net", "home"], "kind = \"tcp\"\nsize = \"2MB\"");
    let text = text(&link, &(both("900kbps") + &tcp)).replace("\"10s\"", "\"2s\"");
    let built = built(&text);
    let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}

#[test]
fn a_way_back_that_there_is_not_is_refused() {
    for (link, rest, expected) in [
        (
            "rate = \"1Mbps\"\nrate_back = \"2Mbps\"\nduplex = false",
            String::new(),
            "net.toml:11:13: `rate_back` is of the way back, and with `duplex = false` there is none; leave one of them out",
        ),
        (
            "rate = \"1Mbps\"",
            "[[event]]\nat = \"1s\"\nlink = \"net-home\"\nrate_back = \"1Mbps\"".to_owned(),
            "net.toml:14:13: the link `net-home` has no `rate_back`, so both ways have its `rate`; give the link one, or leave \
             it out here",
        ),
        ("rate = \"1Mbps\"\nrate_back = \"0bps\"", String::new(), "net.toml:11:13: `rate_back` must be above 0"),
    ] {
        let said = error(&text(link, &rest));
        assert!(said.starts_with(expected), "{said}");
    }
}

fn mss(text: &str) -> u32 {
    match &described(text).apps[0].kind {
        AppKind::Tcp(tcp) => tcp.settings.mss,
        other => panic!("{other:?}"),
    }
}

#[test]
fn segments_of_tcp_follow_the_smallest_mtu_on_their_path() {
    let tcp = |keys: &str| app("x", ["net", "home"], &format!("kind = \"tcp\"\nsize = \"100kB\"\n{keys}"));
    let mtu = |bytes: &str| format!("rate = \"10Mbps\"\nmtu = \"{bytes}\"");
    // A header of 20 bytes of IP and 20 of TCP; options come out of the segment, except in ns-3.
    assert_eq!(mss(&text(&mtu("1400B"), &tcp(""))), 1360);
    assert_eq!(mss(&text(&mtu("9000B"), &tcp(""))), 1460);
    assert_eq!(mss(&text(&mtu("1400B"), &tcp("")).replace("until", "ip = 6\nuntil")), 1340);
    assert_eq!(mss(&text(&mtu("1400B"), &tcp("profile = \"ns3\""))), 536);
    assert_eq!(mss(&text(&mtu("500B"), &tcp("profile = \"ns3\""))), 448);
    assert_eq!(mss(&text(&mtu("500B"), &tcp("profile = \"ns3\"\ntimestamps = false"))), 460);
    // 100,000 bytes in segments of 1348 bytes, beside a timestamp of 12: 75 of them, a SYN, and two more.
    let outcome = run(&text(&mtu("1400B"), &tcp("")));
    assert_eq!(integer(&outcome, "connections", 0, "bytes_received"), 100_000);
    let sent = integer(&outcome, "connections", 0, "segments_sent");
    assert!((76..=79).contains(&sent), "{sent}");
    // Not on the path: a second link.
    let beside = "[[link]]\nname = \"narrow\"\nfrom = \"net\"\nto = \"home\"\ndelay = \"1s\"\nrate = \"1Mbps\"\nmtu = \"300B\"\n";
    let apart = |rest: &str| text("rate = \"10Mbps\"", &format!("{beside}{rest}{}", tcp("")));
    assert_eq!(mss(&apart("")), 1460);
    // After a failure it is.
    assert_eq!(mss(&apart("[[event]]\nat = \"1s\"\nlink = \"net-home\"\nstate = \"down\"\n")), 260);
}

#[test]
fn packets_above_the_mtu_of_their_path_are_refused() {
    let link = "rate = \"10Mbps\"\nmtu = \"1000B\"";
    let ends = ["net", "home"];
    let of = |keys: &str| error(&text(link, &app("x", ends, keys)));
    // 20 bytes of IP and 8 of UDP, and no frame of PPP.
    let fits = |keys: &str| drop(run(&text(link, &app("x", ends, keys))));
    fits("kind = \"constant\"\nrate = \"1Mbps\"\npacket = \"972B\"");
    fits("kind = \"tcp\"\nsize = \"10kB\"\nmss = 960");
    fits("kind = \"request-response\"\nresponse = \"972B\"\nrequests = 1");
    let expected = |place: &str, bytes: u32, help: &str| {
        format!(
            "net.toml:{place}: the app `x` has IP packets of {bytes}B, and the MTU of the link `net-home`, on a path of its \
             flows, is 1000B; set {help} or less, or raise the link's `mtu`"
        )
    };
    for (keys, place, bytes, help) in [
        ("kind = \"constant\"\nrate = \"1Mbps\"\npacket = \"973B\"", "18:10", 1001, "`packet = \"972B\"`"),
        ("kind = \"poisson\"\nrate = \"1Mbps\"\npacket = \"internet-mix\"", "18:10", 1500, "`packet = \"972B\"`"),
        ("kind = \"transfer\"\nsize = \"1MB\"", "16:8", 1488, "`segment = \"972B\"`"),
        ("kind = \"request-response\"\nrequest = \"2kB\"", "17:11", 2028, "`request = \"972B\"`"),
        ("kind = \"request-response\"\nsegment = \"980B\"", "17:11", 1008, "`segment = \"972B\"`"),
        ("kind = \"tcp\"\nsize = \"10kB\"\nmss = 961", "18:7", 1001, "`mss = \"960B\"`"),
    ] {
        assert_eq!(of(keys), expected(place, bytes, help), "{keys}");
    }
    let wrong = error(&text("rate = \"10Mbps\"\nmtu = \"60B\"", ""));
    assert_eq!(
        wrong,
        "net.toml:11:7: `mtu` is 60B, and a link carries IP packets of 68B, and none above 65535B; write for example \
         `\"1500B\"`"
    );
}
