//! `parades list` and `parades show`.

use crate::arguments::ScenarioArguments;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::print;
use parades_config::{Settings, write_scenario};
use parades_scenarios::SCENARIOS;
use parades_simulation::choice::ENGINES;
use std::fmt::Write;
use std::process::ExitCode;

/// The scenarios, or the engines, a line each.
pub(crate) fn list(engines: bool) -> Result<ExitCode, Failure> {
    let mut text = String::new();
    if engines {
        for engine in ENGINES {
            let _ = writeln!(text, "{:<15} {}", engine.name, engine.about);
            for setting in engine.settings {
                let (key, value) = (setting.key(), setting.default_value());
                let _ =
                    writeln!(text, "{:<15}   --tune {key}={value}: {} ({})", "", setting.meaning(), setting.accepts());
            }
        }
        let _ = writeln!(text, "\ntransports: threads of one process; shared memory and MPI do not exist yet");
    } else {
        for scenario in SCENARIOS {
            let _ = writeln!(text, "{:<12} {}", scenario.name, scenario.about);
        }
    }
    print(&text)
}

/// A scenario as a file.
pub(crate) fn show(arguments: &ScenarioArguments) -> Result<ExitCode, Failure> {
    let plan = Plan::of(arguments)?;
    let settings = Settings {
        scenario: plan.scenario.name.to_owned(),
        seed: Some(plan.seed),
        tie_seed: plan.tie_seed,
        until: plan.until,
        ..plan.settings
    };
    print(&write_scenario(&settings, plan.scenario.about, &plan.values))
}
