//! TCP where acknowledgements come later than a timer expects: nothing is lost, or little, and little is sent
//! twice.

use crate::common::{count, integer, run};
use parades_core::time::Delay;

/// Two hosts and a link between them.
fn pair(rate: &str, delay: &str, app: &str) -> String {
    format!(
        "network = \"pair\"\nuntil = \"600s\"\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\n\
         delay = \"{delay}\"\nqueue = 1000\n[[app]]\nname = \"t\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\n{app}\n"
    )
}

/// The round trip is 2.4 s, the first timeout of the SYN one second. Seven one-way delays of 1.2 s are
/// needed: two for the handshake, four for windows of ten and twenty segments, one for the rest of 69
/// segments. The rest takes half a second to be sent.
#[test]
fn a_round_trip_above_the_first_timeout_repeats_the_syn_only() {
    for (keys, least_ms, most_ms) in [("", 8_890, 8_900), ("timestamps = false", 8_880, 8_900)] {
        let outcome = run(&pair("1Mbps", "1200ms", &format!("size = \"100kB\"\n{keys}")));
        let cell = |column| integer(&outcome, "connections", 0, column);
        // The SYN. It is answered again, and its answer is repeated a second later.
        let counts = ["timeouts", "retransmissions_timeout", "retransmissions_answers", "retransmissions"].map(cell);
        assert_eq!(counts, [1, 1, 2, 3], "{keys}");
        let completion = cell("completion");
        let range = Delay::from_ms(least_ms).as_ps()..Delay::from_ms(most_ms).as_ps();
        assert!(range.contains(&completion), "{keys}: {completion}");
    }
}

/// In ns-3 the timeout of the first data is a second again, so they are sent twice. The first timeout of its
/// SYN is 3 s, and the round trip here 3.4 s.
#[test]
fn in_ns3_the_timeout_is_a_second_again_after_a_repeated_syn() {
    let outcome = run(&pair("1Mbps", "1700ms", "size = \"3000B\"\nprofile = \"ns3\"\nmin_rto = \"200ms\""));
    let cell = |column| integer(&outcome, "connections", 0, column);
    assert!(cell("timeouts") > 1, "{}", cell("timeouts"));
}

/// 255 senders of three segments to one receiver. The exchange takes 0.35 ms, less than the ticks that a
/// probe waits.
#[test]
fn an_incast_without_losses_needs_no_probe() {
    let text = "network = \"255 to 1\"\nuntil = \"1s\"\nnodes = [\"sw\", \"rx\"]\n[[group]]\nname = \"h\"\nsize = 255\n\
        attach = \"sw\"\nrate = \"25Gbps\"\ndelay = \"1us\"\n[[link]]\nfrom = \"sw\"\nto = \"rx\"\nrate = \"25Gbps\"\n\
        delay = \"1us\"\nqueue = { kind = \"dctcp\", limit = 2000, mark_at = 65 }\n[[app]]\nname = \"q\"\nkind = \"tcp\"\n\
        from = \"h.*\"\nto = \"rx\"\nsize = \"4kB\"\ncongestion = \"dctcp\"\nstart = \"1ms\"\n";
    let outcome = run(text);
    for row in 0..255 {
        assert_eq!(integer(&outcome, "connections", row, "retransmissions"), 0);
        assert!(integer(&outcome, "connections", row, "completion") < Delay::from_us(400).as_ps());
    }
    assert_eq!(count(&outcome, "flows_complete"), 255);
}

/// The round trip grows from 20 ms to 3 s while a recovery runs, and the timeout is shorter. So some 800 of
/// 13,812 segments are sent again without need, once. The recovery sends again what the queue has dropped.
#[test]
fn a_round_trip_that_grows_in_a_recovery_makes_no_storm() {
    let event = "[[event]]\nat = \"5s\"\nlink = \"a-b\"\ndelay = \"1500ms\"\n";
    let app = "size = \"20MB\"\ncongestion = \"newreno\"\n";
    let outcome = run(&format!("{}{event}", pair("10Mbps", "10ms", app)));
    let cell = |column| integer(&outcome, "connections", 0, column);
    let (lost, completion) = (count(&outcome, "packets_lost"), cell("completion"));
    assert_eq!(cell("bytes_received"), 20_000_000);
    assert!(lost < 1_000, "{lost}");
    assert!(cell("retransmissions_fast") <= lost, "{}", cell("retransmissions_fast"));
    assert!(cell("retransmissions_timeout") < 1_000, "{}", cell("retransmissions_timeout"));
    assert!(completion < Delay::from_secs(40).as_ps(), "{completion}");
}
