//! Each protocol over links that lose, duplicate and reorder packets, all at once, in both directions.

use crate::common::{count, integer, run};
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

/// Returns a network of these streams, a transfer and a client with requests. Half of the packets of each
/// link wait up to 8 ms longer than others.
fn network(until: &str) -> String {
    let mut text = format!(
        "network = \"bad links\"\nuntil = \"{until}\"\nnodes = [\"a\", \"r\", \"b\"]\n\
         [[impairment]]\nname = \"bad\"\njitter = \"8ms\"\nreorder = 0.5\nduplicate = 0.1\n"
    );
    for (from, to) in [("a", "r"), ("r", "b")] {
        let link = format!("from = \"{from}\"\nto = \"{to}\"\nrate = \"100Mbps\"\ndelay = \"5ms\"\nloss = 0.03");
        let _ = writeln!(text, "[[link]]\n{link}\nqueue = 1000\nimpairment = \"bad\"");
    }
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
