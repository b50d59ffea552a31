//! GossipSub in the scenarios of libp2p's interoperability tests (libp2p/test-plans, `gossipsub-interop`).
//!
//! *Covers*: GossipSub over a matrix of latencies; coverage, degrees, duplicates and latencies.
//!
//! *Scenario*: 700 nodes, each with 20 connections or more, in eight regions of the world. From 120 s on, a
//! random node publishes every 12 s, 16 messages in all. In `subnet-blob-msg` a message has 96 KiB and is
//! validated for 5 ms. In `simple-fanout` it has 1 KiB, and each of two topics has half of the nodes. Peers
//! have no scores. Here a message takes the latency between two regions. The tests also have bandwidth: 50
//! Mbit/s at 80 % of the nodes, 1,024 Mbit/s at the rest.
//!
//! `cargo run --release -p parades-p2p --example gossipsub_interop -- subnet-blob-msg 1`

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use parades_carriers::Matrix;
use parades_core::metrics::Histogram;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::driver::AsModel;
use parades_p2p::gossipsub::{GossipSub, Parameters, Subscriptions};

/// The number of nodes in each region, out of the sum of all these numbers: Australia, East Asia, Europe,
/// western and eastern North America, South America, South Africa, West Asia.
const WEIGHTS: [u64; 8] = [290, 1059, 5599, 1240, 2894, 36, 47, 161];

/// The latency between two regions in milliseconds.
const LATENCY_MS: [[u64; 8]; 8] = [
    [2, 110, 165, 110, 150, 190, 220, 180],
    [110, 4, 125, 100, 140, 175, 175, 110],
    [165, 125, 2, 110, 70, 140, 95, 60],
    [110, 100, 110, 2, 60, 100, 160, 150],
    [150, 140, 70, 60, 2, 100, 130, 110],
    [190, 175, 140, 100, 100, 7, 195, 145],
    [220, 175, 95, 160, 130, 190, 7, 110],
    [180, 110, 60, 150, 110, 145, 110, 5],
];

/// The random stream of the regions of nodes.
const REGIONS_STREAM: u32 = 8;

/// Draws the region of each node.
fn regions(nodes: u32, seed: u64) -> Vec<usize> {
    let rng = Rng::shared(seed, REGIONS_STREAM);
    let draw = |_| {
        let mut left = rng.below(WEIGHTS.iter().sum());
        let is_here = |&weight: &u64| {
            let is_here = left < weight;
            left = left.saturating_sub(weight);
            is_here
        };
        WEIGHTS.iter().position(is_here).expect("the draw is below the sum of the weights")
    };
    (0..nodes).map(draw).collect()
}

fn parameters(scenario: &str) -> Option<Parameters> {
    let plain = Parameters { nodes: 700, scores: None, ..Parameters::default() };
    match scenario {
        "subnet-blob-msg" => Some(Parameters { message_bytes: 96 * 1024, validation: Delay::from_ms(5), ..plain }),
        "simple-fanout" => Some(Parameters { topics: 2, subscriptions: Subscriptions::Split, ..plain }),
        _ => None,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next().unwrap_or_else(|| "subnet-blob-msg".to_owned());
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let parameters = parameters(&scenario).ok_or("the scenario is subnet-blob-msg or simple-fanout")?;
    let regions = regions(parameters.nodes, seed);
    let between = |a: u32, b: u32| Delay::from_ms(LATENCY_MS[regions[a as usize]][regions[b as usize]]);
    let carrier = Matrix::new(parameters.nodes, between);
    let gossipsub = GossipSub::new(parameters, seed).map_err(|(_, why)| why)?;
    let end = gossipsub.end();
    let options = RunOptions { seed, ..RunOptions::until(end) };
    let outcome = sequential::run(&AsModel::new(gossipsub, carrier), options)?;

    let metric = |name| outcome.metrics.get(name).ok_or("it is declared");
    let show = |name, histogram: &Histogram, unit: f64| {
        let at = |percent| histogram.percentile(percent).unwrap_or_default() as f64 / unit;
        let max = histogram.tally().max().unwrap_or_default() as f64 / unit;
        let min = histogram.tally().min().unwrap_or_default() as f64 / unit;
        println!("{name}: least {min}, median {:.1}, 95 % {:.1}, 99 % {:.1}, most {max}", at(50.0), at(95.0), at(99.0));
    };
    println!("{scenario}, seed {seed}: {} events, digest {:016x}", outcome.events, outcome.digest.unwrap_or_default());
    for name in ["coverage", "duplicates_per_node_and_message", "bytes_per_node_and_second"] {
        if let Some(Cell::Float(value)) = metric(name)?.value() {
            println!("{name}: {value:.4}");
        }
    }
    for name in ["deliveries", "repeated_deliveries", "duplicates", "ihaves", "iwants", "prunes", "early_grafts"] {
        println!("{name}: {}", metric(name)?.counter().unwrap_or_default());
    }
    show("latency in ms", metric("latency")?.histogram().ok_or("a histogram")?, 1e9);
    show("mesh degree", metric("mesh_degree")?.histogram().ok_or("a histogram")?, 1.0);
    Ok(())
}
