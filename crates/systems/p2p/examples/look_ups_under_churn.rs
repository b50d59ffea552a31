//! Prints tables of the look-up success and latency of Chord and Kademlia, against the churn rate and against
//! the bytes of maintenance.
//!
//! A look-up of Chord is a success if it was answered. A look-up of Kademlia is one if it found the closest
//! node.
//!
//! ```sh
//! cargo run --release -p parades-p2p --example look_ups_under_churn -- 500 3
//! ```
//!
//! The arguments are the numbers of nodes and of seeds.

#![expect(clippy::print_stdout, reason = "printing is its purpose")]

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::chord::{self, Chord, Keys};
use parades_p2p::churn::{Churn, Law};
use parades_p2p::driver::AsModel;
use parades_p2p::kademlia::{self, Kademlia};

const LATENCY: Delay = Delay::from_ms(50);
const TIMEOUT: Delay = Delay::from_secs(1);
const UNTIL_S: u64 = 1500;
/// The bytes of a message of Chord: the headers of a message of Kademlia, and one identifier.
const CHORD_BYTES: f64 = 89.0;

/// The means over seeds.
#[derive(Clone, Copy, Default)]
struct Measures {
    success: f64,
    mean_s: f64,
    p99_s: f64,
    /// Bytes of maintenance for each node and second.
    maintenance: f64,
}

/// Sessions of this mean, and absences of a quarter of it. All nodes crash. A mean of zero: all stay.
fn churn(session_s: u64) -> Option<Churn> {
    let law = |mean| Law::exponential(Delay::from_ms(mean)).expect("a mean above zero");
    let churn = |mean| Churn::random(law(mean), law(mean / 4), Time::MAX).with_crash(1.0);
    (session_s > 0).then(|| churn(1000 * session_s))
}

/// The share of the time for which a node is there.
fn presence(session_s: u64) -> f64 {
    if session_s == 0 { 1.0 } else { 0.8 }
}

fn options(seed: u64) -> RunOptions<'static> {
    RunOptions { seed, ..RunOptions::until(Time::from_secs(UNTIL_S)) }
}

fn counter(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.get(name).and_then(MetricValue::counter).unwrap_or_default() as f64
}

/// Returns the mean and the 99th percentile of a metric, in seconds.
fn latency(outcome: &Outcome) -> (f64, f64) {
    let Some(MetricValue::Histogram(times)) = outcome.metrics.get("look_up_time") else { return (0.0, 0.0) };
    let p99 = times.percentile(99.0).unwrap_or_default() as f64;
    (times.tally().mean().unwrap_or_default() / 1e12, p99 / 1e12)
}

fn chord(nodes: u32, session_s: u64, stabilise_s: u64, seed: u64) -> Result<Measures, Error> {
    let parameters = chord::Parameters {
        nodes,
        bits: 32,
        spacing: Delay::from_ms(10),
        stabilise: Delay::from_secs(stabilise_s),
        fix_fingers: Delay::from_secs(stabilise_s),
        check_predecessor: Delay::from_secs(stabilise_s),
        idle: Delay::from_ms(10),
        timeout: TIMEOUT,
        keys: Keys::Uniform,
        fingers_at_once: true,
        churn: churn(session_s),
        settle: Delay::MAX,
        ..chord::Parameters::default()
    };
    let chord = Chord::new(parameters, seed).expect("the parameters are possible");
    let outcome = sequential::run(&AsModel::new(chord, Constant::new(LATENCY)), options(seed))?;
    let (look_ups, failed) = (counter(&outcome, "look_ups"), counter(&outcome, "failed_look_ups"));
    let hops = outcome.metrics.get("hops").and_then(MetricValue::headline).unwrap_or_default();
    // A look-up has a message for each hop, and the answer.
    let maintenance = counter(&outcome, "messages") - (look_ups - failed) * (hops + 1.0);
    let (mean_s, p99_s) = latency(&outcome);
    let node_seconds = f64::from(nodes) * UNTIL_S as f64 * presence(session_s);
    Ok(Measures {
        success: 1.0 - failed / look_ups,
        mean_s,
        p99_s,
        maintenance: maintenance * CHORD_BYTES / node_seconds,
    })
}

fn kademlia(nodes: u32, session_s: u64, (k, refresh_s): (u8, u64), seed: u64) -> Result<Measures, Error> {
    let parameters = kademlia::Parameters {
        nodes,
        k,
        resiliency: k.min(3),
        timeout: TIMEOUT,
        refresh: Delay::from_secs(refresh_s),
        churn: churn(session_s),
        ..kademlia::Parameters::default()
    };
    let kademlia = Kademlia::new(parameters, seed).expect("the parameters are possible");
    let outcome = sequential::run(&AsModel::new(kademlia, Constant::new(LATENCY)), options(seed))?;
    let headline = |name| outcome.metrics.get(name).and_then(MetricValue::headline).unwrap_or_default();
    let (mean_s, p99_s) = latency(&outcome);
    let maintenance = headline("maintenance_bytes_per_node_and_second");
    Ok(Measures { success: headline("success"), mean_s, p99_s, maintenance })
}

/// Returns the means over seeds.
fn mean(seeds: u64, run: impl Fn(u64) -> Result<Measures, Error>) -> Result<Measures, Error> {
    let mut mean = Measures::default();
    for seed in 1..=seeds {
        let one = run(seed)?;
        mean.success += one.success / seeds as f64;
        mean.mean_s += one.mean_s / seeds as f64;
        mean.p99_s += one.p99_s / seeds as f64;
        mean.maintenance += one.maintenance / seeds as f64;
    }
    Ok(mean)
}

fn print(name: &str, Measures { success, mean_s, p99_s, maintenance }: Measures) {
    println!("| {name} | {:.2} % | {mean_s:.2} s | {p99_s:.2} s | {maintenance:.0} |", 100.0 * success);
}

fn heading(first: &str) {
    println!("\n| {first} | success | mean latency | 99 % | maintenance, B/s a node |\n|---|---|---|---|---|");
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().and_then(|nodes| nodes.parse().ok()).unwrap_or(500);
    let seeds = arguments.next().and_then(|seeds| seeds.parse().ok()).unwrap_or(3);
    let name = |session_s| if session_s == 0 { "none".to_owned() } else { format!("{session_s} s") };
    let sessions = [0, 3600, 1800, 600, 300, 120, 60];
    heading("Chord, stabilise 20 s: mean session");
    for session_s in sessions {
        print(&name(session_s), mean(seeds, |seed| chord(nodes, session_s, 20, seed))?);
    }
    heading("Kademlia, k 20, refresh 600 s: mean session");
    for session_s in sessions {
        print(&name(session_s), mean(seeds, |seed| kademlia(nodes, session_s, (20, 600), seed))?);
    }
    heading("Chord, sessions of 300 s: stabilise");
    for stabilise_s in [2, 5, 10, 20, 40, 80] {
        print(&format!("{stabilise_s} s"), mean(seeds, |seed| chord(nodes, 300, stabilise_s, seed))?);
    }
    heading("Kademlia, sessions of 300 s: k, refresh");
    for (k, refresh_s) in [(20, 30), (20, 120), (20, 600), (20, 3600), (8, 600), (4, 600), (2, 600)] {
        print(&format!("{k}, {refresh_s} s"), mean(seeds, |seed| kademlia(nodes, 300, (k, refresh_s), seed))?);
    }
    Ok(())
}
