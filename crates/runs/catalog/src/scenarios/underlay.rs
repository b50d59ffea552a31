//! The underlay of peer-to-peer scenarios: parameters that they share, and the carrier that these make.
//!
//! A scenario has its own parameters, [`latency`], and those of [`PARAMETERS`]: `averaging` is an example. A
//! scenario of another program has them by a field ([`UnderlayParameters`]).

use super::{about_file, joined, length};
use crate::words::{Table, value_of, words};
use parades_carriers::underlay::{
    Cities, Coordinates, Jitter, Partition, Routing, Statistic, Underlay, UnderlayError, draw_places,
};
use parades_carriers::{Matrix, Missing};
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_topology::NodeId;
use parades_topology::generators::TransitStub;
use parades_topology::import;
use std::path::PathBuf;
use std::sync::Arc;

/// Returns the parameter `latency`, with the default of a scenario.
pub(crate) const fn latency(default: Delay) -> Parameter {
    Parameter::duration("latency", default, "duration of a message, in the network or underlay `constant`")
        .positive()
        .changeable()
        .needs("underlay=constant")
}

/// The parameters of underlays but for [`latency`].
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::choice("underlay", "transit-stub", &words(&SOURCES), "source of the latencies between peers"),
    Parameter::choice(
        "routing",
        "end-to-end",
        &words(&ROUTINGS),
        "a message is one event at its receiver, or one at each router on its way; arrival times are the same",
    ).needs("underlay=transit-stub|graph"),
    Parameter::integer("transit_domains", 10, 1..=10_000, "number of transit domains, in the underlay `transit-stub`").needs("underlay=transit-stub"),
    Parameter::integer("transit_nodes", 20, 1..=10_000, "mean number of routers of a transit domain").needs("underlay=transit-stub"),
    Parameter::integer(
        "stub_domains",
        0,
        0..=10_000_000,
        "number of stub domains; 0: as many as have 1.2 routers for each peer",
    ).needs("underlay=transit-stub"),
    Parameter::integer("stub_nodes", 20, 1..=10_000, "mean number of routers of a stub domain").needs("underlay=transit-stub"),
    Parameter::path(
        "graph",
        "file of the underlay `graph`: GraphML, GML, JSON, a list of edges, or a topology of BRITE or HPCC; peers are at random nodes",
    ).needs("underlay=graph"),
    Parameter::duration(
        "link_latency",
        Delay::from_ms(10),
        "latency of a link of `graph` that has none in the file, and an end without a position",
    ).needs("underlay=graph")
    .positive(),
    Parameter::path(
        "matrix",
        "file of the underlay `matrix`: a line of numbers for each place, with names or without, or a list of pairs",
    )
    .needs("underlay=matrix|coordinates"),
    Parameter::choice(
        "missing",
        "refuse",
        &words(&MISSING),
        "entries of `matrix` without a latency (negative, `nan`, `-`): an error; or the way back, or else the least \
         detour over one other place",
    ).needs("matrix"),
    Parameter::path(
        "coordinates",
        "file of the underlay `coordinates`: a line for each place, its coordinates and then its height; without it, \
         coordinates are fitted to `matrix`",
    ).needs("underlay=coordinates"),
    Parameter::integer("dimensions", 3, 1..=16, "dimensions of coordinates that are fitted to `matrix`").needs("underlay=coordinates, matrix"),
    Parameter::duration("unit", Delay::from_ms(1), "unit of the numbers in `matrix` and `coordinates`").needs("matrix or coordinates").positive(),
    Parameter::boolean(
        "round_trip",
        true,
        "the numbers in `matrix` and `coordinates` are round-trip times, and half of each is the latency",
    ).needs("matrix or coordinates"),
    Parameter::path(
        "cities",
        "file of the underlay `cities`: for each pair the least, mean and greatest round trip and its deviation, each \
         an unsigned 32-bit number of microseconds",
    ).needs("underlay=cities"),
    Parameter::choice("city_latency", "mean", &words(&STATISTICS), "round trip of which one half is the latency").needs("underlay=cities, jitter_law!=measured"),
    Parameter::duration("latency_min", Delay::from_us(10), "least latency between two places, or of a link of `graph`").needs("underlay=matrix|cities|coordinates|graph")
        .positive(),
    Parameter::duration("latency_local", Delay::from_ms(1), "latency between two peers at one place of a table").needs("underlay=matrix|cities|coordinates")
        .positive(),
    Parameter::duration(
        "access_latency",
        Delay::from_us(1),
        "greatest latency between a peer and its place; each peer has its own, drawn uniformly to the picosecond, so \
         that no two messages arrive together by their paths; not in the underlay `constant`",
    ).needs("underlay!=constant"),
    Parameter::duration(
        "jitter",
        Delay::ZERO,
        "time that is drawn for each message and added to its latency: its scale, by `jitter_law`; 0s: none",
    ).changeable().needs("jitter_law!=measured"),
    Parameter::choice(
        "jitter_law",
        "exponential",
        &words(&JITTERS),
        "distribution of the jitter; `jitter` is the longest of `uniform`, the mean of `exponential` and `normal`, \
         the median of `log-normal`; `normal` is cut off at zero; `measured` is that of `cities`, above the least latency",
    ).needs("jitter or jitter_law=measured"),
    Parameter::float(
        "jitter_shape",
        0.5,
        0.0..=10.0,
        "deviation of the jitter: as a multiple of `jitter` with `normal`, of the logarithm with `log-normal`",
    ).changeable().needs("jitter_law=normal|log-normal"),
    Parameter::fraction("loss", 0.0, "probability that a message is lost").changeable(),
    Parameter::duration("partition_at", Delay::ZERO, "time at which the network falls apart into groups of peers").changeable().needs("partition_for"),
    Parameter::duration("partition_for", Delay::ZERO, "time for which it stays apart; 0s: it never falls apart").changeable(),
    Parameter::integer("partition_groups", 2, 2..=1000, "number of groups, of random peers and of equal sizes").needs("partition_for"),
];

