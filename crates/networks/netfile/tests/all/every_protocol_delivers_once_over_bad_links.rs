//! Each protocol over links that lose, duplicate and reorder packets, all at once, in both directions.

use crate::common::{built, count, integer, on_every_engine, options, run};
use parades_core::run::Outcome;
use parades_engine::sequential;
use std::fmt::Write;

/// The bytes of each stream: no whole number of segments.
const BYTES: u64 = 150_001;
/// The responses that the client wants.
const RESPONSES: u64 = 20;

/// Returns the keys of each stream: all profiles, congestion controls and options.
fn streams() -> Vec<String> {
    let mut streams = Vec::new();
    for profile in ["linux", "ns3"] {
        for congestion in ["newreno", "cubic", "dctcp", "bbr", "vegas"] {
            for (sack, timestamps) in [(true, true), (true, false), (false, true), (false, false)] {
                streams.push(format!(
                    "profile = \"{profile}\"\ncongestion = \"{congestion}\"\nsack = {sack}\ntimestamps = {timestamps}"
                ));
            }
        }
    }
    streams
}

/// Returns two links in a row. Half of the packets of each wait up to 8 ms longer than others.
fn bad_links(until: &str) -> String {
    let mut text = format!(
        "network = \"bad links\"\nuntil = \"{until}\"\nnodes = [\"a\", \"r\", \"b\"]\n\
         [[impairment]]\nname = \"bad\"\njitter = \"8ms\"\nreorder = 0.5\nduplicate = 0.1\n"
    );
    for (from, to) in [("a", "r"), ("r", "b")] {
        let link = format!("from = \"{from}\"\nto = \"{to}\"\nrate = \"100Mbps\"\ndelay = \"5ms\"\nloss = 0.03");
        let _ = writeln!(text, "[[link]]\n{link}\nqueue = 1000\nimpairment = \"bad\"");
    }
    text
}

/// Returns a network of these streams, a transfer and a client with requests.
fn network(until: &str) -> String {
    let mut text = bad_links(until);
    for (index, keys) in streams().iter().enumerate() {
        let app =
            format!("name = \"tcp{index}\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\nsize = \"{BYTES}B\"\n{keys}");
        let _ = writeln!(text, "[[app]]\n{app}");
    }
    let transfer = format!("name = \"transfer\"\nkind = \"transfer\"\nfrom = \"a\"\nto = \"b\"\nsize = \"{BYTES}B\"");
    let requests = format!(
        "name = \"requests\"\nkind = \"request-response\"\nfrom = \"a\"\nto = \"b\"\nresponse = \"1000B\"\n\
         segment = \"1000B\"\ntimeout = \"200ms\"\nrequests = {RESPONSES}"
    );
    let _ = writeln!(text, "[[app]]\n{transfer}\n[[app]]\n{requests}");
    text
}

#[test]
fn all_data_are_delivered_once_and_all_connections_end() {
    let outcome = run(&network("1000s"));
    for (row, keys) in streams().iter().enumerate() {
        assert_eq!(integer(&outcome, "connections", row, "bytes_received"), BYTES, "{keys}");
        assert!(integer(&outcome, "connections", row, "retransmissions") > 0, "{keys}");
        assert!(integer(&outcome, "connections", row, "out_of_order") > 0, "{keys}");
        assert!(integer(&outcome, "flows", row, "packets_duplicated") > 0, "{keys}");
    }
    assert_eq!(integer(&outcome, "transfers", 0, "bytes_acknowledged"), BYTES);
    assert_eq!(integer(&outcome, "requests", 0, "responses"), RESPONSES);
    assert_eq!(count(&outcome, "flows_complete"), count(&outcome, "flows_total"));
    // Nothing happens later: all connections are closed, and no timer is left.
    assert_eq!(run(&network("10000s")).events, outcome.events);
}

/// The payload of all packets below, and of each part of a response.
const PACKET: u64 = 500;
/// The packets of each source of datagrams.
const PACKETS: u64 = 5000;
/// The parts of a response.
const PARTS: u64 = 4;

