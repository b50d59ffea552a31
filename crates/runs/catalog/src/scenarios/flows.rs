//! `flows`.

use super::{Scenario, about_file, check_memory, int32};
use crate::simulation::Simulation;
use parades_config::units::format_duration;
use parades_config::{ConfigError, Parameter, Place, Values, quoted};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_flow::flows::{Flow, Flows, Unfinished};
use parades_flow::network_model::NetworkModel;
use parades_flow::platform::{HostId, Platform};
use parades_flow::settings::Settings;
use parades_flow::{pattern, xml};
use std::path::Path;

/// The memory that a host of the built-in cluster takes while it is made, in bytes, estimated low.
const HOST_BYTES: u64 = 800;
/// The memory that a flow takes when it is drawn, in bytes, estimated low: its description and its name
/// twice.
const FLOW_BYTES: u64 = 120;
/// The number of the shared random stream from which flows are drawn.
const TRAFFIC_STREAM: u32 = 2;

pub(crate) const SCENARIO: Scenario = Scenario { platform: Some("platform"), ..BASE };

const BASE: Scenario = Scenario::new(
    "flows",
    "flows that share the links of a platform file (or a built-in cluster) max-min fairly",
    &[
        Parameter::path("platform", "platform file, SimGrid's XML or TOML; without one, a built-in cluster"),
        Parameter::path(
            "pattern",
            "file with a line for each flow, `id source destination bytes start_s`, names with blanks in quotes; without one, flows are drawn",
        ),
        Parameter::choice(
            "model",
            "auto",
            &["auto", "CM02", "LV08", "LV08-noct", "constant"],
            "latency and bandwidth of flows, as in SimGrid's models of this name; `constant`: every flow takes `latency`; \
             `auto`: the model of the platform's <config>, or else LV08",
        ),
        Parameter::duration("latency", Delay::from_ms(1), "duration of every flow, in the model `constant`")
            .needs("model=auto|constant, model=constant or platform"),
        Parameter::integer("hosts", 1000, 2..=1_000_000, "hosts of the built-in cluster").needs("no platform"),
        Parameter::integer("flows", 10_000, 1..=10_000_000, "number of flows that are drawn, each between two hosts")
            .needs("no pattern"),
        Parameter::size("size", 10_000_000, "mean of the sizes that are drawn, which are exponential")
            .positive()
            .needs("no pattern"),
        Parameter::float(
            "arrivals",
            1000.0,
            0.0..=1e9,
            "mean number of flows that begin in a second, as a Poisson process",
        )
        .positive()
        .needs("no pattern"),
        Parameter::text(
            "network/TCP-gamma",
            "",
            "greatest window of TCP in bytes; empty: the platform's or the model's",
        )
        .needs(HAS_SHARES),
        Parameter::text(
            "network/latency-factor",
            "",
            "latencies of the route before the first byte; empty: the platform's or the model's",
        )
        .needs(HAS_SHARES),
        Parameter::text(
            "network/bandwidth-factor",
            "",
            "payload's share of a flow's rate; empty: the platform's or the model's",
        )
        .needs(HAS_SHARES),
        Parameter::text(
            "network/weight-S",
            "",
            "bytes by which a link's bandwidth weighs on shares; empty: the platform's or the model's",
        )
        .needs(HAS_SHARES),
        Parameter::text(
            "network/crosstraffic",
            "",
            "yes or no: acknowledgements take 5 % of the rate; empty: the platform's or the model's",
        )
        .needs(HAS_SHARES),
        Parameter::text(
            "maxmin/precision",
            "",
            "share of a link that counts as nothing left; empty: the platform's or the model's",
        )
        .needs(HAS_SHARES),
        Parameter::choice(
            "unfinished",
            "left-out",
            &["left-out", "so-far"],
            "flows that are unfinished at the end: left out of `duration`, or counted with their time so far, a lower bound",
        ),
    ],
    build,
);

/// The condition of settings of the sharing of links.
const HAS_SHARES: &str = "model!=constant";

/// The parameters that are settings of the network model, by SimGrid's names.
const SETTINGS: [&str; 6] = [
    "network/TCP-gamma",
    "network/latency-factor",
    "network/bandwidth-factor",
    "network/weight-S",
    "network/crosstraffic",
    "maxmin/precision",
];

/// Returns the settings of the network model that the user has made.
fn settings(values: &Values) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    for key in SETTINGS {
        let text = values.text(key);
        if !text.is_empty()
            && let Err(why) = settings.set(key, text)
        {
            return Err(values.error_at(key, &format!("{} {why}", quoted(text)), "correct it"));
        }
    }
    if values.choice("model") != "auto" {
        settings.set("network/model", values.choice("model")).expect("the choices are names of models");
    }
    Ok(settings)
}

