//! `mm1` and `jackson`.

use super::{Scenario, check_memory, int32};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::Delay;
use parades_models::queueing::{Generated, Layout, Network, Queueing};

const UTILISATION: Parameter =
    Parameter::fraction("utilisation", 0.8, "share of time that the busiest station is busy; above 0 and below 1");
const SERVICE_RATE: Parameter =
    Parameter::float("service_rate", 1000.0, 1e-6..=1e10, "customers that a station can serve in a second");
const CUSTOMERS: Parameter = Parameter::integer(
    "customers",
    0,
    0..=1_000_000_000_000,
    "approximate number of customers; 0: the number estimated for a 95 % interval of the mean sojourn time of 1 % to either side, at most 24 million",
);
const TRANSIT: Parameter =
    Parameter::duration("transit", Delay::from_us(100), "duration of each move between stations");

pub(crate) const MM1: Scenario = Scenario::new(
    "mm1",
    "one server with Poisson arrivals and exponential services, against theory",
    &[UTILISATION, SERVICE_RATE, CUSTOMERS, TRANSIT],
    build_mm1,
);

pub(crate) const JACKSON: Scenario = Scenario::new(
    "jackson",
    "an open network of exponential servers with feedback, against theory",
    &[
        Parameter::choice(
            "layout",
            "central-server",
            &words(&LAYOUTS),
            "paths of customers: five stations with feedback; or many stations, in a ring or at random",
        ),
        Parameter::integer("stations", 10_000, 2..=100_000_000, "stations of a ring or random network"),
        UTILISATION,
        SERVICE_RATE,
        Parameter::fraction(
            "leave",
            0.1,
            "probability that a customer of a ring or random network leaves after a service",
        ),
        CUSTOMERS,
        TRANSIT,
    ],
    build_jackson,
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
    let (utilisation, service_rate) = (values.float("utilisation"), values.float("service_rate"));
    let network = match value_of(values, "layout", &LAYOUTS) {
        None => Network::central_server(utilisation, service_rate),
        Some(layout) => {
            let (stations, leave) = (int32(values, "stations"), values.float("leave"));
            check_memory(values, "stations", u64::from(stations) * STATION_BYTES)?;
            Network::generated(&Generated { stations, layout, utilisation, service_rate, leave, seed })
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
    Ok(Simulation::distributed(model, until))
}
