//! DCTCP estimates the fraction of marks, and keeps queues short (RFC 8257).

use crate::controls::harness::{MSS, ack, window};
use crate::controls::path::{Path, Sender};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, Control, Dctcp, DctcpState};

fn start() -> DctcpState {
    Dctcp::rfc8257().start()
}

/// Acknowledges windows of 20 segments, of which the first `marked` are marked.
fn acknowledge(control: &mut DctcpState, windows: u64, marked: u64) {
    let mut window = window(20 * MSS, 20 * MSS);
    for number in 0..windows * 20 {
        let is_marked = number % 20 < marked;
        // The window ends at the acknowledgement of its last segment.
        let (unacked, next) = (number + 1, number / 20 * 20 + 20);
        let next = if unacked == next { next + 20 } else { next };
        control.on_ack(&Ack { is_marked, unacked, next, ..ack(1) }, &mut window);
    }
}

/// RFC 8257, section 3.3: alpha = (1 - g) alpha + g F, so after n windows it is F + (1 - F) (15/16)^n.
#[test]
fn the_estimate_converges_to_the_fraction_of_marks() {
    for (marked, fraction) in [(0, 0.0), (5, 0.25), (20, 1.0)] {
        for windows in [1, 10, 100] {
            let mut control = start();
            acknowledge(&mut control, windows, marked);
            let by_hand = fraction + (1.0 - fraction) * libm::pow(15.0 / 16.0, windows as f64);
            assert!((control.alpha() - by_hand).abs() < 1e-12, "{marked}, {windows}: {}", control.alpha());
        }
    }
}

/// RFC 8257, section 3.3, step 9, and section 3.4.
#[test]
fn a_mark_cuts_half_the_estimate_and_a_loss_cuts_half_the_window() {
    let mut control = start();
    acknowledge(&mut control, 200, 5);
    let mut after = |congestion| {
        let mut window = window(1000 * MSS, u32::MAX);
        control.on_congestion(congestion, Time::ZERO, 1000 * MSS, &mut window);
        window.ssthresh / MSS
    };
    assert_eq!(after(Congestion::Mark), 874);
    assert_eq!(after(Congestion::Loss), 500);
    assert_eq!(after(Congestion::Timeout), 500);
    // In ns-3, TcpDctcp::GetSsThresh is the same for marks and losses.
    let mut control = Dctcp { initial_alpha: 0.25, ..Dctcp::ns3() }.start();
    let mut window = window(1000 * MSS, u32::MAX);
    control.on_congestion(Congestion::Loss, Time::ZERO, 0, &mut window);
    assert_eq!(window.ssthresh, 875 * MSS);
}

/// Linux's `tcp_cong_avoid_ai`, which ns-3's `TcpLinuxReno` follows: a count from a larger window adds one
/// segment. Linux resets the count when it reduces the window; ns-3 does not.
#[test]
fn a_count_from_a_larger_window_adds_one_segment() {
    for (parameters, by_hand) in [(Dctcp::linux(), 10 * MSS), (Dctcp::ns3(), 11 * MSS)] {
        let mut control = parameters.start();
        let mut window = window(20 * MSS, 20 * MSS);
        control.on_ack(&Ack { next: 100, ..ack(19) }, &mut window);
        control.on_congestion(Congestion::Mark, Time::ZERO, 0, &mut window);
        window.cwnd = window.ssthresh;
        control.on_ack(&ack(1), &mut window);
        assert_eq!(window.cwnd, by_hand, "{parameters:?}");
    }
}

/// ns-3.37, TcpSocketBase::ProcessAck: an acknowledgement of nothing new counts as one segment.
#[test]
fn in_ns3_a_repeated_acknowledgement_counts_in_the_estimate() {
    let estimate = |parameters: Dctcp| {
        let mut control = Dctcp { initial_alpha: 0.0, ..parameters }.start();
        let mut window = window(20 * MSS, 20 * MSS);
        let marked = Ack { is_marked: true, next: 10, ..ack(1) };
        control.on_ack(&marked, &mut window);
        control.on_ack(&Ack { acked: 0, segments: 0, ..marked }, &mut window);
        control.on_ack(&Ack { acked: 0, segments: 0, ..marked }, &mut window);
        control.on_ack(&Ack { unacked: 10, ..ack(1) }, &mut window);
        control.alpha() * 16.0
    };
    assert!((estimate(Dctcp::rfc8257()) - 1.0 / 2.0).abs() < 1e-12);
    assert!((estimate(Dctcp::ns3()) - 3.0 / 4.0).abs() < 1e-12);
}

/// Alizadeh et al. 2010, section 3.3, for one flow: the queue swings between K + 1 and K + 1 - A, where
/// A = sqrt((C RTT + K) / 2). Here C RTT = 250 packets and K = 40, so A = 12.
#[test]
fn the_queue_swings_below_the_threshold_as_in_the_paper() {
    let path = Path {
        rtt: Delay::from_ms(1),
        rate_bps: Some(2_000_000_000),
        mark_from: Some(40),
        queue_max: Some(1000),
        ..Path::default()
    };
    let mut sender = Sender::start(Algorithm::Dctcp(Dctcp::rfc8257()), path);
    sender.run(Time::from_ms(500), |_| {});
    let (mut least, mut most) = (u64::MAX, 0);
    sender.run(Time::from_secs(1), |sender| {
        least = least.min(sender.queued());
        most = most.max(sender.queued());
    });
    assert!((41..=44).contains(&most), "{least}..{most}");
    assert!((24..=34).contains(&least), "{least}..{most}");
    // The amplitude in alpha: alpha = sqrt(2 / W) for W = 290 (section 3.3, equation 6, with small alpha).
    let Control::Dctcp(state) = &sender.control else { unreachable!("the sender runs DCTCP") };
    assert!((0.05..0.12).contains(&state.alpha()), "{}", state.alpha());
    assert_eq!(sender.losses, 0);
}
