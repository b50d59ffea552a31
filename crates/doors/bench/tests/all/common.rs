//! Calls of the program.

use std::path::Path;
use std::process::Command;

pub(crate) fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parades-bench"));
    command.args(words.split_whitespace());
    command
}

/// Returns standard output of a command that succeeds.
pub(crate) fn text(command: &mut Command) -> String {
    let output = command.output().expect("the program was built");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

/// Checks that `command`, as the rank of a run of PHOLD, writes results.
pub(crate) fn results_of_rank(mut command: Command, job: &str, results: &Path) {
    text(command.env("PARADES_BENCH_PHOLD", format!("{job} 300 64 2 {}", results.display())));
    let found = std::fs::read(results).expect("rank 0 wrote them");
    let found: serde_json::Value = serde_json::from_slice(&found).expect("one JSON object");
    // One of each LP: a delay is 1 s to 1.8 s, and the run has 2 s.
    assert_eq!(found["events"], 10_000);
}