/// The parameters of underlays, as a field of a struct of parameters, for scenarios of other programs:
/// `underlay`, `matrix`, `unit`, `jitter`, `loss` and others. `parades show gossip` lists them.
///
/// # Examples
///
/// ```
/// use parades_catalog::UnderlayParameters;
/// use parades_config::{FromValues, Parameters, Values};
/// use parades_core::event::LpId;
/// use parades_core::time::Delay;
///
/// #[derive(Parameters)]
/// struct Swarm {
///     #[parameter(integer, default = 10, range = 2..=1000, meaning = "nodes of the swarm")]
///     nodes: u32,
///     #[parameter(group)]
///     underlay: UnderlayParameters,
/// }
///
/// let mut values = Values::new("swarm", Swarm::PARAMETERS);
/// values.set_argument("--set", "underlay=constant")?;
/// values.set_argument("--set", "latency=20ms")?;
/// let swarm = Swarm::from_values(&values)?;
/// let (underlay, notes) = swarm.underlay.carrier("nodes", swarm.nodes, 1)?;
/// assert_eq!(underlay.latency(LpId(0), LpId(9)), Some(Delay::from_ms(20)));
/// assert!(notes.is_empty());
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnderlayParameters(Values);

impl FromValues for UnderlayParameters {
    const PARAMETERS: &'static [Parameter] = {
        const LISTS: &[&[Parameter]] = &[&[latency(Delay::from_ms(50))], PARAMETERS];
        &joined::<{ length(LISTS) }>(LISTS)
    };

    fn from_values(values: &Values) -> Result<UnderlayParameters, ConfigError> {
        Ok(UnderlayParameters(values.clone()))
    }
}

