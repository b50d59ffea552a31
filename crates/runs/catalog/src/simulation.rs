//! The model of a scenario, with all engines that can run it.

use crate::choice::{Choice, Field, ModelTables, OfRank, Refusal};
use crate::scenarios::{Scenario, network};
use parades_config::{ConfigError, Values};
use parades_core::any_model::{AnySave, SaveModel, with_model};
use parades_core::capture::CapturePoint;
use parades_core::cut::{Branch, Cut, Reached, Span};
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
    /// If a value cannot act, if the values contradict each other, or if a file cannot be used.
    pub fn new(scenario: &Scenario, values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
        let mut notes = values.check_needs()?;
        let simulation = (scenario.build)(values, seed)?;
        notes.extend(simulation.notes);
        Ok(Simulation { notes, ..simulation })
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

    /// As [`Simulation::distributed`], for a model whose runs can be saved.
    pub fn saved<M>(model: M, until: Time) -> Simulation
    where
        M: Restorable<State: Clone + PartialEq + Debug> + SaveModel + 'static,
    {
        Simulation { model: Box::new(Saved(model)), until, notes: Vec::new(), bytes: 0 }
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

    /// Returns the result of `act`, which is called with the model in a run.
    fn with_options<T>(
        &self,
        options: RunOptions<'_>,
        act: impl for<'k> FnOnce(ModelTables<'k>, RunOptions<'k>) -> T,
    ) -> T {
        let (mut act, mut result) = (Some(act), None);
        self.model.with(options, &mut |tables, options| result = act.take().map(|act| act(tables, options)));
        result.expect("a model calls what it is given once")
    }

    /// Returns the result of `act`, which asks the model about itself.
    fn with<T>(&self, act: impl for<'k> FnOnce(ModelTables<'k>) -> T) -> T {
        self.with_options(nothing(), |tables, _| act(tables))
    }

    /// Returns the number of LPs.
    pub fn lps(&self) -> u32 {
        self.with(|tables| tables.model.lps())
    }

    /// Returns the name that the model gives to an LP, if it gives any.
    pub fn lp_name(&self, lp: LpId) -> Option<String> {
        self.with(|tables| if lp.0 < tables.model.lps() { tables.model.lp_name(lp) } else { None })
    }

    /// Returns the places where packets can be captured, in the order of LPs and ports.
    pub fn capture_points(&self) -> Vec<CapturePoint> {
        self.with(|tables| tables.model.capture_points())
    }

    /// Returns the metrics that a run will have, all empty.
    pub fn metrics(&self) -> Metrics {
        self.with(|tables| tables.model.metrics())
    }

    /// Checks that the LPs fit into `memory_limit` bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`](parades_core::error::ErrorKind::Memory) if they do not.
    pub fn check_room(&self, memory_limit: u64) -> Result<(), Error> {
        self.with(|tables| World::check_memory(tables.model, Some(memory_limit)))
    }

    /// Returns the choice for this model: for `auto`, the engine that suits the model, with the reason.
    pub fn resolve(&self, choice: &Choice) -> Choice {
        self.with_options(nothing(), |tables, options| choice.for_model(&tables, &options))
    }

    /// Runs the model. At cuts, the run can be written if [`Simulation::why_not_saved`] returns `None`.
    ///
    /// # Errors
    ///
    /// The earliest error of the run, and errors that the model finds at its end. Also an error if the engine
    /// rolls back and the model's state cannot be restored; [`Simulation::check`] finds it before.
    pub fn run(&self, choice: &Choice, options: RunOptions<'_>) -> Result<Outcome, Error> {
        let outcome = self.with_options(options, |tables, options| {
            let span = span_of(&tables, options);
            choice.advance_any(tables, span).map(Reached::end)
        });
        outcome.map_err(|error| error.with_names(|lp| self.lp_name(lp)))
    }

    /// Goes on with a run from the bytes of a cut. Otherwise as [`Simulation::run`].
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`]. Also [`ErrorKind::Malformed`] if the bytes are not those of a cut of this
    /// model.
    pub fn resume(&self, choice: &Choice, options: RunOptions<'_>, cut: &[u8]) -> Result<Outcome, Error> {
        let outcome = self.with_options(options, |tables, options| {
            let span = span_from(&tables, options, cut)?;
            choice.advance_any(tables, span).map(Reached::end)
        });
        outcome.map_err(|error| error.with_names(|lp| self.lp_name(lp)))
    }

    /// Returns the digest of a run at a cut of this model, from the bytes of the cut.
    ///
    /// # Errors
    ///
    /// The fault of the bytes.
    pub fn digest_at(&self, cut: &[u8]) -> Result<u64, String> {
        self.with(|tables| {
            let (save, cut) = cut_of(&tables, cut)?;
            cut.at_rest(save, |run| run.digest()).map_err(|error| error.to_string())
        })
    }

    /// Makes the cut of a branch of the bytes of a cut: this is the model of the branch ([`Cut::branch`]).
    /// Returns its bytes and the digest of the run there.
    ///
    /// # Errors
    ///
    /// The reason why a state of the cut cannot go on under this model, as a part of a sentence.
    pub fn branch(&self, cut: &[u8], branch: &Branch) -> Result<(Vec<u8>, u64), String> {
        self.with(|tables| {
            let (save, mut cut) = cut_of(&tables, cut)?;
            cut.branch(save, branch)?;
            let mut bytes = Vec::new();
            let digest = cut.at_rest(save, |run| {
                run.write(&mut bytes);
                run.digest()
            });
            Ok((bytes, digest.map_err(|error| error.to_string())?))
        })
    }

    /// Returns the reason why runs of the model cannot be saved, as a part of a sentence, if there is one.
    pub fn why_not_saved(&self) -> Option<String> {
        self.with(|tables| tables.why_not_saved())
    }
}

impl Simulation {
    /// Runs the model as one of several ranks, which `fabric` connects, from its start or from the bytes of a
    /// cut, which are the same on all ranks. Returns the outcome on rank 0, and
    /// `None` on the other ranks.
    ///
    /// # Errors
    ///
    /// Those of [`Simulation::run`], and a lost rank. Also an error if the model was not made by
    /// [`Simulation::distributed`] or [`Simulation::distributed_unrestorable`].
    pub fn run_rank(
        &self,
        choice: &Choice,
        options: RunOptions<'_>,
        cut: Option<&[u8]>,
        fabric: Box<dyn Fabric>,
    ) -> OfRank {
        let of_rank = self.with_options(options, |tables, options| {
            let span = match cut {
                Some(cut) => span_from(&tables, options, cut)?,
                None => span_of(&tables, options),
            };
            choice.run_rank_any(tables, span, fabric)
        });
        of_rank.map_err(|error| error.with_names(|lp| self.lp_name(lp)))
    }

    /// True if engines that roll back can run the model.
    pub fn is_restorable(&self) -> bool {
        self.with(|tables| tables.undo.is_some())
    }

    /// True if several processes can run the model together.
    pub fn is_distributed(&self) -> bool {
        self.with(|tables| tables.wire.is_some())
    }

    /// Checks that an engine can run the model of the scenario `name`.
    ///
    /// # Errors
    ///
    /// If the engine rolls back, and the model's state cannot be restored; if there are several processes,
    /// and the model's messages cannot cross them.
    pub fn check(&self, choice: &Choice, name: &str) -> Result<(), Refusal> {
        if choice.engine.rolls_back() && !self.is_restorable() {
            return Err(Refusal::of_rollback(choice.engine, name));
        }
        if choice.processes > 1 && !self.is_distributed() {
            let message = format!("the messages of `{name}` cannot cross processes");
            return Err(Refusal::new(Field::Processes, message, "use one process"));
        }
        Ok(())
    }
}

impl Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Simulation { until, notes, .. } = self;
        f.debug_struct("Simulation").field("lps", &self.lps()).field("until", until).field("notes", notes).finish()
    }
}

/// Returns a run from its start, which can be written at cuts if the model's runs can be saved.
fn span_of<'k>(tables: &ModelTables<'k>, options: RunOptions<'k>) -> Span<'k> {
    Span { save: tables.save.filter(|save| save.can_save().is_ok()), ..options.into() }
}

/// Returns the part of a run from the bytes of a cut to its end.
///
/// # Errors
///
/// [`ErrorKind::Malformed`] if the bytes are not those of a cut of this model.
fn span_from<'k>(tables: &ModelTables<'k>, options: RunOptions<'k>, cut: &[u8]) -> Result<Span<'k>, Error> {
    let (save, cut) = cut_of(tables, cut).map_err(|what| Error::new(ErrorKind::Malformed(what)))?;
    Ok(Span { save: Some(save), from: Some(Box::new(cut)), ..options.into() })
}

/// Returns the cut of these bytes, and the table by which it is written.
///
/// # Errors
///
/// The fault of the bytes.
fn cut_of<'k>(tables: &ModelTables<'k>, cut: &[u8]) -> Result<(&'k dyn AnySave<'k>, Cut<'k>), String> {
    let Some(save) = tables.save.filter(|save| save.can_save().is_ok()) else {
        return Err("the states of this model cannot be read".into());
    };
    let mut rest = cut;
    let cut = Cut::read(save, &mut rest).map_err(|error| error.what().to_owned())?;
    if !rest.is_empty() {
        return Err("there is more than a run".into());
    }
    Ok((save, cut))
}

/// Returns the options of a run that ends at its start.
fn nothing() -> RunOptions<'static> {
    RunOptions::until(Time::ZERO)
}

/// A model that can be run. The abilities that its type gives it are all that is compiled for each model.
trait Runnable {
    /// Calls `act` with the model in a run.
    fn with(&self, options: RunOptions<'_>, act: &mut dyn for<'k> FnMut(ModelTables<'k>, RunOptions<'k>));
}

/// A model whose state can be restored.
struct Restored<M>(M);
/// A model whose state cannot be restored.
struct Unrestorable<M>(M);
/// A model for several processes. Its state can be restored.
struct Distributed<M>(M);
/// A model for several processes. Its state can be restored, and its runs can be saved.
struct Saved<M>(M);
/// A model for several processes. Its state cannot be restored.
struct DistributedUnrestorable<M>(M);

// A blanket implementation for one wrapper with flags is impossible: the bounds on the model differ.
macro_rules! runnable {
    ($wrapper:ident, $model:ident => $tables:expr, $($bounds:tt)+) => {
        impl<M: $($bounds)+> Runnable for $wrapper<M> {
            fn with(&self, options: RunOptions<'_>, act: &mut dyn for<'k> FnMut(ModelTables<'k>, RunOptions<'k>)) {
                with_model(&self.0, options, |$model, options| act($tables, options));
            }
        }
    };
}

runnable!(Restored, model => ModelTables::plain(model).undoing(model), Restorable<State: Clone + PartialEq + Debug>);
runnable!(Unrestorable, model => ModelTables::plain(model), Model);
runnable!(
    Distributed,
    model => ModelTables::plain(model).undoing(model).wired(model),
    Restorable<State: Clone + PartialEq + Debug> + WireModel
);
runnable!(
    Saved,
    model => ModelTables::plain(model).undoing(model).wired(model).saving(model),
    Restorable<State: Clone + PartialEq + Debug> + SaveModel
);
runnable!(DistributedUnrestorable, model => ModelTables::plain(model).wired(model), WireModel);
