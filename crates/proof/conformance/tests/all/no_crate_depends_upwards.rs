//! A crate uses its own floor and those below it. The folders under `crates/` are the floors.

use crate::workspace;
use serde_json::Value;
use std::collections::BTreeMap;

/// The floors, from the ground up.
const FLOORS: [&str; 8] = ["ground", "contract", "networks", "systems", "engines", "runs", "proof", "doors"];

/// A crate of the project: its floor, and the crates that it needs.
struct Member {
    floor: usize,
    needs: Vec<String>,
}

/// Returns the crates of the project by name. Dependencies of tests alone are left out.
fn members() -> BTreeMap<String, Member> {
    let metadata = workspace::metadata();
    let text = |value: &Value| value.as_str().expect("it is text").to_owned();
    let list = |value: &Value| value.as_array().expect("it is a list").clone();
    let member = |package: &Value| {
        let path = text(&package["manifest_path"]);
        let floor = path.split('/').rev().nth(2).expect("a crate is in the folder of its floor");
        let floor = FLOORS.iter().position(|known| *known == floor).unwrap_or_else(|| panic!("{floor} is no floor"));
        let of_tests_alone = |need: &Value| need["kind"].as_str() == Some("dev");
        let needs = list(&package["dependencies"]).into_iter().filter(|need| !of_tests_alone(need));
        (text(&package["name"]), Member { floor, needs: needs.map(|need| text(&need["name"])).collect() })
    };
    list(&metadata["packages"]).iter().map(member).collect()
}

#[test]
fn each_crate_uses_its_own_floor_and_those_below() {
    let members = members();
    assert!(members.len() > 20, "{} crates", members.len());
    for (name, Member { floor, needs }) in &members {
        for need in needs {
            if let Some(needed) = members.get(need) {
                assert!(needed.floor <= *floor, "{name} ({}) needs {need}, from above", FLOORS[*floor]);
            }
        }
    }
}

#[test]
fn no_network_and_no_system_knows_an_engine() {
    let members = members();
    let engines = FLOORS.iter().position(|floor| *floor == "engines").expect("it is a floor");
    let below = members.iter().filter(|(_, member)| member.floor < engines);
    for (name, Member { needs, .. }) in below {
        let engine = needs.iter().find(|need| members.get(*need).is_some_and(|needed| needed.floor == engines));
        assert_eq!(engine, None, "{name} needs an engine");
    }
}
