//! A replay notes the parts of its platform, and the parameters, that have no effect on it.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_catalog::{Scenario, Simulation};

/// Makes the replay of a trace on a platform of two hosts. Returns its notes, without the name of the file.
fn notes(name: &str, trace: &str, set: &[&str]) -> Vec<String> {
    let platform = r#"<platform version="4.1"><config><prop id="network/model" value="SMPI"/></config><zone id="w" routing="Full">
<host id="a" speed="1Gf,2Gf" core="2"><disk id="d" read_bw="1MBps" write_bw="1MBps"/></host><host id="b" speed="1Gf"/>
<link id="l" bandwidth="1GBps" latency="10ms"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"#;
    let file = |end: &str| std::env::temp_dir().join(format!("parades-{name}-{}.{end}", std::process::id()));
    std::fs::write(file("xml"), platform).unwrap();
    std::fs::write(file("ti"), trace).unwrap();
    let scenario = Scenario::named("replay").unwrap();
    let mut values = scenario.values();
    for (key, end) in [("platform", "xml"), ("trace", "ti")] {
        values.set_argument("--set", &format!("{key}={}", file(end).display())).unwrap();
    }
    set.iter().for_each(|assignment| values.set_argument("--set", assignment).unwrap());
    let simulation = Simulation::new(scenario, &values, 1).unwrap();
    ["xml", "ti"].iter().for_each(|end| std::fs::remove_file(file(end)).unwrap());
    simulation.notes.iter().map(|note| note.replace(&file("xml").display().to_string(), "FILE")).collect()
}

#[test]
fn the_notes_of_the_platform_are_those_of_the_replay() {
    // The cores and the speeds of a host have an effect on computations.
    let expected = [
        "FILE:2:39: a disk of a host has no effect",
        "the platform's network/model is set aside for `model`",
        "3 ranks share the platform's 2 hosts",
    ];
    assert_eq!(notes("platform", "0 init\n1 init\n2 init\n", &["model=CM02"]), expected);
}

#[test]
fn an_algorithm_of_alltoall_without_that_action_is_noted() {
    let of_all_to_all = |trace: &str, set: &str| -> Vec<String> {
        let notes = notes("alltoall", trace, &["model=CM02", set]).into_iter();
        notes.filter(|note| note.contains("alltoall")).collect()
    };
    let note = "`alltoall` has no effect: no rank of the trace has that action";
    assert_eq!(of_all_to_all("0 alltoallv 8 8 8 8\n", "alltoall=pairwise"), [note]);
    assert!(of_all_to_all("0 alltoall 8 8\n", "alltoall=pairwise").is_empty());
    assert!(of_all_to_all("0 barrier\n", "alltoall=auto").is_empty());
}
