//! BBR finds the bottleneck's rate and the round trip (draft-cardwell-iccrg-bbr-congestion-control-00).

use crate::controls::harness::{MSS, ack, window};
use crate::controls::path::{Path, Sender};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Algorithm, Bbr, BbrMode, BbrState, Congestion, CongestionControl, Control};

/// A path of 8 Mbit/s, on which a packet takes 1 ms. An idle path holds 41 packets.
const PATH: Path = Path {
    rtt: Delay::from_ms(40),
    rate_bps: Some(8_000_000),
    queue_max: Some(1000),
    lose_every: None,
    mark_from: None,
};

fn start(path: Path) -> Sender {
    Sender::start(Algorithm::Bbr(Bbr::draft00()), path)
}

fn state(sender: &Sender) -> &BbrState {
    match &sender.control {
        Control::Bbr(state) => state,
        other => unreachable!("the sender runs BBR, not {other:?}"),
    }
}

fn is_probe_bw(sender: &Sender) -> bool {
    matches!(state(sender).mode(), BbrMode::ProbeBw { .. })
}

/// Sections 4.3.2 and 4.3.3: the pipe is full after log2(41 / 10) = 2 doublings and three rounds without
/// growth. Startup fills up to 2.89 times the path and three send quanta of two segments (section 4.2.3.2).
/// Drain leaves the quanta.
#[test]
fn startup_and_drain_end_with_an_empty_queue_and_a_full_pipe() {
    let mut sender = start(PATH);
    let mut most = 0;
    while !is_probe_bw(&sender) {
        assert!(sender.step(Time::from_secs(2)), "{:?}", sender.control);
        most = most.max(sender.in_flight());
    }
    assert!((100..=125).contains(&most), "{most}");
    assert!(sender.in_flight() <= 41 + 6, "{}", sender.in_flight());
    assert_eq!(sender.losses, 0);
}

/// Section 4.1: BtlBw and RTprop. The 2017 paper, figure 1: one bandwidth-delay product in flight,
/// and at most three send quanta more.
#[test]
fn the_model_is_the_path_and_one_product_is_in_flight() {
    let mut sender = start(PATH);
    sender.run(Time::from_secs(3), |_| {});
    let (mut events, mut packets) = (0_u64, 0_u64);
    sender.run(Time::from_secs(9), |sender| {
        assert!(is_probe_bw(sender));
        (events, packets) = (events + 1, packets + u64::from(sender.in_flight()));
    });
    let bandwidth = state(&sender).bandwidth_bps() as f64;
    assert!((bandwidth / 8e6 - 1.0).abs() < 0.02, "{bandwidth}");
    assert_eq!(state(&sender).rtprop(), Some(Delay::from_ms(41)));
    let mean = packets as f64 / events as f64;
    assert!((41.0..=49.0).contains(&mean), "{mean}");
}

/// Section 4.3.4.2: gains of 5/4, 3/4, and six of 1, each for about a round trip.
#[test]
fn the_gain_cycle_probes_then_drains_then_cruises() {
    let mut sender = start(PATH);
    sender.run(Time::from_secs(3), |_| {});
    let mut phases: Vec<(usize, Time, f64)> = Vec::new();
    sender.run(Time::from_secs(5), |sender| {
        let BbrMode::ProbeBw { phase, since } = state(sender).mode() else { return };
        let gain = sender.window.pacing_bps.unwrap_or(0) as f64 / state(sender).bandwidth_bps() as f64;
        if phases.last().is_none_or(|last| last.1 != since) {
            phases.push((phase, since, gain));
        }
    });
    assert!(phases.len() > 40, "{}", phases.len());
    for pair in phases.windows(2) {
        let [(phase, since, gain), (next, end, _)] = [pair[0], pair[1]];
        assert_eq!(next, (phase + 1) % 8);
        let by_draft = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][phase];
        assert!((gain - by_draft).abs() < 0.01, "{phase}: {gain}");
        let (least, most) = if phase == 1 { (0.0, 43.0) } else { (40.0, 60.0) };
        let length = end.since(since).as_secs_f64() * 1e3;
        assert!(length > least && length < most, "{phase}: {length} ms");
    }
}

