//! Transfers over a dumbbell whose times follow from arithmetic.

use crate::harness::{self, Dumbbell, Outcome};
use parades_tcp::settings::Settings;
use parades_tcp::{Connection, State};

fn ns3() -> Settings {
    Settings { mss: 1448, send_buffer: 4_000_000, receive_buffer: 4_000_000, ..Settings::ns3() }
}

fn completion_us(outcome: &Outcome) -> f64 {
    outcome.flows[0].completion.expect("the flow is complete").as_secs_f64() * 1e6
}

#[test]
fn a_transfer_of_one_segment_takes_two_round_trips_with_their_serialisations() {
    // SYN and SYN-ACK: 58 bytes with PPP and IPv4. Two access links (4.64 us), the bottleneck (46.4 us), and
    // 22 ms of propagation, twice: 44,111.36 us. The last acknowledgement (54 bytes, 4.32 us) leaves first,
    // then 1,054 bytes: 84.32 us twice, 843.2 us, and 22 ms.
    let outcome = harness::run(&Dumbbell::of(1000), &ns3());
    assert!((completion_us(&outcome) - 67_127.52).abs() < 1e-6, "{}", completion_us(&outcome));
}

#[test]
fn an_initial_window_arrives_at_the_rate_of_the_bottleneck() {
    // As above with 1,502 bytes: 67,557.6 us. Nine more segments follow, 1,201.6 us each.
    let outcome = harness::run(&Dumbbell::of(14_480), &ns3());
    assert!((completion_us(&outcome) - 78_372.0).abs() < 1e-6, "{}", completion_us(&outcome));
}

#[test]
fn the_slow_start_of_a_transfer_of_100_kilobytes_agrees_with_ns3() {
    let outcome = harness::run(&Dumbbell::of(100_000), &ns3());
    assert!((completion_us(&outcome) - 231_687.04).abs() < 1e-6, "{}", completion_us(&outcome));
}

#[test]
fn every_byte_arrives_through_a_short_queue_in_both_profiles() {
    for settings in [ns3(), Settings::linux(), Settings { sack: false, ..Settings::linux() }] {
        let outcome = harness::run(&Dumbbell { queue: 10, ..Dumbbell::of(3_000_000) }, &settings);
        assert_eq!(outcome.flows[0].received, 3_000_000);
        let client: &Connection = &outcome.clients[0];
        assert!(client.counts().retransmissions() >= outcome.drops, "{:?}", client.counts());
        assert!(outcome.drops > 0);
        assert_eq!(client.state(), State::FinWait1);
    }
}