impl UnderlayParameters {
    /// Makes the carrier of the messages between `nodes` nodes. `nodes_key` is the parameter that sets their
    /// number, for errors. `seed` decides on what is drawn, such as the places of nodes. Returns notes for
    /// the user too ([`Simulation::with_notes`](crate::Simulation::with_notes)).
    ///
    /// # Errors
    ///
    /// If a file cannot be used, or if the values contradict each other. The error is at the parameter.
    pub fn carrier(&self, nodes_key: &str, nodes: u32, seed: u64) -> Result<(Underlay, Vec<String>), ConfigError> {
        build(&self.0, (nodes_key, nodes), seed)
    }
}

/// The source of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    TransitStub,
    Constant,
    Matrix,
    Cities,
    Coordinates,
    Graph,
}

/// Makes the distribution of jitter from its scale and shape.
type MakeJitter = fn(Delay, f64) -> Result<Jitter, UnderlayError>;
/// The kinds of jitter; `None` for that of the cities.
type JitterKind = Option<MakeJitter>;

const SOURCES: Table<Origin, 6> = [
    ("transit-stub", Origin::TransitStub),
    ("constant", Origin::Constant),
    ("matrix", Origin::Matrix),
    ("cities", Origin::Cities),
    ("coordinates", Origin::Coordinates),
    ("graph", Origin::Graph),
];
const MISSING: Table<Missing, 2> = [("refuse", Missing::Refuse), ("detour", Missing::Detour)];
const STATISTICS: Table<Statistic, 2> = [("mean", Statistic::Mean), ("least", Statistic::Least)];
const ROUTINGS: Table<Routing, 2> = [("end-to-end", Routing::EndToEnd), ("hop-by-hop", Routing::HopByHop)];
const JITTERS: Table<JitterKind, 5> = [
    ("uniform", Some(|longest, _| Ok(Jitter::uniform(longest)))),
    ("exponential", Some(|mean, _| Ok(Jitter::exponential(mean)))),
    ("normal", Some(|mean, shape| Ok(Jitter::normal(mean, mean.scaled(shape))))),
    ("log-normal", Some(Jitter::log_normal)),
    ("measured", None),
];
/// The random stream of the transit–stub network.
const NETWORK_STREAM: u32 = 0x756e_0001;
/// The random stream of the routers at which peers are.
const PLACES_STREAM: u32 = 0x756e_0002;
/// The random stream of the latencies between peers and their places.
const ACCESS_STREAM: u32 = 0x756e_0005;
/// The random stream of the fitting of coordinates.
const FIT_STREAM: u32 = 0x756e_0004;
/// The random stream of the groups of a partition.
const GROUPS_STREAM: u32 = 0x756e_0003;

/// Makes the underlay of `peers` peers, which the parameter `peers_key` has set. Returns notes for the user
/// too.
pub(crate) fn build(
    values: &Values,
    (peers_key, peers): (&str, u32),
    seed: u64,
) -> Result<(Underlay, Vec<String>), ConfigError> {
    let origin = value_of(values, "underlay", &SOURCES);
    check_unused(values, origin)?;
    let mut notes = Vec::new();
    let underlay = match origin {
        Origin::Constant => Underlay::constant(values.duration("latency")),
        Origin::Matrix => of_places(values, matrix(values)?, Matrix::places, Underlay::table, (peers, &mut notes)),
        Origin::Cities => cities(values, peers, &mut notes)?,
        Origin::Coordinates => {
            let coordinates = coordinates(values, seed, &mut notes)?;
            of_places(values, coordinates, Coordinates::places, Underlay::coordinates, (peers, &mut notes))
        }
        Origin::TransitStub => transit_stub(values, (peers_key, peers), seed)?,
        Origin::Graph => graph(values, (peers_key, peers), seed, &mut notes)?,
    };
    let underlay = if origin == Origin::Constant { underlay } else { with_access(underlay, values, peers, seed) };
    Ok((with_faults(underlay, values, peers, seed)?, notes))
}

/// Adds the latencies between peers and their places.
fn with_access(underlay: Underlay, values: &Values, peers: u32, seed: u64) -> Underlay {
    let longest = values.duration("access_latency");
    if longest == Delay::ZERO {
        return underlay;
    }
    let rng = Rng::shared(seed, ACCESS_STREAM);
    underlay.with_access((0..peers).map(|_| rng.uniform_delay(Delay::ZERO, longest)).collect())
}

