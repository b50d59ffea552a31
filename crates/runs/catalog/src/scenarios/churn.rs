//! The churn of peer-to-peer scenarios: parameters that they share, and the churn that these make.

use super::about_file;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::churn::{Churn, Law, Schedule};

/// The parameters of churn.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::duration("session", Delay::ZERO, "mean time for which a node stays; 0s: nodes never leave")
        .changeable()
        .needs("no churn_file"),
    Parameter::duration("absence", Delay::from_secs(60), "mean time for which a node is away after a session")
        .changeable()
        .needs("session"),
    Parameter::choice("session_law", "exponential", &words(&LAWS), "distribution of the time for which a node stays")
        .needs("session"),
    Parameter::float("session_shape", 0.5, 0.01..=100.0, SHAPE).needs("session_law=weibull|pareto|log-normal"),
    Parameter::choice("absence_law", "exponential", &words(&LAWS), "distribution of the time for which a node is away")
        .needs("session"),
    Parameter::float("absence_shape", 0.5, 0.01..=100.0, SHAPE).needs("absence_law=weibull|pareto|log-normal"),
    Parameter::path(
        "churn_file",
        "file of sessions instead of `session` and `absence`; other nodes stay. A line `node join_s leave_s` each, or \
         a line `host n start_1 end_1 … start_n end_n` for each node, as PeerSim has it",
    ),
    Parameter::fraction("crash", 0.5, "probability that a node crashes instead of taking leave")
        .changeable()
        .needs("session or churn_file"),
    Parameter::fraction(
        "keep_state",
        0.0,
        "probability that a node comes back with the state that it had when it went",
    )
    .changeable()
    .needs("session or churn_file"),
    Parameter::duration(
        "churn_until",
        Delay::ZERO,
        "end of churn: present nodes then stay, and absent nodes then come back; 0s: churn does not end",
    )
    .needs("session or churn_file or crowd"),
    Parameter::fraction("crowd", 0.0, "share of the nodes that come for the first time in a flash crowd"),
    Parameter::duration("crowd_at", Delay::from_secs(100), "time at which the flash crowd begins").needs("crowd"),
    Parameter::duration("crowd_spread", Delay::from_secs(10), "mean time from then to the coming of a node")
        .positive()
        .needs("crowd"),
    Parameter::choice("crowd_law", "exponential", &words(&LAWS), "distribution of that time").needs("crowd"),
    Parameter::float("crowd_shape", 0.5, 0.01..=100.0, SHAPE).needs("crowd_law=weibull|pareto|log-normal"),
];

/// The parameters of churn, as a field of a struct of parameters, for scenarios of other programs: `session`,
/// `absence`, `crash`, `churn_file` and others. `parades show kademlia` lists them.
///
/// # Examples
///
/// ```
/// use parades_catalog::ChurnParameters;
/// use parades_config::{FromValues, Parameters, Values};
///
/// #[derive(Parameters)]
/// struct Swarm {
///     #[parameter(integer, default = 10, range = 2..=1000, meaning = "nodes of the swarm")]
///     nodes: u32,
///     #[parameter(group)]
///     churn: ChurnParameters,
/// }
///
/// let mut values = Values::new("swarm", Swarm::PARAMETERS);
/// assert_eq!(Swarm::from_values(&values)?.churn.churn("nodes", 10, 1)?, None);
/// values.set_argument("--set", "session=10min")?;
/// values.set_argument("--set", "crash=1")?;
/// let churn = Swarm::from_values(&values)?.churn.churn("nodes", 10, 1)?;
/// assert_eq!(churn.map(|churn| churn.crash), Some(1.0));
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChurnParameters(Values);

impl FromValues for ChurnParameters {
    const PARAMETERS: &'static [Parameter] = PARAMETERS;

    fn from_values(values: &Values) -> Result<ChurnParameters, ConfigError> {
        Ok(ChurnParameters(values.clone()))
    }
}

impl ChurnParameters {
    /// Returns the churn of `nodes` nodes; `None` if all nodes stay all the time. `nodes_key` is the
    /// parameter that sets their number, for errors. `seed` decides on the nodes of a flash crowd.
    ///
    /// # Errors
    ///
    /// If a file cannot be used, or if the values contradict each other. The error is at the parameter.
    pub fn churn(&self, nodes_key: &str, nodes: u32, seed: u64) -> Result<Option<Churn>, ConfigError> {
        build(&self.0, (nodes_key, nodes), seed)
    }
}

/// Returns the distribution with a mean and a shape.
type MakeLaw = fn(Delay, f64) -> Result<Law, String>;

/// The distributions of lengths.
const LAWS: Table<MakeLaw, 4> = [
    ("exponential", |mean, _| Law::exponential(mean)),
    ("weibull", Law::weibull),
    ("pareto", Law::pareto),
    ("log-normal", Law::log_normal),
];
const SHAPE: &str = "shape of that distribution; with `log-normal`, the standard deviation of the logarithm";

/// Returns the churn of `nodes` nodes, which the parameter `nodes_key` has set; `None` if all nodes are there
/// all the time.
pub(crate) fn build(values: &Values, (nodes_key, nodes): (&str, u32), seed: u64) -> Result<Option<Churn>, ConfigError> {
    let until = match values.duration("churn_until") {
        Delay::ZERO => Time::MAX,
        end => Time::ZERO.saturating_add(end),
    };
    let has_crowd = values.float("crowd") > 0.0;
    let churn = if let Some(path) = values.path("churn_file") {
        let schedule = Schedule::read(&path).map_err(|error| about_file(values, "churn_file", error))?;
        if let Some(node) = schedule.last_node().filter(|node| node.0 >= nodes) {
            let message = format!("the file has sessions of node {}, but the last node is {}", node.0, nodes - 1);
            return Err(values.error_at(
                "churn_file",
                &message,
                &format!("raise `{nodes_key}`, or leave its lines out"),
            ));
        }
        Churn::scheduled(schedule, until)
    } else if values.duration("session") > Delay::ZERO {
        Churn::random(law(values, "session", "session")?, law(values, "absence", "absence")?, until)
    } else if has_crowd {
        Churn::staying(until)
    } else {
        return Ok(None);
    };
    let churn = churn.with_crash(values.float("crash")).with_keep(values.float("keep_state"));
    if !has_crowd {
        return Ok(Some(churn));
    }
    let at = Time::ZERO.saturating_add(values.duration("crowd_at"));
    Ok(Some(churn.with_crowd(values.float("crowd"), at, law(values, "crowd_spread", "crowd")?, seed)))
}

/// Returns the distribution of a length, from its mean and the names of its law and shape.
fn law(values: &Values, mean_key: &str, what: &str) -> Result<Law, ConfigError> {
    let (name, shape) = (format!("{what}_law"), format!("{what}_shape"));
    let (mean, shape_value) = (values.duration(mean_key), values.float(&shape));
    value_of(values, &name, &LAWS)(mean, shape_value).map_err(|why| {
        let key = if mean == Delay::ZERO { mean_key } else { &shape };
        values.error_at(key, &why, "choose another value")
    })
}
