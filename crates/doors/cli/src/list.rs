//! `parades list` and `parades show`.

use crate::arguments::{ScenarioArguments, ShowArguments};
use crate::plan::Plan;
use crate::print;
use parades_catalog::SCENARIOS;
use parades_catalog::engines::ENGINES;
use parades_config::{Settings, Value, Values, write_scenario};
use parades_core::time::Time;
use parades_netfile::EXAMPLE;
use parades_session::Failure;
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
pub(crate) fn show(ShowArguments { of, schema }: &ShowArguments) -> Result<ExitCode, Failure> {
    let Some(arguments) = of.as_ref().filter(|_| !schema) else {
        return print(&format!("{:#}\n", parades_netfile::schema()));
    };
    let mut plan = Plan::of(arguments)?;
    if plan.network.is_some() {
        return show_network(arguments, &plan);
    }
    make_absolute(&mut plan.values)?;
    let settings = Settings {
        scenario: plan.scenario.name.to_owned(),
        seed: Some(plan.seed),
        tie_seed: plan.tie_seed,
        until: plan.until,
        ..plan.settings.clone()
    };
    let mut text = write_scenario(&settings, plan.scenario.about, &plan.values);
    // Not as a value: it may follow from parameters that the user will change.
    if let (None, Ok(simulation)) = (plan.until, plan.simulation()) {
        let line = match simulation.until {
            Time::MAX => {
                "# until = \"10s\"  # end of virtual time; by default when there is nothing left to do".to_owned()
            }
            until => format!("# until = \"{until}\"  # end of virtual time"),
        };
        text = text.replacen("# until = \"10s\"  # end of virtual time", &line, 1);
    }
    print(&text)
}

/// Makes the paths of files absolute, as a scenario file may be put into any folder.
fn make_absolute(values: &mut Values) -> Result<(), Failure> {
    let keys: Vec<&str> = values.iter().map(|(parameter, _)| parameter.key()).collect();
    for key in keys {
        let is_path = matches!(values.get(key), Some(Value::Path(_)));
        if let Some(path) = is_path.then(|| values.path(key)).flatten()
            && let Ok(absolute) = std::path::absolute(&path)
            && absolute != path
        {
            values.set_argument("--set", &format!("{key}={}", absolute.display()))?;
        }
    }
    Ok(())
}

/// A network as a file: the example as it was written, which explains itself; others in full.
fn show_network(arguments: &ScenarioArguments, plan: &Plan) -> Result<ExitCode, Failure> {
    let ScenarioArguments { scenario, set, seed, tie_seed, until } = arguments;
    if scenario == plan.scenario.name && set.is_empty() && seed.or(*tie_seed).is_none() && until.is_none() {
        return print(EXAMPLE);
    }
    print(&plan.network_in_full()?.unwrap_or_default())
}
