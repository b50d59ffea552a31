//! `NewReno` grows and shrinks as RFC 5681 states.

use crate::controls::harness::{MSS, ack, window};
use parades_core::time::Time;
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, NewReno};

/// RFC 5681, section 3.1; RFC 3465, sections 2.1 and 2.2. By hand, from a window of 10 segments.
#[test]
fn reno_grows_by_acks_by_bytes_or_by_segments() {
    let grown = |parameters: NewReno, acked: u32, ssthresh: u32| {
        let mut window = window(10 * MSS, ssthresh);
        Algorithm::NewReno(parameters).start().on_ack(&ack(acked), &mut window);
        window.cwnd
    };
    // Slow start: 3 segments by one acknowledgement.
    assert_eq!(grown(NewReno::ns3(), 3, u32::MAX), 11_000);
    assert_eq!(grown(NewReno::rfc5681(), 3, u32::MAX), 11_000);
    assert_eq!(grown(NewReno::linux(), 3, u32::MAX), 13_000);
    // Congestion avoidance: an acknowledgement of 2 segments, and one of a whole window.
    assert_eq!(grown(NewReno::ns3(), 2, 5000), 10_000 + MSS * MSS / 10_000);
    assert_eq!(grown(NewReno::rfc5681(), 2, 5000), 10_000);
    assert_eq!(grown(NewReno::rfc5681(), 10, 5000), 11_000);
    assert_eq!(grown(NewReno::linux(), 10, 5000), 11_000);
    // Linux stops slow start at the threshold, and the remainder counts.
    assert_eq!(grown(NewReno::linux(), 9, 12_000), 12_000);
    assert_eq!(grown(NewReno::linux(), 14, 12_000), 13_000);
}

/// RFC 5681, equation 4: half the bytes in flight, at least two segments.
#[test]
fn reno_halves_the_bytes_in_flight() {
    let halved = |parameters: NewReno, in_flight: u32| {
        let mut window = window(20 * MSS, u32::MAX);
        Algorithm::NewReno(parameters).start().on_congestion(Congestion::Loss, Time::ZERO, in_flight, &mut window);
        window.ssthresh
    };
    assert_eq!(halved(NewReno::rfc5681(), 16 * MSS), 8 * MSS);
    assert_eq!(halved(NewReno::rfc5681(), MSS), 2 * MSS);
    assert_eq!(halved(NewReno::linux(), 16 * MSS), 10 * MSS);
}

/// RFC 7661 and RFC 5681: a window that is not used, or that the connection sets, does not grow.
#[test]
fn reno_rests_while_the_window_is_not_the_limit_or_a_recovery_runs() {
    let mut window = window(10 * MSS, u32::MAX);
    let mut control = Algorithm::NewReno(NewReno::ns3()).start();
    control.on_ack(&Ack { is_window_limited: false, ..ack(1) }, &mut window);
    control.on_ack(&Ack { is_recovering: true, ..ack(1) }, &mut window);
    assert_eq!(window.cwnd, 10 * MSS);
}
