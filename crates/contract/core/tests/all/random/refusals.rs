//! Wrong parameters are refused in one sentence.

use parades_core::random::{DistributionError, Empirical, LogNormal, Pareto, Rng, Uniform, Weibull, Zipf};
use parades_core::time::Delay;

#[test]
fn wrong_parameters_are_refused_in_one_sentence() {
    const NAN: f64 = f64::NAN;
    const INFINITE: f64 = f64::INFINITY;
    let refused: [(Option<DistributionError>, &str); 20] = [
        (Uniform::new(NAN, 1.0).err(), "not NaN and 1"),
        (Uniform::new(f64::MIN, f64::MAX).err(), "must be finite and in ascending order"),
        (Uniform::new(1.0, INFINITE).err(), "not 1 and inf"),
        (Pareto::new(0.0, 1.0).err(), "the scale of a Pareto distribution must be positive and finite, not 0"),
        (Pareto::new(1.0, INFINITE).err(), "the shape of a Pareto distribution must be positive and finite, not inf"),
        (Weibull::new(-1.0, 1.0).err(), "the scale of a Weibull distribution must be positive and finite, not -1"),
        (Weibull::new(1.0, NAN).err(), "the shape of a Weibull distribution must be positive and finite, not NaN"),
        (LogNormal::new(NAN, 1.0).err(), "not mu NaN and sigma 1"),
        (LogNormal::new(0.0, -1.0).err(), "not mu 0 and sigma -1"),
        (Zipf::new(0, 1.0).err(), "from 1 to 2^40 ranks, not 0"),
        (Zipf::new((1 << 40) + 1, 1.0).err(), "from 1 to 2^40 ranks, not 1099511627777"),
        (Zipf::new(10, -0.5).err(), "the exponent of a Zipf distribution must be finite and at least 0, not -0.5"),
        (Zipf::new(10, NAN).err(), "at least 0, not NaN"),
        (Empirical::new(&[]).err(), "needs at least one point"),
        (
            Empirical::new(&[(1.0, 0.0), (NAN, 1.0)]).err(),
            "the value of point 2 of an empirical distribution must be finite, not NaN",
        ),
        (
            Empirical::new(&[(1.0, 0.0), (2.0, 1.5)]).err(),
            "the probability of point 2 of an empirical distribution must be within 0 and 1, not 1.5",
        ),
        (Empirical::new(&[(1.0, NAN)]).err(), "within 0 and 1, not NaN"),
        (Empirical::new(&[(2.0, 0.0), (1.0, 1.0)]).err(), "must ascend, but point 2 is (1.0, 1.0) after (2.0, 0.0)"),
        (Empirical::new(&[(1.0, 0.5), (2.0, 0.2), (3.0, 1.0)]).err(), "point 2 is (2.0, 0.2) after (1.0, 0.5)"),
        (Empirical::new(&[(f64::MIN, 0.5), (f64::MAX, 1.0)]).err(), "too far apart"),
    ];
    for (error, words) in refused {
        let sentence = error.unwrap_or_else(|| panic!("accepted where \"{words}\" was due")).to_string();
        assert!(sentence.contains(words), "{sentence}");
    }
}

#[test]
#[should_panic(expected = "no number below zero")]
fn a_number_below_zero_is_the_callers_bug() {
    Rng::stream(0, 0).below(0);
}

#[test]
#[should_panic(expected = "an empty range")]
fn an_empty_range_is_the_callers_bug() {
    Rng::stream(0, 0).range(5, 5);
}

#[test]
#[should_panic(expected = "the shortest delay is longer than the longest")]
fn descending_delays_are_the_callers_bug() {
    Rng::stream(0, 0).uniform_delay(Delay::from_ps(2), Delay::from_ps(1));
}
