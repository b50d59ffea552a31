//! A process stays below its memory limit and a few megabytes, or ends with one sentence.

#![cfg(target_os = "linux")]

use crate::common::{Folder, command, parades};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// Bytes beyond the limit that a process may hold, without its code: 16 MiB, and what it holds from the
/// start.
const BESIDE: u64 = 20 << 20;

/// The end of a process: its exit status, its message, and the most memory that it held, without its code.
struct Ended {
    status: Option<i32>,
    said: String,
    peak_bytes: u64,
}

/// Executes the command, and looks at its memory all the time.
fn watched(folder: &Folder, arguments: &str) -> Ended {
    let mut child = command(&folder.0, arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    let status = format!("/proc/{}/status", child.id());
    let mut peak_bytes = 0;
    while child.try_wait().expect("the child is ours").is_none() {
        peak_bytes = peak_bytes.max(held_bytes(&fs::read_to_string(&status).unwrap_or_default()));
        std::thread::sleep(Duration::from_micros(200));
    }
    let output = child.wait_with_output().expect("the child is ours");
    Ended { status: output.status.code(), said: String::from_utf8_lossy(&output.stderr).into_owned(), peak_bytes }
}

/// Returns the most memory that a process has held, without its code, from its `/proc/PID/status`.
fn held_bytes(status: &str) -> u64 {
    let kib = |label: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(label));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    kib("VmHWM:").saturating_sub(kib("RssFile:")) << 10
}

/// Runs the command, and returns the JSON object that it prints.
fn json(folder: &Folder, arguments: &str) -> Value {
    let output = parades(&folder.0, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "parades {arguments}: {said}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Asserts that a run that needs more than 100 MB ends with one sentence, before it takes much more.
fn assert_refused(folder: &Folder, run: &str) {
    let Ended { status, said, peak_bytes } = watched(folder, &format!("run {run} --quiet --memory-limit 100MB"));
    assert_eq!(status, Some(1), "{run}: {said}");
    assert!(said.starts_with("error: ") && said.lines().count() == 1, "{run}: {said}");
    assert!(said.contains("raise the memory limit, or simulate less at a time"), "{run}: {said}");
    assert!(peak_bytes < 100_000_000 + BESIDE, "{run}: {peak_bytes} bytes");
}

#[test]
fn large_payloads_are_refused_before_they_are_allocated() {
    let folder = Folder::new("payloads");
    for engine in ["sequential", "rounds", "window", "null-message", "time-warp"] {
        assert_refused(&folder, &format!("phold --set lps=1000 --set payload=16000000 --engine {engine}"));
    }
}

#[test]
fn the_memory_of_a_built_model_counts() {
    let folder = Folder::new("models");
    for engine in ["sequential", "window"] {
        assert_refused(&folder, &format!("wan --set flows=300000 --engine {engine}"));
        assert_refused(&folder, &format!("flows --set flows=800000 --engine {engine}"));
    }
}

#[test]
fn a_run_within_its_limit_does_not_end_early() {
    let folder = Folder::new("within");
    let run = |engine: &str| {
        json(&folder, &format!("run wan --set flows=2000 --json --quiet --memory-limit 40MB --engine {engine}"))
    };
    let expected = run("sequential")["digest"].clone();
    for engine in ["rounds", "window", "null-message", "time-warp"] {
        let found = run(engine);
        assert_eq!(found["digest"], expected, "{engine}");
        assert!(found["stopped_at_s"].is_null(), "{engine}");
    }
}

#[test]
fn executions_ahead_of_gvt_keep_to_the_limit() {
    let folder = Folder::new("ahead");
    let run = |limit: &str, engine: &str| {
        let run = "run phold --set lps=100000 --until 5s --json --quiet";
        json(&folder, &format!("{run} --memory-limit {limit} --engine {engine}"))["digest"].clone()
    };
    let expected = run("1GB", "sequential");
    for limit in ["28MB", "60MB"] {
        assert_eq!(run(limit, "time-warp --tune ahead=16777216"), expected, "{limit}");
    }
}
