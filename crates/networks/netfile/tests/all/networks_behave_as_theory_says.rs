//! Described networks against what can be computed by hand, or is known from theory.

use crate::common::{built, cell, count, integer, on_every_engine, options, run, value};
use parades_core::prelude::{Cell, Delay, Time};
use parades_engine::sequential;

fn pair(link: &str, more: &str, until: &str) -> String {
    format!(
        "network = \"pair\"\nuntil = \"{until}\"\nnodes = [\"a\", \"b\"]\nheaders = \"0B\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\n{link}\n{more}"
    )
}

#[test]
fn one_link_with_poisson_packets_of_one_size_is_a_queue_of_deterministic_service() {
    // M/D/1: the mean wait is rho / (2 (1 - rho)) services. A service is 1 ms; one more is the packet's own;
    // 3 ms are the way.
    for rho in [0.5, 0.8] {
        let rate = rho * 8.0;
        let app = format!(
            "[[app]]\nname = \"p\"\nkind = \"poisson\"\nfrom = \"a\"\nto = \"b\"\npacket = \"1000B\"\nrate = \"{rate}Mbps\"\n"
        );
        let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"3ms\"\nqueue = 1000000", &app, "400s"));
        let expected = 1.0 + 3.0 + rho / (2.0 * (1.0 - rho));
        let found = value(&outcome, "delay_p") / 1e9;
        assert!((found / expected - 1.0).abs() < 0.01, "{rho}: {found} ms, not {expected} ms");
        let Cell::Float(utilisation) = cell(&outcome, "links", 0, "utilisation") else { panic!("a share") };
        assert!((utilisation / rho - 1.0).abs() < 0.01, "{utilisation} {rho}");
        assert_eq!(count(&outcome, "packets_lost"), 0);
    }
}

#[test]
fn a_queue_of_zero_packets_lets_none_wait() {
    // Two packets at once each 10 ms: one is transmitted, and the other would have to wait.
    let app = |name: &str| {
        format!(
            "[[app]]\nname = \"{name}\"\nkind = \"constant\"\nfrom = \"a\"\nto = \"b\"\npacket = \"1000B\"\nrate = \"800kbps\"\n"
        )
    };
    let both = app("p") + &app("q");
    let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"1ms\"\nqueue = 0", &both, "1s"));
    assert_eq!((count(&outcome, "packets_sent"), count(&outcome, "packets_lost_queue")), (200, 100));
}

#[test]
fn chance_loses_the_share_that_it_should() {
    let app =
        "[[app]]\nname = \"p\"\nkind = \"constant\"\nfrom = \"a\"\nto = \"b\"\npacket = \"100B\"\nrate = \"8Mbps\"\n";
    let outcome = run(&pair("rate = \"1Gbps\"\ndelay = \"1ms\"\nloss = 0.03", app, "10s"));
    let (sent, lost) = (count(&outcome, "packets_sent"), count(&outcome, "packets_lost_chance"));
    assert_eq!(sent, 100_000);
    // Within four deviations of a binomial variable.
    let deviation = (sent as f64 * 0.03 * 0.97).sqrt();
    assert!((lost as f64 - 3000.0).abs() < 4.0 * deviation, "{lost}");
    assert_eq!(count(&outcome, "packets_lost"), lost);
}

#[test]
fn a_fixed_window_transfers_a_window_each_round_trip_or_at_the_links_rate() {
    // 1000 B at 8 Mbps take 1 ms; acknowledgements of 0 B none. A round trip is 1 + 2 * 20 ms.
    for (window, expected_ms_per_segment) in [(1, 41.0), (10, 4.1), (41, 1.0), (100, 1.0)] {
        let app = format!(
            "[[app]]\nname = \"t\"\nkind = \"transfer\"\nfrom = \"a\"\nto = \"b\"\nsize = \"2MB\"\nsegment = \"1000B\"\ncontrol = \"fixed\"\nwindow = {window}\n"
        );
        let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"20ms\"\nqueue = 1000", &app, "200s"));
        let took = integer(&outcome, "transfers", 0, "completion") as f64 / 1e9;
        let expected = 2000.0 * expected_ms_per_segment;
        assert!((took - expected).abs() <= 41.0 + 1.0, "window {window}: {took} ms, not {expected} ms");
        assert_eq!(integer(&outcome, "transfers", 0, "bytes_acknowledged"), 2_000_000);
        assert_eq!(integer(&outcome, "transfers", 0, "segments_sent_again"), 0);
    }
}

