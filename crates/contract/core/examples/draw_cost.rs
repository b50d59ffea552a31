//! Prints the time that a draw from each distribution takes: the smallest of five runs, in nanoseconds.
//!
//! Run it on an idle machine: `cargo run --release -p parades-core --example draw_cost`.
#![expect(clippy::print_stdout, reason = "printing is its purpose")]

use parades_core::random::{Empirical, LogNormal, Pareto, Rng, Weibull, Zipf};
use std::hint::black_box;

/// Returns the smallest of five times, in nanoseconds per draw.
fn cost_ns(mut draw: impl FnMut(&Rng) -> f64) -> f64 {
    let mut rng = Rng::stream(1, 1);
    let draws = 4_000_000;
    let one_run = || {
        #[expect(clippy::disallowed_methods, reason = "a measurement of wall-clock time")]
        let start = std::time::Instant::now();
        let sum: f64 = (0..draws).map(|_| draw(&mut rng)).sum();
        black_box(sum);
        start.elapsed().as_secs_f64() * 1e9 / f64::from(draws)
    };
    std::iter::repeat_with(one_run).take(5).fold(f64::INFINITY, f64::min)
}

fn main() {
    let why = "the parameters are in bounds";
    let pareto = Pareto::new(1500.0, 1.2).expect(why);
    let weibull = Weibull::new(60.0, 0.6).expect(why);
    let log_normal = LogNormal::new(1.0, 2.0).expect(why);
    let zipf = Zipf::new(1_000_000, 0.8).expect(why);
    let empirical = Empirical::new(&[(100.0, 0.1), (1_500.0, 0.5), (1e6, 1.0)]).expect(why);
    for (name, cost) in [
        ("unit", cost_ns(Rng::unit)),
        ("below 1000", cost_ns(|rng| rng.below(1000) as f64)),
        ("exponential, ziggurat", cost_ns(Rng::exponential)),
        ("exponential, -log", cost_ns(|rng| -libm::log(rng.unit_open()))),
        ("normal, ziggurat", cost_ns(Rng::normal)),
        ("Pareto", cost_ns(|rng| pareto.sample(rng))),
        ("Weibull", cost_ns(|rng| weibull.sample(rng))),
        ("LogNormal", cost_ns(|rng| log_normal.sample(rng))),
        ("Zipf", cost_ns(|rng| zipf.sample(rng) as f64)),
        ("Empirical", cost_ns(|rng| empirical.sample(rng))),
    ] {
        println!("{name:24} {cost:6.2} ns");
    }
}
