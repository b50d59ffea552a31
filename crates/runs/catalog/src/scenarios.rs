//! The built-in scenarios: the parameters of each, and how its model is made from them.
//!
//! A scenario is a row of the table [`SCENARIOS`]. Nothing in this module knows an engine.

mod access;
mod averaging;
mod bittorrent;
mod campus;
mod chord;
pub(crate) mod churn;
mod clusters;
mod faulty;
mod flows;
mod gossip;
mod gossipsub;
mod kademlia;
mod multicast;
pub mod network;
mod phold;
mod queueing;
mod replay;
mod transfer;
pub(crate) mod underlay;
mod wan;

use crate::installed::scenarios;
use crate::simulation::Simulation;
use parades_config::fields::{joined, length};
use parades_config::{ConfigError, Parameter, Place, Values, nearest, quoted};
use parades_core::budget;
use parades_core::text::is_same;
use std::path::{Path, PathBuf};

/// A scenario: a model that is made from parameters with names. A row of the table [`SCENARIOS`], or a
/// scenario of another program ([`install`](crate::install)).
///
/// ```
/// use parades_catalog::{Scenario, Simulation};
/// use parades_config::Parameter;
/// use parades_core::time::Time;
/// use parades_models::phold::{Parameters, Phold};
///
/// const PAIR: Scenario = Scenario::new(
///     "pair",
///     "PHOLD with two LPs",
///     &[Parameter::integer("events", 1, 1..=100, "initial events of each LP")],
///     |values, _seed| {
///         let start_events = u32::try_from(values.integer("events")).expect("at most 100");
///         let parameters = Parameters { lps: 2, start_events, ..Parameters::default() };
///         Ok(Simulation::restorable(Phold::<()>::new(parameters), Time::from_secs(10)))
///     },
/// );
/// let mut values = PAIR.values();
/// values.set_argument("--set", "events=3")?;
/// assert_eq!(Simulation::new(&PAIR, &values, 1)?.lps(), 2);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The name on the command line.
    pub name: &'static str,
    /// A line on the scenario, for lists.
    pub about: &'static str,
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// Makes the model from the values of the parameters and a seed.
    pub(crate) build: fn(&Values, u64) -> Result<Simulation, ConfigError>,
    /// Sets the parameters that a preset changes.
    set_presets: fn(&mut Values),
    /// Returns true if the model of these values can be restored.
    is_restorable: fn(&Values) -> bool,
    /// The parameter that names a platform file, if there is one.
    platform: Option<&'static str>,
}

/// All scenarios, in the order of lists.
pub const SCENARIOS: &[Scenario] = &[
    campus::SCENARIO,
    wan::SCENARIO,
    network::SCENARIO,
    flows::SCENARIO,
    replay::SCENARIO,
    clusters::SCENARIO,
    chord::SCENARIO,
    averaging::SCENARIO,
    bittorrent::SCENARIO,
    gossip::SCENARIO,
    gossipsub::SCENARIO,
    kademlia::SCENARIO,
    phold::SCENARIO,
    multicast::SCENARIO,
    transfer::SCENARIO,
    queueing::MM1,
    queueing::JACKSON,
    faulty::SCENARIO,
];

