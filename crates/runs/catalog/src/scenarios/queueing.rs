//! `mm1` and `jackson`.

use super::{Scenario, Split, check_memory, joined, length, needing, split_at};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::Delay;
use parades_models::queueing::{Generated, Layout, Network, Queueing};

/// The parameters from the utilisation on, and from the probability of leaving on.
const BUSY: Split = split_at(split_at(Generated::PARAMETERS, "utilisation").from, "leave");
const CUSTOMERS: Parameter = Parameter::integer(
    "customers",
    0,
    0..=1_000_000_000_000,
    "approximate number of customers; 0: the number estimated for a 95 % interval of the mean sojourn time of 1 % to either side, at most 24 million",
);
const TRANSIT: Parameter =
    Parameter::duration("transit", Delay::from_us(100), "duration of each move between stations").changeable();

pub(crate) const MM1: Scenario = Scenario::new(
    "mm1",
    "one server with Poisson arrivals and exponential services, against theory",
    &joined::<{ length(OF_MM1) }>(OF_MM1),
    build_mm1,
);

pub(crate) const JACKSON: Scenario = Scenario::new(
    "jackson",
    "an open network of exponential servers with feedback, against theory",
    &needing(joined::<{ length(OF_JACKSON) }>(OF_JACKSON), NEEDS),
    build_jackson,
);

const OF_MM1: &[&[Parameter]] = &[BUSY.before, &[CUSTOMERS, TRANSIT]];
const OF_JACKSON: &[&[Parameter]] = &[&[LAYOUT], Generated::PARAMETERS, &[CUSTOMERS, TRANSIT]];

/// What parameters need of the layout.
const NEEDS: &[(&str, &str)] = &[("stations", "layout=ring|random"), ("leave", "layout=ring|random")];

const LAYOUT: Parameter = Parameter::choice(
    "layout",
    "central-server",
    &words(&LAYOUTS),
    "paths of customers: five stations with feedback; or many stations, in a ring or at random",
);

/// The layout of a generated network; `None` for the central server.
const LAYOUTS: Table<Option<Layout>, 3> =
    [("central-server", None), ("ring", Some(Layout::Ring)), ("random", Some(Layout::Random))];

/// The memory that a station takes while the network is built, in bytes, estimated low.
const STATION_BYTES: u64 = 180;

fn build_mm1(values: &Values, _seed: u64) -> Result<Simulation, ConfigError> {
    build(values, Network::mm1(values.float("utilisation"), values.float("service_rate")))
}

fn build_jackson(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let generated = Generated { seed, ..Generated::from_values(values)? };
    let network = match value_of(values, "layout", &LAYOUTS) {
        None => Network::central_server(generated.utilisation, generated.service_rate),
        Some(layout) => {
            check_memory(values, "stations", u64::from(generated.stations) * STATION_BYTES)?;
            Network::generated(&Generated { layout, ..generated })
        }
    };
    build(values, network)
}

fn build(values: &Values, network: Result<Network, (&'static str, String)>) -> Result<Simulation, ConfigError> {
    let customers = Some(values.integer("customers")).filter(|&customers| customers > 0);
    let model = network
        .and_then(|network| Queueing::new(network, values.duration("transit"), customers))
        .map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    let until = model.duration();
    Ok(Simulation::saved(model, until))
}