/// Refuses values that the source does not use.
fn check_unused(values: &Values, origin: Origin) -> Result<(), ConfigError> {
    let word = values.choice("underlay");
    if values.choice("jitter_law") == "measured" && origin != Origin::Cities {
        let message = format!("the underlay `{word}` has no measured jitter");
        return Err(values.error_at("jitter_law", &message, "set `underlay=cities`, or choose another law"));
    }
    Ok(())
}

/// Returns the file that a parameter names, which the underlay needs.
fn file(values: &Values, key: &str) -> Result<PathBuf, ConfigError> {
    values.path(key).ok_or_else(|| {
        let message = format!("the underlay `{}` needs a file", values.choice("underlay"));
        values.error_at("underlay", &message, &format!("set `{key}` to its name"))
    })
}

/// Returns the underlay of places, with a note if peers share them.
fn of_places<P>(
    values: &Values,
    places: P,
    count: fn(&P) -> u32,
    make: fn(P, Delay, Delay) -> Underlay,
    (peers, notes): (u32, &mut Vec<String>),
) -> Underlay {
    let count = count(&places);
    if count < peers {
        notes.push(format!("{peers} peers share the {count} places of the underlay"));
    }
    make(places, values.duration("latency_min"), values.duration("latency_local"))
}

/// Returns the unit of the numbers in tables, or half of it if they are round trips.
fn unit(values: &Values) -> Delay {
    Delay::from_ps(values.duration("unit").as_ps() / if values.boolean("round_trip") { 2 } else { 1 })
}

fn matrix(values: &Values) -> Result<Matrix, ConfigError> {
    let missing = value_of(values, "missing", &MISSING);
    Matrix::read_with(&file(values, "matrix")?, unit(values), missing)
        .map_err(|error| about_file(values, "matrix", error))
}

fn coordinates(values: &Values, seed: u64, notes: &mut Vec<String>) -> Result<Coordinates, ConfigError> {
    if values.path("matrix").is_none() {
        return Coordinates::read(&file(values, "coordinates")?, unit(values))
            .map_err(|error| about_file(values, "coordinates", error));
    }
    if values.path("coordinates").is_some() {
        let help = "leave out one of the two";
        return Err(values.error_at("matrix", "coordinates come from a file or are fitted to a matrix", help));
    }
    let dimensions = values.integer("dimensions");
    let columns = usize::try_from(dimensions).expect("the range ends at 16");
    let (coordinates, error) = Coordinates::fit(&matrix(values)?, columns, &Rng::shared(seed, FIT_STREAM))
        .map_err(|why| values.error_at("matrix", &why.to_string(), "give a table of more places"))?;
    let percent = 100.0 * error;
    notes.push(format!(
        "coordinates of {dimensions} dimensions are fitted to the table, with a median relative error of {percent:.1} %"
    ));
    Ok(coordinates)
}

fn cities(values: &Values, peers: u32, notes: &mut Vec<String>) -> Result<Underlay, ConfigError> {
    let cities = Cities::read(&file(values, "cities")?).map_err(|error| about_file(values, "cities", error))?;
    let is_measured = values.choice("jitter_law") == "measured";
    let statistic = if is_measured { Statistic::Least } else { value_of(values, "city_latency", &STATISTICS) };
    let latencies = cities.latencies(statistic);
    let underlay = of_places(values, latencies, Matrix::places, Underlay::table, (peers, notes));
    Ok(if is_measured { underlay.with_jitter(Jitter::measured(Arc::new(cities))) } else { underlay })
}

