//! The built-in scenarios: for each its parameters, and the model that they make.
//!
//! A scenario's model has a type of its own, so what is to be done with it is given as a [`Visitor`], which is generic over models.
//! Nothing here knows an engine.

mod campus;
mod chord;
mod faulty;
mod flows;
mod multicast;
pub mod network;
mod phold;
mod queueing;
mod transfer;
mod wan;

use parades_config::{ConfigError, Parameter, Place, Values, nearest, quoted};
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::time::Time;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// A model made from parameters.
#[derive(Debug)]
pub struct Prepared<M> {
    /// The model.
    pub model: M,
    /// How long it is run unless the user says otherwise.
    pub until: Time,
    /// What the user should know of how the model was made, a sentence each.
    pub notes: Vec<String>,
}

/// What is to be done with a scenario's model.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<M>(self, prepared: Prepared<M>) -> Self::Output
    where
        M: Restorable<State: Clone + PartialEq + Debug> + 'static;
    /// Does it with a model whose state cannot be restored, so that no engine that rolls back can run it.
    fn visit_unrestorable<M: Model + 'static>(self, prepared: Prepared<M>) -> Self::Output;
}

/// A built-in scenario.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// All of them, in the order in which they are listed.
pub const SCENARIOS: &[Scenario] = &[
    campus::SCENARIO,
    wan::SCENARIO,
    network::SCENARIO,
    flows::SCENARIO,
    chord::SCENARIO,
    phold::SCENARIO,
    multicast::SCENARIO,
    transfer::SCENARIO,
    queueing::MM1,
    queueing::JACKSON,
    faulty::SCENARIO,
];

impl Scenario {
    /// The scenario of that name.
    ///
    /// # Errors
    ///
    /// On an unknown name, suggesting the nearest.
    pub fn named(name: &str) -> Result<&'static Scenario, ConfigError> {
        let names = || SCENARIOS.iter().map(|scenario| scenario.name);
        SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or_else(|| {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}; a file's name ends in .toml", names().collect::<Vec<_>>().join(", ")),
            };
            ConfigError::new(format!("there is no scenario {}", quoted(name))).with_help(help)
        })
    }

    /// Its parameters, at their defaults.
    pub fn values(&self) -> Values {
        Values::new(self.name, self.parameters)
    }

    /// Sets the parameters that a preset changes, unless the user has set them.
    pub fn apply_presets(&self, values: &mut Values) {
        if self.name == chord::SCENARIO.name {
            chord::apply_presets(values);
        }
    }

    /// The files that the file of a parameter names, which are profiles of a platform; none where that cannot be read, which who makes the model hears of.
    pub fn files_named_in(&self, parameter: &str, path: &Path) -> Vec<PathBuf> {
        match parameter {
            "platform" => {
                parades_flow::read(path).map_or_else(|_| Vec::new(), |platform| platform.profile_files().to_vec())
            }
            _ => Vec::new(),
        }
    }

    /// Whether engines that roll back can run it with these values. The state of processes cannot be restored.
    pub fn is_restorable(&self, values: &Values) -> bool {
        self.name != chord::SCENARIO.name || chord::is_restorable(values)
    }

    /// Makes the model of `values` and gives it to the visitor. `seed` is for what is drawn once, before the run.
    ///
    /// # Errors
    ///
    /// On values that make no sense together, and files that cannot be used.
    pub fn accept<V: Visitor>(&self, values: &Values, seed: u64, visitor: V) -> Result<V::Output, ConfigError> {
        match self.name {
            "campus" => campus::accept(values, seed, visitor),
            "wan" => wan::prepare(values, seed).map(|prepared| visitor.visit(prepared)),
            "network" => network::example(seed).map(|prepared| visitor.visit(prepared)),
            "flows" => flows::prepare(values, seed).map(|prepared| visitor.visit(prepared)),
            "chord" => chord::accept(values, seed, visitor),
            "phold" => phold::accept(values, visitor),
            "multicast" => multicast::accept(values, visitor),
            "transfer" => transfer::prepare(values).map(|prepared| visitor.visit(prepared)),
            "mm1" => queueing::mm1(values).map(|prepared| visitor.visit(prepared)),
            "jackson" => queueing::jackson(values, seed).map(|prepared| visitor.visit(prepared)),
            "faulty" => faulty::prepare(values).map(|prepared| visitor.visit(prepared)),
            name => unreachable!("`{name}` is in the table of scenarios and not in this match"),
        }
    }
}

/// The error of reading the file that a parameter names. Where it cannot be read at all, and a scenario file names it, it is the place there that helps.
fn about_file(values: &Values, key: &str, error: ConfigError) -> ConfigError {
    let why = error.message().strip_prefix("the file cannot be read");
    match (why, values.place(key), values.path(key)) {
        (Some(why), Some(Place::Spot(_)), Some(path)) => {
            let help = error.help().unwrap_or("check its name and permissions");
            values.error_at(key, &format!("{} cannot be read{why}", path.display()), help)
        }
        _ => error,
    }
}

/// The value of an integer parameter whose range ends below 2^32.
fn int32(values: &Values, key: &str) -> u32 {
    u32::try_from(values.integer(key)).expect("the parameter's range ends below 2^32")
}
