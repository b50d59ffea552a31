//! x
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_models::queueing::{Network, Generated, Layout, Queueing};
fn main() {
    for (name, n, c) in [("mm1", Network::mm1(0.8, 1000.0).unwrap(), 5_000_000),
      ("random 10k", Network::generated(&Generated::default()).unwrap(), 400_000),
      ("ring 10k", Network::generated(&Generated { layout: Layout::Ring, ..Generated::default()}).unwrap(), 400_000)] {
        let model = Queueing::new(n, Delay::from_us(100), Some(c)).unwrap();
        for digest in [true, false] {
        let t = std::time::Instant::now();
        let o = sequential::run(&model, RunOptions { digest, ..RunOptions::until(model.duration()) }).unwrap();
        println!("{name} digest {digest}: {} events {:.1} ns", o.events, t.elapsed().as_secs_f64() * 1e9 / o.events as f64);
        }
    }
    let ph = parades_models::phold::Phold::<()>::new(parades_models::phold::Parameters { lps: 10_000, ..Default::default() });
    let t = std::time::Instant::now();
    let o = sequential::run(&ph, RunOptions::until(Time::from_secs_f64(500.0).unwrap())).unwrap();
    println!("phold: {} events {:.1} ns", o.events, t.elapsed().as_secs_f64() * 1e9 / o.events as f64);
}
