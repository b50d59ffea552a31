//! Transfers deliver all data in order and exactly once, whatever the channel does, and no faster than it
//! allows.

use parades_core::metrics::{MetricValue, Tally};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_models::transfer::{Parameters, Transfer};

/// Returns parameters with few pairs and short windows.
fn small() -> Parameters {
    Parameters { pairs: 4, window: 64, segments: 200, ..Parameters::default() }
}

fn run(parameters: Parameters, seconds: u64, seed: u64) -> Outcome {
    let model = Transfer::new(parameters).unwrap();
    let until = Time::ZERO.checked_add(Delay::from_secs(seconds)).unwrap();
    sequential::run(&model, RunOptions { seed, ..RunOptions::until(until) }).unwrap()
}

fn counter(outcome: &Outcome, name: &str) -> u64 {
    u64::try_from(outcome.metrics.get(name).and_then(MetricValue::counter).unwrap()).unwrap()
}

fn tally<'a>(outcome: &'a Outcome, name: &str) -> &'a Tally {
    outcome.metrics.get(name).and_then(MetricValue::tally).unwrap()
}

fn headline(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.get(name).and_then(MetricValue::headline).unwrap()
}

/// Checks the invariants that the model itself checks at the end of a run, again from outside.
fn assert_conserved(outcome: &Outcome) {
    let count = |name: &str| counter(outcome, name);
    let accounted = count("segments_arrived") + count("segments_lost") + count("segments_in_flight");
    assert_eq!(count("segments_sent"), accounted);
    let kept = count("segments_delivered") + count("segments_repeated") + count("segments_buffered");
    assert_eq!(count("segments_arrived"), kept);
    assert_eq!(count("acks_sent"), count("acks_arrived") + count("acks_lost") + count("acks_in_flight"));
    assert_eq!(count("acks_sent"), count("segments_arrived"));
}

#[test]
fn without_loss_and_jitter_nothing_is_retransmitted() {
    let outcome = run(Parameters { loss: 0.0, jitter: Delay::ZERO, ..small() }, 20, 1);
    assert_conserved(&outcome);
    for name in [
        "segments_lost",
        "acks_lost",
        "segments_retransmitted",
        "segments_repeated",
        "timeouts",
        "fast_retransmissions",
    ] {
        assert_eq!(counter(&outcome, name), 0, "{name}");
    }
    let transfers = counter(&outcome, "transfers_completed");
    let under_way = counter(&outcome, "segments_delivered") - 200 * transfers;
    assert!(transfers > 300 && under_way <= 4 * 200, "{transfers} transfers and {under_way} segments");
    // 40 + 1500 bytes at 100 Mbit/s and twice 10 ms, and at most 63 segments ahead in the link.
    let (least, segment) = (Delay::from_ms(20).as_ps() + 123_200_000, 120_000_000);
    let round_trip = tally(&outcome, "round_trip_time");
    assert_eq!(round_trip.min(), Some(least));
    assert!(round_trip.max().unwrap() <= least + 63 * segment);
}

#[test]
fn a_full_window_moves_in_each_round_trip() {
    // The path holds more than the window, and one transfer lasts for the whole run.
    let parameters =
        Parameters { window: 32, segments: 1 << 40, loss: 0.0, jitter: Delay::ZERO, pause: Delay::ZERO, ..small() };
    let bound = Transfer::new(parameters.clone()).unwrap().goodput_bound();
    assert!((bound - 32.0 * 1500.0 * 8.0 / 0.020_123_2).abs() < 1.0, "{bound}");
    let outcome = run(parameters.clone(), 200, 1);
    let (goodput, bound) = (headline(&outcome, "goodput"), headline(&outcome, "goodput_bound"));
    // The last window may be half a round trip ahead.
    assert!(goodput <= 1.0001 * bound && goodput > 0.999 * bound, "{goodput} of {bound}");
    // The window is more than the path holds, so the link is the bound.
    let outcome = run(Parameters { window: 512, ..parameters }, 50, 1);
    let (goodput, bound) = (headline(&outcome, "goodput"), headline(&outcome, "goodput_bound"));
    assert!((bound - 4e8).abs() < 1.0 && goodput <= bound && goodput > 0.999 * bound, "{goodput} of {bound}");
}

