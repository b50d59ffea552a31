//! Settings of network models, by the names that SimGrid gives them.
//!
//! A platform file sets them in its `<config>`, and users by parameters of the scenario. Names are compared
//! without case, and `_` counts as `-`, as older files write it.

use crate::network_model::{MaxMinModel, NetworkModel};
use parades_core::time::Delay;

/// The settings of a network model. Where one is `None`, the model's own value counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The name of the model, one of [`NetworkModel::NAMES`].
    pub model: Option<&'static str>,
    /// [`MaxMinModel::latency_factor`]. Under the constant model, the time that each flow takes, in seconds.
    pub latency_factor: Option<f64>,
    /// [`MaxMinModel::bandwidth_factor`].
    pub bandwidth_factor: Option<f64>,
    /// [`MaxMinModel::weight_s`], in bytes.
    pub weight_s: Option<f64>,
    /// [`MaxMinModel::window`], in bytes. 0 for no bound.
    pub window: Option<f64>,
    /// True if acknowledgements take a part of the reverse route.
    pub cross_traffic: Option<bool>,
    /// [`MaxMinModel::precision`].
    pub precision: Option<f64>,
}

/// The settings that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Model,
    LatencyFactor,
    BandwidthFactor,
    WeightS,
    Window,
    CrossTraffic,
    Precision,
}

/// SimGrid's names, in lower case with `-`. Several are older names of the same setting.
const NAMES: [(&str, Setting); 11] = [
    ("network/model", Setting::Model),
    ("network-model", Setting::Model),
    ("network/latency-factor", Setting::LatencyFactor),
    ("network/bandwidth-factor", Setting::BandwidthFactor),
    ("network/weight-s", Setting::WeightS),
    ("network/tcp-gamma", Setting::Window),
    ("tcp-gamma", Setting::Window),
    ("network/crosstraffic", Setting::CrossTraffic),
    ("maxmin/precision", Setting::Precision),
    ("maxmin-precision", Setting::Precision),
    ("precision/work-amount", Setting::Precision),
];

impl Settings {
    /// Sets the value of a name. Returns false, and sets nothing, if the name is not one of these settings.
    ///
    /// ```
    /// # use parades_flow::settings::Settings;
    /// let mut settings = Settings::default();
    /// assert_eq!(settings.set("network/TCP-gamma", "65536"), Ok(true));
    /// assert_eq!(settings.window, Some(65536.0));
    /// assert_eq!(settings.set("contexts/stack-size", "16"), Ok(false));
    /// assert_eq!(settings.set("network/crosstraffic", "perhaps").unwrap_err(), "is neither yes nor no");
    /// ```
    ///
    /// # Errors
    ///
    /// If the value is not one of the setting: the second half of a sentence that begins with the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let Some(setting) = setting_named(name) else { return Ok(false) };
        let value = value.trim();
        match setting {
            Setting::Model => self.model = Some(model_named(value)?),
            Setting::LatencyFactor => self.latency_factor = Some(number(value)?),
            Setting::BandwidthFactor => self.bandwidth_factor = Some(positive(value)?),
            Setting::WeightS => self.weight_s = Some(number(value)?),
            Setting::Window => self.window = Some(number(value)?),
            Setting::CrossTraffic => self.cross_traffic = Some(boolean(value)?),
            Setting::Precision => self.precision = Some(fraction(value)?),
        }
        Ok(true)
    }

    /// Returns true if a name is that of the network model.
    pub(crate) fn is_model(name: &str) -> bool {
        setting_named(name) == Some(Setting::Model)
    }

    /// Returns these settings, completed by those of `others` that are not set here.
    #[must_use]
    pub fn or(self, others: Settings) -> Settings {
        Settings {
            model: self.model.or(others.model),
            latency_factor: self.latency_factor.or(others.latency_factor),
            bandwidth_factor: self.bandwidth_factor.or(others.bandwidth_factor),
            weight_s: self.weight_s.or(others.weight_s),
            window: self.window.or(others.window),
            cross_traffic: self.cross_traffic.or(others.cross_traffic),
            precision: self.precision.or(others.precision),
        }
    }

    /// Returns the network model with these settings; LV08 if no model is set. `latency` is the time that
    /// each flow takes under the constant model, unless a latency factor is set.
    pub fn network_model(&self, latency: Delay) -> NetworkModel {
        let latency = self.latency_factor.and_then(Delay::try_from_secs_f64).unwrap_or(latency);
        match NetworkModel::named(self.model.unwrap_or("LV08"), latency).expect("set to one of the names") {
            NetworkModel::Constant(latency) => NetworkModel::Constant(latency),
            NetworkModel::MaxMin(of_name) => NetworkModel::MaxMin(MaxMinModel {
                latency_factor: self.latency_factor.unwrap_or(of_name.latency_factor),
                bandwidth_factor: self.bandwidth_factor.unwrap_or(of_name.bandwidth_factor),
                weight_s: self.weight_s.unwrap_or(of_name.weight_s),
                window: self.window.map_or(of_name.window, |bytes| if bytes > 0.0 { bytes } else { f64::INFINITY }),
                cross_traffic: match self.cross_traffic {
                    Some(true) => MaxMinModel::LV08.cross_traffic,
                    Some(false) => 0.0,
                    None => of_name.cross_traffic,
                },
                precision: self.precision.unwrap_or(of_name.precision),
            }),
        }
    }
}

