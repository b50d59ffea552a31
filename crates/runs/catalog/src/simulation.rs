//! The model of a scenario, with all engines that can run it.

use crate::choice::{Choice, OfRank};
use crate::scenarios::{Scenario, network};
use parades_config::{ConfigError, Values};
use parades_core::any_model::with_model;
use parades_core::capture::CapturePoint;
use parades_core::error::{Error, ErrorKind};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::world::World;
use parades_engine::WireModel;
use parades_netfile::NetworkFile;
use parades_transport::Fabric;
use std::fmt::{self, Debug};

/// A scenario's model, which can be run any number of times.
pub struct Simulation {
    model: Box<dyn Runnable>,
    /// The end of a run, unless the user gives another one.
    pub until: Time,
    /// Notes for the user on how the model was made, a sentence each.
    pub notes: Vec<String>,
    /// The bytes that the model takes; 0 if nobody has measured them.
    pub bytes: u64,
}

impl Simulation {
    /// Makes the model of a scenario from the values of its parameters. `seed` is for random draws that the
    /// making of the model needs.
    ///
    /// # Errors
    ///
    /// If the values contradict each other, or if a file cannot be used.
    pub fn new(scenario: &Scenario, values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
        (scenario.build)(values, seed)
    }

    /// Makes the model of a network file from the values of its parameters. `seed` is for random draws that
    /// the making of the model needs.
    ///
    /// # Errors
    ///
    /// The first error in the file.
    pub fn of_network(file: &NetworkFile, values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
        network::build_file(file, values, seed)
    }

    /// Returns the simulation of a model whose state can be restored, until `until` unless the user gives
    /// another end.
    pub fn restorable<M>(model: M, until: Time) -> Simulation
    where
        M: Restorable<State: Clone + PartialEq + Debug> + 'static,
    {
        Simulation { model: Box::new(Restored(model)), until, notes: Vec::new(), bytes: 0 }
    }

    /// Returns the simulation of a model whose state cannot be restored, so that no engine that rolls back
    /// can run it. Its scenario is [`Scenario::without_rollback`].
    pub fn unrestorable<M: Model + 'static>(model: M, until: Time) -> Simulation {
        Simulation { model: Box::new(Unrestorable(model)), until, notes: Vec::new(), bytes: 0 }
    }

    /// As [`Simulation::restorable`], for a model that several processes can run together.
    pub fn distributed<M>(model: M, until: Time) -> Simulation
    where
        M: Restorable<State: Clone + PartialEq + Debug> + WireModel + 'static,
    {
        Simulation { model: Box::new(Distributed(model)), until, notes: Vec::new(), bytes: 0 }
    }

    /// As [`Simulation::unrestorable`], for a model that several processes can run together.
    pub fn distributed_unrestorable<M: WireModel + 'static>(model: M, until: Time) -> Simulation {
        Simulation { model: Box::new(DistributedUnrestorable(model)), until, notes: Vec::new(), bytes: 0 }
    }

    /// Returns the simulation with notes for the user, a sentence each.
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Simulation {
        Simulation { notes, ..self }
    }

    /// Returns the number of LPs.
    pub fn lps(&self) -> u32 {
        self.model.lps()
    }

    /// Returns the name that the model gives to an LP, if it gives any.
    pub fn lp_name(&self, lp: LpId) -> Option<String> {
        self.model.lp_name(lp)
    }

    /// Returns the places where packets can be captured, in the order of LPs and ports.
    pub fn capture_points(&self) -> Vec<CapturePoint> {
        self.model.capture_points()
    }

    /// Returns the metrics that a run will have, all empty.
    pub fn metrics(&self) -> Metrics {
        self.model.metrics()
    }

    /// Checks that the LPs fit into `memory_limit` bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`](parades_core::error::ErrorKind::Memory) if they do not.
    pub fn check_room(&self, memory_limit: u64) -> Result<(), Error> {
        self.model.check_room(memory_limit)
    }

    /// Returns the choice for this model: for `auto`, the engine that suits the model, with the reason.
    pub fn resolve(&self, choice: &Choice) -> Choice {
        self.model.resolve(choice)
    }

    /// Runs the model.
    ///
    /// # Errors
    ///
    /// The earliest error of the run, and errors that the model finds at its end. Also an error if the engine
    /// rolls back and the model's state cannot be restored; [`Choice::check`] finds it before.
    pub fn run(&self, choice: &Choice, options: RunOptions<'_>) -> Result<Outcome, Error> {
        self.model.run(choice, options).map_err(|error| error.with_names(|lp| self.lp_name(lp)))
    }
}

