//! An engine chosen at run time, with its settings.

mod configure;
mod ranks;
mod tables;

pub use ranks::OfRank;
pub(crate) use tables::ModelTables;

use crate::engine::Engine;
use crate::engine::variants::variants;
use crate::scenarios::Scenario;
use parades_config::{ConfigError, Values, nearest, quoted};
use parades_core::any_model::with_model;
use parades_core::cut::{Reached, Span};
use parades_core::error::{Error, ErrorKind};
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::any_engine::AnyEngine;
use parades_engine::auto::{self, Changes, Suits};
use parades_engine::{rollback_check, sequential};
use std::fmt::Debug;
use tables::UndoTables;

/// An engine chosen, with its settings and its number of threads.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The engine.
    pub engine: Engine,
    /// The number of worker threads of each process.
    pub threads: u64,
    /// The number of processes.
    pub processes: u64,
    /// The settings of the engine.
    pub settings: Values,
    /// The reason why `auto` chose the engine; `None` if the user chose it.
    pub why: Option<String>,
    /// The engines that `auto` may change to during the run.
    rivals: Vec<Suits>,
}

/// The user's request for an engine.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// The name of the engine.
    pub engine: &'a str,
    /// The number of worker threads of each process. Default: the number of cores, divided by the processes.
    pub threads: Option<u64>,
    /// The number of processes. Default: 1.
    pub processes: Option<u64>,
    /// The number of these processes on this machine. Default: all.
    pub processes_here: Option<u64>,
    /// Settings of the engine, as `key=value`.
    pub tune: &'a [String],
}

/// A field of a [`Wish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// [`Wish::engine`].
    Engine,
    /// [`Wish::threads`].
    Threads,
    /// [`Wish::processes`].
    Processes,
    /// [`Wish::tune`].
    Tune,
}

impl Field {
    /// Returns the key of the field in scenario files.
    pub const fn key(self) -> &'static str {
        match self {
            Field::Engine => "engine",
            Field::Threads => "threads",
            Field::Processes => "processes",
            Field::Tune => "tune",
        }
    }
}

/// The error of a wish that cannot be fulfilled.
#[derive(Debug)]
pub struct Refusal {
    /// The field that is wrong.
    pub about: Field,
    /// The error, which says what to do.
    pub error: ConfigError,
}

impl Refusal {
    pub(crate) fn new(about: Field, message: String, help: impl Into<String>) -> Refusal {
        Refusal { about, error: ConfigError::new(message).with_help(help) }
    }

    /// Refuses an engine that rolls back, for the scenario `name`.
    pub(crate) fn of_rollback(engine: Engine, name: &str) -> Refusal {
        let message = format!("the engine `{engine}` rolls back, and the state of `{name}` cannot be restored");
        let usable = Engine::algorithms().filter(|engine| !engine.rolls_back());
        let names: Vec<_> = usable.map(Engine::name).collect();
        Refusal::new(Field::Engine, message, format!("use one of {}", names.join(", ")))
    }
}

impl Choice {
    /// Returns the choice that a user asks for.
    ///
    /// # Errors
    ///
    /// If there is no such engine or setting, or if the engine cannot do what the user asks for.
    pub fn of(wish: Wish<'_>) -> Result<Choice, Refusal> {
        let engine = Engine::named(wish.engine)?;
        let processes = wish.processes.unwrap_or(1).max(1);
        if processes > 1 && !engine.is_distributed() {
            let message = format!("the engine `{engine}` runs in one process, not {processes}");
            let usable: Vec<_> =
                Engine::algorithms().filter(|engine| engine.is_distributed()).map(Engine::name).collect();
            return Err(Refusal::new(Field::Processes, message, format!("use one of {}", usable.join(", "))));
        }
        if let (Some(threads @ 2..), false) = (wish.threads, engine.is_parallel()) {
            let message = format!("the engine `{engine}` runs on one thread, not {threads}");
            return Err(Refusal::new(Field::Threads, message, "leave that out, or choose a parallel engine"));
        }
        let mut settings = engine.default_settings();
        wish.tune
            .iter()
            .try_for_each(|assignment| settings.set_argument("--tune", assignment))
            .map_err(|error| Refusal { about: Field::Tune, error })?;
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        let share = || cores() / wish.processes_here.unwrap_or(processes).max(1);
        let threads = if engine.is_parallel() { wish.threads.unwrap_or_else(share).max(1) } else { 1 };
        Ok(Choice { engine, threads, processes, settings, why: None, rivals: Vec::new() })
    }

    /// Returns the choice of an engine with its default settings, on at most `threads` threads.
    pub(crate) fn with_defaults(engine: Engine, threads: usize) -> Choice {
        let threads = if engine.is_parallel() { threads.max(1) as u64 } else { 1 };
        let settings = engine.default_settings();
        Choice { engine, threads, processes: 1, settings, why: None, rivals: Vec::new() }
    }

    /// Returns the choice for a model: for [`Engine::Auto`], the engine that suits the model; otherwise this
    /// choice. Of the engines that roll back, only a model that copies its state gets one.
    pub(crate) fn for_model(&self, tables: &ModelTables<'_>, options: &RunOptions<'_>) -> Choice {
        if self.engine != Engine::Auto {
            return self.clone();
        }
        if self.processes > 1 {
            return self.for_model_on_ranks(tables, options);
        }
        let advice = auto::advise_any(tables.model, options, self.worker_threads(), tables.copies());
        Choice { why: Some(advice.why), rivals: advice.rivals, ..Choice::of_suits(advice.engine) }
    }

