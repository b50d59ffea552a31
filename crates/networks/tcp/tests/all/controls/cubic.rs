//! `CUBIC` follows the curves of RFC 9438.

use crate::controls::harness::{MSS, ack, window};
use crate::controls::path::{Path, Sender};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, Cubic, Window};

const BETA: f64 = 0.7;
const C: f64 = 0.4;

fn cubic() -> Algorithm {
    Algorithm::Cubic(Cubic { has_fast_convergence: false, ..Cubic::rfc9438() })
}

/// RFC 9438, equations 1 and 2. In each round trip the window grows towards W(t + RTT). It closes 1 - 1/e of
/// the gap, because each acknowledgement closes one part in `cwnd` of it, so it lies above W(t - RTT).
#[test]
fn between_two_losses_the_window_lies_on_the_cubic_curve() {
    let rtt = Delay::from_ms(100);
    let mut sender = Sender::start(cubic(), Path { rtt, lose_every: Some(100_000), ..Path::default() });
    while sender.losses < 20 && sender.step(Time::MAX) {}
    let w_max = f64::from(sender.window.ssthresh) / f64::from(MSS) / BETA;
    let k = libm::cbrt(w_max * (1.0 - BETA) / C);
    // The epoch starts at the first acknowledgement after the recovery.
    while sender.is_recovering && sender.step(Time::MAX) {}
    let start = sender.now;
    let curve = |seconds: f64| C * (seconds - k).powi(3) + w_max;
    let mut compared = 0;
    while sender.losses == 20 && sender.step(Time::MAX) {
        let seconds = sender.now.since(start).as_secs_f64();
        let (low, high) = (curve(seconds - 0.1), curve(seconds + 0.1));
        if seconds > 0.1 && sender.losses == 20 {
            assert!(sender.segments() > low && sender.segments() < high, "{seconds}: {low} {high}");
            compared += 1;
        }
    }
    assert!(compared > 90_000 && k > 5.0, "{compared} points, K = {k}");
}

/// Returns the window after a loss at `segments`, where the connection has set it to `ssthresh`.
fn lose(control: &mut impl CongestionControl, segments: u32) -> Window {
    let mut window = window(segments * MSS, segments * MSS);
    control.on_congestion(Congestion::Loss, Time::ZERO, segments * MSS, &mut window);
    window.cwnd = window.ssthresh;
    window
}

/// RFC 9438, section 4.3: alpha = 3 (1 - beta) / (1 + beta) = 9 / 17 segments in a round trip up to the
/// window before the loss, and then 1.
#[test]
fn on_a_short_path_the_window_grows_as_aimd_with_the_same_mean() {
    let mut control = cubic().start();
    let mut window = lose(&mut control, 100);
    let (mut w_est, mut acks) = (70.0, 0);
    while w_est < 110.0 {
        let alpha = if w_est < 100.0 { 9.0 / 17.0 } else { 1.0 };
        w_est += alpha / (f64::from(window.cwnd) / f64::from(MSS));
        // 100,000 acknowledgements in a second.
        let now = Time::from_ps(acks * 10_000_000);
        control.on_ack(&Ack { now, srtt: Delay::from_us(700), ..ack(1) }, &mut window);
        assert!((f64::from(window.cwnd) / f64::from(MSS) - w_est).abs() < 0.01, "{w_est}, {window:?}");
        acks += 1;
    }
    // By hand: 30 segments at 9/17 in each round trip of 70 to 100 acknowledgements, then 10 at 1.
    assert!((5_750..5_950).contains(&acks), "{acks}");
}

/// RFC 9438, section 4.4: at most half a segment for each acknowledged one.
#[test]
fn the_window_grows_by_at_most_half_in_a_round_trip() {
    let mut control = cubic().start();
    let mut window = lose(&mut control, 100);
    control.on_ack(&ack(1), &mut window);
    // After ten minutes the curve is thousands of times above the window.
    let now = Time::from_secs(600);
    control.on_ack(&Ack { now, ..ack(1) }, &mut window);
    control.on_ack(&Ack { now, ..ack(1) }, &mut window);
    assert!((70_000 + 1_000..=70_000 + 1_014).contains(&window.cwnd), "{window:?}");
}

/// RFC 5681, section 4.1: after an idle period the window restarts. It then grows back, without a jump to the
/// curve or to the window of a Reno flow.
#[test]
fn after_a_restart_the_window_grows_without_a_jump() {
    let mut control = cubic().start();
    let mut window = lose(&mut control, 100);
    for _ in 0..5_000 {
        control.on_ack(&ack(1), &mut window);
    }
    assert!(window.cwnd > 90 * MSS, "{window:?}");
    (window.cwnd, window.ssthresh) = (10 * MSS, 10 * MSS);
    control.on_ack(&ack(1), &mut window);
    assert!((10 * MSS..=10 * MSS + MSS / 2).contains(&window.cwnd), "{window:?}");
}

