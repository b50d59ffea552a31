//! Series of the delay of an app's packets, and of the time that packets wait in a queue.

use crate::common::{built, on_every_engine, options, run};
use parades_core::run::Outcome;
use parades_core::time::Time;
use parades_engine::sequential;

/// 8 Mbit/s and 10 ms, samples each second, and an app of packets of 1000 bytes with their headers, which
/// take a millisecond each.
fn text(queue: &str, app: &str) -> String {
    format!(
        "network = \"series\"\nuntil = \"10s\"\nnodes = [\"a\", \"b\"]\n\
         measure = {{ every = \"1s\", apps = \"x\", links = \"a-b\" }}\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"10ms\"\nqueue = {queue}\n\
         [[app]]\nname = \"x\"\nfrom = \"a\"\nto = \"b\"\npacket = \"970B\"\n{app}\n"
    )
}

fn points(outcome: &Outcome, name: &str) -> Vec<(Time, f64)> {
    outcome.metrics.get(name).and_then(|metric| metric.series()).unwrap_or_else(|| panic!("{name}")).points()
}

#[test]
fn delays_of_steady_traffic_are_those_by_hand() {
    // At 4 Mbit/s, nothing waits.
    let outcome = run(&text("100", "kind = \"constant\"\nrate = \"3.88Mbps\""));
    let delays = points(&outcome, "app_delay_x");
    assert_eq!(delays.len(), 10);
    assert!(delays.iter().all(|(_, delay)| (delay - 0.011).abs() < 1e-12), "{delays:?}");
    assert!(points(&outcome, "link_queue_delay_a-b").iter().all(|(_, wait)| *wait < 1e-12));
    // Twice the rate fills a queue of 20 at once: each packet waits for 19 or 20 others, and for itself.
    let outcome = run(&text("20", "kind = \"constant\"\nrate = \"15.52Mbps\""));
    for (time, delay) in &points(&outcome, "app_delay_x")[1..] {
        assert!((0.030..0.0315).contains(delay), "{time}: {delay}");
    }
    for (time, wait) in &points(&outcome, "link_queue_delay_a-b")[1..] {
        assert!((0.019..0.0205).contains(wait), "{time}: {wait}");
    }
}

/// 29 or 30 packets come each second, a microsecond apart, and leave a millisecond apart: the k-th waits k -
/// 1 times 0.999 ms. In the second half of each second nothing comes or leaves.
#[test]
fn the_greatest_and_the_mean_wait_are_those_of_packets_that_left_in_the_period() {
    let app = "kind = \"on-off\"\nperiods = \"constant\"\nrate = \"7.76Gbps\"\non = \"29.5us\"\noff = \"999970.5us\"";
    for queue in ["100", "{ kind = \"codel\", target = \"1s\", interval = \"2s\" }", "\"priority\""] {
        let text = text(queue, app).replace("every = \"1s\"", "every = \"500ms\"");
        let outcome = run(&text);
        let (mean, max) = (points(&outcome, "link_queue_delay_a-b"), points(&outcome, "link_queue_delay_max_a-b"));
        assert_eq!((mean.len(), max.len()), (10, 10), "{queue}: only half of the periods have packets");
        for ((time, mean), (_, max)) in mean.iter().zip(&max) {
            assert!((max - mean * 2.0).abs() < 1e-12, "{queue} {time}: {mean} {max}");
            let is_so = [28.0, 29.0].iter().any(|before| (max - before * 0.999e-3).abs() < 1e-12);
            assert!(is_so, "{queue} {time}: {max}");
        }
    }
}

#[test]
fn both_series_agree_for_every_queue() {
    // What a packet takes beyond 11 ms, it has waited; losses wait too where a queue drops its head.
    for queue in
        ["100", "\"red\"", "\"pie\"", "\"fqcodel\"", "{ kind = \"droptail\", limit = 50, device = 5 }", "\"priority\""]
    {
        let outcome = run(&text(queue, "kind = \"poisson\"\nrate = \"7.2Mbps\"\nstop = \"8s\""));
        let (delays, waits) = (points(&outcome, "app_delay_x"), points(&outcome, "link_queue_delay_a-b"));
        assert_eq!(delays.len(), 9, "{queue}: nothing arrives in the last period, or after the first of it");
        for ((time, delay), (_, wait)) in delays.iter().zip(waits).take(8) {
            assert!((delay - 0.011 - wait).abs() < 0.15 * wait + 0.000_5, "{queue} {time}: {delay} {wait}");
        }
    }
}

#[test]
fn a_period_without_packets_has_no_point() {
    let app = "kind = \"constant\"\nrate = \"970kbps\"\nstart = \"2.5s\"\nstop = \"4.2s\"";
    let outcome = run(&text("100", app));
    let seconds = |name: &str| points(&outcome, name).iter().map(|(time, _)| time.as_secs_f64()).collect::<Vec<_>>();
    assert_eq!(seconds("app_delay_x"), [3.0, 4.0, 5.0]);
    assert_eq!(seconds("link_queue_delay_a-b"), [3.0, 4.0, 5.0]);
    assert_eq!(seconds("app_throughput_x").len(), 10);
}

#[test]
fn series_of_delays_are_the_same_on_every_engine() {
    let built = built(&text("\"codel\"", "kind = \"poisson\"\nrate = \"8Mbps\""));
    let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}
