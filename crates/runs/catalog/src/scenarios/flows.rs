//! `flows`.

use super::{Prepared, Scenario, about_file, int32};
use parades_config::{ConfigError, Parameter, Place, Values};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_flow::flows::{Flow, Flows};
use parades_flow::network_model::NetworkModel;
use parades_flow::platform::{HostId, Platform};
use parades_flow::{pattern, xml};
use std::path::Path;

/// The purpose of the shared random stream that flows are drawn from.
const TRAFFIC_STREAM: u32 = 2;

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "flows",
    about: "flows that share the links of a platform file (or a built-in cluster) max-min fairly",
    parameters: &[
        Parameter::path("platform", "platform file, SimGrid's XML or TOML; without one, a built-in cluster"),
        Parameter::path(
            "pattern",
            "file with a line for each flow, `id source destination bytes start_s`; without one, flows are drawn",
        ),
        Parameter::choice("model", "LV08", &NetworkModel::NAMES, "what flows wait for and may take"),
        Parameter::duration("latency", Delay::from_ms(1), "how long every flow takes under the model constant"),
        Parameter::integer("hosts", 1000, 2..=1_000_000, "hosts of the built-in cluster"),
        Parameter::integer("flows", 10_000, 1..=10_000_000, "flows that are drawn, each between two hosts"),
        Parameter::size("size", 10_000_000, "mean of the sizes that are drawn, which are exponential").positive(),
        Parameter::float(
            "arrivals",
            1000.0,
            0.0..=1e9,
            "flows that begin in a second, on average, as a Poisson stream",
        )
        .positive(),
    ],
};

pub(crate) fn prepare(values: &Values, seed: u64) -> Result<Prepared<Flows>, ConfigError> {
    let platform = match values.path("platform") {
        Some(path) => parades_flow::read(&path).map_err(|error| about_file(values, "platform", error))?,
        None => cluster(int32(values, "hosts"))?,
    };
    let notes = platform.notes().to_vec();
    let flows = match values.path("pattern") {
        Some(path) => pattern::read(&path, &platform).map_err(|error| about_file(values, "pattern", error))?,
        None => drawn(values, seed, &platform)?,
    };
    let network_model =
        NetworkModel::named(values.choice("model"), values.duration("latency")).expect("the choices are the names");
    let model = Flows::new(platform, flows, network_model);
    Ok(Prepared { model, until: Time::MAX, notes })
}

/// Hosts with links of 1 Gbit/s each way, around a switch that carries all they send.
fn cluster(hosts: u32) -> Result<Platform, ConfigError> {
    let text = format!(
        r#"<platform version="4.1"><cluster id="cluster" prefix="host-" suffix="" radical="0-{}" speed="1Gf" bw="125MBps" lat="50us"/></platform>"#,
        hosts - 1
    );
    xml::parse(Path::new("the built-in cluster"), text.as_bytes())
}

/// Flows between hosts drawn at random, two different ones each.
fn drawn(values: &Values, seed: u64, platform: &Platform) -> Result<Vec<Flow>, ConfigError> {
    let hosts = platform.hosts().len() as u64;
    if hosts < 2 {
        let error = ConfigError::new("the platform has no two hosts that could send to each other");
        return Err(of_platform(values, error));
    }
    let mut rng = Rng::shared(seed, TRAFFIC_STREAM);
    let gap = Delay::from_secs_f64(1.0 / values.float("arrivals")).unwrap_or(Delay::MAX);
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
        if let Err(why) = platform.route(source, destination) {
            let error = ConfigError::new(why.to_string()).with_help("give a `pattern` of flows that have routes");
            return Err(of_platform(values, error));
        }
        flows.push(Flow { id: number.to_string().into(), source, destination, bytes, start });
    }
    Ok(flows)
}

/// Something wrong with the platform, which names its file.
fn of_platform(values: &Values, error: ConfigError) -> ConfigError {
    match values.path("platform") {
        Some(path) => error.at(Place::File(path)),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_without_a_route_is_named() {
        let text = r#"<platform version="4.1"><zone id="w" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/></zone></platform>"#;
        let path = std::env::temp_dir().join(format!("parades-apart-{}.xml", std::process::id()));
        std::fs::write(&path, text).expect("there is a place for temporary files");
        let mut values = SCENARIO.values();
        values.set_argument("--set", &format!("platform={}", path.display())).expect("it is a path");
        let said = prepare(&values, 1).expect_err("it is refused").to_string();
        std::fs::remove_file(&path).expect("it was written above");
        assert!(said.starts_with(&format!("{}: the platform has no route from ", path.display())), "{said}");
    }
}
