//! Runs in processes of their own, each with a peak of memory of its own.

use super::sides::Ran;
use crate::failure::Failure;
use serde_json::Value;
use std::io;
use std::process::Command;

/// What a run in a process of its own came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) ran: Ran,
    pub(super) peak_bytes: u64,
}

/// `parades run` with these words, ready to be started.
pub(super) fn command(words: &[String]) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| cannot_start(&error))?);
    command.arg("run").args(words).args(["--json", "--quiet"]);
    Ok(command)
}

pub(super) fn cannot_start(error: &io::Error) -> Failure {
    Failure::simulation(format!("a process for a run cannot be started: {error}"))
}

/// Runs `parades run` with these words. The time is that of the engine, from before its set-up until after its end.
pub(super) fn run(words: &[String]) -> Result<Child, Failure> {
    let output = command(words)?.output().map_err(|error| cannot_start(&error))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let failed = |what: &str| Failure::simulation(format!("`parades run {}`: {what}", words.join(" ")));
    if !output.status.success() {
        return Err(failed(said.trim().trim_start_matches("error: ")));
    }
    serde_json::from_slice(&output.stdout)
        .ok()
        .as_ref()
        .and_then(read)
        .ok_or_else(|| failed("its results cannot be read"))
}

fn read(run: &Value) -> Option<Child> {
    let answer = u64::from_str_radix(run["digest"].as_str()?, 16).ok()?;
    let (events, seconds) = (run["events"].as_u64()?, run["wall_s"]["run"].as_f64()?);
    let ran = Ran { events, seconds, answer: Some(answer) };
    Some(Child { ran, peak_bytes: run["peak_rss_bytes"].as_u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_results_of_a_run_are_read() {
        let run = json!({"digest": "00000000000000ff", "events": 7, "wall_s": {"run": 0.5}, "peak_rss_bytes": 4096});
        let Child { ran, peak_bytes } = read(&run).expect("all is there");
        assert_eq!((ran.answer, ran.events, peak_bytes), (Some(255), 7, 4096));
        assert!((ran.seconds - 0.5).abs() < 1e-9);
        assert!(read(&json!({"events": 7})).is_none());
    }
}
