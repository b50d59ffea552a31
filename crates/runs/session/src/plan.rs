//! A request understood: the scenario, the values of its parameters, the seeds and the end.

use crate::Failure;
use crate::interrupt::is_interrupted;
use crate::machine::{default_memory_limit, held_bytes, keep_within};
use crate::ranks::launched;
use crate::request::{Request, quote};
use parades_catalog::{Choice, Engine, Field, Refusal, Scenario, Simulation, Wish, network, program_name};
use parades_config::inputs::STANDARD_INPUT;
use parades_config::{ConfigError, Kind, ScenarioFile, Settings, Value, Values, write_scenario};
use parades_core::budget;
use parades_core::time::Time;
use parades_netfile::{NetworkFile, explicit};
use std::path::{Component, Path, PathBuf};

/// A run that can be executed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The request, in the user's words.
    pub request: Request,
    /// The scenario.
    pub scenario: &'static Scenario,
    /// The values of all its parameters.
    pub values: Values,
    /// The seed of the random streams.
    pub seed: u64,
    /// The seed that shuffles simultaneous events; `None` if they are not shuffled.
    pub tie_seed: Option<u64>,
    /// The virtual end time; `None` for the scenario's own.
    pub until: Option<Time>,
    /// The settings of the scenario's file.
    pub settings: Settings,
    /// The network, where a file describes it.
    pub network: Option<NetworkFile>,
    /// The scenario's file.
    file: Option<ScenarioFile>,
}

impl Plan {
    /// Returns the plan of a request. The request overrides the scenario's file.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] where there is no such scenario or parameter, or where a file is wrong.
    pub fn of(request: &Request) -> Result<Plan, Failure> {
        match network_file(&request.scenario)? {
            Some(network) => Plan::of_network(request, network),
            None => Plan::of_scenario(request),
        }
    }

    fn of_scenario(request: &Request) -> Result<Plan, Failure> {
        let (scenario, mut values, settings, file) = if is_file(&request.scenario) {
            read_scenario(path_of(&request.scenario))?
        } else {
            let scenario = Scenario::named(&request.scenario)?;
            let settings = Settings { scenario: scenario.name.to_owned(), ..Settings::default() };
            (scenario, scenario.values(), settings, None)
        };
        request.set.iter().try_for_each(|assignment| values.set_argument("--set", assignment))?;
        scenario.apply_presets(&mut values);
        Ok(Plan { file, ..Plan::with(request, scenario, values, settings) })
    }

    fn of_network(request: &Request, network: NetworkFile) -> Result<Plan, Failure> {
        let mut values = network.parameters();
        request.set.iter().try_for_each(|assignment| values.set_argument("--set", assignment))?;
        let settings = network.settings(&values)?;
        Ok(Plan { network: Some(network), ..Plan::with(request, &network::SCENARIO, values, settings) })
    }

    fn with(request: &Request, scenario: &'static Scenario, values: Values, settings: Settings) -> Plan {
        Plan {
            request: request.clone(),
            scenario,
            values: if request.allows_idle { values.allowing_idle() } else { values },
            seed: request.seed.or(settings.seed).unwrap_or(1),
            tie_seed: request.tie_seed.or(settings.tie_seed),
            until: request.until.or(settings.until),
            settings,
            network: None,
            file: None,
        }
    }

    /// Returns the name of the scenario, with the title of its file where the file has one.
    pub fn title(&self) -> String {
        let title = self.network.as_ref().map(NetworkFile::title).unwrap_or_default();
        if title.is_empty() { self.scenario.name.to_owned() } else { format!("{}: {title}", self.scenario.name) }
    }

    /// Returns the network in full, as the text of a file whose run is the same; `None` where no file
    /// describes one.
    ///
    /// # Errors
    ///
    /// On the first thing in the file that is wrong, and where the network takes too much memory.
    pub fn network_in_full(&self) -> Result<Option<String>, Failure> {
        let Some(network) = &self.network else { return Ok(None) };
        let (description, of_file, _) = self.within_memory(|| network.describe(&self.values, self.seed))?;
        let settings = Settings { seed: Some(self.seed), tie_seed: self.tie_seed, ..self.settings.clone() };
        Ok(Some(explicit(&network.title(), &settings, self.until.unwrap_or(of_file), &description)))
    }

    /// Returns a scenario file whose run is the same, wherever the file is. `until` is the end of the run if
    /// the plan has none.
    ///
    /// # Errors
    ///
    /// As [`Plan::network_in_full`].
    pub fn as_file(&self, until: Option<Time>) -> Result<String, Failure> {
        self.as_file_in(None, until)
    }