#[test]
fn transfers_deliver_everything_whatever_is_lost() {
    for control in ["fixed", "reno"] {
        for loss in ["0.0", "0.02", "0.2"] {
            let app = format!(
                "[[app]]\nname = \"t\"\nkind = \"transfer\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1234567B\"\nwindow = 50\ncontrol = \"{control}\"\n"
            );
            let link = format!("rate = \"10Mbps\"\ndelay = \"2ms\"\nqueue = 20\nloss = {loss}");
            let outcome = run(&pair(&link, &app, "5000s"));
            assert_eq!(integer(&outcome, "transfers", 0, "bytes_acknowledged"), 1_234_567, "{control} {loss}");
            assert_eq!(integer(&outcome, "flows", 0, "bytes_received"), 1_234_567);
            assert_eq!(count(&outcome, "flows_complete"), 1);
            assert_eq!(count(&outcome, "packets_in_flight"), 0);
        }
    }
}

#[test]
fn reno_fills_a_bottleneck_and_shares_it() {
    let text = r#"
network = "two transfers share a bottleneck"
until = "100s"
[defaults]
delay = "5ms"
queue = 50
[[part]]
name = "d"
kind = "dumbbell"
size = 2
rate = "100Mbps"
trunk_rate = "10Mbps"
[[app]]
name = "t"
kind = "transfer"
from = "d.left.*"
to = "d.right.*"
size = "1GB"
window = 1000
"#;
    let outcome = run(text);
    let received: Vec<u64> = (0..2).map(|flow| integer(&outcome, "flows", flow, "bytes_received")).collect();
    let share = (received[0] + received[1]) as f64 * 8.0 / 100.0 / 10e6;
    // 1460 of 1490 bytes are payload.
    assert!((0.95..0.98).contains(&share), "{share}");
    let fairness = received[0] as f64 / received[1] as f64;
    assert!((0.4..2.5).contains(&fairness), "{received:?}");
    assert!(count(&outcome, "packets_lost_queue") > 0);
}

#[test]
fn a_link_that_fails_loses_what_it_holds_and_traffic_goes_round_until_it_is_back() {
    // Packets of 1 ms each 10 ms: sent at 0, 10, …, 990 ms. The way over the link takes 1 + 5 ms, the one
    // round 2 + 40 ms.
    let text = |convergence: &str, second: &str| {
        format!(
            r#"
network = "a triangle"
until = "2s"
headers = "0B"
convergence = "{convergence}"
nodes = ["a", "b", "c"]
[defaults]
rate = "8Mbps"
[[link]]
from = "a"
to = "b"
delay = "5ms"
[[link]]
from = "c"
to = ["a", "b"]
delay = "20ms"
[[app]]
name = "p"
kind = "constant"
from = "a"
to = "b"
rate = "800kbps"
size = "100kB"
[[event]]
at = "302ms"
link = "a-b"
state = "down"
for = "298ms"
{second}
"#
        )
    };
    let outcome = run(&text("0s", ""));
    // The packet of 300 ms is on the link when it fails. Those of 310 to 590 ms go round; that of 600 ms
    // finds the link.
    assert_eq!(count(&outcome, "packets_lost_down"), 1);
    assert_eq!(count(&outcome, "packets_received"), 99);
    assert_eq!(integer(&outcome, "flows", 0, "delay_min"), Delay::from_ms(6).as_ps());
    assert_eq!(integer(&outcome, "flows", 0, "delay_max"), Delay::from_ms(42).as_ps());
    let mean = integer(&outcome, "flows", 0, "delay_mean") as f64 / 1e9;
    assert!((mean - (70.0 * 6.0 + 29.0 * 42.0) / 99.0).abs() < 1e-6, "{mean}");
    // The last ones that went round are overtaken.
    assert!(integer(&outcome, "flows", 0, "packets_reordered") > 0);
    // If new routes take 25 ms, the packets of 310 and 320 ms are lost too. After the repair, the old routes
    // also hold 25 ms longer, which loses no packet.
    let outcome = run(&text("25ms", ""));
    assert_eq!(count(&outcome, "packets_lost_down"), 3);
    // A node that is lost rests, and has not sent what it would have.
    let outcome = run(&text("0s", "[[event]]\nat = \"655ms\"\nnode = \"a\"\nstate = \"down\"\nfor = \"100ms\"\n"));
    assert_eq!(count(&outcome, "packets_sent"), 100);
    let start = integer(&outcome, "flows", 0, "duration") as f64 / 1e9;
    // Resting from 660 to 755 ms, it ends 95 ms later: the last packet is sent at 1085 ms.
    assert!((start - 1091.0).abs() < 1e-6, "{start}");
    // With the node that all goes round by lost as well, there is no way.
    let outcome = run(&text("0s", "[[event]]\nat = \"400ms\"\nnode = \"c\"\nstate = \"down\"\nfor = \"100ms\"\n"));
    // Of 300; on the way round, those sent from 360 ms on are on a link of c's at 400 ms; then those of 400
    // to 490 ms.
    assert_eq!(count(&outcome, "packets_lost_down"), 1 + 4 + 10);
}

