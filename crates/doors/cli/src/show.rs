//! `parades show`: a scenario as a file that one can edit and run.

use crate::arguments::{ScenarioArguments, ShowArguments};
use crate::printing::print;
use parades_core::time::Time;
use parades_netfile::EXAMPLE;
use parades_session::{Failure, Plan};
use std::process::ExitCode;

/// The line about the end of virtual time at the beginning of a scenario file, if the plan has no end.
const UNTIL: &str = "# until = \"10s\"  # end of virtual time";

pub(crate) fn show(ShowArguments { of, schema }: &ShowArguments) -> Result<ExitCode, Failure> {
    let Some(arguments) = of.as_ref().filter(|_| !schema) else {
        return print(&format!("{:#}\n", parades_netfile::schema()));
    };
    let plan = Plan::of(&arguments.request())?;
    if plan.network.is_some() {
        return show_network(arguments, &plan);
    }
    let mut text = plan.as_file(None)?;
    // The end stands in a comment: it may follow from parameters that the user will change.
    if let (None, Ok(simulation)) = (plan.until, plan.simulation()) {
        let line = match simulation.until {
            Time::MAX => format!("{UNTIL}; by default when there is nothing left to do"),
            until => format!("# until = \"{until}\"  # end of virtual time"),
        };
        text = text.replacen(UNTIL, &line, 1);
    }
    print(&text)
}

/// Prints a network as a file: the example with its explanations, any other network in full.
fn show_network(arguments: &ScenarioArguments, plan: &Plan) -> Result<ExitCode, Failure> {
    let ScenarioArguments { scenario, set, seed, tie_seed, until } = arguments;
    if scenario == plan.scenario.name && set.is_empty() && seed.is_none() && tie_seed.is_none() && until.is_none() {
        return print(EXAMPLE);
    }
    print(&plan.network_in_full()?.unwrap_or_default())
}
