//! Simulations of a scenario on an engine, both chosen at run time.
//!
//! Users of this crate see a [`Simulation`] and a [`Choice`].
//!
//! There are two registries: [`Engine`], an enum, and [`SCENARIOS`], a table with a row for each scenario. A
//! program adds scenarios of its own by [`install`], and variants of engines by [`add_variants`].
//!
//! ```
//! use parades_core::run::RunOptions;
//! use parades_catalog::{Choice, Scenario, Simulation, Wish};
//!
//! let mm1 = Scenario::named("mm1")?;
//! let mut values = mm1.values();
//! values.set_argument("--set", "customers=1000")?;
//! let simulation = Simulation::new(mm1, &values, 1)?;
//!
//! let digest = |engine| {
//!     let wish = Wish { engine, threads: None, processes: None, processes_here: None, tune: &[] };
//!     let choice = Choice::of(wish).unwrap();
//!     simulation.run(&choice, RunOptions::until(simulation.until)).unwrap().digest
//! };
//! assert_eq!(digest("sequential"), digest("time-warp"));
//! # Ok::<(), parades_config::ConfigError>(())
//! ```
//!
//! *Read next*: [`engine`], the engines and their settings; [`mod@scenarios`], the scenarios; [`speer`],
//! configurations of the simulator Speer as scenario files.

#![forbid(unsafe_code)]

mod choice;
pub mod engine;
mod installed;
pub mod scenarios;
mod simulation;
pub mod speer;
pub mod words;

pub use crate::scenarios::churn::ChurnParameters;
pub use crate::scenarios::underlay::UnderlayParameters;
pub use crate::scenarios::{SCENARIOS, Scenario, network};
pub use choice::{Choice, Field, OfRank, Refusal, Wish};
pub use engine::{Engine, UnknownEngine, Variants, add_variants};
pub use installed::{install, program_name, scenarios};
pub use simulation::Simulation;
