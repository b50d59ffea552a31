#![doc = include_str!("../../../../README.md")]
//! # Features
//!
//! All are on by default. `command` has engines by name, the scenarios and [`cli`]; `systems` has programs,
//! carriers, sockets and peers; `networks` has packets, flows, TCP and topologies. Each has the ones after
//! it.
#![forbid(unsafe_code)]

/// # Examples
///
/// A model, an engine by name, a run, and its metrics:
///
/// ```
/// use parades::Engine;
/// use parades::models::queueing::{Network, Queueing};
/// use parades::prelude::*;
///
/// // One server, busy for 80 % of the time, which serves 1,000 customers a second; 20,000 customers.
/// let network = Network::mm1(0.8, 1000.0).unwrap();
/// let model = Queueing::new(network, Delay::from_us(100), Some(20_000)).unwrap();
///
/// let engine: Engine = "window".parse().unwrap(); // as a user of yours may write it
/// let outcome = engine.run(&model, 2, RunOptions { seed: 7, ..RunOptions::until(model.duration()) }).unwrap();
///
/// let left = outcome.metrics.get("customers_left").and_then(|metric| metric.counter()).unwrap();
/// assert!((19_000..21_000).contains(&left));
/// let sojourn = outcome.metrics.get("sojourn").and_then(|metric| metric.steady()).unwrap().estimate().unwrap();
/// assert!((sojourn.mean / model.mean_sojourn() - 1.0).abs() < 0.2); // 5 ms by theory
///
/// // Every engine comes to the same.
/// for engine in Engine::ALL {
///     let other = engine.run(&model, 2, RunOptions { seed: 7, ..RunOptions::until(model.duration()) }).unwrap();
///     assert_eq!((other.digest, other.events), (outcome.digest, outcome.events), "{engine}");
/// }
/// ```
#[cfg(feature = "command")]
#[doc(inline)]
pub use parades_catalog::Engine;
#[cfg(feature = "command")]
pub use parades_catalog::UnknownEngine;

/// The whole command for a program with scenarios of its own: `run`, `compare`, `sweep`, `diff`, `why`,
/// `show`,
/// `list`, with traces, JSON and folders of results.
///
/// This is the whole program of a token ring:
///
/// ```no_run
#[doc = include_str!("../examples/own_command.rs")]
/// ```
#[cfg(feature = "command")]
pub fn cli(own: impl IntoIterator<Item = Scenario>) -> std::process::ExitCode {
    parades_cli::command(own)
}

#[cfg(feature = "command")]
pub use parades_catalog::{ChurnParameters, Scenario, Simulation, UnderlayParameters, speer};
pub use parades_config::{ConfigError, FromValues, Parameter, Parameters, Values};

pub use parades_config as config;
pub use parades_core as core;
pub use parades_core::prelude;
pub use parades_engine::any_engine::AnyEngine;
pub use parades_engine::stepped::{Run, Steppable};
pub use parades_engine::{auto, null_message, rollback_check, rounds, sequential, stepped, time_warp, window};

#[cfg(feature = "networks")]
pub mod network;

#[cfg(feature = "networks")]
pub use {
    parades_flow as flow, parades_netfile as netfile, parades_packet as packet, parades_tcp as tcp,
    parades_topology as topology,
};

#[cfg(feature = "systems")]
pub use {
    parades_carriers as carriers, parades_models as models, parades_p2p as p2p, parades_program as program,
    parades_replay as replay, parades_sockets as sockets,
};

#[cfg(feature = "command")]
pub use {parades_report as report, parades_session as session, parades_sweep as sweep};

/// The programs of this page compile, and the first one runs.
#[cfg(all(doctest, feature = "command"))]
#[doc = include_str!("../../../../docs/own-programs.md")]
#[derive(Debug)]
pub struct OwnPrograms;

/// The program of this page runs.
#[cfg(all(doctest, feature = "command"))]
#[doc = include_str!("../../../../docs/stepped-runs.md")]
#[derive(Debug)]
pub struct SteppedRuns;
