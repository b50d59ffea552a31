//! PIE (RFC 8033): the queueing delay is near the target, whoever sends, and bursts pass.

use crate::common::{built, cell, integer, on_every_engine, options, run};
use parades_core::metrics::Cell;
use parades_core::run::Outcome;
use parades_engine::sequential;

/// A link of 10 Mbit/s and 10 ms with a queue, and apps from `a` to `b`.
fn text(queue: &str, apps: &[&str]) -> String {
    let apps: String = (0..)
        .zip(apps)
        .map(|(number, keys)| format!("[[app]]\nname = \"x{number}\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n"))
        .collect();
    format!(
        "network = \"pie\"\nuntil = \"100s\"\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"10Mbps\"\ndelay = \"10ms\"\nqueue = {queue}\n{apps}"
    )
}

/// The mean delay of the first flow in milliseconds, without propagation and serialisation.
fn queueing_ms(outcome: &Outcome, packet_bits: f64) -> f64 {
    integer(outcome, "flows", 0, "delay_mean") as f64 / 1e9 - 10.0 - packet_bits / 10_000.0
}

fn of_link(outcome: &Outcome, column: &str) -> f64 {
    let row = (0..2).find(|&row| cell(outcome, "links", row, "from") == Cell::from("a")).expect("it is used");
    match cell(outcome, "links", row, column) {
        Cell::Float(x) => x,
        Cell::Integer(x) => x as f64,
        other => panic!("{other:?}"),
    }
}

/// Poisson traffic of 1.2 times the rate. The controller rests where the delay is the target, and then drops
/// what is too much: a sixth.
#[test]
fn unresponsive_traffic_waits_for_the_target_and_loses_what_is_too_much() {
    let load = "kind = \"poisson\"\nrate = \"11.64Mbps\"\npacket = \"970B\"";
    for (queue, target_ms) in [("\"pie\"", 15.0), ("{ kind = \"pie\", target = \"30ms\" }", 30.0)] {
        let outcome = run(&text(queue, &[load]));
        let delay = queueing_ms(&outcome, 8000.0);
        assert!((delay - target_ms).abs() < 0.2 * target_ms, "{queue}: {delay} ms");
        let sent = integer(&outcome, "flows", 0, "packets_sent") as f64;
        let early = of_link(&outcome, "lost_early") / sent;
        assert!((early - 1.0 / 6.0).abs() < 0.01, "{queue}: {early}");
        assert!(of_link(&outcome, "utilisation") > 0.99);
    }
}

#[test]
fn tcp_keeps_the_link_busy_without_a_long_queue() {
    let bulk = "kind = \"tcp\"\nsize = \"500MB\"\ncongestion = \"newreno\"";
    let of = |queue: &str, keys: &str| run(&text(queue, &[format!("{bulk}\n{keys}").as_str(); 4]));
    let (pie, tail) = (of("\"pie\"", ""), of("1000", ""));
    let [short, long] = [&pie, &tail].map(|outcome| queueing_ms(outcome, 12_000.0));
    assert!((8.0..22.0).contains(&short) && long > 200.0, "{short} ms, {long} ms");
    assert!(of_link(&pie, "utilisation") > 0.95, "{}", of_link(&pie, "utilisation"));
    assert!(of_link(&pie, "lost_early") > 20.0 && of_link(&pie, "packets_marked") < 0.5);
    // Senders that understand marks lose nothing, as the probability stays below a tenth.
    let marked = of("\"pie\"", "ecn = true");
    assert!(of_link(&marked, "packets_marked") > 20.0, "{}", of_link(&marked, "packets_marked"));
    assert!((8.0..22.0).contains(&queueing_ms(&marked, 12_000.0)));
    let drops = of("{ kind = \"pie\", ecn = false }", "ecn = true");
    assert!(of_link(&drops, "lost_early") > 20.0 && of_link(&drops, "packets_marked") < 0.5);
}

/// 125 packets at once wait up to 100 ms, which is more than the target, and less than a burst may last.
#[test]
fn a_burst_after_a_quiet_time_loses_nothing() {
    let burst = "kind = \"constant\"\nrate = \"10Gbps\"\nsize = \"121250B\"\npacket = \"970B\"";
    for (start, queue) in [("0s", "\"pie\""), ("50s", "\"pie\"")] {
        let outcome = run(&text(queue, &[&format!("{burst}\nstart = \"{start}\"")]));
        assert_eq!(integer(&outcome, "flows", 0, "packets_lost"), 0, "{start}");
        assert_eq!(integer(&outcome, "flows", 0, "delay_max"), 110_000_000_000 - 124 * 776_000, "{start}");
    }
}

#[test]
fn pie_is_the_same_on_every_engine() {
    let load = "kind = \"poisson\"\nrate = \"8Mbps\"\npacket = \"970B\"";
    let text = text("\"pie\"", &[load, "kind = \"tcp\"\nsize = \"3MB\"\necn = true"]).replace("100s", "5s");
    let built = built(&text);
    let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}
