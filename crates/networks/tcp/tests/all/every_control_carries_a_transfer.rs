//! Each congestion control, in a connection over a dumbbell of 10 Mbit/s and 44 ms.

use crate::harness::{self, Dumbbell, Outcome};
use parades_core::time::Delay;
use parades_tcp::control::Algorithm;
use parades_tcp::settings::{EcnUse, Settings};

const SIZE: u64 = 10_000_000;
/// In units of 2^-32.
const ONE_PERCENT: u64 = (1 << 32) / 100;

fn run(name: &str, dumbbell: &Dumbbell) -> (Outcome, f64) {
    let algorithm: Algorithm = name.parse().expect("the name is known");
    let settings = Settings { algorithm: algorithm.as_in_linux(), ecn: EcnUse::Ask, ..Settings::linux() };
    let outcome = harness::run(dumbbell, &settings);
    let seconds = outcome.flows[0].completion.map_or(f64::NAN, Delay::as_secs_f64);
    (outcome, seconds)
}

/// 6,907 packets of 1,502 bytes take 8.30 s. The handshake, slow start and the last round trip take 0.1 s
/// more.
#[test]
fn without_loss_the_bottleneck_is_never_idle() {
    for name in ["newreno", "cubic", "dctcp", "vegas", "bbr"] {
        let (_, seconds) = run(name, &Dumbbell::of(SIZE));
        assert!((8.35..8.5).contains(&seconds), "{name}: {seconds}");
    }
}

/// Controls that react to losses fill the queue of 100 packets. Vegas keeps 2 to 4 segments waiting, after
/// slow start. BBR keeps up to three send quanta of two segments, more while it probes and in Startup.
#[test]
fn controls_by_delay_keep_the_queue_short_and_lose_nothing() {
    for (name, queue) in [("newreno", 50.0..100.0), ("cubic", 50.0..100.0), ("vegas", 1.0..8.0), ("bbr", 3.0..12.0)] {
        let (outcome, _) = run(name, &Dumbbell::of(SIZE));
        assert!(queue.contains(&outcome.mean_queue), "{name}: {}", outcome.mean_queue);
        assert_eq!(outcome.drops == 0, queue.end < 50.0, "{name}: {}", outcome.drops);
    }
}

/// Alizadeh et al. 2010, section 3.3: the queue swings between K + 1 and K + 1 - A, with A = sqrt((C RTT + K)
/// / 2), which is 5.4 for 38 packets on the path and K = 20.
#[test]
fn the_queue_of_dctcp_stays_near_the_threshold() {
    let (outcome, seconds) = run("dctcp", &Dumbbell { mark_above: Some(20), ..Dumbbell::of(SIZE) });
    assert_eq!(outcome.drops, 0);
    assert!((15.5..21.0).contains(&outcome.mean_queue), "{}", outcome.mean_queue);
    assert!(seconds < 8.7, "{seconds}");
}

/// Ott, Kemperman, Mathis 1996 (The stationary behavior of ideal TCP congestion avoidance): under independent
/// losses Reno's mean window is 1.31 / sqrt(p) segments, each round trip of 45.7 ms.
///
/// `CUBIC` lies between this and additive increase by a whole segment with its factor 0.7, by the square root
/// of ((1 + 0.7) / (2 (1 - 0.7))) / (3 / 2). It adds a whole segment above the window of the last loss (RFC
/// 9438, section 4.3), where independent losses often lead.
#[test]
fn under_random_loss_the_throughput_is_that_of_the_formula() {
    let reno = SIZE as f64 / 1448.0 * 0.0457 / (1.31 / libm::sqrt(0.01));
    let steeper = reno / libm::sqrt(1.7 / 0.6 / 1.5);
    for (name, least, most) in [("newreno", 0.9 * reno, 1.1 * reno), ("cubic", 0.9 * steeper, 1.1 * reno)] {
        let times = (1..=6).map(|seed| run(name, &Dumbbell { loss: ONE_PERCENT, seed, ..Dumbbell::of(SIZE) }).1);
        let mean = times.sum::<f64>() / 6.0;
        assert!(mean > least && mean < most, "{name}: {mean}, by the formulas {least} to {most}");
    }
}

/// Cardwell et al. 2017, figure 8: BBR uses the whole link.
#[test]
fn under_random_loss_bbr_uses_the_link() {
    for seed in 1..=3 {
        let (_, seconds) = run("bbr", &Dumbbell { loss: ONE_PERCENT, seed, ..Dumbbell::of(SIZE) });
        assert!(seconds < 8.42 / 0.9, "{seconds}");
    }
}