fn transit_stub(values: &Values, (peers_key, peers): (&str, u32), seed: u64) -> Result<Underlay, ConfigError> {
    let size = |key| super::int32(values, key);
    let stub_nodes = size("stub_nodes");
    let stub_domains = match size("stub_domains") {
        0 => stub_domains_for(peers, stub_nodes),
        given => given,
    };
    let sizes = TransitStub {
        transit_domains: size("transit_domains"),
        transit_nodes: size("transit_nodes"),
        stub_domains,
        stub_nodes,
    };
    let domains = sizes
        .generate(&Rng::shared(seed, NETWORK_STREAM))
        .map_err(|why| values.error_at("stub_nodes", &why.to_string(), "lower it, or the number of domains"))?;
    let routers: Vec<NodeId> = domains.stub_routers().collect();
    let refused = |why| refused(values, (peers_key, "raise `stub_domains` or `stub_nodes`, or lower it"), &why);
    let places = draw_places(&routers, peers, "stub routers", &Rng::shared(seed, PLACES_STREAM)).map_err(refused)?;
    Underlay::transit_stub(&domains, &places, value_of(values, "routing", &ROUTINGS)).map_err(refused)
}

/// Returns the number of stub domains of which the routers are 1.2 for each peer on the mean, and never fewer
/// than peers.
fn stub_domains_for(peers: u32, stub_nodes: u32) -> u32 {
    let [peers, nodes] = [peers, stub_nodes].map(u64::from);
    // A domain has at least two routers fewer than asked for, but one.
    let domains = (peers * 6).div_ceil(nodes * 5).max(peers.div_ceil(nodes.saturating_sub(2).max(1)));
    u32::try_from(domains).expect("there are not more domains than 1.2 for each peer").max(1)
}

fn graph(
    values: &Values,
    (peers_key, peers): (&str, u32),
    seed: u64,
    notes: &mut Vec<String>,
) -> Result<Underlay, ConfigError> {
    let path = file(values, "graph")?;
    let options = import::Options {
        delay: values.duration("link_latency"),
        delay_min: values.duration("latency_min"),
        ..import::Options::default()
    };
    let network = import::read(&path, &options).map_err(|error| about_file(values, "graph", error))?;
    notes.extend(network.notes);
    let nodes: Vec<NodeId> = network.topology.node_ids().collect();
    let refused = |why| refused(values, (peers_key, "lower it, or give a larger graph"), &why);
    let places =
        draw_places(&nodes, peers, "nodes in the graph", &Rng::shared(seed, PLACES_STREAM)).map_err(refused)?;
    Underlay::graph(network.topology, &places, value_of(values, "routing", &ROUTINGS)).map_err(refused)
}

/// Returns the error of an underlay that cannot be made for this number of peers.
fn refused(values: &Values, (peers_key, help): (&str, &str), why: &UnderlayError) -> ConfigError {
    let help = if matches!(why, UnderlayError::Memory { .. }) { "raise the memory limit, or lower it" } else { help };
    values.error_at(peers_key, &why.to_string(), help)
}

/// Adds jitter, loss and the partition.
fn with_faults(underlay: Underlay, values: &Values, peers: u32, seed: u64) -> Result<Underlay, ConfigError> {
    let at = |key, help| move |why: UnderlayError| values.error_at(key, &why.to_string(), help);
    let mut underlay = underlay.with_loss(values.float("loss")).map_err(at("loss", "choose another value"))?;
    let jitter = values.duration("jitter");
    if let (Some(make), true) = (value_of(values, "jitter_law", &JITTERS), jitter > Delay::ZERO) {
        let jitter = make(jitter, values.float("jitter_shape")).map_err(at("jitter_shape", "choose another value"))?;
        underlay = underlay.with_jitter(jitter);
    }
    let duration = values.duration("partition_for");
    if duration > Delay::ZERO {
        let start = Time::ZERO.saturating_add(values.duration("partition_at"));
        let groups = u16::try_from(values.integer("partition_groups")).expect("the range ends at 1000");
        let rng = Rng::shared(seed, GROUPS_STREAM);
        let partition = Partition::random(start, start.saturating_add(duration), peers, groups, &rng)
            .map_err(at("partition_groups", "lower it, or simulate more peers"))?;
        underlay = underlay.with_partition(partition);
    }
    Ok(underlay)
}
