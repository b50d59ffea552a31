//! Mean windows under periodic loss, as RFC 9438 states in Tables 1 and 2 (section 5.2).

use crate::controls::harness::MSS;
use crate::controls::path::{Path, Sender};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Algorithm, Cubic, NewReno};

/// Losses before the measurement. The first window is far too large, and its excess decays with the inverse
/// root of the number of losses, because the curve is flat where the next loss comes.
const FIRST: u32 = 200;
/// Losses in the measurement.
const MEASURED: u32 = 200;

/// Returns the mean window in segments if each packet whose number is a multiple of `every` is lost.
fn mean_window(algorithm: Algorithm, rtt: Delay, every: u64) -> f64 {
    let mut sender = Sender::start(algorithm, Path { rtt, lose_every: Some(every), ..Path::default() });
    while sender.losses < FIRST && sender.step(Time::MAX) {}
    let (from, before) = (sender.now, sender.area);
    while sender.losses < FIRST + MEASURED && sender.step(Time::MAX) {}
    (sender.area - before) / sender.now.since(from).as_secs_f64() / f64::from(MSS)
}

/// Fails if a mean window is more than a tenth from the published one. A row has the round trip in
/// milliseconds, the packets for each loss, and the published mean window.
#[expect(clippy::print_stdout, reason = "the table is read by people too")]
fn compare(algorithm: Algorithm, rows: &[(u64, u64, f64)]) {
    for &(rtt_ms, every, published) in rows {
        let measured = mean_window(algorithm.clone(), Delay::from_ms(rtt_ms), every);
        println!("{}: {rtt_ms} ms, 1 in {every}: {measured:.1}, published {published}", algorithm.name());
        assert!((measured / published - 1.0).abs() < 0.1, "{algorithm:?}: {measured}, published {published}");
    }
}

fn cubic(c: f64) -> Algorithm {
    Algorithm::Cubic(Cubic { c, has_fast_convergence: false, ..Cubic::rfc9438() })
}

#[test]
fn the_mean_window_of_reno_that_counts_acks_is_within_a_tenth_of_rfc_9438() {
    let rows = [(100, 100, 12.0), (100, 1_000, 38.0), (100, 10_000, 120.0), (100, 100_000, 379.0)];
    compare(Algorithm::NewReno(NewReno::ns3()), &rows);
}

/// With windows of 12 segments, growth by whole segments is too coarse to be compared.
#[test]
fn the_mean_window_of_reno_that_counts_bytes_is_within_a_tenth_of_rfc_9438() {
    let rows = [(100, 1_000, 38.0), (100, 10_000, 120.0), (100, 100_000, 379.0)];
    compare(Algorithm::NewReno(NewReno::rfc5681()), &rows);
    compare(Algorithm::NewReno(NewReno::linux()), &rows[..2]);
}

#[test]
fn the_mean_window_of_cubic_is_within_a_tenth_of_rfc_9438() {
    let rows = [(100, 100, 12.0), (100, 1_000, 38.0), (100, 10_000, 187.0), (100, 100_000, 1054.0)];
    compare(cubic(0.4), &rows);
}

#[test]
fn the_mean_window_of_cubic_on_a_short_path_is_that_of_reno() {
    let rows = [(10, 100, 12.0), (10, 1_000, 38.0), (10, 10_000, 120.0)];
    compare(cubic(0.4), &rows);
}

#[test]
fn the_mean_window_of_cubic_with_a_tenth_of_c_is_within_a_tenth_of_rfc_9438() {
    compare(cubic(0.04), &[(100, 100, 12.0), (100, 1_000, 38.0), (100, 10_000, 120.0)]);
}

#[test]
fn the_mean_window_of_cubic_with_ten_times_c_is_within_a_tenth_of_rfc_9438() {
    compare(cubic(4.0), &[(100, 100, 12.0), (100, 1_000, 59.0), (100, 10_000, 333.0)]);
}
