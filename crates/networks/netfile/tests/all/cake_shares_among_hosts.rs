//! CAKE in networks: the shaper holds its rate, and hosts and flows get the shares of their isolation.

use crate::common::{built, on_every_engine, options, run};
use parades_core::metrics::Cell;
use parades_core::run::Outcome;
use parades_engine::sequential;

/// Host `a` has one flow, and host `b` four, to hosts of their own. Each offers more than its share of 10
/// Mbit/s, which CAKE takes of a link of 100 Mbit/s. Packets have 1000 bytes with their headers.
fn text(queue: &str, until: &str) -> String {
    format!(
        "network = \"cake\"\nuntil = \"{until}\"\nnodes = [\"a\", \"b\", \"router\", \"far\", \"c\", \"d\", \"e\", \"f\", \"g\"]\n\
         link = [\n\
         {{ from = [\"a\", \"b\"], to = \"router\", rate = \"1Gbps\", delay = \"1ms\" }},\n\
         {{ from = \"far\", to = [\"c\", \"d\", \"e\", \"f\", \"g\"], rate = \"1Gbps\", delay = \"1ms\" }},\n\
         {{ from = \"router\", to = \"far\", rate = \"100Mbps\", delay = \"5ms\", queue = {{ kind = \"cake\", {queue} }} }},\n\
         ]\n\
         app = [\n\
         {{ name = \"one\", kind = \"constant\", from = \"a\", to = \"c\", rate = \"8Mbps\", packet = \"970B\" }},\n\
         {{ name = \"four\", kind = \"constant\", flows = [[\"b\", \"d\"], [\"b\", \"e\"], [\"b\", \"f\"], [\"b\", \"g\"]], \
         rate = \"4Mbps\", packet = \"970B\" }},\n\
         ]\n"
    )
}

/// Returns the throughput of an app in Mbit/s, headers included.
fn share(outcome: &Outcome, app: &str) -> f64 {
    let value = outcome.metrics.get(&format!("throughput_{app}")).and_then(|metric| metric.value());
    let Some(Cell::Float(payload)) = value else { panic!("{value:?}") };
    payload / 1e6 * 1000.0 / 970.0
}

#[test]
fn hosts_share_equally_whatever_the_number_of_their_flows() {
    for (isolation, expected) in [("triple", 5.0), ("dual-srchost", 5.0), ("flows", 2.0), ("dual-dsthost", 2.0)] {
        let outcome = run(&text(&format!("bandwidth = \"10Mbps\", isolation = \"{isolation}\""), "20s"));
        let [one, four] = ["one", "four"].map(|app| share(&outcome, app));
        assert!((one / expected - 1.0).abs() < 0.02, "{isolation}: {one} of 10 Mbit/s instead of {expected}");
        assert!((one + four - 10.0).abs() < 0.05, "{isolation}: {one} + {four}, and the shaper sends 10");
    }
}

#[test]
fn the_shaper_counts_what_the_link_below_adds() {
    // 1000 bytes and 8 of overhead are 21 cells, which are 1113 bytes.
    let outcome = run(&text("bandwidth = \"10Mbps\", overhead = 8, cells = \"atm\"", "20s"));
    let sum = share(&outcome, "one") + share(&outcome, "four");
    assert!((sum - 10.0 * 1000.0 / 1113.0).abs() < 0.05, "{sum}");
    // Without a shaper, the link has room for all.
    let outcome = run(&text("isolation = \"flows\"", "5s"));
    let sum = share(&outcome, "one") + share(&outcome, "four");
    assert!((sum - 24.0 * 1000.0 / 970.0).abs() < 0.1, "{sum}");
}

#[test]
fn a_stream_beside_unresponsive_traffic_of_another_host_has_its_half() {
    let file = text("bandwidth = \"10Mbps\", rtt = \"20ms\"", "20s").replace(
        "name = \"one\", kind = \"constant\", from = \"a\", to = \"c\", rate = \"8Mbps\", packet = \"970B\"",
        "name = \"one\", kind = \"tcp\", from = \"a\", to = \"c\", size = \"100MB\", congestion = \"cubic\"",
    );
    let outcome = run(&file);
    let stream = share(&outcome, "one");
    // Headers and acknowledgements take a part of it.
    assert!((4.4..5.1).contains(&stream), "{stream}");
}

#[test]
fn cake_is_the_same_on_every_engine() {
    for queue in ["bandwidth = \"10Mbps\", memory = \"30kB\"", "bandwidth = \"10Mbps\", ingress = true, rtt = \"2ms\""]
    {
        let built = built(&text(queue, "600ms"));
        let expected = sequential::run(&built.model, options(1, built.until)).expect("it runs");
        for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
            assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}: {queue}");
        }
    }
}
