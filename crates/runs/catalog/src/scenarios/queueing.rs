//! `mm1` and `jackson`.

use super::{Prepared, Scenario, int32};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::Delay;
use parades_models::queueing::{Generated, Layout, Network, Queueing};

const UTILISATION: Parameter =
    Parameter::fraction("utilisation", 0.8, "share of time that the busiest station is busy; above 0 and below 1");
const SERVICE_RATE: Parameter =
    Parameter::float("service_rate", 1000.0, 1e-6..=1e10, "customers per second that a station can serve");
const CUSTOMERS: Parameter = Parameter::integer(
    "customers",
    0,
    0..=1_000_000_000_000,
    "customers to run for, about; 0: as many as are estimated to make the 95 % interval of the mean sojourn time 1 % of it to either side, 24 million at most",
);
const TRANSIT: Parameter = Parameter::duration("transit", Delay::from_us(100), "time of each move between stations");

pub(crate) const MM1: Scenario = Scenario {
    name: "mm1",
    about: "one server with Poisson arrivals and exponential services, against theory",
    parameters: &[UTILISATION, SERVICE_RATE, CUSTOMERS, TRANSIT],
};

pub(crate) const JACKSON: Scenario = Scenario {
    name: "jackson",
    about: "an open network of exponential servers with feedback, against theory",
    parameters: &[
        Parameter::choice(
            "layout",
            "central-server",
            &["central-server", "ring", "random"],
            "how customers go on: five stations with feedback, or many in a ring or at random",
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
};

pub(crate) fn mm1(values: &Values) -> Result<Prepared<Queueing>, ConfigError> {
    prepare(values, Network::mm1(values.float("utilisation"), values.float("service_rate")))
}

pub(crate) fn jackson(values: &Values, seed: u64) -> Result<Prepared<Queueing>, ConfigError> {
    let (utilisation, service_rate) = (values.float("utilisation"), values.float("service_rate"));
    let generated = |layout| {
        let (stations, leave) = (int32(values, "stations"), values.float("leave"));
        Network::generated(&Generated { stations, layout, utilisation, service_rate, leave, seed })
    };
    let network = match values.choice("layout") {
        "ring" => generated(Layout::Ring),
        "random" => generated(Layout::Random),
        _ => Network::central_server(utilisation, service_rate),
    };
    prepare(values, network)
}

fn prepare(
    values: &Values,
    network: Result<Network, (&'static str, String)>,
) -> Result<Prepared<Queueing>, ConfigError> {
    let customers = Some(values.integer("customers")).filter(|&customers| customers > 0);
    let model = network
        .and_then(|network| Queueing::new(network, values.duration("transit"), customers))
        .map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    Ok(Prepared { until: model.duration(), model, notes: Vec::new() })
}
