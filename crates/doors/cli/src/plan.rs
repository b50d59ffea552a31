//! What is to be run: a scenario, its parameters, the seeds, the engine, gathered from the command line and a file.

use crate::arguments::{HowArguments, ScenarioArguments};
use parades_catalog::{Choice, Simulation, Wish};
use parades_catalog::{Scenario, network};
use parades_config::{ConfigError, ScenarioFile, Settings, Values};
use parades_core::time::Time;
use parades_netfile::{NetworkFile, explicit};
use parades_session::Failure;
use std::path::Path;

/// A scenario with its parameters and seeds.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) scenario: &'static Scenario,
    pub(crate) values: Values,
    pub(crate) seed: u64,
    pub(crate) tie_seed: Option<u64>,
    pub(crate) until: Option<Time>,
    /// What a scenario file says of how to run it.
    pub(crate) settings: Settings,
    /// That file.
    file: Option<ScenarioFile>,
    /// The network, where it is described in a file.
    pub(crate) network: Option<NetworkFile>,
}

impl Plan {
    /// What the arguments ask for. What the command line says goes before what a file says.
    pub(crate) fn of(arguments: &ScenarioArguments) -> Result<Plan, Failure> {
        if let Some(network) = network_file(&arguments.scenario)? {
            return Plan::of_network(arguments, network);
        }
        let (scenario, mut values, settings, file) = if is_file(&arguments.scenario) {
            let file = ScenarioFile::read(Path::new(&arguments.scenario))?;
            let settings = file.settings();
            let scenario = Scenario::named(&settings.scenario)
                .map_err(|error| file.error_at("scenario", error.message(), error.help().unwrap_or_default()))?;
            let mut values = scenario.values();
            file.apply(&mut values)?;
            if settings.until == Some(Time::ZERO) {
                return Err(file.error_at("until", "a run until 0s executes nothing", "give a time above it").into());
            }
            (scenario, values, settings, Some(file))
        } else {
            let scenario = Scenario::named(&arguments.scenario)?;
            let settings = Settings { scenario: scenario.name.to_owned(), ..Settings::default() };
            (scenario, scenario.values(), settings, None)
        };
        arguments.set.iter().try_for_each(|assignment| values.set_argument("--set", assignment))?;
        scenario.apply_presets(&mut values);
        Ok(Plan {
            scenario,
            values,
            seed: arguments.seed.or(settings.seed).unwrap_or(1),
            tie_seed: arguments.tie_seed.or(settings.tie_seed),
            until: arguments.until.or(settings.until),
            settings,
            file,
            network: None,
        })
    }

    /// What the arguments ask for of a network that is described in a file.
    fn of_network(arguments: &ScenarioArguments, network: NetworkFile) -> Result<Plan, Failure> {
        let mut values = network.parameters();
        arguments.set.iter().try_for_each(|assignment| values.set_argument("--set", assignment))?;
        let settings = network.settings(&values)?;
        Ok(Plan {
            scenario: &network::SCENARIO,
            values,
            seed: arguments.seed.or(settings.seed).unwrap_or(1),
            tie_seed: arguments.tie_seed.or(settings.tie_seed),
            until: arguments.until.or(settings.until),
            settings,
            file: None,
            network: Some(network),
        })
    }

    /// The network in full, as a file whose run is the same; `None` where none is described in a file.
    pub(crate) fn network_in_full(&self) -> Result<Option<String>, ConfigError> {
        let Some(network) = &self.network else { return Ok(None) };
        let (description, of_file, _) = network.describe(&self.values, self.seed)?;
        let settings = Settings { seed: Some(self.seed), tie_seed: self.tie_seed, ..self.settings.clone() };
        Ok(Some(explicit(&network.title(), &settings, self.until.unwrap_or(of_file), &description)))
    }

    /// Makes the model.
    pub(crate) fn simulation(&self) -> Result<Simulation, ConfigError> {
        match &self.network {
            Some(file) => Simulation::of_network(file, &self.values, self.seed),
            None => Simulation::new(self.scenario, &self.values, self.seed),
        }
    }

    /// The engine that the arguments, else the file, ask for.
    pub(crate) fn engine(&self, engine: Option<&str>, how: &HowArguments) -> Result<Choice, Failure> {
        let wish = Wish {
            engine: engine.or(self.settings.engine.as_deref()).unwrap_or("auto"),
            threads: how.threads.or(self.settings.threads),
            processes: how.processes.or(self.settings.processes),
            tune: &how.tune,
        };
        let choice = Choice::of(wish).and_then(|choice| choice.check(self.scenario).map(|()| choice));
        choice.map_err(|refusal| {
            let typed = match refusal.about {
                "engine" => engine.is_some(),
                "threads" => how.threads.is_some(),
                "processes" => how.processes.is_some(),
                _ => true,
            };
            let (message, help) = (refusal.error.message(), refusal.error.help().unwrap_or_default());
            if let (Some(network), false) = (&self.network, typed) {
                return network.error_at(refusal.about, message, help).into();
            }
            match &self.file {
                Some(file) if !typed => file.error_at(refusal.about, message, help).into(),
                _ => refusal.error.into(),
            }
        })
    }

    /// The command that runs it again on `engine`.
    pub(crate) fn command(&self, arguments: &ScenarioArguments, how: &HowArguments, engine: &str) -> String {
        let mut words = vec!["parades".to_owned(), "run".into(), arguments.scenario.clone()];
        for assignment in &arguments.set {
            words.extend(["--set".into(), assignment.clone()]);
        }
        words.extend(["--seed".into(), self.seed.to_string()]);
        if let Some(seed) = self.tie_seed {
            words.extend(["--tie-seed".into(), seed.to_string()]);
        }
        if let Some(until) = arguments.until {
            words.extend(["--until".into(), until.to_string()]);
        }
        words.extend(["--engine".into(), engine.into()]);
        for assignment in &how.tune {
            words.extend(["--tune".into(), assignment.clone()]);
        }
        words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }
}

/// What the user typed.
pub(crate) fn typed() -> String {
    std::env::args_os().map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// The network that is described in a file, or the example; `None` for other scenarios and their files.
fn network_file(scenario: &str) -> Result<Option<NetworkFile>, ConfigError> {
    match scenario {
        "network" => Ok(Some(network::example_file())),
        path if is_file(path) => NetworkFile::read(Path::new(path)),
        _ => Ok(None),
    }
}

/// Whether a scenario is given by the path of a file, not by a name.
fn is_file(scenario: &str) -> bool {
    scenario.contains(['/', '\\']) || Path::new(scenario).extension().is_some_and(|extension| extension == "toml")
}

/// A word as a shell takes it.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
