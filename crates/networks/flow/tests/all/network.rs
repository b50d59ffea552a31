//! Activities against dates computed by hand: latency, sharing, bounds, computations, changes and failures.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::time::Time;
use parades_flow::network::{ActivityId, Change, Execution, FluidNetwork, Outcome, Property, Transfer};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::platform::Platform;
use parades_flow::xml;
use std::sync::Arc;

fn platform(zone: &str) -> Arc<Platform> {
    let text = format!(r#"<platform version="4.1"><zone id="world" routing="Full">{zone}</zone></platform>"#);
    Arc::new(xml::parse("test.xml".as_ref(), text.as_bytes()).unwrap())
}

/// Returns a network under a max-min model.
fn max_min(platform: Arc<Platform>, model: MaxMinModel) -> FluidNetwork {
    FluidNetwork::new(platform, NetworkModel::MaxMin(model))
}

/// Two hosts, `a` with two cores and `b` with one, and the link `wire` between them.
fn wire(link: &str) -> Arc<Platform> {
    platform(&format!(
        r#"<host id="a" speed="1Gf" core="2"/><host id="b" speed="1Gf"/><link id="wire" {link}/>
           <route src="a" dst="b"><link_ctn id="wire"/></route>"#
    ))
}

fn secs(seconds: f64) -> Time {
    Time::try_from_secs_f64(seconds).unwrap()
}

fn flow(network: &mut FluidNetwork, source: &str, destination: &str, bytes: f64) -> ActivityId {
    let host = |name| network.platform().host(name).unwrap();
    let (source, destination) = (host(source), host(destination));
    network.start_flow(source, destination, bytes).unwrap()
}

/// Runs to the end. Returns the date and the outcome of each activity, in the order of the starts.
fn ends(network: &mut FluidNetwork) -> Vec<(f64, Outcome)> {
    network.advance(secs(network.now().as_secs_f64() + 1e5));
    let mut ended: Vec<_> = std::iter::from_fn(|| network.take_ended()).collect();
    ended.sort_by_key(|ended| ended.id.number());
    ended.into_iter().map(|ended| (ended.at.as_secs_f64(), ended.outcome)).collect()
}

/// Runs to the end. Returns the date of each activity's end, in the order of the starts; all must be
/// completed.
fn end_times(network: &mut FluidNetwork) -> Vec<f64> {
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
    for (model, expected) in [
        (MaxMinModel::CM02, 1e-4 + 1e9 / (125e6 / 1.05)),
        (MaxMinModel::LV08, 13.01e-4 + 1e9 / (0.97 * 125e6 / 1.05)),
        (MaxMinModel::LV08_NOCT, 13.01e-4 + 1e9 / (0.97 * 125e6)),
    ] {
        let mut network = max_min(Arc::clone(&wire), model);
        flow(&mut network, "a", "b", 1e9);
        assert_close(&end_times(&mut network), &[expected]);
    }
}

#[test]
fn on_a_route_of_high_latency_the_window_bounds_the_rate() {
    let mut network = max_min(wire(r#"bandwidth="1GBps" latency="100ms""#), MaxMinModel::CM02);
    flow(&mut network, "a", "b", 1e8);
    assert_close(&end_times(&mut network), &[0.1 + 1e8 / (4_194_304.0 / 0.2)]);
}

#[test]
fn flows_share_in_inverse_proportion_to_their_latencies() {
    // Both flows cross the same link. The second has twice the latency of the first.
    let platform = platform(
        r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
           <link id="shared" bandwidth="30MBps" latency="1ms"/><link id="extra" bandwidth="1GBps" latency="1ms"/>
           <route src="a" dst="c" symmetrical="NO"><link_ctn id="shared"/></route>
           <route src="b" dst="c" symmetrical="NO"><link_ctn id="shared"/><link_ctn id="extra"/></route>"#,
    );
    let mut network = max_min(platform, MaxMinModel::CM02);
    flow(&mut network, "a", "c", 20e6);
    flow(&mut network, "b", "c", 30e6);
    // The second flow begins a millisecond later. Then the rates are 20 and 10 MB/s until the first flow
    // ends.
    let first = 0.002 + (20e6 - 30e6 * 0.001) / 20e6;
    let second = first + (30e6 - 10e6 * (first - 0.002)) / 30e6;
    assert_close(&end_times(&mut network), &[first, second]);
}

#[test]
fn a_flow_without_bytes_takes_the_latency() {
    let mut network = max_min(wire(r#"bandwidth="1MBps" latency="5ms""#), MaxMinModel::CM02);
    flow(&mut network, "a", "b", 0.0);
    assert_close(&end_times(&mut network), &[0.005]);
}

#[test]
fn a_flow_from_a_host_to_itself_has_no_latency() {
    let mut network = max_min(wire(r#"bandwidth="1MBps" latency="5ms""#), MaxMinModel::CM02);
    flow(&mut network, "a", "a", 1e10);
    assert_close(&end_times(&mut network), &[1.0]);
}

#[test]
fn under_the_constant_model_all_flows_take_the_same_time() {
    let latency = parades_core::time::Delay::from_ms(7);
    let mut network = FluidNetwork::new(wire(r#"bandwidth="1Bps" latency="5s""#), NetworkModel::Constant(latency));
    flow(&mut network, "a", "b", 1e9);
    network.advance(secs(0.001));
    flow(&mut network, "b", "a", 1.0);
    assert_close(&end_times(&mut network), &[0.007, 0.008]);
}

#[test]
fn computations_share_the_cores_of_a_host() {
    let mut network = max_min(wire(r#"bandwidth="1MBps""#), MaxMinModel::LV08);
    let a = network.platform().host("a").unwrap();
    // The host has two cores of 1 Gf/s: each of two computations has a core.
    let first = network.start_execution(a, Execution::new(1e9));
    network.start_execution(a, Execution::new(2e9));
    assert_eq!(network.rate(first), Some(1e9));
    // Three computations share the two cores.
    network.advance(secs(0.5));
    network.start_execution(a, Execution::new(1e9));
    assert!((network.rate(first).unwrap() / (2e9 / 3.0) - 1.0).abs() < 1e-12);
    // The first ends after 0.5 s and then 0.5 Gf at 2/3 Gf/s. The other two continue at full speed.
    assert_close(&end_times(&mut network), &[1.25, 2.25, 1.75]);
}

#[test]
fn a_computation_on_two_cores_takes_half_the_time() {
    let mut network = max_min(wire(r#"bandwidth="1MBps""#), MaxMinModel::LV08);
    let a = network.platform().host("a").unwrap();
    network.start_execution(a, Execution { threads: 2, ..Execution::new(2e9) });
    assert_close(&end_times(&mut network), &[2.0]);
}

/// The dates are those of SimGrid 3.32 for the same executions (`exec_init`, `set_priority`, `set_bound`).
#[test]
fn computations_share_a_host_by_their_priorities_and_within_their_bounds() {
    let mut network =
        max_min(platform(r#"<host id="a" speed="1Gf"/><host id="c" speed="1Gf" core="2"/>"#), MaxMinModel::CM02);
    let (a, c) = (network.platform().host("a").unwrap(), network.platform().host("c").unwrap());
    network.start_execution(a, Execution::new(1e9));
    network.start_execution(a, Execution { priority: 2.0, ..Execution::new(1e9) });
    network.start_execution(a, Execution { bound: 1e8, ..Execution::new(1e9) });
    // On two cores: one at a time, then two with one of a greater priority.
    network.start_execution(c, Execution::new(1e9));
    network.advance(secs(0.25));
    network.start_execution(c, Execution { priority: 3.0, ..Execution::new(1e9) });
    network.advance(secs(0.5));
    network.start_execution(c, Execution::new(1e9));
    network.advance(secs(1.0));
    network.start_execution(c, Execution::new(1e9));
    assert_close(&end_times(&mut network), &[20.0 / 9.0, 5.0 / 3.0, 10.0, 1.5, 1.25, 2.0, 2.25]);
}

/// The dates are those of SimGrid 3.32.
#[test]
fn a_suspended_computation_makes_no_progress_and_a_changed_one_goes_on_at_its_new_rate() {
    let mut network = max_min(platform(r#"<host id="a" speed="1Gf,500Mf"/>"#), MaxMinModel::CM02);
    let a = network.platform().host("a").unwrap();
    let first = network.start_execution(a, Execution::new(1e9));
    network.start_execution(a, Execution::new(2e9));
    network.advance(secs(0.25));
    network.suspend(first);
    assert_eq!((network.remaining(first), network.rate(first)), (Some(8.75e8), Some(0.0)));
    network.suspend(first);
    network.advance(secs(1.25));
    network.resume(first);
    network.resume(first);
    assert_close(&end_times(&mut network), &[3.0, 3.0]);

    let start = network.now().as_secs_f64();
    let slow = network.start_execution(a, Execution::new(1e9));
    let suspended = network.start_execution(a, Execution::new(1e8));
    network.suspend(suspended);
    network.advance(secs(start + 0.5));
    network.apply(Change { property: Property::PowerState(a), value: 1.0 });
    network.advance(secs(start + 1.0));
    assert_eq!(network.remaining(slow), Some(2.5e8));
    // It is bounded by 50 Mf/s, then gets all but the seventh part of 500 Mf/s.
    network.set_limit(slow, 5e7);
    network.advance(secs(start + 2.0));
    network.set_limit(slow, f64::INFINITY);
    network.set_priority(slow, 6.0);
    network.resume(suspended);
    let both = 6.0 / 7.0 * 5e8;
    assert_close(&end_times(&mut network), &[start + 2.0 + 2e8 / both, start + 2.0 + 3e8 / 5e8]);
}

/// The dates are those of SimGrid 3.32.
#[test]
fn a_suspended_flow_keeps_what_is_left_of_its_latency_and_of_its_bytes() {
    let mut network =
        max_min(wire(r#"bandwidth="10MBps" latency="1ms""#), MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
    let first = flow(&mut network, "a", "b", 1e7);
    network.advance(secs(0.5));
    network.suspend(first);
    network.advance(secs(2.5));
    network.resume(first);
    assert_close(&end_times(&mut network), &[3.001]);
    let start = network.now().as_secs_f64();
    let second = flow(&mut network, "a", "b", 1e7);
    network.advance(secs(start + 0.0004));
    network.suspend(second);
    network.advance(secs(start + 1.0));
    network.resume(second);
    assert_close(&end_times(&mut network), &[start + 2.0006]);
}

/// The dates are those of SimGrid 3.32.
#[test]
fn reads_and_writes_share_a_disk() {
    let disk = r#"<host id="a" speed="1Gf"><disk id="d" read_bw="100MBps" write_bw="40MBps"/></host>"#;
    let mut network = max_min(platform(disk), MaxMinModel::CM02);
    let a = network.platform().host("a").unwrap();
    let disk = network.platform().disk(a, "d").unwrap();
    network.start_disk(disk, Transfer::Read, 1e8);
    network.start_disk(disk, Transfer::Write, 2e7);
    network.advance(secs(0.1));
    network.start_disk(disk, Transfer::Write, 2e7);
    assert_close(&end_times(&mut network), &[1.4, 0.9, 1.0]);
    network.start_disk(disk, Transfer::Write, 1e9);
    network.advance(secs(network.now().as_secs_f64() + 1.0));
    network.apply(Change { property: Property::HostState(a), value: 0.0 });
    network.start_disk(disk, Transfer::Read, 1.0);
    assert_eq!(ends(&mut network).iter().map(|end| end.1).collect::<Vec<_>>(), [Outcome::Failed; 2]);
}

#[test]
fn flows_on_a_failed_link_fail_and_so_do_flows_that_start_on_it() {
    let mut network = max_min(wire(r#"bandwidth="1MBps" latency="1ms""#), MaxMinModel::CM02);
    let wire = network.platform().link("wire").unwrap();
    flow(&mut network, "a", "b", 1e7);
    network.advance(secs(2.0));
    network.apply(Change { property: Property::LinkState(wire), value: 0.0 });
    flow(&mut network, "a", "b", 1.0);
    network.advance(secs(3.0));
    network.apply(Change { property: Property::LinkState(wire), value: 1.0 });
    flow(&mut network, "a", "b", 1e6);
    let ended = ends(&mut network);
    assert_eq!(ended[..2], [(2.0, Outcome::Failed), (2.0, Outcome::Failed)]);
    assert!((ended[2].0 - 4.051).abs() < 1e-9 && ended[2].1 == Outcome::Done, "{ended:?}");
    assert_eq!(network.active(), 0);
}

#[test]
fn computations_on_a_failed_host_fail_and_so_do_those_that_start_on_it() {
    let mut network = max_min(wire(r#"bandwidth="1MBps""#), MaxMinModel::CM02);
    let (a, b) = (network.platform().host("a").unwrap(), network.platform().host("b").unwrap());
    network.start_execution(a, Execution::new(1e12));
    network.start_execution(b, Execution::new(3e9));
    network.advance(secs(1.0));
    network.apply(Change { property: Property::HostState(a), value: 0.0 });
    network.start_execution(a, Execution::new(1.0));
    assert_eq!(ends(&mut network), [(1.0, Outcome::Failed), (3.0, Outcome::Done), (1.0, Outcome::Failed)]);
}

#[test]
fn a_flow_on_a_failed_link_to_a_failed_host_ends_once() {
    for model in
        [NetworkModel::MaxMin(MaxMinModel::CM02), NetworkModel::Constant(parades_core::time::Delay::from_ms(1))]
    {
        let mut network = FluidNetwork::new(wire(r#"bandwidth="1MBps" latency="1ms""#), model);
        let (wire, b) = (network.platform().link("wire").unwrap(), network.platform().host("b").unwrap());
        network.apply(Change { property: Property::LinkState(wire), value: 0.0 });
        network.apply(Change { property: Property::HostState(b), value: 0.0 });
        let first = flow(&mut network, "a", "b", 1.0);
        let second = flow(&mut network, "b", "a", 1.0);
        assert_eq!(network.active(), 0);
        let ended: Vec<_> =
            std::iter::from_fn(|| network.take_ended()).map(|ended| (ended.id, ended.outcome)).collect();
        assert_eq!(ended, [(first, Outcome::Failed), (second, Outcome::Failed)]);
        // Had a flow ended twice, its slot would be free twice, and these two flows would share it.
        network.apply(Change { property: Property::LinkState(wire), value: 1.0 });
        network.apply(Change { property: Property::HostState(b), value: 1.0 });
        let (third, fourth) = (flow(&mut network, "a", "b", 1e6), flow(&mut network, "a", "b", 1e6));
        network.cancel(fourth);
        assert!(network.remaining(third).is_some());
    }
}

#[test]
fn a_cancelled_activity_leaves_its_share_to_the_others() {
    let model = MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 };
    let mut network = max_min(wire(r#"bandwidth="1MBps" latency="1ms""#), model);
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
    let mut network = max_min(platform, MaxMinModel::CM02);
    let a = network.platform().host("a").unwrap();
    // The profile repeats every ten seconds. So the computation runs 2 s at full speed, 2 s at half speed, 8
    // s at full speed, 2 s at half speed, and 1 s at full speed.
    network.start_execution(a, Execution::new(13e9));
    flow(&mut network, "a", "b", 10e6);
    let ended = ends(&mut network);
    assert_eq!(ended[1], (3.0, Outcome::Failed));
    assert!((ended[0].0 - 15.0).abs() < 1e-9, "{ended:?}");
}

#[test]
fn bandwidth_and_latency_change_while_flows_are_active() {
    let model = MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 };
    let mut network = max_min(wire(r#"bandwidth="10MBps" latency="10ms""#), model);
    let wire = network.platform().link("wire").unwrap();
    flow(&mut network, "a", "b", 10e6);
    network.advance(secs(0.51));
    network.apply(Change { property: Property::Bandwidth(wire), value: 1e6 });
    // Half of the bytes are sent at 10 MB/s, the other half at 1 MB/s.
    assert_close(&end_times(&mut network), &[5.51]);
    network.apply(Change { property: Property::Latency(wire), value: 1.0 });
    let from = network.now().as_secs_f64();
    flow(&mut network, "a", "b", 1e6);
    assert_close(&end_times(&mut network), &[from + 2.0]);
}

#[test]
fn flows_continue_when_their_latency_falls_to_zero_and_are_bounded_again_when_it_returns() {
    let model = MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 };
    let mut network = max_min(wire(r#"bandwidth="10MBps" latency="10ms""#), model);
    let wire = network.platform().link("wire").unwrap();
    let first = flow(&mut network, "a", "b", 1e9);
    network.advance(secs(0.51));
    network.apply(Change { property: Property::Latency(wire), value: 0.0 });
    assert_eq!(network.rate(first), Some(10e6));
    // A flow that starts without latency gets the same share.
    let second = flow(&mut network, "a", "b", 1e9);
    assert_eq!((network.rate(first), network.rate(second)), (Some(5e6), Some(5e6)));
    network.cancel(second);
    // The bound by the window depends on the present latency.
    for (latency, rate) in [(1.0, 4_194_304.0 / 2.0), (0.0, 10e6), (2.0, 4_194_304.0 / 4.0)] {
        network.apply(Change { property: Property::Latency(wire), value: latency });
        assert_eq!(network.rate(first), Some(rate));
    }
}

#[test]
fn a_copy_of_a_network_is_equal_until_one_of_them_changes() {
    let mut network = max_min(wire(r#"bandwidth="10MBps" latency="0""#), MaxMinModel::CM02);
    let first = flow(&mut network, "a", "b", 1e9);
    network.advance(secs(1.0));
    let mut copy = network.clone();
    assert!(copy == network, "a copy has working memory of its own, which is not compared");
    let second = flow(&mut network, "a", "b", 1e9);
    assert!(copy != network, "one has a flow more");
    assert_eq!((flow(&mut copy, "a", "b", 1e9), copy.rate(second)), (second, network.rate(second)));
    assert!(copy == network, "both have the same flows again");
    network.cancel(first);
    assert!(copy != network, "one has a flow less");
}

#[test]
fn a_rounding_error_of_changed_latencies_counts_as_zero() {
    let platform = platform(
        r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
           <link id="x" bandwidth="10MBps" latency="0.1"/><link id="y" bandwidth="10MBps" latency="0.7"/>
           <route src="a" dst="b"><link_ctn id="x"/><link_ctn id="y"/></route>"#,
    );
    let model = MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 };
    let mut network = max_min(platform, model);
    let before = flow(&mut network, "a", "b", 1e9);
    network.advance(secs(1.0));
    for link in ["x", "y"] {
        let link = network.platform().link(link).unwrap();
        network.apply(Change { property: Property::Latency(link), value: 0.3 });
        network.apply(Change { property: Property::Latency(link), value: 0.0 });
    }
    let after = flow(&mut network, "a", "b", 1e9);
    assert_eq!((network.rate(before), network.rate(after)), (Some(5e6), Some(5e6)));
}

#[test]
fn flows_stop_on_a_link_without_bandwidth_and_continue_when_it_returns() {
    let model = MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::LV08 };
    let mut network = max_min(wire(r#"bandwidth="1MBps""#), model);
    let wire = network.platform().link("wire").unwrap();
    flow(&mut network, "a", "b", 0.97e6);
    network.advance(secs(0.5));
    network.apply(Change { property: Property::Bandwidth(wire), value: 0.0 });
    assert_eq!(network.next_event(), None);
    network.advance(secs(7.0));
    network.apply(Change { property: Property::Bandwidth(wire), value: 1e6 });
    assert_close(&end_times(&mut network), &[7.5]);
}

#[test]
fn equal_flows_end_at_exactly_the_same_time() {
    let text = r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-99" speed="1Gf" bw="100MBps" lat="10us"
        bb_bw="1GBps" bb_lat="0"/></platform>"#;
    let platform = Arc::new(xml::parse("test.xml".as_ref(), text.as_bytes()).unwrap());
    let mut network = max_min(platform, MaxMinModel::LV08);
    for host in 0..50 {
        flow(&mut network, &format!("n{host}"), &format!("n{}", host + 50), 1e6);
    }
    let times = end_times(&mut network);
    assert!(times.iter().all(|time| time.to_bits() == times[0].to_bits()), "{times:?}");
    // Fifty flows share the backbone. Each also has its acknowledgements there, so its weight is 1.05.
    let expected = 20e-6 * 13.01 + 50.0 * 1e6 * 1.05 / (0.97 * 1e9);
    assert!((times[0] / expected - 1.0).abs() < 1e-9, "{} is not {expected}", times[0]);
}
