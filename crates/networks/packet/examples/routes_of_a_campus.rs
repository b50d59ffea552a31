//! Prints the time and the memory that the routes of a ring of campus networks take.
//!
//! ```sh
//! cargo run --release -p parades-packet --example routes_of_a_campus -- [NETWORKS] [all | one]
//! ```
//!
//! A campus has 538 nodes and 504 flows; the default is 1000 campuses. Peak memory is shown on Linux only.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "the example measures time and prints it")]

use parades_packet::campus::Parameters;
use parades_topology::NodeId;
use parades_topology::routing::{Metric, Paths, Routes, Rules, StaticRoutes};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let networks: u32 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let paths = if arguments.next().is_some_and(|paths| paths == "one") { Paths::One } else { Paths::All };
    let began = Instant::now();
    let network = Parameters { networks, paths, ..Parameters::default() }.network(1)?;
    let topology = network.topology();
    println!("{} nodes, {} flows", topology.nodes(), network.flows().len());
    report("the network, with routes to all hosts", began, network.route_bytes());

    // Routes of both directions, before equal routes are shared.
    let there: Vec<(NodeId, NodeId)> = network.flows().iter().map(|flow| (flow.source, flow.destination)).collect();
    let both: Vec<(NodeId, NodeId)> = there.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    let names: Vec<u32> = (0..).take(both.len()).collect();
    let rules = Rules { metric: Metric::Hops, paths, statics: &StaticRoutes::default() };
    let began = Instant::now();
    let routes = Routes::by_rules(topology, &both, &names, rules)?;
    report("the search for routes of both directions", began, routes.bytes());
    Ok(())
}

fn report(what: &str, began: Instant, bytes: usize) {
    let mb = |bytes: f64| bytes / 1e6;
    let peak = peak_bytes().map_or_else(|| "unknown".to_owned(), |bytes| format!("{:.0} MB", mb(bytes as f64)));
    println!("{what}: {:.2} s, routes {:.1} MB, peak memory {peak}", began.elapsed().as_secs_f64(), mb(bytes as f64));
}

/// Returns the largest memory that the process has had.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