    /// Returns a scenario file whose run is the same, as long as the file is in `folder`, which exists: a
    /// file that the user named by a relative path has one from there. So the folder can be moved together
    /// with such files. Without a folder, as [`Plan::as_file`].
    ///
    /// # Errors
    ///
    /// As [`Plan::network_in_full`].
    pub fn as_file_in(&self, folder: Option<&Path>, until: Option<Time>) -> Result<String, Failure> {
        if let Some(text) = self.network_in_full()? {
            return Ok(text);
        }
        let settings = Settings {
            scenario: self.scenario.name.to_owned(),
            seed: Some(self.seed),
            tie_seed: self.tie_seed,
            until: self.until.or(until),
            ..self.settings.clone()
        };
        let mut values = self.values.clone();
        move_paths(&mut values, folder)?;
        Ok(write_scenario(&settings, self.scenario.about, &values))
    }

    /// Makes the model.
    ///
    /// # Errors
    ///
    /// On values that make no sense together, on files that cannot be used, and where the model takes more
    /// memory than [`Plan::memory_limit`].
    pub fn simulation(&self) -> Result<Simulation, Failure> {
        let before = held_bytes();
        let mut simulation = self.within_memory(|| match &self.network {
            Some(file) => Simulation::of_network(file, &self.values, self.seed),
            None => Simulation::new(self.scenario, &self.values, self.seed),
        })?;
        simulation.bytes = held_bytes().saturating_sub(before);
        Ok(simulation)
    }

    /// Returns the bound on the memory of a run, in bytes: the user's, or else a share of the memory that
    /// this process may take.
    pub fn memory_limit(&self) -> u64 {
        // Where the system does not tell its memory, there is no bound but the user's.
        let share = || default_memory_limit().map(|bytes| bytes / self.processes_here());
        self.request.memory_limit.or_else(share).unwrap_or(u64::MAX)
    }

    /// Returns the number of processes that the request asks for, or else the scenario's file, or else 1.
    pub fn processes(&self) -> u64 {
        self.request.processes.or(self.settings.processes).unwrap_or(1).max(1)
    }

    /// Returns the number of these processes that share this machine.
    fn processes_here(&self) -> u64 {
        launched::ranks_here().unwrap_or(u64::MAX).min(self.processes())
    }

    /// Calls `build` within the limit on memory. After an interrupt, `build` ends at its next look at that
    /// limit.
    fn within_memory<T>(&self, build: impl FnOnce() -> Result<T, ConfigError>) -> Result<T, Failure> {
        keep_within(self.memory_limit());
        let held = || if is_interrupted() { u64::MAX } else { held_bytes() };
        match budget::within(self.memory_limit(), held, build) {
            (Ok(built), _) => Ok(built),
            (Err(_), Some(_)) if is_interrupted() => {
                Err(Failure::Stopped("the model was still being made, so there is no result"))
            }
            // The input is not wrong, only too large for this limit.
            (Err(error), Some(_)) => Err(Failure::simulation(error.to_string())),
            (Err(error), None) => Err(error.into()),
        }
    }

    /// Returns the files that the plan is read from, each with what it is to the user.
    pub fn inputs(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let scenario = Some(PathBuf::from(&self.request.scenario)).filter(|path| path.is_file());
        let paths = self.values.iter().filter(|(parameter, _)| matches!(parameter.kind(), Kind::Path));
        let paths = paths.filter_map(|(parameter, _)| Some((parameter.key(), self.values.path(parameter.key())?)));
        scenario.map(|path| ("the scenario's file", path)).into_iter().chain(paths)
    }

    /// Returns the engine that the request asks for, or else the scenario's file, or else `auto`.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] where there is no such engine or setting, or where the engine cannot run the
    /// scenario.
    pub fn choice(&self) -> Result<Choice, Failure> {
        let choice = self.unchecked_choice()?;
        choice.check(self.scenario, &self.values).map_err(|refusal| self.refused(refusal))?;
        Ok(choice)
    }

    /// Returns the engine that the request asks for, whether or not it can run the scenario. Otherwise as
    /// [`Plan::choice`].
    pub(crate) fn unchecked_choice(&self) -> Result<Choice, Failure> {
        let Request { threads, processes, tune, .. } = &self.request;
        let wish = Wish {
            engine: self.engine(),
            threads: threads.or(self.settings.threads),
            processes: processes.or(self.settings.processes),
            processes_here: launched::ranks_here(),
            tune,
        };
        Choice::of(wish).map_err(|refusal| self.refused(refusal))
    }

