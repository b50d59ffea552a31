//! Runs in processes of their own, each with its own peak of memory.

use crate::sides::Ran;
use parades_session::Failure;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::Command;

/// The results of a run in a process of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    pub(crate) ran: Ran,
    pub(crate) peak_bytes: u64,
}

/// Returns the command `parades-bench run` with these words. `program` is `parades-bench`.
pub(crate) fn command(program: &Path, words: &[String]) -> Command {
    let mut command = Command::new(program);
    command.arg("run").args(words).args(["--json", "--quiet"]);
    command
}

pub(crate) fn cannot_start(error: &io::Error) -> Failure {
    Failure::simulation(format!("a process for a run cannot be started: {error}"))
}

/// Runs `parades run` with these words and returns the JSON object that it prints.
pub(crate) fn json(program: &Path, words: &[String]) -> Result<Value, Failure> {
    output(&mut command(program, words), &name(words))
}

/// Runs a program and returns the JSON object that it prints. Error messages call the program `name`.
pub(crate) fn output(command: &mut Command, name: &str) -> Result<Value, Failure> {
    let output = command.output().map_err(|error| cannot_start(&error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ");
        return Err(Failure::simulation(format!("`{name}` failed ({}): {said}", output.status)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Failure::simulation(format!("what `{name}` wrote is no JSON: {error}")))
}

/// Runs `parades run` with these words. The time is that of the engine, from before its set-up until after
/// its end.
pub(crate) fn run(program: &Path, words: &[String]) -> Result<Child, Failure> {
    read(&json(program, words)?).ok_or_else(|| cannot_read(&name(words)))
}

/// Returns the error of results without a field that a table needs.
pub(crate) fn cannot_read(name: &str) -> Failure {
    Failure::simulation(format!("the results of `{name}` cannot be read"))
}

pub(crate) fn name(words: &[String]) -> String {
    format!("parades run {}", words.join(" "))
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
