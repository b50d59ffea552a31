//! Simulations whose scenario and whose engine are chosen at run time.
//!
//! A model and an engine meet in generic code, so each pair of them is compiled for itself. That is done here, once, for every engine and
//! every built-in scenario; whoever uses this crate sees a [`Simulation`] and a [`Choice`], and is compiled in seconds.
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
//!     let choice = Choice::of(Wish { engine, threads: None, processes: None, tune: &[] }).unwrap();
//!     simulation.run(&choice, RunOptions::until(simulation.until)).unwrap().digest
//! };
//! assert_eq!(digest("sequential"), digest("time-warp"));
//! # Ok::<(), parades_config::ConfigError>(())
//! ```
//!
//! *Read next*: [`engines`] has the engines and their settings.

#![forbid(unsafe_code)]

pub mod engines;
pub mod scenarios;

pub use engines::{Choice, Engine, Refusal, Wish};
pub use scenarios::{Prepared, SCENARIOS, Scenario, Visitor, network};

use parades_config::{ConfigError, Values};
use parades_core::error::Error;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::world::World;
use parades_netfile::NetworkFile;
use std::fmt::{self, Debug};

/// A scenario's model, made and ready to be run, any number of times.
pub struct Simulation {
    model: Box<dyn Runnable>,
    /// How long it is run unless the user says otherwise.
    pub until: Time,
    /// What the user should know of how the model was made, a sentence each.
    pub notes: Vec<String>,
}

impl Simulation {
    /// Makes the model of these parameters. `seed` is for what is drawn once, before the run.
    ///
    /// # Errors
    ///
    /// On values that make no sense together, and files that cannot be used.
    pub fn new(scenario: &Scenario, values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
        scenario.accept(values, seed, Boxed)
    }

    /// Makes the model of a network file with these values of its parameters. `seed` is for what is drawn once, before the run.
    ///
    /// # Errors
    ///
    /// On the first thing in the file that is wrong.
    pub fn of_network(file: &NetworkFile, values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
        network::prepare(file, values, seed).map(|prepared| Boxed.visit(prepared))
    }

    /// The number of LPs.
    pub fn lps(&self) -> u32 {
        self.model.lps()
    }

    /// The metrics that a run will have, all empty.
    pub fn metrics(&self) -> Metrics {
        self.model.metrics()
    }

    /// That its LPs fit into so many bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`](parades_core::error::ErrorKind::Memory) if they do not.
    pub fn check_room(&self, memory_limit: u64) -> Result<(), Error> {
        self.model.check_room(memory_limit)
    }

    /// The choice for this model: for `auto`, the engine that suits it, and why.
    pub fn resolve(&self, choice: &Choice) -> Choice {
        self.model.resolve(choice)
    }

    /// Runs it.
    ///
    /// # Errors
    ///
    /// Whatever ends the run early by a fault of the model; see the engines.
    ///
    /// # Panics
    ///
    /// Where the engine rolls back and the scenario's state cannot be restored: [`Choice::check`] says so before.
    pub fn run(&self, choice: &Choice, options: RunOptions<'_>) -> Result<Outcome, Error> {
        self.model.run(choice, options)
    }
}

impl Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Simulation { model, until, notes } = self;
        f.debug_struct("Simulation").field("lps", &model.lps()).field("until", until).field("notes", notes).finish()
    }
}

/// A model with every engine that can run it.
trait Runnable {
    fn lps(&self) -> u32;
    fn metrics(&self) -> Metrics;
    fn check_room(&self, memory_limit: u64) -> Result<(), Error>;
    fn resolve(&self, choice: &Choice) -> Choice;
    fn run(&self, choice: &Choice, options: RunOptions<'_>) -> Result<Outcome, Error>;
}

/// A model whose state can be restored.
struct Restored<M>(M);
/// A model whose state cannot.
struct Unrestorable<M>(M);

macro_rules! runnable {
    ($wrapper:ident, $run:ident, $copies:expr, $($bounds:tt)+) => {
        impl<M: $($bounds)+> Runnable for $wrapper<M> {
            fn lps(&self) -> u32 {
                self.0.lps()
            }

            fn metrics(&self) -> Metrics {
                self.0.metrics()
            }

            fn check_room(&self, memory_limit: u64) -> Result<(), Error> {
                World::check_memory(&self.0, Some(memory_limit))
            }

            fn resolve(&self, choice: &Choice) -> Choice {
                choice.for_model(&self.0, $copies(&self.0))
            }

            fn run(&self, choice: &Choice, options: RunOptions<'_>) -> Result<Outcome, Error> {
                self.resolve(choice).$run(&self.0, options)
            }
        }
    };
}

runnable!(Restored, run, M::copies, Restorable<State: Clone + PartialEq + Debug>);
runnable!(Unrestorable, run_unrestorable, (|_| false), Model);

/// Boxes whatever model a scenario makes.
struct Boxed;

impl Visitor for Boxed {
    type Output = Simulation;

    fn visit<M>(self, Prepared { model, until, notes }: Prepared<M>) -> Simulation
    where
        M: Restorable<State: Clone + PartialEq + Debug> + 'static,
    {
        Simulation { model: Box::new(Restored(model)), until, notes }
    }

    fn visit_unrestorable<M: Model + 'static>(self, Prepared { model, until, notes }: Prepared<M>) -> Simulation {
        Simulation { model: Box::new(Unrestorable(model)), until, notes }
    }
}
