//! Averaging by gossip on one thread.
//!
//! *Covers*: averaging over a constant latency; the variance of the values in each cycle.
//!
//! *Scenario*: nodes with uniform values, and messages that take 100 us. In each of 20 cycles of a second
//! every node begins one exchange.
//!
//! `cargo run --release -p parades-p2p --example averaging -- 100000 1`

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use parades_carriers::Constant;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::averaging::{Averaging, Parameters};
use parades_p2p::driver::AsModel;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().map_or(Ok(100_000), |nodes| nodes.parse())?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let (cycle, timeout) = (Delay::from_secs(1), Delay::from_secs(10));
    let averaging =
        Averaging::new(Parameters { nodes, cycle, timeout, ..Parameters::default() }).map_err(|(_, why)| why)?;
    let options = RunOptions { seed, ..RunOptions::until(averaging.end()) };
    let model = AsModel::new(averaging, Constant::new(Delay::from_us(100)));
    let outcome = sequential::run(&model, options)?;
    println!(
        "{nodes} nodes, seed {seed}: {} events, digest {:016x}",
        outcome.events,
        outcome.digest.unwrap_or_default()
    );
    let table = outcome.metrics.get("cycles").and_then(|metric| metric.table()).ok_or("it is declared")?;
    for row in table.rows() {
        println!("{row:?}");
    }
    for name in ["variance_factor", "bytes_per_node_and_second"] {
        println!("{name}: {:?}", outcome.metrics.get(name).and_then(|metric| metric.value()));
    }
    for name in ["exchanges", "refused_exchanges"] {
        println!("{name}: {:?}", outcome.metrics.get(name).and_then(|metric| metric.counter()));
    }
    Ok(())
}