    /// Returns the choice of an engine that suits a model.
    fn of_suits(suits: Suits) -> Choice {
        let (engine, threads, setting) = match suits {
            Suits::Sequential => (Engine::Sequential, 1, None),
            Suits::Window { threads, shared } => (Engine::Window, threads, shared.then_some("dedicated=0")),
            Suits::TimeWarp { threads } => (Engine::TimeWarp, threads, None),
            Suits::NullMessage { threads } => (Engine::NullMessage, threads, None),
        };
        let mut choice = Choice::with_defaults(engine, threads);
        if let Some(setting) = setting {
            choice.settings.set_argument("--tune", setting).expect("the engine has this setting");
        }
        choice
    }

    /// Runs a model.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub fn run<M>(&self, model: &M, options: RunOptions<'_>) -> Result<Outcome, Error>
    where
        M: Restorable<State: Clone + PartialEq + Debug>,
    {
        with_model(model, options, |model, options| self.run_any(ModelTables::plain(model).undoing(model), options))
    }

    /// Runs a model whose state cannot be restored.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    ///
    /// Also an error if the engine rolls back ([`Engine::rolls_back`]).
    pub fn run_unrestorable<M: Model>(&self, model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
        with_model(model, options, |model, options| self.run_any(ModelTables::plain(model), options))
    }

    /// Runs a model in one process.
    pub(crate) fn run_any<'k>(&self, tables: ModelTables<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
        self.advance_any(tables, options.into()).map(Reached::end)
    }

    /// Runs a span of a run in one process: from its start or a cut, to the next cut at which it ends, or to
    /// its end.
    pub(crate) fn advance_any<'k>(&self, tables: ModelTables<'k>, span: Span<'k>) -> Result<Reached<'k>, Error> {
        let ModelTables { model, undo, .. } = tables;
        match (self.engine, undo) {
            (Engine::Auto, _) => self.for_model(&tables, &span.options).advance_any(tables, span),
            (Engine::Sequential, _) if variants().is_some_and(|variants| (variants.uses_heap)(&self.settings)) => {
                sequential::run_any_on_heap(model, self.in_one_piece(span)?).map(Reached::End)
            }
            (Engine::RollbackCheck, Some(UndoTables { checked, .. })) => {
                rollback_check::run_any(checked, self.in_one_piece(span)?).map(Reached::End)
            }
            _ => {
                let engine = self.any_engine().ok_or_else(|| {
                    let engine = self.engine;
                    let what = "rolls back, and the state of this model cannot be restored";
                    Error::new(ErrorKind::Model(format!("the engine `{engine}` {what}")))
                })?;
                let rivals = self.rivals.iter().copied().map(AnyEngine::from);
                let engines: Vec<_> = std::iter::once(engine).chain(rivals).collect();
                auto::advance(model, undo.map(|undo| undo.restorable), span, &engines, Changes::WhereFaster)
            }
        }
    }

    /// Returns the engine with its settings, for a run that is stepped. `None` for
    /// [`Engine::RollbackCheck`], which executes a run in one piece.
    pub fn any_engine(&self) -> Option<AnyEngine> {
        Some(match self.engine {
            Engine::Auto => AnyEngine::Auto { threads: self.worker_threads() },
            Engine::Sequential => AnyEngine::Sequential,
            Engine::RollbackCheck => return None,
            Engine::Rounds => AnyEngine::Rounds(self.rounds_settings()),
            Engine::Window => AnyEngine::Window(self.window_settings()),
            Engine::NullMessage => AnyEngine::NullMessage(self.null_message_settings()),
            Engine::TimeWarp => AnyEngine::TimeWarp(self.time_warp_settings()),
        })
    }

    /// Returns the options of a whole run.
    ///
    /// # Errors
    ///
    /// If the span is only a part of a run.
    fn in_one_piece<'k>(&self, span: Span<'k>) -> Result<RunOptions<'k>, Error> {
        if span.from.is_none() && span.options.cuts.is_none() {
            return Ok(span.options);
        }
        let what =
            format!("the engine `{}` executes a run in one piece: use another one to save or resume it", self.engine);
        Err(Error::new(ErrorKind::Model(what)))
    }

    /// Checks that the engine can run a scenario.
    ///
    /// # Errors
    ///
    /// If the engine rolls back, and the scenario's state cannot be restored.
    pub fn check(&self, scenario: &Scenario, values: &Values) -> Result<(), Refusal> {
        if scenario.is_restorable(values) || !self.engine.rolls_back() {
            return Ok(());
        }
        Err(Refusal::of_rollback(self.engine, scenario.name))
    }
}

impl Engine {
    /// Returns the engine of this name.
    ///
    /// # Errors
    ///
    /// If there is none. The error suggests the nearest name.
    pub fn named(name: &str) -> Result<Engine, Refusal> {
        let algorithms = || Engine::algorithms().map(Engine::name);
        name.parse().map_err(|_| {
            let help = match nearest(name, algorithms().chain([Engine::Auto.name()])) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of auto, {}", algorithms().collect::<Vec<_>>().join(", ")),
            };
            Refusal::new(Field::Engine, format!("there is no engine {}", quoted(name)), help)
        })
    }
}