/// RFC 9438, section 4.7: W_max = cwnd (1 + beta) / 2, so K = cbrt((85 - 70) / 0.4) = 3.347 s.
#[test]
fn fast_convergence_lowers_the_plateau() {
    for (has_fast_convergence, plateau) in [(true, 85.0), (false, 100.0)] {
        let parameters = Cubic { has_fast_convergence, ..Cubic::rfc9438() };
        let mut control = Algorithm::Cubic(parameters).start();
        lose(&mut control, 200);
        let mut window = lose(&mut control, 100);
        let k = libm::cbrt((plateau - 70.0) / C);
        // So few acknowledgements that Reno's window, which grows by 7 segments, stays below.
        for step in 0..1_000 {
            let now = Time::from_secs_f64(f64::from(step) * k / 1_000.0);
            control.on_ack(&Ack { now, ..ack(1) }, &mut window);
        }
        let reached = f64::from(window.cwnd) / f64::from(MSS);
        assert!((reached - plateau).abs() < 0.2, "{has_fast_convergence}: {reached}");
    }
}

/// RFC 9438, section 4.8: after a timeout the plateau is the window at the start of congestion avoidance.
#[test]
fn after_a_timeout_the_curve_starts_at_its_plateau() {
    let mut control = cubic().start();
    let mut window = window(1000 * MSS, u32::MAX);
    control.on_congestion(Congestion::Timeout, Time::ZERO, 0, &mut window);
    assert_eq!(window.ssthresh, 700 * MSS);
    window.cwnd = 700 * MSS;
    control.on_ack(&ack(1), &mut window);
    let now = Time::from_secs(4);
    let before = window.cwnd;
    control.on_ack(&Ack { now, ..ack(1) }, &mut window);
    // W(3 s) = 0.4 * 27 + 700: of the 10.8 segments above, an acknowledgement adds one part in 700.
    let added = f64::from(window.cwnd - before);
    assert!((added - 10_800.0 / 700.0).abs() < 2.0, "{added}");
}

/// RFC 9438, section 5.8: time in which the application limits the window does not count.
#[test]
fn time_limited_by_the_application_is_no_part_of_the_epoch() {
    let grown_after = |pause: bool| {
        let mut control = cubic().start();
        let mut window = lose(&mut control, 1000);
        let shift = if pause { 100 } else { 0 };
        let at = |seconds: u64| Ack { now: Time::from_secs(seconds), ..ack(1) };
        control.on_ack(&at(0), &mut window);
        control.on_ack(&at(1), &mut window);
        if pause {
            control.on_ack(&Ack { is_window_limited: false, ..at(61) }, &mut window);
            control.on_idle_end(Time::from_secs(101), &mut window);
        }
        control.on_ack(&at(2 + shift), &mut window);
        window.cwnd
    };
    assert_eq!(grown_after(true), grown_after(false));
}

/// RFC 9438, section 4.9.
#[test]
fn undoing_a_spurious_loss_restores_the_curve() {
    let rtt = Delay::from_ms(100);
    let start = || {
        let mut sender = Sender::start(cubic(), Path { rtt, lose_every: Some(10_000), ..Path::default() });
        while sender.losses < 3 && sender.step(Time::MAX) {}
        sender.run(sender.now.saturating_add(Delay::from_secs(2)), |_| {});
        sender
    };
    let (mut calm, mut disturbed) = (start(), start());
    for congestion in [Congestion::Loss, Congestion::Timeout] {
        let window = disturbed.window;
        disturbed.control.on_congestion(congestion, disturbed.now, window.cwnd, &mut disturbed.window);
        assert_ne!(disturbed.window, window);
        disturbed.window = window;
        disturbed.control.on_undo(disturbed.now, &mut disturbed.window);
    }
    let end = calm.now.saturating_add(Delay::from_secs(1));
    calm.run(end, |_| {});
    disturbed.run(end, |_| {});
    assert_eq!((calm.window, calm.losses), (disturbed.window, disturbed.losses));
}

/// ns-3.37, TcpCubic::Update: whole segments; before the first loss one segment for each 20.
#[test]
fn as_in_ns3_the_window_grows_by_whole_segments() {
    let mut control = Algorithm::Cubic(Cubic::ns3()).start();
    let mut window = window(30 * MSS, 30 * MSS);
    let srtt = Delay::from_ms(100);
    for _ in 0..19 {
        control.on_ack(&Ack { srtt, ..ack(1) }, &mut window);
    }
    assert_eq!(window.cwnd, 30 * MSS);
    control.on_ack(&Ack { srtt, ..ack(1) }, &mut window);
    assert_eq!(window.cwnd, 31 * MSS);
    control.on_congestion(Congestion::Loss, Time::from_secs(1), 0, &mut window);
    assert_eq!(window.ssthresh, 21 * MSS);
    window.cwnd = window.ssthresh;
    // The plateau is 31, K = cbrt(10 / 0.4) = 2.92 s. At 0.1 s the curve is at 31 - floor(9.0) = 22 segments,
    // so the window grows by one segment for each 21.
    for _ in 0..20 {
        control.on_ack(&Ack { srtt, ..ack(1) }, &mut window);
    }
    assert_eq!(window.cwnd, 21 * MSS);
    control.on_ack(&Ack { srtt, ..ack(1) }, &mut window);
    assert_eq!(window.cwnd, 22 * MSS);
}
