//! The processor's counters of data cache misses, by `perf stat`, if the machine has any.

use crate::child;
use parades_session::Failure;
use std::path::Path;
use std::process::Command;

/// The counters of `perf`: cache lines missed in the first data cache, and reads of that cache.
pub(crate) const MISSES: &str = "L1-dcache-load-misses";
pub(crate) const LOADS: &str = "L1-dcache-loads";

/// True if there are counters. `perf` may be missing or forbidden, or may find none, as on most virtual
/// machines.
pub(crate) fn exist() -> bool {
    Command::new(PERF).args(arguments()).arg("true").output().is_ok_and(|output| ratio(&output.stderr).is_some())
}

/// Returns the data cache misses per read of a whole run with these words; `None` if they were not
/// counted.
pub(crate) fn misses_per_load(program: &Path, words: &[String]) -> Result<Option<f64>, Failure> {
    let run = child::command(program, words);
    let environment = run.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut command = Command::new(PERF);
    command.args(arguments()).arg(run.get_program()).args(run.get_args()).envs(environment);
    let output = command.output();
    let output = output.map_err(|error| child::cannot_start(&error))?;
    Ok(ratio(&output.stderr).filter(|_| output.status.success()))
}

const PERF: &str = "perf";

fn arguments() -> [String; 5] {
    ["stat", "-x,", "-e", &format!("{MISSES},{LOADS}"), "--"].map(str::to_owned)
}

/// Returns the ratio of the two counts in the output of `perf stat -x,`, whose lines hold a count, a unit, an
/// event and more.
fn ratio(said: &[u8]) -> Option<f64> {
    let said = String::from_utf8_lossy(said);
    let count = |event: &str| {
        let mut fields = said.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let line = fields.find(|fields| fields.get(2).is_some_and(|name| name.trim_end_matches(":u") == event))?;
        line[0].parse::<f64>().ok()
    };
    Some(count(MISSES)? / count(LOADS)?).filter(|ratio| ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_and_their_absence_noticed() {
        let counted = "250,,L1-dcache-load-misses:u,1000,100.00,,\n1000,,L1-dcache-loads:u,1000,100.00,,\n";
        assert_eq!(ratio(counted.as_bytes()), Some(0.25));
        let none = "<not supported>,,L1-dcache-load-misses,0,100.00,,\n<not supported>,,L1-dcache-loads,0,100.00,,\n";
        assert_eq!(ratio(none.as_bytes()), None);
        assert_eq!(ratio(counted.replace("1000,,L", "0,,L").as_bytes()), None, "nothing was read");
        assert_eq!(ratio(b"perf: command not found"), None);
    }
}
