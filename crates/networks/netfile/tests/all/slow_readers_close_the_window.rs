//! Applications that read a TCP stream at a rate: the window closes, and the sender probes it (RFC 9293,
//! section 3.8.6.1).

use crate::common::{built, cell, integer, on_every_engine, options, run};
use parades_core::metrics::Cell;
use parades_engine::sequential;

/// A stream over 100 Mbit/s and 5 ms.
fn text(keys: &str) -> String {
    format!(
        "network = \"slow readers\"\nuntil = \"100s\"\nnodes = [\"a\", \"b\"]\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"100Mbps\"\ndelay = \"5ms\"\nqueue = 10000\n\
         [[app]]\nname = \"x\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n"
    )
}

#[test]
fn a_stream_takes_the_time_of_its_reader() {
    for profile in ["linux", "ns3"] {
        for buffer in ["64KiB", "4MiB"] {
            let keys = format!("size = \"5MB\"\nread_rate = \"8Mbps\"\nbuffer = \"{buffer}\"\nprofile = \"{profile}\"");
            let outcome = run(&text(&keys));
            let of = |column| integer(&outcome, "connections", 0, column);
            // 5 s from the first byte, which comes after a round trip for the SYN, and half a round trip.
            let took = of("completion");
            assert!((5_015_000_000_000..5_025_000_000_000).contains(&took), "{keys}: {took}");
            // A closed window is no loss.
            assert_eq!((of("bytes_received"), of("retransmissions"), of("timeouts")), (5_000_000, 0, 0), "{keys}");
            let slowdown = cell(&outcome, "flows", 0, "slowdown");
            assert!(matches!(slowdown, Cell::Float(x) if (1.0..1.002).contains(&x)), "{keys}: {slowdown:?}");
        }
    }
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    // A segment of 1000 bytes is read in a second. The persist timer is due several times before.
    let outcome =
        run(&text("size = \"20kB\"\nread_rate = \"8kbps\"\nbuffer = \"2kB\"\nmss = 1000\ntimestamps = false"));
    let of = |column| integer(&outcome, "connections", 0, column);
    let took = of("completion");
    assert!((20_015_000_000_000..20_020_000_000_000).contains(&took), "{took}");
    assert_eq!((of("bytes_received"), of("timeouts")), (20_000, 0));
    // Beside 20 segments of data, SYN and FIN there are probes, each with an answer, but not one each 200 ms.
    assert!((25..70).contains(&of("segments_sent")), "{}", of("segments_sent"));
}

#[test]
fn a_reader_that_is_faster_than_the_network_changes_next_to_nothing() {
    let took = |keys: &str| integer(&run(&text(&format!("size = \"5MB\"\n{keys}"))), "connections", 0, "completion");
    let (at_once, fast) = (took(""), took("read_rate = \"10Gbps\""));
    assert!(fast > at_once && fast - at_once < 10_000_000, "{at_once} {fast}");
}

#[test]
fn slow_readers_are_the_same_on_every_engine() {
    let text =
        text("size = \"300kB\"\nread_rate = \"2Mbps\"\nbuffer = \"20kB\"").replace("[[app]]", "loss = 0.02\n[[app]]");
    let built = built(&text);
    let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}
