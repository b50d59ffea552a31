//! Activities, by hand: latency, sharing, bounds, computations, changes and failures.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::time::Time;
use parades_flow::network::{ActivityId, Change, Network, Outcome, What};
use parades_flow::platform::Platform;
use parades_flow::terms::{Sharing, Terms};
use parades_flow::xml;
use std::sync::Arc;

fn platform(zone: &str) -> Arc<Platform> {
    let text = format!(r#"<platform version="4.1"><zone id="world" routing="Full">{zone}</zone></platform>"#);
    Arc::new(xml::parse("test.xml".as_ref(), text.as_bytes()).unwrap())
}

/// Two hosts, and a link between them.
fn wire(link: &str) -> Arc<Platform> {
    platform(&format!(
        r#"<host id="a" speed="1Gf" core="2"/><host id="b" speed="1Gf"/><link id="wire" {link}/>
           <route src="a" dst="b"><link_ctn id="wire"/></route>"#
    ))
}

fn secs(seconds: f64) -> Time {
    Time::from_secs_f64(seconds).unwrap()
}

fn flow(network: &mut Network, source: &str, destination: &str, bytes: f64) -> ActivityId {
    let host = |name| network.platform().host(name).unwrap();
    let (source, destination) = (host(source), host(destination));
    network.start_flow(source, destination, bytes).unwrap()
}

/// Runs to the end, and tells when and how each ended, by the order of their starts.
fn ends(network: &mut Network) -> Vec<(f64, Outcome)> {
    network.advance(secs(network.now().as_secs_f64() + 1e5));
    let mut ended: Vec<_> = std::iter::from_fn(|| network.take_ended()).collect();
    ended.sort_by_key(|ended| ended.id.number());
    ended.into_iter().map(|ended| (ended.at.as_secs_f64(), ended.outcome)).collect()
}

fn end_times(network: &mut Network) -> Vec<f64> {
    ends(network).into_iter().map(|(time, outcome)| (outcome == Outcome::Done).then_some(time).unwrap()).collect()
}

fn assert_close(times: &[f64], expected: &[f64]) {
    assert_eq!(times.len(), expected.len());
    for (time, expected) in times.iter().zip(expected) {
        assert!((time / expected - 1.0).abs() < 1e-9, "{times:?} are not {expected:?}");
    }
}

#[test]
fn a_flow_alone_takes_its_latency_and_its_bytes_over_its_bandwidth() {
    let wire = wire(r#"bandwidth="125MBps" latency="100us""#);
    for (terms, expected) in [
        (Sharing::CM02, 1e-4 + 1e9 / (125e6 / 1.05)),
        (Sharing::LV08, 13.01e-4 + 1e9 / (0.97 * 125e6 / 1.05)),
        (Sharing::LV08_NOCT, 13.01e-4 + 1e9 / (0.97 * 125e6)),
    ] {
        let mut network = Network::new(Arc::clone(&wire), Terms::Shared(terms));
        flow(&mut network, "a", "b", 1e9);
        assert_close(&end_times(&mut network), &[expected]);
    }
}

#[test]
fn a_long_way_bounds_a_flow_by_its_window() {
    let mut network = Network::new(wire(r#"bandwidth="1GBps" latency="100ms""#), Terms::Shared(Sharing::CM02));
    flow(&mut network, "a", "b", 1e8);
    assert_close(&end_times(&mut network), &[0.1 + 1e8 / (4_194_304.0 / 0.2)]);
}

#[test]
fn flows_share_in_inverse_proportion_to_their_latencies() {
    // Both cross the same link; one has twice the latency before it.
    let platform = platform(
        r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
           <link id="shared" bandwidth="30MBps" latency="1ms"/><link id="extra" bandwidth="1GBps" latency="1ms"/>
           <route src="a" dst="c" symmetrical="NO"><link_ctn id="shared"/></route>
           <route src="b" dst="c" symmetrical="NO"><link_ctn id="shared"/><link_ctn id="extra"/></route>"#,
    );
    let mut network = Network::new(platform, Terms::Shared(Sharing::CM02));
    flow(&mut network, "a", "c", 20e6);
    flow(&mut network, "b", "c", 30e6);
    // The second begins a millisecond later; then 20 and 10 MB/s, until the first has moved its 20 MB.
    let first = 0.002 + (20e6 - 30e6 * 0.001) / 20e6;
    let second = first + (30e6 - 10e6 * (first - 0.002)) / 30e6;
    assert_close(&end_times(&mut network), &[first, second]);
}

#[test]
fn nothing_to_carry_still_takes_the_latency() {
    let mut network = Network::new(wire(r#"bandwidth="1MBps" latency="5ms""#), Terms::Shared(Sharing::CM02));
    flow(&mut network, "a", "b", 0.0);
    assert_close(&end_times(&mut network), &[0.005]);
}

#[test]
fn a_host_reaches_itself_without_delay() {
    let mut network = Network::new(wire(r#"bandwidth="1MBps" latency="5ms""#), Terms::Shared(Sharing::CM02));
    flow(&mut network, "a", "a", 1e10);
    assert_close(&end_times(&mut network), &[1.0]);
}

#[test]
fn under_the_constant_model_all_take_the_same() {
    let latency = parades_core::time::Delay::from_ms(7);
    let mut network = Network::new(wire(r#"bandwidth="1Bps" latency="5s""#), Terms::Constant(latency));
    flow(&mut network, "a", "b", 1e9);
    network.advance(secs(0.001));
    flow(&mut network, "b", "a", 1.0);
    assert_close(&end_times(&mut network), &[0.007, 0.008]);
}

#[test]
fn computations_share_the_cores_of_a_host() {
    let mut network = Network::new(wire(r#"bandwidth="1MBps""#), Terms::Shared(Sharing::LV08));
    let a = network.platform().host("a").unwrap();
    // Two cores of 1 Gf: alone, one core each.
    let first = network.start_execution(a, 1e9, 1);
    network.start_execution(a, 2e9, 1);
    assert_eq!(network.rate(first), Some(1e9));
    // A third makes them share.
    network.advance(secs(0.5));
    network.start_execution(a, 1e9, 1);
    assert!((network.rate(first).unwrap() / (2e9 / 3.0) - 1.0).abs() < 1e-12);
    // 0.5 s, then 0.5 Gf at 2/3 Gf/s; the other two go on at full speed.
    assert_close(&end_times(&mut network), &[1.25, 2.25, 1.75]);
}

#[test]
fn a_computation_on_two_cores_takes_half_the_time() {
    let mut network = Network::new(wire(r#"bandwidth="1MBps""#), Terms::Shared(Sharing::LV08));
    let a = network.platform().host("a").unwrap();
    network.start_execution(a, 4e9, 2);
    assert_close(&end_times(&mut network), &[2.0]);
}

#[test]
fn what_crosses_a_link_that_fails_fails_and_what_starts_over_it_too() {
    let mut network = Network::new(wire(r#"bandwidth="1MBps" latency="1ms""#), Terms::Shared(Sharing::CM02));
    let wire = network.platform().link("wire").unwrap();
    flow(&mut network, "a", "b", 1e7);
    network.advance(secs(2.0));
    network.apply(Change { what: What::Link(wire), value: 0.0 });
    flow(&mut network, "a", "b", 1.0);
    network.advance(secs(3.0));
    network.apply(Change { what: What::Link(wire), value: 1.0 });
    flow(&mut network, "a", "b", 1e6);
    let ended = ends(&mut network);
    assert_eq!(ended[..2], [(2.0, Outcome::Failed), (2.0, Outcome::Failed)]);
    assert!((ended[2].0 - 4.051).abs() < 1e-9 && ended[2].1 == Outcome::Done, "{ended:?}");
    assert_eq!(network.active(), 0);
}

#[test]
fn what_runs_on_a_host_that_fails_fails() {
    let mut network = Network::new(wire(r#"bandwidth="1MBps""#), Terms::Shared(Sharing::CM02));
    let (a, b) = (network.platform().host("a").unwrap(), network.platform().host("b").unwrap());
    network.start_execution(a, 1e12, 1);
    network.start_execution(b, 3e9, 1);
    network.advance(secs(1.0));
    network.apply(Change { what: What::Host(a), value: 0.0 });
    network.start_execution(a, 1.0, 1);
    assert_eq!(ends(&mut network), [(1.0, Outcome::Failed), (3.0, Outcome::Done), (1.0, Outcome::Failed)]);
}

#[test]
fn a_flow_over_a_link_that_is_off_to_a_host_that_is_off_ends_once() {
    for terms in [Terms::Shared(Sharing::CM02), Terms::Constant(parades_core::time::Delay::from_ms(1))] {
        let mut network = Network::new(wire(r#"bandwidth="1MBps" latency="1ms""#), terms);
        let (wire, b) = (network.platform().link("wire").unwrap(), network.platform().host("b").unwrap());
        network.apply(Change { what: What::Link(wire), value: 0.0 });
        network.apply(Change { what: What::Host(b), value: 0.0 });
        let first = flow(&mut network, "a", "b", 1.0);
        let second = flow(&mut network, "b", "a", 1.0);
        assert_eq!(network.active(), 0);
        let ended: Vec<_> =
            std::iter::from_fn(|| network.take_ended()).map(|ended| (ended.id, ended.outcome)).collect();
        assert_eq!(ended, [(first, Outcome::Failed), (second, Outcome::Failed)]);
        // Two that go on have a place each.
        network.apply(Change { what: What::Link(wire), value: 1.0 });
        network.apply(Change { what: What::Host(b), value: 1.0 });
        let (third, fourth) = (flow(&mut network, "a", "b", 1e6), flow(&mut network, "a", "b", 1e6));
        network.cancel(fourth);
        assert!(network.remaining(third).is_some());
    }
}

#[test]
fn an_activity_that_is_cancelled_leaves_its_share_to_others() {
    let terms = Sharing { cross_traffic: 0.0, ..Sharing::CM02 };
    let mut network = Network::new(wire(r#"bandwidth="1MBps" latency="1ms""#), Terms::Shared(terms));
    let first = flow(&mut network, "a", "b", 1e9);
    flow(&mut network, "a", "b", 1e6);
    network.advance(secs(1.001));
    assert_eq!(network.remaining(first), Some(1e9 - 5e5));
    network.cancel(first);
    network.cancel(first);
    assert_eq!(network.remaining(first), None);
    let ended = ends(&mut network);
    assert_eq!(ended[0], (1.001, Outcome::Cancelled));
    assert!((ended[1].0 - 1.501).abs() < 1e-9, "{ended:?}");
}

#[test]
fn profiles_change_speeds_and_states_over_time() {
    let text = r#"<platform version="4.1">
        <trace id="slow" periodicity="10">2 0.5
            4 1</trace>
        <trace id="off" periodicity="0">3 0
            5 1</trace>
        <zone id="world" routing="Full">
        <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="wire" bandwidth="1MBps" latency="0"/>
        <route src="a" dst="b"><link_ctn id="wire"/></route></zone>
        <trace_connect kind="SPEED" trace="slow" element="a"/>
        <trace_connect kind="LINK_AVAIL" trace="off" element="wire"/></platform>"#;
    let platform = Arc::new(xml::parse("test.xml".as_ref(), text.as_bytes()).unwrap());
    let mut network = Network::new(platform, Terms::Shared(Sharing::CM02));
    let a = network.platform().host("a").unwrap();
    // 2 s at full speed, 2 at half, 8 at full, 2 at half (the profile repeats every ten seconds), and one more.
    network.start_execution(a, 13e9, 1);
    flow(&mut network, "a", "b", 10e6);
    let ended = ends(&mut network);
    assert_eq!(ended[1], (3.0, Outcome::Failed));
    assert!((ended[0].0 - 15.0).abs() < 1e-9, "{ended:?}");
}

#[test]
fn bandwidth_and_latency_change_under_way() {
    let terms = Sharing { cross_traffic: 0.0, ..Sharing::CM02 };
    let mut network = Network::new(wire(r#"bandwidth="10MBps" latency="10ms""#), Terms::Shared(terms));
    let wire = network.platform().link("wire").unwrap();
    flow(&mut network, "a", "b", 10e6);
    network.advance(secs(0.51));
    network.apply(Change { what: What::Bandwidth(wire), value: 1e6 });
    // Half of it at 10 MB/s, half at 1 MB/s.
    assert_close(&end_times(&mut network), &[5.51]);
    network.apply(Change { what: What::Latency(wire), value: 1.0 });
    let from = network.now().as_secs_f64();
    flow(&mut network, "a", "b", 1e6);
    assert_close(&end_times(&mut network), &[from + 2.0]);
}

#[test]
fn flows_go_on_when_their_latency_falls_to_nothing_and_are_held_back_when_it_is_there_again() {
    let terms = Sharing { cross_traffic: 0.0, ..Sharing::CM02 };
    let mut network = Network::new(wire(r#"bandwidth="10MBps" latency="10ms""#), Terms::Shared(terms));
    let wire = network.platform().link("wire").unwrap();
    let first = flow(&mut network, "a", "b", 1e9);
    network.advance(secs(0.51));
    network.apply(Change { what: What::Latency(wire), value: 0.0 });
    assert_eq!(network.rate(first), Some(10e6));
    // One that starts without latency shares with it in halves.
    let second = flow(&mut network, "a", "b", 1e9);
    assert_eq!((network.rate(first), network.rate(second)), (Some(5e6), Some(5e6)));
    network.cancel(second);
    // The window bounds it by the latency that there is now.
    for (latency, rate) in [(1.0, 4_194_304.0 / 2.0), (0.0, 10e6), (2.0, 4_194_304.0 / 4.0)] {
        network.apply(Change { what: What::Latency(wire), value: latency });
        assert_eq!(network.rate(first), Some(rate));
    }
}

#[test]
fn what_is_left_of_latencies_by_rounding_is_nothing() {
    let platform = platform(
        r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
           <link id="x" bandwidth="10MBps" latency="0.1"/><link id="y" bandwidth="10MBps" latency="0.7"/>
           <route src="a" dst="b"><link_ctn id="x"/><link_ctn id="y"/></route>"#,
    );
    let terms = Sharing { cross_traffic: 0.0, ..Sharing::CM02 };
    let mut network = Network::new(platform, Terms::Shared(terms));
    let before = flow(&mut network, "a", "b", 1e9);
    network.advance(secs(1.0));
    for link in ["x", "y"] {
        let link = network.platform().link(link).unwrap();
        network.apply(Change { what: What::Latency(link), value: 0.3 });
        network.apply(Change { what: What::Latency(link), value: 0.0 });
    }
    let after = flow(&mut network, "a", "b", 1e9);
    assert_eq!((network.rate(before), network.rate(after)), (Some(5e6), Some(5e6)));
}

#[test]
fn a_link_without_bandwidth_lets_nothing_through_until_it_has_some() {
    let terms = Sharing { cross_traffic: 0.0, ..Sharing::LV08 };
    let mut network = Network::new(wire(r#"bandwidth="1MBps""#), Terms::Shared(terms));
    let wire = network.platform().link("wire").unwrap();
    flow(&mut network, "a", "b", 0.97e6);
    network.advance(secs(0.5));
    network.apply(Change { what: What::Bandwidth(wire), value: 0.0 });
    assert_eq!(network.next_event(), None);
    network.advance(secs(7.0));
    network.apply(Change { what: What::Bandwidth(wire), value: 1e6 });
    assert_close(&end_times(&mut network), &[7.5]);
}

#[test]
fn many_alike_end_together() {
    let text = r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-99" speed="1Gf" bw="100MBps" lat="10us"
        bb_bw="1GBps" bb_lat="0"/></platform>"#;
    let platform = Arc::new(xml::parse("test.xml".as_ref(), text.as_bytes()).unwrap());
    let mut network = Network::new(platform, Terms::Shared(Sharing::LV08));
    for host in 0..50 {
        flow(&mut network, &format!("n{host}"), &format!("n{}", host + 50), 1e6);
    }
    let times = end_times(&mut network);
    assert!(times.iter().all(|time| time.to_bits() == times[0].to_bits()), "{times:?}");
    // Fifty share the backbone, each with its acknowledgements on it, which are merged into what it sends.
    let expected = 20e-6 * 13.01 + 50.0 * 1e6 * 1.05 / (0.97 * 1e9);
    assert!((times[0] / expected - 1.0).abs() < 1e-9, "{} is not {expected}", times[0]);
}