    pub(crate) fn engine(&self) -> &str {
        self.request.engine.as_deref().or(self.settings.engine.as_deref()).unwrap_or(Engine::default().name())
    }

    /// Reports a refusal at its place in the scenario's file, where it is about what the file says.
    pub(crate) fn refused(&self, refusal: Refusal) -> Failure {
        let typed = match refusal.about {
            Field::Engine => self.request.engine.is_some(),
            Field::Threads => self.request.threads.is_some(),
            Field::Processes => self.request.processes.is_some(),
            // No file has settings of engines.
            Field::Tune => true,
        };
        let (message, help) = (refusal.error.message(), refusal.error.help().unwrap_or_default());
        match (&self.network, &self.file) {
            (Some(network), _) if !typed => network.error_at(refusal.about.key(), message, help).into(),
            (_, Some(file)) if !typed => file.error_at(refusal.about.key(), message, help).into(),
            _ => refusal.error.into(),
        }
    }

    /// Returns the command that executes the same run.
    pub fn command(&self) -> String {
        let Request { scenario, set, until, tune, .. } = &self.request;
        let mut words = vec![program_name().to_owned(), "run".into(), scenario.clone()];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        set.iter().for_each(|assignment| option("--set", assignment.clone()));
        option("--seed", self.seed.to_string());
        self.tie_seed.iter().for_each(|seed| option("--tie-seed", seed.to_string()));
        until.iter().for_each(|until| option("--until", until.to_string()));
        option("--engine", self.engine().to_owned());
        tune.iter().for_each(|assignment| option("--tune", assignment.clone()));
        words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Makes the paths of files absolute, or relative to a folder if they were relative: a scenario file may be
/// moved to any folder.
fn move_paths(values: &mut Values, folder: Option<&Path>) -> Result<(), Failure> {
    let keys: Vec<&str> = values.iter().map(|(parameter, _)| parameter.key()).collect();
    for key in keys {
        let Some(Value::Path(given)) = values.get(key) else { continue };
        let is_relative = Path::new(given).is_relative();
        let Some(path) = values.path(key) else { continue };
        let Ok(absolute) = std::path::absolute(&path) else { continue };
        let moved = folder.filter(|_| is_relative).and_then(|folder| from_folder(folder, &absolute));
        values.set_argument("--set", &format!("{key}={}", moved.unwrap_or(absolute).display()))?;
    }
    Ok(())
}

/// Returns the path of an existing file as seen from a folder: `../flows.txt`. `None` if they have no folder
/// in common, or do not exist.
fn from_folder(folder: &Path, file: &Path) -> Option<PathBuf> {
    // A link on the way would lead elsewhere by `..`.
    let [folder, file] = [folder.canonicalize().ok()?, file.canonicalize().ok()?];
    let common = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    // The root alone in common means other trees, which are not moved together.
    (common > 1).then(|| up.chain(file.components().skip(common)).collect())
}

/// A scenario file that was read.
type FromFile = (&'static Scenario, Values, Settings, Option<ScenarioFile>);

/// Reads a file that names a built-in scenario and sets its parameters.
fn read_scenario(path: &Path) -> Result<FromFile, ConfigError> {
    let file = ScenarioFile::read(path)?;
    let settings = file.settings();
    let scenario = Scenario::named(&settings.scenario)
        .map_err(|error| file.error_at("scenario", error.message(), error.help().unwrap_or_default()))?;
    let mut values = scenario.values();
    file.apply(&mut values)?;
    if settings.until == Some(Time::ZERO) {
        return Err(file.error_at("until", "a run until 0s executes nothing", "give a time above it"));
    }
    Ok((scenario, values, settings, Some(file)))
}

/// Returns the network that a file describes, or the example; `None` for other scenarios and their files.
fn network_file(scenario: &str) -> Result<Option<NetworkFile>, ConfigError> {
    if scenario == network::SCENARIO.name {
        return Ok(Some(network::example_file()));
    }
    if is_file(scenario) { NetworkFile::read(path_of(scenario)) } else { Ok(None) }
}

/// Returns the path of a scenario's file. `-` is standard input.
fn path_of(scenario: &str) -> &Path {
    Path::new(if scenario == "-" { STANDARD_INPUT } else { scenario })
}

/// True if a scenario is given by the path of a file, not by a name.
fn is_file(scenario: &str) -> bool {
    scenario == "-"
        || scenario.contains(['/', '\\'])
        || Path::new(scenario).extension().is_some_and(|extension| extension == "toml")
}
