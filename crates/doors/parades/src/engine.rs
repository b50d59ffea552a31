//! An engine chosen at run time.

use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::auto::{self, Suits};
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use std::fmt;
use std::str::FromStr;

/// The algorithm that runs a model. The choice changes the duration of a run, and nothing else.
///
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// The engine that suits the model and the machine: [`sequential`], [`window`] or [`time_warp`]. The last
    /// is chosen only if state is restored by copies.
    #[default]
    Auto,
    /// [`sequential`]: one pending event set; defines the right answer.
    Sequential,
    /// [`rollback_check`]: rolls back and repeats every event, for authors of models.
    RollbackCheck,
    /// [`rounds`]: all events of one instant in parallel; needs no lookahead.
    Rounds,
    /// [`window`]: conservative, by barriers.
    Window,
    /// [`null_message`]: conservative, by channels.
    NullMessage,
    /// [`time_warp`]: optimistic.
    TimeWarp,
}

/// The error of a name that no engine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(String);

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Engine::ALL.iter().map(|engine| engine.name()).collect();
        write!(f, "there is no engine `{}`; use one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownEngine {}

impl Engine {
    /// All engines.
    pub const ALL: [Engine; 7] = [
        Engine::Auto,
        Engine::Sequential,
        Engine::RollbackCheck,
        Engine::Rounds,
        Engine::Window,
        Engine::NullMessage,
        Engine::TimeWarp,
    ];

    /// Returns the name of the engine, as on the command line.
    ///
    /// ```
    /// # use parades::Engine;
    /// assert_eq!(Engine::TimeWarp.name(), "time-warp");
    /// assert_eq!("time-warp".parse(), Ok(Engine::TimeWarp));
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Sequential => "sequential",
            Engine::RollbackCheck => "rollback-check",
            Engine::Rounds => "rounds",
            Engine::Window => "window",
            Engine::NullMessage => "null-message",
            Engine::TimeWarp => "time-warp",
        }
    }

    /// True if the engine rolls executions back, so that a model must say how its state is restored.
    pub const fn rolls_back(self) -> bool {
        matches!(self, Engine::RollbackCheck | Engine::TimeWarp)
    }

    /// Runs a model on at most `threads` threads, with the engine's default settings. The `run` function of
    /// each engine's module takes other settings.
    ///
    /// # Errors
    ///
    /// The earliest error of the run, and errors that the model finds at its end.
    pub fn run<M>(self, model: &M, threads: usize, options: RunOptions<'_>) -> Result<Outcome, Error>
    where
        M: Restorable<State: Clone + PartialEq + fmt::Debug>,
    {
        match self {
            Engine::Auto => {
                let advice = auto::advise(model, threads, model.copies());
                match advice.engine {
                    Suits::TimeWarp { threads } => Engine::TimeWarp.run(model, threads, options),
                    other => run_as_advised(other, model, options),
                }
            }
            Engine::RollbackCheck => rollback_check::run(model, options),
            Engine::TimeWarp => time_warp::run(model, options, &time_warp::Settings::of_threads(threads.max(1))),
            other => other.run_unrestorable(model, threads, options),
        }
    }

    /// Runs a model whose state cannot be restored, such as that of processes. Otherwise as [`Engine::run`].
    ///
    /// # Errors
    ///
    /// Those of [`Engine::run`].
    ///
    /// # Panics
    ///
    /// Panics if the engine rolls back ([`Engine::rolls_back`]).
    pub fn run_unrestorable<M: Model>(
        self,
        model: &M,
        threads: usize,
        options: RunOptions<'_>,
    ) -> Result<Outcome, Error> {
        let threads = threads.max(1);
        match self {
            Engine::Auto => run_as_advised(auto::advise(model, threads, false).engine, model, options),
            Engine::Sequential => sequential::run(model, options),
            Engine::Rounds => rounds::run(model, options, &rounds::Settings::of_threads(threads)),
            Engine::Window => window::run(model, options, &window::Settings::of_threads(threads)),
            Engine::NullMessage => null_message::run(model, options, &null_message::Settings::of_threads(threads)),
            Engine::RollbackCheck | Engine::TimeWarp => {
                panic!("the engine `{self}` rolls back, and the state of this model cannot be restored")
            }
        }
    }
}

/// Runs a model as `auto` advises. The advice is an engine that does not roll back.
fn run_as_advised<M: Model>(advised: Suits, model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    let Suits::Window { threads, shared } = advised else { return sequential::run(model, options) };
    let defaults = window::Settings::of_threads(threads);
    let dedicated = if shared { 0.0 } else { defaults.dedicated };
    window::run(model, options, &window::Settings { dedicated, ..defaults })
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Engine, UnknownEngine> {
        let found = Engine::ALL.into_iter().find(|engine| engine.name() == name);
        found.ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}