impl Simulation {
    /// Runs the model as one of several ranks, which `fabric` connects. Returns the outcome on rank 0, and
    /// `None` on the other ranks.
    ///
    /// # Errors
    ///
    /// Those of [`Simulation::run`], and a lost rank. Also an error if the model was not made by
    /// [`Simulation::distributed`] or [`Simulation::distributed_unrestorable`].
    pub fn run_rank(&self, choice: &Choice, options: RunOptions<'_>, fabric: Box<dyn Fabric>) -> OfRank {
        self.model.run_rank(choice, options, fabric).map_err(|error| error.with_names(|lp| self.lp_name(lp)))
    }

    /// True if several processes can run the model together.
    pub fn is_distributed(&self) -> bool {
        self.model.is_distributed()
    }
}

impl Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Simulation { model, until, notes, .. } = self;
        f.debug_struct("Simulation").field("lps", &model.lps()).field("until", until).field("notes", notes).finish()
    }
}

/// A model with every engine that can run it.
trait Runnable {
    fn lps(&self) -> u32;
    fn lp_name(&self, lp: LpId) -> Option<String>;
    fn capture_points(&self) -> Vec<CapturePoint>;
    fn metrics(&self) -> Metrics;
    fn check_room(&self, memory_limit: u64) -> Result<(), Error>;
    fn resolve(&self, choice: &Choice) -> Choice;
    fn run(&self, choice: &Choice, options: RunOptions<'_>) -> Result<Outcome, Error>;
    fn is_distributed(&self) -> bool;
    fn run_rank(&self, choice: &Choice, options: RunOptions<'_>, fabric: Box<dyn Fabric>) -> OfRank;
}

/// A model whose state can be restored.
struct Restored<M>(M);
/// A model whose state cannot be restored.
struct Unrestorable<M>(M);
/// A model for several processes. Its state can be restored.
struct Distributed<M>(M);
/// A model for several processes. Its state cannot be restored.
struct DistributedUnrestorable<M>(M);

/// Refuses to run a model whose messages cannot cross processes.
fn refuse_rank<M>(_: &Choice, _: &M, _: RunOptions<'_>, _: Box<dyn Fabric>) -> OfRank {
    Err(Error::new(ErrorKind::Model("the messages of this model cannot cross processes; use one process".into())))
}

// A blanket implementation for one wrapper with flags is impossible: the bounds on the model differ.
macro_rules! runnable {
    ($wrapper:ident, $run:ident, $copies:expr, ($is_distributed:expr, $run_rank:expr), $($bounds:tt)+) => {
        impl<M: $($bounds)+> Runnable for $wrapper<M> {
            fn lps(&self) -> u32 {
                self.0.lps()
            }

            fn lp_name(&self, lp: LpId) -> Option<String> {
                if lp.0 < self.0.lps() { self.0.lp_name(lp) } else { None }
            }

            fn capture_points(&self) -> Vec<CapturePoint> {
                self.0.capture_points()
            }

            fn metrics(&self) -> Metrics {
                self.0.metrics()
            }

            fn check_room(&self, memory_limit: u64) -> Result<(), Error> {
                let options = RunOptions::until(Time::ZERO);
                with_model(&self.0, options, |model, _| World::check_memory(model, Some(memory_limit)))
            }

            fn resolve(&self, choice: &Choice) -> Choice {
                choice.for_model(&self.0, $copies(&self.0))
            }

            fn run(&self, choice: &Choice, options: RunOptions<'_>) -> Result<Outcome, Error> {
                choice.$run(&self.0, options)
            }

            fn is_distributed(&self) -> bool {
                $is_distributed
            }

            fn run_rank(&self, choice: &Choice, options: RunOptions<'_>, fabric: Box<dyn Fabric>) -> OfRank {
                $run_rank(choice, &self.0, options, fabric)
            }
        }
    };
}

runnable!(Restored, run, M::copies, (false, refuse_rank), Restorable<State: Clone + PartialEq + Debug>);
runnable!(Unrestorable, run_unrestorable, (|_| false), (false, refuse_rank), Model);
runnable!(
    Distributed,
    run,
    M::copies,
    (true, Choice::run_rank),
    Restorable<State: Clone + PartialEq + Debug> + WireModel
);
runnable!(DistributedUnrestorable, run_unrestorable, (|_| false), (true, Choice::run_rank_unrestorable), WireModel);
