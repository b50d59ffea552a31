//! `parades list`: the scenarios, or the engines, a line each.

use crate::printing::print;
use parades_catalog::{Engine, scenarios};
use parades_session::Failure;
use std::fmt::Write;
use std::process::ExitCode;

pub(crate) fn list(engines: bool) -> Result<ExitCode, Failure> {
    print(&if engines { list_of_engines() } else { list_of_scenarios() })
}

fn list_of_scenarios() -> String {
    let width = scenarios().iter().map(|scenario| scenario.name.len()).max().unwrap_or(0).max(12);
    scenarios().iter().map(|scenario| format!("{:<width$} {}\n", scenario.name, scenario.about)).collect()
}

fn list_of_engines() -> String {
    let mut text = String::new();
    for engine in Engine::algorithms() {
        let _ = writeln!(text, "{:<15} {}", engine.name(), engine.about());
        for setting in engine.settings() {
            let (key, value) = (setting.key(), setting.default_value());
            let _ = writeln!(text, "{:<15}   --tune {key}={value}: {} ({})", "", setting.meaning(), setting.accepts());
        }
    }
    text.push_str(
        "\ntransports: threads of one process (--threads); shared memory between processes of one machine (--processes); \
         MPI between machines (mpirun), if the command was built with its feature mpi\n",
    );
    text
}