#[test]
fn a_change_of_rate_holds_for_what_is_transmitted_from_then_on() {
    // Ten packets at once: 1 ms each for the first 4, then 2 ms each.
    let more = "[[app]]\nname = \"t\"\nkind = \"transfer\"\nfrom = \"a\"\nto = \"b\"\nsize = \"10kB\"\nsegment = \"1000B\"\nwindow = 10\ncontrol = \"fixed\"\n[[event]]\nat = \"4ms\"\nlink = \"a-b\"\nrate = \"4Mbps\"\n";
    let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"0s\"", more, "1s"));
    assert_eq!(integer(&outcome, "transfers", 0, "completion"), Delay::from_ms(4 + 6 * 2).as_ps());
}

#[test]
fn clients_wait_for_a_round_trip_the_service_and_the_response() {
    // A request of 1000 B takes 1 ms, a response of three packets 3 ms; 10 ms each way, 2 ms of service: 26
    // ms; then 24 ms of thinking.
    let more = "[[app]]\nname = \"w\"\nkind = \"request-response\"\nfrom = \"a\"\nto = \"b\"\nrequest = \"1000B\"\nresponse = \"3kB\"\nsegment = \"1000B\"\nthink = \"24ms\"\nthinking = \"constant\"\nservice = \"2ms\"\nserving = \"constant\"\n";
    let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"10ms\"", more, "10s"));
    assert_eq!(integer(&outcome, "requests", 0, "responses"), 200);
    for column in ["response_min", "response_mean", "response_max"] {
        assert_eq!(integer(&outcome, "requests", 0, column), Delay::from_ms(26).as_ps());
    }
    assert_eq!(integer(&outcome, "flows", 0, "answers_received"), 600);
    // If half the packets are lost, clients ask again, and responses still arrive.
    let lossy = run(&pair("rate = \"8Mbps\"\ndelay = \"10ms\"\nloss = 0.3", more, "100s"));
    assert!(integer(&lossy, "requests", 0, "timeouts") > 10 && integer(&lossy, "requests", 0, "responses") > 10);
}

#[test]
fn throughput_of_requests_is_of_what_comes_back_until_the_last_of_it() {
    // A request of 1 ms, a hundred packets of 1 ms each, 10 ms each way.
    let more = "[[app]]\nname = \"w\"\nkind = \"request-response\"\nfrom = \"a\"\nto = \"b\"\nrequest = \"1000B\"\nresponse = \"100kB\"\nsegment = \"1000B\"\nrequests = 1\n";
    let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"10ms\"", more, "10s"));
    assert_eq!(integer(&outcome, "flows", 0, "duration"), Delay::from_ms(11 + 110).as_ps());
    let Cell::Float(throughput) = cell(&outcome, "flows", 0, "throughput") else { panic!("a rate") };
    assert!((throughput - 800_000.0 / 0.121).abs() < 1.0, "{throughput}");
    // Before anything has come back, there is neither.
    let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"10ms\"", more, "15ms"));
    assert_eq!(integer(&outcome, "flows", 0, "packets_received"), 1);
    for column in ["duration", "throughput"] {
        assert_eq!(cell(&outcome, "flows", 0, column), Cell::Empty, "{column}");
    }
}

#[test]
fn on_off_sources_of_a_node_that_was_away_send_no_more_than_others() {
    // 125 packets in a second of an on period, which is half of the time.
    let app = "[[app]]\nname = \"p\"\nkind = \"on-off\"\nfrom = \"a\"\nto = \"b\"\npacket = \"1000B\"\nrate = \"1Mbps\"\non = \"100ms\"\noff = \"100ms\"\nperiods = \"constant\"\n";
    let away = "[[event]]\nat = \"1s\"\nnode = \"a\"\nstate = \"down\"\nfor = \"60s\"\n";
    // Another begins while it is away.
    for start in ["", "start = \"2s\"\n"] {
        let text = |until: &str| pair("rate = \"8Mbps\"\ndelay = \"1ms\"", &format!("{app}{start}{away}"), until);
        let [before, back, later] = ["1s", "61s", "63s"].map(|until| count(&run(&text(until)), "packets_sent"));
        assert_eq!(before, back);
        assert!((later - back).abs_diff(125) <= 2, "{back} {later}");
        let network = built(&text("63s"));
        let expected = sequential::run(&network.model, options(1, network.until)).unwrap();
        for (name, outcome) in on_every_engine(&network.model, 1, network.until) {
            assert_eq!(outcome.digest, expected.digest, "{name}");
        }
    }
}

