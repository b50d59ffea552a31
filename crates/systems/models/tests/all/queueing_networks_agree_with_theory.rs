//! Queueing networks agree with the closed forms of Jackson and Kleinrock, and lose no customer.

use parades_core::metrics::{Estimate, MetricValue};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_models::queueing::{Generated, Layout, Network, Queueing};

fn run(model: &Queueing, seed: u64) -> Outcome {
    sequential::run(model, RunOptions { seed, ..RunOptions::until(model.duration()) }).unwrap()
}

fn sojourn(outcome: &Outcome) -> Estimate {
    outcome.metrics.get("sojourn").and_then(MetricValue::steady).and_then(|steady| steady.estimate()).unwrap()
}

fn counter(outcome: &Outcome, name: &str) -> u64 {
    u64::try_from(outcome.metrics.get(name).and_then(MetricValue::counter).unwrap()).unwrap()
}

fn text<'a>(outcome: &'a Outcome, name: &str) -> &'a str {
    match outcome.metrics.get(name).and_then(MetricValue::value) {
        Some(Cell::Text(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

/// Returns the rows of the table of stations as numbers. An empty cell is a NaN.
fn stations(outcome: &Outcome) -> Vec<Vec<f64>> {
    let number = |cell: &Cell| match cell {
        Cell::Integer(x) => *x as f64,
        Cell::Float(x) => *x,
        Cell::Empty | Cell::Text(_) => f64::NAN,
    };
    let table = outcome.metrics.get("stations").and_then(MetricValue::table).unwrap();
    table.rows().iter().map(|row| row.iter().map(number).collect()).collect()
}

fn assert_close(what: &str, measured: f64, theory: f64, tolerance: f64) {
    assert!((measured / theory - 1.0).abs() <= tolerance, "{what}: measured {measured}, theory {theory}");
}

#[test]
fn a_single_queue_meets_the_theory_in_every_figure() {
    let model = Queueing::new(Network::mm1(0.6, 1000.0).unwrap(), Delay::ZERO, Some(400_000)).unwrap();
    let outcome = run(&model, 3);
    let estimate = sojourn(&outcome);
    assert_close("sojourn", estimate.mean, 0.0025, 0.02);
    assert!(estimate.contains(0.0025), "{estimate:?}");
    assert_eq!(text(&outcome, "theory_inside_interval"), "yes");
    let rows = stations(&outcome);
    let &[_, arrivals, utilisation, _, number, _, time, _] = &rows[0][..] else { panic!("{rows:?}") };
    assert_close("arrivals", arrivals, 400_000.0, 0.01);
    assert_close("utilisation", utilisation, 0.6, 0.01);
    assert_close("number", number, 1.5, 0.02);
    assert_close("time", time, 0.0025, 0.02);
    assert_eq!((rows[0][3], rows[0][5], rows[0][7]), (0.6, 1.5, 0.0025));
    // Sojourn times are exponential, so their median is the mean times ln 2.
    let histogram = outcome.metrics.get("sojourn_distribution").and_then(MetricValue::histogram).unwrap();
    assert_close("median", histogram.percentile(50.0).unwrap() as f64, 0.0025e12 * std::f64::consts::LN_2, 0.02);
}

#[test]
fn averages_over_time_count_up_to_the_very_end() {
    let model = Queueing::new(Network::mm1(0.7, 1.0).unwrap(), Delay::ZERO, Some(200)).unwrap();
    let end = model.duration();
    let later = end.checked_add(Delay::from_ms(100)).unwrap();
    let (mut quiet, mut empty) = (0, 0);
    for seed in 1..=40 {
        let [one, two] =
            [end, later].map(|until| sequential::run(&model, RunOptions { seed, ..RunOptions::until(until) }).unwrap());
        let present = counter(&one, "customers_at_stations") as f64;
        // Customer-seconds and busy seconds.
        let [before, after] = [(&one, end), (&two, later)].map(|(outcome, until)| {
            let row = &stations(outcome)[0];
            (row[4] * until.as_secs_f64(), row[2] * until.as_secs_f64())
        });
        if one.events == two.events {
            quiet += 1;
            assert!((after.0 - before.0 - 0.1 * present).abs() < 1e-9, "seed {seed}: {present} customers stay");
            assert!((after.1 - before.1 - 0.1 * present.min(1.0)).abs() < 1e-9, "seed {seed}: the server goes on");
        }
        if present < 1.0 {
            // All customers have left, so the integral of the number present is the sum of the sojourn times.
            empty += 1;
            let sum = one.metrics.get("sojourn_distribution").and_then(MetricValue::tally).unwrap().sum() as f64 / 1e12;
            assert!((before.0 - sum).abs() < 1e-9 * sum, "seed {seed}: {} and {sum}", before.0);
        }
    }
    assert!(quiet > 20 && empty > 3, "{quiet} and {empty} seeds show something");
}

#[test]
fn a_network_with_feedback_meets_the_theory_at_each_station() {
    let network = Network::central_server(0.7, 1000.0).unwrap();
    assert_close("visits", network.mean_visits(), 9.0, 1e-12);
    let transit = Delay::from_ms(2);
    let model = Queueing::new(network, transit, Some(60_000)).unwrap();
    assert_close("theory", model.mean_sojourn(), model.network().mean_sojourn() + 8.0 * 0.002, 1e-12);
    let outcome = run(&model, 1);
    assert_close("sojourn", sojourn(&outcome).mean, model.mean_sojourn(), 0.02);
    for row in stations(&outcome) {
        let &[station, _, utilisation, rho, number, mean_number, time, mean_time] = &row[..] else { panic!() };
        assert_close(&format!("utilisation of {station}"), utilisation, rho, 0.03);
        assert_close(&format!("number at {station}"), number, mean_number, 0.06);
        assert_close(&format!("time at {station}"), time, mean_time, 0.06);
    }
    assert!(counter(&outcome, "customers_moving") > 0, "some move at any time, at 2 ms a move");
}

#[test]
fn a_matrix_is_solved_and_simulated() {
    let routing = [vec![0.1, 0.4, 0.5], vec![0.0, 0.0, 0.7], vec![0.3, 0.0, 0.0]];
    let network = Network::jackson(&[2.0, 1.0, 0.0], &[6.0, 5.0, 8.0], &routing).unwrap();
    for (i, station) in network.stations().iter().enumerate() {
        let inflow: f64 = (0..3).map(|j| network.stations()[j].throughput * routing[j][i]).sum();
        assert_close("balance", station.throughput, station.arrival_rate + inflow, 1e-12);
    }
    let model = Queueing::new(network, Delay::from_ms(1), Some(100_000)).unwrap();
    let outcome = run(&model, 4);
    assert_close("sojourn", sojourn(&outcome).mean, model.mean_sojourn(), 0.03);
    for row in stations(&outcome) {
        assert_close("utilisation", row[2], row[3], 0.03);
    }
}

#[test]
fn large_networks_run_in_either_layout_and_with_or_without_transit_time() {
    for layout in [Layout::Ring, Layout::Random] {
        let network = Network::generated(&Generated { stations: 100, layout, ..Generated::default() }).unwrap();
        for transit in [Delay::ZERO, Delay::from_ms(1)] {
            let model = Queueing::new(network.clone(), transit, Some(50_000)).unwrap();
            let outcome = run(&model, 2);
            assert_eq!(run(&model, 2).digest, outcome.digest);
            assert_ne!(run(&model, 3).digest, outcome.digest);
            let rows = stations(&outcome);
            let utilisation = rows.iter().map(|row| row[2]).sum::<f64>() / 100.0;
            assert_close(&format!("utilisation of {layout:?}"), utilisation, 0.8, 0.02);
            let entered = counter(&outcome, "customers_entered");
            let rest = counter(&outcome, "customers_at_stations") + counter(&outcome, "customers_moving");
            assert_eq!(entered, counter(&outcome, "customers_left") + rest);
        }
    }
}

#[test]
fn a_run_without_events_reports_nothing() {
    let model = Queueing::new(Network::mm1(0.5, 1.0).unwrap(), Delay::ZERO, Some(1)).unwrap();
    let outcome = sequential::run(&model, RunOptions::until(Time::ZERO)).unwrap();
    assert_eq!(outcome.events, 0);
    assert!(stations(&outcome)[0][2].is_nan());
    assert_eq!(outcome.metrics.get("theory_inside_interval").and_then(MetricValue::value), Some(&Cell::Empty));
}

#[test]
fn a_rare_arrival_past_the_end_of_time_is_no_error() {
    let network = Network::jackson(&[1.0, 1e-12], &[2.0, 2.0], &[vec![0.0, 0.0], vec![0.0, 0.0]]).unwrap();
    let model = Queueing::new(network, Delay::ZERO, Some(10)).unwrap();
    assert!(stations(&run(&model, 1))[1][1] < 1.0, "nobody came");
}

fn assert_refused<const N: usize>(cases: [((&str, String), &str, &str); N]) {
    for ((key, sentence), expected_key, expected) in cases {
        assert_eq!(key, expected_key, "{sentence}");
        assert!(sentence.contains(expected), "`{sentence}` does not say `{expected}`");
    }
}

#[test]
fn rates_and_routes_that_make_no_sense_are_named() {
    let square = |p: f64| vec![vec![0.0, 1.0], vec![p, 0.0]];
    let refused = |arrivals: &[f64], services: &[f64], routing: &[Vec<f64>]| {
        Network::jackson(arrivals, services, routing).unwrap_err()
    };
    let two = |routing: &[Vec<f64>]| refused(&[1.0, 0.0], &[9.0, 9.0], routing);
    let none = || vec![0.0; 2];
    let (arrivals, services, routing) = ("arrival_rates", "service_rates", "routing");
    assert_refused([
        (refused(&[1.0], &[2.0; 2], &square(0.5)), arrivals, "there are 2 service rates, but 1 arrival rates"),
        (refused(&[0.0; 2], &[9.0; 2], &square(0.5)), arrivals, "no customers come from outside"),
        (refused(&[], &[], &[]), arrivals, "no customers come from outside"),
        (
            refused(&[-1.0, 1.0], &[9.0; 2], &square(0.5)),
            arrivals,
            "the arrival rate of station 0, if not 0, must be above",
        ),
        (refused(&[f64::NAN, 1.0], &[9.0; 2], &square(0.5)), arrivals, "customers a second, not NaN"),
        (
            refused(&[1.0, 0.0], &[9.0, f64::INFINITY], &square(0.5)),
            services,
            "the service rate of station 1 must be above 0",
        ),
        (
            refused(&[1.0, 0.0], &[1.9, 9.0], &square(0.5)),
            services,
            "2 customers a second come to station 0, which can serve 1.9",
        ),
        (two(&[none()]), routing, "there are 2 service rates, but 1 rows of probabilities"),
        (two(&[none(), vec![0.0]]), routing, "station 1 has 1 probabilities for 2 stations"),
        (two(&square(1.0)), routing, "customers at station 0 can never leave"),
        (two(&square(1.5)), routing, "the probability from station 1 to 0 must be between 0 and 1, not 1.5"),
        (two(&square(f64::NAN)), routing, "must be between 0 and 1, not NaN"),
        (two(&[vec![0.6, 0.6], none()]), routing, "the probabilities of station 0 are 1.2 in sum"),
    ]);
}

#[test]
fn parameters_that_make_no_sense_are_named() {
    let generated = |change: fn(&mut Generated)| {
        let mut parameters = Generated::default();
        change(&mut parameters);
        Network::generated(&parameters).unwrap_err()
    };
    let mm1 = |customers| Queueing::new(Network::mm1(0.5, 1.0).unwrap(), Delay::ZERO, Some(customers)).unwrap_err();
    assert_refused([
        (Network::mm1(0.5, 0.0).unwrap_err(), "service_rate", "the service rate must be above 0"),
        (Network::mm1(f64::NAN, 1.0).unwrap_err(), "utilisation", "must be above 0 and below 1, not NaN"),
        (Network::central_server(1.5, 1.0).unwrap_err(), "utilisation", "must be above 0 and below 1, not 1.5"),
        (generated(|p| p.stations = 1), "stations", "this layout needs 2 stations or more, not 1"),
        (
            generated(|p| p.leave = 0.0),
            "leave",
            "the probability of leaving must be at least 0.001 and at most 1, not 0",
        ),
        (generated(|p| p.service_rate = 1e10), "service_rate", "must be above 0 and at most 1e10 customers a second"),
        (mm1(0), "customers", "0 customers take 0 s"),
        (mm1(u64::MAX), "customers", "which must be above 0 and at most 18446744"),
    ]);
    // The smallest probability of leaving that is allowed.
    let rare = Generated { stations: 500, leave: 0.001, ..Generated::default() };
    assert_close("visits", Network::generated(&rare).unwrap().mean_visits(), 1000.0, 1e-9);
}

/// Measures half-widths, coverage and the duration of runs of default length. Takes three minutes in release:
///
/// `cargo test --release -p parades-models --test all queueing_networks_agree_with_theory -- --ignored
/// --nocapture`
#[test]
#[ignore = "eighty runs of default length"]
#[expect(clippy::disallowed_methods, reason = "the wall clock is what is measured")]
fn intervals_of_runs_of_default_length_are_narrow_and_hold_the_theory() {
    let mm1 = |utilisation| Network::mm1(utilisation, 1000.0).unwrap();
    let networks = [
        ("M/M/1 at 0.5", mm1(0.5), 0.01),
        ("M/M/1 at 0.8", mm1(0.8), 0.01),
        ("M/M/1 at 0.95", mm1(0.95), 0.03),
        ("central server at 0.8", Network::central_server(0.8, 1000.0).unwrap(), 0.015),
    ];
    let mut failures = Vec::new();
    for (name, network, half_width_max) in networks {
        let model = Queueing::new(network, Delay::ZERO, None).unwrap();
        let (mut inside, mut widest, mut sum, mut events) = (0, 0.0_f64, 0.0, 0);
        let begin = std::time::Instant::now();
        for seed in 1..=20 {
            let outcome = run(&model, seed);
            let relative = sojourn(&outcome).half_width.unwrap() / sojourn(&outcome).mean;
            inside += u32::from(text(&outcome, "theory_inside_interval") == "yes");
            (widest, sum, events) = (widest.max(relative), sum + relative, outcome.events);
        }
        let seconds = begin.elapsed().as_secs_f64() / 20.0;
        let mean = sum / 20.0;
        println!(
            "{name}: inside {inside}/20, half-width mean {mean:.4} widest {widest:.4}, {events} events, {seconds:.2} s a run"
        );
        if !(17..=20).contains(&inside) || widest > half_width_max {
            failures.push(name);
        }
    }
    assert_eq!(failures, [""; 0]);
}
