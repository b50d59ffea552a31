//! The code of docs/own-programs.md is the example `own_program`, and its commands run.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const PAGE: &str = include_str!("../../../../../docs/own-programs.md");

/// Runs the example in a folder that has a file of latencies.
fn rumour(folder: &Path, arguments: &str) -> Output {
    let tests = std::env::current_exe().expect("this test has a path");
    let program = tests.ancestors().nth(2).expect("a target folder").join("examples/own_program");
    assert!(program.exists(), "`cargo test -p parades` builds the examples too; `--test` alone does not");
    std::fs::write(folder.join("latencies.txt"), "0 80 120\n80 0 60\n120 60 0\n").expect("a folder");
    Command::new(program).args(arguments.split_whitespace()).current_dir(folder).output().expect("it starts")
}

fn json(arguments: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let output = rumour(folder.path(), &format!("{arguments} --json --quiet"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn error(arguments: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let output = rumour(folder.path(), arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn the_whole_program_of_the_page_is_the_example() {
    let example = include_str!("../../examples/own_program.rs");
    let (_, code) = example.split_once("\n\n").expect("a head, then the code");
    let block = PAGE.split("```rust,no_run\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(block, Some(code));
}

#[test]
fn the_commands_of_the_page_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("rumour ")).collect();
    assert_eq!(commands.len(), 6);
    for command in commands {
        let output = rumour(folder.path(), command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!command.contains("matrix") || error.contains("100 peers share the 3 places"), "{error}");
    }
}

#[test]
fn a_rumour_takes_the_latencies_of_the_file() {
    // Two nodes at two places: one way is half of 80 us, and with `round_trip=false` all of it.
    let first = |more: &str| {
        let run = json(&format!(
            "run rumour --set nodes=2 --set period=1us --set underlay=matrix --set matrix=latencies.txt --set unit=1us \
             --set access_latency=0s --until 1ms {more}"
        ));
        run["metrics"]["heard_after_s"]["max"].as_f64().expect("both have heard it")
    };
    let (half, whole) = (first(""), first("--set round_trip=false"));
    assert!((39e-6..60e-6).contains(&half), "{half} s after the first telling, which is within some periods");
    assert!((whole - half - 40e-6).abs() < 1e-9, "{whole} and {half}");
}

#[test]
fn crashes_cost_the_nodes_their_state() {
    let run = |more: &str| json(&format!("run rumour --set session=10s --set absence=1s --set crash=1 {more}"));
    let count = |run: &Value, metric: &str| run["metrics"][metric].as_u64().expect("a counter");
    let (loses, keeps) = (run(""), run("--set keep_state=1"));
    // 99 nodes come and go in 11 s on the mean, for 60 s: 540 crashes, of sessions without memory.
    assert!((440..640).contains(&count(&loses, "crashes")), "{loses}");
    let heard = |run: &Value| run["metrics"]["heard_after_s"]["count"].as_u64().expect("a count");
    assert!(heard(&loses) > 300, "nodes hear it again after each crash: {loses}");
    assert_eq!(heard(&keeps), 100, "each node hears it once: {keeps}");
}

#[test]
fn the_groups_of_parameters_have_their_checks_and_notes() {
    assert_eq!(
        error("run rumour --set underlay=matrix"),
        "error: --set underlay=matrix: the underlay `matrix` needs a file; set `matrix` to its name\n"
    );
    assert!(error("run rumour --set absence=5s").contains("`absence` acts only with `session`"));
    assert!(error("run rumour --set nodes=2 --set churn_file=latencies.txt").contains("latencies.txt"));
}

#[test]
fn every_engine_and_two_processes_give_one_answer() {
    let compared = json("compare rumour --set nodes=50 --set session=20s --threads 2");
    let runs = compared["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 4, "the engines that roll back are left out: {compared}");
    assert!(runs.iter().all(|run| run["same"] == true), "{compared}");
    let digest = |more: &str| json(&format!("run rumour --set nodes=50 --set session=20s {more}"))["digest"].clone();
    assert_eq!(digest("--engine sequential"), digest("--engine window --processes 2 --threads 1"));
    let refused = error("run rumour --engine time-warp");
    assert!(refused.contains("rolls back, and the state of `rumour` cannot be restored"), "{refused}");
}

#[test]
#[cfg(not(feature = "mpi"))]
fn under_mpirun_the_program_says_how_to_build_it() {
    let tests = std::env::current_exe().expect("this test has a path");
    let program = tests.ancestors().nth(2).expect("a target folder").join("examples/own_program");
    let run = Command::new(program).args(["run", "rumour"]).env("OMPI_COMM_WORLD_SIZE", "2").output();
    let error = String::from_utf8(run.expect("it starts").stderr).expect("text");
    assert!(
        error.contains("built without MPI; build it with `cargo build --release --features parades/mpi`"),
        "{error}"
    );
    assert!(PAGE.contains("\ncargo build --release --features parades/mpi\n"));
}
