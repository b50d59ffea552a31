//! The engines: their names, what each of them can do, and its settings.
//!
//! [`Engine`] is the only list of engines. A new engine is a new variant, which also stands in
//! [`Engine::ALL`]. The compiler then asks for its facts here, and for its run in [`Choice`].
//!
//! *Read next*: `engine/settings.rs`, the settings of each engine.

pub(crate) mod settings;
pub(crate) mod variants;

pub use variants::{Variants, add_variants};

use crate::choice::Choice;
use parades_config::{Parameter, Values};
use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::any_engine::AnyEngine;
use std::fmt::{self, Debug, Display};
use std::str::FromStr;

/// The algorithm that runs a model. The choice changes the duration of a run, and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// The engine that suits the model and the machine: [`Engine::Sequential`], [`Engine::Window`] or
    /// [`Engine::TimeWarp`]. The last is chosen only if state is restored by copies. A run in one process
    /// that lasts for a second or longer goes on under another engine if trials find it faster
    /// ([`parades_engine::auto::advance`]).
    #[default]
    Auto,
    /// [`parades_engine::sequential`]: one pending event set; defines the right answer.
    Sequential,
    /// [`parades_engine::rollback_check`]: rolls back and repeats every event, for authors of models.
    RollbackCheck,
    /// [`parades_engine::rounds`]: all events of one instant in parallel; needs no lookahead.
    Rounds,
    /// [`parades_engine::window`]: conservative, by barriers.
    Window,
    /// [`parades_engine::null_message`]: conservative, by channels.
    NullMessage,
    /// [`parades_engine::time_warp`]: optimistic.
    TimeWarp,
}

/// The facts about an engine that others ask for.
struct Facts {
    name: &'static str,
    about: &'static str,
    /// True if the engine uses several threads.
    is_parallel: bool,
    /// True if the engine rolls back executions.
    rolls_back: bool,
    settings: &'static [Parameter],
}

impl Engine {
    /// All engines, in the order of lists.
    pub const ALL: [Engine; 7] = [
        Engine::Auto,
        Engine::Sequential,
        Engine::RollbackCheck,
        Engine::Rounds,
        Engine::Window,
        Engine::NullMessage,
        Engine::TimeWarp,
    ];

    const fn facts(self) -> Facts {
        match self {
            Engine::Auto => Facts {
                name: "auto",
                about: "the engine that suits the model and the machine",
                is_parallel: true,
                rolls_back: false,
                settings: &[],
            },
            Engine::Sequential => Facts {
                name: "sequential",
                about: "one pending event set; defines the right answer",
                is_parallel: false,
                rolls_back: false,
                settings: &[],
            },
            Engine::RollbackCheck => Facts {
                name: "rollback-check",
                about: "sequential, but rolls back and repeats every event, comparing states: for authors of models",
                is_parallel: false,
                rolls_back: true,
                settings: &[],
            },
            Engine::Rounds => Facts {
                name: "rounds",
                about: "all events of one instant at once, on a worker pool; needs no lookahead",
                is_parallel: true,
                rolls_back: false,
                settings: settings::ROUNDS,
            },
            Engine::Window => Facts {
                name: "window",
                about: "conservative: barrier, LBTS, all events below the bound",
                is_parallel: true,
                rolls_back: false,
                settings: settings::WINDOW,
            },
            Engine::NullMessage => Facts {
                name: "null-message",
                about: "conservative: a clock for each channel, null messages",
                is_parallel: true,
                rolls_back: false,
                settings: settings::NULL_MESSAGE,
            },
            Engine::TimeWarp => Facts {
                name: "time-warp",
                about: "optimistic: executes ahead, rolls back on a straggler",
                is_parallel: true,
                rolls_back: true,
                settings: settings::TIME_WARP,
            },
        }
    }

    /// Returns the name of the engine, as on the command line.
    ///
    /// ```
    /// # use parades_catalog::Engine;
    /// assert_eq!(Engine::TimeWarp.name(), "time-warp");
    /// assert_eq!("time-warp".parse(), Ok(Engine::TimeWarp));
    /// ```
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns a line on the engine, for lists.
    pub const fn about(self) -> &'static str {
        self.facts().about
    }

    /// True if the engine can use several threads.
    pub const fn is_parallel(self) -> bool {
        self.facts().is_parallel
    }

    /// True if the engine rolls executions back, so that a model must say how its state is restored. False
    /// for [`Engine::Auto`], which then chooses an engine that does not.
    pub const fn rolls_back(self) -> bool {
        self.facts().rolls_back
    }

    /// True if the engine can run on several processes.
    pub const fn is_distributed(self) -> bool {
        matches!(self, Engine::Auto | Engine::Window | Engine::NullMessage | Engine::TimeWarp)
    }

    /// Returns the settings of the engine, for `--tune`.
    pub fn settings(self) -> &'static [Parameter] {
        variants::settings(self)
    }

    /// Returns the settings that the engine has without [`Variants`].
    const fn own_settings(self) -> &'static [Parameter] {
        self.facts().settings
    }

    /// True if the engine has a setting with this key.
    pub fn has_setting(self, key: &str) -> bool {
        self.settings().iter().any(|setting| setting.key() == key)
    }

    /// Returns the settings of the engine at their defaults.
    pub fn default_settings(self) -> Values {
        Values::new(self.name(), self.settings())
    }

    /// Returns the engines that are algorithms of their own: all but [`Engine::Auto`].
    pub fn algorithms() -> impl Iterator<Item = Engine> + Clone {
        Engine::ALL.into_iter().filter(|engine| *engine != Engine::Auto)
    }

    /// Runs a model on at most `threads` threads, with the engine's default settings. The `run` function of
    /// each engine's module takes other settings.
    ///
    /// # Errors
    ///
    /// The earliest error of the run, and errors that the model finds at its end.
    pub fn run<M>(self, model: &M, threads: usize, options: RunOptions<'_>) -> Result<Outcome, Error>
    where
        M: Restorable<State: Clone + PartialEq + Debug>,
    {
        Choice::with_defaults(self, threads).run(model, options)
    }

    /// Returns the engine with its default settings, on at most `threads` threads, for a run that is stepped
    /// ([`parades_engine::stepped`]). `None` for [`Engine::RollbackCheck`], which executes a run in one
    /// piece.
    pub fn with_threads(self, threads: usize) -> Option<AnyEngine> {
        Choice::with_defaults(self, threads).any_engine()
    }

    /// Runs a model whose state cannot be restored, such as that of processes. Otherwise as [`Engine::run`].
    ///
    /// # Errors
    ///
    /// Those of [`Engine::run`], and an error if the engine rolls back ([`Engine::rolls_back`]).
    pub fn run_unrestorable<M: Model>(
        self,
        model: &M,
        threads: usize,
        options: RunOptions<'_>,
    ) -> Result<Outcome, Error> {
        Choice::with_defaults(self, threads).run_unrestorable(model, options)
    }
}

impl Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of a name that no engine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(String);

impl Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Engine::ALL.iter().map(|engine| engine.name()).collect();
        write!(f, "there is no engine `{}`; use one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownEngine {}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Engine, UnknownEngine> {
        let found = Engine::ALL.into_iter().find(|engine| engine.name() == name);
        found.ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}