/// Reads the platform of a scenario, or makes a built-in cluster of `hosts` hosts. Returns a note if `model`
/// sets aside the network model of its `<config>`.
///
/// # Errors
///
/// If the file is wrong, or if its network model is not supported and `model` is `auto`.
pub(super) fn platform(values: &Values, hosts: u32) -> Result<(Platform, Option<String>), ConfigError> {
    let platform = match values.path("platform") {
        Some(path) => parades_flow::read(&path).map_err(|error| about_file(values, "platform", error))?,
        None => cluster(hosts)?,
    };
    let note = match (platform.model_refusal(), values.choice("model")) {
        (Some(error), "auto") => return Err(error.clone()),
        (Some(_), _) => Some("the platform's network/model is set aside for `model`".to_owned()),
        (None, _) => None,
    };
    Ok((platform, note))
}

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    if values.path("platform").is_none() {
        check_memory(values, "hosts", u64::from(int32(values, "hosts")) * HOST_BYTES)?;
    }
    let (platform, note) = platform(values, int32(values, "hosts"))?;
    let mut notes = platform.notes().to_vec();
    notes.extend(note);
    let network_model = settings(values)?.or(platform.settings()).network_model(values.duration("latency"));
    if let (Some(_), NetworkModel::Constant(latency)) = (values.path("platform"), network_model) {
        let takes = format_duration(latency);
        notes.push(format!("under the model constant each flow takes {takes}, and links and routes have no effect"));
    }
    check_used(values, network_model)?;
    let flows = match values.path("pattern") {
        Some(path) => {
            pattern::read(&path, &platform, network_model).map_err(|error| about_file(values, "pattern", error))?
        }
        None => drawn(values, seed, &platform, network_model)?,
    };
    let unfinished = match values.choice("unfinished") {
        "so-far" => Unfinished::SoFar,
        _ => Unfinished::LeftOut,
    };
    let model = Flows::new(platform, flows, network_model).with_unfinished(unfinished);
    Ok(Simulation::saved(model, Time::MAX).with_notes(notes))
}

/// Refuses values that the network model does not use. The platform may have named the model.
fn check_used(values: &Values, model: NetworkModel) -> Result<(), ConfigError> {
    let (unused, name): (&[&str], _) = match model {
        NetworkModel::Constant(_) => (&SETTINGS, "constant"),
        NetworkModel::MaxMin(_) => (&["latency"], "one of shared links"),
    };
    match unused.iter().find(|key| values.is_changed(key)) {
        Some(key) => {
            let message = format!("`{key}` has no effect, because the network model is {name}");
            Err(values.error_at(key, &message, "leave it out, or choose another `model`"))
        }
        None => Ok(()),
    }
}

/// Returns a platform of hosts around a switch without a bound. Each host has a link of 1 Gbit/s in each
/// direction.
fn cluster(hosts: u32) -> Result<Platform, ConfigError> {
    let text = format!(
        r#"<platform version="4.1"><cluster id="cluster" prefix="host-" suffix="" radical="0-{}" speed="1Gf" bw="125MBps" lat="50us"/></platform>"#,
        hosts - 1
    );
    xml::parse(Path::new("the built-in cluster"), text.as_bytes())
}

/// Draws flows, each between two different hosts.
fn drawn(values: &Values, seed: u64, platform: &Platform, model: NetworkModel) -> Result<Vec<Flow>, ConfigError> {
    let hosts = platform.hosts().len() as u64;
    if hosts < 2 {
        let error = ConfigError::new("the platform has no two hosts that could send to each other");
        return Err(of_platform(values, error));
    }
    // Checked before flows are drawn, which may take more memory than there is.
    check_memory(values, "flows", u64::from(int32(values, "flows")) * FLOW_BYTES)?;
    let rng = Rng::shared(seed, TRAFFIC_STREAM);
    let gap = Delay::try_from_secs_f64(1.0 / values.float("arrivals")).unwrap_or(Delay::MAX);
    let mut start = Time::ZERO;
    let mut flows = Vec::new();
    for number in 0..int32(values, "flows") {
        let host = |index: u64| HostId(u32::try_from(index).expect("hosts are counted in 32 bits"));
        let source = rng.below(hosts);
        let other = rng.below(hosts - 1);
        let destination = if other >= source { other + 1 } else { other };
        let bytes = (values.size("size") as f64 * rng.exponential()).ceil();
        let Some(next) = start.checked_add(rng.exponential_delay(gap)) else {
            return Err(ConfigError::new("the last flows would begin past the end of virtual time")
                .with_help("raise `arrivals` or lower `flows`"));
        };
        start = next;
        let (source, destination) = (host(source), host(destination));
        if model.uses_routes()
            && let Err(why) = platform.route(source, destination)
        {
            let error = ConfigError::new(why.to_string()).with_help("give a `pattern` of flows that have routes");
            return Err(of_platform(values, error));
        }
        flows.push(Flow { id: number.to_string().into(), source, destination, bytes, start });
    }
    Ok(flows)
}

/// Places an error in the platform's file, if there is one.
fn of_platform(values: &Values, error: ConfigError) -> ConfigError {
    match values.path("platform") {
        Some(path) => error.at(Place::File(path)),
        None => error,
    }
}
