//! Averaging by gossip: the sum of the values never changes, and each cycle multiplies the variance by
//! 1 / (2√e), as theory says. All engines and both drivers give one answer.

use crate::one_answer::assert_one_answer;
use parades_carriers::Matrix;
use parades_core::metrics::{MetricValue, Tally};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::averaging::{Averaging, Parameters, UNIT, Values};
use parades_p2p::driver::AsModel;

/// Every message takes the same time. All tests use one type of carrier, which saves time in compilation.
fn constant(latency: Delay) -> Matrix {
    Matrix::new(2, |_, _| latency)
}

/// Returns parameters with cycles of a second, in which many exchanges overlap.
fn fast() -> Parameters {
    Parameters { cycle: Delay::from_secs(1), timeout: Delay::from_secs(10), ..Parameters::default() }
}

fn averaging(parameters: &Parameters) -> Averaging {
    Averaging::new(parameters.clone()).expect("possible")
}

fn run(parameters: &Parameters, latency: Delay, seed: u64) -> Outcome {
    let averaging = averaging(parameters);
    let options = RunOptions { seed, ..RunOptions::until(averaging.end()) };
    sequential::run(&AsModel::new(averaging, constant(latency)), options).expect("it runs")
}

fn tally<'a>(outcome: &'a Outcome, name: &str) -> &'a Tally {
    outcome.metrics.get(name).and_then(MetricValue::tally).expect("it is declared")
}

fn counter(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.get(name).and_then(MetricValue::counter).expect("it is declared") as f64
}

/// Returns the mean factor of the variance, and the fraction of requests that were refused.
fn factor(outcome: &Outcome) -> (f64, f64) {
    let Some(Cell::Float(factor)) = outcome.metrics.get("variance_factor").and_then(MetricValue::value) else {
        panic!("the factor is there");
    };
    (*factor, counter(outcome, "refused_exchanges") / counter(outcome, "exchanges"))
}

#[test]
fn the_sum_is_that_of_the_start_after_every_cycle() {
    for values in [Values::Uniform, Values::Peak] {
        let parameters = Parameters { nodes: 501, cycles: 30, values, ..fast() };
        // A round trip of 80 ms: many exchanges are refused.
        let outcome = run(&parameters, Delay::from_ms(40), 3);
        assert!(counter(&outcome, "refused_exchanges") > 500.0);
        let start = tally(&outcome, "after_cycle_0").sum();
        for cycle in 1..=30 {
            let after = tally(&outcome, &format!("after_cycle_{cycle}"));
            assert_eq!((after.count(), after.sum()), (501, start), "cycle {cycle}");
        }
        let last = tally(&outcome, "after_cycle_30");
        let spread = last.max().expect("501 nodes") - last.min().expect("501 nodes");
        assert!(spread < UNIT / 1_000_000, "the values differ by {spread} units");
    }
}

#[test]
fn each_cycle_multiplies_the_variance_by_the_factor_of_theory() {
    let parameters = Parameters { nodes: 20_000, ..fast() };
    for seed in 1..=3 {
        let (found, refused) = factor(&run(&parameters, Delay::from_us(100), seed));
        let theory = 1.0 / (2.0 * libm::exp(0.5));
        assert!((found / theory - 1.0).abs() < 0.02, "seed {seed}: {found}, not {theory}; {refused} refused");
    }
}

#[test]
fn refused_exchanges_make_the_factor_greater_as_the_formula_says() {
    let parameters = Parameters { nodes: 20_000, ..fast() };
    let (found, refused) = factor(&run(&parameters, Delay::from_ms(20), 1));
    // A node is in an exchange of its own for 40 ms of the 900 ms in which exchanges start.
    assert!((0.03..0.06).contains(&refused), "{refused} refused");
    let theory = Averaging::factor(refused);
    assert!((found / theory - 1.0).abs() < 0.02, "{found}, not {theory}, with {refused} refused");
}

#[test]
fn nodes_learn_their_number_from_a_peak() {
    let parameters = Parameters { nodes: 3000, cycles: 30, values: Values::Peak, ..fast() };
    let outcome = run(&parameters, Delay::from_us(100), 1);
    let sizes = tally(&outcome, "size_estimate");
    assert_eq!(tally(&outcome, "after_cycle_30").sum(), u128::from(UNIT));
    assert_eq!((sizes.count(), sizes.min(), sizes.max()), (3000, Some(3000), Some(3000)));
}

#[test]
fn all_engines_and_both_drivers_give_one_answer() {
    let plain = Parameters { nodes: 60, cycles: 8, ..fast() };
    let end = averaging(&plain).end();
    let matrix = Matrix::new(7, |from, to| Delay::from_ms(u64::from(5 + 7 * from + to)));
    for seed in 1..=2 {
        let outcome = assert_one_answer(|| averaging(&plain), &constant(Delay::from_ms(20)), seed, end);
        assert!(counter(&outcome, "refused_exchanges") > 0.0);
        let peak = Parameters { values: Values::Peak, ..plain.clone() };
        assert_one_answer(|| averaging(&peak), &matrix, seed, end);
        // Some starts are skipped, and some exchanges given up: a round trip takes 600 ms.
        let slow = Parameters { timeout: Delay::from_ms(500), ..plain.clone() };
        let outcome = assert_one_answer(|| averaging(&slow), &constant(Delay::from_ms(300)), seed, end);
        assert!(counter(&outcome, "timeouts") > 0.0 && counter(&outcome, "skipped_starts") > 0.0);
    }
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    let refused = |parameters: Parameters| Averaging::new(parameters).expect_err("it is impossible").0;
    let plain = fast();
    assert_eq!(refused(Parameters { nodes: 1, ..plain.clone() }), "nodes");
    assert_eq!(refused(Parameters { cycles: 0, ..plain.clone() }), "cycles");
    assert_eq!(refused(Parameters { cycle: Delay::ZERO, ..plain.clone() }), "cycle");
    assert_eq!(refused(Parameters { cycle: Delay::from_ps(u64::MAX / 2), ..plain.clone() }), "cycle");
    assert_eq!(refused(Parameters { timeout: Delay::ZERO, ..plain }), "timeout");
}