impl Scenario {
    /// Declares a scenario. `build` makes the model from the values of the parameters and a seed, which is
    /// for random draws that the making of the model needs.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        parameters: &'static [Parameter],
        build: fn(&Values, u64) -> Result<Simulation, ConfigError>,
    ) -> Scenario {
        Scenario { name, about, parameters, build, set_presets: |_| {}, is_restorable: |_| true, platform: None }
    }

    /// Returns the scenario, whose models cannot be restored ([`Simulation::unrestorable`]): no engine that
    /// rolls back can run it.
    #[must_use]
    pub const fn without_rollback(self) -> Scenario {
        Scenario { is_restorable: |_| false, ..self }
    }

    /// Returns the scenario of this name.
    ///
    /// # Errors
    ///
    /// If there is none. The error suggests the nearest name.
    pub fn named(name: &str) -> Result<&'static Scenario, ConfigError> {
        let names = || scenarios().iter().map(|scenario| scenario.name);
        scenarios().iter().find(|scenario| scenario.name == name).ok_or_else(|| {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "choose one of {}; the name of a file ends in .toml",
                    names().collect::<Vec<_>>().join(", ")
                ),
            };
            ConfigError::new(format!("there is no scenario {}", quoted(name))).with_help(help)
        })
    }

    /// Returns the parameters at their defaults.
    pub fn values(&self) -> Values {
        Values::new(self.name, self.parameters)
    }

    /// Sets the parameters that a preset changes, unless the user has set them.
    pub fn apply_presets(&self, values: &mut Values) {
        (self.set_presets)(values);
    }

    /// Returns the files that the file of a parameter names: the profiles of a platform. Returns none if that
    /// file cannot be read; [`Simulation::new`] reports the error.
    pub fn files_named_in(&self, parameter: &str, path: &Path) -> Vec<PathBuf> {
        if self.platform != Some(parameter) {
            return Vec::new();
        }
        parades_flow::read(path).map_or_else(|_| Vec::new(), |platform| platform.profile_files().to_vec())
    }

    /// Returns true if engines that roll back can run the scenario with these values. The state of processes
    /// cannot be restored.
    pub fn is_restorable(&self, values: &Values) -> bool {
        (self.is_restorable)(values)
    }
}

/// Returns parameters with further conditions: a key, and what its parameter needs of others. The key must be
/// there. This is for conditions on parameters of the scenario, which the struct of the parameter does not
/// know.
const fn needing<const N: usize>(mut all: [Parameter; N], conditions: &[(&str, &'static str)]) -> [Parameter; N] {
    let mut next = 0;
    while next < conditions.len() {
        let (key, condition) = conditions[next];
        let mut index = 0;
        while !is_same(all[index].key(), key) {
            index += 1;
        }
        all[index] = all[index].needs(condition);
        next += 1;
    }
    all
}

/// Returns a list of `N` parameters, each with a further condition.
const fn all_needing<const N: usize>(list: &[Parameter], condition: &'static str) -> [Parameter; N] {
    let mut all = [list[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = list[index].needs(condition);
        index += 1;
    }
    all
}

/// A list of parameters in two parts.
struct Split {
    before: &'static [Parameter],
    from: &'static [Parameter],
}

/// Returns the parameters before `key`, and those from it on: for scenarios with a parameter between those of
/// a struct.
const fn split_at(parameters: &'static [Parameter], key: &str) -> Split {
    let mut index = 0;
    while !is_same(parameters[index].key(), key) {
        index += 1;
    }
    let (before, from) = parameters.split_at(index);
    Split { before, from }
}

/// Improves the error of reading the file that a parameter names. If the file cannot be read, and a scenario
/// file names it, then the error points at that place in the scenario file.
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

/// Checks that `bytes` of memory are within the limit on what is built. The error is at the parameter `key`
/// if the user has set it: a default is seldom the reason.
fn check_memory(values: &Values, key: &str, bytes: u64) -> Result<(), ConfigError> {
    budget::check(bytes).map_err(|why| {
        let error = ConfigError::new(why.to_string()).with_help("raise the memory limit, or simulate less at a time");
        match values.place(key) {
            Some(place) => error.at(place),
            None => error,
        }
    })
}

/// The most bytes of headers: those of a packet that fits into IP.
const HEADERS_MAX: u64 = 1 << 16;

/// Checks that packets of `payload_max` bytes, and their headers, are within what a packet can carry.
fn check_packet(values: &Values, payload_max: u32) -> Result<(), ConfigError> {
    for (key, most) in [("packet", u64::from(payload_max)), ("headers", HEADERS_MAX)] {
        let bytes = values.size(key);
        if bytes > most {
            let message = format!("`{key}` is {bytes}B, more than a packet can carry");
            return Err(values.error_at(key, &message, &format!("{most}B is the most")));
        }
    }
    Ok(())
}

/// Returns the value of an integer parameter whose range ends below 2^32.
fn int32(values: &Values, key: &str) -> u32 {
    u32::try_from(values.integer(key)).expect("the parameter's range ends below 2^32")
}
