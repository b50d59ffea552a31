//! A network of a file, with a congestion control, a queue, a protocol and an application of this crate. It
//! runs on each engine, and all must give one digest.

mod choke;
mod pages;
mod ping;
mod scalable;

use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_netfile::NetworkFile;
use parades_packet::description::{App, AppKind, Description, Ends, Marking};
use parades_packet::network::Network;
use parades_packet::protocols::tcp::{ENDLESS, Tcp, Writes};
use parades_packet::queue::QueueLimit;
use parades_packet::segment::SegmentRef;
use parades_tcp::settings::Settings;
use parades_topology::NodeId;

/// Two hosts on each side of a slow link, and a flood of packets that heeds no congestion.
const FILE: &str = r#"
network = "a slow link with a flood"
until = "20s"
headers = "28B"

[defaults]
rate = "100Mbps"
delay = "2ms"

[[part]]
name = "net"
kind = "dumbbell"
size = 2
trunk_rate = "10Mbps"
trunk_delay = "10ms"

[[app]]
name = "flood"
kind = "poisson"
from = "net.left.0"
to = "net.right.0"
rate = "8Mbps"
"#;

/// Reads the network, and adds the parts of this crate.
fn network() -> Result<(Network<SegmentRef>, Time), Box<dyn std::error::Error>> {
    let file = NetworkFile::parse("flood.toml".as_ref(), FILE.into())?.ok_or("it has the key `network`")?;
    let (mut description, until, _) = file.describe(&file.parameters(), 1)?;
    let slow = description.links.iter_mut().find(|link| link.rate_bps == 10_000_000).ok_or("there is a slow link")?;
    slow.queue = choke::discipline(10, QueueLimit::Packets(100));
    let settings = Settings { algorithm: scalable::algorithm(), ..Settings::linux() };
    let writes = Some(Writes { bytes: 100_000, rate_bps: Some(10_000_000) });
    let bulk = Tcp { settings: settings.clone(), bytes: ENDLESS, writes, read_rate_bps: None };
    add(&mut description, "bulk", AppKind::Tcp(Box::new(bulk)));
    add(&mut description, "ping", ping::kind(Delay::from_ms(20), 500));
    add(&mut description, "pages", pages::kind(40, settings));
    Ok((Network::described(description)?, until))
}

/// Adds an app between the second hosts of both sides.
fn add(description: &mut Description, name: &str, kind: AppKind) {
    let node = |name: &str| {
        let place = description.nodes.iter().position(|node| node == name).expect("the file has the node");
        NodeId(u32::try_from(place).expect("nodes are counted in 32 bits"))
    };
    let ends = Ends { source: node("net.left.1"), destination: node("net.right.1"), start: Time::from_ms(100) };
    description.apps.push(App { name: name.into(), kind, marking: Marking::default(), flows: vec![ends] });
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (network, until) = network()?;
    let options = || RunOptions::until(until);
    let expected = sequential::run(&network, options())?;
    print(&expected);
    let mut runs: Vec<(&str, Result<Outcome, Error>)> = vec![("rollback-check", rollback_check::run(&network, options()))];
    for workers in 1..=3 {
        let windows = window::Settings::of_threads(workers);
        let null_messages = null_message::Settings::of_threads(workers);
        let optimistic = time_warp::Settings::of_threads(workers);
        runs.push(("window", window::run(&network, options(), &windows)));
        runs.push(("null-message", null_message::run(&network, options(), &null_messages)));
        runs.push(("time-warp", time_warp::run(&network, options(), &optimistic)));
    }
    for (engine, outcome) in runs {
        let outcome = outcome?;
        assert_eq!((outcome.digest, outcome.events), (expected.digest, expected.events), "{engine}");
        assert_eq!(outcome.metrics, expected.metrics, "{engine}");
    }
    println!("one digest under five engines, on 1 to 3 workers: {:?}", expected.digest);
    Ok(())
}

/// Prints some columns of the table of flows, and the times of pings and pages in milliseconds.
fn print(outcome: &Outcome) {
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).expect("a network has flows");
    for column in ["app", "packets_sent", "packets_lost", "bytes_received", "throughput"] {
        let place = table.columns().iter().position(|known| &*known.name == column).expect("flows have the column");
        let cells: Vec<String> = table.rows().iter().map(|row| format!("{:?}", row[place])).collect();
        println!("{column:15} {}", cells.join(" "));
    }
    for name in ["completion_ping", "completion_pages"] {
        let tally = outcome.metrics.get(name).and_then(|metric| metric.tally()).expect("the app measures durations");
        let [least, most] = [tally.min(), tally.max()].map(|time| time.unwrap_or(0) as f64 / 1e9);
        println!("{name}: {} of {least:.1} to {most:.1} ms", tally.count());
        assert!(tally.count() >= 40, "{name} was measured {} times", tally.count());
    }
}