/// The sources of datagrams, and clients with requests of several parts. All have sent everything long before
/// the end.
fn without_tcp() -> String {
    let all = PACKET * PACKETS;
    let datagrams = format!("packet = \"{PACKET}B\"\nsize = \"{all}B\"\nrate = \"1Mbps\"");
    let on_off = format!("kind = \"on-off\"\non = \"100ms\"\noff = \"100ms\"\n{datagrams}");
    let response = PACKET * PARTS;
    let requests = format!(
        "kind = \"request-response\"\nrequest = \"{PACKET}B\"\nresponse = \"{response}B\"\n\
         segment = \"{PACKET}B\"\nthink = \"10ms\"\nrequests = 200"
    );
    let apps = [
        ("constant", format!("kind = \"constant\"\n{datagrams}")),
        ("poisson", format!("kind = \"poisson\"\n{datagrams}")),
        ("on-off", on_off),
        ("group", format!("kind = \"constant\"\nmulticast = true\n{datagrams}")),
        ("patient", format!("{requests}\ntimeout = \"1s\"")),
        // Shorter than many round trips: late parts of old responses arrive among those of new ones.
        ("hasty", format!("{requests}\ntimeout = \"32ms\"")),
    ];
    let app = |(name, keys): (&str, String)| format!("[[app]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n");
    bad_links("1000s") + &apps.map(app).concat()
}

/// Checks that each packet sent, and each copy made, has arrived, or arrived as a copy, or was lost; `back`
/// for the other direction. Returns the packets sent and received.
fn balance(outcome: &Outcome, row: usize, back: bool) -> [u64; 2] {
    let columns = match back {
        false => ["packets_sent", "packets_duplicated", "packets_received", "copies_received", "packets_lost"],
        true => ["answers_sent", "answers_duplicated", "answers_received", "answer_copies_received", "answers_lost"],
    };
    let [sent, duplicated, received, copies, lost] = columns.map(|column| integer(outcome, "flows", row, column));
    assert_eq!(sent + duplicated, received + copies + lost, "row {row}");
    assert!(duplicated > 0 && copies > 0 && lost > 0 && received <= sent, "row {row}");
    [sent, received]
}

/// A packet crosses a link with probability 0.97, and a tenth of those that cross get a copy. So it reaches
/// the other end with a probability of 0.97 × (0.9 × 0.97 + 0.1 × (1 - 0.03²)) = 0.944. Four standard
/// deviations of the share of 5,000 are 0.013.
#[test]
fn datagrams_arrive_once_and_all_that_arrive_have_their_bytes() {
    let outcome = run(&without_tcp());
    for row in 0..4 {
        let [sent, received] = balance(&outcome, row, false);
        assert_eq!(sent, PACKETS, "row {row}");
        assert_eq!(integer(&outcome, "flows", row, "bytes_received"), received * PACKET, "row {row}");
        let share = received as f64 / sent as f64;
        assert!((0.931..0.957).contains(&share), "row {row}: {share}");
        assert!(integer(&outcome, "flows", row, "packets_reordered") > 100, "row {row}");
    }
}

#[test]
fn responses_are_complete_with_all_their_parts_and_bytes_count_once() {
    let outcome = run(&without_tcp());
    for (row, flow) in [4, 5].into_iter().enumerate() {
        let [asked, heard] = balance(&outcome, flow, false);
        let [answered, received] = balance(&outcome, flow, true);
        let of = |column| integer(&outcome, "requests", row, column);
        let (responses, timeouts) = (of("responses"), of("timeouts"));
        assert_eq!((responses, asked), (200, responses + timeouts));
        // A request that arrives is answered once, however many of its copies arrive.
        assert_eq!(answered, heard * PARTS);
        assert!(timeouts > 20 && received >= responses * PARTS, "{timeouts} timeouts, {received} parts");
        assert_eq!(integer(&outcome, "flows", flow, "bytes_received"), received * PACKET);
        // 20 ms there and back, and four packets.
        assert!(of("response_min") > 20_160_000_000, "{}", of("response_min"));
    }
    // The hasty client asks again although a response is under way.
    assert!(integer(&outcome, "requests", 1, "timeouts") > integer(&outcome, "requests", 0, "timeouts"));
}

#[test]
fn datagrams_and_requests_are_the_same_on_every_engine() {
    let text = without_tcp().replace("until = \"1000s\"", "until = \"2s\"");
    let built = built(&text);
    let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}
