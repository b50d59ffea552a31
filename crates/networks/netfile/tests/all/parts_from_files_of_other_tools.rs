//! A part from a file of another tool: its delays, rates and losses are those of the network.

use crate::common::{self, count};
use parades_core::time::Delay;
use parades_engine::sequential;
use parades_netfile::NetworkFile;
use std::path::{Path, PathBuf};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("parades-parts-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is a place for temporary files");
        Folder(folder)
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("it can be written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const NETWORK: &str = "network = \"imported\"\nuntil = \"10s\"\nheaders = \"0B\"\ndefaults = { rate = \"1Gbps\", delay = \"1ms\" }\n\
    part = [{ name = \"g\", kind = \"graph\", file = \"g.graphml\" }]\n\
    app = [{ name = \"x\", kind = \"constant\", from = \"g.poi-1\", to = \"g.poi-2\", rate = \"8Mbps\", packet = \"100B\" }]\n";

fn network(folder: &Path) -> NetworkFile {
    NetworkFile::parse(&folder.join("net.toml"), NETWORK.to_owned()).expect("right").expect("a network")
}

#[test]
fn loss_and_latency_of_a_graphml_file_happen_to_packets() {
    let folder = Folder::new("loss");
    folder.file(
        "g.graphml",
        "<graphml><key attr.name=\"packetloss\" for=\"edge\" id=\"l\"/><key attr.name=\"latency\" for=\"edge\" id=\"d\"/><graph>\
         <node id=\"poi-1\"/><node id=\"poi-2\"/>\
         <edge source=\"poi-1\" target=\"poi-2\"><data key=\"d\">50.0</data><data key=\"l\">0.01</data></edge></graph></graphml>",
    );
    let file = network(&folder.0);
    let built = file.build(&file.parameters(), 1).unwrap_or_else(|error| panic!("{error}"));
    let outcome = sequential::run(&built.model, common::options(1, built.until)).expect("it runs");
    let (sent, lost) = (count(&outcome, "packets_sent"), count(&outcome, "packets_lost_chance"));
    // Within four deviations of a binomial variable.
    let deviation = (sent as f64 * 0.01 * 0.99).sqrt();
    assert!((lost as f64 - sent as f64 * 0.01).abs() < 4.0 * deviation, "{lost} of {sent}");
    let delays = outcome.metrics.get("delay_x").and_then(|metric| metric.tally()).expect("packets arrive");
    // 100 bytes at 1 Gbit/s take 0.8 µs.
    assert_eq!(delays.min(), Some((Delay::from_ms(50).as_ps()) + 800_000));
}

#[test]
fn directions_that_differ_have_their_own_delays() {
    let folder = Folder::new("directions");
    folder.file(
        "g.graphml",
        "graph [ directed 1 node [ id 1 label \"poi-1\" ] node [ id 2 label \"poi-2\" ]\n\
         edge [ source 1 target 2 latency \"20 ms\" ] edge [ source 2 target 1 latency \"70 ms\" ] ]",
    );
    let (description, ..) = network(&folder.0).describe(&network(&folder.0).parameters(), 1).expect("right");
    let links: Vec<_> = description.links.iter().map(|link| (link.from, link.to, link.is_duplex, link.delay)).collect();
    assert_eq!(links, [(0, 1, false, Delay::from_ms(20)), (1, 0, false, Delay::from_ms(70))]);
}
