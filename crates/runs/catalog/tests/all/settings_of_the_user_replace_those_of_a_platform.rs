//! A platform file sets the network model of `flows`. Parameters replace these settings.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_catalog::{Choice, Scenario, Simulation, Wish};
use parades_core::run::RunOptions;

/// The route of the two hosts: a link with a latency of 10 ms.
const ROUTE: &str =
    r#"<link id="l" bandwidth="1GBps" latency="10ms"/><route src="a" dst="b"><link_ctn id="l"/></route>"#;

/// Makes flows on a platform of two hosts, with this `config` and these links, and these values set.
fn flows(name: &str, (config, links): (&str, &str), set: &[&str]) -> Result<Simulation, String> {
    let text = format!(
        r#"<platform version="4.1">{config}<zone id="w" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>{links}</zone></platform>"#
    );
    let path = std::env::temp_dir().join(format!("parades-{name}-{}.xml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let scenario = Scenario::named("flows").unwrap();
    let mut values = scenario.values();
    values.set_argument("--set", &format!("platform={}", path.display())).unwrap();
    set.iter().for_each(|assignment| values.set_argument("--set", assignment).unwrap());
    let simulation = Simulation::new(scenario, &values, 1);
    std::fs::remove_file(&path).unwrap();
    simulation.map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
}

#[test]
fn the_constant_model_needs_no_route() {
    let simulation = flows("constant", ("", ""), &["model=constant", "flows=5"]).unwrap();
    let note = "under the model constant each flow takes 1ms, and links and routes have no effect";
    assert_eq!(simulation.notes, [note]);
}

#[test]
fn a_model_that_is_set_replaces_the_one_of_the_platform() {
    let config = r#"<config><prop id="network/model" value="SMPI"/></config>"#;
    let said = flows("smpi", (config, ""), &[]).unwrap_err();
    assert!(said.contains("is none of the models"), "{said}");
    let constant = flows("other", (config, ""), &["model=constant", "flows=5"]).unwrap();
    assert_eq!(constant.notes[0], "the platform's network/model is set aside for `model`");
}

#[test]
fn settings_have_the_names_of_simgrid() {
    let said = flows("precision", ("", ROUTE), &["maxmin/precision=much"]).unwrap_err();
    assert_eq!(said, "--set maxmin/precision=much: `much` is not a number from 0 to below 1; correct it");
    // The window bounds the rate: 65,536 bytes a round trip of 20 ms are 3,276,800 bytes/s. The first byte
    // waits for the latency.
    let pattern = std::env::temp_dir().join(format!("parades-window-{}.txt", std::process::id()));
    std::fs::write(&pattern, "0 a b 3276800 0\n").unwrap();
    let config =
        r#"<config><prop id="network/model" value="CM02"/><prop id="network/TCP-gamma" value="1024"/></config>"#;
    let set = [&format!("pattern={}", pattern.display()), "network/TCP-gamma=65536"];
    let simulation = flows("window", (config, ROUTE), &set).unwrap();
    std::fs::remove_file(&pattern).unwrap();
    let wish = Wish { engine: "sequential", threads: None, processes: None, processes_here: None, tune: &[] };
    let outcome = simulation.run(&Choice::of(wish).unwrap(), RunOptions::until(simulation.until)).unwrap();
    let duration = outcome.metrics.get("duration").and_then(|metric| metric.tally()).unwrap().max().unwrap();
    assert!(duration.abs_diff(1_010_000_000_000) < 1_000, "{duration} ps");
}
