//! A parameter of a model is declared at a field of its struct, and nowhere else: the command and the library
//! have the same defaults. A second `Default` of such a struct does not compile.

use parades_catalog::{SCENARIOS, Scenario};
use parades_config::{FromValues, Parameter};
use parades_models::{clusters, faulty, multicast, phold, queueing, transfer};
use parades_p2p::{averaging, bittorrent, chord, gossip, gossipsub, kademlia};
use parades_packet::{campus, wan};
use parades_topology::import;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

/// A scenario, the file of its source, and the parameters of a struct.
struct Row {
    scenario: &'static str,
    file: &'static str,
    parameters: &'static [Parameter],
    check: fn(&Scenario),
}

const fn row<P: FromValues + Default + PartialEq + Debug>(scenario: &'static str, file: &'static str) -> Row {
    Row { scenario, file, parameters: P::PARAMETERS, check: defaults_agree::<P> }
}

const ROWS: &[Row] = &[
    row::<averaging::Parameters>("averaging", "averaging.rs"),
    row::<bittorrent::Parameters>("bittorrent", "bittorrent.rs"),
    row::<campus::Parameters>("campus", "campus.rs"),
    row::<chord::Parameters>("chord", "chord.rs"),
    row::<clusters::Parameters>("clusters", "clusters.rs"),
    row::<faulty::Faulty>("faulty", "faulty.rs"),
    row::<gossip::Parameters>("gossip", "gossip.rs"),
    row::<gossipsub::Parameters>("gossipsub", "gossipsub.rs"),
    row::<import::Options>("wan", "wan.rs"),
    row::<kademlia::Parameters>("kademlia", "kademlia.rs"),
    row::<multicast::Parameters>("multicast", "multicast.rs"),
    row::<phold::Parameters>("phold", "phold.rs"),
    row::<queueing::Generated>("jackson", "queueing.rs"),
    row::<transfer::Parameters>("transfer", "transfer.rs"),
    row::<wan::Parameters>("wan", "wan.rs"),
];

/// The scenarios without a struct: `mm1` has some of the parameters of `jackson`, `flows` and `replay` their
/// own, and those of `network` are in files.
const WITHOUT_STRUCT: [&str; 4] = ["flows", "mm1", "network", "replay"];

fn defaults_agree<P: FromValues + Default + PartialEq + Debug>(scenario: &Scenario) {
    let of_command = P::from_values(&scenario.values()).expect("the defaults are possible");
    assert_eq!(of_command, P::default(), "{}", scenario.name);
}

/// Returns the keys that a source text declares by constructors of `Parameter`.
fn declared(text: &str) -> Vec<&str> {
    let calls = text.split("Parameter::").skip(1);
    calls.filter_map(|call| call.split_once('(')?.1.trim_start().strip_prefix('"')?.split('"').next()).collect()
}

/// Returns the source files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it is readable").path());
    let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

#[test]
fn every_scenario_has_the_defaults_of_its_structs() {
    for scenario in SCENARIOS {
        let rows = ROWS.iter().filter(|row| row.scenario == scenario.name);
        let checked = rows.map(|row| (row.check)(scenario)).count();
        assert_eq!(checked == 0, WITHOUT_STRUCT.contains(&scenario.name), "{} is in one of the tables", scenario.name);
    }
}

#[test]
fn no_scenario_declares_a_parameter_of_its_struct() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scenarios");
    for row in ROWS {
        let text = fs::read_to_string(folder.join(row.file)).expect("the file is there");
        let keys = declared(&text);
        let twice = row.parameters.iter().find(|parameter| keys.contains(&parameter.key()));
        assert!(twice.is_none(), "{} declares `{}`, which is a field", row.file, twice.map_or("", Parameter::key));
    }
}

#[test]
fn every_struct_of_parameters_declares_them() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = 0;
    for path in [sources(&crates.join("systems")), sources(&crates.join("networks"))].concat() {
        let text = fs::read_to_string(&path).expect("the file is readable");
        for (before, _) in text.match_indices("\npub struct Parameters {").map(|(at, _)| text.split_at(at)) {
            let derive = before.lines().next_back().unwrap_or_default();
            assert!(derive.contains("parades_config::Parameters"), "{}: {derive}", path.display());
            found += 1;
        }
    }
    assert!(found >= 10, "{found} structs were found");
}