/// Section 4.3.5: the last round trip of an empty path is that of Startup. Ten seconds later, at most four
/// packets are in flight for 200 ms and a round trip.
#[test]
fn the_round_trip_is_probed_after_ten_seconds() {
    for (rtt_ms, rtprop_ms) in [(40, 41), (60, 61)] {
        let mut sender = start(PATH);
        sender.run(Time::from_secs(3), |_| {});
        // A longer path shows only when the round trip is probed.
        sender.lengthen(Delay::from_ms(rtt_ms));
        let (mut entered, mut left, mut least) = (None, None, u32::MAX);
        sender.run(Time::from_secs(15), |sender| match state(sender).mode() {
            BbrMode::ProbeRtt { .. } => {
                entered = entered.or(Some(sender.now.as_secs_f64()));
                least = least.min(sender.in_flight());
            }
            _ if entered.is_some() => left = left.or(Some(sender.now.as_secs_f64())),
            _ => {}
        });
        let (Some(entered), Some(left)) = (entered, left) else { panic!("ProbeRTT: {entered:?} to {left:?}") };
        assert!((10.0..10.3).contains(&entered), "{entered}");
        assert!((0.2..0.4).contains(&(left - entered)), "{entered}..{left}");
        assert!((1..=4).contains(&least), "{least}");
        assert!(is_probe_bw(&sender));
        assert_eq!(state(&sender).rtprop(), Some(Delay::from_ms(rtprop_ms)));
        let bandwidth = state(&sender).bandwidth_bps() as f64;
        assert!((bandwidth / 8e6 - 1.0).abs() < 0.05, "{bandwidth}");
    }
}

/// On a short path ProbeRTT lasts for more rounds than the filter of the bandwidth. Its low rates must not
/// count (section 4.3.5, `C.app_limited`).
#[test]
fn low_rates_of_probe_rtt_do_not_count() {
    let mut sender = start(Path { rtt: Delay::from_ms(9), ..PATH });
    sender.run(Time::from_secs(3), |_| {});
    sender.lengthen(Delay::from_ms(14));
    let mut has_probed = false;
    sender.run(Time::from_secs(20), |sender| {
        has_probed |= matches!(state(sender).mode(), BbrMode::ProbeRtt { .. });
        let bandwidth = state(sender).bandwidth_bps() as f64;
        assert!(bandwidth > 0.9 * 8e6, "{}: {bandwidth}", sender.now);
    });
    assert!(has_probed);
}

/// The 2017 paper, figure 8: a loss of 1 % costs BBR no throughput. Reno would have a mean window of 12 (RFC
/// 9438, Table 1), a third of the path.
#[test]
fn random_loss_costs_no_throughput() {
    let delivered = |lose_every| {
        let mut sender = start(Path { lose_every, ..PATH });
        sender.run(Time::from_secs(20), |_| {});
        sender.delivered as f64
    };
    let share = delivered(Some(100)) / delivered(None);
    assert!(share > 0.95, "{share}");
}

/// Section 4.2.3.4: after a loss the packets in flight and one more, after a timeout one, and then the window
/// of before.
#[test]
fn recovery_conserves_packets_and_restores_the_window() {
    let mut control = Bbr::draft00().start();
    let mut window = window(50 * MSS, u32::MAX);
    control.on_start(Time::ZERO, &mut window);
    control.on_congestion(Congestion::Mark, Time::ZERO, 30 * MSS, &mut window);
    assert_eq!(window.cwnd, 50 * MSS);
    control.on_congestion(Congestion::Loss, Time::ZERO, 30 * MSS, &mut window);
    assert_eq!(window.cwnd, 31 * MSS);
    // The acknowledgement that revealed the loss, and a later one that reveals three more lost segments.
    let recovering = |in_flight: u32, lost: u32| {
        let mut ack = ack(1);
        (ack.in_flight, ack.lost, ack.is_recovering) = (in_flight * MSS, lost * MSS, true);
        ack
    };
    control.on_ack(&recovering(25, 5), &mut window);
    assert_eq!(window.cwnd, 26 * MSS);
    control.on_ack(&recovering(21, 3), &mut window);
    assert_eq!(window.cwnd, 23 * MSS);
    control.on_recovered(Time::ZERO, &mut window);
    assert_eq!(window.cwnd, 50 * MSS);
    control.on_congestion(Congestion::Timeout, Time::ZERO, 0, &mut window);
    assert_eq!(window.cwnd, MSS);
    assert!(control.owns_recovery() && control.needs_rates() && control.needs_pacing());
}

/// Section 4.2.1: before the first round trip, high_gain times the initial window in a millisecond.
#[test]
fn the_first_rate_assumes_a_millisecond() {
    let sender = start(PATH);
    let bps = sender.window.pacing_bps.unwrap_or(0) as f64;
    assert!((bps / (2.885 * 10.0 * 8.0 * 1000.0 / 1e-3) - 1.0).abs() < 1e-3, "{bps}");
}
