//! The underlay of peer-to-peer scenarios: what its parameters make, and what they refuse.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_catalog::{Scenario, Simulation};
use std::path::PathBuf;

/// Writes a file, and returns its name.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Makes Chord over an underlay.
fn make(assignments: &[&str]) -> Result<Simulation, String> {
    let scenario = Scenario::named("chord").unwrap();
    let mut values = scenario.values();
    for assignment in ["network=underlay", "nodes=20"].iter().chain(assignments) {
        values.set_argument("--set", assignment).map_err(|error| error.to_string())?;
    }
    Simulation::new(scenario, &values, 1).map_err(|error| error.to_string())
}

fn refused(assignments: &[&str]) -> String {
    make(assignments).expect_err("it is impossible")
}

#[test]
fn every_source_makes_an_underlay_by_both_forms() {
    let matrix = format!("matrix={}", file("matrix.txt", "0 10 -1\n10 0 30\n20 30 0\n"));
    let entry = |us: u32| [us, us + 10, us + 100, 5].into_iter().flat_map(u32::to_le_bytes);
    let cities = format!("cities={}", file("cities.bin", [100, 900, 900, 100].into_iter().flat_map(entry).collect::<Vec<u8>>()));
    let coordinates = format!("coordinates={}", file("coordinates.txt", "0 0 1\n30 40 2\n"));
    let ring: String = (0..30).map(|node| format!("{node}\t{}\n", (node + 1) % 30)).collect();
    let graph = format!("graph={}", file("ring.txt", ring));
    let sources: [&[&str]; 8] = [
        &[],
        &["routing=hop-by-hop"],
        &["underlay=constant"],
        &["underlay=matrix", "missing=detour", &matrix],
        &["underlay=cities", "jitter_law=measured", &cities],
        &["underlay=coordinates", &coordinates],
        &["underlay=coordinates", "missing=detour", "dimensions=2", &matrix],
        &["underlay=graph", "routing=hop-by-hop", &graph],
    ];
    for source in sources {
        for form in ["form=program", "form=machine"] {
            let faults = ["jitter=1ms", "loss=1%", "partition_at=5s", "partition_for=5s", form];
            let simulation = make(&[source, &faults].concat()).unwrap();
            let has_routers = source.contains(&"routing=hop-by-hop");
            assert_eq!(simulation.lps() > 20, has_routers, "{source:?}: {} LPs", simulation.lps());
        }
    }
}

#[test]
fn impossible_underlays_are_refused_at_their_parameters() {
    assert_eq!(
        refused(&["stub_domains=1", "stub_nodes=10"]),
        "--set nodes=20: 20 peers need a place of their own each, but there are only 12 stub routers; \
         raise `stub_domains` or `stub_nodes`, or lower it"
    );
    let small = format!("graph={}", file("small.txt", "1 2\n"));
    assert_eq!(
        refused(&["underlay=graph", &small]),
        "--set nodes=20: 20 peers need a place of their own each, but there are only 2 nodes in the graph; \
         lower it, or give a larger graph"
    );
    assert_eq!(
        refused(&["underlay=matrix"]),
        "--set underlay=matrix: the underlay `matrix` needs a file; set `matrix` to its name"
    );
    assert_eq!(
        refused(&["underlay=constant", "routing=hop-by-hop"]),
        "--set routing=hop-by-hop: the underlay `constant` has no routers; \
         set `underlay=transit-stub` or `graph`, or leave it out"
    );
    assert_eq!(
        refused(&["jitter_law=measured"]),
        "--set jitter_law=measured: the underlay `transit-stub` has no measured jitter; \
         set `underlay=cities`, or choose another law"
    );
    assert!(refused(&[&small]).ends_with("the underlay `transit-stub` reads no `graph`; set `underlay=graph`, or leave it out"));
    assert_eq!(
        refused(&["partition_for=1s", "partition_groups=21"]),
        "--set partition_groups=21: 20 peers cannot be parted into 21 groups; lower it, or simulate more peers"
    );
    let negative = file("negative.txt", "0 1\n-1 0\n");
    let set = format!("matrix={negative}");
    assert_eq!(refused(&["underlay=matrix", &set]), format!("{negative}:2:1: a latency cannot be -1; write a number from 0 on"));
    let oblong = file("oblong.txt", "0 1\n1 0\n2 2\n");
    let set = format!("matrix={oblong}");
    assert!(refused(&["underlay=matrix", &set]).starts_with(&format!("{oblong}:1:1: this line has 2 latencies, not 3")));
    assert!(refused(&["underlay=cities", "cities=/nowhere/at-all.bin"]).contains("the file cannot be read"));
    assert!(refused(&["latency_min=0s"]).contains("`latency_min` must be above 0"));
}
