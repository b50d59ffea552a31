//! Values of parameters that make no model are refused at the parameter that is wrong.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_catalog::{Scenario, Simulation};
use parades_config::{ConfigError, ScenarioFile, Values};

fn error(scenario: &str, values: &Values) -> String {
    Simulation::new(Scenario::named(scenario).unwrap(), values, 1).unwrap_err().to_string()
}

fn with(scenario: &str, assignments: &[&str]) -> Result<Values, ConfigError> {
    let mut values = Scenario::named(scenario)?.values();
    assignments.iter().try_for_each(|assignment| values.set_argument("--set", assignment))?;
    Ok(values)
}

#[test]
fn the_machine_can_be_restored_and_sends_over_networks_of_latencies() {
    let values = with("chord", &["form=machine"]).unwrap();
    let chord = Scenario::named("chord").unwrap();
    assert!(chord.is_restorable(&values) && !chord.is_restorable(&chord.values()));
    Simulation::new(chord, &values, 1).unwrap();
    let wanted = "--set form=machine: the form `machine` does not send over the network `precise`; \
                  set `network=constant` or `underlay`, or `form=program`";
    assert_eq!(error("chord", &with("chord", &["form=machine", "network=precise"]).unwrap()), wanted);
}

#[test]
fn laws_of_churn_that_are_impossible_are_refused_by_their_parameter() {
    let values = with("chord", &["session=60s", "session_law=pareto", "session_shape=1"]).unwrap();
    let wanted = "--set session_shape=1: the shape of a Pareto distribution must be above 1 for it to have a mean, not 1; \
                  choose another value";
    assert_eq!(error("chord", &values), wanted);
    let values = with("chord", &["session=60s", "absence=0s"]).unwrap();
    assert_eq!(error("chord", &values), "--set absence=0s: a mean length of zero leaves no time; choose another value");
    let said = error("chord", &with("chord", &["churn_file=/nowhere/at-all.txt"]).unwrap());
    assert!(said.contains("/nowhere/at-all.txt: the file cannot be read"), "{said}");
}

#[test]
fn nodes_that_cannot_be_are_refused_with_their_bound() {
    let said = with("chord", &["bits=32", "nodes=4294967294"]).unwrap_err().to_string();
    assert_eq!(said, "--set nodes=4294967294: `nodes` must be between 1 and 4294967293, not 4294967294");
    let values = with("chord", &["bits=4", "nodes=17"]).unwrap();
    let wanted = "--set nodes=17: 17 nodes are more than the 16 identifiers of 4 bits; choose another value";
    assert_eq!(error("chord", &values), wanted);
    let values = with("chord", &["network=precise", "nodes=3000000"]).unwrap();
    let wanted = "--set nodes=3000000: without a platform, the network `precise` takes 2097152 nodes at most; \
                  lower it, or give a `platform`, whose hosts they share";
    assert_eq!(error("chord", &values), wanted);
}

#[test]
fn a_platform_that_is_missing_is_told_of_where_a_scenario_file_names_it() {
    let text = "scenario = \"chord\"\n[parameters]\nnetwork = \"precise\"\nplatform = \"/nowhere/at-all.xml\"\n";
    let file = ScenarioFile::parse("run.toml".as_ref(), text.into()).unwrap();
    let mut values = Scenario::named("chord").unwrap().values();
    file.apply(&mut values).unwrap();
    let said = error("chord", &values);
    assert!(said.starts_with("run.toml:4:12: /nowhere/at-all.xml cannot be read"), "{said}");
}

#[test]
fn a_platform_without_a_route_is_named() {
    let text = r#"<platform version="4.1"><zone id="w" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/></zone></platform>"#;
    let path = std::env::temp_dir().join(format!("parades-apart-{}.xml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let said = error("flows", &with("flows", &[&format!("platform={}", path.display())]).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert!(said.starts_with(&format!("{}: the platform has no route from ", path.display())), "{said}");
}

#[test]
fn flows_of_a_campus_come_from_a_file_and_a_wrong_word_is_named_with_its_place() {
    let file = |name: &str, text: &str| {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let values = |path: &str| with("campus", &["traffic=tcp", &format!("flows={path}")]).unwrap();
    let right = file("right.txt", "# two flows\n0 17 3 1.25 # one\n\n  1\t503 5 0\r\n#0 504 9\n");
    Simulation::new(Scenario::named("campus").unwrap(), &values(&right), 1).unwrap();
    let form = "write `campus host server start_s`, for example `0 17 3 1.25`";
    for (text, says) in [
        ("0 17 3 1.25\n0 x 3 1\n", "flows.txt:2:3: `x` is no number"),
        ("0 17 3\n", "flows.txt:1:1: the line has 3 words, and a flow has four"),
        ("0 17 3 1s\n", "flows.txt:1:8: `1s` is no time in seconds"),
        ("0 17 3 -1\n", "flows.txt:1:8: `-1` is no time in seconds"),
        ("0 -1 3 1\n", "flows.txt:1:3: `-1` is no number"),
        ("2 17 3 1\n", "flows.txt:1:1: there is no campus 2: with these parameters they are 0 to 1"),
        ("0 504 3 1\n", "flows.txt:1:3: there is no host 504: with these parameters they are 0 to 503"),
        ("0 17 6 1\n", "flows.txt:1:6: there is no server 6: with these parameters they are 2 to 5"),
        ("# nothing\n", "flows.txt: the file has no flow"),
    ] {
        let said = error("campus", &values(&file("flows.txt", text)));
        assert!(said.ends_with(&format!("{says}; {form}")), "{said}");
    }
    let udp = with("campus", &[&format!("flows={right}")]).unwrap();
    assert!(
        error("campus", &udp).contains("`flows` acts only with `traffic=tcp`; set `traffic=tcp`, or leave `flows` out")
    );
    let udp = with("campus", &["congestion=bbr"]).unwrap();
    assert!(error("campus", &udp).contains("`congestion` acts only with `traffic=tcp`"));
}
