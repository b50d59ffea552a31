//! Ctrl-C, SIGTERM and SIGHUP begin to end a run at once, on every engine, with the results so far.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]
#![cfg(unix)]

use crate::common::{Folder, command, parades};
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Starts a command that would take hours, sends it a signal after `after`, and returns its output.
fn signalled(folder: &Folder, arguments: &str, name: &str, after: Duration) -> Output {
    let child = command(&folder.0, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(after);
    assert!(Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

/// A window, as wide as the least latency, has billions of calls of each node.
const CROWDED: &str = "run gossip --set period=1ps --quiet --json";

#[test]
fn a_window_of_very_many_events_is_left() {
    let folder = Folder::new("crowded");
    for (engine, signal) in [
        ("sequential", "TERM"),
        ("rounds --threads 2", "TERM"),
        ("window --threads 1", "TERM"),
        ("window --threads 2", "TERM"),
        ("window --threads 2 --tune order=lp", "TERM"),
        ("window --threads 2 --processes 2", "TERM"),
        ("null-message --threads 1", "TERM"),
        ("null-message --threads 2", "TERM"),
        ("null-message --threads 2 --tune order=lp", "TERM"),
        ("null-message --threads 1 --processes 2", "TERM"),
        ("time-warp --threads 2", "TERM"),
        ("auto", "TERM"),
    ] {
        let run = format!("{CROWDED} --until 1s --engine {engine}");
        let output = signalled(&folder, &run, signal, Duration::from_millis(700));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{engine}: {said}");
        let run: Value = serde_json::from_slice(&output.stdout).expect("the results so far");
        if run["digest"].is_null() {
            // On a machine that is busy with other work, the grace may be over before a consistent cut.
            let notes = run["notes"].to_string();
            assert!(notes.contains("stopped among the events"), "{engine}: {notes}");
            continue;
        }
        // The cut is consistent: a run until there has the same digest, whatever engine executes it.
        let until = run["until"].as_str().unwrap();
        let again = parades(&folder.0, &format!("{CROWDED} --engine sequential --until {until}"));
        let again: Value = serde_json::from_slice(&again.stdout).expect("it is JSON");
        assert_eq!((&again["digest"], &again["events"]), (&run["digest"], &run["events"]), "{engine}");
    }
}

#[test]
fn a_stopped_comparison_has_the_runs_that_are_over() {
    let folder = Folder::new("stopped-comparison");
    let compare = "compare phold --until 100000s --engines sequential,window --quiet";
    let output = signalled(&folder, compare, "TERM", Duration::from_millis(500));
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_round_that_would_take_minutes_is_left_without_a_digest() {
    let folder = Folder::new("long-round");
    // All events are of one time.
    let one_round = "run phold --set lps=100000 --set start_events=8 --set delay=constant --set lookahead=1 \
                     --set mean_delay=1 --set work=200000 --until 2s --quiet --json";
    for engine in ["sequential", "rounds --threads 1", "rounds --threads 2"] {
        let output = signalled(&folder, &format!("{one_round} --engine {engine}"), "TERM", Duration::from_millis(1500));
        assert_eq!(output.status.code(), Some(130), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
        // The whole round takes 80 s of two cores, and has 800,000 events.
        let run: Value = serde_json::from_slice(&output.stdout).expect("the results so far");
        assert!(run["digest"].is_null() && run["events"].as_u64() < Some(800_000), "{engine}: {run}");
        assert!(run["notes"][0].as_str().unwrap().starts_with("stopped among the events of 1s"), "{engine}: {run}");
    }
}