#[test]
fn losses_are_repaired() {
    let outcomes = [0.0, 0.01, 0.1, 0.3].map(|loss| run(Parameters { loss, ..small() }, 100, 2));
    let goodputs = outcomes.each_ref().map(|outcome| headline(outcome, "goodput"));
    assert!(goodputs.is_sorted_by(|a, b| a > b), "{goodputs:?}");
    for (outcome, loss) in outcomes.iter().zip([0.0, 0.01, 0.1, 0.3]) {
        assert_conserved(outcome);
        let share = |part, whole| counter(outcome, part) as f64 / counter(outcome, whole) as f64;
        let expected = |loss: f64, whole| 5.0 * (loss / counter(outcome, whole) as f64).sqrt();
        assert!((share("segments_lost", "segments_sent") - loss).abs() <= expected(loss, "segments_sent"));
        assert!((share("acks_lost", "acks_sent") - loss).abs() <= expected(loss, "acks_sent"));
        assert!(
            counter(outcome, "transfers_completed") >= 8,
            "each pair comes to the end of transfers at a loss of {loss}"
        );
        assert!(counter(outcome, "segments_retransmitted") >= counter(outcome, "fast_retransmissions"));
    }
    let [_, one, _, heavy] = &outcomes;
    // If losses are few, duplicate acknowledgements find most of them. After many losses in a window, the
    // timer must act.
    assert!(counter(one, "fast_retransmissions") > counter(one, "timeouts"));
    assert!(counter(heavy, "timeouts") > counter(heavy, "transfers_completed"));
    assert!(tally(heavy, "transfer_time").min() > tally(one, "transfer_time").min());
}

#[test]
fn late_segments_are_seldom_retransmitted() {
    // A jitter of fifty times the serialisation time of a segment: much overtaking, but no loss.
    let outcome = run(Parameters { loss: 0.0, jitter: Delay::from_ms(6), ..small() }, 20, 3);
    assert_conserved(&outcome);
    let retransmitted = counter(&outcome, "segments_retransmitted");
    assert!(retransmitted > 0, "three segments overtake one often enough");
    // A retransmission of a late segment arrives as well.
    assert!(counter(&outcome, "segments_repeated") + 64 * 4 >= retransmitted);
    assert!(retransmitted * 5 < counter(&outcome, "segments_delivered"), "{retransmitted}");
}

#[test]
fn transfers_of_one_segment_and_windows_of_one_work() {
    for (window, segments) in [(1, 1), (1, 50), (64, 1)] {
        let parameters = Parameters { window, segments, loss: 0.2, ..small() };
        let outcome = run(parameters, 400, 1);
        assert_conserved(&outcome);
        assert!(counter(&outcome, "transfers_completed") > 10, "window {window}, {segments} segments");
    }
}

#[test]
fn a_run_without_events_reports_nothing() {
    let outcome = run(small(), 0, 1);
    assert_eq!(outcome.events, 0);
    assert_eq!(outcome.metrics.get("goodput").and_then(MetricValue::value), Some(&Cell::Empty));
}

#[test]
fn parameters_that_make_no_sense_are_named() {
    type Case = (fn(&mut Parameters), &'static str, &'static str);
    let cases: [Case; 12] = [
        (|p| p.pairs = 0, "pairs", "`pairs` must be at least 1 and at most 2147483647, not 0"),
        (|p| p.pairs = 1 << 31, "pairs", "not 2147483648"),
        (|p| p.window = 0, "window", "not 0"),
        (|p| p.window = u32::MAX, "window", "at most 1048576"),
        (|p| p.segments = 0, "segments", "not 0"),
        (|p| p.segment_bytes = 0, "segment_bytes", "not 0"),
        (|p| p.ack_bytes = 0, "ack_bytes", "not 0"),
        (|p| p.rate = 0, "rate", "not 0"),
        (|p| (p.rate, p.segment_bytes) = (1, 1 << 20), "rate", "at 1 bit/s a message takes 8388608s to leave"),
        (|p| p.loss = f64::NAN, "loss", "must be at least 0 and below 1, not NaN"),
        (|p| p.delay = Delay::MAX, "delay", "`delay` must be between 0s and 86400s"),
        (|p| p.min_timeout = Delay::ZERO, "min_timeout", "`min_timeout` must be between 0.000001s and 86400s, not 0s"),
    ];
    for (change, key, expected) in cases {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        let (found, sentence) = Transfer::new(parameters).unwrap_err();
        assert_eq!(found, key, "{sentence}");
        assert!(sentence.contains(expected), "`{sentence}` does not say `{expected}`");
    }
}

#[test]
fn the_table_of_flows_adds_up_to_the_totals() {
    let parameters = Parameters { pairs: 7, ..Parameters::default() };
    let segment_bytes = u64::from(parameters.segment_bytes);
    let until = Time::try_from_secs_f64(5.0).unwrap();
    let outcome = sequential::run(&Transfer::new(parameters).unwrap(), RunOptions::until(until)).unwrap();
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).unwrap();
    let rows = table.rows();
    let integer = |cell: &Cell| if let Cell::Integer(x) = cell { *x } else { panic!("{cell:?} is no integer") };
    assert_eq!(rows.iter().map(|row| integer(&row[0])).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    let sum = |column: &str| {
        let index = table.columns().iter().position(|other| &*other.name == column).unwrap();
        rows.iter().map(|row| integer(&row[index])).sum::<u64>()
    };
    for column in [
        "segments_delivered",
        "segments_sent",
        "segments_retransmitted",
        "segments_lost",
        "transfers_completed",
        "timeouts",
    ] {
        assert_eq!(u128::from(sum(column)), u128::from(counter(&outcome, column)), "{column}");
    }
    assert_eq!(sum("delivered"), sum("segments_delivered") * segment_bytes);
    assert!(sum("segments_delivered") > 1000);
}