fn setting_named(name: &str) -> Option<Setting> {
    let plain = name.to_ascii_lowercase().replace('_', "-");
    NAMES.iter().find(|(known, _)| *known == plain).map(|&(_, setting)| setting)
}

fn model_named(text: &str) -> Result<&'static str, String> {
    let found = NetworkModel::NAMES.into_iter().find(|name| name.eq_ignore_ascii_case(text));
    found.ok_or_else(|| format!("is none of the models {}", NetworkModel::NAMES.join(", ")))
}

/// Reads a number of at least zero.
fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or_else(|| "is not one number of at least zero".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|x| *x > 0.0).ok_or_else(|| "is not one number above zero".to_owned())
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|x| *x < 1.0).ok_or_else(|| "is not a number from 0 to below 1".to_owned())
}

fn boolean(text: &str) -> Result<bool, String> {
    match &*text.to_ascii_lowercase() {
        "yes" | "on" | "true" | "1" => Ok(true),
        "no" | "off" | "false" | "0" => Ok(false),
        _ => Err("is neither yes nor no".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_simgrid_old_and_new() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("network/model", "cm02"),
            ("network/latency_factor", "10.4"),
            ("network/bandwidth-factor", "0.92"),
            ("network/weight_S", "8775"),
            ("TCP_gamma", "0"),
            ("network/crosstraffic", "off"),
            ("maxmin/precision", "1e-8"),
        ] {
            assert_eq!(settings.set(name, value), Ok(true), "{name}");
        }
        let wanted = MaxMinModel {
            latency_factor: 10.4,
            bandwidth_factor: 0.92,
            weight_s: 8775.0,
            window: f64::INFINITY,
            cross_traffic: 0.0,
            precision: 1e-8,
        };
        assert_eq!(settings.network_model(Delay::ZERO), NetworkModel::MaxMin(wanted));
    }

    #[test]
    fn values_that_a_setting_does_not_take_are_refused() {
        for (name, value) in [
            ("network/model", "SMPI"),
            ("network/latency-factor", "0:1;65472:11"),
            ("network/bandwidth-factor", "0"),
            ("network/TCP-gamma", "-1"),
            ("network/weight-S", "nan"),
            ("maxmin/precision", "1"),
        ] {
            assert!(Settings::default().set(name, value).is_err(), "{name}");
        }
    }
}
