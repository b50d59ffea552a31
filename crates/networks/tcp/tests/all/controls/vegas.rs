//! Vegas keeps a few segments in queues (Brakmo and Peterson, 1995).

use crate::controls::harness::{MSS, ack, window};
use crate::controls::path::{Path, Sender};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, Vegas};

/// Section 3.2: between alpha = 2 and beta = 4 segments more than the path holds.
#[test]
fn two_to_four_segments_wait_at_the_bottleneck() {
    for (rtt_ms, parameters) in [(100, Vegas::linux()), (20, Vegas::linux()), (100, Vegas::ns3())] {
        let path = Path { rtt: Delay::from_ms(rtt_ms), rate_bps: Some(8_000_000), ..Path::default() };
        let mut sender = Sender::start(Algorithm::Vegas(parameters), path);
        // Slow start leaves a queue of 260 segments, which then shrinks by one in each round trip of 0.2 s.
        sender.run(Time::from_secs(120), |_| {});
        // A packet takes 1 ms, and the one in transmission is no queue.
        let held = rtt_ms as f64 + 1.0;
        sender.run(Time::from_secs(150), |sender| {
            let queued = sender.segments() - held;
            assert!((1.0..=5.0).contains(&queued), "{parameters:?}: {queued}");
        });
        assert_eq!(sender.losses, 0);
    }
}

/// Section 3.3: slow start ends when more than gamma segments wait. The path of 8 Mbit/s and 100 ms holds 101
/// segments, so the round of 160 leaves a queue. The next cycle measures it, and meanwhile the window doubles
/// twice.
#[test]
fn slow_start_ends_when_a_cycle_has_measured_a_queue() {
    let path = Path { rtt: Delay::from_ms(100), rate_bps: Some(8_000_000), ..Path::default() };
    let mut sender = Sender::start(Algorithm::Vegas(Vegas::linux()), path);
    let mut most = 0.0_f64;
    sender.run(Time::from_secs(10), |sender| most = most.max(sender.segments()));
    assert!(sender.window.ssthresh < u32::MAX && (160.0..=640.0).contains(&most), "{most}");
}

/// By hand: base 100 ms, and 10 segments of which 10 (1 - 100 / rtt) wait.
#[test]
fn the_window_changes_by_one_segment_in_each_round_trip() {
    let after = |rtt_ms: u64| {
        let mut control = Vegas::linux().start();
        let mut window = window(10 * MSS, 5 * MSS);
        let at = |rtt_ms: u64, unacked: u64| {
            let rtt = Some(Delay::from_ms(rtt_ms));
            Ack { rtt, srtt: Delay::from_ms(rtt_ms), unacked, next: 10, ..ack(1) }
        };
        // The first acknowledgement starts the cycle, with a window that grows as in Reno.
        control.on_ack(&at(100, 0), &mut window);
        for unacked in 1..=10 {
            control.on_ack(&at(rtt_ms, unacked), &mut window);
        }
        window.cwnd / MSS
    };
    // 1, 3 and 6 segments wait.
    assert_eq!([after(105), after(140), after(240)], [11, 10, 9]);
}

/// Linux halves; ns-3.37's TcpVegas::GetSsThresh takes one segment.
#[test]
fn after_a_loss_the_window_grows_as_in_reno_until_the_recovery_ends() {
    let mut control = Vegas::linux().start();
    let mut window = window(19 * MSS, u32::MAX);
    control.on_ack(&Ack { next: 100, ..ack(1) }, &mut window);
    assert_eq!(window.cwnd, 20 * MSS);
    control.on_congestion(Congestion::Timeout, Time::ZERO, 20 * MSS, &mut window);
    assert_eq!(window.ssthresh, 10 * MSS);
    window.cwnd = MSS;
    control.on_ack(&Ack { unacked: 2, next: 100, ..ack(1) }, &mut window);
    control.on_ack(&Ack { unacked: 3, next: 100, ..ack(1) }, &mut window);
    assert_eq!(window.cwnd, 3 * MSS);
    let mut ns3 = Vegas::ns3().start();
    window.cwnd = 20 * MSS;
    window.ssthresh = u32::MAX;
    ns3.on_congestion(Congestion::Loss, Time::ZERO, 20 * MSS, &mut window);
    assert_eq!(window.ssthresh, 19 * MSS);
}

/// A recovery with few bytes in flight leaves a window below one segment, and a loss may follow.
#[test]
fn a_loss_at_a_window_below_a_segment_leaves_the_least_threshold() {
    for parameters in [Vegas::linux(), Vegas::ns3()] {
        let mut control = parameters.start();
        let mut window = window(MSS / 4, 5 * MSS);
        control.on_congestion(Congestion::Timeout, Time::ZERO, MSS / 4, &mut window);
        assert_eq!(window.ssthresh, 2 * MSS);
    }
}
