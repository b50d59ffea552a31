//! Flow-level networks: the durations of transfers and computations that share links and processors max-min
//! fairly.
//!
//! Packets are not simulated. A flow has a rate: its max-min fair share among all present flows. Rates change
//! only when a flow begins or ends, or when a resource changes. So a transfer costs a few events, whatever
//! its size.
//!
//! This crate may use the crates of its floor and those below it. It knows no engine, except in tests.
//!
//! | module | content |
//! |---|---|
//! | [`access`] | max-min fairness between the access links of peers |
//! | [`solver`] | max-min fairness, solved again only where something has changed |
//! | [`network_model`] | the models: latencies, penalties and bounds of flows |
//! | [`settings`] | settings of models by SimGrid's names |
//! | [`platform`] | hosts, links, zones and routes |
//! | [`xml`], [`toml_form`] | platforms from files |
//! | [`generators`] | generated platforms |
//! | [`profile`] | changes of resources over time |
//! | [`network`] | activities on a platform, and their ends |
//! | [`flows`], [`pattern`] | the model `flows`: a list of flows on a platform |

#![forbid(unsafe_code)]

pub mod access;
mod build;
pub mod flows;
pub mod generators;
pub mod network;
pub mod network_model;
pub mod pattern;
pub mod platform;
pub mod profile;
pub mod settings;
pub mod solver;
pub mod toml_form;
mod units;
pub mod xml;

use parades_config::ConfigError;
use platform::Platform;
use std::path::Path;

/// Reads the platform file at `path`: in TOML ([`toml_form`]) if its name ends in `.toml`, or else in
/// SimGrid's XML ([`xml`]).
///
/// # Errors
///
/// If the file cannot be read or describes no valid platform. The error is one sentence with the place in the
/// file.
pub fn read(path: &Path) -> Result<Platform, ConfigError> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return toml_form::read(path);
    }
    xml::read(path)
}