#[test]
fn a_server_whose_node_is_away_answers_when_it_is_back() {
    // The request comes at 11 ms, and is served by 1011 ms. The response is sent at 2 s, and takes 11 ms.
    let more = "[[app]]\nname = \"w\"\nkind = \"request-response\"\nfrom = \"a\"\nto = \"b\"\nrequest = \"1000B\"\nresponse = \"1000B\"\nservice = \"1s\"\nserving = \"constant\"\ntimeout = \"10s\"\nrequests = 1\n";
    let away = |length: &str| format!("{more}[[event]]\nat = \"500ms\"\nnode = \"b\"\nstate = \"down\"\n{length}");
    let text = |length: &str| pair("rate = \"8Mbps\"\ndelay = \"10ms\"", &away(length), "5s");
    let outcome = run(&text("for = \"1500ms\"\n"));
    assert_eq!((count(&outcome, "packets_lost"), integer(&outcome, "requests", 0, "responses")), (0, 1));
    assert_eq!(integer(&outcome, "requests", 0, "response_max"), Delay::from_ms(2011).as_ps());
    // One that never comes back does not answer.
    let outcome = run(&text(""));
    assert_eq!((count(&outcome, "packets_lost"), integer(&outcome, "flows", 0, "answers_sent")), (0, 0));
}

#[test]
fn what_comes_up_for_a_while_stays_up() {
    let app = "[[app]]\nname = \"p\"\nkind = \"constant\"\nfrom = \"a\"\nto = \"b\"\npacket = \"1000B\"\nrate = \"800kbps\"\n";
    for what in ["link = \"a-b\"", "node = \"a\"", "node = \"b\""] {
        let event = format!("[[event]]\nat = \"1s\"\n{what}\nstate = \"up\"\nfor = \"1s\"\n");
        let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"1ms\"", &format!("{app}{event}"), "5s"));
        assert_eq!((count(&outcome, "packets_sent"), count(&outcome, "packets_lost")), (500, 0), "{what}");
    }
}

#[test]
fn samples_are_bounded_however_long_a_network_is_run() {
    let network = built(&pair("rate = \"8Mbps\"\ndelay = \"1ms\"", "[measure]\nevery = \"1us\"\n", "1s"));
    let longer = network.until.checked_add(Delay::from_secs(1)).unwrap_or(Time::MAX);
    let outcome = sequential::run(&network.model, options(1, longer)).expect("it goes on without");
    let points =
        |name| outcome.metrics.get(name).and_then(|metric| metric.series()).map(|series| series.points().len());
    assert_eq!(points("queue_longest"), Some(1_000_000));
    // A sample at the end itself would be the last of the second million.
    assert!((value(&outcome, "samples_left_out") - 1e6).abs() < 0.5);
}

#[test]
fn a_queue_in_bytes_holds_so_many() {
    let app = |size: u32| {
        format!(
            "[[app]]\nname = \"t\"\nkind = \"transfer\"\nfrom = \"a\"\nto = \"b\"\nsize = \"{size}kB\"\nsegment = \"1000B\"\nwindow = 100\ncontrol = \"fixed\"\n"
        )
    };
    // One packet is transmitted, five wait.
    for (size, lost) in [(6, 0), (7, 1), (9, 3)] {
        let outcome = run(&pair("rate = \"8Mbps\"\ndelay = \"1ms\"\nqueue = \"5999B\"", &app(size), "5ms"));
        assert_eq!(count(&outcome, "packets_lost_queue"), lost);
    }
}

#[test]
fn sampled_series_add_up_to_what_was_received() {
    let outcome = run(parades_netfile::EXAMPLE);
    let points = |name: &str| {
        outcome.metrics.get(name).and_then(|metric| metric.series()).unwrap_or_else(|| panic!("{name}")).points()
    };
    let received: f64 = points("throughput").iter().map(|(_, rate)| rate * 0.5 / 8.0).sum();
    assert!((received - count(&outcome, "bytes_received") as f64).abs() < 1.0, "{received}");
    let utilisation = points("link_utilisation_gw-west-gw-east");
    assert_eq!(utilisation.len(), 40);
    // Down from 8 to 10 s; before and after, not idle.
    for (time, share) in utilisation {
        let down = (8.4..10.1).contains(&time.as_secs_f64());
        assert!(if down { share < 1e-9 } else { share > 0.05 && share <= 1.0 }, "{time}: {share}");
    }
    assert!(points("queue_longest").iter().any(|&(_, waiting)| waiting > 10.0));
}
