//! Prints how a fat tree carries a permutation: each host sends to one other host, and receives from one.
//!
//! ```sh
//! cargo run --release -p parades-netfile --example permutation_on_a_fat_tree -- [ARITY]
//! cargo run --release -p parades-netfile --example permutation_on_a_fat_tree -- ARITY LINK_RATE HOST_RATE > file.toml
//! ```
//!
//! The second form prints the network file of one row, for `parades run`. A hash of the flow selects among
//! equal paths, so several flows may meet on a link. Packets are lost only where such flows exceed the link's
//! rate.

#![expect(clippy::print_stdout, reason = "printing is its purpose")]

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_netfile::NetworkFile;
use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

/// The rates of links and of hosts, and the time until a run ends.
const ROWS: [(&str, &str, &str); 3] =
    [("1Gbps", "100Mbps", "100ms"), ("200Mbps", "100Mbps", "500ms"), ("100Mbps", "95Mbps", "1s")];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arity: u32 = arguments.first().map_or(Ok(8), |text| text.parse())?;
    if let [_, link_rate, host_rate] = arguments.as_slice() {
        print!("{}", file(arity, link_rate, host_rate, "1s"));
        return Ok(());
    }
    println!("links    hosts    core switches  links with losses  loss    largest utilisation");
    for (link_rate, host_rate, until) in ROWS {
        let text = file(arity, link_rate, host_rate, until);
        let file = NetworkFile::parse(Path::new("permutation.toml"), text)?.ok_or("it has the key `network`")?;
        let built = file.build(&file.parameters(), 1)?;
        let outcome = parades_engine::sequential::run(&built.model, RunOptions::until(built.until))?;
        print_row(link_rate, host_rate, &outcome.metrics)?;
    }
    Ok(())
}

/// Returns a file of a fat tree whose hosts send to hosts half of the network further on, in an order that is
/// turned by one for each pod.
fn file(arity: u32, link_rate: &str, host_rate: &str, until: &str) -> String {
    let half = arity / 2;
    let host = |pod: u32, edge: u32, host: u32| format!("\"t.host.{}.{}.{}\"", pod % arity, edge % half, host % half);
    let flows: Vec<String> = (0..arity)
        .flat_map(|pod| (0..half).flat_map(move |edge| (0..half).map(move |at| (pod, edge, at))))
        .map(|(pod, edge, at)| format!("[{}, {}]", host(pod, edge, at), host(pod + half, edge + pod, at + edge)))
        .collect();
    format!(
        r#"network = "a permutation on a fat tree"
until = "{until}"
routing = "hops"

[[part]]
name = "t"
kind = "fat-tree"
arity = {arity}
rate = "{link_rate}"
delay = "3us"

[[app]]
name = "permutation"
kind = "constant"
rate = "{host_rate}"
packet = "1470B"
flows = [{}]
"#,
        flows.join(", ")
    )
}

fn print_row(link_rate: &str, host_rate: &str, metrics: &Metrics) -> Result<(), Box<dyn Error>> {
    let count = |name: &str| metrics.get(name).and_then(|metric| metric.counter()).ok_or(name.to_owned());
    let table = metrics.get("links").and_then(|metric| metric.table()).ok_or("no table of links")?;
    let column = |name: &str| table.columns().iter().position(|column| &*column.name == name).ok_or(name.to_owned());
    let [from, lost, utilisation] = [column("from")?, column("lost_queue")?, column("utilisation")?];
    let (mut cores, mut lossy, mut busiest) = (BTreeSet::new(), 0, 0.0_f64);
    for row in table.rows() {
        if let Cell::Text(name) = &row[from]
            && name.starts_with("t.core.")
        {
            cores.insert(name.to_string());
        }
        lossy += u32::from(matches!(row[lost], Cell::Integer(lost) if lost > 0));
        if let Cell::Float(share) = row[utilisation] {
            busiest = busiest.max(share);
        }
    }
    let loss = count("packets_lost_queue")? as f64 / count("packets_sent")? as f64;
    let cores = cores.len();
    println!("{link_rate:8} {host_rate:8} {cores:13}  {lossy:17}  {loss:.4}  {busiest:.4}");
    Ok(())
}
