//! A program with a scenario of its own has the whole command: the example `own_command`.

use serde_json::Value;
use std::process::{Command, Output};

fn own_command(arguments: &str) -> Output {
    let tests = std::env::current_exe().expect("this test has a path");
    let program = tests.ancestors().nth(2).expect("a target folder").join("examples/own_command");
    assert!(program.exists(), "`cargo test -p parades` builds the examples too; `--test` alone does not");
    Command::new(program).args(arguments.split(' ')).output().expect("it starts")
}

fn text(arguments: &str) -> String {
    let output = own_command(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&text(arguments)).expect("JSON")
}

#[test]
fn its_scenario_is_listed_and_shown() {
    assert!(text("list").starts_with("token-ring   a token goes round a ring\n"));
    assert!(text("show token-ring").contains("hold = \"5ms\""));
    let help = text("--help");
    assert!(help.contains("Usage: own_command "), "{help}");
    let wrong = own_command("run token-ring --set nodes=1");
    let message = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(message.trim_end(), "error: --set nodes=1: `nodes` must be between 2 and 1000000, not 1");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn its_scenario_is_run_and_compared() {
    let run = json("run token-ring --until 10s --json --quiet");
    // A node holds the token for 5 ms on average, and a link takes 1 ms.
    let passes = run["metrics"]["passes"].as_u64().expect("a counter");
    assert!((1_500..1_850).contains(&passes), "10 s are about 1,667 passes, not {passes}");
    let engines = "sequential,window,null-message,time-warp,rounds,rollback-check";
    let compared = json(&format!("compare token-ring --until 1s --engines {engines} --threads 2 --json --quiet"));
    let runs = compared["runs"].as_array().expect("a list");
    assert!(runs.len() == 6 && runs.iter().all(|run| run["same"] == true && run["events"].as_u64() > Some(300)));
}

#[test]
fn its_scenario_is_swept() {
    let swept = json("sweep token-ring --set nodes=5,10 --seeds 1..3 --until 1s --json --quiet");
    let points = swept["points"].as_array().expect("a list");
    assert_eq!((points.len(), &swept["finished"]), (2, &Value::from(6)));
    for point in points {
        let mean = point["metrics"]["passes"]["mean"].as_f64().expect("a mean");
        assert!((130.0..210.0).contains(&mean), "a second is about 167 passes, not {mean}");
    }
}
