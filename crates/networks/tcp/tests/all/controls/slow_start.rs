//! Slow start ends as in RFC 9406 (HyStart++) and as in ns-3 (HyStart).

use crate::controls::harness::{MSS, ack, window};
use crate::controls::path::{Path, Sender};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Ack, Algorithm, CongestionControl, Control, Cubic, HyStart, Window};

/// A slow start whose rounds are given by hand. A round has ten acknowledgements of a segment.
struct Rounds {
    control: Control,
    window: Window,
    round: u64,
}

impl Rounds {
    fn start() -> Rounds {
        let control = Algorithm::Cubic(Cubic::rfc9438()).start();
        Rounds { control, window: window(10 * MSS, u32::MAX), round: 0 }
    }

    /// Returns the bytes by which the window grows in a round with this round trip.
    fn round(&mut self, rtt_us: u64) -> u32 {
        let before = self.window.cwnd;
        let rtt = Delay::from_us(rtt_us);
        for place in 1..=10 {
            let (now, unacked) = (Time::from_ms(100 * self.round), self.round * 10 + place);
            let next = (self.round + 1) * 10 + place;
            self.control.on_ack(&Ack { now, unacked, next, rtt: Some(rtt), srtt: rtt, ..ack(1) }, &mut self.window);
        }
        self.round += 1;
        self.window.cwnd - before
    }
}

/// RFC 9406, section 4.2: a rise by an eighth of 80 ms. The tenth of the round that follows the eighth sample
/// grows at a quarter of the speed.
#[test]
fn a_rise_by_the_threshold_begins_conservative_slow_start() {
    let mut below = Rounds::start();
    assert_eq!([below.round(80_000), below.round(89_999), below.round(89_999)], [10_000; 3]);
    let mut at = Rounds::start();
    assert_eq!(at.round(80_000), 10_000);
    // Seven acknowledgements at full speed, and three after the eighth round trip of the round.
    assert_eq!(at.round(90_000), 7 * MSS + 3 * MSS / 4);
    assert_eq!(at.round(90_000), 10 * MSS / 4);
    assert_eq!(at.window.ssthresh, u32::MAX);
}

/// RFC 9406, section 4.2: the threshold is at least 4 ms and at most 16 ms.
#[test]
fn the_threshold_lies_between_4_and_16_ms() {
    for (rtt_us, rise_us) in [(8_000, 4_000), (400_000, 16_000)] {
        let mut below = Rounds::start();
        below.round(rtt_us);
        assert_eq!(below.round(rtt_us + rise_us - 1), 10_000);
        let mut at = Rounds::start();
        at.round(rtt_us);
        assert!(at.round(rtt_us + rise_us) < 10_000);
    }
}

/// RFC 9406, section 4.2: five rounds, with the one in which CSS begins.
#[test]
fn conservative_slow_start_ends_after_five_rounds() {
    let mut rounds = Rounds::start();
    rounds.round(80_000);
    for _ in 0..5 {
        rounds.round(90_000);
        assert_eq!(rounds.window.ssthresh, u32::MAX);
    }
    let at_end = rounds.window.cwnd;
    rounds.round(90_000);
    assert_eq!(rounds.window.ssthresh, at_end);
}

/// RFC 9406, section 4.2: the rise was spurious if the round trip falls below CSS's baseline.
#[test]
fn slow_start_resumes_when_the_round_trip_falls_again() {
    let mut rounds = Rounds::start();
    rounds.round(80_000);
    rounds.round(90_000);
    // Seven acknowledgements at a quarter of the speed, then three at full speed.
    assert_eq!(rounds.round(89_000), 7 * MSS / 4 + 3 * MSS);
    assert_eq!(rounds.round(89_000), 10_000);
    assert_eq!(rounds.window.ssthresh, u32::MAX);
    // The search goes on: the rise over 89 ms must be an eighth again.
    assert!(rounds.round(101_000) < 10_000);
}

/// Returns the losses in slow start and the window at its end, in segments. The path of 20 Mbit/s and 100 ms
/// holds 250 packets, and its queue 2500 more.
fn slow_start_on_a_path(hystart: HyStart) -> (u32, f64) {
    let rate_bps = Some(20_000_000);
    let path = Path { rtt: Delay::from_ms(100), rate_bps, queue_max: Some(2500), ..Path::default() };
    let mut sender = Sender::start(Algorithm::Cubic(Cubic { hystart, ..Cubic::rfc9438() }), path);
    while sender.window.ssthresh == u32::MAX {
        assert!(sender.step(Time::from_secs(10)), "slow start did not end");
    }
    (sender.losses, sender.segments())
}

/// By hand, with windows of 10, 20, … 320 segments.
///
/// HyStart: the acknowledgements of 320 packets take longer than the round trip, and the search succeeds
/// after 250. HyStart++: the first packets of the round of 640 find a queue. Five rounds of CSS multiply 640
/// by 1.25 each. A round ends at the acknowledgement of the last packet but one or two, so the windows are a
/// little smaller.
#[test]
fn slow_start_ends_without_a_loss_when_the_queue_begins_to_stand() {
    assert_eq!(slow_start_on_a_path(HyStart::Off).0, 1);
    for (hystart, by_hand) in [(HyStart::ns3(), 570.0), (HyStart::PlusPlus, 1953.0)] {
        let (losses, window) = slow_start_on_a_path(hystart);
        assert_eq!(losses, 0, "{hystart:?}");
        assert!((window / by_hand - 1.0_f64).abs() < 0.15, "{hystart:?}: {window}");
    }
}

/// ns-3.37, TcpCubic::HystartUpdate: acknowledgements at most 2 ms apart for longer than a round trip.
#[test]
fn in_ns3_a_train_longer_than_the_round_trip_ends_slow_start() {
    let ended_at = |gap_us: u64| {
        let mut control = Algorithm::Cubic(Cubic::ns3()).start();
        let mut window = window(16 * MSS, u32::MAX);
        let srtt = Delay::from_ms(50);
        for place in 1..200 {
            let now = Time::from_secs(1).saturating_add(Delay::from_us(place * gap_us));
            // One round without an end.
            control.on_ack(&Ack { now, srtt, unacked: place, next: 1000, ..ack(1) }, &mut window);
            if window.ssthresh < u32::MAX {
                return Some(place * gap_us / 1000);
            }
        }
        None
    };
    // The round starts at the first acknowledgement.
    assert_eq!(ended_at(2_000), Some(54));
    assert_eq!(ended_at(2_001), None);
}
