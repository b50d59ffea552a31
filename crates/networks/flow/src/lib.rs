//! A flow-level network: how long transfers and computations take that share links and processors max-min fairly.
//!
//! Packets are not simulated. A flow has a rate at each moment, the one that max-min fairness gives it among all flows of that moment, and the
//! rates change only when a flow begins or ends. So a transfer costs a few events, whatever it carries.
//!
//! | where | what |
//! |---|---|
//! | [`solver`] | max-min fairness, solved again only where something has changed |
//! | [`terms`] | the models: latency, penalties, bounds |
//! | [`platform`] | hosts, links, zones and their routes |
//! | [`xml`], [`toml_form`] | platforms from files |
//! | [`network`] | activities, and when they end |
//! | [`flows`], [`pattern`] | the model: a list of flows on a platform |
//! | [`messages`] | the network between processes: each message is a flow |

#![forbid(unsafe_code)]

mod build;
mod fault;
pub mod flows;
pub mod generators;
pub mod network;
pub mod pattern;
pub mod platform;
pub mod profile;
pub mod solver;
pub mod terms;
pub mod toml_form;

mod units;
pub mod xml;

use parades_config::ConfigError;
use platform::Platform;
use std::path::Path;

/// Reads the platform file at `path`: SimGrid's XML ([`xml`]), or if its name ends in `.toml`, this project's own form ([`toml_form`]).
///
/// # Errors
///
/// Where it cannot be read, or describes no platform: one sentence, with the place.
pub fn read(path: &Path) -> Result<Platform, ConfigError> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return toml_form::read(path);
    }
    xml::read(path)
}
